"""Fixtures and settings of all tests."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from pacelab.__main__ import GC_THRESHOLDS


def pytest_configure() -> None:
    """Reset SIGINT, so that programs under test receive Ctrl-C even if a shell started pytest in the background.

    NumPy starts no threads in them, as in a command.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect garbage less often: nothing that pytest collects is garbage, and scanning takes as long as collecting
    tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        gc.enable()


@pytest.fixture
def engine() -> None:
    """For tests that run the air: skip with the remedy if the engine is not built."""
    if importlib.util.find_spec("pacelab_medium") is None:
        pytest.skip("the air engine is not built: `make build` builds it")


YARDSTICK_S = 0.075
"""The duration of `yardstick` on two idle cores of a server. Time limits are for such a machine."""
TRIES = 3


def yardstick(clock: Callable[[], float]) -> float:
    """The present duration of a fixed piece of Python code."""
    begun = clock()
    words = {}
    for number in range(300_000):
        words[number % 1000] = str(number)
    return clock() - begun


@pytest.fixture(scope="session")
def within() -> Callable[..., None]:
    """`within(limit_s, measure, clock)`: the result of `measure` must be below the limit on an idle machine of normal
    speed.

    If the machine is slower now, the limit is longer in proportion. A measurement above the limit is repeated, since
    other load passes.
    """

    def judge(limit_s: float, measure: Callable[[], float], clock: Callable[[], float] = time.perf_counter) -> None:
        tries = []
        for _ in range(TRIES):
            before = yardstick(clock)
            measured = measure()
            slower = max(1.0, max(before, yardstick(clock)) / YARDSTICK_S)
            if measured < limit_s * slower:
                return
            tries.append(f"{measured:.3g} s where all takes {slower:.2f} times as long")
        pytest.fail(f"not within {limit_s:g} s: {', '.join(tries)}")

    return judge


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"mounting a small tmpfs failed ({mounted.stderr.strip()}): run as root with CAP_SYS_ADMIN")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the system's browser."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    return found


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """The browser without a window, driven by Playwright."""
    driver = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def complaints() -> list[str]:
    """The messages on a page's console."""
    return []
