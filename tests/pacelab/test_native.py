"""The compiled core replaces the .py files, gives the same bytes, and never hides an edit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import deque
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from pacelab_pacer import native
from pacelab_pacer.core.contract import Action, Event, Forward, Point, SegmentSeen
from pacelab_pacer.core.pacing.paced_flow import FlowTableConfig, PacedFlow
from pacelab_pacer.core.pacing.pacing_hook import PacingHook
from pacelab_pacer.core.segment import ACK, TCP, FlowKey, Segment

ROOT = Path(__file__).parents[2]
SCHEMES = ("tcp-gap", "tcp-ap", "lred-pacing", "vagp", "data-pacing")

needs_compiled = pytest.mark.skipif(
    not native.is_compiled(), reason="the core is interpreted here: make build says why"
)


def python(code: str, **variables: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    return ran.stdout.strip()


def test_mypyc_has_what_it_imports() -> None:
    """Without setuptools mypyc cannot be imported, `make build` goes on, and the tests of compiled code are skipped."""
    assert python("from mypyc.build import mypycify; print(callable(mypycify))") == "True"


SAMPLE = f"""
import csv, json, sys, tempfile
from pathlib import Path
sys.path.insert(0, {str(ROOT / "tests/conformance")!r})
import digests
from pacelab_pacer import native
rows = [(json.loads(row["case"]), row) for row in csv.DictReader(digests.RECORDED.read_text().splitlines())]
chosen = [(case, row) for case, row in rows if case.get("scheme") in {SCHEMES!r}][::4]
found = []
for case, row in chosen:
    recorded = {{part: row[part] for part in digests.PARTS}}
    found.append((case, digests.digests(case, Path(tempfile.mkdtemp())) == recorded))
print(json.dumps([native.is_compiled(), found]))
"""
"""Some of the recorded cases, run in a separate process."""


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("interpreted", ["", "1"])
def test_compiled_and_interpreted_give_the_recorded_bytes(interpreted: str) -> None:
    how, found = json.loads(python(SAMPLE, PACELAB_INTERPRETED=interpreted))
    assert how == (native.is_compiled() and not interpreted)
    assert len(found) >= 10
    assert [case for case, same in found if not same] == []


@needs_compiled
def test_variable_decides_which_modules_a_process_takes() -> None:
    code = "import pacelab_pacer.core.tcp_gap.gateway as it; print(it.__file__)"
    assert python(code, PACELAB_INTERPRETED="").endswith(native.EXTENSION_SUFFIXES[0])
    assert python(code, PACELAB_INTERPRETED="1").endswith("/pacelab_pacer/core/tcp_gap/gateway.py")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The core's source and its compiled modules in the layout of an installation."""
    for part in ("native", "core"):
        shutil.copytree(ROOT / "pacer/pacelab_pacer" / part, tmp_path / "pacelab_pacer" / part)
    (tmp_path / "pacelab").mkdir()
    for name in ("domains.py", "units.py"):
        shutil.copy(ROOT / "pacelab" / name, tmp_path / "pacelab")
    return tmp_path


@needs_compiled
@pytest.mark.parametrize(
    "edited",
    [
        "pacelab_pacer/core/tcp_gap/equations.py",
        "pacelab_pacer/core/contract.py",
        "pacelab/domains.py",
        "pacelab/units.py",
    ],
)
def test_edited_source_is_never_shadowed(copy: Path, edited: str) -> None:
    assert "pacelab_pacer.core.tcp_gap.equations" in native.compiled(str(copy / "pacelab_pacer/native"))
    with (copy / edited).open("a") as file:
        file.write("\n")
    assert native.compiled(str(copy / "pacelab_pacer/native")) == {}


@needs_compiled
def test_missing_source_files_leave_the_core_interpreted(copy: Path) -> None:
    (copy / "pacelab_pacer/core/vagp/flow.py").unlink()
    assert native.compiled(str(copy / "pacelab_pacer/native")) == {}


@needs_compiled
def test_another_python_takes_the_source(copy: Path) -> None:
    made = copy / "pacelab_pacer/native/made.txt"
    made.write_text(made.read_text().replace(native.EXTENSION_SUFFIXES[0], ".cpython-399-x86_64-linux-gnu.so"))
    assert native.compiled(str(copy / "pacelab_pacer/native")) == {}


def test_nothing_compiled_is_nothing_found(tmp_path: Path) -> None:
    assert native.compiled(str(tmp_path)) == {}


class Own(PacingHook[PacedFlow]):
    """A student's subclass of a base class of the core, compiled or not."""

    _COUNTERS = ("own",)

    def __init__(self) -> None:
        super().__init__(FlowTableConfig())
        self.released: deque[int] = deque()

    def handle(self, now_ns: int, event: Event) -> None:
        assert isinstance(event, SegmentSeen)
        flow = self._flows.by_key.get(event.segment.flow)
        if flow is None:
            flow = PacedFlow(event.segment.flow, now_ns, 10_000)
            flow.pacer.schedule.set_interval(now_ns, 1000)
            self._flows.add(flow)
        self._offer(now_ns, flow, event.segment)

    def _send(self, now_ns: int, flow: PacedFlow, segment: Segment) -> None:
        self._count["own"] += 1
        self.released.append(now_ns)
        self._forward(segment)


def test_interpreted_class_extends_a_base_of_the_core() -> None:
    hook = Own()
    for handle in range(3):
        segment = Segment(handle, FlowKey(1, 2, 3, 4), TCP, ACK, 100 * handle, 0, 100, 140, 0, None)
        hook.handle(5000, SegmentSeen(Point.LOCAL_OUT, segment, ()))
    while (wanted := hook.deadline()) is not None and wanted[1] == "pace":
        hook.handle_timeout(wanted[0])
    assert list(hook.released) == [5000, 6000, 7000]
    assert (hook.counters()["own"], hook.counters()["delayed"]) == (3, 2)
    actions: list[Action | None] = [hook.poll_action() for _ in range(4)]
    assert actions == [Forward(0), Forward(1), Forward(2), None]


@pytest.fixture(scope="module")
def compiler() -> ModuleType:
    """The module tools/native."""
    loader = SourceFileLoader("tools_native", str(ROOT / "tools/native"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_compiler_marks_classes_without_moving_a_line(compiler: ModuleType) -> None:
    for path in (ROOT / "pacer/pacelab_pacer/core").rglob("*.py"):
        if path.name in compiler.COLD:
            continue
        text = path.read_text("utf-8")
        told = compiler.decorated(text)
        lines = text.split("\n")
        changed = [(old, new) for old, new in zip(lines, told.split("\n"), strict=True) if old != new]
        classes = any(line.startswith("class ") and not compiler.PYTHONS.search(line) for line in lines)
        assert {old for old, _ in changed} == ({""} if classes else set()), path
