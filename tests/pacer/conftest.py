"""Makes `hook_shell` importable: in pytest's importlib mode a test folder is not on the path."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
