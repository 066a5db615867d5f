"""The commands `pacelab timeline`, `pacelab sweep` and `pacelab plot`: thin over their functions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pacelab.cli_options import with_experiment_options
from pacelab.console import log, print_json
from pacelab.errors import ConfigError
from pacelab.folder import write_file
from pacelab.settings import parse_one, place, split_axes
from pacelab.topologies.domain import Real

Scheme = Annotated[str, typer.Option("--scheme", metavar="NAME", help="see `pacelab schemes`")]
Json = Annotated[bool, typer.Option("--json", help="one JSON document on stdout")]
MOMENT = Real(0, 10_000)
"""A time in ms that a picture may show."""


@with_experiment_options
def timeline(
    topology: Annotated[str, typer.Argument(metavar="TOPOLOGY", help="see `pacelab topologies`")],
    *,
    scheme: Scheme = "newreno",
    start: Annotated[
        str | None, typer.Option("--from", metavar="MS", help="start of the picture (default: where something happens)")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="MS", help="end of the picture, ms")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="figure: .svg, .png or .pdf")] = None,
    json: Json = False,
    **values: Any,
) -> None:
    """Draw who is on the air when; `--rts both` draws RTS on and off, one above the other."""
    from pacelab.figures import check_figure, figure_bytes
    from pacelab.timeline import choose_window, describe_window, draw_timelines

    if values.get("rts") == "both":
        values["rts"] = "on,off"
    single, axes = split_axes(values)
    if set(axes) - {"rts"}:
        raise ConfigError(f"--{min(set(axes) - {'rts'})}: allowed is one value here; `pacelab compare` takes lists")
    from_ms, to_ms = (
        None if text is None else parse_one(flag, text, MOMENT) for flag, text in (("--from", start), ("--to", end))
    )
    place_ = out or Path("figures") / f"timeline-{Path(topology).stem}.svg"
    check_figure(place_)
    panels = []
    for rts in axes.get("rts", [None]):
        experiment = place(topology, single if rts is None else single | {"rts": rts}, scheme=scheme)
        panels.append((experiment, *choose_window(experiment, from_ms=from_ms, to_ms=to_ms)))
    write_file(place_, figure_bytes(draw_timelines(panels), place_))
    if json:
        print_json({"timeline": {"figure": str(place_), "panels": [describe_window(*panel) for panel in panels]}})
    log(f"drawn into {place_}")
