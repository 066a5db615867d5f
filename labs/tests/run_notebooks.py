"""Runs every notebook in its own kernel (`make test-labs`; too long for `make test`).

1. The student's notebook stops at its TODO cells and at no other cell. The test then inserts the instructor's cell.
2. The resulting notebook equals the instructor's, cell by cell. It runs without an error, within a minute.
3. A moved control shows its effect within a second of processor time, at the 95th percentile of random settings. On an
   idle core the clock time is the same. A setting that took longer is drawn again: other programs may be running.
"""

from __future__ import annotations

import ast
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MASTERS = sorted((ROOT / "labs/pacelab_labs/masters").glob("lab[0-9]*.py"))
SAMPLE = ("lab1_hidden_exposed", "lab4_tcp_gap", "lab7_capstone", "lab8_today")
"""Labs of a short test. tests/lite/run_labs.py and run_lab_pages.py run labs 0, 1 and 5 in a short test."""
LIMIT_S = 60.0
SLIDER_LIMIT_S = 1.0
SETTINGS, TRIES = 20, 3
"""Random settings of each exploration. The slowest of 20 stands for the 95th percentile, which is not above it."""

RECORD = """
from pacelab import lab
_made, _explore = [], lab.explore
def _recorded(draw, **controls):
    _made.append(_explore(draw, **controls))
    return _made[-1]
lab.explore = _recorded
"""
MEASURE = f"""
import json, random
_random = random.Random(1)
for _shown in _made:
    _shown.seconds.clear()
    _shown.processor_s.clear()
    for _ in range({SETTINGS}):
        _values = {{name: _random.choice(control.values) for name, control in _shown._controls.items()}}
        _tries = []
        while len(_tries) < {TRIES} and min(_tries, default=1e9) > {SLIDER_LIMIT_S}:
            _shown.set(**_values)
            _tries.append(_shown.processor_s.pop())
        _shown.processor_s.append(min(_tries))
        assert not _shown.text.startswith("Not drawn: the drawing function raised"), (_shown.values, _shown.text)
print("SECONDS", json.dumps([[_shown.processor_s, _shown.seconds] for _shown in _made]))
"""

pytestmark = [
    pytest.mark.usefixtures("engine"),
    # Warnings from jupyter_client and zmq about asyncio, which users do not see.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def kernel(generate: ModuleType, tmp_path: Path) -> Iterator[Any]:
    """Executes cells of a notebook, in a folder with recorded choices and nothing else."""
    generate.record_choices(tmp_path)
    nbclient = pytest.importorskip("nbclient", reason="make notebooks brings nbclient")
    import nbformat

    notebook = nbformat.v4.new_notebook()
    client = nbclient.NotebookClient(
        notebook, timeout=5 * int(LIMIT_S), kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )

    class Kernel:
        def run(self, source: str) -> list[Any]:
            """The outputs of a cell with this source, including errors."""
            cell = nbformat.v4.new_code_cell(source)
            notebook.cells.append(cell)
            client.allow_errors = True
            client.execute_cell(cell, len(notebook.cells) - 1)
            return list(cell.outputs)

    with client.setup_kernel():
        yield Kernel()


def error_of(outputs: list[Any]) -> tuple[str, str] | None:
    return next(((out.ename, out.evalue) for out in outputs if out.output_type == "error"), None)


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def defined(source: str) -> set[str]:
    """Names that a cell assigns, outside of functions and classes."""
    found = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        else:
            names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
            found |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return found


@pytest.mark.parametrize(
    "master",
    [pytest.param(each, id=each.stem, marks=[] if each.stem in SAMPLE else [pytest.mark.thorough]) for each in MASTERS],
)
def test_students_stop_only_at_todo_cells_and_the_solved_notebook_runs_with_quick_controls(
    generate: ModuleType, kernel: Any, master: Path, within: Callable[..., None]
) -> None:
    solved = {cell.id: cell.source for cell in code(generate.make(master, "instructor"))}
    kernel.run(RECORD)
    took_s, done = 0.0, []

    def must_run(cell_id: str) -> None:
        nonlocal took_s
        started = time.perf_counter()
        outputs = kernel.run(solved[cell_id])
        took_s += time.perf_counter() - started
        done.append(cell_id)
        error = error_of(outputs)
        assert error is None, f"{cell_id}: {error}\n{solved[cell_id]}"
        assert "ms: no frame;" not in str(outputs), f"{cell_id} draws an empty air"

    exercise: list[str] = []
    for cell in code(generate.make(master, "student")):
        tags = set(cell.metadata.get("tags", []))
        if not {"exercise", "todo"} & tags:
            assert cell.source == solved[cell.id]
            must_run(cell.id)
            continue
        error = error_of(kernel.run(cell.source))
        exercise.append(cell.id)
        # Later cells may not need names from the unsolved cell.
        assert defined(cell.source) <= defined(solved[cell.id]), cell.id
        if "todo" not in tags:
            assert error is None, f"{cell.id}: {error}\n{cell.source}"
            continue
        assert error is not None, f"{cell.id} does not stop:\n{cell.source}"
        assert error[0] == "Todo", f"{cell.id} stops with {error}"
        for cell_id in exercise:
            must_run(cell_id)
        exercise.clear()
    assert not exercise, f"an exercise without a check: {exercise}"
    assert done == list(solved), "the instructor's notebook has other cells, or another order"
    print(f"\n{master.stem}: {took_s:.1f} s", end="")
    within(LIMIT_S, lambda: took_s)
    within(SLIDER_LIMIT_S, lambda: slowest_s(kernel, master.stem), time.process_time)


WAITED = """
from pacelab import Experiment, compare, console, run
console.QUIET_S = console.UPDATE_S = 0
_said, _show = [], console._Line._show
def _note(line, text):
    _said.append(text)
    _show(line, text)
console._Line._show = _note
{call}
print(_said)
"""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("run(Experiment(duration_s=100)); _said[1:-1] = []", r"\['run: \d+ %, about \d+ s left', ''\]"),
        (
            "compare(Experiment(duration_s=1), schemes=['newreno', 'tcp-gap'], seeds=1, jobs=1)",
            r"\['compare: 50 %, about \d+ s left', ''\]",
        ),
        ("run(Experiment(duration_s=100), on_progress=lambda _: None)", r"\[\]"),
    ],
    ids=["run", "compare", "told by the caller"],
)
def test_a_notebook_says_how_far_it_is_and_then_no_more(kernel: Any, call: str, said: str) -> None:
    outputs = kernel.run(WAITED.format(call=call))
    printed = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    assert re.fullmatch(said, printed.strip()), outputs
    left = [] if "on_progress" in call else [""]
    assert [output.data["text/html"] for output in outputs if output.output_type == "display_data"] == left


def slowest_s(kernel: Any, name: str) -> float:
    """The processor time of the slowest random setting of all explorations of a notebook."""
    said = "".join(out.text for out in kernel.run(MEASURE) if out.output_type == "stream")
    assert "SECONDS" in said, said
    slow = [tuple(map(max, each)) for each in json.loads(said.split("SECONDS")[1])]
    told = ", ".join(
        f"{processor_s * 1e3:.0f} ms of a core ({clock_s * 1e3:.0f} by the clock)" for processor_s, clock_s in slow
    )
    print(f"\n{name}: controls, slowest of {SETTINGS}: {told}")
    assert slow
    return max(processor_s for processor_s, _ in slow)
