#!/bin/sh
# Mininet-WiFi into /opt/mininet-wifi; `mininet-wifi-python SCRIPT` runs a script of it. From the internet, or from the
# folder MININET_WIFI_SOURCES, which holds NAME-COMMIT.tar.gz of what is listed below, and WHEELS.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
home=/opt/mininet-wifi
cache=/var/cache/pacelab/mininet-wifi
sources=${MININET_WIFI_SOURCES:-/srv/mininet-wifi}
# Mininet-WiFi, and the Mininet that it needs first: URL of the commit's files, and the SHA-256 of the files themselves
# (below is how it is taken: how GitHub packs them does not enter).
archives='https://github.com/mininet/mininet/archive/6eb8973c0bfd13c25c244a3871130c5e36b5fbd7.tar.gz 5ad35c31c150a089f1f7918f1e0b2c3ef70aafdf4e038de03e02218ef790bcc5
https://github.com/intrig-unicamp/mininet-wifi/archive/eaa5accbddee4f43d5743fabf6748ef5d4d75608.tar.gz 7b4c2da8ddb9259c84594fb93e5a9b964e098d05fbb1dd8d3e94038908e22110'
# Programs that it looks for: one that makes radios, and an OpenFlow controller under its own old name.
command -v hwsim_mgmt >/dev/null || install -m 755 "$here/provision/hwsim_mgmt" /usr/local/bin/hwsim_mgmt
command -v controller >/dev/null || ln -s /usr/bin/ovs-testcontroller /usr/local/bin/controller
wanted=$(echo "$archives" | cat "$here/requirements-mininet-wifi.txt" - | sha256sum)
if [ "$(cat $home/.requirements 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
if [ "${OFFLINE:-}" ] && [ ! -d "$sources" ]; then
    echo "no internet here: Mininet-WiFi is left out"
    exit 0
fi

# One archive, whole or not at all; what a broken download has left is gone on with.
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
echo "$archives" >$home/list
while read -r url hash; do
    name=$(basename "$(dirname "$(dirname "$url")")")-$(basename "$url")
    echo "$name from $url"
    download "$url" "$name"
    mkdir "$home/src/$name"
    tar -xzf "$cache/$name" -C "$home/src/$name" --strip-components=1 --no-same-owner || { rm -f "$cache/$name"; exit 1; }
    found=$(tar -c -C "$home/src/$name" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=a=rX --format=gnu . | sha256sum)
    if [ "${found%% *}" != "$hash" ]; then
        rm -f "$cache/$name"
        echo "$name: its files have the SHA-256 ${found%% *}, not $hash: not the files that were pinned" >&2
        exit 1
    fi
done <$home/list

[ -x $home/bin/pip ] || python3 -m venv $home
export PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_PROGRESS_BAR=off UV_SYSTEM_CERTS=1
# By uv, in seconds, where environment.sh has put it.
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
# A link would be Python without the environment.
printf '#!/bin/sh\nexec %s "$@"\n' $home/bin/python >/usr/local/bin/mininet-wifi-python
chmod +x /usr/local/bin/mininet-wifi-python
echo "$wanted" >$home/.requirements
