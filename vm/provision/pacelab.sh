#!/bin/sh
# PaceLab into /opt/pacelab, and its root helper: the newest wheel under dist/, or where there is none, one built here.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
home=/opt/pacelab
user=${LAB_USER:-vagrant}
# shellcheck disable=SC2012  # our own names
wheel=$(ls -t "$here"/dist/pacelab-*linux*_"$(uname -m)".whl 2>/dev/null | head -n 1)
[ "$wheel" ] || wheel=$(sh "$here/vm/provision/wheel.sh")
getent group pacelab >/dev/null || groupadd --system pacelab
id -nG "$user" | grep -qw pacelab || usermod -aG pacelab "$user"
wanted=$(sha256sum <"$wheel")
if [ "$(cat $home/.wheel 2>/dev/null)" != "$wanted" ]; then
    $home/bin/uv pip install -q --no-cache --no-index --no-deps --reinstall --python $home/bin/python "$wheel"
    # uv would look through all that is installed there.
    $home/bin/python -m compileall -q "$($home/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/pacelab"
    for tool in pacelab mediumd wmediumd; do
        ln -sf $home/bin/$tool /usr/local/bin/$tool
    done
    pacelab doctor
    pacelab helper --units /etc/systemd/system
    systemctl daemon-reload
    systemctl -q enable --now pacelab-helper.socket
    # What still runs the wheel before this one; the first time there is none.
    systemctl -q try-restart pacelab-helper.service pacelab-notebooks.service 2>/dev/null || true
    echo "$wanted" >$home/.wheel
fi
