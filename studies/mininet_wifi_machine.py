"""A machine with Mininet-WiFi in virtual time: User-Mode Linux whose root folder is an installation of Mininet-WiFi.

Helper of mininet_wifi.py. The kernel is the one of `--where uml`; its own root tree only boots it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pacelab.emulation.where.confine import NOBODY, closed_to_nobody, confine, may_be_nobody
from pacelab.emulation.where.cpu import Core, cpu_seconds
from pacelab.emulation.where.files import find_files
from pacelab.emulation.where.memory import exec_folder
from pacelab.emulation.where.uml import EPOCH_NS
from pacelab.emulation.where.work_folder import KERNEL, work_folder

MEMORY_BYTES = 1 << 30
CPU_LIMIT_S = 150.0
"""Processor time after which a machine is ended: programs that compute without end stop its clock. Others need 15 s."""
LOOK_S = 2.0
GUEST = Path(__file__).with_name("mininet_wifi_guest.py")
OVS_VSCTL = """#!/bin/sh
# Each new bridge gets the datapath of user space: this kernel has no Open vSwitch of its own.
for word; do
    [ "${last:-}" != add-br ] || more="${more:-} -- set bridge $word datapath_type=netdev"
    last=$word
done
exec /usr/bin/ovs-vsctl "$@" ${more:-}
"""
MODPROBE = """#!/bin/sh
# mac80211_hwsim is part of this kernel; other modules do not exist.
[ "$1" = mac80211_hwsim ]
"""


IWCONFIG = r"""#!/bin/sh
# iwconfig IF essid NAME ap ADDRESS joins a network as soon as the interface is up. This kernel has no wireless
# extensions, so nl80211 does it. Programs take no time here, so all stations would join in the same instant, and their
# probe requests would collide. Therefore each station joins a different time later, less than a second.
join() {
    { ip monitor link dev "$1" & sleep 0.05; ip link show dev "$1"; wait; } | while read -r line; do
        case $line in *[\<,]UP[,\>]*) sleep "0.$(printf %02d $(($$ % 100)))"; exec iw dev "$1" connect "$3" "$5" ;; esac
    done
}
if [ "${2:-}" = essid ] && [ "${4:-}" = ap ]; then
    # The caller waits until nobody has its pipes any more.
    (exec >/dev/null 2>&1 </dev/null; join "$@") &
    exit
fi
exec /usr/sbin/iwconfig "$@"
"""
TOOLS = {"ovs-vsctl": OVS_VSCTL, "modprobe": MODPROBE, "iwconfig": IWCONFIG}
"""Stand in for parts that the guest's kernel lacks, and change nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A shell command in the machine, with its input."""

    command: str
    stdin: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    limit_s: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where Mininet-WiFi is installed, and what the machine also gets."""

    installation: Path
    files: Mapping[str, bytes]
    """In /mnt: scripts, wheels."""

    def run(self, steps: Sequence[Step], read: Iterable[str] = (), seed: int = 1) -> dict[str, Any]:
        """Boot the machine and run the steps. Return the outcomes, and the contents of the files `read`."""
        guest = find_files()
        with work_folder() as work, Core() as core:
            (work / "root").symlink_to(guest.tree)
            (work / "installation").symlink_to(self.installation.resolve())
            shutil.copyfile(guest.kernel, work / KERNEL)
            (work / KERNEL).chmod(0o755)
            _fill(work, self.files, steps, read)
            links = [work / "root", work / "installation"] if may_be_nobody() else []
            closed = {link: link.resolve() for link in links if closed_to_nobody(link)}
            console = work / "console"
            with console.open("wb") as out:
                process = subprocess.Popen(
                    [str(work / KERNEL), *_command_line(seed)],
                    cwd=work,
                    env={"PATH": "/usr/bin:/bin", "HOME": "/proc/self/cwd", "TMPDIR": exec_folder(MEMORY_BYTES)},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=lambda: confine(core.number, closed),
                )
                wait_for(process)
            result = work / "job" / "found.json"
            if not result.exists():
                raise RuntimeError(console.read_text(errors="replace")[-2000:])
            found: dict[str, Any] = json.loads(result.read_text())
            for path in work.glob("job/output-*"):
                found.setdefault("outputs", {})[path.name] = path.read_text(errors="replace")
            found["console"] = console.read_text(errors="replace")[-2000:]
        return found


def wait_for(process: subprocess.Popen[bytes]) -> None:
    """Wait until the machine has ended, or end it when it has used CPU_LIMIT_S."""
    try:
        while process.poll() is None and cpu_seconds(process.pid) < CPU_LIMIT_S:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _command_line(seed: int) -> list[str]:
    return [
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/proc/self/cwd/root/.", "ro", "init=/usr/sbin/init"),
        *(f"mem={MEMORY_BYTES >> 20}M", "con=null", "con0=null,fd:1", "quiet", "norandmaps"),
        *("mac80211_hwsim.radios=0", "time-travel=inf-cpu", f"time-travel-start={EPOCH_NS}"),
        *("random.trust_cpu=on", f"um_seed={seed}", "PYTHONHASHSEED=1"),
    ]


def _fill(work: Path, files: Mapping[str, bytes], steps: Sequence[Step], read: Iterable[str]) -> None:
    """The kernel's working folder: the guest's first process calls GUEST, which finds its plan in `job`."""
    place = work / "code" / "pacelab" / "emulation" / "where"
    place.mkdir(parents=True)
    for folder in (place, *list(place.parents)[:2]):
        (folder / "__init__.py").touch()
    shutil.copyfile(GUEST, place / "guest.py")
    job = work / "job"
    (job / "tools").mkdir(parents=True)
    for name, text in TOOLS.items():
        (job / "tools" / name).write_text(text)
        (job / "tools" / name).chmod(0o755)
    for name, content in files.items():
        (job / name).write_bytes(content)
    plan = {
        "steps": [
            {
                "command": step.command,
                "stdin": step.stdin,
                "environment": dict(step.environment),
                "limit_s": step.limit_s,
            }
            for step in steps
        ],
        "files": list(read),
        "switches": True,
    }
    (job / "plan.json").write_text(json.dumps(plan))
    if may_be_nobody():
        for path in (work, *work.rglob("*")):
            if not path.is_symlink():
                os.chown(path, NOBODY, NOBODY)
