"""Packets that this process sends itself: local retransmissions, generated ACKs, reports."""

from __future__ import annotations

import socket

from pacelab.pacer.linux.errors import AgentError


class RawSender:
    """Sends whole IPv4 packets, whoever they are from. Raises AgentError when it may not.

    They leave through the host's own output, by its routes: hooks on forwarded packets never see them. The mark keeps
    them out of the queues of the agent that sent them. A packet to an address of this host goes to its own transport.
    """

    def __init__(self, mark: int) -> None:
        try:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.IPPROTO_RAW)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
        except OSError as error:
            raise AgentError(f"raw socket: {error.strerror}; the kernel lacks it") from None
        self._socket.setblocking(False)

    def send(self, packet: bytes | bytearray) -> bool:
        """Whether the kernel took it (it may have no route, no room, or rules against it)."""
        destination = socket.inet_ntoa(bytes(packet[16:20]))
        try:
            self._socket.sendto(packet, (destination, 0))
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
