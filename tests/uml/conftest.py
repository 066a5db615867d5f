"""Skips tests marked `guest`, with the remedy, if no guest can run."""

from __future__ import annotations

import pytest

from pacelab.emulation.where.features import missing_for_uml


@pytest.fixture(autouse=True)
def guest(request: pytest.FixtureRequest) -> None:
    """Skip without a guest (see the module's docstring)."""
    if request.node.get_closest_marker("guest") is not None:
        for what, remedy in missing_for_uml():
            pytest.skip(f"no {what}: {remedy}")
