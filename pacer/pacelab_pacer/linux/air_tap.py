"""The headers of packets that the air interface sends and receives, with the kernel's times; under load a sample.

Outgoing packets are seen behind the queue discipline: their time is that of the release. The sample is taken by
sequence number, in the kernel: data that starts in the first 2 KiB of every 2^k octets, and the ACKs that may be the
first to cover it. Either both ends of a round trip are in the sample or none, unless the receiver skips 8 KiB of ACKs.

Source: packet(7), socket(7), linux/filter.h.
"""

from __future__ import annotations

import socket
import struct
import time
from typing import NamedTuple

from pacelab.units import NS_PER_S
from pacelab_pacer.linux.host import AgentError

HEADER_BYTES = 120
"""IPv4 and TCP headers with all their options."""
DATA_BYTES, ACK_BYTES = 1 << 11, 1 << 13
NO_SAMPLE = 0
MOST_SAMPLED = 24
_LEAST_SAMPLED = 14

_ETH_P_IP, _ETH_P_ALL = 0x0800, 0x0003
"""Only a socket for all protocols sees outgoing packets."""
_OUTGOING = 4
_SO_ATTACH_FILTER = 26
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("qq")
_INSTRUCTION = struct.Struct("HBBI")
_BURST = 256
_RECEIVE_BUFFER_BYTES = 4 << 20


class Tapped(NamedTuple):
    """The headers of a packet."""

    at_ns: int
    """Time by CLOCK_MONOTONIC."""
    outgoing: bool
    headers: bytes


class AirTap:
    """A packet socket on the air interface."""

    def __init__(self, interface: str) -> None:
        try:
            kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
            self._socket = socket.socket(socket.AF_PACKET, kind, 0)
            self.sampling = NO_SAMPLE
            self._attach()
            self._socket.bind((interface, _ETH_P_ALL))
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
        except OSError as error:
            raise AgentError(f"packet socket on {interface}: {error.strerror}; run as root") from None
        self._socket.setblocking(False)

    def fileno(self) -> int:
        """For select."""
        return self._socket.fileno()

    def receive(self) -> list[Tapped]:
        """Packets that have arrived, in order, at most a burst."""
        found = []
        behind_ns = time.time_ns() - time.monotonic_ns()
        for _ in range(_BURST):
            try:
                headers, ancillary, _flags, address = self._socket.recvmsg(HEADER_BYTES, 64)
            except OSError:
                break  # empty, or the interface went down
            seconds, nanoseconds = (
                _TIMESPEC.unpack_from(ancillary[0][2]) if ancillary else divmod(time.time_ns(), NS_PER_S)
            )
            found.append(Tapped(seconds * NS_PER_S + nanoseconds - behind_ns, address[2] == _OUTGOING, headers))
        return found

    def sample_more(self) -> None:
        """Halve the sample."""
        self._set(min(MOST_SAMPLED, max(_LEAST_SAMPLED, self.sampling + 1)))

    def sample_less(self) -> None:
        """Double the sample, up to all packets."""
        self._set(NO_SAMPLE if self.sampling <= _LEAST_SAMPLED else self.sampling - 1)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _set(self, sampling: int) -> None:
        if sampling != self.sampling:
            self.sampling = sampling
            self._attach()

    def _attach(self) -> None:
        program = _program(self.sampling)
        code = b"".join(_INSTRUCTION.pack(*one) for one in program)
        # struct sock_fprog: the number of instructions and where they are.
        from ctypes import addressof, c_char

        buffer = (c_char * len(code)).from_buffer_copy(code)
        self._socket.setsockopt(
            socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HxxxxxxQ", len(program), addressof(buffer))
        )


def _program(sampling: int) -> list[tuple[int, int, int, int]]:
    """Classic BPF: unfragmented TCP, sampled by 2^sampling octets, its headers; (code, if true, if false, operand)."""
    load_byte, load_half, load_header, byte_at_x, word_at_x = 0x30, 0x28, 0xB1, 0x50, 0x40
    equal, at_least, any_bit, mask, give = 0x15, 0x35, 0x45, 0x54, 0x06
    protocol, packet_type = 0xFFFFF000, 0xFFFFF000 + 4
    steps: list[tuple[int, str, str, int]] = [
        (load_half, "", "", protocol),
        (equal, "", "drop", _ETH_P_IP),
        (load_byte, "", "", 9),
        (equal, "", "drop", 6),
        (load_half, "", "", 6),
        (any_bit, "drop", "", 0x3FFF),
        (load_header, "", "", 0),
    ]
    if sampling:
        steps += [
            (byte_at_x, "", "", 13),
            (any_bit, "pass", "", 0x07),  # SYN, FIN, RST: always
            (load_byte, "", "", packet_type),
            (equal, "", "ack", _OUTGOING),
            (word_at_x, "", "", 4),
            (mask, "", "", (1 << sampling) - 1),
            (at_least, "drop", "pass", DATA_BYTES),
            (word_at_x, "", "", 8),  # ack
            (mask, "", "", (1 << sampling) - 1),
            (at_least, "drop", "pass", ACK_BYTES),
        ]
    steps += [(give, "", "", HEADER_BYTES), (give, "", "", 0)]
    places = {"pass": len(steps) - 2, "drop": len(steps) - 1, "ack": len(steps) - 5}
    assert not sampling or steps[places["ack"]] == (word_at_x, "", "", 8)

    def jump(here: int, name: str) -> int:
        return places[name] - here - 1 if name else 0

    return [(code, jump(at, true), jump(at, false), operand) for at, (code, true, false, operand) in enumerate(steps)]
