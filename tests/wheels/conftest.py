"""The wheels under dist/ that `make wheels` made."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


TARGETS = runpy.run_path(str(ROOT / ".ci" / "wheels.py"), run_name="wheels")["TARGETS"]


@pytest.fixture(scope="session")
def wheel_for() -> Callable[[str], Path]:
    """The newest wheel for a name of the builder's targets; skips where there is none."""

    def find(name: str) -> Path:
        platform = TARGETS[name].platform
        found = sorted((ROOT / "dist").glob(f"pacelab-*-{platform}.whl"), key=lambda path: path.stat().st_mtime)
        if not found:
            pytest.skip(f"no wheel for {name}: make wheels WHEELS={name}")
        return found[-1]

    return find


@pytest.fixture(scope="session", params=sorted(TARGETS))
def target(request: pytest.FixtureRequest) -> str:
    """Each platform's name in turn."""
    return str(request.param)
