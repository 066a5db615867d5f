"""The published files: committed files name no private place, and the workflows call existing targets."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

# Committed files name no one's machine: no home or workplace paths, and only the public registries in lock files.

ROOT = Path(__file__).parents[2]

PRIVATE_PATH = re.compile(r"(?<![\w.~}/-])/(?:root|home/(?!vagrant\b|pacelab\b)\w+|Users/\w+)(?:/|\b(?![\w.-]))")
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
        ("docs/how.md", "see /Users/ana/notes.md"),
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
        ("docs/how.md", "https://doc.example/home/root and topologies/root/x, a/home/b, up and down/root."),
        ("pacelab/doctor.py", "run as /usr/bin/env; ./home/x"),
    ],
)
def test_names_let_the_public_ones_pass(path: str, line: str) -> None:
    assert complaints(path, line) == []


# The workflows, checked by reading them, since no runner is available; and the message of `make wheels` if it cannot
# build.

WORKFLOWS = sorted(path.stem for path in (ROOT / ".github/workflows").glob("*.yml"))


def read_jobs(name: str) -> dict[str, Any]:
    """The jobs of a workflow."""
    workflow = YAML(typ="safe").load((ROOT / f".github/workflows/{name}.yml").read_text("utf-8"))
    assert workflow["permissions"] == {}
    jobs: dict[str, Any] = workflow["jobs"]
    return jobs


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    """The jobs of the release workflow."""
    return read_jobs("release")


def steps(jobs: dict[str, Any], key: str) -> list[str]:
    """The values of this key in the steps of all jobs."""
    return [step[key] for job in jobs.values() for step in job["steps"] if key in step]


def test_a_wheel_and_the_lock_have_the_same_bounds() -> None:
    uv = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["uv"]
    told = "pip knows no bound of uv's alone: it belongs to the dependencies themselves"
    assert [name for name in uv if name.startswith(("constraint-", "override-", "exclude-"))] == [], told


def test_release_writes_in_its_last_step_alone(jobs: dict[str, Any]) -> None:
    assert [name for name, job in jobs.items() if "write" in job["permissions"].values()] == ["release"]
    assert set(jobs["release"]["needs"]) == {"installed", "box"}


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_workflow_uses_actions_of_a_pinned_major_version(workflow: str) -> None:
    used = steps(read_jobs(workflow), "uses")
    assert used
    assert [action for action in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_workflow_calls_targets_that_there_are(workflow: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    called = {
        name
        for run in steps(read_jobs(workflow), "run")
        for name in re.findall(r"\bmake ([a-z-]+)$", run, re.MULTILINE)
    }
    assert called
    assert called <= targets


def test_release_packs_the_machine(jobs: dict[str, Any]) -> None:
    words = [line.split() for run in steps(jobs, "run") for line in run.splitlines()]
    assert [line[1] for line in words if line[0] == "sudo" and (ROOT / line[1]).is_file()] == ["vm/pack"]


def test_each_push_is_tested_on_both_systems_with_the_oldest_and_a_new_python() -> None:
    matrix = read_jobs("test")["test"]["strategy"]["matrix"]
    assert {runner.partition("-")[0] for runner in matrix["runner"]} == {"ubuntu", "macos"}
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"].removeprefix(
        ">="
    )
    assert matrix["python"] == [oldest, "3.13"]


def test_release_tries_every_wheel(jobs: dict[str, Any]) -> None:
    built = runpy.run_path(str(ROOT / ".ci" / "wheels.py"), run_name="wheels")["TARGETS"]
    tried = [entry["platform"] for entry in jobs["installed"]["strategy"]["matrix"]["include"]]
    native = [target.platform for name, target in built.items() if name != "browser"]
    assert sorted(tried) == sorted(native)
    assert "make test-lite" in steps(jobs, "run")  # no runner is a browser: this target runs the wheel in Node.js


def build(folder: Path, *names: str) -> subprocess.CompletedProcess[str]:
    """Run the builder with a Rust that compiles for no target, and without rustup."""
    rustc = folder / "rustc"
    rustc.write_text(f"#!/bin/sh\necho {folder}/none\n", "utf-8")
    rustc.chmod(0o755)
    command = [sys.executable, ROOT / ".ci" / "wheels.py", *names]
    return subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True, check=False)


def test_wheels_refuse_an_unknown_platform(tmp_path: Path) -> None:
    ran = build(tmp_path, "amiga")
    assert ran.returncode == 2
    assert ran.stderr.startswith("wheels: unknown platform amiga; choose from linux-x86_64, linux-aarch64, ")
    assert ran.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for rustc is a shell script")
def test_wheels_report_what_rust_lacks(tmp_path: Path) -> None:
    ran = build(tmp_path, "linux-aarch64")
    assert ran.returncode == 3
    assert ran.stderr == (
        "wheels: this Rust lacks aarch64-unknown-linux-gnu, aarch64-unknown-linux-musl: "
        "rustup target add aarch64-unknown-linux-gnu aarch64-unknown-linux-musl\n"
    )
