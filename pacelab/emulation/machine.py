"""The machine: whether it has what real hosts need, whether it kept up with a run, and what runs have left there.

No namespace is made and nothing is started to find out what is there. Besides mediumd's own lateness, its load tells
a good run from a bad one.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacelab.emulation.helper_client import JOIN, as_root, place
from pacelab.emulation.processes import OWNER, SAFE_PATH, environment
from pacelab.emulation.where.confine import remove_left
from pacelab.errors import HostError
from pacelab_pacer.linux.host import in_container, lacking

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
        from pacelab.emulation.network.medium import find_program

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


# `pacelab cleanup`: what a run may leave when all else has failed.
#
# A run's processes end with the one that started them, and its namespaces and interfaces with its processes. What can
# be left are processes that the kernel could not end in time, rules and pacing of agents killed on the host itself, and
# folders of guests.
# Everything is told apart by who started it: nothing that is not ours, and nothing of a run that is alive, is touched.

_PROC = Path("/proc")
END_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What was there and is not any more."""

    processes: tuple[int, ...]
    rules: tuple[str, ...]
    folders: tuple[str, ...]


def clean_up() -> Removed:
    """End the processes of runs whose owner is gone, remove the rules of agents and folders of guests. Needs root."""
    if os.geteuid() != 0:
        raise HostError(f"cleanup: what runs leave belongs to root: run {as_root('cleanup')}")
    if lacks := lacking("CAP_NET_ADMIN"):
        raise HostError(f"cleanup: this root is without {lacks}; in a container: {in_container(lacks)}")
    processes = orphans()
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + END_S
    while orphans() and time.monotonic() < until:
        time.sleep(0.05)
    if left := orphans():
        raise HostError(f"cleanup: processes {left} do not end, even killed; restart the machine")
    return Removed(processes=tuple(processes), rules=tuple(_stale_rules()), folders=tuple(remove_left()))


def orphans() -> list[int]:
    """Processes of runs whose owner is gone."""
    found = []
    for folder in _PROC.iterdir():
        if not folder.name.isdecimal():
            continue
        owner = _owner_of(folder)
        if owner is not None and not _is_alive(owner):
            found.append(int(folder.name))
    return sorted(found)


def start_of(pid: int) -> str | None:
    """When a process started, in ticks since boot; None when there is none or only its remains (a zombie)."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else fields[19]


def _owner_of(folder: Path) -> str | None:
    try:
        if start_of(int(folder.name)) is None:
            return None
        variables = (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return None
    prefix = f"{OWNER}=".encode()
    return next((text.removeprefix(prefix).decode() for text in variables if text.startswith(prefix)), None)


def _is_alive(owner: str) -> bool:
    pid, _, start = owner.partition(":")
    return pid.isdecimal() and start_of(int(pid)) == start


def _stale_rules() -> list[str]:
    from pacelab_pacer.linux import kernel_pacing, rules

    return [*rules.remove_stale(), *kernel_pacing.remove_stale()]
