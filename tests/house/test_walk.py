"""CONTRIBUTING's walk names each file once, and a run of TCP-GAP comes by all of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WALK = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## A packet's way")[2].partition("\n## ")[0]
NAMED = re.findall(r"`((?!tests/)[\w/]+/[\w.]+\.(?:py|rs))`", WALK)
SIMULATED = WALK.partition("With `--backend tap`")[0]
TRACED = """
import sys
files = set()
def note(frame, what, _):
    files.add(frame.f_code.co_filename)
from pacelab.cli.main import main
sys.setprofile(note)
main(["run", "chain", "--hops", "2", "--direction", "down", "--scheme", "tcp-gap", "--seconds", "3", *sys.argv[1:]])
sys.setprofile(None)
print(*sorted(files), sep="\\n", file=sys.stderr)
"""


def test_each_file_is_there_and_named_once() -> None:
    assert len(NAMED) > 25
    assert [path for path in NAMED if not (ROOT / path).is_file()] == []
    assert sorted(NAMED) == sorted(set(NAMED))


@pytest.mark.usefixtures("engine")
def test_a_run_comes_by_all_of_them(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", TRACED, "--out", str(tmp_path / "run")],
        cwd=ROOT,
        env={**os.environ, "PACELAB_INTERPRETED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    came_by = {str(Path(line).resolve()) for line in ran.stderr.splitlines()}
    named = [path for path in NAMED if path.endswith(".py") and path in SIMULATED]
    assert [path for path in named if str((ROOT / path).resolve()) not in came_by] == []
