"""Makes the modules beside the tests importable, and runs each group of cases once, in parallel."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.append(str(Path(__file__).parent))  # pytest's importlib mode leaves a test folder off the path

if TYPE_CHECKING:
    from air_case import Case, Measured


@pytest.fixture(scope="session")
def measure() -> Callable[[Sequence[Case]], dict[str, Measured]]:
    """`measure(cases)`: the result of each case by name. A group of cases runs once per session."""
    import importlib.util

    if importlib.util.find_spec("pacelab_medium") is None:
        pytest.skip("the air engine is not built: `make build` builds it")
    import air_case

    done: dict[tuple[str, ...], dict[str, Measured]] = {}

    def run(cases: Sequence[Case]) -> dict[str, Measured]:
        key = tuple(case.name for case in cases)
        if key not in done:
            done[key] = air_case.measure(cases)
        return done[key]

    return run
