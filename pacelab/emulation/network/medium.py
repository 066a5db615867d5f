"""mediumd's program, configuration and socket (medium/mediumd/PROTOCOL.md)."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any, cast

from pacelab.documents import JsonObject
from pacelab.emulation.messages import MediumStatistics
from pacelab.emulation.namespaces import FOLDER
from pacelab.emulation.network import addresses
from pacelab.emulation.network.tcp import mtu_bytes
from pacelab.emulation.plan import Plan, radio_document
from pacelab.errors import HostError, ProtocolError

PROTOCOL_VERSION = 1
SOCKET = "/run/pacelab/mediumd.sock"
"""A path in the run's own mount namespace."""
ANSWER_S = 5.0


def configuration(plan: Plan) -> JsonObject:
    """The configuration that mediumd starts with."""
    place = {host: number for number, host in enumerate(plan.stations)}
    rates = [[place[link.a], place[link.b], link.rate_bps] for link in plan.link_rates if link.at_s == 0]
    return {
        "version": PROTOCOL_VERSION,
        "seed": plan.seed,
        "radio": radio_document(plan),
        "mtu_bytes": mtu_bytes(plan),
        "stations": [
            {
                "name": plan.nodes[host].name,
                "position_m": list(plan.nodes[host].position_m),
                "mac": addresses.air_mac(host),
                **_radio(plan, host),
            }
            for host in plan.stations
        ],
        **({"link_rates_bps": rates} if rates else {}),
        **({"queue_at_host": True} if plan.radios == "tap" and plan.qdisc != "pfifo" else {}),
    }


def _radio(plan: Plan, host: int) -> JsonObject:
    if plan.radios == "hwsim":
        return {"hwsim": {"mac": addresses.air_mac(host)}}
    return {"tap": {"netns": str(FOLDER / plan.nodes[host].name), "name": addresses.AIR}}


class Medium:
    """A connection to a running mediumd. Raises HostError if mediumd is gone, ProtocolError if it refuses a request."""

    def __init__(self, path: str = SOCKET) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(ANSWER_S)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise HostError(f"talking to mediumd at {path}: {error.strerror}; is it running?") from None
        self._lines = self._socket.makefile("rb")
        self._number = 0
        self.call("hello", version=PROTOCOL_VERSION)

    def call(self, method: str, **params: Any) -> JsonObject:
        """Send a request and return its answer. Events in between are skipped."""
        self._number += 1
        request = {"id": self._number, "method": method, "params": params}
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            while True:
                line = self._lines.readline()
                if not line:
                    raise HostError(f"mediumd ended during the request {method!r}; its messages are above")
                answer = json.loads(line)
                if answer.get("id") == self._number:
                    break
        except OSError as error:
            raise HostError(f"mediumd: no answer to {method!r}: {error}") from None
        if "error" in answer:
            raise ProtocolError(f"mediumd: {answer['error']['message']}")
        result: JsonObject = answer["result"]
        return result

    def statistics(self) -> MediumStatistics:
        """See `host_network.MediumControl`."""
        return cast("MediumStatistics", self.call("stats"))

    def events(self) -> Iterator[JsonObject]:
        """Yield the subscription's events. Raises HostError when mediumd ends. Meanwhile no other request
        is possible.
        """
        for line in self._lines:
            event = json.loads(line)
            if "event" in event:
                yield event
        raise HostError("mediumd has ended")

    def close(self) -> None:
        """End the connection."""
        self._lines.close()
        self._socket.close()
