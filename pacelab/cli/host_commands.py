"""The commands about real hosts: `shell`, `cleanup`, `helper`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pacelab.cli.options import with_experiment_options
from pacelab.console import log
from pacelab.errors import ConfigError, HostError
from pacelab.experiment.settings import build_experiment

TopologyName = Annotated[str, typer.Argument(metavar="TOPOLOGY", help="see `pacelab topologies`")]


@with_experiment_options
def shell(
    topology: TopologyName,
    *,
    scheme: Annotated[str, typer.Option("--scheme", metavar="NAME", help="see `pacelab schemes`")] = "newreno",
    **values: Any,
) -> None:
    """Open Mininet's command line on a topology's real hosts (--backend tap or hwsim; needs root)."""
    if values.get("backend") is None:
        raise ConfigError("shell: there is one on real hosts only: add --backend tap or hwsim")
    experiment = build_experiment(topology, values, scheme=scheme)
    if experiment.backend == "sim":
        raise ConfigError("shell --backend sim: there are no hosts to type at: allowed is one of tap, hwsim")
    _need_linux()
    from pacelab.hosts.compile import compile_plan
    from pacelab.hosts.session import run_shell

    run_shell(compile_plan(experiment))


def cleanup() -> None:
    """Remove what killed runs on real hosts have left (needs root)."""
    _need_linux()
    from pacelab.hosts.cleanup import clean_up

    removed = clean_up()
    rules, folders = f"{len(removed.rules)} sets of rules of agents", f"{len(removed.folders)} folders of guests"
    log(f"removed {len(removed.processes)} processes, {rules} and {folders} that were killed")


def helper(
    *,
    socket: Annotated[Path | None, typer.Option("--socket", metavar="PATH", help="listen here")] = None,
    units: Annotated[
        Path | None, typer.Option("--units", metavar="DIR", help="write systemd's unit files there, and end")
    ] = None,
) -> None:
    """Run plans for members of the group pacelab, so that notebooks reach real hosts without root."""
    _need_linux()
    if units is not None:
        from pacelab.hosts.helper import write_units

        for path in write_units(units):
            log(f"written: {path}")
        return
    from pacelab.hosts.helper import serve

    serve(socket, say=log)


def _need_linux() -> None:
    if sys.platform != "linux":
        raise HostError(f"real hosts need Linux, this is {sys.platform}; --backend sim runs here")
