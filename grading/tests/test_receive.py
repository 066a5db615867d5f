from __future__ import annotations

import io
import json
import math
import re
import stat
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from pacelab import ConfigError
from pacelab_grading.assignments import find_assignment
from pacelab_grading.receive import collect as collect_module
from pacelab_grading.receive.collect import Collected
from pacelab_grading.receive.notebook import Module, module_of
from pacelab_grading.receive.platforms import NO_NAMES, KnownNames
from pacelab_grading.receive.statements import with_available_imports
from pacelab_grading.receive.submission import Submission, read_submission
from pacelab_grading.rubric.assignment import Assignment

pytestmark = pytest.mark.usefixtures("one_judge_process")

ASSIGNMENT = find_assignment(3)
TEMPLATE = ASSIGNMENT.template


def collect(paths: Iterable[Path], assignment: Assignment, known: KnownNames = NO_NAMES) -> Collected:
    """Collect without a judge process, whose start would take most of the time of a test."""

    def read(
        student: str, files: Mapping[str, bytes], wanted: Assignment, problems: Sequence[str], others: Sequence[str]
    ) -> Submission:
        return read_submission(student, files, wanted, problems=problems, others=others)

    return collect_module.collect(paths, assignment, known, read=read)


def one(path: Path) -> Submission:
    (found,) = collect([path], ASSIGNMENT, KnownNames(names=[path.stem])).submissions
    return found


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def notebook(*cells: str, **metadata: object) -> bytes:
    made = [
        {"cell_type": "code", "source": cell, "outputs": [{"score": 100}], "metadata": {"score": 100}} for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}).encode()


def test_a_single_file_belongs_to_its_student(tmp_path: Path) -> None:
    (tmp_path / "ann.py").write_text(TEMPLATE)
    found = one(tmp_path / "ann.py")
    assert (found.student, found.source, found.version, found.problems) == ("ann", TEMPLATE, 1, ())
    (tmp_path / "ann.py").rename(tmp_path / "ann.py.txt")  # as some browsers save it
    for place in (tmp_path / "ann.py.txt", tmp_path):
        found = one(place)
        assert (found.student, found.source) == ("ann" if place.is_file() else tmp_path.name, TEMPLATE)


def test_a_folder_of_files_is_a_class(tmp_path: Path) -> None:
    for name in ("bob.py", "ann.py", "cem.ipynb"):
        (tmp_path / name).write_bytes(notebook(TEMPLATE) if name.endswith("b") else TEMPLATE.encode())
    assert [item.student for item in collect([tmp_path], ASSIGNMENT).submissions] == ["ann", "bob", "cem"]


@pytest.mark.parametrize("wrapped", [False, True])
def test_folders_zips_and_files_beside_each_other_are_a_class(tmp_path: Path, wrapped: bool) -> None:
    place = tmp_path / "class"
    for name in ("ann", "bob"):
        (place / name).mkdir(parents=True)
        (place / name / "gateway_pacer.py").write_text(TEMPLATE if name == "ann" else "nothing of it")
    (place / "cem.ipynb").write_bytes(notebook(TEMPLATE))
    zipped(place / "dee.zip", {"work/gateway_pacer.py": TEMPLATE.encode()})
    if wrapped:
        files = {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}
        place = zipped(tmp_path / "class.zip", files)
    found = collect([place], ASSIGNMENT).submissions
    assert [item.student for item in found] == ["ann", "bob", "cem", "dee"]
    assert [item.source is not None for item in found] == [True, False, True, True]


def test_a_class_named_folder_by_folder_gets_advice(tmp_path: Path) -> None:
    for name in ("ann/pacer_old.py", "ann/pacer.py", "bob/gateway_pacer.py"):
        (tmp_path / "fall" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "fall" / name).write_text(TEMPLATE)
    with pytest.raises(ConfigError, match=r"'ann' may hold a class.*; name the folder that contains all these places"):
        collect(sorted((tmp_path / "fall").iterdir()), ASSIGNMENT)
    assert [item.student for item in collect([tmp_path / "fall"], ASSIGNMENT).submissions] == ["ann", "bob"]


@pytest.mark.parametrize("other", ["ann/gateway_pacer.py", "ann.py", "ann.zip"])
def test_a_file_without_a_students_name_is_ambiguous(tmp_path: Path, other: str) -> None:
    place = tmp_path / "fall"
    (place / "ann").mkdir(parents=True)
    (place / "gateway_pacer.py").write_text(TEMPLATE)
    if other.endswith(".zip"):
        zipped(place / other, {"gateway_pacer.py": TEMPLATE.encode()})
    else:
        (place / other).write_text(TEMPLATE)
    with pytest.raises(ConfigError, match=r"'fall' may hold a class.*give --roster"):
        collect([place], ASSIGNMENT)
    assert one(place).student == "fall"
    assert len(collect([place], ASSIGNMENT, KnownNames(names=["Ann"])).submissions) == 2


def test_a_class_may_be_zipped_with_its_folder(tmp_path: Path) -> None:
    files = {f"fall/{name}/gateway_pacer.py": TEMPLATE.encode() for name in ("ann", "bob")}
    place = zipped(tmp_path / "fall.zip", {**files, "__MACOSX/fall/._ann": b"", "fall/cem.py": TEMPLATE.encode()})
    found = collect([place], ASSIGNMENT, KnownNames(names=["Ann", "Cem"])).submissions
    assert [item.student for item in found] == ["ann", "bob", "cem"]


@pytest.mark.parametrize("names", [(), ("Somebody Else",)])
@pytest.mark.parametrize("unpacked", [False, True])
def test_the_folder_around_a_class_belongs_to_nobody(tmp_path: Path, names: tuple[str, ...], unpacked: bool) -> None:
    files = {f"fall/{name}/gateway_pacer.py": TEMPLATE.encode() for name in ("ann", "bob")}
    place = zipped(tmp_path / "fall.zip", {**files, "fall/cem.ipynb": notebook(TEMPLATE), "__MACOSX/fall/._a": b""})
    if unpacked:
        zipfile.ZipFile(place).extractall(tmp_path / "all")
        place = tmp_path / "all"
    found = collect([place], ASSIGNMENT, KnownNames(names=names)).submissions
    assert [item.student for item in found] == ["ann", "bob", "cem"]


@pytest.mark.parametrize(
    "files",
    [
        ("gateway_pacer.py",),
        ("gateway_pacer.py", "old/gateway_pacer.py"),
        ("lib/gateway_pacer.py", "docs/notes.py"),
        ("work.py", "work.ipynb"),
    ],
)
def test_the_folder_around_one_students_files_is_the_students(tmp_path: Path, files: tuple[str, ...]) -> None:
    contents = {f"ann/{name}": notebook(TEMPLATE) if name.endswith("b") else TEMPLATE.encode() for name in files}
    contents["ann/docs/notes.py"] = b"x = 1"
    (found,) = collect([zipped(tmp_path / "all.zip", contents)], ASSIGNMENT).submissions
    assert found.student == "ann"
    assert found.source is not None


def test_one_students_files_are_not_a_class(tmp_path: Path) -> None:
    work = TEMPLATE.encode()
    for number, files in enumerate(
        (
            {"work.py": work, "work.ipynb": notebook(TEMPLATE)},
            {"gateway_pacer.py": work, "gateway_pacer (1).py": work, "old gateway_pacer.ipynb": notebook(TEMPLATE)},
            {"pacer.py": work, "lib/tools.py": b"x = 1\n", "notes.zip": b"no zip"},
            {"gateway_pacer.py": work, "window.py": b'PACELAB_ASSIGNMENT = "2/1"\n', "lib/window.py": b""},
        )
    ):
        (found,) = collect([zipped(tmp_path / f"s{number}.zip", files)], ASSIGNMENT).submissions
        assert found.student == f"s{number}"


def test_canvas_names_are_understood(tmp_path: Path) -> None:
    files = {
        "smithjane_LATE_123_9001_gateway_pacer-2.py": TEMPLATE.encode(),
        "doejohn_124_9002_gateway_pacer.ipynb": notebook(TEMPLATE),
        "doejohn_124_9003_notes.txt": b"hello",
    }
    john, jane = collect([zipped(tmp_path / "submissions.zip", files)], ASSIGNMENT).submissions
    assert (john.student, john.identity, john.late, john.problems) == ("doejohn", "124", False, ())
    assert (jane.student, jane.identity, jane.late, jane.problems) == ("smithjane", "123", True, ())


def test_moodle_folders_are_understood(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("work/gateway_pacer.py", TEMPLATE)
    files = {
        "Jane Smith_123_assignsubmission_file_/gateway_pacer.py": TEMPLATE.encode(),
        "Zoë Öz_124_assignsubmission_file_/all.zip": inner.getvalue(),
    }
    jane, zoe = collect([zipped(tmp_path / "course.zip", files)], ASSIGNMENT).submissions
    assert (jane.student, jane.identity, jane.source) == ("Jane Smith", "123", TEMPLATE)
    assert (zoe.student, zoe.source) == ("Zoë Öz", TEMPLATE)


def test_no_file_replaces_another(tmp_path: Path) -> None:
    place = tmp_path / "ann"
    place.mkdir()
    (place / "gateway_pacer.py").write_text(TEMPLATE)
    zipped(place / "a.zip", {"gateway_pacer.py": b"# another\n", "gateway_pacer.PY": b"# a third\n", "b.rar": b""})
    zipped(place / "b.zip", {"gateway_pacer.py": TEMPLATE.encode()})
    found = one(place)
    assert found.source == TEMPLATE
    assert found.received == (
        "gateway_pacer.py: graded",
        "gateway_pacer.py (a.zip)/gateway_pacer.py: left out, the graded file does not import it",
        "gateway_pacer.py (a.zip, 2)/gateway_pacer.py: left out, the graded file does not import it",
        "a.zip/b.rar: left out, not a Python file or notebook",
        "gateway_pacer.py (b.zip)/gateway_pacer.py: left out, the same as gateway_pacer.py",
    )
    assert any(
        "the other one is called gateway_pacer.py (a.zip)/gateway_pacer.py here" in problem
        for problem in found.problems
    )


def test_canvas_newest_is_graded_and_the_others_are_named(tmp_path: Path) -> None:
    files = {
        "bobby_2_100_gateway_pacer-1.py": TEMPLATE.encode(),
        "bobby_2_99_gateway_pacer.py": b"# old\n" + TEMPLATE.encode(),
        "bobby_2_98_gateway_pacer.py": b"# older\n" + TEMPLATE.encode(),
        "cy_LATE_3_1000_work.ipynb": notebook(TEMPLATE),
        "cy_LATE_3_999_work.ipynb": b"{",
    }
    bobby, cy = collect([zipped(tmp_path / "submissions.zip", files)], ASSIGNMENT).submissions
    assert bobby.source == TEMPLATE
    assert [line.partition(":")[0] for line in bobby.received] == [
        "gateway_pacer.py",
        "gateway_pacer.py (attachment 98)/gateway_pacer.py",
        "gateway_pacer.py (attachment 99)/gateway_pacer.py",
    ]
    for part in (98, 99):
        said = f"handed in again: the newest is graded, not gateway_pacer.py (attachment {part})/gateway_pacer.py"
        assert any(said in problem for problem in bobby.problems)
    assert not any("hand in one" in problem for problem in bobby.problems)  # nobody can remove a file from the platform
    assert "work.ipynb: graded" in cy.received
    assert len(cy.received) == 2


def test_every_file_received_is_listed(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", {"gateway_pacer.py": TEMPLATE.encode()}).read_bytes()
    place = tmp_path / "ann"
    place.mkdir()
    (place / "work.rar").write_bytes(b"Rar!")
    deeper = zipped(tmp_path / "deeper.zip", {"inner.zip": inner}).read_bytes()
    zipped(place / "outer.zip", {"deeper.zip": deeper})
    zipped(place / "empty.zip", {})
    (place / "broken.zip").write_bytes(b"no zip")
    names = {line.partition(": ")[0] for line in one(place).received}
    assert names == {"work.rar", "outer.zip/deeper.zip/inner.zip", "empty.zip", "broken.zip"}
    (many,) = collect([zipped(tmp_path / "s.zip", {f"x{n}.txt": b"" for n in range(2001)})], ASSIGNMENT).submissions
    assert len(many.received) == 301
    assert many.received[-1] == "and 1,701 more"
    (eve,) = collect([place / "broken.zip"], ASSIGNMENT).submissions
    assert [line.partition(": ")[0] for line in eve.received] == ["broken.zip"]


@pytest.mark.parametrize("name", ["GATEWAY_PACER.PY", "Gateway_Pacer.IPYNB", "all.ZIP"])
def test_capital_letters_do_not_matter(tmp_path: Path, name: str) -> None:
    content = notebook(TEMPLATE) if name.endswith("B") else TEMPLATE.encode()
    place = tmp_path / "ann"
    place.mkdir()
    if name.endswith("ZIP"):
        zipped(place / name, {"GATEWAY_PACER.PY": content})
    else:
        (place / name).write_bytes(content)
        (place / name).with_stem("bob").write_bytes(content)
        (bob,) = collect([(place / name).with_stem("bob")], ASSIGNMENT).submissions
        assert bob.source is not None
        (place / name).with_stem("bob").unlink()
    assert one(place).source is not None


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("pacer.py", TEMPLATE.encode(), "is called pacer.py; it was graded, but call it gateway_pacer.py"),
        (
            "Untitled.ipynb",
            notebook(TEMPLATE),
            "is called Untitled.ipynb; it was graded, but call it gateway_pacer.ipynb",
        ),
        (
            "gateway_pacer.py",
            notebook(TEMPLATE),
            "gateway_pacer.py and is a notebook; it was graded, but call it gateway_pacer.ipynb",
        ),
        (
            "gateway_pacer.py.txt",
            TEMPLATE.encode(),
            "is called gateway_pacer.py.txt; it was graded, but call it gateway_pacer.py",
        ),
        (
            "gateway_pacer.ipynb.txt",
            notebook(TEMPLATE),
            "gateway_pacer.ipynb.txt and is a notebook; it was graded, but call it gateway_pacer.ipynb",
        ),
        (
            "gateway_pacer.ipynb",
            TEMPLATE.encode(),
            "is called gateway_pacer.ipynb; it was graded, but call it gateway_pacer.py",
        ),
        ("gateway_pacer.py", b"def broken(:\n", "line 1: SyntaxError"),
        ("gateway_pacer.py", "# ünïcode\n".encode("latin-1") + TEMPLATE.encode(), "not UTF-8 (line 1)"),
        ("gateway_pacer.py", b"\0\0\0", "zero bytes"),
        ("gateway_pacer.py", b"# " + b"x" * (2 << 20), "more than 1,048,576 bytes"),
        ("gateway_pacer.py", TEMPLATE.replace("3/1", "2/1").encode(), "is for assignment 2, and this is assignment 3"),
        ("gateway_pacer.py", TEMPLATE.replace("3/1", "3/9").encode(), "has version 9; valid are 1 to 1"),
        ("gateway_pacer.py", TEMPLATE.replace("PACELAB_ASSIGNMENT", "X").encode(), "has no stamp"),
        ("gateway_pacer.py", ("(" * 100_000).encode(), "fix this first"),
        ("biology.ipynb", notebook("import cells", "mitosis = 4"), "is it for another course?"),
        ("gateway_pacer.ipynb", b"{", "cannot be read as a notebook"),
        ("gateway_pacer.ipynb", b"<!DOCTYPE html>", "is a web page: download the file itself"),
        ("gateway_pacer.ipynb", b"x = 1\n" * 200_000, "cannot be read as a notebook"),
        ("gateway_pacer.ipynb", notebook("class GatewayPacer(:\n"), "code cell 1, line 1: SyntaxError"),
        ("readme.txt", b"see attachment", "no Python file or notebook was handed in"),
    ],
)
def test_bad_input_gets_advice(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    place = tmp_path / "ann"
    place.mkdir()
    (place / name).write_bytes(content)
    assert any(says in problem for problem in one(place).problems), one(place).problems


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("gateway_pacer.py", notebook(TEMPLATE)),
        ("Untitled.py", b"\xef\xbb\xbf" + notebook(TEMPLATE)),
        ("Untitled.ipynb", notebook(TEMPLATE)),
    ],
)
def test_a_notebook_is_recognized_by_any_name(name: str, content: bytes) -> None:
    found = read_submission("ann", {name: content}, ASSIGNMENT)
    assert "class GatewayPacer" in (found.source or "")
    assert (found.version, len(found.problems)) == (1, 1)
    assert found.problems[0].endswith("it was graded, but call it gateway_pacer.ipynb")


@pytest.mark.parametrize("name", ["gateway_pacer.py ", "gateway_pacer.py.", "gateway_pacer.ipynb. "])
def test_spaces_and_dots_at_the_end_of_a_name_do_not_matter(name: str, tmp_path: Path) -> None:
    content = notebook(TEMPLATE) if ".ipynb" in name else TEMPLATE.encode()
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / name).write_bytes(content)
    (found,) = collect([tmp_path / "ann"], ASSIGNMENT).submissions
    assert "class GatewayPacer" in (found.source or "")
    assert (found.version, len(found.problems)) == (1, 1)


@pytest.mark.parametrize("name", ["GATEWAY_PACER.PY", "Gateway_Pacer.ipynb", "work/GATEWAY_PACER.IPYNB"])
def test_capitals_in_a_name_do_not_matter(name: str) -> None:
    content = notebook(TEMPLATE) if name.lower().endswith(".ipynb") else TEMPLATE.encode()
    found = read_submission("ann", {name: content, "notes.py": b"x = 1"}, ASSIGNMENT)
    assert (found.version, found.problems) == (1, ())


def test_the_right_one_of_two_names_that_differ_in_case_is_graded() -> None:
    files = {"GATEWAY_PACER.py": b"x = 1", "gateway_pacer.py": TEMPLATE.encode()}
    found = read_submission("ann", files, ASSIGNMENT)
    assert (found.source, found.problems) == (
        TEMPLATE,
        ("gateway_pacer.py was handed in 2 times; gateway_pacer.py is graded: hand in one",),
    )


def test_an_exported_notebook_gives_only_its_definitions() -> None:
    script = (
        f"# coding: utf-8\n\n# In[1]:\n\nget_ipython().system('pip install x')\n\n{TEMPLATE}\nprint(get_ipython())\n"
    )
    found = read_submission("ann", {"gateway_pacer.py": script.encode()}, ASSIGNMENT)
    assert (found.version, found.problems) == (1, ())
    assert "class GatewayPacer" in (found.source or "")
    assert "get_ipython" not in (found.source or "")


WORKED = TEMPLATE.replace("raise NotImplementedError", "return 1")
SAID = "gateway_pacer.py and gateway_pacer.ipynb were both edited; gateway_pacer.py is graded: hand in one"


@pytest.mark.parametrize(
    ("script", "filled", "graded", "problems"),
    [
        (TEMPLATE, WORKED, "gateway_pacer.ipynb", ()),
        (TEMPLATE.replace("\n", "  \r\n"), WORKED, "gateway_pacer.ipynb", ()),
        (WORKED, TEMPLATE, "gateway_pacer.py", ()),
        (TEMPLATE, TEMPLATE, "gateway_pacer.py", ()),
        (WORKED, WORKED, "gateway_pacer.py", (SAID,)),
        ("def GatewayPacer(:", WORKED, "gateway_pacer.ipynb", ()),
        (f"def four_hop_delay_ns(): {'-' * 50_000}1", TEMPLATE, "gateway_pacer.py", None),
    ],
)
def test_the_edited_one_of_file_and_notebook_is_graded(
    script: str, filled: str, graded: str, problems: tuple[str, ...] | None
) -> None:
    found = read_submission(
        "ann", {"gateway_pacer.py": script.encode(), "gateway_pacer.ipynb": notebook(filled)}, ASSIGNMENT
    )
    assert next(line for line in found.received if "left out" not in line).startswith(f"{graded}: ")
    assert problems is None or found.problems == problems


def test_an_edited_copy_precedes_the_template() -> None:
    handed = {"gateway_pacer.py": TEMPLATE.encode(), "gateway_pacer.ipynb": notebook(TEMPLATE)}
    copy = "gateway_pacer-Copy1.ipynb"
    found = read_submission("ann", {**handed, copy: notebook(WORKED)}, ASSIGNMENT)
    assert f"{copy}: graded" in found.received
    broken = {**handed, "gateway_pacer.ipynb": notebook(WORKED)[:-9]}
    (told,) = read_submission("ann", broken, ASSIGNMENT).problems
    assert told.startswith("gateway_pacer.ipynb cannot be read as a notebook")


@pytest.mark.parametrize("head", ['PACELAB_ASSIGNMENT = "3/1"\n', TEMPLATE], ids=["nothing else", "the template"])
def test_a_file_with_the_right_name_that_imports_its_parts_is_graded_with_them(head: str) -> None:
    parts = {"estimates.py": b"def four_hop_delay_ns(): ...\nclass PaceEstimator: ...\n", "hook.py": WORKED.encode()}
    whole = f"{head}from estimates import PaceEstimator, four_hop_delay_ns\nfrom hook import GatewayPacer\n"
    for name, content in (("gateway_pacer.py", whole.encode()), ("gateway_pacer.ipynb", notebook(whole))):
        found = read_submission("ann", {**parts, name: content}, ASSIGNMENT)
        assert found.received == ("estimates.py: imported", f"{name}: graded", "hook.py: imported")
        assert found.problems == ()


HALVES = (
    'PACELAB_ASSIGNMENT = "3/1"\ndef four_hop_delay_ns(): ...\nclass PaceEstimator: ...\n',
    "class GatewayPacer: ...\n",
)


def test_the_importing_one_of_two_files_is_graded() -> None:
    first, second = HALVES
    files = {"part1.py": first.encode(), "part2.py": f"from part1 import *\n{second}".encode()}
    found = read_submission("ann", files, ASSIGNMENT)
    assert found.received == ("part1.py: imported", "part2.py: graded")
    tried = {"mine.py": "\n".join(HALVES).encode(), "a_try.py": b"from mine import *\ndef four_hop_delay_ns(): ...\n"}
    assert read_submission("ann", tried, ASSIGNMENT).received[1] == "mine.py: graded"


@pytest.mark.parametrize("name", ["gateway_pacer.py", "part1.py"])
def test_definitions_in_a_file_that_is_not_graded_are_reported(name: str) -> None:
    first, second = HALVES
    (*_, told) = read_submission("ann", {name: first.encode(), "part2.py": second.encode()}, ASSIGNMENT).problems
    assert told.startswith(
        f"part2.py defines GatewayPacer, but the graded file {name} does not: put everything into one"
    )


def test_the_unused_one_of_two_equal_files_is_named() -> None:
    files = {"pacer (2).py": WORKED.encode(), "pacer-1.py": WORKED.encode(), "template.py": TEMPLATE.encode()}
    found = read_submission("ann", files, ASSIGNMENT)
    assert found.problems[0] == "pacer (2).py could be meant as well; pacer-1.py is graded: hand in one"


def test_an_unreadable_file_with_the_right_name_is_reported() -> None:
    files = {"gateway_pacer.py": b"class GatewayPacer(:", "helpers.py": WORKED.encode()}
    found = read_submission("ann", files, ASSIGNMENT)
    assert "gateway_pacer.py cannot be read, so helpers.py is graded: fix it, or do not hand it in" in found.problems


def test_a_file_of_another_assignment_is_not_graded() -> None:
    found = read_submission("ann", {"pacer.py": TEMPLATE.replace("3/1", "2/1").encode()}, ASSIGNMENT)
    assert found.problems == ("pacer.py is for assignment 2, and this is assignment 3: hand in the right file",)


@pytest.mark.parametrize(
    ("others", "problems", "says"),
    [
        (["work.rar"], [], "handed in (work.rar): hand in gateway_pacer.py or gateway_pacer.ipynb"),
        (["b.txt", "a.zip/inner.zip"], [], "handed in (a.zip/inner.zip, b.txt): hand in"),
        ([], [], "handed in (nothing): hand in"),
        ([], ["x.zip: cannot be opened"], "notebook that can be read was handed in (nothing): hand in"),
        (
            ["gateway_pacer.py"],
            ["gateway_pacer.py cannot be read"],
            "that can be read was handed in (gateway_pacer.py)",
        ),
    ],
)
def test_files_that_are_not_code_are_named(others: list[str], problems: list[str], says: str) -> None:
    found = read_submission("ann", {}, ASSIGNMENT, problems=problems, others=others)
    assert says in found.problems[-1]


def test_zip_slip_and_links_are_left_out_and_named(tmp_path: Path) -> None:
    path = tmp_path / "eve.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../gateway_pacer.py", TEMPLATE)
        archive.writestr("/gateway_pacer.py", TEMPLATE)
        archive.writestr("C:\\gateway_pacer.py", TEMPLATE)
        link = zipfile.ZipInfo("gateway_pacer.py")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    found = one(path)
    assert found.source is None
    assert sum("points outside the archive" in problem for problem in found.problems) == 3
    assert any("is a link" in problem for problem in found.problems)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["eve.zip"]


def test_a_link_in_a_folder_is_not_followed(tmp_path: Path) -> None:
    place = tmp_path / "eve"
    place.mkdir()
    (tmp_path / "secret.py").write_text(TEMPLATE)
    (place / "gateway_pacer.py").symlink_to(tmp_path / "secret.py")
    found = one(place)
    assert found.source is None
    assert any("is a link" in problem for problem in found.problems)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "eve.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("gateway_pacer.py", "w") as member,
    ):
        for _ in range(200):  # 200 MiB, 1 MB on disk
            member.write(bytes(1 << 20))
    found = one(path)
    assert found.source is None
    assert any("more than 1,048,576 bytes" in problem for problem in found.problems)


def test_only_the_directory_of_a_large_zip_is_read(tmp_path: Path) -> None:
    path = tmp_path / "eve.zip"
    with path.open("wb") as file:
        file.truncate(2 << 30)
    assert any("cannot be opened" in problem for problem in one(path).problems)


@pytest.mark.parametrize("content", [b"no zip", b"PK\3\4 broken"])
def test_a_broken_zip_is_reported(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "eve.zip").write_bytes(content)
    assert any("cannot be opened" in problem for problem in one(tmp_path / "eve.zip").problems)


def test_many_members_are_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "eve.zip", {f"x{n}.py": b"" for n in range(2001)})
    assert any("more than 2,000 Python files" in problem for problem in one(path).problems)


def test_a_missing_place_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        collect([tmp_path / "nowhere"], ASSIGNMENT)


def test_a_notebook_gives_only_its_definitions() -> None:
    cells = notebook(
        "%matplotlib inline\nimport numpy as np\nfrom math import sqrt\nfrom pacelab import Forward, run",
        'PACELAB_ASSIGNMENT = "3/1"',
        "!rm -rf /\nclass GatewayPacer:\n    pass\nprint(GatewayPacer())",
        "%%bash\nrm -rf /",
        "result = run(1)",
        "this is no python",
    )
    module = module_of(cells.decode(), "n.ipynb", ["GatewayPacer"])
    assert module.problems == ()
    assert module.source == (
        "from math import sqrt\nfrom pacelab import Forward\n\n"
        'PACELAB_ASSIGNMENT = "3/1"\n\nclass GatewayPacer:\n    pass\n'
    )


PARTS = ["import math", "SAMPLES = 50", "def other(x):\n    return x", "class GatewayPacer:\n    held = SAMPLES"]


def taken(*cells: str) -> Module:
    return module_of(notebook(*cells).decode(), "n.ipynb", ["GatewayPacer"])


def names_of(module: Module) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(module.source or "", names)
    return names


@pytest.mark.parametrize(
    ("cell", "name", "value"),
    [
        ("RATE = (\n    17\n    % 7\n)", "RATE", 3),  # as Black formats it
        ('TEXT = """\n%time\n!ls\n?\n"""\n%time x', "TEXT", "\n%time\n!ls\n?\n"),
        ("%load_ext autoreload\n!echo it's (\nRATE = [\n    17\n    % 7\n]", "RATE", [3]),
        ("def f():\n    %time\n    return 1\nRATE = 3\nf?\n?f\n%time f(\\\n)", "RATE", 3),
        ("try:\n    %load_ext autoreload\nexcept ImportError:\n    pass\nRATE = 3", "RATE", 3),
        ("%%time\n\nRATE = 3", "RATE", 3),
        ("\n%%capture out\n%%timeit -n 1\nRATE = 3", "RATE", 3),
        ("RATE = 3\nRATE += 1", "RATE", 4),
        ("  RATE = 3\n  def f():\n    return RATE\n", "RATE", 3),
        ("\n\tif math:\n\t\tRATE = 4\n", "RATE", 4),
        ("RATE = round(math.sqrt(10) * float('2'))", "RATE", 6),
        ("from math import hypot\nRATE = max(hypot(3, 4), *range(3))", "RATE", 5),
        ("import pacelab as lab\nRATE = lab.Point.LINK", "RATE", 4),
        (
            "try:\n    from math import floor\nexcept ImportError:\n    floor = None\nRATE = [floor]",
            "floor",
            math.floor,
        ),
        ("try:\n    import no_such as np\nexcept ImportError:\n    np = 3", "np", 3),
        ("if math:\n    RATE = 3\nelse:\n    RATE = 4", "RATE", 3),
        ("if __name__ == 'here':\n    import numpy", "SAMPLES", 50),
        ('TEXT = "a\u2028b\x0cc"', "TEXT", "a\u2028b\x0cc"),  # `splitlines` treats these as ends of lines
        ("TEXT = 'a'\r\nRATE = 3\rMORE = 4", "MORE", 4),
    ],
)
def test_a_cell_is_taken_as_jupyter_runs_it(cell: str, name: str, value: object) -> None:
    module = taken(*PARTS, cell)
    assert module.problems == ()
    assert names_of(module)[name] == value


def test_a_future_import_anywhere_is_at_the_top() -> None:
    module = taken(*PARTS, "import os\nfrom __future__ import annotations", "def f(x: Unknown): ...")
    assert module.problems == ()
    assert (module.source or "").startswith("from __future__ import annotations\n\nimport math\n\n")
    assert "f" in names_of(module)


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("SAMPLES = int(input())", "cell 1, line 1: SAMPLES was left out, because it calls input"),
        ("SAMPLES = int(input())", "write the value itself, SAMPLES = ..., or call it in a function"),
        ("#\nSAMPLES = !ls", "cell 1, line 2: SAMPLES was left out, because it calls get_ipython"),
        ("for SAMPLES in [50]:\n    pass", "define it outside `for`"),
        ("SAMPLES = [0]\nwhile not SAMPLES[0]:\n    SAMPLES[0] += 1", "line 2: SAMPLES was left out"),
        ("try:\n    SAMPLES = int(input())\nfinally:\n    pass", "define it outside `try`"),
        ("(SAMPLES := 50)", "define it in a separate statement"),
        ("few = int(input())\nSAMPLES = few", "SAMPLES was left out, because few was left out: fix that first"),
        ("few = int(input())\nSAMPLES = few", "cell 1, line 1: few was left out, because it calls input"),
        ("import numpy as SAMPLES", "needs numpy, which is not available"),
        ("%%bash\nSAMPLES=50", "cell 1 was left out because of %%bash: remove that line"),
        ("SAMPLES = 50\n1 +", "cell 1, line 2: SyntaxError: invalid syntax; fix this first"),
        ("def SAMPLES(:", "cell 1, line 1: SyntaxError"),
    ],
)
def test_needed_code_that_is_left_out_is_reported(cell: str, says: str) -> None:
    module = taken(cell, "class GatewayPacer:\n    def handle(self):\n        return SAMPLES")
    assert any(says in problem for problem in module.problems), module.problems
    assert "GatewayPacer" in names_of(module)


@pytest.mark.parametrize(
    "cell",
    [
        "TABLE.update({1: 2})",
        "TABLE.setdefault(1, []).append(2)",
        "[TABLE.pop(n) for n in (1, 2)]",
        "old = TABLE.pop(1)",
        "del TABLE[1]",
        "if TABLE:\n    TABLE.clear()",
        "def fill():\n    TABLE[1] = 2\nfill()",
        "def make():\n    global TABLE\n    TABLE = {1: 2}\n\nmake()",
    ],
)
def test_left_out_changes_of_needed_values_are_reported(cell: str) -> None:
    answer = "class GatewayPacer:\n    def handle(self):\n        return TABLE[1], random.random()"
    module = taken("import random\nTABLE = {}", cell, answer)
    (problem,) = module.problems
    assert re.search(
        r"code cell 2, line \d: (the statement that changes )?TABLE was left out, because cells are not run", problem
    )
    looks = "random.seed(1)\nprint(TABLE.get(1))\nTABLE.items()\nTABLE[1]\nother = []\nother.append(1)"
    assert taken("import random\nTABLE = {1: 2}", looks, answer).problems == ()


def test_notebooks_before_version_4_are_read() -> None:
    cells = [
        {"cell_type": "heading", "level": 1, "source": ["Mine"]},
        {"cell_type": "code", "input": TEMPLATE.splitlines(keepends=True), "language": "python", "outputs": []},
    ]
    old = {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": cells}]}
    (_, _, *definitions) = TEMPLATE.partition("PACELAB_ASSIGNMENT")
    found = read_submission("ann", {"gateway_pacer.ipynb": json.dumps(old).encode()}, ASSIGNMENT)
    assert (found.version, found.problems) == (1, ())
    assert definitions[0].strip()[-20:] in (found.source or "")


def test_unneeded_code_that_is_left_out_is_not_reported() -> None:
    module = taken(
        *PARTS,
        "import numpy as np\nresult = np.mean([1])",
        "mean = result['mean']\n%%bash",
        "for n in range(3):\n    print(n)",
        "def plot():\n    return np.plot(result)",
        "class Plot(np.Figure):\n    pass",
        "import pacelab\ndef show(what: pacelab.Experiment): ...\nfirst = pacelab.run",
        "def demo():\n    return pacelab.run('chain')",
    )
    assert module.problems == ()
    assert {"GatewayPacer", "plot", "demo"} <= names_of(module).keys()
    assert not {"mean", "Plot", "n", "show", "first"} & names_of(module).keys()


def test_many_magics_take_no_time() -> None:
    for line in ("%%time\n", "%time\n", "x = !ls\n", "(\n", "'" * 3, "x?\n"):
        assert taken(*PARTS, line * 3000).source is not None


# Files that are graded although they have small defects.


def script(text: str, **others: str) -> Submission:
    files = {"gateway_pacer.py": text.encode()} | {f"{name}.py": content.encode() for name, content in others.items()}
    return read_submission("ann", files, ASSIGNMENT)


def test_an_import_that_the_sandbox_lacks_is_left_out_and_lines_stay() -> None:
    found = script("import numpy as np\n" + TEMPLATE)
    assert found.source == "pass\n" + TEMPLATE
    assert any("line 1: numpy is not available" in problem for problem in found.problems)


def test_available_names_of_an_import_stay() -> None:
    found = script("from pacelab import Forward, run\n" + TEMPLATE)
    assert found.source == "from pacelab import Forward\n" + TEMPLATE
    assert any("line 1: pacelab.run is not available" in problem for problem in found.problems)


@pytest.mark.parametrize(
    "head",
    [
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None\n",
        "import json, collections\n",
        "x = 1; import os\n",
    ],
)
def test_imports_that_work_or_are_guarded_stay(head: str) -> None:
    found = script(head + TEMPLATE)
    assert found.source == head + TEMPLATE
    assert found.problems == ()


def test_a_leading_dot_before_an_own_module_is_removed() -> None:
    found = script("from .util import half\n" + TEMPLATE, util="def half(x): return x / 2\n")
    assert found.source == "from util import half\n" + TEMPLATE
    assert dict(found.helpers).keys() == {"util.py"}


@pytest.mark.parametrize("line", ["!pip install numpy", "%matplotlib inline", "%load_ext autoreload"])
def test_a_script_with_ipython_statements_is_read_like_a_notebook(line: str) -> None:
    found = script(f"{line}\n{TEMPLATE}")
    assert found.source is not None
    compile(found.source, "m", "exec")
    assert "class GatewayPacer" in found.source


@pytest.mark.parametrize(("kind", "title"), [("markdown", "Markdown"), ("raw", "raw")])
@pytest.mark.parametrize(
    ("text", "told", "read"),
    [
        ("class GatewayPacer:\n    pass\n", "read as", True),
        ("```python\nclass GatewayPacer:\n    pass\n```\n", "read as", True),
        ("%%time\nclass GatewayPacer:\n    pass\n", "read as", True),
        ("Here is my class:\n\nclass GatewayPacer:\n    pass\n", "not", False),
    ],
)
def test_a_definition_in_a_cell_of_another_kind_is_read_and_named(
    kind: str, title: str, text: str, told: str, read: bool
) -> None:
    document = json.loads(notebook("SAMPLES = 50"))
    document["cells"] += [{"cell_type": kind, "source": cell, "metadata": {}} for cell in ("class Other: ...", text)]
    module = module_of(json.dumps(document), "n.ipynb", ["GatewayPacer"])
    verb = "is not code" if told == "not" else "was read as code"
    expected = f"n.ipynb: GatewayPacer is in {title} cell 2, which {verb}: change it to a code cell"
    assert expected in module.problems
    assert ("class GatewayPacer" in (module.source or "")) is read
    assert "Other" not in (module.source or "")


def test_a_cell_of_another_kind_replaces_no_code() -> None:
    document = json.loads(notebook("class GatewayPacer: mine = 1"))
    document["cells"].append({"cell_type": "markdown", "source": "class GatewayPacer: mine = 2", "metadata": {}})
    module = module_of(json.dumps(document), "n.ipynb", ["GatewayPacer"])
    assert "mine = 1" in (module.source or "")
    assert "mine = 2" not in (module.source or "")


@pytest.mark.parametrize("source", [None, 7, {"a": 1}])
@pytest.mark.parametrize("kind", ["markdown", "raw"])
def test_a_damaged_cell_that_is_not_code_costs_nothing(kind: str, source: object) -> None:
    document = json.loads(notebook("class GatewayPacer:\n    pass\n"))
    document["cells"].append({"cell_type": kind, "source": source, "metadata": {}})
    module = module_of(json.dumps(document), "n.ipynb", ["GatewayPacer"])
    assert "class GatewayPacer" in (module.source or "")
    assert module.problems == ()


def test_a_notebook_with_too_many_cells_is_refused_by_name() -> None:
    code = "class GatewayPacer: pass"
    assert taken(*["x = 1"] * 999, code).source
    module = taken(*["x = 1"] * 1000, code)
    assert module.source is None
    (problem,) = module.problems
    assert problem.endswith(".ipynb has 1,001 code cells; at most 1,000 are read: remove cells")


def test_a_module_that_a_cell_writes_need_not_be_imported() -> None:
    module = taken(
        "%%writefile gateway_pacer.py\nclass GatewayPacer:\n    pass",
        "from gateway_pacer import *\nimport gateway_pacer",
        "%%writefile -a src/other.py\nclass Other:\n    pass\n",
        "from other import Other\n",
    )
    assert module.problems == ()
    assert module.source is not None
    assert "import" not in module.source


@pytest.mark.parametrize(
    ("lines", "left_out"),
    [
        ("import matplotlib.pyplot as plt\nplt.plot([1])\nfor n in 1, 2:\n    plt.show()\n", (3, 4)),
        ("import pacelab\nfound = pacelab.run(pacelab.Experiment())\nprint(found)\n", (3, 4)),
        ("import sys\nsys.exit(0)\n", (3,)),
        ("import unittest\nclass T(unittest.TestCase): ...\nunittest.main(argv=['x'],\n  exit=True)\n", (4,)),
        ("import numpy as np; π = 3; np.seterr(all='raise'); print(π); import pandas\nprint(π, np)\n", (2, 3)),
        ("from pacelab import run\nprint(run)\n", (3,)),
        ("from pacelab import *\nfound = run(Experiment())\nprint(Forward)\n", (3,)),
        ("hops = int(input('hops? '))\nprint(hops)\nhops = 3\nprint(hops)\n", (2, 3)),
        ("with open('data.csv') as file:\n    DATA = file.read()\nROWS = len(DATA)\n", (2, 4)),
        ("import numpy as np\nnp = None\nprint(np)\n", ()),
        ("try:\n    DATA = open('data.csv').read()\nexcept OSError:\n    DATA = ''\n", ()),
        ("if __name__ == '__main__':\n    print(input())\n", ()),
        ("import numpy as np\n@np.vectorize\ndef f(a): ...\n", ()),
        ("def open(name): return name\nDATA = open('x')\n", ()),
        ("ask = lambda: input()\ndef g(): return open('x')\n", ()),
    ],
)
def test_top_level_statements_that_must_fail_are_left_out(lines: str, left_out: tuple[int, ...]) -> None:
    source, problems = with_available_imports(f"X = 1\n{lines}Y = 2\n", ())
    assert source.count("\n") == f"X = 1\n{lines}Y = 2\n".count("\n")
    found = [
        int(problem.partition(":")[0].removeprefix("line ")) for problem in problems if "left out, because" in problem
    ]
    assert tuple(found) == left_out
    assert source.startswith("X = 1\n")
    assert source.endswith("Y = 2\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def f(a):\n\u00a0\u00a0\u00a0\u00a0return a\n", "line 2: no-break space: replaced"),
        ("X = \u201ca\u201d\n", "line 1: left double quotation mark, right double quotation mark: replaced"),
        ("X\u200b = 1\n", "line 1: zero width space: replaced"),
        ("X = 3 \u2212 2\n", "line 1: minus sign: replaced"),
    ],
)
def test_characters_of_word_processors_are_read(text: str, says: str) -> None:
    problems: list[str] = []
    found = read_submission("s", {ASSIGNMENT.file: (text + TEMPLATE).encode()}, ASSIGNMENT, problems=problems)
    assert found.source is not None
    compile(found.source, "m", "exec")
    assert any(says in problem for problem in found.problems)


def test_characters_of_word_processors_stay_in_a_text_that_python_reads() -> None:
    text = f"X = '\u201ca\u201d \u2212\u00a01'\n{TEMPLATE}"
    found = read_submission("s", {ASSIGNMENT.file: text.encode()}, ASSIGNMENT)
    assert (found.source, found.problems) == (text, ())


def test_a_merge_conflict_is_named() -> None:
    text = f"{TEMPLATE}<<<<<<< HEAD\nX = 1\n=======\nX = 2\n>>>>>>> main\n"
    found = read_submission("s", {ASSIGNMENT.file: text.encode()}, ASSIGNMENT)
    assert found.source is None
    line = TEMPLATE.count("\n") + 1
    assert any(f"line {line}: a merge conflict; keep one version" in problem for problem in found.problems)


def test_a_cell_that_writes_a_file_is_read() -> None:
    module = taken("%%writefile gateway_pacer.py\nclass GatewayPacer:\n    pass")
    assert "class GatewayPacer" in (module.source or "")
