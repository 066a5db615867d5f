"""How to install the controller's requirements, and the port of OpenFlow."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec

OPENFLOW_PORT = 6653
_PYTHON = shlex.quote(sys.executable)
_PIP = f"{_PYTHON} -m pip install" if find_spec("pip") else f"uv pip install --python {_PYTHON}"
INSTALL = f"{_PIP} 'pacelab[controller]'"
"""The command that installs os-ken, FastAPI and uvicorn for this Python, also under `sudo`; tools of uv have no pip."""
