"""Tests of the controller find `fabric` beside them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # pytest's importlib mode leaves a test folder off the path
