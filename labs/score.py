"""Scores pacers on a set of networks, for the capstone's board.

    python labs/score.py FILE.py:CLASS ... --word SECRET --board board.json

Runs the files in this process: for code that you do not trust use `pacelab grade`.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

from pacelab import PaceLabError, lab


def load(name: str) -> Any:
    """The class that FILE.py:CLASS names."""
    path, _, class_name = name.rpartition(":")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise SystemExit(f"{name!r}: there is no file {path!r}")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, class_name):
        raise SystemExit(f"{name!r}: the file has no class {class_name!r}")
    return getattr(module, class_name)


def main() -> int:
    """Score each; returns the exit code."""
    parser = argparse.ArgumentParser(description="score pacers for the capstone's board")
    parser.add_argument("pacers", nargs="+", metavar="FILE.py:CLASS")
    parser.add_argument(
        "--word", default="practice", help="what the networks follow from; keep yours secret"
    )
    parser.add_argument("--board", type=Path, help="leaderboard file to enter them into")
    given = parser.parse_args()
    for name in given.pacers:
        try:
            scored = lab.score(load(name), word=given.word, name=name)
            print(scored, end="\n\n")
            if given.board:
                print(lab.enter(given.board, scored), end="\n\n")
        except PaceLabError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
