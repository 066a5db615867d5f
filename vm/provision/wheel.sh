#!/bin/sh
# Builds PaceLab's wheel in the machine and prints its path; progress goes to stderr. Once: it is kept under
# /var/cache/pacelab by the hash of what it is made of, and a changed file has only its own part compiled anew.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
cache=/var/cache/pacelab
parts="Cargo.toml LICENSE README.md controller grading medium pacelab pacer pyproject.toml requirements-build.txt setup.py topologies"
cd "$here"
# shellcheck disable=SC2086  # names, one a word
parts=$(ls -d $parts 2>/dev/null)
# shellcheck disable=SC2086
key=$(find $parts -name target -prune -o -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
wheel=$(find "$cache/wheels/$key" -name '*.whl' 2>/dev/null) || true
if [ -z "$wheel" ]; then
    exec 3>&1 >&2
    echo "no wheel for $(uname -m) in dist/: building one, once; some minutes"
    export DEBIAN_FRONTEND=noninteractive
    # Debian 12's own Rust is too old; beside it stands the one that its browsers are built with.
    compiler="rustc-web cargo-web"
    apt-cache show rustc-web >/dev/null 2>&1 || compiler="rustc cargo"
    # shellcheck disable=SC2086
    apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 install -y --no-install-recommends $compiler gcc libc6-dev
    rm -rf "$cache/source" "$cache/making"
    mkdir -p "$cache/source" "$cache/making"
    # shellcheck disable=SC2086
    tar -c --exclude=target $parts | tar -x -C "$cache/source"
    # Windows writes a link as a file that holds its target.
    for name in controller grading pacer topologies; do
        rm -rf "$cache/source/pacelab/$name"
        ln -s "../$name" "$cache/source/pacelab/$name"
    done
    [ -x $cache/tools/bin/pip ] || python3 -m venv $cache/tools
    export PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1
    $cache/tools/bin/pip install -q --require-hashes -r requirements-build.txt
    export CARGO_HOME=$cache/cargo CARGO_TARGET_DIR=$cache/target CARGO_NET_RETRY=5 PYO3_PYTHON=$cache/tools/bin/python
    # Its own words go to a file; the compiler's are the progress.
    $cache/tools/bin/pip wheel -v --no-deps --no-build-isolation -w "$cache/making" "$cache/source" 2>&1 |
        tee $cache/wheel.log | grep --line-buffered -E '^ +(Compiling|Downloading|Downloaded|Updating|Finished|warning|error)' || true
    if ! ls "$cache"/making/*.whl >/dev/null 2>&1; then
        tail -n 20 $cache/wheel.log
        echo "PaceLab's wheel was not built; the whole log: vagrant ssh -c 'cat $cache/wheel.log'"
        exit 1
    fi
    rm -rf "$cache/source" "$cache/wheels"
    mkdir -p "$cache/wheels"
    mv "$cache/making" "$cache/wheels/$key"
    exec >&3 3>&-
    wheel=$(find "$cache/wheels/$key" -name '*.whl')
fi
echo "$wheel"
