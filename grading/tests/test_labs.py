"""Labs 0 to 8 as hand-ins: which solutions earn points, which do not, and which parts of a notebook are graded."""

from __future__ import annotations

import ast
import csv
import importlib.util
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pacelab.cli.main import main
from pacelab_grading.assignments import find_assignment
from pacelab_grading.grade.options import UNREADABLE
from pacelab_grading.judging.judge import GradingTerms, Listener, judge
from pacelab_grading.labs.designs import judge_design
from pacelab_grading.labs.exercises import SOLUTION
from pacelab_grading.labs.rubrics import LABS
from pacelab_grading.receive.notebook import Module, module_of
from pacelab_grading.receive.submission import Submission, read_submission
from pacelab_grading.records.report import html_report, text_report
from pacelab_grading.rubric.assignment import Assignment
from pacelab_grading.rubric.context import RemoteFunction
from pacelab_grading.rubric.verdict import Verdict
from pacelab_grading.sandbox.box import Walls
from pacelab_labs import CheckFailed
from pacelab_labs.check import SelfCheck
from pacelab_labs.fold import FOLD, FOLD_END

ROOT = Path(__file__).parents[2]
NO_WALLS = Walls(bubblewrap=None, own_user=False, cgroup=None, none=True)
"""For our own sources: it takes a tenth of the time."""
WITH_FUNCTIONS = [name for name in LABS if name != "lab7"]
ALL = [*WITH_FUNCTIONS, pytest.param("lab7", marks=pytest.mark.thorough)]
"""The capstone runs simulations, which takes seconds per verdict."""


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MISTAKES = load("mistakes").MISTAKES
MUTANTS = load("mistakes")
EQUIVALENT = MUTANTS.EQUIVALENT


def solved(lab: Assignment) -> str:
    return SOLUTION.sub(r"\2", lab.handed_out)


def untouched(lab: Assignment) -> str:
    return SOLUTION.sub(r"\1raise lab.Todo\n", lab.handed_out)


def notebook(master: str, *more: tuple[str, str]) -> bytes:
    """The notebook of a master's text, with additional cells (kind and text)."""
    cells: list[dict[str, Any]] = []
    for part in master.split("# %%")[1:]:
        head, _, body = part.partition("\n")
        if "instructor" in head:
            continue
        if "markdown" in head:
            lines = [line.removeprefix("#").removeprefix(" ") for line in body.splitlines()]
            cells.append({"cell_type": "markdown", "source": "\n".join(lines)})
        else:
            cells.append({"cell_type": "code", "source": body, "outputs": []})
    cells += [{"cell_type": kind, "source": text} for kind, text in more]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def grade(
    source: str,
    name: str,
    *,
    walls: Walls = NO_WALLS,
    student: str = "s",
    quick: bool = False,
    tell: Listener = lambda _kind, _value: None,
) -> Verdict:
    lab = replace(LABS[name])
    if quick:
        object.__setattr__(lab, "checks", tuple(check for check in lab.checks if not check.simulates))
    terms = GradingTerms(key="labs", individual=True)
    return judge(Submission(student=student, source=source), lab, walls=walls, terms=terms, listener=tell)


def lost(verdict: Verdict) -> list[str]:
    return [result.id for result in verdict.results if result.earned < result.points]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("walled", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["here", "walled"])
@pytest.mark.parametrize("name", ALL)
def test_the_solved_notebook_earns_all_points_and_the_template_none(name: str, walled: bool, best: Walls) -> None:
    lab = LABS[name]
    stem = lab.file.removesuffix(".py")
    for text, points in ((solved(lab), 100), (untouched(lab), 0)):
        # The same student as in `grade`, so that this test uses the reference runs of the other tests.
        submission = read_submission("s", {f"{stem}.ipynb": notebook(text)}, lab)
        assert (submission.problems, submission.answers) == ((), ())
        around = best if walled else NO_WALLS
        verdict = judge(submission, lab, walls=around, terms=GradingTerms(key="labs", individual=True))
        assert (verdict.points, verdict.total, verdict.status) == (points, 100, "graded"), text_report(verdict)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("keys", [range(3), pytest.param(range(3, 12), marks=pytest.mark.thorough)], ids=["3", "12"])
@pytest.mark.parametrize("name", WITH_FUNCTIONS)
def test_the_model_earns_all_points_with_any_key(name: str, keys: range) -> None:
    for student in map(str, keys):
        verdict = grade(LABS[name].model, name, student=student, quick=True)
        assert verdict.points == verdict.total, text_report(verdict)


@pytest.mark.parametrize("name", LABS)
def test_the_rubric_is_of_the_exercises(name: str) -> None:
    lab = LABS[name]
    asked = re.findall(r'lab\.check\("\w+\.\w+", (\w+)\)', lab.handed_out)
    assert set(lab.names) == set(asked)
    assert 10 <= sum(check.points for check in lab.checks if check.public) <= 50
    assert find_assignment(name) is lab


def test_every_lab_has_a_rubric() -> None:
    masters = {path.name for path in (ROOT / "labs/pacelab_labs/masters").glob("lab[0-9]*.py")}
    graded = {lab.file for lab in LABS.values()}
    assert graded == masters, "grading/pacelab_grading/labs/rubrics.py must have each lab"


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "body",
    [
        *("return 1", "return None", "return ({'A'}, {'B'})"),
        *(pytest.param(body, marks=pytest.mark.thorough) for body in ("return 0.0", 'return "depends"', "return {}")),
    ],
)
@pytest.mark.parametrize("name", ALL)
def test_a_constant_earns_nothing(name: str, body: str) -> None:
    verdict = grade(LABS[name].template.replace("raise lab.Todo", body), name, quick=name != "lab7")
    assert verdict.points == 0, text_report(verdict)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("name", WITH_FUNCTIONS)
def test_a_table_learned_from_another_students_variant_earns_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source answers all questions of the other student's variant correctly from a table."""
    table: dict[str, Any] = {}
    original = RemoteFunction.__call__

    def noting(self: RemoteFunction, *arguments: Any, **keywords: Any) -> Any:
        answer = original(self, *arguments, **keywords)
        table[f"{self._name} {sorted(json.dumps([key, value]) for key, value in keywords.items())}"] = answer
        return answer

    functions = [check.needs[0] for check in LABS[name].checks if check.needs[0][0].islower()]
    with monkeypatch.context() as patched:
        patched.setattr(RemoteFunction, "__call__", noting)
        grade(LABS[name].model, name, student="ann", quick=True)
    source = f"TABLE = {list(table.items())!r}\n" + "".join(
        f"def {function}(**given):\n    return look({function!r}, given)\n" for function in dict.fromkeys(functions)
    )
    source += (
        "import json\ndef form(value):\n"
        "    if isinstance(value, list): return {'$list': [form(item) for item in value]}\n"
        "    if isinstance(value, set): return {'$set': sorted(value)}\n"
        "    if isinstance(value, dict): return {'$map': [[key, form(item)] for key, item in value.items()]}\n"
        "    return value\n"
        "def look(name, given):\n"
        "    wanted = f'{name} {sorted(json.dumps([key, form(value)]) for key, value in given.items())}'\n"
        "    found = [answer for call, answer in TABLE if call == wanted]\n"
        "    found = found or [answer for call, answer in TABLE if call.startswith(name)]\n"
        "    return dict(found[0]) if name == 'throttles' else found[0]\n"
    )
    kept = {
        function: sum(check.points for check in LABS[name].checks if check.needs == (function,))
        for function in functions
    }
    simulated = sum(check.points for check in LABS[name].checks if check.simulates and check.needs[0] in kept)
    assert grade(source, name, student="ann", quick=True).points == sum(kept.values()) - simulated
    assert grade(source, name, student="bob", quick=True).points == 0


def _is_simulated(name: str, number: int) -> bool:
    """Whether the mistake is found only by simulations."""
    quick = {check.id for check in LABS[name].checks if not check.simulates}
    return not quick.issuperset(MISTAKES[name][number].loses)


def _mistakes() -> Iterator[Any]:
    """All mistakes. `make test` simulates one of each lab."""
    for name in MISTAKES:
        simulated = [number for number in range(len(MISTAKES[name])) if _is_simulated(name, number)]
        for number in range(len(MISTAKES[name])):
            yield pytest.param(name, number, marks=[pytest.mark.thorough] if number in simulated[1:] else [])


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["sparing", "whole"])
@pytest.mark.parametrize(("name", "number"), list(_mistakes()))
def test_a_mistake_loses_the_intended_points(name: str, number: int, whole: bool) -> None:
    """Nothing is simulated for a mistake that checks without simulations should find."""
    mistake = MISTAKES[name][number]
    verdict = grade(mistake.apply(LABS[name].model), name, quick=not whole and not _is_simulated(name, number))
    assert sorted(lost(verdict)) == sorted(mistake.loses), text_report(verdict)


CHECKED = re.compile(r"^lab\.check\((\"[\w.]+\"), (\w+)\)$", re.MULTILINE)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.thorough] if name in ("lab2", "lab4", "lab5", "lab6") else [])
        for name in MISTAKES
        if name != "lab7"
    ],
)
def test_public_checks_find_a_mistake_before_it_is_handed_in(name: str) -> None:
    """The notebook's own checks refuse solutions that would lose points. The capstone's check tests only its form."""
    lab = LABS[name]
    asked = CHECKED.findall(lab.handed_out)
    for mistake in (None, *MISTAKES[name]):
        module: dict[str, Any] = {}
        exec(lab.model if mistake is None else mistake.apply(lab.model), module)
        loses = () if mistake is None else mistake.loses
        wrong = {check.needs[0] for check in lab.checks if check.id in loses}
        asked.sort(key=lambda exercise: exercise[1] not in wrong)  # the first refusal is the last check that runs
        refused = any(_refuses(of.strip('"'), module[work]) for of, work in asked)
        assert refused == (mistake is not None), mistake


def _refuses(name: str, work: Any) -> bool:
    try:
        SelfCheck().check(name, work)
    except CheckFailed:
        return True
    return False


def test_every_check_catches_a_mistake() -> None:
    for name in MISTAKES:
        assert {found for mistake in MISTAKES[name] for found in mistake.loses} == {c.id for c in LABS[name].checks}


@pytest.mark.usefixtures("engine")
@pytest.mark.thorough
@pytest.mark.parametrize("name", WITH_FUNCTIONS)
def test_no_mutant_earns_full_marks(name: str, earns_all: Callable[[Callable[[Listener], Verdict]], bool]) -> None:
    known = EQUIVALENT[name]
    made = [mutant for mutant in MUTANTS.mutants(LABS[name].model) if _line(mutant[0]) in _judged_by_the_model(name)]
    assert len(made) > 10
    assert known.keys() <= {told for told, _ in made}, "listed, but no mutant any more"
    alive = [
        told
        for told, source in made
        if earns_all(lambda tell, source=source: grade(source, name, quick=True, tell=tell))
    ]
    assert sorted(alive) == sorted(known)


def _line(told: str) -> int:
    return int(told.removeprefix("line ").partition(":")[0])


def _judged_by_the_model(name: str) -> set[int]:
    """Lines of the functions whose answers are compared with the model's. A design problem has several
    right answers.
    """
    lab = LABS[name]
    designs = {
        check.needs[0] for check in lab.checks if isinstance(check.run, partial) and check.run.func is judge_design
    }
    asked = {*lab.names} - designs
    found = [node for node in ast.parse(lab.model).body if getattr(node, "name", "") in asked]
    return {line for node in found for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


# The capstone.

PACERS = {
    "never waits": "self.interval_s = 0.0",
    "hardly waits": "self.interval_s = 1e-6",
    "for ever": "self.interval_s = 1e9",
    "sets nothing": "interval_s = sample.rtt_s",
}


@pytest.mark.usefixtures("engine")
@pytest.mark.thorough
@pytest.mark.parametrize("body", PACERS.values(), ids=PACERS)
def test_a_pacer_that_does_nothing_or_too_much_earns_nothing(body: str) -> None:
    verdict = grade(LABS["lab7"].template.replace("raise lab.Todo", body), "lab7")
    assert verdict.points == 0, text_report(verdict)


@pytest.mark.usefixtures("engine")
@pytest.mark.thorough
def test_the_capstones_scale_starts_at_newreno_and_at_the_example() -> None:
    example = "self.interval_s = sample.rtt_s"
    assert example in LABS["lab7"].handed_out
    for body, score in (
        (example, [20, 20, 0]),
        ("self.interval_s = 16 * sample.data_bytes / sample.rate_bps", [20, None, 0]),
    ):
        verdict = grade(LABS["lab7"].template.replace("raise lab.Todo", body), "lab7")
        earned = [result.earned for result in verdict.results]
        assert all(want in (None, came) for want, came in zip(score, earned, strict=True)), text_report(verdict)
        assert earned[1] > 0


@pytest.mark.usefixtures("engine")
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("self.interval_s = -1", "interval_s of at least 0 seconds"),
        ("self.interval_s = float('nan')", "raised ValueError"),
        ("self.interval_s = 'soon'", "not a number"),
        ("1 / 0", "ZeroDivisionError"),
        ("while True:\n            pass", "steps without returning"),
    ],
)
def test_a_pacers_failure_in_the_simulator_is_reported(body: str, says: str, best: Walls) -> None:
    verdict = grade(LABS["lab7"].template.replace("raise lab.Todo", body), "lab7", walls=best)
    assert verdict.points == 0
    assert {result.status for result in verdict.results} == {"failed"}, text_report(verdict)
    assert says in verdict.results[0].got + verdict.results[0].expected


# The parts of a file that are graded.


def taken(*cells: str, wanted: Sequence[str] = ("f",)) -> Module:
    made = json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]})
    return module_of(made, "n.ipynb", wanted, lean=True)


def test_only_what_the_exercises_need_is_taken() -> None:
    module = taken(
        "from pacelab import Experiment, Pacer, lab\nimport math, statistics",
        "flow = result.run['flows'][0]\nmean = run(Experiment())",
        "SMALL = 1e-9\nOTHER = print('x')",
        "def helper(x):\n    return math.sqrt(x + SMALL)",
        "def f(x):\n    flow, mean = x, helper(x)\n    return [flow for flow in mean]\n\nlab.check('lab1.f', f)",
        "class Unused(Pacer):\n    pass",
    )
    assert module.problems == ()
    assert module.source == (
        "from __future__ import annotations\n\nimport math\n\nSMALL = 1e-9\n\n"
        "def helper(x):\n    return math.sqrt(x + SMALL)\n\n"
        "def f(x):\n    flow, mean = x, helper(x)\n    return [flow for flow in mean]\n"
    )


def test_missing_needed_names_are_reported() -> None:
    module = taken(
        "import numpy as np\nfrom pacelab import run\nfrom math import *", "def f(x):\n    return np.mean(run(sqrt(x)))"
    )
    assert any("needs numpy, run, which is not available" in problem for problem in module.problems)
    assert module.source is not None
    assert "from math import *" in module.source


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (("def f(:\n",), "code cell 1, line 1: SyntaxError"),
        (("x = 1",), "no code cell that defines anything"),
        (
            ("def f(x):\n    return x + A", "for A in [1]:\n    pass"),
            "cell 2, line 1: A was left out, because cells are not",
        ),
        (("def f(x):\n    return x + A", "A = !nproc"), "cell 2, line 1: A was left out, because it calls get_ipython"),
        (("%%bash\ndef f(x):",), "code cell 1 was left out because of %%bash"),
        (("def f(x):\n    return " + "(" * 300 + "x" + ")" * 300,), "fix this first"),
    ],
)
def test_a_broken_cell_is_named(cells: tuple[str, ...], says: str) -> None:
    assert any(says in problem for problem in taken(*cells).problems)


def test_a_timed_cell_and_one_that_tries_an_import_are_taken() -> None:
    module = taken(
        "try:\n    from math import sqrt\nexcept ImportError:\n    sqrt = None",
        "%%time\nfrom __future__ import annotations\ndef f(x):\n    return sqrt(\n        x\n        % 2\n    )",
        "for n in range(3):\n    %time f(n)\n    sum = n",
    )
    assert module.problems == ()
    assert module.source == (
        "from __future__ import annotations\n\n"
        "try:\n    from math import sqrt\nexcept ImportError:\n    sqrt = None\n\n"
        "def f(x):\n    return sqrt(\n        x\n        % 2\n    )\n"
    )


def test_a_long_chain_of_definitions_takes_no_time() -> None:
    lines = [f"x{number} = x{number + 1}" for number in range(10_000)]
    module = taken("\n".join([*lines, "def f():\n    return x0"]))
    assert module.source is not None
    assert module.source.count("\n\n") > 10_000


@pytest.mark.usefixtures("engine")
def test_a_script_is_accepted_and_not_run() -> None:
    lab = LABS["lab3"]
    text = solved(lab) + "\nraise SystemExit('run')\n"
    submission = read_submission("ann", {"mine.py": text.encode()}, lab)
    assert submission.problems == ("the file is called mine.py; it was graded, but call it lab3_link_red.py",)
    assert judge(submission, lab, walls=NO_WALLS).points == 100


def test_a_labs_notebook_is_recognized_by_any_name() -> None:
    lab = LABS["lab2"]
    found = read_submission("ann", {"lab2_window.py": notebook(solved(lab), ("markdown", "Mine."))}, lab)
    assert (found.source is None, found.answers) == (False, ("Mine.",))
    assert found.problems == (
        "the file is called lab2_window.py and is a notebook; it was graded, but call it lab2_window.ipynb",
    )


def test_another_labs_notebook_is_reported() -> None:
    other = notebook(solved(LABS["lab4"]))
    found = read_submission("ann", {"lab7_capstone.ipynb": other}, LABS["lab7"])
    assert found.source is None
    assert found.problems == ("lab7_capstone.ipynb is for lab 4, and this is lab 7: hand in the right file",)
    other = notebook(solved(LABS["lab3"]))
    found = read_submission("ann", {"lab3_link_red.ipynb": other}, LABS["lab2"])
    assert found.problems == ("lab3_link_red.ipynb is for lab 3, and this is lab 2: hand in the right file",)


def test_the_cells_that_a_student_opens_later_are_no_answers() -> None:
    lab = LABS["lab1"]
    line = "No packet is lost here, so no loss counter shows the problem. The senders waste airtime because they wait."
    line += " RTS/CTS"
    assert f"\n# {line}\n" in lab.handed_out
    opened = f"{FOLD}{line}{FOLD_END}"
    found = read_submission("ann", {"lab1_hidden_exposed.ipynb": notebook(solved(lab), ("markdown", opened))}, lab)
    assert found.answers == ()


def test_answers_in_words_are_shown_and_earn_nothing() -> None:
    lab = LABS["lab2"]
    told = untouched(lab).replace("the curve changes?", "the curve changes?\n#\n#    It does <b>not</b>.")
    found = read_submission("ann", {"lab2_window.ipynb": notebook(told, ("markdown", "One thing more."))}, lab)
    assert found.answers == ("It does <b>not</b>.", "One thing more.")
    verdict = judge(found, lab, walls=NO_WALLS)
    assert verdict.points == 0
    assert "It does <b>not</b>." in text_report(verdict)
    assert "It does &lt;b&gt;not&lt;/b&gt;." in html_report(verdict)


# A class.

HOSTILE = {
    "endless": ("return (hops + every - 1) // every", "while True:\n        pass"),
    "exits": ("return (hops + every - 1) // every", "import os\n    os._exit(3)"),
    "forges": (
        "return (hops + every - 1) // every",
        "import os\n    for n in range(3, 64):\n        try:\n            os.write(n, b'\\0\\0\\0\\x02{}')\n"
        "        except OSError:\n            pass",
    ),
    "says-too-much": ("return (hops + every - 1) // every", "return 'x' * 10**6"),
}


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_a_class_on_canvas_with_hostile_notebooks(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A hostile notebook loses only its own points, and only those of the hostile exercise."""
    lab = LABS["lab2"]
    right = solved(lab)
    texts = {name: right.replace(*change) for name, change in HOSTILE.items()}
    files = {name: notebook(text) for name, text in ({"ann": right, "bob": untouched(lab)} | texts).items()}
    files |= {
        "deep": b'{"cells": ' + b"[" * 100_000,
        "exits-at-import": notebook(right, ("code", "import os\nos._exit(1)")),
    }
    with zipfile.ZipFile("submissions.zip", "w") as archive:
        for number, (name, content) in enumerate(files.items(), 100):
            archive.writestr(f"{name.replace('-', '')}_{number}_{number + 500}_lab2_window.ipynb", content)
    rows = [f"{name},{number},s{number},{name},A" for number, name in enumerate(files, 100)]
    Path("roster.csv").write_text("\n".join(["Student,ID,SIS User ID,SIS Login ID,Section", *rows, ""]), "utf-8")
    command = [
        "grade",
        "submissions.zip",
        "--assignment",
        "lab2",
        "--roster",
        "roster.csv",
        "--key",
        "a" * 64,
        "--weak-walls",
    ]
    assert main([*command, "--individual", "--jobs", "2", "--similarity"]) == UNREADABLE, capsys.readouterr().err
    with (in_tmp / "grades" / "gradebook.csv").open(encoding="utf-8-sig") as file:
        found = {row["student"]: (float(row["score"]), row["status"]) for row in csv.DictReader(file)}
    without = 100 - sum(check.points for check in lab.checks if check.needs == ("busy_at_once",))
    scores = {"ann": 100, "bob": 0, "deep": 0, "exits-at-import": 100} | dict.fromkeys(HOSTILE, without)
    status = {"deep": "unreadable"}
    assert found == {name: (score, status.get(name, "graded")) for name, score in scores.items()}
    home = (in_tmp / "grades" / "canvas.csv").read_text("utf-8").splitlines()
    assert home[0].endswith(",Lab 2")
    assert "ann,100,s100,ann,A,100.00" in home
    assert "the model solution" in (in_tmp / "grades" / "summary.html").read_text("utf-8")


@pytest.mark.usefixtures("engine")
def test_a_class_on_moodle(in_tmp: Path) -> None:
    lab = LABS["lab3"]
    with zipfile.ZipFile("course.zip", "w") as archive:
        archive.writestr("Ann A_31_assignsubmission_file_/lab3_link_red.ipynb", notebook(solved(lab)))
        archive.writestr("Bob B_32_assignsubmission_file_/untitled.ipynb", notebook(untouched(lab)))
    Path("grading.csv").write_text(
        "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (submission)\n"
        "Participant 31,Ann A,a@x,Submitted,,100.00,\nParticipant 32,Bob B,b@x,Submitted,,100.00,\n",
        "utf-8",
    )
    command = [
        "grade",
        "course.zip",
        "--assignment",
        "lab3",
        "--roster",
        "grading.csv",
        "--key",
        "a" * 64,
        "--weak-walls",
    ]
    assert main([*command, "--quiet"]) == 0
    with (in_tmp / "grades" / "moodle.csv").open(encoding="utf-8") as file:
        assert {row["Full name"]: float(row["Grade"]) for row in csv.DictReader(file)} == {"Ann A": 100, "Bob B": 0}


@pytest.mark.usefixtures("engine")
def test_students_check_their_notebook(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output names the lab of the notebook."""
    lab = LABS["lab2"]
    place = in_tmp / "mine.ipynb"
    place.write_bytes(notebook(untouched(lab)))
    assert main(["check", str(place)]) == 1
    assert "0 of 40 points" in capsys.readouterr().out
    place.write_bytes(notebook(solved(lab)))
    assert main(["check", str(place)]) == 0
    assert "40 of 40 points" in capsys.readouterr().out
    place.write_bytes(notebook("# %%\nprint(1)\n"))
    assert main(["check", str(place)]) == 2
    assert "does not state its assignment" in capsys.readouterr().err
    assert main(["check", str(place), "--assignment", "lab9"]) == 2
    assert "must be one of 1, 2, 3, 4, 5, lab0, lab1" in capsys.readouterr().err
