"""`pacelab new`: what it writes runs as it stands, and so does the test beside it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pacelab
from pacelab.cli.main import main
from pacelab.own.new import TEMPLATES
from pacelab.results import folder

pytestmark = pytest.mark.usefixtures("engine")

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
PLAIN = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""As a student has it, without our plugins, which take half a second."""

RUNS = {
    "claim": ["reproduce", "mine.yaml", "--quick", "--jobs", "1", "--out", "out"],
    "cc": ["run", "chain", "--cc", "mine.py:Mine", "--seconds", "3"],
    "scheme": ["run", "chain", "--scheme", "mine.py:SCHEME", "--seconds", "3"],
    "topology": ["run", "mine.py", "--set", "arms=4", "--seconds", "3"],
}


@pytest.mark.parametrize("kind", TEMPLATES)
def test_what_is_written_runs_with_its_test(kind: str, in_tmp: Path) -> None:
    assert main(["new", kind, "Mine"]) == 0
    if kind in RUNS:
        assert main([*RUNS[kind], "--quiet"]) == 0
    else:
        told = subprocess.run([sys.executable, "mine.py"], capture_output=True, text=True, check=True).stdout
        assert "Mine: " in told
    ran = subprocess.run([*PYTEST, "test_mine.py"], env=PLAIN, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("pacer/core/contract.py", "class SetExtraBackoff"),
        ("pacer/core/segment.py", "Advertised window, window scaling already applied"),
        ("schemes/scheme.py", "Features that a topology must have"),
    ],
)
def test_where_a_scheme_sends_its_author_all_is_said(file: str, says: str) -> None:
    assert file in TEMPLATES["scheme"]
    assert says in (Path(pacelab.__path__[0]) / file).read_text(encoding="utf-8")


def test_a_written_control_stands_in_a_comparison(in_tmp: Path) -> None:
    assert main(["new", "cc", "Mine"]) == 0
    words = ["compare", "chain", "--seconds", "2", "--seeds", "1", "--jobs", "1", "--quiet", "--out", "both"]
    assert main([*words, "--schemes", "newreno,mine.py:Mine"]) == 0
    assert "Mine" in Path("both/table.csv").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["new", "gateway", "Mine"], "new 'gateway': allowed is one of cc, pacer, link, scheme, topology, claim"),
        (["new", "cc", "my-own"], "allowed is a name of letters"),
        (["new", "cc", "class"], "a word of Python's own: allowed is another name"),
        (["new", "cc", "PaceLab"], "beside pacelab.py no program could import the module pacelab: allowed is another"),
        (["new", "pacer", "json"], "beside json.py no program could import the module json"),
        (["new", "link", "Typing"], "beside typing.py no program could import the module typing"),
        (["new", "topology", "pytest"], "beside pytest.py no program could import the module pytest"),
        (["new", "cc", "NumPy"], "beside numpy.py no program could import the module numpy"),
        (["new", "claim", "Größe"], "allowed is a name of the letters a to z"),
        (["new", "claim", "_"], "allowed is a name of the letters a to z"),
        (["new", "cc", "__init__"], "that begins with a letter"),
        (["new", "cc", "float"], "it is a name that the file itself needs"),
        (["new", "pacer", "Experiment"], "it is a name that the file itself needs"),
        (["new", "cc", "Test_x"], "pytest would take test_x.py for a test: allowed is another name"),
    ],
)
def test_what_cannot_be_is_told(words: list[str], told: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert told in capsys.readouterr().err.replace("\n", " ")
    assert list(Path().iterdir()) == []


def test_a_folder_or_a_file_nearby_is_no_module(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m pacelab` has the folder where one stands on its path."""
    monkeypatch.syspath_prepend(str(in_tmp))
    monkeypatch.syspath_prepend("")
    Path("mine").mkdir()
    assert main(["new", "cc", "Mine"]) == 0
    assert main(["new", "claim", "json"]) == 0


def test_what_is_written_says_whence_pytest_comes(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "cc", "Mine"]) == 0
    assert "(pytest test_mine.py; there is a pytest by pip install pytest, or after make test)" in (
        capsys.readouterr().err.replace("\n", " ")
    )


def test_nothing_is_written_over(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("test_mine.py").write_text("mine")
    assert main(["new", "cc", "Mine"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert Path("test_mine.py").read_text() == "mine"
    assert not Path("mine.py").exists()


def test_without_room_for_both_files_there_is_none(
    in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = folder._write

    def fill(path: Path, content: bytes) -> None:
        if path.name == "test_mine.py":
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, content)

    monkeypatch.setattr(folder, "_write", fill)
    assert main(["new", "cc", "Mine"]) == 3
    told = f"writing {str(in_tmp / 'test_mine.py')!r}: No space left on device: make room, or write elsewhere"
    assert told in capsys.readouterr().err
    assert list(in_tmp.iterdir()) == []


def test_a_written_claim_is_judged_and_can_be_refuted(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "claim", "My_Own"]) == 0
    text = Path("my_own.yaml").read_text()
    assert "id: own-my-own\n" in text
    Path("my_own.yaml").write_text(text.replace("{rts: on}, against: {rts: off}", "{rts: off}, against: {rts: on}"))
    ran = subprocess.run(PYTEST, env=PLAIN, capture_output=True, check=False)
    assert ran.returncode == 1
    assert b"not reproduced" in ran.stdout


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("paper: own", "paper: fu"), "id 'own-mine': allowed is fu-NAME"),
        (("own", "fu"), "fu-mine: allowed is each id once, and another paper, as own"),
        (("goodput_kbps", "beauty"), "of 'beauty': allowed is one of goodput_kbps"),
        (("rate: 2", "rates: 2"), "option 'rates'"),
        (("rate: 2", "seed: 2"), "'seed' as an option or an axis: allowed is seeds in full and quick"),
        (("rts: [off, on]", "seed: [1, 2]"), "'seed' as an option or an axis: allowed is seeds in full and quick"),
        (("rate: 2", "seconds: 2"), "'seconds' as an option or an axis: allowed is seconds in full and quick"),
        (None, "it is empty"),
    ],
)
def test_a_claim_file_that_is_none_is_refused(
    change: tuple[str, str] | None, told: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "claim", "Mine"]) == 0
    text = Path("mine.yaml").read_text()
    Path("mine.yaml").write_text(text.replace(*change) if change else "")
    capsys.readouterr()
    assert main(["reproduce", "mine.yaml", "--quick"]) == 2
    assert told in capsys.readouterr().err.replace("\n", " ")


def test_a_claim_file_that_is_not_there_is_told(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "mine.yaml"]) == 2
    assert "claim file 'mine.yaml': No such file" in capsys.readouterr().err
    assert main(["reproduce", "mine.yaml", "--docs", "page.md"]) == 2
    assert "allowed with the papers' claims" in capsys.readouterr().err.replace("\n", " ")
