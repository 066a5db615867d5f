"""A cell that runs before the cells above it gets an error that says what to do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pacelab_labs import above
from pacelab_labs.errors import RunAbove


class Shell:
    """The parts of IPython's shell that the extension uses."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.handled: Any = None
        self.shown: list[BaseException] = []

    def set_custom_exc(self, kinds: tuple[type[BaseException], ...], handler: Any) -> None:
        self.handled = kinds, handler

    def showtraceback(self, raised: Any, tb_offset: int | None = None) -> None:
        self.shown.append(raised[1])


def shown_for(cell: str, shell: Shell) -> BaseException:
    try:
        exec(cell, shell.user_ns)
    except NameError:
        kind, error, trace = sys.exc_info()
        assert isinstance(error, NameError)
        above.explain(shell, kind, error, trace)  # type: ignore[arg-type]
    return shell.shown[-1]


@pytest.mark.parametrize(
    "cell", ["lab.back_ends()", "run(chain(4))", "class A(Pacer): pass", "print(four_hop_delay_s)"]
)
def test_a_name_of_the_lab_says_run_the_cells_above(cell: str) -> None:
    told = shown_for(cell, Shell())
    assert isinstance(told, RunAbove)
    (line,) = told._render_traceback_()
    assert line.startswith("Run the cells above first: ")
    assert "Run All Above Selected Cell" in line


def test_a_name_of_the_students_own_keeps_its_traceback() -> None:
    told = shown_for("my_helper(3)", Shell())
    assert isinstance(told, NameError)
    assert told.name == "my_helper"


def test_it_acts_beside_notebooks_of_the_labs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shell = Shell()
    above.load_ipython_extension(shell)
    assert shell.handled is None
    (tmp_path / "lab1_hidden_exposed.ipynb").touch()
    above.load_ipython_extension(shell)
    assert shell.handled == ((NameError,), above.explain)


@pytest.mark.thorough
def test_a_kernel_of_the_environment_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the configuration as the wheel installs it."""
    nbclient = pytest.importorskip("nbclient", reason="make notebooks brings nbclient")
    nbformat = pytest.importorskip("nbformat", reason="make notebooks brings nbformat")
    config = Path(__file__).parents[1] / "ipython_kernel_config.py"
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.py").write_text(config.read_text("utf-8"), "utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(profile.parent))
    (tmp_path / "lab1_hidden_exposed.ipynb").touch()
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("lab.back_ends()")])
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True, resources=where).execute()
    (output,) = notebook.cells[0].outputs
    assert output.ename == "RunAbove"
    assert output.traceback == [
        "Run the cells above first: lab is defined there.\n"
        "Choose Run > Run All Above Selected Cell, then run this cell again."
    ]
