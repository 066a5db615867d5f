#!/bin/sh
# PaceLab into /opt/pacelab from a wheel: the newest under dist/ of the shared folder, else the released one. No compiler.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
home=/opt/pacelab
wheel=$(ls -t "$here"/dist/pacelab-*-"$(uname -s | tr A-Z a-z)"_"$(uname -m)".whl 2>/dev/null | head -n 1)
[ -x $home/bin/python ] || python3 -m venv $home
wheels=$here/build/vm/wheels
if [ -d "$wheels" ]; then offline="--no-index --find-links $wheels"; else offline=; fi
# The dependencies are pinned; the wheel itself is taken anew each time.
$home/bin/pip install -q $offline --require-hashes -r "$here/requirements.txt"
$home/bin/pip install -q $offline --no-deps --force-reinstall "${wheel:-pacelab}"
for tool in pacelab mediumd wmediumd; do
    [ ! -x $home/bin/$tool ] || ln -sf $home/bin/$tool /usr/local/bin/$tool
done
getent group pacelab >/dev/null || groupadd --system pacelab
pacelab doctor
