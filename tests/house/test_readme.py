"""Every command that README.md and CONTRIBUTING.md tell the reader to type exists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "CONTRIBUTING.md")


def commands(program: str) -> list[str]:
    """Commands starting with `program` in code: at the start of an indented line or of a `code` span."""
    found: dict[str, None] = {}
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        for line in re.findall(rf"^(?:    |\t)({program} .*)$|`({program} [^`]*)`", text, re.MULTILINE):
            found["".join(line).split("  ")[0].split("#")[0].strip()] = None
    return list(found)


@cache
def help_of(subcommand: str) -> str:
    """What `pacelab SUBCOMMAND --help` prints."""
    ran = subprocess.run(
        [sys.executable, "-c", "import sys; from pacelab.cli.main import main; sys.exit(main())", subcommand, "--help"],
        env={**os.environ, "COLUMNS": "400", "TERM": "dumb", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, f"pacelab {subcommand} --help: {ran.stderr}"
    return ran.stdout


@pytest.mark.parametrize("command", commands("make"))
def test_readme_make_target_exists(command: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {word for word in command.split()[1:] if "=" not in word}
    assert named <= targets, f"{command}: the Makefile has {sorted(targets)}"


@pytest.mark.parametrize("command", commands("pacelab"))
def test_readme_pacelab_command_exists(command: str) -> None:
    words = command.split()[1:]
    shown = set(re.findall(r"--[a-z][a-z-]*", help_of(words[0])))
    assert {word.split("=")[0] for word in words if word.startswith("--")} <= shown, f"{command}: has {sorted(shown)}"


def test_readme_folder_map_names_what_is_there() -> None:
    entries = re.findall(r"^    (\w+)/ +(.*)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert entries, "README.md: no folder map found"
    missing = [name for name, what in entries if not (ROOT / name).is_dir() and "to come" not in what]
    assert not missing, f"README.md names {missing}"
