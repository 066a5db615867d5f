"""Encodings, sizes and line ends: a readable file is graded; for any other file the report says what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pacelab_grading import handout
from pacelab_grading.assignments import find_assignment
from pacelab_grading.handout import assignment_of
from pacelab_grading.inside.worker import Worker
from pacelab_grading.receive.statements import INSTEAD
from pacelab_grading.receive.submission import Submission, read_submission, stamped_number
from pacelab_grading.text.source_file import READER
from pacelab_grading.text.times import iso_time

ASSIGNMENT = find_assignment(3)
TEMPLATE = ASSIGNMENT.template
FILE = "gateway_pacer.py"


def read(content: bytes, name: str = FILE, **others: bytes) -> Submission:
    files = {name: content} | {f"{other}.py": text for other, text in others.items()}
    return read_submission("ann", files, ASSIGNMENT)


def notebook(source: str, **cell: object) -> bytes:
    cells = [{"cell_type": "code", "source": source, "metadata": {}, **cell}]
    return json.dumps({"cells": cells, "metadata": {"colab": {"provenance": []}}, "nbformat": 4}).encode()


@pytest.mark.parametrize(
    ("line", "encoding"),
    [
        ("# -*- coding: shift_jis -*-\n# \u65e5\u672c", "shift_jis"),
        ("# coding: cp1252\n# \u20ac", "cp1252"),
        ("# \u20ac", "utf-8-sig"),
    ],
)
def test_a_file_is_read_in_its_declared_encoding(line: str, encoding: str) -> None:
    found = read(f"{line}\n{TEMPLATE}".encode(encoding))
    assert (found.source, found.problems) == (f"{line}\n{TEMPLATE}", ())


def test_quotes_that_windows_wrote_are_read() -> None:
    quotes = TEMPLATE.replace('"3/1"', "\u201c3/1\u201d")
    found = read(quotes.encode("cp1252"))
    assert (found.source, found.version) == (TEMPLATE, 1)
    assert "is not UTF-8 (line 15) and was read as Windows-1252" in found.problems[0]
    undefined = read(TEMPLATE.encode() + b"# \x93\x81\n")
    assert undefined.source == f"{TEMPLATE}# \x93\x81\n"
    assert "was read as Latin-1" in undefined.problems[0]


@pytest.mark.parametrize("ends", ["\r", "\r\n"])
def test_all_line_ends_are_accepted(ends: str) -> None:
    found = read(TEMPLATE.replace("\n", ends).encode())
    assert (found.source, found.version, found.problems) == (TEMPLATE, 1, ())


@pytest.mark.parametrize("end", ["\x1a", "\x1a\r\n"])
def test_the_end_mark_of_dos_is_ignored(end: str) -> None:
    found = read(f"{TEMPLATE}{end}".encode())
    assert (found.source, found.version, found.problems) == (TEMPLATE, 1, ())


@pytest.mark.parametrize("name", [FILE, "ann.py"])
def test_utf_16_is_read_and_reported(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(TEMPLATE.encode("utf-16"))
    assert assignment_of(tmp_path / name) == 3
    assert stamped_number([tmp_path]) == 3
    found = read(TEMPLATE.encode("utf-16"), name)
    assert found.problems[0] == f"{name} is UTF-16, which Python does not read: save it as UTF-8"
    assert found.source == TEMPLATE
    assert found.received == (f"{name}: graded",)


@pytest.mark.parametrize(
    ("begins", "says"),
    [
        (b"{\\rtf1\\ansi\\ansicpg1252\n", "is RTF: save it as plain text (TextEdit: Format > Make Plain Text)"),
        (b"PK\x03\x04\0\0", "is a zip or a Word document: hand in the .py or .ipynb itself"),
        (b"%PDF-1.7\n", "is a PDF: hand in the .py or .ipynb itself"),
        (b"\xef\xbb\xbf\n<!DOCTYPE html><pre>", "is a web page: download the file itself (GitHub: Raw)"),
    ],
)
def test_other_kinds_of_files_with_a_code_name_are_reported(begins: bytes, says: str) -> None:
    found = read(begins + TEMPLATE.encode())
    assert (found.source, found.problems) == (None, (f"{FILE} {says}",))


@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_an_empty_file_is_reported_and_another_precedes_it(content: bytes) -> None:
    assert read(content).problems == ("gateway_pacer.py is empty: save your work and hand it in again",)
    found = read_submission("ann", {FILE: content, "gateway_pacer.ipynb": notebook(TEMPLATE)}, ASSIGNMENT)
    assert found.problems == ()
    assert "class GatewayPacer" in (found.source or "")


def test_large_pictures_in_a_notebook_are_accepted(tmp_path: Path) -> None:
    picture = [{"output_type": "display_data", "data": {"image/png": "A" * (2 << 20)}}]
    content = notebook(TEMPLATE, outputs=picture)
    found = read(content, "gateway_pacer.ipynb")
    assert found.problems == ()
    (tmp_path / "work.ipynb").write_bytes(content)
    assert assignment_of(tmp_path / "work.ipynb") == 3
    first = json.loads(content)
    first["cells"][0] = dict(reversed(first["cells"][0].items()))  # outputs before the code
    assert read(json.dumps(first).encode(), "biology.ipynb").source is not None


def test_syntax_errors_name_the_python_version() -> None:
    (problem,) = read(f"def first[[T](x): pass\n{TEMPLATE}".encode()).problems
    assert problem.endswith(f"fix this first ({READER})")


def test_a_users_module_runs_as_it_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the sandbox its encoding is UTF-8, whatever its first line says."""
    helper = "# coding: shift_jis\nNAME = '\u65e5\u672c'\n"
    found = read(f"import beside_it\n{TEMPLATE}".encode(), beside_it=helper.encode("shift_jis"))
    assert found.helpers == (("beside_it.py", helper),)
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "beside_it.py").write_text(helper, encoding="utf-8")
    (tmp_path / FILE).write_text("from beside_it import NAME\ndef name(): return NAME\n")
    monkeypatch.setattr("sys.path", [])
    monkeypatch.setattr("sys.path_hooks", [])
    worker = Worker(str(tmp_path / FILE), answers=-1, requests=-1)
    assert worker.reply(["", "load"])[1] == "ok"
    assert worker.reply(["", "call", None, "name", [], {}])[2] == "\u65e5\u672c"


@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
def test_check_reads_the_same_modules_as_grade(tmp_path: Path, engine: None, suffix: str) -> None:
    source = f"from tools.mean import mean\n{TEMPLATE}"
    main = tmp_path / f"gateway_pacer{suffix}"
    main.write_bytes(source.encode() if suffix == ".py" else notebook(source))
    modules = {
        "tools/__init__.py": "",
        "tools/mean.py": "import zz_last\nmean = zz_last\n",
        "zz_last.py": "",
        **{f"other_{number}.py": "" for number in range(handout.MAX_FILES)},
        "venv/mean.py": "",
        "pacelab/__init__.py": "raise ImportError\n",
    }
    for name, text in modules.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    verdict = handout.check_file(main, ASSIGNMENT)
    assert verdict.problems == ()
    graded, *imported = verdict.received
    assert graded == f"{main.name}: graded"
    assert imported == [f"{name}: imported" for name in ("tools/__init__.py", "tools/mean.py", "zz_last.py")]


def test_check_names_a_module_that_cannot_be_read(
    tmp_path: Path, engine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / FILE).write_text(f"import locked\n{TEMPLATE}")
    (tmp_path / "locked.py").touch()
    read_bytes = handout._read

    def denied(path: Path) -> bytes:
        if path.name == "locked.py":
            raise PermissionError(13, "Permission denied")
        return read_bytes(path)

    monkeypatch.setattr(handout, "_read", denied)
    (problem,) = handout.check_file(tmp_path / FILE, ASSIGNMENT).problems
    assert problem.startswith(f"{FILE}, line 1: locked is not available when it is graded and was left out")


def test_without_a_sandbox_unavailable_imports_are_reported(
    tmp_path: Path, engine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    guarded = "try:\n    import scipy\nexcept ImportError:\n    pass\n"
    imports = "import json, beside_it, pacelab\nfrom pacelab import Forward, run\nimport pytest\n"
    inside = "\n\ndef mean(values):\n    import numpy\n    return numpy.mean(values)\n"
    (tmp_path / FILE).write_text(f"{guarded}{imports}{TEMPLATE}{inside}")
    (tmp_path / "beside_it.py").touch()
    monkeypatch.setattr(handout.sys, "platform", "darwin")
    monkeypatch.syspath_prepend(tmp_path)
    problems = handout.check_file(tmp_path / FILE, ASSIGNMENT).problems
    assert [
        problem.partition(" is not available when it is graded and was left out: use")[0] for problem in problems[:2]
    ] == [
        f"{FILE}, line 6: pacelab.run",
        f"{FILE}, line 7: pytest",
    ]
    assert problems[-1].endswith(": numpy is not available when it is graded: " + INSTEAD)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-01-23-58-07", "2026-11-01T23:58:07"),
        ("Nov 1, 2026 1158 PM", "2026-11-01T23:58:00"),
        ("Nov 1, 2026 110 AM", "2026-11-01T01:10:00"),
        ("September 30, 2026 1205 AM", "2026-09-30T00:05:00"),
        ("Sunday, 1 November 2026, 12:00 PM", "2026-11-01T12:00:00"),
        ("Sunday, November 1, 2026, 9:05\u202fPM", "2026-11-01T21:05:00"),
        ("Sunday, 1 November 2026, 22:00", "2026-11-01T22:00:00"),
        ("2026-11-01T22:58:00.123456789Z", "2026-11-01T22:58:00.123456+00:00"),
        *(
            (text, "")
            for text in ("", "-", "2026-11-01", "2026-13-01-00-00-00", "Ju 1, 2026 900 AM", "31 June 2026 9:00")
        ),
        *(
            (text, "")
            for text in ("Nov 1, 2026 1358 PM", "Nov 1, 2026 0058 AM", "Moon 1, 2026 900 AM", "1 Mai 2026, 22:00")
        ),
    ],
)
def test_times_as_platforms_write_them(text: str, expected: str) -> None:
    assert iso_time(text) == expected
