"""Whether this machine has what real hosts need. The checks start nothing and make no namespace."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path

from pacelab.documents import JsonObject
from pacelab.emulation.helper_client import JOIN, as_root, place
from pacelab.emulation.processes import SAFE_PATH, environment
from pacelab.emulation.programs import find_mediumd, find_mininet_wifi_python
from pacelab.errors import HostError
from pacelab_pacer.linux.host import lacking

PROGRAMS = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "tc": "iproute2",
    "iperf3": "iperf3",
    "iptables": "iptables",
}
"""Program -> the Debian package that contains it."""
IN_CONTAINER = "in a container: --device /dev/net/tun --cap-add NET_ADMIN --cap-add SYS_ADMIN"
NEEDS_REAL_ROOT = "run as the root of the machine itself, or with --where uml (docs/uml.md)"
"""Message for root of a user namespace: the kernel refuses it priorities and TAP queues, whatever its
capabilities are.
"""
TUN = Path("/dev/net/tun")
_USERS = Path("/proc/self/uid_map")
_ALL_USERS = ["0", "0", "4294967295"]
MODULE = "mac80211_hwsim"
REMEDY_HWSIM = f"run `sudo modprobe {MODULE}` (docs/hwsim.md lists the kernels that have it)"
LOADED = Path("/sys/module") / MODULE
SYSTEM_PACKAGES = Path("/usr/lib/python3/dist-packages")
INSTALL_MININET = "sudo apt-get install --no-install-recommends mininet"


def missing(radios: str) -> Iterator[tuple[str, str]]:
    """What a back end with these radios needs and this machine lacks, and the command that installs it."""
    yield from missing_programs()
    if importlib.util.find_spec("pyroute2") is None:
        yield "pyroute2", "pip install pyroute2"
    try:
        find_mediumd()
    except HostError as error:
        yield "mediumd", str(error).split("; ")[-1]
    if radios == "hwsim" and not has_hwsim():
        yield f"{MODULE} in this kernel", REMEDY_HWSIM
    if radios == "tap" and not TUN.exists():
        yield str(TUN), f"sudo modprobe tun; {IN_CONTAINER}"
    if os.geteuid() == 0:
        if in_user_namespace():
            yield "the machine's root", NEEDS_REAL_ROOT
        elif lacks := lacking_capabilities():
            yield lacks, IN_CONTAINER
    elif not place().exists():
        yield "root", f"{as_root()}, or the root helper (docs/real-hosts.md)"
    elif not os.access(place(), os.W_OK):
        yield "membership of the group pacelab", JOIN


def missing_programs() -> Iterator[tuple[str, str]]:
    """The programs that hosts need and this machine lacks, each with the command that installs it."""
    for program, package in PROGRAMS.items():
        if shutil.which(program, path=SAFE_PATH) is None:
            yield program, f"sudo apt-get install {package}"


def check_programs(back_end: str, *, without: Collection[str] = ()) -> None:
    """Raise HostError with the message of `pacelab doctor` if a program is missing; `without`: programs not needed."""
    for program, remedy in missing_programs():
        if program not in without:
            raise HostError(f"--backend {back_end}: {program} is not installed: {remedy}")


def in_user_namespace() -> bool:
    """Whether this is a user namespace with only some of the machine's users: a rootless container, `unshare -Ur`."""
    return _USERS.exists() and _USERS.read_text().split() != _ALL_USERS


def lacking_capabilities() -> str:
    """Capabilities that hosts need and this process lacks; empty if it has all."""
    return lacking("CAP_NET_ADMIN", "CAP_SYS_ADMIN")


def has_hwsim() -> bool:
    """Whether the kernel's simulated radios are loaded, built in, or available as a module."""
    if LOADED.exists():
        return True
    try:
        asked = subprocess.run(["modprobe", "--dry-run", "--quiet", MODULE], env=environment(), check=False)
    except OSError:
        return False
    return asked.returncode == 0


def mininet_wifi() -> str | None:
    """None if Mininet-WiFi is available, else how to install it."""
    try:
        find_mininet_wifi_python()
    except HostError as error:
        return str(error).split(": ")[-1]
    return None


def mininet() -> str | None:
    """None if Mininet's command line is available, else how to install it."""
    try:
        check_mininet()
    except HostError as error:
        return str(error).split(": ")[-1]
    return None


def check_mininet() -> None:
    """Raise HostError with the command that installs Mininet if it is missing."""
    here = importlib.util.find_spec("mininet") is not None or (SYSTEM_PACKAGES / "mininet").is_dir()
    if not here or shutil.which("mnexec", path=SAFE_PATH) is None:
        raise HostError(f"shell: Mininet is not installed: {INSTALL_MININET}")


def describe() -> JsonObject:
    """Kernel and programs for host.json."""
    return {"kernel": platform.release(), "iperf3": _version("iperf3", r"iperf (\S+)")}


def _version(program: str, pattern: str) -> str | None:
    if shutil.which(program) is None:
        return None
    ran = subprocess.run([program, "--version"], capture_output=True, text=True, env=environment(), check=False)
    found = re.search(pattern, ran.stdout)
    return found[1] if found else None
