"""What grading needs on this machine, as rows of `pacelab doctor`, which finds them through an entry point."""

from __future__ import annotations

import sys

from pacelab import HostError
from pacelab_grading.grade import similarity
from pacelab_grading.sandbox.box import Walls, walls

Row = tuple[str, bool, str, str]
"""Name, whether it is here, detail, how to get it."""
SANDBOX, CGROUP, SIMILARITY = "grading: bubblewrap", "grading: cgroup", "grading: --similarity"


def rows() -> list[Row]:
    """The rows, in a fixed order."""
    installed = similarity.is_installed()
    remedy = "" if installed else "pip install copydetect"
    return [*_walls(), (SIMILARITY, installed, "copydetect compares hand-ins", remedy)]


def _walls() -> list[Row]:
    if not sys.platform.startswith("linux"):
        elsewhere = "grade on Linux, in WSL2, a VM or a container"
        return [(name, False, "it needs Linux", elsewhere) for name in (SANDBOX, CGROUP)]
    try:
        found = walls(weak=True)
    except HostError as error:
        return [(name, False, "no sandbox for students' code", str(error)) for name in (SANDBOX, CGROUP)]
    each = "one sandbox for each hand-in" if found.forks else "one sandbox for each check, which is slower"
    return [
        _row(SANDBOX, found, "bubblewrap", found.bubblewrap is not None, f"namespaces, {each}"),
        _row(CGROUP, found, "no cgroup", found.cgroup is not None, f"{found.cgroup} limits memory and processes"),
    ]


def _row(name: str, found: Walls, note: str, present: bool, detail: str) -> Row:
    if present:
        return name, True, detail, ""
    said = next((line for line in found.notes if line.startswith(note)), note)
    what, _, remedy = said.partition(": ")
    if not remedy and said.endswith(")"):
        what, _, remedy = said.removesuffix(")").partition(" (")
    return name, False, what, remedy or "docs/grading.md"
