"""A queue discipline of your own: subclass `QueueDiscipline` in a file, run it with `--qdisc FILE.py:CLASS`.

Each radio and each direction of each wire has an object of the class. The object decides which packet leaves next, and
which packets are dropped or marked. It runs beside any scheme.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeGuard

from pacelab.air.own_hooks import OwnCalls
from pacelab.errors import ConfigError
from pacelab.user_code.loading import did_you_mean, load_user_code


class QueuedPacket(NamedTuple):
    """A packet in a queue."""

    number: int
    """Counts the packets of this queue, from 0."""
    size_bytes: int
    """Of the IP packet."""
    flow: int
    """Its flow and direction. Compare these numbers only."""
    ecn_capable: bool
    """The packet may be marked instead of dropped (`--ecn on`)."""
    arrived_ns: int


class QueueDiscipline(ABC):
    """The queue of one interface."""

    NO_SCHEME = "a queue discipline; use --qdisc"
    """What `--scheme FILE.py:CLASS` says that the class is."""

    def __init__(self, limit_pkts: int) -> None:
        """`limit_pkts` is the limit of `--queue`, or that of the wire: at most so many packets should wait."""
        self.limit_pkts = limit_pkts

    @abstractmethod
    def push(self, packet: QueuedPacket) -> None:
        """A packet arrives. Keep it, or `drop` it or another one."""

    @abstractmethod
    def pop(self, now_ns: int) -> QueuedPacket | None:
        """The packet to send now, or None if no packet waits. Packets may be dropped first.

        When a route breaks, the node takes packets back. `pop` may return such a packet, and is then called again.
        """

    def drop(self, packet: QueuedPacket, reason: Literal["full", "early"] = "full") -> None:
        """Discard a waiting packet. The result of the run counts the reason."""
        self._changes().append((packet.number, reason))

    def mark(self, packet: QueuedPacket) -> None:
        """Mark a waiting packet as having met congestion (ECN), the one that `pop` returns included."""
        self._changes().append((packet.number, "marked"))

    def _changes(self) -> list[tuple[int, str]]:
        changes: list[tuple[int, str]] = self.__dict__.setdefault("_pending", [])
        return changes


def _is_discipline(found: object) -> TypeGuard[type[QueueDiscipline]]:
    return isinstance(found, type) and issubclass(found, QueueDiscipline)


def load_discipline(name: str) -> type[QueueDiscipline]:
    """The class that FILE.py:CLASS names.

    Raises ConfigError when there is no such file or class, UserCodeError when the file fails to load.
    """
    module, class_name = load_user_code("--qdisc", name)
    found = getattr(module, class_name, None)
    if not _is_discipline(found):
        instead = did_you_mean(module, name, _is_discipline)
        told = f"the file has no subclass of pacelab.QueueDiscipline called {class_name!r}{instead}"
        raise ConfigError(f"--qdisc {name!r}: {told}")
    return found


def queue_maker(name: str, made: type[QueueDiscipline]) -> Callable[[int], Queue]:
    """What the engine calls for each interface."""
    code = OwnCalls(f"queue discipline {name}")

    def make(limit_pkts: int) -> Queue:
        return Queue(code, code.call(made, limit_pkts))

    return make


Changes = list[tuple[int, str]] | None
"""Numbers of packets, and what happened to each: full, early, or marked."""


class Queue:
    """Stands between the engine and your discipline: checks what it returns, and says when and where it failed."""

    def __init__(self, code: OwnCalls, discipline: QueueDiscipline) -> None:
        self._code = code
        self._discipline = discipline
        self._waiting: dict[int, QueuedPacket] = {}
        self._gone: set[int] = set()
        """Packets that were taken back, and that the discipline still has."""

    def push(self, number: int, size_bytes: int, flow: int, ecn_capable: bool, arrived_ns: int) -> Changes:
        """Pass on as a `QueuedPacket`."""
        self._code.now_ns = arrived_ns
        packet = QueuedPacket(number, size_bytes, flow, ecn_capable, arrived_ns)
        self._waiting[number] = packet
        self._code.call(self._discipline.push, packet)
        return self._take_changes()

    def pop(self, now_ns: int) -> tuple[int | None, Changes]:
        """The number of the packet that leaves."""
        self._code.now_ns = now_ns
        while True:
            packet = self._code.call(self._discipline.pop, now_ns)
            if packet is not None and not isinstance(packet, QueuedPacket):
                raise self._code.fail(f"returned {packet!r:.60} from pop; it must be a QueuedPacket or None")
            if packet is None or packet.number not in self._gone:
                break
            self._gone.discard(packet.number)
        changes = self._take_changes()
        if packet is None:
            if self._waiting:
                raise self._code.fail(f"returned no packet from pop although {len(self._waiting)} wait")
            return None, changes
        if self._waiting.pop(packet.number, None) is None:
            raise self._code.fail(f"returned packet {packet.number} from pop, which does not wait in this queue")
        return packet.number, changes

    def forget(self, numbers: list[int]) -> None:
        """The node took these packets back."""
        for number in numbers:
            del self._waiting[number]
            self._gone.add(number)

    def _take_changes(self) -> Changes:
        pending = self._discipline.__dict__.get("_pending")
        if not pending:
            return None
        changes: list[tuple[int, str]] = []
        for number, what in pending:
            if number in self._gone:
                self._gone.discard(number)
                continue
            packet = self._waiting.get(number)
            if packet is None:
                raise self._code.fail(f"dropped or marked packet {number}, which does not wait in this queue")
            if what == "marked" and not packet.ecn_capable:
                raise self._code.fail(f"marked packet {number}, which is not ECN-capable; drop it instead")
            if what not in ("marked", "full", "early"):
                raise self._code.fail(f"dropped a packet with reason {what!r}; it must be full or early")
            if what != "marked":
                del self._waiting[number]
            changes.append((number, what))
        pending.clear()
        return changes
