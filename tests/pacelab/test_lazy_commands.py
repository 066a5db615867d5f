"""Help lists commands without loading them; what it says of each is what its docstring begins with."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from pacelab.cli.main import COMMANDS, HIDDEN, OTHERS, SECTIONS, load_command


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_the_docstring_says(name: str) -> None:
    module, _, function = COMMANDS[name][0].partition(":")
    call = getattr(importlib.import_module(module), function)
    assert call.__doc__.partition("\n")[0] == COMMANDS[name][1]
    assert load_command(name).name == name


def test_commands_that_other_parts_bring_are_known_by_the_same_line() -> None:
    brought = {point.name: point for point in entry_points(group="pacelab.commands")}
    assert set(OTHERS) <= set(brought)
    for name, line in OTHERS.items():
        try:
            call = brought[name].load()
        except ImportError:
            continue  # its extra is not installed
        assert call.__doc__.partition("\n")[0] == line


def test_every_command_stands_in_one_section_of_help() -> None:
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == sorted({*COMMANDS, *OTHERS} - set(HIDDEN))


def test_help_loads_no_command() -> None:
    code = (
        "import sys; from pacelab.cli.main import main; code = main(['--help']);"
        "sys.exit(code or ' '.join(name for name in sys.modules if name.startswith(('pacelab.', 'rich'))))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Real Linux:" in ran.stdout
    loaded = set(ran.stderr.split())
    assert loaded == {f"pacelab.{name}" for name in ("native", "cli", "cli.main", "console", "errors")}
