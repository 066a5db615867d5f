"""The commands `pacelab timeline`, `pacelab sweep` and `pacelab plot`: thin layers over their functions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pacelab.cli.options import with_experiment_options
from pacelab.console import log, print_json, runs_bar, word
from pacelab.domains import Choice, Real
from pacelab.errors import ConfigError
from pacelab.experiment.from_text import find_option, parse_names, parse_one, place, split_axes
from pacelab.options.limits import JOBS, SEEDS
from pacelab.parameters import Argument, Option
from pacelab.results.folder import write_file
from pacelab.results.quantities import QUANTITIES, Y_NAMES, find_quantity

Scheme = Annotated[str, Option("--scheme", metavar="NAME", help="see `pacelab schemes`")]
Json = Annotated[bool, Option("--json", help="one JSON document on stdout")]
Quiet = Annotated[bool, Option("--quiet", help="no progress or notes")]
MOMENT = Real(0, 10_000)
"""A time in ms within a picture."""
RTS = Choice.of("on", "off", "both")
OVER_TIME = tuple(quantity.short for quantity in QUANTITIES if quantity.series)


@with_experiment_options
def timeline(
    topology: Annotated[str, Argument(metavar="TOPOLOGY", help="see `pacelab topologies`")],
    *,
    scheme: Scheme = "newreno",
    start: Annotated[
        str | None,
        Option("--from", metavar="MS", help="start of the picture, ms (default: just before the first collision)"),
    ] = None,
    end: Annotated[str | None, Option("--to", metavar="MS", help="end of the picture, ms")] = None,
    out: Annotated[Path | None, Option("--out", metavar="FILE", help="figure: .svg, .png or .pdf")] = None,
    json: Json = False,
    **values: Any,
) -> None:
    """Draw which station sends when. `--rts both` draws RTS off above RTS on."""
    from pacelab.figures.figures import check_figure, figure_bytes
    from pacelab.figures.in_matplotlib import draw_chart
    from pacelab.figures.timeline import choose_window, describe_window, timeline_chart

    if (rts := values.get("rts")) is not None and "," not in rts:
        values["rts"] = "off,on" if parse_one("--rts", rts, RTS) == "both" else rts
    single, axes = split_axes(topology, values)
    if several := set(axes) - {"rts"}:
        flag = find_option(topology, min(several)).flag
        raise ConfigError(f"{flag} must be one value here; `pacelab compare` accepts lists")
    from_ms, to_ms = (
        None if text is None else parse_one(flag, text, MOMENT) for flag, text in (("--from", start), ("--to", end))
    )
    place_ = out or Path("figures") / f"timeline-{Path(topology).stem}.svg"
    check_figure(place_)
    panels = []
    for rts in axes.get("rts", [None]):
        experiment = place(topology, single if rts is None else single | {"rts": rts}, scheme=scheme)
        panels.append((experiment, *choose_window(experiment, from_ms=from_ms, to_ms=to_ms)))
    write_file(place_, figure_bytes(draw_chart(timeline_chart(panels)), place_))
    shown = [describe_window(*panel) for panel in panels]
    if json:
        print_json({"timeline": {"figure": str(place_), "panels": shown}})
    for panel in shown:
        if not any(panel["frames"].values()):
            window = f"from {panel['from_ms']:g} to {panel['to_ms']:g} ms"
            log(f"note: nothing is sent {window}; leave --from out, and PaceLab chooses a time with frames")
    log(f"drawn into {place_}")


@with_experiment_options
def sweep(  # noqa: PLR0913  the command line makes options of them
    topology: Annotated[str, Argument(metavar="TOPOLOGY", help="see `pacelab topologies`")],
    *,
    out: Annotated[Path, Option("--out", metavar="DIR", help="folder of the sweep; an unfinished sweep continues")],
    schemes: Annotated[str, Option("--schemes", metavar="A,B", help="schemes")] = "newreno",
    seeds: Annotated[str, Option("--seeds", metavar="N", help="runs per scheme and point")] = "5",
    cache: Annotated[
        Path | None,
        Option("--cache", metavar="DIR", help="folder of finished runs (default: runs/ in --out)"),
    ] = None,
    jobs: Annotated[str | None, Option("--jobs", metavar="N", help="worker processes (one per core)")] = None,
    scheduler: Annotated[
        str | None, Option("--scheduler", metavar="ADDRESS", help="a Dask scheduler, tcp://HOST:PORT")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    **values: Any,
) -> None:
    """Run every combination of options (A,B or 1..10), schemes, and seeds. Repeat the command to continue a sweep."""
    from pacelab.figures.tables import show_name
    from pacelab.grid.grid import check_sweep_folder, run_sweep, scheme_of
    from pacelab.running.workers import Workers

    single, axes = split_axes(topology, values)
    names = parse_names("--schemes", schemes)
    processes = None if jobs is None else parse_one("--jobs", jobs, JOBS)
    count = parse_one("--seeds", seeds, SEEDS)
    base = place(topology, single | {name: choices[0] for name, choices in axes.items()}, scheme=scheme_of(names[0]))
    check_sweep_folder(out)
    with runs_bar(f"{topology}: {', '.join(names)}", folder=out, quiet=quiet) as on_done:
        done = run_sweep(
            base,
            schemes=names,
            axes=axes,
            seeds=count,
            out=out,
            cache=cache,
            workers=Workers(jobs=processes, scheduler=scheduler),
            on_done=on_done,
        )
    if json:
        print_json({"sweep": done.sweep, "host": done.host})
    if not quiet:
        for line in done.sweep["notes"]:
            log(f"note: {line}")
        total, different = len(done.rows), len(set(done.host["runs"]))
        same = f", {total - different} the same as another" if different < total else ""
        before = different - done.host["fresh_runs"]
        log(f"{total} runs, {before} of them finished before{same}; table in {out / 'table.csv'}")
        x, *others = [show_name(name) for name, values in axes.items() if len(values) > 1] or ["scheme"]
        log(f"to draw it: pacelab plot {word(out)} --x {x} --y goodput --by {','.join(['scheme', *others])}")


def plot(
    folder: Annotated[Path, Argument(metavar="DIR", help="the folder of a sweep, a comparison or a run")],
    *,
    x: Annotated[str | None, Option("--x", metavar="NAME", help="an option that varies (default: the first)")] = None,
    y: Annotated[
        str,
        Option("--y", metavar="QUANTITY", help=f"{Y_NAMES}; for a run: {', '.join(OVER_TIME)}"),
    ] = "goodput",
    by: Annotated[
        str | None,
        Option(
            "--by", metavar="A,B", help="one line per value of these (default: the scheme and whatever else varies)"
        ),
    ] = None,
    cdf: Annotated[bool, Option("--cdf", help="draw distributions over flows, or over the time of a run")] = False,
    where: Annotated[
        list[str] | None, Option("--where", metavar="NAME=VALUE", help="select runs (may be repeated)")
    ] = None,
    out: Annotated[Path | None, Option("--out", metavar="FILE", help="figure: .svg, .png or .pdf")] = None,
) -> None:
    """Draw the means and 95 % intervals of a sweep or comparison, or the time series of a run."""
    from pacelab.figures.figures import check_figure, figure_bytes
    from pacelab.grid.sweep_plots import load_points, parse_where, plot_flows, plot_points, varying

    if cdf and x is not None:
        raise ConfigError("--x cannot be combined with --cdf, whose x axis is the quantity; use --by")
    place_ = out or folder / f"{find_quantity(y).short}{'-cdf' * cdf}.svg"
    check_figure(place_)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    if (folder / "run.json").is_file():
        if x is not None or by is not None or where:
            raise ConfigError(
                f"--x, --by and --where need a sweep or a comparison; {str(folder)!r} holds a single run, in which no "
                "option varies; leave them out"
            )

        from pacelab.figures.distributions import plot_moments
        from pacelab.figures.plots import plot_series
        from pacelab.results.results import load_result

        (plot_moments if cdf else plot_series)(load_result(folder), figure.subplots(), quantity=y)
    else:
        points = load_points(folder, whole_runs=cdf)
        chosen = parse_where(where or [])
        if by is None:
            lines = varying(points, x=x, where=chosen, cdf=cdf)
        else:
            lines = [name.strip() for name in by.split(",") if name.strip()]
        if cdf:
            plot_flows(points, figure.subplots(), y=y, by=lines, where=chosen)
        else:
            plot_points(points, figure.subplots(), x=x, y=y, by=lines, where=chosen)
    write_file(place_, figure_bytes(figure, place_))
    log(f"drawn into {place_}")
