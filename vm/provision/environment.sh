#!/bin/sh
# The pinned Python packages into /opt/pacelab: PaceLab's, JupyterLab, the controller's. From the internet, or from the
# folder WHEELS. The file names all that is needed but ovs, which has no wheel; the controller's part of os-ken does not
# import it. Compiled for all users, who cannot write there.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
home=/opt/pacelab
wanted=$(cat "$here/requirements-uv.txt" "$here/requirements-vm.txt" | sha256sum)
if [ "$(cat $home/.requirements 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
[ -x $home/bin/pip ] || python3 -m venv $home
# The machine's own certificates: a campus network may have added one.
export PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 UV_SYSTEM_CERTS=1
$home/bin/pip install -q --require-hashes -r "$here/requirements-uv.txt" ${WHEELS:+--no-index --find-links "$WHEELS"}
$home/bin/uv pip install --compile-bytecode --python $home/bin/python --no-deps --require-hashes -r "$here/requirements-vm.txt" \
    ${WHEELS:+--no-index --find-links "$WHEELS"}
$home/bin/jupyter labextension disable --level=sys_prefix @jupyterlab/apputils-extension:announcements 2>/dev/null
echo "$wanted" >$home/.requirements
