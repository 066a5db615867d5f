"""The machine: whether it has what real hosts need, and whether it kept up with a run.

No namespace is made and nothing is started to find out what is there. Besides mediumd's own lateness, its load tells
a good run from a bad one.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacelab.errors import HostError
from pacelab.hosts.helper_client import JOIN, as_root, place
from pacelab.hosts.processes import SAFE_PATH, environment
from pacelab.pacer.linux.host import lacking

PROGRAMS = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "tc": "iproute2",
    "iperf3": "iperf3",
    "iptables": "iptables",
}
"""Program -> Debian's package that has it."""
IN_CONTAINER = "in a container: --device /dev/net/tun --cap-add NET_ADMIN --cap-add SYS_ADMIN"
MACHINES_ROOT = "run as the root of the machine itself, or with --where uml (docs/uml.md)"
"""What the root of a user namespace is told: priorities and TAP queues are refused it, whatever its capabilities."""
TUN = Path("/dev/net/tun")
_USERS = Path("/proc/self/uid_map")
_ALL_USERS = ["0", "0", "4294967295"]
MODULE = "mac80211_hwsim"
MEND_HWSIM = f"sudo modprobe {MODULE}; kernels that have it: docs/hwsim.md"
LOADED = Path("/sys/module") / MODULE
SYSTEM_PACKAGES = Path("/usr/lib/python3/dist-packages")
MEND_MININET = "sudo apt-get install --no-install-recommends mininet"
MININET_WIFI_PYTHON = "mininet-wifi-python"
"""Runs a script in Mininet-WiFi's environment (vm/provision/mininet-wifi.sh)."""
MININET_WIFI_PROGRAMS = (MININET_WIFI_PYTHON, "hwsim_mgmt", "mnexec", "iw", "rfkill")
MEND_MININET_WIFI = "sudo sh vm/provision/mininet-wifi.sh (it needs the internet), or --builder plain"


def missing(radios: str) -> Iterator[tuple[str, str]]:
    """What a back end with these radios lacks here, and the command that mends it."""
    for program, package in PROGRAMS.items():
        if shutil.which(program, path=SAFE_PATH) is None:
            yield program, f"sudo apt-get install {package}"
    if importlib.util.find_spec("pyroute2") is None:
        yield "pyroute2", "pip install pyroute2"
    try:
        from pacelab.hosts.network.medium import find_program

        find_program()
    except HostError as error:
        yield "mediumd", str(error).split("; ")[-1]
    if radios == "hwsim" and not has_hwsim():
        yield f"{MODULE} in this kernel", MEND_HWSIM
    if radios == "tap" and not TUN.exists():
        yield str(TUN), f"sudo modprobe tun; {IN_CONTAINER}"
    if os.geteuid() == 0:
        if in_user_namespace():
            yield "the machine's root", MACHINES_ROOT
        elif lacks := lacking_capabilities():
            yield lacks, IN_CONTAINER
    elif not place().exists():
        yield "root", f"{as_root()}, or the root helper (docs/real-hosts.md)"
    elif not os.access(place(), os.W_OK):
        yield "membership of the group pacelab", JOIN


def in_user_namespace() -> bool:
    """Whether the users here are not all those of the machine: a container of an ordinary user's, `unshare -Ur`."""
    return _USERS.exists() and _USERS.read_text().split() != _ALL_USERS


def lacking_capabilities() -> str:
    """Capabilities for hosts that this process is without; empty when it has all."""
    return lacking("CAP_NET_ADMIN", "CAP_SYS_ADMIN")


def has_hwsim() -> bool:
    """Whether the kernel's simulated radios are loaded, built in, or there to be loaded."""
    if LOADED.exists():
        return True
    try:
        asked = subprocess.run(["modprobe", "--dry-run", "--quiet", MODULE], env=environment(), check=False)
    except OSError:
        return False
    return asked.returncode == 0


def mininet_wifi() -> str | None:
    """None when Mininet-WiFi can be had, else how to get it."""
    try:
        find_python()
    except HostError as error:
        return str(error).split(": ")[-1]
    return None


def find_python() -> str:
    """Mininet-WiFi's interpreter. Raises HostError."""
    for program in MININET_WIFI_PROGRAMS:
        if shutil.which(program, path=SAFE_PATH) is None:
            raise HostError(f"--builder mininet-wifi: no program {program} in {SAFE_PATH}: {MEND_MININET_WIFI}")
    return str(shutil.which(MININET_WIFI_PYTHON, path=SAFE_PATH))


def mininet() -> str | None:
    """None when Mininet's command line can be had, else how to get it."""
    try:
        check_mininet()
    except HostError as error:
        return str(error).split(": ")[-1]
    return None


def check_mininet() -> None:
    """Raise HostError with the command that mends it when Mininet is not here."""
    here = importlib.util.find_spec("mininet") is not None or (SYSTEM_PACKAGES / "mininet").is_dir()
    if not here or shutil.which("mnexec", path=SAFE_PATH) is None:
        raise HostError(f"shell: Mininet is not installed: {MEND_MININET}")


# How well it kept up.

GRADES = ("valid", "degraded", "invalid")
LATE_S = {"degraded": 2e-3, "invalid": 20e-3}
"""99th percentile of the lateness of our own senders and wires. A packet of 1500 bytes takes 2 ms at 11 Mbit/s with
RTS/CTS, so a later one is a packet of another moment; mediumd's own bounds are in its PROTOCOL.md."""
STOLEN = {"degraded": 0.02, "invalid": 0.10}
"""Share of the processors' time that the hypervisor gave to others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Processor time in ticks since boot, or between two readings."""

    busy: int
    stolen: int
    total: int

    def __sub__(self, other: Load) -> Load:
        return Load(busy=self.busy - other.busy, stolen=self.stolen - other.stolen, total=self.total - other.total)

    def shares(self) -> dict[str, float]:
        """Of the processors' time."""
        total = max(1, self.total)
        return {"busy": self.busy / total, "stolen": self.stolen / total}


def read_load(path: Path = Path("/proc/stat")) -> Load:
    """All processors together."""
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, path.read_text().split()[1:9])
    busy = user + nice + system + irq + softirq
    return Load(busy=busy, stolen=steal, total=busy + idle + iowait + steal)


def judge(*, medium: str, late_p99_s: list[float], stolen: float) -> str:
    """The worst of what mediumd says, our own lateness and the stolen time."""
    found = [medium]
    for grade in GRADES[1:]:
        if stolen > STOLEN[grade] or any(late_s > LATE_S[grade] for late_s in late_p99_s):
            found.append(grade)
    return worst(*found)


def judge_medium(before: dict[str, Any], after: dict[str, Any]) -> str:
    """What mediumd's statistics at a run's begin and end say: of its last seconds, of all, of what was lost between."""
    lost = after["lost"] - before["lost"]
    return worst(after["fidelity"], after["fidelity_since_start"], "invalid" if lost else "valid")


def worst(*grades: str) -> str:
    """Of several."""
    return max(grades, key=GRADES.index)


def describe() -> dict[str, Any]:
    """Kernel and programs, for host.json."""
    return {"kernel": platform.release(), "iperf3": _version("iperf3", r"iperf (\S+)")}


def _version(program: str, pattern: str) -> str | None:
    if shutil.which(program) is None:
        return None
    ran = subprocess.run([program, "--version"], capture_output=True, text=True, env=environment(), check=False)
    found = re.search(pattern, ran.stdout)
    return found[1] if found else None
