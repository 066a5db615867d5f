"""Committed files name no one's machine: no home or workplace paths, and only the public registries in lock files."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PRIVATE_PATH = re.compile(r"(?<![\w.~}/-])/(?:work|root|home/(?!vagrant\b)\w+|Users/\w+|opt/wheels)(?:/|\b(?![\w.-]))")
HOST = re.compile(r"\w+://(?:[^/\s\"'@]*@)?([\w.-]+)")
BUILDS = re.compile(
    r"(^|/)(Cargo\.(toml|lock)|\.?cargo/config.*|requirements.*\.txt|uv\.(lock|txt)|pyproject\.toml|Makefile|Vagrantfile|package(-lock)?\.json"
    r"|pip\.conf|\.npmrc|Dockerfile)$|^\.ci/"
)
"""Files that decide where code comes from. Elsewhere (docs, sources) a link is only a link."""

PUBLIC_HOSTS = {
    *("pypi.org", "files.pythonhosted.org", "www.python.org"),
    *(
        "github.com",
        "crates.io",
        "index.crates.io",
        "static.crates.io",
        "docs.rs",
        "rustup.rs",
        "sh.rustup.rs",
        "static.rust-lang.org",
    ),
}


def complaints(path: str, text: str) -> list[str]:
    """Lines of a file that name a private place."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        private = PRIVATE_PATH.search(line)
        unknown = [host for host in HOST.findall(line) if host not in PUBLIC_HOSTS] if BUILDS.search(path) else []
        if private or unknown:
            found.append(f"{path}:{number}: {private.group() if private else unknown[0]}")
    return found


def test_names_no_private_place_in_committed_files() -> None:
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("not a git checkout: clone the repository to run this")
    listing = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = []
    for path in filter(None, listing.stdout.split("\0")):
        file = ROOT / path
        if file.is_file() and file != Path(__file__):
            found += complaints(path, file.read_text("utf-8", errors="ignore"))
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("docs/how.md", "see /work/notes.md"),
        ("bench/bench.py", "OUT = '/home/ana/out'"),
        ("docs/how.md", "cd /root"),
        ("requirements.txt", "--index-url https://mirror.example/simple"),
        ("uv.lock", 'source = { registry = "https://mirror.example/simple" }'),
        ("medium/Cargo.lock", 'source = "registry+https://user:secret@crates.example/index"'),
    ],
)
def test_names_catch_a_planted_one(path: str, line: str) -> None:
    assert len(complaints(path, line)) == 1


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("medium/Cargo.lock", 'source = "registry+https://github.com/rust-lang/crates.io-index"'),
        ("docs/how.md", "https://doc.example/work/root and topologies/root/x, a/work/b, up and down/root."),
        ("pacelab/doctor.py", "run as /usr/bin/env; ./work/x"),
    ],
)
def test_names_let_the_public_ones_pass(path: str, line: str) -> None:
    assert complaints(path, line) == []
