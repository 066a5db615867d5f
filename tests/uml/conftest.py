"""Tests marked `guest` are skipped, with the remedy, where no guest can run."""

from __future__ import annotations

import pytest

from pacelab.emulation.where.features import missing_for_uml


@pytest.fixture(autouse=True)
def guest(request: pytest.FixtureRequest) -> None:
    """See the module."""
    if request.node.get_closest_marker("guest") is not None:
        for what, remedy in missing_for_uml():
            pytest.skip(f"no {what}: {remedy}")
