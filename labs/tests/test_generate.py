"""A student's notebook has every cell of the master but no line of a solution."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MASTERS = sorted((ROOT / "labs/pacelab_labs/masters").glob("lab[0-9]*.py"))
BARE = {"return", "else:", "pass", "try:"}
"""Lines too common to reveal a solution."""

MASTER = """# %% [markdown]
# # Title

# %%
from pacelab import lab

# %%
def double(x):
    # TODO: twice
    # BEGIN SOLUTION
    secret = 2 * x
    return secret
    # END SOLUTION


lab.check("lab9.double", double)

# %% [markdown] tags=["instructor"]
# The answer is secret.
"""


def made(generate: ModuleType, tmp_path: Path, text: str, who: str) -> Any:
    master = tmp_path / "lab9_test.py"
    master.write_text(text, encoding="utf-8")
    return generate.make(master, who)


def sources(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells]


def test_student_gets_a_todo_in_place_of_the_solution(generate: ModuleType, tmp_path: Path) -> None:
    student = made(generate, tmp_path, MASTER, "student")
    assert sources(student) == [
        "# Title",
        "from pacelab import lab",
        'def double(x):\n    # TODO: twice\n    raise lab.Todo\n\n\nlab.check("lab9.double", double)',
    ]
    assert [cell.metadata.get("tags") for cell in student.cells] == [None, None, ["exercise", "todo"]]
    assert "secret" not in str(student)


def test_instructor_gets_solution_and_notes_without_the_markers(generate: ModuleType, tmp_path: Path) -> None:
    instructor = made(generate, tmp_path, MASTER, "instructor")
    assert "    secret = 2 * x\n    return secret" in sources(instructor)[2]
    assert sources(instructor)[3] == "The answer is secret."
    assert "SOLUTION" not in str(instructor)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# %%\n# BEGIN SOLUTION\nx = 1\n", "without"),
        ("# %%\nx = 1\n# END SOLUTION\n", "out of place"),
        ("# %%\n# BEGIN SOLUTION\n# BEGIN SOLUTION\n# END SOLUTION\n", "out of place"),
        ("# %% [markdown]\n# # BEGIN SOLUTION\n", "in a text cell"),
        ("# %%\n" + "x = 1\n" * 16, "must have at most 15 lines, not 16"),
        ("# %%\n# " + "x" * 107 + "\n", "must have at most 107 characters, not 109"),
    ],
)
def test_generator_refuses_a_broken_master(generate: ModuleType, tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(generate.MasterError, match=message):
        made(generate, tmp_path, text, "student")


def test_generator_never_overwrites_work(generate: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "out" / "lab9_test.ipynb"
    notebook = made(generate, tmp_path, MASTER, "student")
    assert generate.write(notebook, file)
    output = '"outputs": [{"name": "stdout", "output_type": "stream", "text": ["9"]}]'
    ran = file.read_text("utf-8").replace('"outputs": []', output)
    file.write_text(ran, "utf-8")
    assert generate.write(notebook, file)
    assert file.read_text("utf-8") == ran
    another = made(generate, tmp_path, MASTER + "\n# %%\n1 + 1\n", "student")
    assert generate.write(another, file)  # nobody changed it, so a new version may replace it
    assert '"9"' not in file.read_text("utf-8")
    file.unlink()
    generate.write(notebook, file)
    worked = file.read_text("utf-8").replace("raise lab.Todo", "return x + x")
    file.write_text(worked, "utf-8")
    assert not generate.write(notebook, file)
    assert file.read_text("utf-8") == worked
    file.write_text("no notebook", "utf-8")
    assert not generate.write(notebook, file)


def test_generated_bytes_are_the_same_each_time(generate: ModuleType, tmp_path: Path) -> None:
    def run_once(name: str) -> dict[str, bytes]:
        assert generate.main(["--out", str(tmp_path / name)]) == 0
        return {file.name + file.parent.name: file.read_bytes() for file in (tmp_path / name).rglob("*.ipynb")}

    once = run_once("a")
    assert len(once) == 2 * len(MASTERS)
    assert run_once("b") == once


@pytest.mark.parametrize("master", MASTERS, ids=lambda master: master.stem)
def test_no_solution_reaches_a_student(generate: ModuleType, master: Path) -> None:
    lines = [line for line in generate.solutions(master) if line not in BARE]
    assert lines, f"{master.name}: no exercise"
    student = str(generate.make(master, "student"))
    # A line that also appears outside of solutions is not secret.
    outside = re.sub(r"# BEGIN SOLUTION\n.*?# END SOLUTION", "", master.read_text("utf-8"), flags=re.DOTALL)
    assert [line for line in lines if line not in outside and line in student] == []
    assert "SOLUTION" not in student
    assert "For the instructor" not in student


@pytest.mark.parametrize("master", MASTERS, ids=lambda master: master.stem)
def test_lab_has_all_parts(generate: ModuleType, master: Path) -> None:
    student = generate.make(master, "student")
    text = "\n".join(sources(student))
    parts = ("You will be able to", "You need", "Time:", "Further reading", "On real hosts", "Predict", "TODO")
    calls = ("lab.back_ends()", "lab.explore(", "lab.predict(", "lab.check(", "lab.on_real_hosts(")
    lacking = [part for part in parts if part.lower() not in text.lower()] + [
        call for call in calls if call not in text
    ]
    assert not lacking, f"{master.name} lacks {lacking}: labs/README.md says what a lab has"
    assert all(not cell.get("outputs") for cell in student.cells)


@pytest.mark.parametrize("master", MASTERS, ids=lambda master: master.stem)
def test_each_question_has_its_answer_in_the_instructors_edition(generate: ModuleType, master: Path) -> None:
    cells = sources(generate.make(master, "instructor"))
    asked = [cell.split("## Questions to think about")[1] for cell in cells if "## Questions to think about" in cell]
    numbers = re.findall(r"^(\d)\. ", "".join(asked), re.MULTILINE)
    assert numbers or "capstone" in master.stem, (
        f"{master.name}: no numbered question below '## Questions to think about'"
    )
    notes = " ".join(cell for cell in cells if cell.startswith("**For the instructor.**"))
    silent = [number for number in numbers if not re.search(rf"Question {number}\b", notes)]
    assert not silent, f"{master.name}: '**For the instructor.**' has no 'Question N' for {silent}"


@pytest.mark.parametrize("master", MASTERS, ids=lambda master: master.stem)
def test_lab_uses_the_public_api_only(master: Path) -> None:
    import pacelab
    from pacelab import lab

    for node in ast.walk(ast.parse(master.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("pacelab"):
            assert node.module == "pacelab"
            assert {alias.name for alias in node.names} <= {*pacelab.__all__, "lab"}
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "lab":
            assert node.attr in lab.__all__, f"{master.name}:{node.lineno}: lab.{node.attr} is not public"


@pytest.mark.parametrize("master", MASTERS, ids=lambda master: master.stem)
def test_every_check_of_a_lab_exists(master: Path) -> None:
    from pacelab_labs.check import EXERCISES

    named = re.findall(r'lab\.check\("([^"]+)"', master.read_text("utf-8"))
    assert named
    number = master.stem.split("_")[0]
    listed = {name for name in EXERCISES if name.startswith(number + ".")}
    assert set(named) == listed, f"{master.name} and labs/pacelab_labs/lab*.py, by check.py, differ in exercises"


def test_a_master_or_a_place_that_is_not_there_is_reported_in_a_line(
    generate: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    assert generate.main([str(tmp_path / "none.py")]) == 2
    assert generate.main(["--out", str(taken)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"{tmp_path / 'none.py'}: No such file or directory", f"{taken / 'student'}: Not a directory"]


@pytest.mark.parametrize("master", MASTERS, ids=lambda master: master.stem)
def test_each_prediction_has_one_measurement_below_it_and_a_recorded_choice(generate: ModuleType, master: Path) -> None:
    text = master.read_text("utf-8")
    asked = [
        (name, text.index(f"{name} = lab.predict(")) for name in re.findall(r"^(\w+) = lab\.predict\(", text, re.M)
    ]
    for name, place in asked:
        assert text.count(f"@{name}.measure\n") == 1, name
        assert text.index(f"@{name}.measure\n") > place, name
    assert ".against(" not in text, "a number is out before an answer is chosen"
    assert len(generate.choices(master)) == len(asked)


@pytest.mark.parametrize("master", MASTERS, ids=lambda master: master.stem)
def test_text_after_a_measurement_is_folded(generate: ModuleType, master: Path) -> None:
    cells = generate.make(master, "student").cells
    for before, cell in itertools.pairwise(cells):
        if cell.cell_type == "markdown" and ".measure\n" in before.source and not cell.source.startswith("#"):
            assert cell.source.startswith(generate.FOLD), cell.source
            assert cell.source.endswith(generate.FOLD_END), cell.source


@pytest.mark.parametrize("master", MASTERS, ids=lambda master: master.stem)
def test_a_prediction_keeps_its_name(master: Path) -> None:
    """A cell that judges a prediction still judges the same one when it is run again after the end of the lab."""
    names = re.findall(r"^(\w+) = lab\.predict\(", master.read_text("utf-8"), re.MULTILINE)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("master", MASTERS, ids=lambda master: master.stem)
def test_a_lab_for_credit_has_hints_and_no_solutions(generate: ModuleType, master: Path) -> None:
    def first(*, credit: bool) -> str:
        cells = generate.make(master, "student", credit=credit).cells
        return str(next(cell.source for cell in cells if cell.cell_type == "code"))

    assert first(credit=True) == first(credit=False) + "\nlab.for_credit()  # hints, but no solutions"


@pytest.mark.parametrize(
    "master", [one for one in MASTERS if one.stem != "lab7_capstone"], ids=lambda master: master.stem
)
def test_each_question_has_a_place_for_an_answer(generate: ModuleType, master: Path) -> None:
    text = [cell.source for cell in generate.make(master, "student").cells if cell.cell_type == "markdown"]
    (questions,) = (source for source in text if source.startswith("## Questions to think about"))
    (answers,) = (source for source in text if source.startswith("### Your answers"))
    asked = re.findall(r"^(\d)\. ", questions, re.MULTILINE)
    assert re.findall(r"^(\d)\. \.\.\.$", answers, re.MULTILINE) == asked
