"""The firewall rules that bring packets to the queues, installed and removed as one.

Every agent has chains of its own in the table `mangle`, named PACELAB-PID-START-N after its process and the start time
of the process. So no state has to be stored: the next start of any agent removes the chains of processes that have
ended.

Invariants
1. --queue-bypass: while no process listens, packets pass as if there were no rule.
2. An incomplete installation is undone before the error is raised.
3. No two agents have the same packets: an accepted packet does not reach the rules behind.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pacelab_pacer.linux.host import AgentError

_COMMANDS = ("iptables", "ip6tables")
_PREFIX = "PACELAB"
_CHAIN = re.compile(rf"^:({_PREFIX}-(\d+)-(\w+)-\d+) ", re.MULTILINE)
_JUMP = re.compile(r"-A (\S+)(?: -i (\S+))?(?: -o (\S+))? -j (\S+)")
_OWN_PASS = frozenset({"OUTPUT", "POSTROUTING"})
"""Hooks that the agent's own packets pass; at other hooks the mark belongs to somebody else."""
_WAIT_S = "5"
_LISTED_S = 0.5
"""A listing that takes longer is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """Packets that pass `hook` (FORWARD, INPUT, OUTPUT or POSTROUTING) between these interfaces go to `queue`."""

    hook: str
    queue: int
    in_interface: str | None = None
    out_interface: str | None = None

    @property
    def jump(self) -> str:
        """The rule that matches the packets, as iptables-save writes it, without its target."""
        into = f" -i {self.in_interface}" if self.in_interface else ""
        out_of = f" -o {self.out_interface}" if self.out_interface else ""
        return f"-A {self.hook}{into}{out_of}"

    def overlaps(self, hook: str, in_interface: str | None, out_interface: str | None) -> bool:
        """Whether some packets match both this and a rule of this hook between these interfaces."""
        return (
            hook == self.hook
            and _intersect(self.in_interface, in_interface)
            and _intersect(self.out_interface, out_interface)
        )


def _intersect(one: str | None, other: str | None) -> bool:
    """Whether some interface matches both. None matches every interface, `wire+` all that begin with `wire`."""
    first, second = one or "+", other or "+"
    if first.endswith("+") and second.endswith("+"):
        return first.startswith(second[:-1]) or second.startswith(first[:-1])
    if first.endswith("+"):
        return second.startswith(first[:-1])
    return first.startswith(second[:-1]) if second.endswith("+") else first == second


class Rules:
    """The rules of this process. Raises AgentError if they cannot be installed."""

    def __init__(self, captures: tuple[Capture, ...], *, own_mark: int) -> None:
        """Packets with `own_mark` are this agent's own and bypass its queues."""
        self._captures = captures
        self._mark = own_mark
        self._chains = [f"{own_name(_PREFIX)}-{index}" for index in range(len(captures))]

    @property
    def queues(self) -> list[int]:
        """The queues to which the rules bring packets."""
        return [capture.queue for capture in self._captures]

    def install(self) -> list[str]:
        """Install the rules after removing those of dead agents; return the removed chains."""
        listings = _listings()
        removed = remove_stale(listings)
        self._check_free(listings[_COMMANDS[0]])
        for command in _COMMANDS:
            problem = _restore(command, self._adding())
            if problem is not None and command == _COMMANDS[0]:
                self.remove()
                raise AgentError(f"firewall rules: {problem}")
            # This kernel has no IPv6, so there is none to count.
        return removed

    def remove(self) -> None:
        """Remove the rules; harmless if they are not installed."""
        for command in _COMMANDS:
            listing = _save(command)
            present = [chain for chain in self._chains if f":{chain} " in listing]
            if present:
                _restore(command, _removing(present, listing))

    def are_in(self) -> bool:
        """False if another program has removed the rules, for example by reloading the firewall. True if that is
        unknown.
        """
        try:
            done = subprocess.run(
                [f"{_COMMANDS[0]}-save", "-t", "mangle"], capture_output=True, text=True, check=True, timeout=_LISTED_S
            )
        except (OSError, subprocess.SubprocessError):
            return True
        lines = done.stdout.splitlines()
        jumps = {f"{capture.jump} -j {chain}" for chain, capture in zip(self._chains, self._captures, strict=True)}
        full = [chain for chain in self._chains if any(line.startswith(f"-A {chain} ") for line in lines)]
        return jumps.issubset(lines) and full == self._chains

    def _check_free(self, listing: str) -> None:
        """Refuse packets that another living agent takes: they would end in its queue, and none would reach
        this one.
        """
        living = {chain: pid for chain, pid, start in _CHAIN.findall(listing) if is_alive(int(pid), start)}
        for line in listing.splitlines():
            jump = _JUMP.fullmatch(line)
            if jump is None or jump[4] not in living or jump[4] in self._chains:
                continue
            if any(capture.overlaps(jump[1], jump[2], jump[3]) for capture in self._captures):
                attempt = f"firewall rules: {jump[1]} by these interfaces"
                raise AgentError(
                    f"{attempt}: the agent with process id {living[jump[4]]} already handles these packets; stop that "
                    "agent first"
                )

    def _adding(self) -> list[str]:
        lines = []
        for chain, capture in zip(self._chains, self._captures, strict=True):
            own = f"-A {chain} -m mark --mark {self._mark:#x}/{self._mark:#x} -j RETURN"
            lines += [
                f":{chain} - [0:0]",
                *([own] if capture.hook in _OWN_PASS else []),
                f"-A {chain} -j NFQUEUE --queue-num {capture.queue} --queue-bypass",
                f"{capture.jump} -j {chain}",
            ]
        return lines


def own_name(prefix: str) -> str:
    """A name that identifies this process: PREFIX-PID-START."""
    pid = os.getpid()
    return f"{prefix}-{pid}-{_start_of(pid)}"


def is_alive(pid: int, start: str) -> bool:
    """Whether the process that such a name identifies is running."""
    return _start_of(pid) == start


def _listings() -> dict[str, str]:
    """The content of each command's table."""
    return {command: _save(command) for command in _COMMANDS}


def remove_stale(listings: Mapping[str, str] | None = None) -> list[str]:
    """Remove the chains of agents that have ended; return their names, those of IPv4 and IPv6 once."""
    removed: list[str] = []
    for command, listing in (listings or _listings()).items():
        dead = [chain for chain, pid, start in _CHAIN.findall(listing) if not is_alive(int(pid), start)]
        if dead and _restore(command, _removing(dead, listing)) is None:
            removed += dead
    return list(dict.fromkeys(removed))


def _removing(chains: list[str], listing: str) -> list[str]:
    """Lines that delete these chains and the jumps to them in the table's listing."""
    jumps = [line for line in listing.splitlines() if line.startswith("-A ") and line.split("-j ")[-1] in chains]
    return [
        *("-D " + line.removeprefix("-A ") for line in jumps),
        *(f"-F {chain}" for chain in chains),
        *(f"-X {chain}" for chain in chains),
    ]


def _start_of(pid: int) -> str:
    """When a process started, in clock ticks since boot, base 36; empty if there is no such process."""
    try:
        # The process's name, in parentheses, may contain any character.
        ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return ""
    digits = ""
    while ticks or not digits:
        ticks, digit = divmod(ticks, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


def _save(command: str) -> str:
    if shutil.which(f"{command}-save") is None:
        return ""
    done = subprocess.run([f"{command}-save", "-t", "mangle"], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def _restore(command: str, lines: list[str]) -> str | None:
    """Apply lines as one transaction; return None or the error."""
    program = f"{command}-restore"
    if shutil.which(program) is None:
        return f"{program} not found; install iptables"
    text = "\n".join(("*mangle", *lines, "COMMIT", ""))
    done = subprocess.run(
        [program, "--noflush", "-w", _WAIT_S], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    said = " ".join(done.stderr.split()) or f"{program} failed"
    if os.geteuid() != 0 or "ermission denied" in said:
        return f"{program}: not permitted; run as root"
    return f"{program}: {said[:200]}"
