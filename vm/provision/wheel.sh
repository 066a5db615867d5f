#!/bin/sh
# Builds PaceLab's wheel in the machine and prints its path; progress goes to stderr. Once: it is kept under
# /var/cache/pacelab by the hash of what it is made of, and a changed file has only its own part compiled anew.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
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
