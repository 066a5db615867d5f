"""Whether this machine has what guests need. The checks start no guest."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterator

from pacelab.errors import HostError

_TRACE_ME = "import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) != 0)"


def missing_for_uml() -> Iterator[tuple[str, str]]:
    """What `--where uml` needs and this machine lacks, and the command that installs it."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        yield "x86-64 Linux", "use another machine, or --where vm"
        return
    from pacelab.emulation.where.files import find_files
    from pacelab.emulation.where.memory import exec_folder

    for what, check in (("kernel and root file system", find_files), ("memory to run from", exec_folder)):
        try:
            check()
        except HostError as error:
            yield what, str(error).split("; ")[-1]
    if not may_trace():
        yield "ptrace", "sudo sysctl kernel.yama.ptrace_scope=1; in a container: --cap-add SYS_PTRACE"


def may_trace() -> bool:
    """Whether a process may trace its own children, as User-Mode Linux does to run programs."""
    return subprocess.run([sys.executable, "-I", "-S", "-c", _TRACE_ME], check=False).returncode == 0
