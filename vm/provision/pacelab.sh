#!/bin/sh
# PaceLab into /opt/pacelab, and its root helper: the newest wheel under dist/, or where there is none, one built here.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
home=/opt/pacelab
user=${LAB_USER:-vagrant}

# Builds the wheel in the machine and prints its path; progress goes to stderr. Once: it is kept under /var/cache/pacelab by
# the hash of what it is made of, and a changed file has only its own part compiled anew.
build() {
    cache=/var/cache/pacelab
    parts="LICENSE LICENSE-labs README.md controller grading labs/lab?_*.py medium pacelab pacer pyproject.toml setup.py tools topologies uv.lock"
    cd "$here"
    # shellcheck disable=SC2086  # names, one a word
    parts=$(ls -d $parts 2>/dev/null)
    # shellcheck disable=SC2086
    key=$(find $parts -name target -prune -o -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
    wheel=$(find "$cache/wheels/$key" -name '*.whl' 2>/dev/null) || true
    if [ -z "$wheel" ]; then
        exec 3>&1 >&2
        echo "no wheel for $(uname -m) in dist/: building one, once; some minutes"
        rm -rf "$cache/source" "$cache/making"
        mkdir -p "$cache/source" "$cache/making"
        # shellcheck disable=SC2086
        tar -c --exclude=target $parts | tar -x -C "$cache/source"
        # Windows writes a link as a file that holds its target.
        for name in controller grading pacer topologies; do
            rm -rf "$cache/source/pacelab/$name"
            ln -s "../$name" "$cache/source/pacelab/$name"
        done
        rm -rf "$cache/source/grading/labs/masters"
        ln -s ../../labs "$cache/source/grading/labs/masters"
        cd "$cache/source"
        tools/prerequisites build demo
        [ -x $cache/tools/bin/pip ] || python3 -m venv $cache/tools
        export PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1
        $cache/tools/bin/pip install -q --require-hashes -r tools/uv.txt
        UV_SYSTEM_CERTS=1 UV_PROJECT_ENVIRONMENT=$cache/tools $cache/tools/bin/uv sync -q --frozen --inexact --only-group build
        export CARGO_HOME=$cache/cargo CARGO_TARGET_DIR=$cache/target CARGO_NET_RETRY=5 PYO3_PYTHON=$cache/tools/bin/python
        tools/demo-engine pacelab/demo/static/engine.wasm
        # What setuptools-rust would compile without a word, it finds compiled.
        tools/patiently "the air" cargo build --manifest-path medium/Cargo.toml --release --locked -p pacelab-mediumd
        tools/patiently "the engine" cargo rustc --manifest-path medium/python/Cargo.toml --release --locked --lib \
            --features pyo3/extension-module --crate-type cdylib
        tools/patiently "the algorithms" $cache/tools/bin/python tools/native
        $cache/tools/bin/pip wheel -q --no-deps --no-build-isolation -w "$cache/making" .
        cd "$here"
        rm -rf "$cache/source" "$cache/wheels"
        mkdir -p "$cache/wheels"
        mv "$cache/making" "$cache/wheels/$key"
        exec >&3 3>&-
        wheel=$(find "$cache/wheels/$key" -name '*.whl')
    fi
    echo "$wheel"
}

# shellcheck disable=SC2012  # our own names
wheel=$(ls -t "$here"/dist/pacelab-*linux*_"$(uname -m)".whl 2>/dev/null | head -n 1)
[ "$wheel" ] || wheel=$(build)
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
