"""Linux's queue disciplines at the radios (`--qdisc`).

A discipline has a queue only while the interface below it is stopped. The guest's kernel stops a TAP while its ring is
full, and a radio of mac80211_hwsim while the medium has `HELD_FRAMES` of its frames (uml/guest.patch). mediumd reads a
TAP only while no packet waits for the air. So below a discipline are the frame in service and at most two more.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyroute2 import IPRoute

from pacelab.documents import JsonObject
from pacelab.emulation.messages import MediumStatistics
from pacelab.emulation.namespaces import command_in
from pacelab.emulation.network.addresses import radio_name
from pacelab.emulation.network.mesh import index_of
from pacelab.emulation.plan import Plan
from pacelab.emulation.processes import environment
from pacelab.errors import HostError
from pacelab.options.values import MARKING_QDISCS

HELD_FRAMES = 2
_BACKLOG = Path("/sys/module/mac80211_hwsim/parameters/backlog")


def enable_backpressure(plan: Plan) -> None:
    """Let radios stop their queues. Raises HostError if this kernel cannot."""
    if not _BACKLOG.exists():
        raise HostError(
            f"--qdisc {plan.qdisc}: the kernel of the guest is older than this pacelab and does not hold packets back; "
            "run make uml-kernel"
        )
    if plan.radios == "hwsim":
        _BACKLOG.write_text(str(HELD_FRAMES))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """Counters of one discipline, since it was installed or between two readings."""

    waiting: int
    """Packets in the queue now."""
    sent: int
    dropped: int
    full: int
    """Packets dropped because the queue was full."""
    marked: int

    def __sub__(self, other: QueueCounts) -> QueueCounts:
        counted = (self.sent, self.dropped, self.full, self.marked)
        then = (other.sent, other.dropped, other.full, other.marked)
        sent, dropped, full, marked = (late - early for late, early in zip(counted, then, strict=True))
        return QueueCounts(waiting=self.waiting, sent=sent, dropped=dropped, full=full, marked=marked)


@dataclass(slots=True)
class QueueLengths:
    """Sampled lengths of one queue, in packets."""

    seen: list[int] = field(default_factory=list)

    def gauges(self) -> dict[str, float]:
        """The form in which mediumd reports its own queues."""
        if not self.seen:
            return {"queue_max_pkts": 0, "queue_mean_pkts": 0.0, "queue_sd_pkts": 0.0}
        mean = math.fsum(self.seen) / len(self.seen)
        square = math.fsum((length - mean) ** 2 for length in self.seen) / len(self.seen)
        return {"queue_max_pkts": max(self.seen), "queue_mean_pkts": mean, "queue_sd_pkts": math.sqrt(square)}


class RadioQueues:
    """The disciplines of a plan's radios; empty with `--qdisc pfifo`, whose queues are mediumd's."""

    def __init__(self, plan: Plan, netlink: Sequence[IPRoute]) -> None:
        """Install the disciplines. Raises HostError if the kernel lacks one. `netlink`: by host."""
        self._plan = plan
        self._hosts = [] if plan.qdisc == "pfifo" else plan.stations
        name = radio_name(plan)
        self._sockets = {host: netlink[host] for host in self._hosts}
        self._indices = {host: index_of(netlink[host], plan.nodes[host].name, name) for host in self._hosts}
        self._lengths: dict[int, QueueLengths] = {}
        self._marked: dict[int, QueueCounts] = {}
        for host in self._hosts:
            _tc(plan.nodes[host].name, ["qdisc", "add", "dev", name, "root", *arguments(plan)])

    def mark(self) -> None:
        """Start the measured part."""
        self._lengths = {host: QueueLengths() for host in self._hosts}
        self._marked = {host: self._read(host) for host in self._hosts}

    def sample(self) -> None:
        """Record the current lengths. Lengths before the mark do not count."""
        for host, lengths in self._lengths.items():
            lengths.seen.append(self._read(host).waiting)

    def add_to(self, statistics: MediumStatistics) -> None:
        """Add the disciplines' counters since the mark to mediumd's statistics, whose own queues were short.

        Each station gets `qdisc` in the simulator's form, except the waiting times of packets.
        """
        stations = {station["name"]: station for station in statistics["stations"]}
        for host, lengths in self._lengths.items():
            station = stations[self._plan.nodes[host].name]
            counts = self._read(host) - self._marked[host]
            station |= lengths.gauges()
            station["drops_queue"] += counts.full
            statistics["drops"]["queue"] += counts.full
            drops = {"full": counts.full, "codel": counts.dropped - counts.full}
            station["qdisc"] = {
                "sent": counts.sent,
                "drops": {reason: count for reason, count in drops.items() if count},
                "marked": counts.marked,
                "wait_mean_s": None,
                "wait_max_s": None,
            }

    def statistics(self) -> JsonObject:
        """Name of a host -> the output of `tc -s qdisc` for its radio, since the hosts were made."""
        found = {}
        for host in self._hosts:
            name = self._plan.nodes[host].name
            (found[name],) = json.loads(_tc(name, ["-s", "-j", "qdisc", "show", "dev", radio_name(self._plan)]))
        return found

    def _read(self, host: int) -> QueueCounts:
        (queue,) = self._sockets[host].get_qdiscs(index=self._indices[host])
        found = queue.get_attr("TCA_STATS2")
        sums, own = found.get_attr("TCA_STATS_QUEUE"), found.get_attr("TCA_STATS_APP")
        with_own = self._plan.qdisc in MARKING_QDISCS
        return QueueCounts(
            waiting=sums["qlen"],
            sent=found.get_attr("TCA_STATS_BASIC")["packets"],
            dropped=sums["drops"],
            full=own["drop_overlimit"] if with_own else sums["drops"],
            marked=own["ecn_mark"] if with_own else 0,
        )


def arguments(plan: Plan) -> list[str]:
    """Arguments of tc for the discipline. Targets and intervals are Linux's defaults: 5 and 100 ms."""
    marking = [("ecn" if plan.marks else "noecn")] if plan.qdisc in MARKING_QDISCS else []
    return [plan.qdisc, "limit", str(plan.radio.queue_pkts), *marking]


def _tc(host: str, words: list[str]) -> bytes:
    command = command_in(host, ["tc", *words])
    done = subprocess.run(command, capture_output=True, env=environment(), check=False)
    if done.returncode != 0:
        raise HostError(f"host {host}: tc {' '.join(words)}: {done.stderr.decode().strip()}")
    return done.stdout
