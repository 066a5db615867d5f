"""The browser's Python under Node.js: the same bytes as natively, and the process survives a panic (`make test-lite`).

`make test-lite` runs a sample of cases that has each topology, each scheme, each capture and each other option;
`PACELAB_ALL_CASES=1` runs all of tests/data/digests.csv.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "browser-python"
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node.js: apt-get install nodejs npm")

RECORDED = [
    (json.loads(row.pop("case")), row)
    for row in csv.DictReader((ROOT / "tests/data/digests.csv").read_text().splitlines())
]
"""Cases, and the native engine's digests."""


def in_browser(file: str, *arguments: str) -> list[Any]:
    """The JSON lines that a file of this folder prints in the browser's Python."""
    assert NODE is not None
    command = [NODE, str(Path(__file__).with_name("python.mjs")), str(FOLDER), str(ROOT), f"tests/lite/{file}"]
    ended = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def sample() -> list[tuple[dict[str, Any], dict[str, str]]]:
    """The recorded cases that add something new: a scheme, a topology, a capture, or another option."""
    seen: set[str] = set()
    chosen = []
    for case, digests in RECORDED:
        new = {f"topology {case['topology']}", f"scheme {case.get('scheme')}"}
        new |= {f"{name}={value}" for name, value in case.items() if name not in ("topology", "scheme")}
        if not new <= seen:
            chosen.append((case, digests))
            seen |= new
    return chosen


def test_the_sample_has_every_scheme_and_topology() -> None:
    def kinds(cases: list[tuple[dict[str, Any], dict[str, str]]]) -> set[tuple[str, Any]]:
        return {(name, case.get(name)) for case, _ in cases for name in ("topology", "scheme", "routing", "radio")}

    assert kinds(sample()) == kinds(RECORDED)
    assert sum(bool(digests["capture"]) for _, digests in sample()) >= 13


def test_results_have_the_bytes_of_the_native_engine() -> None:
    cases = RECORDED if os.environ.get("PACELAB_ALL_CASES") else sample()
    asked = ROOT / "build" / "browser-python" / "cases.json"
    asked.write_text(json.dumps([case for case, _ in cases]))
    found = in_browser("in_browser_digests.py", "/tree/build/browser-python/cases.json")
    assert len(found) == len(cases)
    assert [case for (case, digests), got in zip(cases, found, strict=True) if got != digests] == []


@pytest.fixture(scope="module")
def engine() -> Any:
    """The results of the engine in the browser's Python."""
    (found,) = in_browser("in_browser_engine.py")
    return found


def test_a_panic_is_an_exception_and_the_engine_continues(engine: Any) -> None:
    assert engine["machine"] == "wasm32"
    assert engine["panic"] == ["pyo3_runtime", "PanicException", "on purpose"]
    # The native result of `pacelab run chain --hops 4 --scheme tcp-gap --seconds 20`.
    assert engine["goodput_bps"] == 564_728.0


def test_a_run_needs_neither_numpy_nor_matplotlib(engine: Any) -> None:
    assert engine["heavy"] == []
    assert not any((FOLDER / "site" / name).exists() for name in ("numpy", "matplotlib"))


def test_user_code_that_does_not_return_is_ended_without_threads() -> None:
    (found,) = in_browser("in_browser_time_limit.py")
    assert found["goodput_bps"] == 154176.0  # the native result of the control that returns
    assert 'mine.py", line 9, in acknowledged' in found["error"]
    assert found["error"].endswith("(it had not returned after 1 s)")
    assert found["check"] == "it did not return within 0.5 s. Is there an endless loop?"
    assert found["took_s"] < 5  # one call of at most 1 s, and the simulation before that call


def test_long_runs_take_at_most_three_times_as_long_as_natively() -> None:
    """200 s over a chain with TCP-GAP, against the interpreted algorithms: compiled ones do not exist in a browser."""
    file = Path(__file__).with_name("in_browser_speed.py")
    interpreted = {**os.environ, "PACELAB_INTERPRETED": "1"}
    ended = subprocess.run([sys.executable, str(file)], env=interpreted, capture_output=True, text=True, check=True)
    native = json.loads(ended.stdout)
    (found,) = in_browser(file.name)
    assert found["goodput_bps"] == native["goodput_bps"]
    ratio = min(found["took_s"][1:]) / min(native["took_s"][1:])
    print(f"\n200 s of simulation: {ratio:.2f} times the processor time of the native engine", end="")
    assert ratio <= 3
