"""`pacelab gateway`, `sender`, `relay`, `station`: a scheme's hook on the packets of this host."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacelab.agents.options import hook_settings, with_agent_options
from pacelab.agents.orders import Orders, is_baseline, offered, own_name
from pacelab.agents.path_rates import read_path_rates
from pacelab.airconfig import ACK_SCHEDULES
from pacelab.console import log
from pacelab.errors import ConfigError, HostError
from pacelab.options import BY_FIELD
from pacelab.schemes import SCHEMES, Scheme, find_scheme
from pacelab.settings import parse_one
from pacelab.topologies.domain import Real, Whole

if TYPE_CHECKING:
    from pacelab.pacer.core.contract import Hook
    from pacelab.pacer.linux.agent import AgentConfig

POINT_OF = {"gateway": "gateway", "sender": "sender", "relay": "link", "station": "station"}
"""Agent -> the scheme's hook point that it runs."""
TOKEN = "PACELAB_METRICS_TOKEN"
LONGEST_S = 1_000_000

SchemeName = Annotated[str, typer.Option("--scheme", metavar="NAME", help="see `pacelab schemes`")]
Air = Annotated[str, typer.Option("--air", metavar="IF", help="interface to the air")]
Wired = Annotated[str, typer.Option("--wired", metavar="IF", help="interface to the wired side; wire+: all wire...")]
DataPath = Annotated[
    str, typer.Option("--datapath", metavar="PATH", help="nfqueue: packets through Python; tc: paced by the kernel")
]
ControllerUrl = Annotated[
    str | None,
    typer.Option(
        "--controller", metavar="URL", help="report to a controller and do as it says (http://..., unix:PATH)"
    ),
]
OwnName = Annotated[str | None, typer.Option("--name", metavar="NAME", help="this gateway's, there (the host's)")]
DATAPATHS = ("nfqueue", "tc")
LINKS = ("mediumd", "nl80211")
Link = Annotated[
    str, typer.Option("--link", metavar="LINK", help="who counts retries: mediumd, or nl80211 (lred, lred-ecn)")
]
ClampMss = Annotated[
    bool, typer.Option("--clamp-mss/--no-clamp-mss", help="lower the MSS: room for an option in full segments, too")
]


@with_agent_options
def gateway(
    *,
    scheme: SchemeName,
    air: Air,
    wired: Wired,
    datapath: DataPath = "nfqueue",
    clamp_mss: ClampMss = False,
    controller: ControllerUrl = None,
    name: OwnName = None,
    **values: Any,
) -> None:
    """Run a scheme at the gateway between the wired side and the air (root)."""
    if controller is None:
        if name is not None:
            raise ConfigError(f"--name {name}: allowed with --controller URL alone")
        _run("gateway", scheme, air, values, datapath=datapath, wired=wired, clamp_mss=clamp_mss)
        return
    if datapath != "nfqueue":
        raise ConfigError(f"--controller with --datapath {datapath}: allowed is nfqueue")
    if not controller.startswith(("http://127.0.0.1:", "http://localhost:", "unix:")):
        raise ConfigError(f"--controller {controller!r}: allowed is http://127.0.0.1:PORT or unix:PATH")
    lead = _Lead(url=controller, name=own_name(name), values=values)
    _run("gateway", scheme, air, values, lead=lead, wired=wired, clamp_mss=clamp_mss)


@with_agent_options
def sender(*, scheme: SchemeName, air: Air, datapath: DataPath = "nfqueue", **values: Any) -> None:
    """Run a scheme at a wireless host that sends, for applications as they are (root)."""
    _run("sender", scheme, air, values, datapath=datapath)


@with_agent_options
def relay(*, scheme: SchemeName, air: Air, link: Link = "mediumd", **values: Any) -> None:
    """Run a scheme in front of a node's interface queue, for all that it sends by air (root)."""
    if link not in LINKS:
        raise ConfigError(f"--link {link!r}: allowed is one of {', '.join(LINKS)}")
    if link == "nl80211" and not find_scheme(scheme).counts_suffice:
        able = ", ".join(name for name, known in SCHEMES.items() if known.counts_suffice)
        raise ConfigError(f"--link nl80211 with --scheme {scheme}: it follows single frames: allowed is one of {able}")
    _run("relay", scheme, air, values, kernel_counts=link == "nl80211")


@with_agent_options
def station(*, scheme: SchemeName, air: Air, **values: Any) -> None:
    """Run a scheme at a wireless host that is an end of flows, in both directions (root)."""
    _run("station", scheme, air, values)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lead:
    """The controller that leads a gateway's agent."""

    url: str
    name: str
    values: Mapping[str, Any]

    def make(self, scheme: str, limits: Mapping[str, Any]) -> Hook:
        """A hook for an order."""
        if scheme not in offered():
            raise ConfigError(f"scheme {scheme!r}: allowed is one of {', '.join(offered())}")
        return make_hook("gateway", scheme, self.values, limits, idle_too=True)


def _run(
    agent: str,
    name: str,
    air: str,
    values: Mapping[str, Any],
    *,
    datapath: str = "nfqueue",
    lead: _Lead | None = None,
    **own: Any,
) -> None:
    if datapath not in DATAPATHS:
        raise ConfigError(f"--datapath {datapath!r}: allowed is one of {', '.join(DATAPATHS)}")
    hook = make_hook(agent, name, values, idle_too=lead is not None)
    paths = read_path_rates(values["path_rates"])
    first = _number("--queue", values["queue"], Whole(0, 65_000))
    seconds = None if values["seconds"] is None else parse_one("--seconds", values["seconds"], Real(0.001, LONGEST_S))
    port = _number("--metrics", values["metrics"], Whole(1, 65_535))
    if (values["mediumd"] is None) != (values["station"] is None):
        raise ConfigError("--mediumd and --station: allowed together only; they say which station's link layer it is")
    _check_platform(agent)
    from pacelab.pacer.linux.agent import ROLES, AgentConfig

    config = AgentConfig(
        role=ROLES[agent],
        scheme=name,
        air=air,
        paths=paths,
        first_queue=first,
        mediumd=values["mediumd"],
        station=values["station"],
        realtime=values["realtime"],
        seconds=seconds,
        **own,
    )
    _serve(config, hook, datapath=datapath, port=port, json=values["json"], quiet=values["quiet"], lead=lead)


def make_hook(
    agent: str, name: str, values: Mapping[str, Any], limits: Mapping[str, Any] | None = None, *, idle_too: bool = False
) -> Hook:
    """The scheme's hook for this agent; ConfigError when it has none there, or lacks a setting.

    `limits`: settings in the place of those of `values`; `idle_too`: the baseline has a hook, too, which does nothing.
    """
    scheme = find_scheme(name)
    settings = replace(hook_settings(values), **(limits or {}))
    factory = getattr(scheme, POINT_OF[agent])
    if factory is None and agent == "station" and scheme.brings.get("ack") in ACK_SCHEDULES:
        return _delayed_acks(scheme.brings["ack"])
    if factory is None and idle_too and is_baseline(scheme):
        from pacelab.pacer.core.null import NullHook

        return NullHook()
    if factory is None:
        raise ConfigError(f"--scheme {name!r}: it has nothing to do at a {agent}; allowed is {_able(agent)}")
    for field in scheme.settings:
        if getattr(settings, field) is None:
            raise ConfigError(f"--scheme {name!r} needs {BY_FIELD[field].flag}: {BY_FIELD[field].domain.allowed}")
    hook: Hook = factory(settings)
    return hook


def _delayed_acks(policy: str) -> Hook:
    """The simulator's TCP has the policy itself; a host's TCP has a hook in front of it."""
    from pacelab.pacer.core.tcp_ap.delayed_ack_station import DelayedAckConfig, DelayedAckStation

    return DelayedAckStation(DelayedAckConfig(schedule=tuple(ACK_SCHEDULES[policy])))


def _able(agent: str) -> str:
    def can(scheme: Scheme) -> bool:
        if agent == "station" and scheme.brings.get("ack") in ACK_SCHEDULES:
            return True
        return getattr(scheme, POINT_OF[agent]) is not None

    return "one of " + ", ".join(name for name, scheme in SCHEMES.items() if can(scheme))


def _number(flag: str, text: str | None, domain: Whole) -> int | None:
    return None if text is None else int(parse_one(flag, text, domain))


def _check_platform(agent: str) -> None:
    if sys.platform != "linux":
        raise HostError(f"pacelab {agent}: it works on the packets of a Linux host; this is {sys.platform}")


def _serve(
    config: AgentConfig,
    hook: Hook,
    *,
    datapath: str,
    port: int | None,
    json: bool,
    quiet: bool,
    lead: _Lead | None,
) -> None:
    from pacelab.agents.feed import Feed
    from pacelab.pacer.linux.agent import Agent
    from pacelab.pacer.linux.errors import AgentError
    from pacelab.pacer.linux.tc_agent import TcAgent

    kind = Agent if datapath == "nfqueue" else TcAgent
    listening = None if port is None else _listen(port)
    token = os.environ.get(TOKEN) or secrets.token_urlsafe(16)
    table = not quiet and sys.stdout.isatty()
    feed = Feed(mode="json" if json else "table" if table else "none", metrics=listening, token=token)
    if listening is not None:
        listening.close()  # the feed's process has it
        log(f"metrics at http://127.0.0.1:{port}/metrics, Authorization: Bearer {token}")
    orders: Orders | None = None
    say = (lambda _line: None) if quiet else log
    try:
        if lead is None:
            kind(config, hook, say=say, on_status=feed.send).run()
        else:
            orders = _follow(lead, config)
            Agent(config, hook, say=say, on_status=_both(feed.send, orders.report), orders=orders).run()
    except AgentError as error:
        raise HostError(f"pacelab {config.role.name}: {error}") from None
    finally:
        if orders is not None:
            orders.close()
        feed.close()


def _follow(lead: _Lead, config: AgentConfig) -> Orders:
    from pacelab.pacer.linux.interfaces import address_of

    own = config.wired if config.wired is not None and not config.wired.endswith("+") else config.air
    return Orders(url=lead.url, name=lead.name, address=address_of(own), scheme=config.scheme, make=lead.make)


def _both(*heard: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    def tell(status: dict[str, Any]) -> None:
        for one in heard:
            one(status)

    return tell


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise HostError(f"--metrics {port}: {error.strerror}; choose another port") from None
