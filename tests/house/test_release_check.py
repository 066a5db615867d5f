"""`make release-check` refuses an unfinished release with the remedy, before it builds anything."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "release_check.py"
NIGHTLY = SCRIPT.with_name("nightly.py")

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A committed tree of two distributions whose version 0.2.0 is ready; `make` does nothing there."""
    (tmp_path / ".ci").mkdir()
    for script in (SCRIPT, NIGHTLY):
        shutil.copy(script, tmp_path / ".ci")
    for folder in (".", "labs"):
        write(tmp_path, f"{folder}/pyproject.toml", '[project]\nversion = "0.2.0"\n')
    write(tmp_path, "CHANGELOG.md", "# Changelog\n\n## 0.2.0 (2027-01-01)\n- New.\n\n## 0.1.0 (2026-11-28)\nFirst.\n")
    write(tmp_path, "changelog.d/README.md", "How to write fragments.\n")
    write(tmp_path, "Makefile", "wheels-test test-site:\n\t@echo made $@\n")
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    git(tmp_path, "tag", "v0.1.0")
    return tmp_path


def write(tree: Path, name: str, text: str) -> None:
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text(text)


def git(tree: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=tree, check=True, capture_output=True)


def commit(tree: Path) -> None:
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "tree: change")


def check(tree: Path, *steps: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, tree / ".ci" / "release_check.py", *steps]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def verdicts(ran: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Step -> verdict in the summary."""
    summary = ran.stdout.partition("\nrelease-check\n")[2]
    return dict(re.findall(r"^  (\w+) +(passed|failed|not run) +\d+ s$", summary, re.MULTILINE))


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_a_finished_release_is_built(tree: Path) -> None:
    ran = check(tree, "wheels", "site")
    assert ran.returncode == 0, ran.stderr
    assert verdicts(ran) == {"wheels": "passed", "site": "passed"}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_a_step_that_fails_does_not_stop_the_others(tree: Path) -> None:
    write(tree, "Makefile", "wheels-test:\n\tfalse\ntest-site:\n\t@echo made $@\n")
    commit(tree)
    ran = check(tree, "wheels", "site")
    assert ran.returncode == 1
    assert verdicts(ran) == {"wheels": "failed", "site": "passed"}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_what_was_skipped_is_listed_as_untested(tree: Path) -> None:
    write(
        tree,
        "Makefile",
        "test-site:\n\t@echo 'SKIPPED [2] tests/a.py:3: no Chromium here'; echo 'skipped Biome: it needs Node.js'\n",
    )
    commit(tree)
    ran = check(tree, "site")
    assert ran.stdout.splitlines()[-2:] == [
        "  site: untested here: skipped Biome: it needs Node.js",
        "  site: untested here: 2 tests: no Chromium here",
    ]


def test_a_changed_tree_is_refused(tree: Path) -> None:
    write(tree, "labs/new.py", "")
    refused = check(tree, "wheels")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the tree has 1 changed or untracked files (labs/new.py, ...): commit or remove them" in refused.stderr


def test_a_version_that_exists_is_refused(tree: Path) -> None:
    git(tree, "tag", "v0.2.0")
    assert "version 0.2.0 exists (tag v0.2.0): raise the version in every pyproject.toml" in check(tree).stderr


def test_two_versions_are_refused(tree: Path) -> None:
    write(tree, "labs/pyproject.toml", '[project]\nversion = "0.1.0"\n')
    commit(tree)
    assert "labs/pyproject.toml has version 0.1.0, not 0.2.0: use one version everywhere" in check(tree).stderr


@pytest.mark.parametrize(
    "section", ["", "## 0.2.0 (2027-01-01)\n\n", "## 0.2.0 (2027-01-01)\n\nNo significant changes.\n\n"]
)
def test_a_version_without_a_fragment_is_refused(section: str, tree: Path) -> None:
    """The last section is what towncrier writes without a fragment."""
    write(tree, "CHANGELOG.md", f"{section}## 0.1.0 (2026-11-28)\nFirst.\n")
    commit(tree)
    refused = check(tree)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        "release-check: CHANGELOG.md has no changes for 0.2.0: write a fragment for each change that users see"
        " (changelog.d/README.md), then run .venv/bin/towncrier build --version 0.2.0\n"
    )


def test_fragments_of_a_version_without_a_section_are_for_towncrier(tree: Path) -> None:
    write(tree, "changelog.d/12.added.md", "New.\n")
    write(tree, "CHANGELOG.md", "## 0.1.0 (2026-11-28)\nFirst.\n")
    commit(tree)
    assert check(tree).stderr == (
        "release-check: changelog.d has fragments that are not in CHANGELOG.md (12.added.md):"
        " run .venv/bin/towncrier build --version 0.2.0\n"
    )


def test_the_fragments_of_this_tree_have_valid_names() -> None:
    names = [path.name for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    assert [*runpy.run_path(str(SCRIPT), run_name="release_check")["misnamed"](names)] == []


def test_fragments_outside_the_changelog_are_refused(tree: Path) -> None:
    write(tree, "changelog.d/12.feature.md", "New.\n")
    commit(tree)
    refused = check(tree).stderr
    assert (
        "changelog.d has fragments that are not in CHANGELOG.md (12.feature.md): move them into the section of 0.2.0,"
        " or raise the version and run .venv/bin/towncrier build\n"
    ) in refused
    assert (
        "changelog.d/12.feature.md must be NAME.KIND.md, KIND one of added, changed, removed, fixed, security"
        in refused
    )


def test_an_unknown_step_is_refused(tree: Path) -> None:
    refused = check(tree, "wheel")
    assert (refused.returncode, refused.stderr) == (
        2,
        "no step wheel; choose from wheelhouse, wheels, wmediumd, site, box\n",
    )
