#!/bin/sh
# Mininet-WiFi into /opt/mininet-wifi; `mininet-wifi-python SCRIPT` runs a script of it. Needs the internet.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
home=/opt/mininet-wifi
# Programs that it looks for: one that makes radios, and an OpenFlow controller under its own old name.
command -v hwsim_mgmt >/dev/null || install -m 755 "$here/provision/hwsim_mgmt" /usr/local/bin/hwsim_mgmt
command -v controller >/dev/null || ln -s /usr/bin/ovs-testcontroller /usr/local/bin/controller
wanted=$(sha256sum <"$here/requirements-mininet-wifi.txt")
if [ "$(cat $home/.requirements 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
if [ "${OFFLINE:-}" ]; then
    echo "provision: no internet here: Mininet-WiFi is left out"
    exit 0
fi
rm -rf $home
python3 -m venv $home
$home/bin/pip install -q --no-build-isolation 'setuptools<82' wheel
# Mininet first: the set-up of Mininet-WiFi imports it.
grep '^mininet @' "$here/requirements-mininet-wifi.txt" >$home/first.txt
$home/bin/pip install -q --no-build-isolation -r $home/first.txt
$home/bin/pip install -q --no-build-isolation -r "$here/requirements-mininet-wifi.txt"
# A link would be Python without the environment.
printf '#!/bin/sh\nexec %s "$@"\n' $home/bin/python >/usr/local/bin/mininet-wifi-python
chmod +x /usr/local/bin/mininet-wifi-python
echo "$wanted" >$home/.requirements
