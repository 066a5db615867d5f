"""`pacelab gateway`, `sender`, `relay`, `station`: a scheme's hook on the packets of this host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacelab.cli.agent_options import task_of_flags, with_agent_options

if TYPE_CHECKING:
    from pacelab.hosts.agents.task import Task

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
    own = {"wired": wired, "datapath": datapath, "clamp_mss": clamp_mss, "controller": controller, "name": name}
    _run(task_of_flags("gateway", scheme, air, values, **own))


@with_agent_options
def sender(*, scheme: SchemeName, air: Air, datapath: DataPath = "nfqueue", **values: Any) -> None:
    """Run a scheme at a wireless host that sends, for applications as they are (root)."""
    _run(task_of_flags("sender", scheme, air, values, datapath=datapath))


@with_agent_options
def relay(*, scheme: SchemeName, air: Air, link: Link = "mediumd", **values: Any) -> None:
    """Run a scheme in front of a node's interface queue, for all that it sends by air (root)."""
    _run(task_of_flags("relay", scheme, air, values, link=link))


@with_agent_options
def station(*, scheme: SchemeName, air: Air, **values: Any) -> None:
    """Run a scheme at a wireless host that is an end of flows, in both directions (root)."""
    _run(task_of_flags("station", scheme, air, values))


def agent() -> None:
    """Run the agent that the JSON document on standard input says (see `pacelab.hosts.agents.task.Task`)."""
    from pacelab.hosts.agents.run import main

    main()


def _run(task: Task) -> None:
    from pacelab.hosts.agents.run import perform

    perform(task)
