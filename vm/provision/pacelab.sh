#!/bin/sh
# Installs PaceLab into /opt/pacelab, with its root helper: from the wheels under dist/, or, if dist/ has none for this
# machine, from wheels that are built here.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
home=/opt/pacelab
user=${LAB_USER:-vagrant}
distributions="pacelab pacelab-controller pacelab-grading pacelab-labs pacelab-medium pacelab-wmediumd"

# Builds the wheels in the machine and prints their folder; progress goes to stderr. They are kept under /var/cache/pacelab by
# the hash of their sources. After a change, cargo compiles only the changed crates again.
build() {
    cache=/var/cache/pacelab
    parts="LICENSE LICENSE-labs README.md pyproject.toml uv.lock pacelab pacer topologies medium tools"
    for product in controller grading labs; do
        parts="$parts $product/pyproject.toml $product/pacelab_$product"
    done
    cd "$here"
    # shellcheck disable=SC2086  # names, one a word
    key=$(find $parts -name target -prune -o -type f ! -name '*.pyc' ! -name '*.so' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
    if [ ! -d "$cache/wheels/$key" ]; then
        exec 3>&1 >&2
        echo "no wheels for $(uname -m) in dist/: building them, once; some minutes"
        rm -rf "$cache/source" "$cache/making"
        mkdir -p "$cache/source" "$cache/making"
        # shellcheck disable=SC2086
        tar -c --exclude=target $parts | tar -x -C "$cache/source"
        cd "$cache/source"
        tools/prerequisites build demo
        [ -x $cache/tools/bin/pip ] || python3 -m venv $cache/tools
        export PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1
        $cache/tools/bin/pip install -q --require-hashes -r tools/uv.txt
        UV_SYSTEM_CERTS=1 UV_PROJECT_ENVIRONMENT=$cache/tools $cache/tools/bin/uv sync -q --frozen --inexact --only-group build
        export CARGO_HOME=$cache/cargo CARGO_TARGET_DIR=$cache/target CARGO_NET_RETRY=5 PYO3_PYTHON=$cache/tools/bin/python
        tools/demo-engine pacelab/demo/static/engine.wasm
        for crate in mediumd python; do
            tools/with-progress "medium/$crate" $cache/tools/bin/maturin build --release --compatibility linux --auditwheel skip \
                -o "$cache/making" -m medium/$crate/Cargo.toml
        done
        $cache/tools/bin/pip wheel -q --no-deps --no-build-isolation -w "$cache/making" . ./controller ./grading ./labs
        cd "$here"
        rm -rf "$cache/source" "$cache/wheels"
        mkdir -p "$cache/wheels"
        mv "$cache/making" "$cache/wheels/$key"
        exec >&3 3>&-
    fi
    echo "$cache/wheels/$key"
}

wheels=$here/dist
ls "$wheels"/pacelab_medium-*linux*_"$(uname -m)".whl >/dev/null 2>&1 || wheels=$(build)
getent group pacelab >/dev/null || groupadd --system pacelab
id -nG "$user" | grep -qw pacelab || usermod -aG pacelab "$user"
wanted=$(cat "$wheels"/pacelab*.whl | sha256sum)
if [ "$(cat $home/.wheels 2>/dev/null)" != "$wanted" ]; then
    # shellcheck disable=SC2086  # names, one a word
    $home/bin/uv pip install -q --no-cache --no-index --no-deps --reinstall --python $home/bin/python --find-links "$wheels" \
        $distributions
    # uv's --compile-bytecode would look through every package in the environment.
    packages=$($home/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    $home/bin/python -m compileall -q "$packages"/pacelab*
    for tool in pacelab mediumd wmediumd; do
        ln -sf $home/bin/$tool /usr/local/bin/$tool
    done
    pacelab doctor
    pacelab helper --units /etc/systemd/system
    systemctl daemon-reload
    systemctl -q enable --now pacelab-helper.socket
    # Services that still run the wheels before these; the first time there are none.
    systemctl -q try-restart pacelab-helper.service pacelab-notebooks.service 2>/dev/null || true
    echo "$wanted" >$home/.wheels
fi
