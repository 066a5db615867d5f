"""No function takes more than eight parameters: where more belong together, they are a dataclass.

Apart stand the commands, whose parameters are the options of the command line: Typer reads them there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from pacelab.cli.lazy import COMMANDS

ROOT = Path(__file__).parents[2]
MOST = 8
FOLDERS = (
    *("pacelab", "pacer", "topologies", "controller", "grading", "labs"),
    *("bench", "studies", "tests", "tools", ".ci"),
)
BY_TYPER = {
    (module.replace(".", "/") + ".py", function)
    for place, _ in COMMANDS.values()
    for module, _, function in (place.partition(":"),)
}


def sources() -> Iterator[Path]:
    """Every Python file of ours; the links in pacelab/ lead to folders that are named themselves."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(parent.is_symlink() for parent in path.parents):
                yield path


def long_ones(text: str) -> list[tuple[str, int]]:
    """Name and number of parameters of the functions that have too many; `*args` and `**options` are not counted."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count = len([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs])
            if count > MOST:
                found.append((node.name, count))
    return found


def test_no_function_takes_more_than_eight_parameters() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), name): count
        for path in sources()
        for name, count in long_ones(path.read_text(encoding="utf-8"))
    }
    assert {place: count for place, count in found.items() if place not in BY_TYPER} == {}


def test_all_of_ours_is_looked_at() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in sources()} == set(FOLDERS)


def test_a_planted_one_is_found() -> None:
    eight = ", ".join("abcdefgh")
    assert long_ones(f"def f({eight}, **more): ...") == []
    assert long_ones(f"class C:\n    async def f(self, /, *, {eight}): ...") == [("f", 9)]
