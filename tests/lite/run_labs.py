"""All cells of all labs in the browser's Python under Node.js, as an instructor runs them (`make test-lite`)."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "build" / "browser-python"
NOTEBOOKS = PYTHON / "notebooks"
NODE = shutil.which("node")
GENERATE = runpy.run_path(str(ROOT / "labs" / "generate.py"))
MASTERS = GENERATE["masters"]()
SAMPLE = ("lab5_voice", "lab6_acks")
"""Labs of a short test. In a short test, run_lab_pages.py works through `IN_PAGES`."""
IN_PAGES = ("lab0_tour", "lab1_hidden_exposed")
CAPSTONE = "lab7_capstone"
"""Its pacers are Python and take minutes in a browser."""
pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node.js: apt-get install nodejs npm")


def run_lab(master: Path) -> dict[str, Any]:
    """The result of the solved lab in the browser's Python."""
    assert NODE is not None
    NOTEBOOKS.mkdir(exist_ok=True)
    GENERATE["record_choices"](NOTEBOOKS)
    nbformat.write(GENERATE["make"](master, "instructor"), NOTEBOOKS / f"{master.stem}.ipynb")
    file = f"/tree/{(NOTEBOOKS / master.stem).relative_to(ROOT)}.ipynb"
    script = Path(__file__).with_name("python.mjs")
    command = [NODE, str(script), str(PYTHON), str(ROOT), "tests/lite/in_browser_labs.py", file]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def test_a_short_test_calls_every_function_that_a_lab_before_the_capstone_calls() -> None:
    calls = {
        each.stem: set(re.findall(r"\blab\.(\w+)\(", each.read_text("utf-8")))
        for each in MASTERS
        if each.stem != CAPSTONE
    }
    assert set().union(*(calls[name] for name in (*SAMPLE, *IN_PAGES))) == set().union(*calls.values())


@pytest.mark.parametrize(
    "master",
    [pytest.param(each, id=each.stem, marks=[] if each.stem in SAMPLE else [pytest.mark.thorough]) for each in MASTERS],
)
def test_every_cell_runs_and_every_control_moves(master: Path) -> None:
    cells = [cell for cell in GENERATE["make"](master, "instructor").cells if cell.cell_type == "code"]
    found = run_lab(master)
    assert found["failed"] == []
    assert found["cells"] == len(cells)
    assert found["moved"] == []
    assert found["controls"] >= 1
    assert found["heavy"] == [], "a page has neither matplotlib nor NumPy"
    print(f"\n{master.stem}: {found['cells']} cells, {found['took_s']} s", end="")
