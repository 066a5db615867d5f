"""The link layer as mediumd tells of it: transmit results of one station, and its extra backoff.

Source: medium/mediumd/PROTOCOL.md, version 1.
"""

from __future__ import annotations

import json
import socket
from typing import Any, NamedTuple

from pacelab.pacer.core.contract import TransmitResult
from pacelab.pacer.core.segment import TCP, FlowKey, Segment
from pacelab.pacer.linux.errors import AgentError
from pacelab.pacer.linux.shell import FrameName

VERSION = 1
_PATIENCE_S = 5.0
_CHUNK = 1 << 16


class LinkReport(NamedTuple):
    """The link layer is done with a frame."""

    name: FrameName
    result: TransmitResult


class MediumdLink:
    """A subscription to the transmit results of `station`. Raises AgentError when it cannot be had."""

    def __init__(self, path: str, station: str) -> None:
        self._attempt = f"mediumd at {path}"
        self._station = station
        self._rest = b""
        self._number = 0
        self.missed = 0
        """Reports that mediumd had no room for."""
        self.refused = 0
        """Requests that it did not carry out."""
        self.closed = False
        try:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            self._socket.settimeout(_PATIENCE_S)
            self._socket.connect(path)
        except OSError as error:
            raise AgentError(f"{self._attempt}: {error.strerror or error}; is it running?") from None
        try:
            names = [one["name"] for one in self._ask("hello", version=VERSION)["stations"]]
            if station not in names:
                raise AgentError(f"{self._attempt}: it has no station {station!r}; it has {', '.join(names)}")
            self._numbers = {name: number for number, name in enumerate(names)}
            self._ask("subscribe", kinds=["transmit"], stations=[station])
        except (OSError, KeyError, TypeError, ValueError) as error:
            self.close()
            raise AgentError(f"{self._attempt}: {error or 'no answer'}; is it mediumd, version {VERSION}?") from None
        except AgentError:
            self.close()
            raise
        self._socket.setblocking(False)

    def fileno(self) -> int:
        """For select."""
        return self._socket.fileno()

    def receive(self) -> list[LinkReport]:
        """Reports that have come; sets `closed` when mediumd has gone."""
        try:
            chunk = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            chunk = b""
        if not chunk:
            self.closed = True
            return []
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return [report for line in lines if (report := self._digest(line)) is not None]

    def set_extra_backoff(self, slots: int, wall_clock: bool) -> bool:
        """Ask for it; whether the request could be sent."""
        if self.closed:
            return False
        wanted = {"station": self._station, "slots": min(slots, 0xFFFF), "wall_clock": wall_clock}
        try:
            self._socket.send(self._request("set_extra_backoff", **wanted))
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Close the socket."""
        self.closed = True
        self._socket.close()

    def _request(self, method: str, **params: Any) -> bytes:
        self._number += 1
        return json.dumps({"id": self._number, "method": method, "params": params}).encode() + b"\n"

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        self._socket.sendall(self._request(method, **params))
        while True:
            while b"\n" not in self._rest:
                chunk = self._socket.recv(_CHUNK)
                if not chunk:
                    raise ValueError("it closed the connection")
                self._rest += chunk
            line, self._rest = self._rest.split(b"\n", 1)
            answer = json.loads(line)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AgentError(f"{self._attempt}: {method}: {answer['error']['message']}")
                result = answer["result"]
                assert isinstance(result, dict)
                return result

    def _digest(self, line: bytes) -> LinkReport | None:
        """A report, or None for any other line, malformed ones included."""
        try:
            message = json.loads(line)
            kind = message.get("event")
            if kind == "transmit":
                return self._report(message)
            if kind == "lost":
                self.missed += int(message["count"])
            elif "error" in message:
                self.refused += 1
        except (ValueError, KeyError, TypeError, AttributeError, OSError):
            self.refused += 1
        return None

    def _report(self, message: dict[str, Any]) -> LinkReport | None:
        frame = message["frame"]
        if not frame.get("ip") or not frame.get("ports"):
            return None  # not IPv4 with ports: nothing that a hook was shown
        ip = frame["ip"]
        tcp = frame.get("tcp") or {"seq": 0, "ack": 0, "flags": 0, "window": 0}
        source, destination = (int.from_bytes(socket.inet_aton(ip[end]), "big") for end in ("src", "dst"))
        flow = FlowKey(source, destination, *frame["ports"])
        protocol, payload = ip["protocol"], frame["payload_bytes"]
        window = tcp["window"] if protocol == TCP else 0
        capable = ip["ecn"] != 0
        segment = Segment(
            0, flow, protocol, tcp["flags"], tcp["seq"], tcp["ack"], payload, ip["bytes"], window, None, capable
        )
        next_hop = None if message["to"] is None else self._numbers[message["to"]]
        result = TransmitResult(segment, message["attempts"], message["delivered"], next_hop)
        return LinkReport(FrameName(flow, protocol, tcp["seq"], payload, ip["id"]), result)
