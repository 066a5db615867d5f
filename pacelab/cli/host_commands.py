"""The commands for real hosts: the agents `gateway`, `sender`, `relay`, `station`, and `shell`, `cleanup`, `helper`.

An agent runs a scheme's hook on the packets of this host. The options that all agents share are defined once.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pacelab.cli.options import Command, extend, hook_parameters, with_experiment_options
from pacelab.console import log
from pacelab.domains import Domain, Real, Whole
from pacelab.emulation.agents.roles import VALID_PATH_RATES as PATH_RATES
from pacelab.emulation.agents.roles import AgentName, check_path_known, read_path_rates
from pacelab.errors import ConfigError, HostError
from pacelab.experiment.from_text import build_experiment, parse_one
from pacelab.options.settings import BY_FIELD, SCHEME_OPTIONS
from pacelab.parameters import Argument, Option
from pacelab.schemes import SCHEMES, HookSettings
from pacelab.schemes.hook_settings import NODE, SENSE_HOPS

if TYPE_CHECKING:
    from pacelab.emulation.agents.task import Task


_HOOK_FIELDS = tuple(field.name for field in fields(HookSettings))


def _text(flag: str, metavar: str, text: str) -> Any:
    return Annotated[str | None, Option(flag, metavar=metavar, help=text)]


NUMBERS: dict[str, Domain] = {
    "node": NODE,
    "sense_hops": SENSE_HOPS,
    "queue": Whole(0, 65_000),
    "seconds": Real(0.001, 1_000_000),
    "metrics": Whole(1, 65_535),
}

_COMMON: tuple[tuple[str, Any, Any], ...] = (
    (
        "path_rates",
        Annotated[
            list[str],
            Option("--path-rates", metavar="RATES", help=f"rates of the wireless path: {PATH_RATES}"),
        ],
        [],
    ),
    ("mediumd", _text("--mediumd", "SOCKET", "mediumd's socket, for schemes that use the link layer"), None),
    ("station", _text("--station", "NAME", "this node's name at mediumd"), None),
    ("node", _text("--node", "N", "number of this host, which selects its random streams (0)"), None),
    ("sense_hops", _text("--sense-hops", "N", "hops within the carrier sense range (2)"), None),
    ("queue", _text("--queue", "N", "first NFQUEUE number"), None),
    ("seconds", _text("--seconds", "S", "stop after S seconds (default: never)"), None),
    ("metrics", _text("--metrics", "PORT", "serve Prometheus metrics on 127.0.0.1, with a token"), None),
    (
        "realtime",
        Annotated[bool, Option("--realtime/--no-realtime", help="use SCHED_FIFO if the host permits it")],
        True,
    ),
    (
        "json",
        Annotated[bool, Option("--json", help="one JSON document per line: ready, status each second, end")],
        False,
    ),
    ("quiet", Annotated[bool, Option("--quiet", help="no live view, no notes")], False),
)


def with_agent_options(command: Command) -> Command:
    """Give `command` the options of every agent, and those of the schemes' hooks, in place of its `**values`."""
    kind = inspect.Parameter.KEYWORD_ONLY
    common = [inspect.Parameter(name, kind, default=default, annotation=shape) for name, shape, default in _COMMON]
    return extend(command, [*common, *hook_parameters(_HOOK_FIELDS)])


def task_of_flags(agent: AgentName, scheme: str, air: str, values: Mapping[str, Any], **own: Any) -> Task:
    """The task that a command's values (text or None) describe. Raises ConfigError for an invalid value.

    `own`: fields of `Task` that belong to this agent.
    """
    from pacelab.emulation.agents.task import Task

    task = {
        "agent": agent,
        "scheme": scheme,
        "settings": hook_settings(values),
        "air": air,
        "wired": None,
        "path_rates": read_path_rates(values["path_rates"]),
        "datapath": "nfqueue",
        "link": "mediumd",
        "clamp_mss": False,
        **{name: values[name] for name in ("mediumd", "station", "realtime")},
        **{name: _number(name, values) for name in ("queue", "seconds", "metrics")},
        "controller": None,
        "name": None,
        "as_json": values["json"],
        "quiet": values["quiet"],
    }
    found = Task.model_validate(task | own)
    check_path_known(agent, scheme, found.path_rates)
    if found.controller is None:  # a controller may change the scheme to one that uses these options
        _check_taken(scheme, values)
    return found


def _check_taken(name: str, values: Mapping[str, Any]) -> None:
    """Raise ConfigError for an option of other schemes. A user's scheme may use all options."""
    if name not in SCHEMES:
        return
    for option in SCHEME_OPTIONS:
        if values[option] is not None and option not in SCHEMES[name].options:
            takers = ", ".join(other for other, scheme in SCHEMES.items() if option in scheme.options)
            raise ConfigError(f"{BY_FIELD[option].flag} has no effect on --scheme {name}; use one of {takers}")


def hook_settings(values: Mapping[str, Any]) -> HookSettings:
    """Settings of the hook from a command's values (text or None). Raises ConfigError for an invalid value."""
    options = [name for name in _HOOK_FIELDS if name in BY_FIELD and values.get(name) is not None]
    numbers = [name for name in _HOOK_FIELDS if name in NUMBERS and values.get(name) is not None]
    return HookSettings(
        **{name: BY_FIELD[name].parse(values[name]) for name in options},
        **{name: _number(name, values) for name in numbers},
    )


def _number(name: str, values: Mapping[str, Any]) -> Any:
    if values[name] is None:
        return None
    return parse_one("--" + name.replace("_", "-"), values[name], NUMBERS[name])


SchemeName = Annotated[str, Option("--scheme", metavar="NAME", help="see `pacelab schemes`")]
Air = Annotated[str, Option("--air", metavar="IF", help="wireless interface")]
Wired = Annotated[str, Option("--wired", metavar="IF", help="wired interface; wire+ means all that start with wire")]
DataPath = Annotated[
    str,
    Option("--datapath", metavar="PATH", help="nfqueue: Python handles packets; tc: the kernel paces them"),
]
ControllerUrl = Annotated[
    str | None,
    Option("--controller", metavar="URL", help="report to a controller and follow its orders (http://..., unix:PATH)"),
]
OwnName = Annotated[
    str | None,
    Option("--name", metavar="NAME", help="name of this gateway at the controller (the host name)"),
]
Link = Annotated[
    str,
    Option("--link", metavar="LINK", help="source of retry counts: mediumd, or nl80211 (lred, lred-ecn)"),
]
ClampMss = Annotated[bool, Option("--clamp-mss/--no-clamp-mss", help="lower the MSS to leave room for a TCP option")]


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
    """Run a scheme at the gateway between the wired side and the air (needs root)."""
    own = {"wired": wired, "datapath": datapath, "clamp_mss": clamp_mss, "controller": controller, "name": name}
    _run(task_of_flags("gateway", scheme, air, values, **own))


@with_agent_options
def sender(*, scheme: SchemeName, air: Air, datapath: DataPath = "nfqueue", **values: Any) -> None:
    """Run a scheme at a sending wireless host, for unchanged applications (needs root)."""
    _run(task_of_flags("sender", scheme, air, values, datapath=datapath))


@with_agent_options
def relay(*, scheme: SchemeName, air: Air, link: Link = "mediumd", **values: Any) -> None:
    """Run a scheme in front of a node's wireless interface queue (needs root)."""
    _run(task_of_flags("relay", scheme, air, values, link=link))


@with_agent_options
def station(*, scheme: SchemeName, air: Air, **values: Any) -> None:
    """Run a scheme at a wireless host, in both directions of its flows (needs root)."""
    _run(task_of_flags("station", scheme, air, values))


def agent() -> None:
    """Run the agent that a JSON document on standard input describes (see `pacelab.emulation.agents.task.Task`)."""
    from pacelab.emulation.agents.run import main

    main()


def _run(task: Task) -> None:
    from pacelab.emulation.agents.run import perform

    perform(task)


TopologyName = Annotated[str, Argument(metavar="TOPOLOGY", help="see `pacelab topologies`")]


@with_experiment_options
def shell(
    topology: TopologyName,
    *,
    scheme: Annotated[str, Option("--scheme", metavar="NAME", help="see `pacelab schemes`")] = "newreno",
    **values: Any,
) -> None:
    """Open Mininet's command line on a topology's real hosts (--backend tap or hwsim; needs root)."""
    if values.get("backend") is None:
        raise ConfigError("shell needs real hosts; add --backend tap or --backend hwsim")
    experiment = build_experiment(topology, values, scheme=scheme)
    if experiment.backend == "sim":
        raise ConfigError("shell needs real hosts; use --backend tap or --backend hwsim, not sim")
    _need_linux()
    from pacelab.emulation.compile import compile_plan
    from pacelab.emulation.session import run_shell

    run_shell(compile_plan(experiment))


def cleanup() -> None:
    """Clean up after killed runs on real hosts (needs root)."""
    _need_linux()
    from pacelab.emulation.cleanup import clean_up

    removed = clean_up()
    rules, folders = f"{len(removed.rules)} sets of rules of agents", f"{len(removed.folders)} folders of guests"
    log(f"removed {len(removed.processes)} processes, {rules} and {folders} that were killed")


def helper(
    *,
    socket: Annotated[Path | None, Option("--socket", metavar="PATH", help="listen here")] = None,
    units: Annotated[
        Path | None, Option("--units", metavar="DIR", help="write systemd unit files to DIR and exit")
    ] = None,
) -> None:
    """Serve the members of the group pacelab, so that notebooks use real hosts without root."""
    _need_linux()
    if units is not None:
        if socket is not None:
            raise ConfigError("--socket has no effect on --units, whose socket has a fixed path; use one of them")
        from pacelab.emulation.helper import write_units

        for path in write_units(units):
            log(f"written: {path}")
        return
    from pacelab.emulation.helper import serve

    serve(socket, say=log)


def _need_linux() -> None:
    if sys.platform != "linux":
        raise HostError(f"real hosts need Linux, this is {sys.platform}; --backend sim runs here")
