"""What all tests share."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture
def engine() -> None:
    """For tests that run the air: skip, with the remedy, where the engine is not built."""
    if importlib.util.find_spec("pacelab._medium") is None:
        pytest.skip("the air engine is not built: `make lab` or `pip install -e .` builds it")


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
