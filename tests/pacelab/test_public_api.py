"""The public names load when used, and leaves load nothing else."""

from __future__ import annotations

import subprocess
import sys

import pacelab


def test_every_public_name_loads() -> None:
    for name in pacelab.__all__:
        assert getattr(pacelab, name) is not None


def test_public_names_survive_the_import_of_their_modules() -> None:
    import pacelab.comparison
    import pacelab.runner

    assert callable(pacelab.run)
    assert callable(pacelab.compare)


def test_the_command_line_starts_lean() -> None:
    """Nothing heavy is imported before a command asks for it."""
    code = (
        "import sys, pacelab.cli; "
        "heavy = {'matplotlib', 'numpy', 'scipy', 'rich', 'pydantic', 'multiprocessing', 'asyncio'}; "
        "print(sorted(heavy & sys.modules.keys()))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
