#!/bin/sh
# Installs Mininet-WiFi into /opt/mininet-wifi; `mininet-wifi-python SCRIPT` runs a script with it. Sources come from the
# internet, or from the folders MININET_WIFI_SOURCES (NAME-COMMIT.tar.gz for each line of vm/mininet-wifi.txt) and WHEELS.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
home=/opt/mininet-wifi
cache=/var/cache/pacelab/mininet-wifi
sources=${MININET_WIFI_SOURCES:-/srv/mininet-wifi}
# Programs that Mininet-WiFi needs: one that makes radios, and an OpenFlow controller with its old name.
command -v hwsim_mgmt >/dev/null || install -m 755 "$here/provision/hwsim_mgmt" /usr/local/bin/hwsim_mgmt
command -v controller >/dev/null || ln -s /usr/bin/ovs-testcontroller /usr/local/bin/controller
wanted=$(cat "$here/requirements-mininet-wifi.txt" "$here/mininet-wifi.txt" | sha256sum)
if [ "$(cat $home/.requirements 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
if [ "${OFFLINE:-}" ] && [ ! -d "$sources" ]; then
    echo "no internet here: Mininet-WiFi is left out"
    exit 0
fi

# Downloads one archive completely or not at all. A broken download is continued.
download() {
    mkdir -p $cache
    if [ -e "$sources/$2" ]; then
        cp "$sources/$2" "$cache/$2"
    elif [ ! -e "$cache/$2" ]; then
        set -- "$1" "$2" "$cache/$2.part"
        curl -fL --no-progress-meter --connect-timeout 20 --retry 3 -C - -o "$3" "$1" || {
            # 33 and 36: the host cannot continue a part.
            case $? in 33 | 36) rm -f "$3" && curl -fL --no-progress-meter --connect-timeout 20 --retry 3 -o "$3" "$1" ;; *) return 1 ;; esac
        }
        mv "$3" "$cache/$2"
    fi
}

rm -rf $home/src
mkdir -p $home/src
grep -v '^#' "$here/mininet-wifi.txt" >$home/list
while read -r url hash; do
    name=$(basename "$(dirname "$(dirname "$url")")")-$(basename "$url")
    echo "$name from $url"
    download "$url" "$name"
    mkdir "$home/src/$name"
    tar -xzf "$cache/$name" -C "$home/src/$name" --strip-components=1 --no-same-owner || { rm -f "$cache/$name"; exit 1; }
    found=$(tar -c -C "$home/src/$name" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=a=rX --format=gnu . | sha256sum)
    if [ "${found%% *}" != "$hash" ]; then
        rm -f "$cache/$name"
        echo "$name: its files have the SHA-256 ${found%% *} instead of the pinned $hash" >&2
        exit 1
    fi
done <$home/list

[ -x $home/bin/pip ] || python3 -m venv $home
export PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_PROGRESS_BAR=off UV_SYSTEM_CERTS=1
# uv takes seconds, if environment.sh has installed it.
pip_install() {
    if [ -x /opt/pacelab/bin/uv ]; then
        /opt/pacelab/bin/uv pip install --compile-bytecode --python $home/bin/python "$@"
    else
        $home/bin/pip install "$@"
    fi
}
pip_install --no-deps --require-hashes -r "$here/requirements-mininet-wifi.txt" ${WHEELS:+--no-index --find-links "$WHEELS"}
# In the list's order: the set-up of Mininet-WiFi imports Mininet.
while read -r url hash; do
    name=$(basename "$(dirname "$(dirname "$url")")")-$(basename "$url")
    pip_install -q --no-deps --no-index --no-build-isolation "$home/src/$name"
done <$home/list
rm -r $home/src
$home/bin/python -c 'import mn_wifi.net'
# A link would start Python without the environment.
printf '#!/bin/sh\nexec %s "$@"\n' $home/bin/python >/usr/local/bin/mininet-wifi-python
chmod +x /usr/local/bin/mininet-wifi-python
echo "$wanted" >$home/.requirements
