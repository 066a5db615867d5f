"""Scores pacers on a set of networks, for the capstone's leaderboard.

    python labs/score.py FILE.py:CLASS ... --word SECRET --board board.json

Runs the files in this process: for code that you do not trust use `pacelab grade`.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import traceback
from pathlib import Path
from typing import Any

from pacelab import ConfigError, PaceLabError, lab


def load(name: str) -> Any:
    """The class that FILE.py:CLASS names. Raises ConfigError if there is no such class."""
    path, _, class_name = name.rpartition(":")
    spec = importlib.util.spec_from_file_location(f"_pacer_{Path(path).stem}", path)
    if spec is None or spec.loader is None or not class_name:
        raise ConfigError("must be FILE.py:CLASS")
    if not Path(path).is_file():
        raise ConfigError(f"no such file: {path!r}")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        line = traceback.extract_tb(error.__traceback__)[-1].lineno
        where = "" if isinstance(error, SyntaxError) else f" in line {line}"
        raise ConfigError(f"loading the file failed{where}: {type(error).__name__}: {error}") from None
    if not hasattr(module, class_name):
        raise ConfigError(f"the file has no class {class_name!r}")
    return getattr(module, class_name)


def main(arguments: list[str] | None = None) -> int:
    """Score each pacer, even if one before it fails; returns the exit code."""
    parser = argparse.ArgumentParser(description="score pacers for the capstone's leaderboard")
    parser.add_argument("pacers", nargs="+", metavar="FILE.py:CLASS")
    parser.add_argument("--word", default="practice", help="the networks are derived from this word; keep yours secret")
    parser.add_argument("--board", type=Path, help="leaderboard file to enter the scores into")
    given = parser.parse_args(arguments)
    code = 0
    for name in given.pacers:
        try:
            scored = lab.score(load(name), word=given.word, name=name)
            print(scored, end="\n\n")
            if given.board:
                print(lab.enter(given.board, scored), end="\n\n")
        except PaceLabError as error:
            print(f"{name}: {error}", file=sys.stderr)
            code = error.exit_code
    return code


if __name__ == "__main__":
    sys.exit(main())
