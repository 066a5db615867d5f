"""Programs that real hosts run: where they are, and how to install them."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from pacelab.emulation.processes import SAFE_PATH
from pacelab.errors import HostError
from pacelab.packages import source_tree

MININET_WIFI_PYTHON = "mininet-wifi-python"
"""Runs a script in Mininet-WiFi's environment (vm/provision/mininet-wifi.sh)."""
MININET_WIFI_PROGRAMS = (MININET_WIFI_PYTHON, "hwsim_mgmt", "mnexec", "iw", "rfkill")
INSTALL_MININET_WIFI = "sudo sh vm/provision/mininet-wifi.sh (it needs the internet), or --builder plain"


def find_mediumd() -> Path:
    """Find mediumd: built in the source tree, else where the wheel installed it, else on the PATH."""
    for place in (source_tree() / "medium/target/release/mediumd", *_installed()):
        if place.is_file() and os.access(place, os.X_OK):
            return place
    found = shutil.which("mediumd")
    if found is None:
        raise HostError(
            "real hosts need the program mediumd, which is not installed; run `make build` in the source tree"
        )
    return Path(found)


def _installed() -> list[Path]:
    """Programs of that name in the package. A user's own installation does not have them beside the Python
    interpreter.
    """
    try:
        came = distribution("pacelab-wmediumd").files or []
    except PackageNotFoundError:
        return []
    return [Path(str(file.locate())) for file in came if file.name == "mediumd"]


def find_mininet_wifi_python() -> str:
    """Find Mininet-WiFi's interpreter. Raises HostError."""
    for program in MININET_WIFI_PROGRAMS:
        if shutil.which(program, path=SAFE_PATH) is None:
            raise HostError(f"--builder mininet-wifi: no program {program} in {SAFE_PATH}: {INSTALL_MININET_WIFI}")
    return str(shutil.which(MININET_WIFI_PYTHON, path=SAFE_PATH))
