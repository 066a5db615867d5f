"""Commands, files, CONTRIBUTING's walk and studies' tables exist as pages name them; the navigation has every page."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

import pytest

from pacelab.cli.main import main

# Every command that a page tells the reader to type exists, with its options.

ROOT = Path(__file__).parents[2]
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("*/README.md")),
)
BEFORE = r"(?:sudo )?(?:\.venv/bin/)?"


def commands(program: str) -> list[str]:
    """Commands starting with `program` in code: at the start of an indented line or of a `code` span."""
    found: dict[str, None] = {}
    for page in PAGES:
        text = page.read_text("utf-8")
        for line in re.findall(rf"^(?:    |\t){BEFORE}({program} .*)$|`{BEFORE}({program} [^`]*)`", text, re.MULTILINE):
            found[re.split("  |#|&&", "".join(line))[0].strip()] = None
    return list(found)


@cache
def help_of(subcommand: str) -> str:
    """The output of `pacelab SUBCOMMAND --help`."""
    shown = StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(shown):
        for name, value in {"COLUMNS": "400", "TERM": "dumb", "NO_COLOR": "1"}.items():
            patch.setenv(name, value)
        assert main([subcommand, "--help"]) == 0, f"pacelab {subcommand} --help"
    return shown.getvalue()


@pytest.mark.parametrize("command", commands("make"))
def test_readme_make_target_exists(command: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {word for word in command.split()[1:] if "=" not in word}
    assert named <= targets, f"{command}: the Makefile has {sorted(targets)}"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_readme_make_works_in_a_folder_whose_path_has_a_space(tmp_path: Path) -> None:
    """The commands that `make build`, and the two targets in .ci/run, would run there."""
    folder = tmp_path / "a b" / "pace lab"
    folder.mkdir(parents=True)
    files = (
        "Makefile controller grading labs medium pacelab pacer pyproject.toml requirements.txt tools topologies uv.lock"
    )
    for entry in files.split():
        (folder / entry).symlink_to(ROOT / entry)
    named = re.findall(r"(?m)^make (.*)$", (ROOT / ".ci/run").read_text("utf-8"))
    targets = ["build", "notebooks", *" ".join(named).split()]
    environment = {**os.environ, "CARGO_HOME": "/h o/.cargo", "RUSTUP_HOME": "/h o/.rustup"}
    environment.pop("MAKEFLAGS", None)  # set by a `make test` that runs this
    ran = subprocess.run(
        ["make", "-n", "-B", "--no-print-directory", *targets],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    words = shlex.split(ran.stdout)
    assert [word for word in words if word.startswith(("b/", "lab/"))] == []
    flags = next(word for word in words if word.startswith("CARGO_ENCODED_RUSTFLAGS=")).partition("=")[2].split("\x1f")
    assert flags == [
        f"--remap-path-prefix={path}" for path in ("/h o/.cargo=/cargo", "/h o/.rustup=/rustup", f"{folder}=/pacelab")
    ]


@pytest.mark.parametrize("command", commands("pacelab"))
def test_readme_pacelab_command_exists(command: str) -> None:
    words = command.split()[1:]
    shown = set(re.findall(r"--[a-z][a-z-]*", help_of(words[0])))
    assert {word.split("=")[0] for word in words if word.startswith("--")} <= shown, f"{command}: has {sorted(shown)}"


@pytest.mark.parametrize(
    "place",
    [
        *sorted(ROOT.glob("bench/users/*.py")),
        ROOT / "bench/hosts/mininet_wifi.py",
        *(place for place in sorted(ROOT.glob("studies/*.py")) if "\nif __name__ == " in place.read_text("utf-8")),
    ],
    ids=lambda place: place.name,
)
def test_every_measuring_program_and_study_has_help(place: Path) -> None:
    ran = subprocess.run([sys.executable, place, "--help"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(f"usage: {place.name}")


def test_readme_folder_map_names_what_is_there() -> None:
    entries = re.findall(r"^    (\w+)/ +(.*)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert entries, "README.md: no folder map found"
    missing = [name for name, what in entries if not (ROOT / name).is_dir() and "to come" not in what]
    assert not missing, f"README.md names {missing}"


MADE = {"medium/target", "bench/out/"}
"""Folders that a build or a measurement creates."""
PATH = re.compile(
    r"`((?:bench|controller|docs|grading|labs|medium|pacelab|pacer|studies|tests|tools|topologies)/[\w./*-]+)`"
)


def test_every_file_that_a_page_names_is_there() -> None:
    """`PAPER` and the N of `labN.py` stand for any paper and lab."""
    missing = [
        f"{page.relative_to(ROOT)}: {path}"
        for page in PAGES
        for path in PATH.findall(page.read_text("utf-8"))
        if path not in MADE and not list(ROOT.glob(re.sub(r"[A-Z]{2,}(?=/)|N(?=\.)", "*", path)))
    ]
    assert not missing, missing


# CONTRIBUTING's walk names each file once, and a run of TCP-GAP passes through all of them.

WALK = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## A packet's way")[2].partition("\n## ")[0]
NAMED = re.findall(r"`((?!tests/)[\w/]+/[\w.]+\.(?:py|rs))`", WALK)
SIMULATED = WALK.partition("\nWith `--")[0]
(COMMAND,) = re.findall(r"`pacelab (run chain [^`]*)`", WALK)
TRACED = """
import sys
files = set()
def note(frame, what, _):
    files.add(frame.f_code.co_filename)
from pacelab.cli.main import main
sys.setprofile(note)
main(sys.argv[1:])
sys.setprofile(None)
print(*sorted(files), sep="\\n", file=sys.stderr)
"""


def test_each_file_is_there_and_named_once() -> None:
    assert len(NAMED) > 25
    assert [path for path in NAMED if not (ROOT / path).is_file()] == []
    assert sorted(NAMED) == sorted(set(NAMED))


@pytest.mark.usefixtures("engine")
def test_a_run_passes_through_all_of_them(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", TRACED, *COMMAND.split(), "--seconds", "3", "--out", str(tmp_path / "run")],
        cwd=ROOT,
        env={**os.environ, "PACELAB_INTERPRETED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    came_by = {str(Path(line).resolve()) for line in ran.stderr.splitlines()}
    named = [path for path in NAMED if path.endswith(".py") and path in SIMULATED]
    assert [path for path in named if str((ROOT / path).resolve()) not in came_by] == []


# CONTRIBUTING says where to add something, and which package may import which.


def test_names_to_extend_are_in_their_files() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = re.findall(r"`(\w+)` (?:in|of|to) `([\w/]+\.py)`", page)
    assert len(named) > 2
    assert [place for place in named if not re.search(rf"\b{place[0]}\b", (ROOT / place[1]).read_text("utf-8"))] == []


def test_the_layers_are_those_of_the_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (contract,) = [each for each in project["tool"]["importlinter"]["contracts"] if each["id"] == "core"]
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("(contract `core`")[2]
    lines = re.findall(r"^    (\S.*?)(?:  .*)?$", page.partition("\n\n#")[0], re.MULTILINE)
    assert len(lines) > 5
    listed = [set(line.split(" · ")) for line in lines]
    layers = [set(layer.split(" | ")) for layer in contract["layers"]]
    assert listed == layers[1 : 1 + len(listed)]


# Numbers that a page quotes from a study are those that the study computes from its stored runs.


def test_tables_of_the_ns2_code_are_those_of_its_runs() -> None:
    command = [sys.executable, ROOT / "studies/tcp_ap_code.py", "--table"]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    page = (ROOT / "docs/tcp-gap.md").read_text("utf-8")
    tables = made.strip().split("\n\n")
    assert len(tables) == 6
    for table in tables[:5]:
        assert table in page


@pytest.mark.parametrize(
    ("study", "page", "number"),
    [("gap_chains", "tcp-gap", 4), ("gap_codel", "tcp-gap", 2), ("vagp_readings", "vagp", 1)],
)
def test_tables_of_a_study_are_those_of_its_runs(study: str, page: str, number: int) -> None:
    command = [sys.executable, ROOT / f"studies/{study}.py", "--table"]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    tables = made.strip().split("\n\n")
    assert len(tables) == number
    for table in tables:
        assert table in (ROOT / f"docs/{page}.md").read_text("utf-8")


def test_the_table_of_pacing_by_aggregates_is_that_of_its_runs() -> None:
    command = [sys.executable, ROOT / "studies/gap_aggregate.py", "--table"]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert made.strip() in (ROOT / "docs/80211n.md").read_text("utf-8")


def test_the_table_of_mininet_wifi_s_modes_is_that_of_its_runs() -> None:
    command = [sys.executable, "-m", "tests.uml.measure_modes", "--table"]
    made = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    assert made.strip() in (ROOT / "docs/mininet-wifi.md").read_text("utf-8")


def test_vagp_s_table_is_that_of_its_runs() -> None:
    rows = ROOT / "studies/vagp_expect.jsonl"
    command = [sys.executable, ROOT / "studies/vagp_expect.py", rows, "--seeds", "10", "--table"]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert made.count("\n") == 25
    assert made.strip() in (ROOT / "docs/vagp.md").read_text("utf-8")


def test_every_study_and_its_rows_are_cited() -> None:
    page = (ROOT / "studies/README.md").read_text("utf-8")
    # named in the text, not in the table
    helpers = {"lopsided.py", "stored_rows.py", "mininet_wifi_machine.py", "mininet_wifi_guest.py"}
    table = set(re.findall(r"`(\w+\.(?:py|csv|jsonl))`", "".join(re.findall(r"^\|.*$", page, re.MULTILINE))))
    files = {path.name for path in (ROOT / "studies").iterdir() if path.suffix in (".py", ".csv", ".jsonl")}
    assert files - helpers == table, "studies/README.md: a row for each study, with its answer and its rows"


# Every page in docs/, and every lab, is named in the site's navigation: MkDocs refuses to build it otherwise.


def test_every_page_is_in_the_navigation() -> None:
    told = (ROOT / "tools" / "site" / "mkdocs.yml").read_text("utf-8")
    pages = [f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")]
    masters = sorted((ROOT / "labs/pacelab_labs/masters").glob("lab[0-9]*.py"))
    assert len(masters) >= 9
    pages += [path.relative_to(ROOT).with_suffix(".md").as_posix() for path in masters]
    assert len(pages) > 20
    assert [page for page in sorted(pages) if page not in told] == [], "name it in tools/site/mkdocs.yml"


def test_every_page_is_listed_among_the_documents() -> None:
    told = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert [page for page in sorted(pages) if f"]({page})" not in told] == [], "list it in docs/README.md"


def test_each_number_for_users_of_mininet_wifi_has_one_place() -> None:
    """No table row with numbers occurs on two pages."""
    page, source = (
        (ROOT / "docs" / f"{name}.md").read_text("utf-8").splitlines() for name in ("mininet-wifi", "hwsim")
    )
    rows = [line for line in page if line.startswith("| ") and re.search(r"\d", line)]
    assert len(rows) > 8
    assert [row for row in rows if row in source] == []
