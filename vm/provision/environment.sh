#!/bin/sh
# Installs the pinned Python packages into /opt/pacelab: the requirements of PaceLab, JupyterLab and the controller. They come
# from the internet, or from the folder WHEELS. PaceLab's own distributions follow in pacelab.sh. Left out of the lock: ovs,
# which has no wheel (the controller's part of os-ken does not import it), and rfc3987-syntax with lark: jsonschema would make
# a parser of it at each import, 2 s of processor time, for formats (IRI) that nothing here has. The packages are compiled for
# all users, who cannot write there.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
home=/opt/pacelab
wanted=$(cat "$here/tools/uv.txt" "$here/uv.lock" | sha256sum)
if [ "$(cat $home/.requirements 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
[ -x $home/bin/pip ] || python3 -m venv $home
# The machine's own certificates: a campus network may have added one.
export PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 UV_SYSTEM_CERTS=1
$home/bin/pip install -q --require-hashes -r "$here/tools/uv.txt" ${WHEELS:+--no-index --find-links "$WHEELS"}
$home/bin/uv export -q --frozen --directory "$here" --no-emit-workspace --extra labs --extra controller \
    --no-emit-package ovs --no-emit-package rfc3987-syntax --no-emit-package lark --python $home/bin/python >$home/locked.txt
$home/bin/uv pip install --compile-bytecode --python $home/bin/python --no-deps --require-hashes -r $home/locked.txt \
    ${WHEELS:+--no-index --find-links "$WHEELS"}
$home/bin/jupyter labextension disable --level=sys_prefix @jupyterlab/apputils-extension:announcements 2>/dev/null
echo "$wanted" >$home/.requirements
