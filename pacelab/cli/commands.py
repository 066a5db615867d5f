"""`pacelab run`, `rerun`, `compare`, `lab`, and the lists of schemes, topologies and this host's features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from pacelab.cli.options import with_experiment_options, with_topology_options
from pacelab.console import log, print_json, print_table, progress_bar, runs_bar
from pacelab.errors import ConfigError, HostError, PaceLabError
from pacelab.experiment.experiment import Experiment
from pacelab.experiment.from_text import build_experiment, parse_names, parse_one, place, split_axes
from pacelab.experiment.stored import request_of
from pacelab.options.limits import JOBS, SEEDS
from pacelab.options.settings import BY_FIELD
from pacelab.parameters import Argument, Option
from pacelab.results.folder import RUNS, SNAP_BYTES, SNAPS, PcapFile, check_destination, write_file
from pacelab.results.quantities import Y_NAMES, Quantity, find_quantity

if TYPE_CHECKING:
    from pacelab.grid.comparison import Comparison
    from pacelab.results.results import RunResult
    from pacelab.running.cached import RunStore


UNFINISHED = RUNS / "unfinished"
"""Finished runs of interrupted comparisons. Removed when the same comparison is continued and ends."""

TopologyName = Annotated[str, Argument(metavar="TOPOLOGY", help="see `pacelab topologies`")]
Out = Annotated[Path | None, Option("--out", metavar="DIR", help="new or empty folder (default: under runs/)")]
Jobs = Annotated[str | None, Option("--jobs", metavar="N", help="worker processes (one per core)")]
Json = Annotated[bool, Option("--json", help="one JSON document on stdout")]
Quiet = Annotated[bool, Option("--quiet", help="no table, progress or notes")]


@with_experiment_options
def run(
    topology: TopologyName,
    *,
    scheme: Annotated[
        str, Option("--scheme", metavar="NAME", help="see `pacelab schemes`; or FILE.py:NAME")
    ] = "newreno",
    pcap: Annotated[Path | None, Option("--pcap", metavar="FILE", help="capture file for Wireshark")] = None,
    pcap_snap: Annotated[
        str | None, Option("--pcap-snap", metavar="BYTES", help="bytes of each frame to keep; 0: all (128)")
    ] = None,
    pcap_garbled: Annotated[bool, Option("--pcap-garbled", help="also capture collided frames")] = False,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
    **values: Any,
) -> None:
    """Run one experiment and write its result folder."""
    from pacelab.running.runner import run as run_experiment

    experiment = build_experiment(topology, values, scheme=scheme)
    check_destination(out)
    capture = _capture(pcap, pcap_snap, pcap_garbled)
    with progress_bar(f"{topology}, {scheme}", quiet=quiet) as on_progress:
        result = run_experiment(experiment, on_progress=on_progress, pcap=capture)
    kinds = {flow["kind"] for flow in result.run["flows"]}
    hints = [capture.hint(experiment.network)] if capture and "tcp" in kinds else []
    if experiment.sack and "tcp" not in kinds:
        hints.append("--sack on has no effect: no flow of this run is TCP")
    if experiment.priority and "voice" not in kinds:
        hints.append("--priority on has no effect: no flow of this run is voice")
    hand_over(result, out, json=json, quiet=quiet, hints=hints)
    exit_on_failed_hooks(result.run["hooks"]["failed"])


def hand_over(result: RunResult, out: Path | None, *, json: bool, quiet: bool, hints: Sequence[str] = ()) -> None:
    """Write a run's folder and print its results, with its notes and `hints`."""
    from pacelab.running.runner import write_safely

    folder = write_safely(result.write, out)
    if json:
        print_json({"run": result.run, "host": result.host})
    elif not quiet:
        from pacelab.figures.tables import run_tables, run_title

        for number, table in enumerate(run_tables(result)):
            print_table(table, title="" if number else run_title(result))
    if not quiet:
        _report([*result.notes, *hints], f"results in {folder}")


PACED = "tcp-gap"
"""The scheme that `compare` sets beside NewReno by default."""


@with_experiment_options
def compare(  # noqa: PLR0913  the command line makes options of them
    topology: TopologyName,
    *,
    schemes: Annotated[
        str | None,
        Option(
            "--schemes",
            metavar="A,B",
            help="schemes or congestion controls to compare, or all; also FILE.py:NAME [default: newreno, and tcp-gap "
            "where it can act]",
        ),
    ] = None,
    seeds: Annotated[
        str | None, Option("--seeds", metavar="N", help="runs per scheme and point (5; with --full 1)")
    ] = None,
    full: Annotated[
        bool, Option("--full", help="as in the TCP-GAP paper: 55,000 packets per flow, 11 batches")
    ] = False,
    y: Annotated[
        str | None,
        Option("--y", metavar="QUANTITY", help=f"quantity of the table and figure, {Y_NAMES} [default: goodput]"),
    ] = None,
    cdf: Annotated[bool, Option("--cdf", help="also draw the distribution over the flows of all seeds")] = False,
    jobs: Jobs = None,
    cache: Annotated[Path | None, Option("--cache", metavar="DIR", help="keep finished runs here")] = None,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
    **values: Any,
) -> None:
    """Compare schemes with several seeds. Every option except --seed accepts a list (A,B) or a range (1..10)."""
    from pacelab.figures.distributions import check_panels, find_distributed
    from pacelab.figures.tables import BASELINE
    from pacelab.grid.grid import scheme_of
    from pacelab.running.cached import RunStore

    single, axes = split_axes(topology, values)
    if full:
        _check_counted(single)
    names = _usual_schemes(topology, single, axes) if schemes is None else parse_names("--schemes", schemes)
    if names == [BASELINE] and "cc" in axes:
        names = axes.pop("cc")  # compared side by side with gains, like congestion controls that are given as schemes
    count = None if seeds is None else parse_one("--seeds", seeds, SEEDS)
    quantity = None if y is None else find_quantity(y)
    workers = None if jobs is None else parse_one("--jobs", jobs, JOBS)
    base = place(topology, single | {name: choices[0] for name, choices in axes.items()}, scheme=scheme_of(names[0]))
    check_destination(out)
    _check_calls(quantity, base, axes)
    if cdf:
        find_distributed(y or "goodput")
        check_panels(axes)
    _compare(
        base,
        _Output(title=f"{topology}: {', '.join(names)}", out=out, json=json, quiet=quiet, y=quantity, cdf=cdf),
        schemes=names,
        axes=axes,
        seeds=count,
        full=full,
        jobs=workers,
        store=None if cache is None else RunStore(folder=cache),
    )


def _usual_schemes(topology: str, single: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]) -> list[str]:
    """NewReno, and TCP-GAP unless it cannot act on this network or its traffic, as on saturated UDP."""
    from pacelab.figures.tables import BASELINE

    options = {**single, **{name: choices[0] for name, choices in axes.items()}}
    place(topology, options, scheme=BASELINE)  # other faults of the options are reported from here
    try:
        place(topology, options, scheme=PACED)
    except ConfigError:
        return [BASELINE]
    return [BASELINE, PACED]


def lab(
    *,
    seed: Annotated[str, Option("--seed", metavar="N", help="first of the 5 seeds")] = "1",
    jobs: Jobs = None,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show in three findings what pacing gains, and what it costs."""
    from pacelab.findings.report import document, find_all, text_of, write
    from pacelab.findings.studies import announce, run_studies, studies
    from pacelab.running.cached import RunStore
    from pacelab.running.runner import write_safely
    from pacelab.running.workers import usable_cores

    grids = studies(parse_one("--seed", seed, BY_FIELD["seed"].domain))
    workers = None if jobs is None else parse_one("--jobs", jobs, JOBS)
    check_destination(out)
    if not quiet:
        log(announce(grids, workers or usable_cores()))
    store = RunStore(folder=UNFINISHED, until_done=True)
    with runs_bar("what pacing does", folder=store.folder, quiet=quiet) as on_done:
        found, host = run_studies(grids, jobs=workers, store=store, on_done=on_done)
    findings = find_all(found)
    folder = write_safely(lambda place: write(place, findings, found, host), out)
    if json:
        print_json(document(findings, found) | {"host": host})
    elif not quiet:
        print(text_of(findings))
    if not quiet:
        pictures = [f"{finding.name}.png" for finding in findings if (folder / f"{finding.name}.png").exists()]
        drawn = f"pictures {', '.join(pictures)}; " if pictures else ""
        _report([], f"results in {folder}: {drawn}tables in the .csv files")
    exit_on_failed_hooks(sum(row["hooks_failed"] for comparison in found.values() for row in comparison.rows))


def schemes(*, json: Json = False) -> None:
    """List the schemes with their hook points and requirements."""
    from pacelab.cli import listings

    print_json(listings.schemes_document()) if json else print_table(listings.schemes_table())


@with_topology_options
def topologies(
    name: Annotated[str | None, Argument(metavar="NAME", help="the topology to show")] = None,
    *,
    plot: Annotated[bool, Option("--plot", help="draw the topology into figures/NAME.svg or --out")] = False,
    out: Annotated[Path | None, Option("--out", metavar="FILE", help="figure: .svg, .png or .pdf")] = None,
    json: Json = False,
    **values: Any,
) -> None:
    """List the topologies with their options, or show one topology."""
    from pacelab.cli import listings

    if out is not None and not plot:
        raise ConfigError("--out needs --plot, whose figure it names")
    if name is None:
        if plot or any(value is not None for value in values.values()):
            raise ConfigError("--plot and options of a topology need one topology; use `pacelab topologies NAME`")
        print_json(listings.topologies_document()) if json else print_table(listings.topologies_table())
        return
    topology = build_experiment(name, values).network
    if plot:
        place_ = out or Path("figures") / f"{Path(name).stem}.svg"
        write_file(place_, listings.draw_topology(topology, place_))
        log(f"drawn into {place_}")
    if json:
        print_json(listings.topology_document(topology))
    else:
        print(listings.describe_topology(topology))


def doctor(*, json: Json = False) -> None:
    """Show which features work on this host, and how to install the missing ones."""
    from pacelab.cli import listings
    from pacelab.doctor import examine

    features = examine()
    print_json(listings.doctor_document(features)) if json else print_table(listings.doctor_table(features))
    if any(feature.required and not feature.present for feature in features):
        raise click.exceptions.Exit(HostError.exit_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Output:
    """What a comparison prints and writes."""

    title: str
    name: str | None = None
    """The name of its folder."""
    out: Path | None
    json: bool
    quiet: bool
    y: Quantity | None = None
    cdf: bool = False


def _compare(base: Experiment, wanted: _Output, *, store: RunStore | None = None, **options: Any) -> Comparison:
    """Run a comparison and write its folder. `options` are the arguments of `pacelab.compare`."""
    from pacelab.grid.comparison import compare as compare_schemes
    from pacelab.running.cached import RunStore
    from pacelab.running.runner import write_safely

    store = store or RunStore(folder=UNFINISHED, until_done=True)
    with runs_bar(wanted.title, folder=store.folder, quiet=wanted.quiet) as on_done:
        comparison = compare_schemes(base, **options, store=store, on_done=on_done)
    if wanted.y is not None:
        comparison = comparison.with_quantity(wanted.y.name)
    folder = write_safely(lambda out: comparison.write(out, name=wanted.name, cdf=wanted.cdf), wanted.out)
    if wanted.json:
        print_json({"compare": comparison.compare, "host": comparison.host})
    elif not wanted.quiet:
        from pacelab.figures.tables import comparison_table, comparison_title, quantity_table

        table = comparison_table(comparison) if wanted.y is None else quantity_table(comparison)
        print_table(table, title=comparison_title(comparison))
    if not wanted.quiet:
        name = "goodput" if wanted.y is None else wanted.y.short
        names = (name, f"{name}-cdf") if wanted.cdf else (name,)
        figures = [folder / f"{one}.{form}" for one in names for form in ("png", "svg")]
        written = " and ".join(str(figure) for figure in figures if figure.exists())
        _report(comparison.compare["notes"], f"results in {folder}" + (f", figures: {written}" if written else ""))
    exit_on_failed_hooks(sum(row["hooks_failed"] for row in comparison.rows))
    return comparison


def _check_counted(single: Mapping[str, Any]) -> None:
    """Raise ConfigError if a duration is given for runs that end after a number of packets."""
    if "duration_s" in single:
        raise ConfigError(
            f"--seconds {single['duration_s']:g} cannot be combined with --full: with --full, a run ends after a fixed "
            "number of packets; leave one of the two out"
        )


def _check_calls(quantity: Quantity | None, base: Experiment, axes: Mapping[str, Sequence[Any]]) -> None:
    """Raise ConfigError if `quantity` is one of calls, but no point has a call."""
    if quantity is None or not quantity.of_calls:
        return
    from pacelab.figures.tables import BASELINE
    from pacelab.grid.grid import Grid

    points = Grid.of(base, schemes=[BASELINE], axes=axes, seeds=1).experiments()
    if not any(flow.call is not None for experiment in points for flow in experiment.flows):
        raise ConfigError(f"--y {quantity.short} needs voice calls; add some, for example with --traffic voice")


def _capture(path: Path | None, snap: str | None, garbled: bool) -> PcapFile | None:
    if path is None:
        if snap is not None or garbled:
            raise ConfigError("--pcap-snap and --pcap-garbled need --pcap FILE")
        return None
    snap_bytes = SNAP_BYTES if snap is None else parse_one("--pcap-snap", snap, SNAPS)
    capture = PcapFile(path=path, snap_bytes=snap_bytes, garbled=garbled)
    capture.check()
    return capture


def _report(notes: Sequence[str], result: str) -> None:
    for note in notes:
        log(f"note: {note}")
    log(result)


def exit_on_failed_hooks(failed: int) -> None:
    """Exit with an error if a hook failed: an exception in a registered scheme is a bug, even though the
    run continued.
    """
    if failed:
        raise click.exceptions.Exit(PaceLabError.exit_code)


OWN = "your file that the stored run used"
MADE_BY = ("pacelab", "python", "machine")
"""Keys of host.json whose values can change the result of a configuration and seed."""


def rerun(  # noqa: PLR0913  the command line makes options of them
    folder: Annotated[Path, Argument(metavar="FOLDER", help="the result folder of a run")],
    *,
    seed: Annotated[str | None, Option("--seed", metavar="N", help="use another seed than the stored run")] = None,
    topology: Annotated[str | None, Option("--topology", metavar="FILE", help=OWN)] = None,
    traffic: Annotated[str | None, Option("--traffic", metavar="FILE", help=OWN)] = None,
    scheme: Annotated[str | None, Option("--scheme", metavar="FILE.py:NAME", help=OWN)] = None,
    cc: Annotated[str | None, Option("--cc", metavar="FILE.py:NAME", help=OWN)] = None,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Repeat a stored run and report whether the result is identical. The exit code is 1 if it differs."""
    from pacelab.results.results import load_result
    from pacelab.running.runner import run as run_experiment

    before = load_result(folder)
    config = before.run["config"]
    own = {"topology": topology, "traffic": traffic, "scheme": scheme, "cc": cc}
    try:
        request = request_of(config, {name: file for name, file in own.items() if file is not None})
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"result {str(folder)!r}: its config was changed or is damaged ({error!r})") from None
    if seed is not None:
        request = {**request, "seed": parse_one("--seed", seed, BY_FIELD["seed"].domain)}
    experiment = Experiment(**request)
    check_destination(out)
    with progress_bar(f"{config['topology']}, {config['scheme']}", quiet=quiet) as on_progress:
        after = run_experiment(experiment, on_progress=on_progress)
    hand_over(after, out, json=json, quiet=quiet)
    if experiment.backend == "sim" and experiment.seed == config["seed"] and not _is_same(before, after, folder):
        raise click.exceptions.Exit(1)
    exit_on_failed_hooks(after.run["hooks"]["failed"])


def _is_same(before: RunResult, after: RunResult, folder: Path) -> bool:
    """Whether both are identical; prints a line that says so."""
    old, new = before.files(), after.files()
    settings = [f"config's {name}" for name in _differing(before.run["config"], after.run["config"])]
    parts = [f"run.json's {name}" for name in _differing(before.run, after.run) if name != "config"]
    tables = [name for name in _differing(old, new) if name.endswith(".csv")]
    if differ := settings or [*parts, *tables]:
        makers = [
            f"{name} was {before.host.get(name)}" for name in MADE_BY if name in _differing(before.host, after.host)
        ]
        log("; ".join([f"not the same result as {folder}: {', '.join(differ)}", *makers]))
    else:
        log(f"the same result as {folder}, to the byte")
    return not differ


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [name for name in {**before, **after} if before.get(name) != after.get(name)]
