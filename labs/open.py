"""Opens a folder of notebooks in JupyterLab, on this computer only and with a token (`make notebooks`).

python labs/open.py FOLDER [JupyterLab's own options]
"""

from __future__ import annotations

import os
import platform
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

ALLOW_ROOT = "--allow-root"
"""A JupyterLab option, for a container without other users."""


def main(arguments: list[str]) -> int:
    """Replace this process by JupyterLab; returns an exit code if JupyterLab cannot start."""
    folder, options = Path(arguments[0]), arguments[1:]
    if find_spec("jupyterlab") is None:
        return complain("JupyterLab is not installed: `make notebooks` installs it")
    if not folder.is_dir():
        there = ", ".join(sorted(str(each) for each in folder.parent.glob("*/")))
        return complain(
            f"no such folder: {folder}; " + (f"choose one of {there}" if there else "`make notebooks` makes it")
        )
    if hasattr(os, "geteuid") and os.geteuid() == 0 and ALLOW_ROOT not in options:
        return complain(
            "notebooks should not run as root: be an ordinary user, or in a container call "
            + shlex.join([sys.executable, sys.argv[0], *arguments, ALLOW_ROOT])
        )
    if not has_display():
        print("No display here: open the address with the token below in a browser (Ctrl-C twice ends it).")
        options.append("--no-browser")
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder.resolve()}"]
    os.execv(sys.executable, [*command, "--ServerApp.ip=127.0.0.1", *options])  # Jupyter makes the token


def has_display() -> bool:
    """Whether a browser could open here."""
    if platform.system() != "Linux":
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def complain(line: str) -> int:
    """Print what is missing; returns the exit code for that."""
    print(line, file=sys.stderr)
    return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["labs/notebooks/student"]))
