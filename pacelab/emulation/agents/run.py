"""One agent: runs a scheme's hook on the packets of this host until it is stopped. A gateway may have a controller."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any

from pacelab.console import log
from pacelab.emulation.agents.feed import Feed, LinePipe
from pacelab.emulation.agents.roles import POINT_OF, AgentName, check_path_known, path_table
from pacelab.emulation.agents.task import MOST_BYTES, Task
from pacelab.emulation.documents import read_document
from pacelab.errors import ConfigError, HostError
from pacelab.experiment.air_config import ACK_SCHEDULES
from pacelab.options.settings import BY_FIELD
from pacelab.schemes import SCHEMES, HookSettings, Scheme, find_scheme
from pacelab_pacer.linux.status import FlowStatus, Line

if TYPE_CHECKING:
    from pacelab_pacer.core.contract import Hook
    from pacelab_pacer.linux.agent import AgentConfig
    from pacelab_pacer.linux.tc_agent import TcAgent

TOKEN = "PACELAB_METRICS_TOKEN"


def main() -> int:
    """Run the agent that the JSON document on standard input describes."""
    sys.stdout = sys.stderr  # a user's scheme may print; stdout carries only the agent's documents
    perform(read_document(Task, sys.stdin.buffer.read(MOST_BYTES), "task"))
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerConfig:
    """The controller of a gateway's agent."""

    url: str
    name: str
    settings: HookSettings
    path_rates: dict[IPv4Network, tuple[int, ...]]

    def make(self, scheme: str, limits: Mapping[str, Any]) -> Hook:
        """Make the hook for an order."""
        if scheme not in offered():
            raise ConfigError(f"scheme must be one of {', '.join(offered())}, not {scheme!r}")
        check_path_known("gateway", scheme, self.path_rates)
        return make_hook("gateway", scheme, replace(self.settings, **limits), idle_baseline=True)


def perform(task: Task) -> None:
    """Run the agent until it is stopped or its time is over."""
    hook = make_hook(task.agent, task.scheme, task.settings, idle_baseline=task.controller is not None)
    controller = None
    if task.controller is not None:
        name = own_name(task.name)
        controller = ControllerConfig(
            url=task.controller, name=name, settings=task.settings, path_rates=task.path_rates
        )
    _check_platform(task.agent)
    from pacelab_pacer.linux.agent import ROLES, AgentConfig

    config = AgentConfig(
        role=ROLES[task.agent],
        scheme=task.scheme,
        air=task.air,
        wired=task.wired,
        paths=path_table(task.path_rates),
        first_queue=task.queue,
        mediumd=task.mediumd,
        station=task.station,
        kernel_counts=task.link == "nl80211",
        clamp_mss=task.clamp_mss,
        realtime=task.realtime,
        seconds=task.seconds,
    )
    _serve(task, config, hook, controller)


def make_hook(agent: AgentName, name: str, settings: HookSettings, *, idle_baseline: bool = False) -> Hook:
    """The scheme's hook for this agent. Raises ConfigError if the scheme has no hook there or lacks a setting.

    `idle_baseline`: for the baseline, return a hook that does nothing.
    """
    scheme = find_scheme(name)
    factory = getattr(scheme, POINT_OF[agent])
    if factory is None and agent == "station" and scheme.implied_options.get("ack") in ACK_SCHEDULES:
        return _delayed_acks(scheme.implied_options["ack"])
    if factory is None and idle_baseline and is_baseline(scheme):
        from pacelab_pacer.core.null import NullHook

        return NullHook()
    if factory is None:
        raise ConfigError(f"--scheme {name!r} does nothing at a {agent}; use {_agents_schemes(agent)}")
    for field in scheme.settings:
        if getattr(settings, field) is None:
            raise ConfigError(f"--scheme {name!r} needs {BY_FIELD[field].flag}; give {BY_FIELD[field].domain.allowed}")
    hook: Hook = factory(settings)
    return hook


def _delayed_acks(policy: str) -> Hook:
    """The simulator's TCP delays ACKs itself. On a host, a hook in front of the TCP does so."""
    from pacelab_pacer.core.tcp_ap.hooks import DelayedAckConfig, DelayedAckStation

    return DelayedAckStation(DelayedAckConfig(schedule=tuple(ACK_SCHEDULES[policy])))


def _agents_schemes(agent: AgentName) -> str:
    def can(scheme: Scheme) -> bool:
        if agent == "station" and scheme.implied_options.get("ack") in ACK_SCHEDULES:
            return True
        return getattr(scheme, POINT_OF[agent]) is not None

    return "one of " + ", ".join(name for name, scheme in SCHEMES.items() if can(scheme))


def _check_platform(agent: str) -> None:
    if sys.platform != "linux":
        raise HostError(f"pacelab {agent}: it works on the packets of a Linux host; this is {sys.platform}")


def _serve(task: Task, config: AgentConfig, hook: Hook, controller: ControllerConfig | None) -> None:
    from pacelab_pacer.linux.agent import Agent
    from pacelab_pacer.linux.host import AgentError

    kind: type[Agent | TcAgent] = Agent
    if task.datapath == "tc":
        from pacelab_pacer.linux.tc_agent import TcAgent

        kind = TcAgent
    listening = None if task.metrics is None else _listen(task.metrics)
    token = os.environ.get(TOKEN) or secrets.token_urlsafe(16)
    table = not task.quiet and sys.stdout is not None and sys.stdout.isatty()  # stdout is None if it is closed
    feed = Feed(mode="json" if task.as_json else "table" if table else "none", metrics=listening, token=token)
    if listening is not None:
        listening.close()  # the feed's process has its own copy
        log(f"metrics at http://127.0.0.1:{task.metrics}/metrics, Authorization: Bearer {token}")
    orders: ControllerLink | None = None
    say = (lambda _line: None) if task.quiet else log
    try:
        if controller is None:
            kind(config, hook, say=say, on_status=feed.send).run()
        else:
            orders = _connect(controller, config)
            Agent(config, hook, say=say, on_status=_both(feed.send, orders.report), controller=orders).run()
    except AgentError as error:
        raise HostError(f"pacelab {config.role.name}: {error}") from None
    finally:
        if orders is not None:
            orders.close()
        feed.close()


def _connect(controller: ControllerConfig, config: AgentConfig) -> ControllerLink:
    from pacelab_pacer.linux.host import address_of

    own = config.wired if config.wired is not None and not config.wired.endswith("+") else config.air
    return ControllerLink(
        url=controller.url, name=controller.name, address=address_of(own), scheme=config.scheme, make=controller.make
    )


def _both(*heard: Callable[[Line], None]) -> Callable[[Line], None]:
    def tell(status: Line) -> None:
        for one in heard:
            one(status)

    return tell


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise HostError(f"--metrics {port}: {os.strerror(error.errno or 0)}; choose another port") from None


# A gateway's agent with a controller: the controller's orders, and the agent's reports.

LIMITS = ("pace_rate_bps", "gateway_window_pkts")
"""Settings of a gateway's scheme that a controller may set."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")
_SUBSCRIBER = "pacelab_controller.web.client"
_PROTOCOL = {"tcp": 6, "udp": 17}
_FLOW = re.compile(r"(\S+):(\d+) > (\S+):(\d+)")
_TIMEOUT_S = 3.0


def offered() -> list[str]:
    """Schemes that a gateway can switch to while it runs: the baseline, and all schemes with a hook at the gateway."""
    return [name for name, scheme in SCHEMES.items() if scheme.gateway is not None or is_baseline(scheme)]


def is_baseline(scheme: Scheme) -> bool:
    """Whether the scheme has no hook and implies no options."""
    return not any((scheme.gateway, scheme.sender, scheme.station, scheme.link, scheme.implied_options))


def read_limits(limits: dict[str, float]) -> dict[str, Any]:
    """Parse and check limits. Raises ConfigError that names the invalid one."""
    found: dict[str, Any] = {}
    for name, value in limits.items():
        if name not in LIMITS:
            raise ConfigError(f"limit must be one of {', '.join(LIMITS)}, not {name!r}")
        found[name] = int(value) if value == int(value) else value
        BY_FIELD[name].check(found[name])
    return found


class ControllerLink:
    """Turns the controller's orders into hooks, and sends the agent's reports to the controller.

    A separate process (pacelab_controller.web.client) talks to the controller, so packets never wait for the network.
    If the controller is gone, the agent keeps its present scheme.
    """

    def __init__(
        self, *, url: str, name: str, address: str, scheme: str, make: Callable[[str, dict[str, Any]], Hook]
    ) -> None:
        """`make` makes a hook from a scheme's name and limits, or raises ConfigError. `scheme`: the active scheme."""
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
        self._pipe.send(hello, timeout_s=_TIMEOUT_S)

    def fileno(self) -> int:
        """The descriptor is readable if there is an order."""
        return self._answers

    def receive(self) -> list[tuple[str, Hook]]:
        """The schemes to switch to, with their hooks. Invalid orders are refused."""
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
        """Tell the controller that the ordered scheme is active."""
        self._scheme, self._refused = scheme, None

    def refuse(self, reason: str) -> None:
        """Tell the controller that the order failed, and why."""
        self._refused = reason[:300]

    def report(self, status: Line) -> None:
        """Send the agent's status to the controller."""
        if status["event"] == "status":
            flows = [row for one in status["flows"] if (row := flow_report(one)) is not None]
            self._pipe.send({"scheme": self._scheme, "refused": self._refused, "flows": flows})

    def close(self) -> None:
        """End the process that talks to the controller."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
            self._process.wait(_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def flow_report(row: FlowStatus) -> dict[str, Any] | None:
    """A row of the agent's status in the controller's format; None if the switches count all of it themselves."""
    found = _FLOW.fullmatch(row["flow"])
    if found is None or (row["rtt_s"] is None and row["mos"] is None):
        return None
    src, sport, dst, dport = found.groups()
    ends = {"src": src, "dst": dst, "sport": int(sport), "dport": int(dport)}
    return ends | {"protocol": _PROTOCOL[row["protocol"]], "rtt_s": row["rtt_s"], "mos": row["mos"]}


def own_name(given: str | None) -> str:
    """The gateway's name at the controller. Raises ConfigError if the name is invalid."""
    name = given or socket.gethostname()
    if not NAME.fullmatch(name):
        raise ConfigError(
            f"--name must be up to 64 letters, digits and _ . + -, starting with a letter or digit, not {name!r}"
        )
    return name
