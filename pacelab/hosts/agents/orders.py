"""A gateway that a controller leads: what it is told to do, and what it tells.

The talking is a process of its own (pacelab.controller.web.client): whatever the network does, packets do not wait.
Without the controller the agent goes on with what it does.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pacelab.errors import ConfigError
from pacelab.hosts.agents.feed import LinePipe
from pacelab.options.table import BY_FIELD
from pacelab.pacer.linux.status import FlowStatus, Line
from pacelab.schemes import SCHEMES, Scheme

if TYPE_CHECKING:
    from pacelab.pacer.core.contract import Hook

LIMITS = ("pace_rate_bps", "gateway_window_pkts")
"""Settings of schemes at a gateway that a controller may set."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")
_SUBSCRIBER = "pacelab.controller.web.client"
_PROTOCOL = {"tcp": 6, "udp": 17}
_FLOW = re.compile(r"(\S+):(\d+) > (\S+):(\d+)")
_PATIENCE_S = 3.0


def offered() -> list[str]:
    """Schemes that a gateway can change to while it runs: those with a hook there, and the baseline."""
    return [name for name, scheme in SCHEMES.items() if scheme.gateway is not None or is_baseline(scheme)]


def is_baseline(scheme: Scheme) -> bool:
    """Whether it has no hook at all, and nothing else that a scheme may bring."""
    return not any((scheme.gateway, scheme.sender, scheme.station, scheme.link, scheme.brings))


def read_limits(limits: dict[str, float]) -> dict[str, Any]:
    """Checked values of limits; ConfigError names the one that is not allowed."""
    found: dict[str, Any] = {}
    for name, value in limits.items():
        if name not in LIMITS:
            raise ConfigError(f"limit {name!r}: allowed is one of {', '.join(LIMITS)}")
        found[name] = int(value) if value == int(value) else value
        BY_FIELD[name].check(found[name])
    return found


class Orders:
    """The controller's orders, as hooks; the agent's reports, as the controller takes them."""

    def __init__(
        self, *, url: str, name: str, address: str, scheme: str, make: Callable[[str, dict[str, Any]], Hook]
    ) -> None:
        """`make`: a hook from a scheme's name and limits; raises ConfigError. `scheme`: the one at work."""
        self._make, self._scheme = make, scheme
        self._limits: dict[str, Any] = {}
        self._refused: str | None = None
        self._text = b""
        self._process = subprocess.Popen(
            [sys.executable, "-m", _SUBSCRIBER, url, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._answers = self._process.stdout.fileno()
        os.set_blocking(self._answers, False)
        self._pipe = LinePipe(self._process.stdin.fileno())
        self.closed = False
        hello = {"address": address, "schemes": offered(), "limits": list(LIMITS), "scheme": scheme}
        self._pipe.send(hello, patience_s=_PATIENCE_S)

    def fileno(self) -> int:
        """Readable when there is an order."""
        return self._answers

    def receive(self) -> list[tuple[str, Hook]]:
        """Schemes to change to, with their hooks. What cannot be is told to the controller."""
        try:
            while part := os.read(self._answers, 65_536):
                self._text += part
            self.closed = True
        except BlockingIOError:
            pass
        *lines, self._text = self._text.split(b"\n")
        found = []
        for line in lines:
            order = json.loads(line)
            name = order["scheme"] or self._scheme
            try:
                limits = read_limits(order["limits"])
                if (name, limits) == (self._scheme, self._limits):
                    continue
                found.append((name, self._make(name, limits)))
                self._limits = limits
            except ConfigError as error:
                self.refuse(str(error))
        return found

    def accepted(self, scheme: str) -> None:
        """It is at work."""
        self._scheme, self._refused = scheme, None

    def refuse(self, reason: str) -> None:
        """It is not, and why."""
        self._refused = reason[:300]

    def report(self, status: Line) -> None:
        """Tell the controller what the agent does and sees."""
        if status["event"] == "status":
            flows = [row for one in status["flows"] if (row := flow_report(one)) is not None]
            self._pipe.send({"scheme": self._scheme, "refused": self._refused, "flows": flows})

    def close(self) -> None:
        """End the talking."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
            self._process.wait(_PATIENCE_S)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def flow_report(row: FlowStatus) -> dict[str, Any] | None:
    """A row of the agent's status as the controller takes it; None when it says nothing that switches do not know."""
    found = _FLOW.fullmatch(row["flow"])
    if found is None or (row["rtt_s"] is None and row["mos"] is None):
        return None
    src, sport, dst, dport = found.groups()
    ends = {"src": src, "dst": dst, "sport": int(sport), "dport": int(dport)}
    return ends | {"protocol": _PROTOCOL[row["protocol"]], "rtt_s": row["rtt_s"], "mos": row["mos"]}


def own_name(given: str | None) -> str:
    """The gateway's name at the controller; ConfigError when it cannot be one."""
    name = given or socket.gethostname()
    if not NAME.fullmatch(name):
        raise ConfigError(f"--name {name!r}: allowed are up to 64 letters, digits and _ . + -, the first no sign")
    return name
