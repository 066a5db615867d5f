"""`--where uml`: a run under User-Mode Linux in virtual time.

The kernel is a process of the user. Its clock stops while anything in it computes and jumps when everything in it
waits. So neither the speed of the host nor its load affects the result (arch/um/kernel/time.c, time-travel=inf-cpu).

Invariants
1. The kernel's command line depends only on the seed and the number of hosts, because the kernel hashes it into its
   random numbers. The host's folders are reached through links in the kernel's working folder.
2. The kernel runs as an unprivileged user without any capability, on one core that no other guest of ours uses.
3. The kernel ends: its processor time is limited, since a program that computes for ever stops the guest's clock.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from pacelab.emulation.captures import SUFFIX
from pacelab.emulation.messages import RunReport
from pacelab.emulation.session import error_of
from pacelab.emulation.where.confine import NOBODY, closed_to_nobody, confine, may_be_nobody
from pacelab.emulation.where.cpu import Core, cpu_seconds
from pacelab.emulation.where.features import missing_for_uml
from pacelab.emulation.where.files import GuestFiles, code_for, find_files
from pacelab.emulation.where.job import Source, write_job
from pacelab.emulation.where.memory import exec_folder, memory_bytes
from pacelab.emulation.where.work_folder import KERNEL, work_folder
from pacelab.engine import join_captures
from pacelab.errors import HostError

if TYPE_CHECKING:
    from pacelab.emulation.plan import Plan
    from pacelab.results.folder import PcapFile
    from pacelab.results.outcome import Progress

EPOCH_NS = 1_600_000_000 * 10**9
"""The guest's clock at its start."""
START_CPU_S, CPU_S_PER_S = 120.0, 6.0
"""A run may use this much processor time, and this much more per simulated second. A saturated 54 Mbit/s takes 1.4."""
IDLE_S = 120.0
"""A guest that neither ends nor uses the processor for this long waits for an event that never happens."""
LIMIT = "PACELAB_GUEST_LIMIT_S"
"""Environment variable for graders: another limit in place of the two above, in seconds of processor time."""
_LINKS = ("root", "code")
"""Links in the kernel's working folder to folders that it shares with others."""
_ELSEWHERE = "TMPDIR names another folder"
_NO_ROOM = "Kernel mode signal 7"
"""The panic at a page of its memory for which the folder has no room: SIGBUS."""
_LOOK_S, _WEIGH_S = 0.05, 2.0


def run_plan(
    plan: Plan, on_progress: Progress, own: Mapping[str, bytes] = MappingProxyType({}), pcap: PcapFile | None = None
) -> RunReport:
    """Run a plan. Return what the guest's supervisor found, and `guest`: the files it ran on. `own`: see
    `write_job`.
    """
    files = find_files()
    ours = code_for(files)
    with work_folder() as work:
        try:
            place = _fill_folder(work, files, ours, plan, own)
        except OSError as error:
            raise HostError(f"--where uml: laying out a guest in {work}: {error.strerror}; {_ELSEWHERE}") from error
        with Core() as core:
            result = _Guest(place, plan, core).run(on_progress)
        if pcap is not None:
            names = [plan.nodes[host].name for host in plan.stations]
            pcap.write(join_captures([(name, (place / "job" / f"{name}{SUFFIX}").read_bytes()) for name in names]))
    result["guest"] = files.identity()
    result["host"] |= {"core": core.number}
    return result


def command_line(plan: Plan) -> list[str]:
    """The kernel's command line."""
    return [
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/proc/self/cwd/root/.", "ro", "init=/usr/sbin/init"),
        *(f"mem={memory_bytes(len(plan.nodes)) >> 20}M", "con=null", "con0=null,fd:1", "quiet", "norandmaps"),
        "mac80211_hwsim.radios=0",
        *("time-travel=inf-cpu", f"time-travel-start={EPOCH_NS}"),
        "random.trust_cpu=on",  # use only the seed; to gather more entropy took 1 s of processor time
        *(f"um_seed={plan.seed}", f"PYTHONHASHSEED={plan.seed % 2**32}"),
    ]


class _Guest:
    """One running kernel."""

    def __init__(self, place: Path, plan: Plan, core: Core) -> None:
        given = os.environ.get(LIMIT)
        self._limit_s = float(given) if given else START_CPU_S + CPU_S_PER_S * plan.duration_s
        self._duration_s = plan.duration_s
        self._fraction = 0.0
        self._console = place / "console"
        self._source = Source(place / "job")
        self._memory_bytes = memory_bytes(len(plan.nodes))
        self._memory = exec_folder(self._memory_bytes)
        links = [link for name in _LINKS if (link := place / name).is_symlink()] if may_be_nobody() else []
        closed = {link: link.resolve() for link in links if closed_to_nobody(link)}
        with self._console.open("wb") as console:
            try:
                self._process = subprocess.Popen(
                    [str(place / KERNEL), *command_line(plan)],
                    cwd=place,
                    env={"PATH": "/usr/bin:/bin", "HOME": "/proc/self/cwd", "TMPDIR": self._memory},
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=lambda: confine(core.number, closed),
                )
            except subprocess.SubprocessError as error:
                self._source.close()
                why = "only root may go there, and not mount it elsewhere: chmod o+x the folders above"
                raise HostError(f"--where uml: {', '.join(map(str, closed.values()))}: {why}") from error
            except PermissionError as error:
                self._source.close()
                why = "a mount with noexec, or a folder that only root may enter?"
                raise HostError(f"--where uml: no program may run from {place}: {why} {_ELSEWHERE}") from error

    def run(self, on_progress: Progress) -> RunReport:
        """Run until the guest has sent its result or its error."""
        found = None
        used_s, moved = 0.0, time.monotonic()
        weighed = moved
        try:
            while found is None:
                ended = self._has_ended()  # checked before reading, so that the last message is not missed
                found = self._listen(on_progress)
                if found is None and ended:
                    raise HostError(self._early_end())
                if time.monotonic() > weighed + _WEIGH_S:
                    weighed, now_s = time.monotonic(), cpu_seconds(self._process.pid)
                    if now_s > self._limit_s:
                        raise HostError(self._endless(now_s))
                    if now_s > used_s:
                        used_s, moved = now_s, weighed
                    elif weighed > moved + IDLE_S:
                        raise HostError(f"--where uml: the guest makes no progress: {self._last_words()}")
                time.sleep(_LOOK_S)
            found["host"]["guest_cpu_s"] = cpu_seconds(self._process.pid)
            return found
        finally:
            self._source.close()
            self._end()

    def _has_ended(self) -> bool:
        """Whether the guest has ended. It stays in the process table until `_end`, so its processor time can still be
        read.
        """
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _listen(self, on_progress: Progress) -> RunReport | None:
        for message in self._source.read():
            if "progress" in message:
                self._fraction = message["progress"]
                on_progress(self._fraction)
            elif "error" in message:
                raise error_of(message["error"])
            else:
                result: RunReport = message["result"]
                return result
        return None

    def _endless(self, used_s: float) -> str:
        reached_s = self._fraction * self._duration_s
        return (
            f"--where uml: {used_s:.0f} s of processor time used up at {reached_s:.1f} s of {self._duration_s:g} s: "
            "a program in the guest computes, or asks for the time, without end (a loop in a scheme?); "
            f"the limit is {self._limit_s:g} s ({LIMIT} sets another)"
        )

    def _early_end(self) -> str:
        lacks = [f"no {name} here: {remedy}" for name, remedy in missing_for_uml()]
        words = self._last_words()
        if words.endswith(_NO_ROOM):
            lacks.append(f"no room left for its memory in {self._memory}: it takes up to {self._memory_bytes >> 20} MB")
        what = "; ".join(lacks) or f"it said: {words}"
        return f"--where uml: the guest's kernel ended before the run did: {what}"

    def _last_words(self) -> str:
        lines = self._console.read_text(errors="replace").strip().splitlines()
        return " ".join(lines[-1].split()) if lines else "it printed no message"

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # its child processes end with it
        self._process.wait()


def _fill_folder(work: Path, files: GuestFiles, ours: Path, plan: Plan, own: Mapping[str, bytes]) -> Path:
    """Fill the kernel's working folder."""
    for name, target in zip(_LINKS, (files.tree, ours), strict=True):
        (work / name).symlink_to(target)
    # Our folder is on a mount that permits execution; the checkout's mount may not.
    shutil.copyfile(files.kernel, work / KERNEL)
    (work / KERNEL).chmod(0o755)
    job = work / "job"
    job.mkdir()
    write_job(job, plan, own)
    if may_be_nobody():
        for path in (work, *work.rglob("*")):
            if not path.is_symlink():
                os.chown(path, NOBODY, NOBODY)
    return work
