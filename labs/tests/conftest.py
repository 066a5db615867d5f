"""Fixtures of the labs' tests: the generator (labs/ is not a package) and every master."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def generate() -> ModuleType:
    """labs/generate.py; skips where the notebooks' packages are missing."""
    for package in ("jupytext", "nbformat"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is missing: make notebooks installs it")
    spec = importlib.util.spec_from_file_location("_labs_generate", ROOT / "labs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
