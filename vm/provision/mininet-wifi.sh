#!/bin/sh
# Mininet-WiFi into /opt/mininet-wifi; `mininet-wifi-python SCRIPT` runs a script of it. Needs the internet.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
home=/opt/mininet-wifi
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
$home/bin/pip install -q --no-build-isolation -r "$here/requirements-mininet-wifi.txt"
ln -sf $home/bin/python /usr/local/bin/mininet-wifi-python
echo "$wanted" >$home/.requirements
