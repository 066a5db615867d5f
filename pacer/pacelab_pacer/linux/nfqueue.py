"""NFQUEUE over a raw netlink socket: packets from the kernel, verdicts back. Standard library only.

A packet waits in the kernel for its verdict; verdicts may be sent in any order. They are collected and sent together
when the burst that caused them has been read: one system call for many packets.

Invariants
1. Rules with --queue-bypass accept all packets while no process owns the queue.
2. A full queue drops, as a router's does, so that a pace holds under load. With `fail_open` the kernel accepts what the
   queue has no room for.
3. Super-packets of segmentation offload arrive as the segments that they will become, with checksums, since the queue
   does not ask for NFQA_CFG_F_GSO.

Source: linux/netfilter/nfnetlink_queue.h, linux/netfilter/nfnetlink.h.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import sys
import time
from collections.abc import Iterable
from struct import Struct, pack
from typing import NamedTuple

from pacelab_pacer.linux.host import AgentError

_NETLINK_NETFILTER = 12
_SO_RCVBUFFORCE = 33
_SUBSYSTEM = 3 << 8
_PACKET, _VERDICT, _CONFIG, _VERDICT_BATCH = (_SUBSYSTEM | kind for kind in range(4))
_NLMSG_ERROR = 2
_REQUEST, _ACK = 1, 4
_BIND = 1
_CFG_CMD, _CFG_PARAMS, _CFG_MAXLEN, _CFG_MASK, _CFG_FLAGS = 1, 2, 3, 4, 5
_COPY_PACKET = 2
_FAIL_OPEN = 1
_A_PACKET_HDR, _A_VERDICT_HDR, _A_PAYLOAD = 1, 2, 10
_DROP, _ACCEPT = 0, 1

_HEADER = Struct("=IHHII")
_FAMILY = Struct("!BBH")
_ATTRIBUTE = Struct("=HH")
_ID = Struct("!I")
_TWO = Struct("!II")
_BODY = _HEADER.size + _FAMILY.size

RECEIVE_BUFFER_BYTES = 8 << 20
"""A burst of 4000 full packets while Python is away."""
MAX_WAITING = 16_384
"""Packets that wait for a verdict: twice as many as a pacer's own queues hold."""
_FLUSH_BYTES = 60_000
_BURST = 64
"""Packets that are read before other work is done."""
_COPY_BYTES = 0xFFFF
_BUSY_TIMEOUT_S = 2.0
_TABLE = "/proc/self/net/netfilter/nfnetlink_queue"
_WAITING, _LATEST = 2, 7
"""Columns there: packets that wait for a verdict, and the number of the last one."""
_PIDFD_GETFD = 438
_libc = ctypes.CDLL(None, use_errno=True)


class Queued(NamedTuple):
    """A packet that waits for its verdict."""

    queue: int
    number: int
    """The kernel's number of the packet within the queue."""
    data: bytes


class NfQueue:
    """One socket on some queues. Raises AgentError if it cannot have them."""

    def __init__(self, queues: tuple[int, ...], *, fail_open: bool) -> None:
        """`fail_open`: the kernel accepts what a queue has no room for; otherwise it drops it."""
        self.queues = queues
        self._fail_open = fail_open
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._buffer = bytearray(1 << 17)
        self._view = memoryview(self._buffer)
        self._accept = {queue: _verdict_head(queue, 32) for queue in queues}
        self.overruns = 0
        """Times the receive buffer was too small; what became of the packets depends on `fail_open`."""
        self.refused = 0
        """Verdicts that the kernel refused because the packet was gone."""
        try:
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_NETFILTER)
        except OSError as error:
            raise AgentError(f"opening NFQUEUE: {error.strerror}; this kernel lacks nfnetlink_queue") from None
        try:
            self._socket.bind((0, 0))
            self._enlarge()
            for queue in queues:
                self._set_up(queue)
        except BaseException:
            self._socket.close()
            raise
        self._socket.setblocking(False)

    def fileno(self) -> int:
        """The descriptor for select."""
        return self._socket.fileno()

    def receive(self) -> list[Queued]:
        """Packets that have arrived, at most a burst; empty if there are none."""
        found: list[Queued] = []
        view, receive_into = self._view, self._socket.recv_into
        while len(found) < _BURST:
            try:
                size = receive_into(view)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                self.overruns += 1
                continue
            at = 0
            while at + _HEADER.size <= size:
                length, kind, _flags, _sequence, _port = _HEADER.unpack_from(view, at)
                if length < _HEADER.size or at + length > size:
                    break
                if kind == _PACKET:
                    packet = self._packet(at, at + length)
                    if packet is not None:
                        found.append(packet)
                elif kind == _NLMSG_ERROR:
                    self.refused += 1
                at += (length + 3) & ~3
        return found

    def accept(self, packet: Queued, changed: bytes | bytearray | None = None) -> None:
        """Let a packet pass, with other bytes if given."""
        if changed is None:
            self._push(self._accept[packet.queue] + _TWO.pack(_ACCEPT, packet.number))
            return
        attribute = _ATTRIBUTE.pack(_ATTRIBUTE.size + len(changed), _A_PAYLOAD)
        padding = bytes(-len(changed) % 4)
        head = _verdict_head(packet.queue, 32 + _ATTRIBUTE.size + len(changed) + len(padding))
        self._push(b"".join((head, _TWO.pack(_ACCEPT, packet.number), attribute, changed, padding)))

    def drop(self, packet: Queued) -> None:
        """Discard a packet."""
        self._push(self._accept[packet.queue] + _TWO.pack(_DROP, packet.number))

    def flush(self) -> None:
        """Send the verdicts collected so far."""
        if not self._out:
            return
        messages, self._out, self._out_bytes = self._out, [], 0
        try:
            self._socket.send(b"".join(messages))
        except OSError as error:
            # The kernel lacks memory for so many at once: send them one by one. Packets without a verdict stay queued.
            if error.errno not in (errno.ENOBUFS, errno.EMSGSIZE, errno.EAGAIN):
                raise
            for message in messages:
                try:
                    self._socket.send(message)
                except OSError:
                    self.refused += 1

    def lost(self) -> int:
        """Packets that the kernel dropped because they could not be queued or delivered."""
        rows = _table()
        return sum(sum(rows[queue][5:7]) for queue in self.queues if queue in rows)

    def close(self) -> None:
        """Send the remaining verdicts and close the queues. The kernel drops packets that still wait."""
        self.flush()
        self._socket.close()

    def _push(self, message: bytes) -> None:
        self._out.append(message)
        self._out_bytes += len(message)
        if self._out_bytes > _FLUSH_BYTES:
            self.flush()

    def _packet(self, at: int, end: int) -> Queued | None:
        view = self._view
        queue = int.from_bytes(view[at + _HEADER.size + 2 : at + _BODY], "big")
        place = at + _BODY
        number: int | None = None
        while place + _ATTRIBUTE.size <= end:
            length, kind = _ATTRIBUTE.unpack_from(view, place)
            if length < _ATTRIBUTE.size or place + length > end:
                return None
            if kind == _A_PACKET_HDR:
                (number,) = _ID.unpack_from(view, place + _ATTRIBUTE.size)
            elif kind == _A_PAYLOAD and number is not None:
                return Queued(queue, number, bytes(view[place + _ATTRIBUTE.size : place + length]))
            place += (length + 3) & ~3
        return None if number is None else Queued(queue, number, b"")

    def _enlarge(self) -> None:
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
        except PermissionError:  # binding will report it
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)

    def _set_up(self, queue: int) -> None:
        patience = time.monotonic() + _BUSY_TIMEOUT_S
        while True:
            try:
                self._configure(queue, _CFG_CMD, pack("!BxH", _BIND, socket.AF_INET))
                break
            except OSError as error:
                if error.errno not in (errno.EPERM, errno.EBUSY):
                    raise AgentError(
                        f"NFQUEUE number {queue}: {error.strerror}; this kernel has no NFQUEUE (module nfnetlink_queue)"
                    ) from None
                # A process that was just killed holds the queue for another moment.
                if time.monotonic() > patience:
                    raise AgentError(f"NFQUEUE number {queue}: in use by another process; choose --queue N") from None
                time.sleep(0.05)
        self._configure(queue, _CFG_PARAMS, pack("!IB", _COPY_BYTES, _COPY_PACKET))
        self._configure(queue, _CFG_MAXLEN, _ID.pack(MAX_WAITING))
        wanted = _ID.pack(_FAIL_OPEN if self._fail_open else 0)
        self._request(queue, _attribute(_CFG_MASK, _ID.pack(_FAIL_OPEN)) + _attribute(_CFG_FLAGS, wanted))

    def _configure(self, queue: int, kind: int, value: bytes) -> None:
        self._request(queue, _attribute(kind, value))

    def _request(self, queue: int, attributes: bytes) -> None:
        """Send a configuration message and wait for its answer; raises OSError."""
        length = _BODY + len(attributes)
        head = _HEADER.pack(length, _CONFIG, _REQUEST | _ACK, 0, 0)
        self._socket.send(head + _FAMILY.pack(socket.AF_UNSPEC, 0, queue) + attributes)
        while True:
            answer = self._socket.recv(len(self._buffer))
            _length, kind, *_rest = _HEADER.unpack_from(answer)
            if kind == _NLMSG_ERROR:
                code = int.from_bytes(answer[_HEADER.size : _HEADER.size + 4], sys.byteorder, signed=True)
                if code:
                    raise OSError(-code, os.strerror(-code))
                return


def accept_waiting(process: int, descriptor: int, queues: Iterable[int]) -> None:
    """Accept all packets that wait in the queues of another process, through a copy of that process's socket.

    The kernel takes verdicts through no other socket. This does nothing if the process has ended or may not be traced.
    """
    rows = _table()
    verdicts = [
        _verdict_head(queue, 32, _VERDICT_BATCH) + _TWO.pack(_ACCEPT, rows[queue][_LATEST])
        for queue in queues
        if queue in rows and rows[queue][_WAITING]
    ]
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(process)
        taken = _libc.syscall(_PIDFD_GETFD, handle, descriptor, 0)
        os.close(handle)
        if taken >= 0:
            with socket.socket(fileno=taken) as queue_socket:
                queue_socket.send(b"".join(verdicts))


def _verdict_head(queue: int, length: int, kind: int = _VERDICT) -> bytes:
    """All of a verdict message before the verdict itself."""
    head = _HEADER.pack(length, kind, _REQUEST, 0, 0) + _FAMILY.pack(socket.AF_UNSPEC, 0, queue)
    return head + _ATTRIBUTE.pack(_ATTRIBUTE.size + _TWO.size, _A_VERDICT_HDR)


def _attribute(kind: int, value: bytes) -> bytes:
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)


def _table() -> dict[int, list[int]]:
    try:
        with open(_TABLE) as table:
            rows = [[int(field) for field in line.split()] for line in table]
    except OSError:
        return {}
    return {row[0]: row for row in rows}
