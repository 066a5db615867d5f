"""`pacelab gateway`, `sender`, `relay`, `station`: a scheme's hook on the packets of this host."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacelab.agents.options import hook_settings, with_agent_options
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
    **values: Any,
) -> None:
    """Run a scheme at the gateway between the wired side and the air (root)."""
    _run("gateway", scheme, air, values, datapath=datapath, wired=wired, clamp_mss=clamp_mss)


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


def _run(agent: str, name: str, air: str, values: Mapping[str, Any], *, datapath: str = "nfqueue", **own: Any) -> None:
    if datapath not in DATAPATHS:
        raise ConfigError(f"--datapath {datapath!r}: allowed is one of {', '.join(DATAPATHS)}")
    hook = make_hook(agent, name, values)
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
    _serve(config, hook, datapath=datapath, port=port, json=values["json"], quiet=values["quiet"])


def make_hook(agent: str, name: str, values: Mapping[str, Any]) -> Hook:
    """The scheme's hook for this agent; ConfigError when it has none there, or lacks a setting."""
    scheme = find_scheme(name)
    settings = hook_settings(values)
    factory = getattr(scheme, POINT_OF[agent])
    if factory is None and agent == "station" and scheme.brings.get("ack") in ACK_SCHEDULES:
        return _delayed_acks(scheme.brings["ack"])
    if factory is None:
        raise ConfigError(f"--scheme {name!r}: it has nothing to do at a {agent}; allowed is {_able(agent)}")
    for field in scheme.settings:
        if getattr(settings, field) is None:
            raise ConfigError(f"--scheme {name!r} needs {BY_FIELD[field].flag}: {BY_FIELD[field].domain.allowed}")
    hook: Hook = factory(settings)
    return hook


def _delayed_acks(policy: str) -> Hook:
    """The simulator's TCP has the policy itself; a host's TCP has a hook in front of it."""
    from pacelab.pacer.core.delayed_ack_station import DelayedAckConfig, DelayedAckStation

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


def _serve(config: AgentConfig, hook: Hook, *, datapath: str, port: int | None, json: bool, quiet: bool) -> None:
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
    try:
        kind(config, hook, say=(lambda _line: None) if quiet else log, on_status=feed.send).run()
    except AgentError as error:
        raise HostError(f"pacelab {config.role.name}: {error}") from None
    finally:
        feed.close()


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise HostError(f"--metrics {port}: {error.strerror}; choose another port") from None
