"""The cells "on real hosts": an experiment on a real back end, or its recorded result if the host has no such back end.

A recording is a line of `recorded.json` with parts of run.json and host.json. `python labs/record.py` writes it on a
host that has the back end. For each experiment it keeps the run with the median goodput and the goodput of all runs. A
simulated run and a run whose fidelity is not "valid" never become a recording.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pacelab.doctor import Feature, examine
from pacelab.domains import Real
from pacelab.errors import ConfigError, HostError, PaceLabError
from pacelab.experiment.experiment import Experiment
from pacelab.experiment.from_text import find_option
from pacelab.figures.tables import show_name, show_value
from pacelab.options.arguments import checked, list_of, optional
from pacelab.options.settings import OMITTED_DEFAULTS
from pacelab.results.folder import write_file
from pacelab.results.results import RunResult
from pacelab.running.runner import run
from pacelab_labs.picture import Table

_PREFIX = "back end "
_WHAT = {
    "sim": "simulates in virtual time; runs all cells except those under 'On real hosts'",
    "tap": "real Linux hosts on this machine, connected by PaceLab's simulated channel",
    "hwsim": "real Linux hosts with Linux's own Wi-Fi stack, connected by PaceLab's simulated channel",
}


def found_back_ends() -> dict[str, Feature]:
    """Back end -> what `pacelab doctor` reports about it on this host."""
    return {feature.name.removeprefix(_PREFIX): feature for feature in examine() if feature.name.startswith(_PREFIX)}


def back_ends() -> Table:
    """A table of the back ends: whether this host has them, and the command that installs missing parts."""
    rows = [
        (name, _WHAT.get(name, ""), feature.present, feature.detail if feature.present else feature.remedy)
        for name, feature in found_back_ends().items()
    ]
    return Table(("back end", "what it is", "here", "detail, or how to get it"), rows)


REAL = ("tap", "hwsim")
"""Back ends with real hosts. The one with fewer requirements comes first."""
FILE = Path(__file__).with_suffix(".json")
LIVE_S = 6.0
"""The most seconds per experiment, because a run on real hosts takes real time."""
HEADER = (
    *("experiment", "where", "goodput per flow (kbit/s)", "sum (kbit/s)", "least to most", "round trip (ms)"),
    "fidelity",
)
REPEATS = 3
"""Runs of each experiment in a recording, with seeds 1, 2, ..., because real runs differ from each other."""
TRIES = 5
"""The number of tries if the host is too busy for a valid run."""

KEPT = ("config", "flows", "totals", "drops", "fidelity", "guest")
"""The keys of run.json that a recording keeps."""

OWN = ("backend", "backend_options", "duration_s", "seed")
"""The options in which a recording may differ from its experiment. The note shows the duration."""

VERSION = 3
"""The version of the file format."""

Row = tuple[Any, ...]
Recording = dict[str, Any]


@checked(experiments=list_of(Experiment, 1), seconds=optional(Real(0, 1_000_000, above=True)))
def on_real_hosts(name: str, *experiments: Experiment, seconds: float | None = None) -> Table:
    """The experiments on `sim`, on this host's real back end if it has one, and recording `name` of the others.

    A live run lasts `seconds` at most (default: LIVE_S). The table has goodput per flow in kbit/s and says where each
    line comes from.
    """
    found = found_back_ends()
    asked = {experiment.backend for experiment in experiments} - {"sim"}
    usable = [end for end in REAL if end in found and found[end].present and asked <= {end}]
    back_end = next(iter(usable), None)
    if back_end is None:
        needed = {end: found[end] for end in REAL if end in found and asked <= {end}}
        return _recorded(name, experiments, f"{_why_no_back_end(needed)}. There: {command(experiments[0])}")
    try:
        longest_s = LIVE_S if seconds is None else seconds
        return _live(name, back_end, [vary_length(experiment, longest_s) for experiment in experiments])
    except PaceLabError as error:
        return _recorded(name, experiments, f"Running on {back_end} failed: {error}")


def _why_no_back_end(found: Mapping[str, Feature]) -> str:
    if sys.platform == "emscripten":
        return "A browser has no real hosts. Use a computer or a virtual machine with Linux"
    how = "; ".join(f"{end}: {found[end].remedy}" for end in REAL if end in found)
    return f"No real back end on this host. To get one: {how}"


def command(experiment: Experiment) -> str:
    """The command that runs this experiment between real hosts."""
    request = {"backend": REAL[0], **experiment.request}
    topology = str(request.pop("topology", experiment.topology))
    words = ["sudo", "pacelab", "run", topology]
    if (scheme := request.pop("scheme", None)) is not None:
        words += ["--scheme", str(scheme)]
    options = request.pop("topology_options", {})
    for name, value in (*options.items(), *request.items()):
        option = find_option(topology, name)
        words += [option.flag, option.domain.show(value)]
    return shlex.join(words)


def vary_length(experiment: Experiment, seconds: float) -> Experiment:
    """The experiment with at most this duration."""
    return experiment.vary(duration_s=min(experiment.duration_s, seconds))


def record(
    name: str,
    back_end: str,
    experiments: tuple[Experiment, ...],
    file: Path | None = None,
    *,
    where: str = "here",
    repeats: int = REPEATS,
) -> Path:
    """Run on a real back end, `repeats` times with seeds 1, 2, ..., and keep the results; returns the file.

    Raises ConfigError for a back end without real hosts, and HostError if the host was too busy for valid runs.
    """
    if back_end not in REAL:
        raise ConfigError(
            f"a recording's back end must be one of {', '.join(REAL)}, not {back_end!r}; simulations need no recording"
        )
    runs: list[dict[str, Any]] = []
    host: dict[str, Any] = {}
    for experiment in experiments:
        tried = experiment.vary(backend=back_end, where=where)
        results = sorted(
            (_valid_run(name, tried.vary(seed=1 + number)) for number in range(repeats)),
            key=lambda result: result.goodput_bps,
        )
        median = results[(repeats - 1) // 2]
        kept = {key: value for key, value in median.run.items() if key in KEPT}
        runs.append(kept | {"goodputs_bps": [result.goodput_bps for result in results]})
        host = host or {key: value for key, value in results[0].host.items() if key in _HOST}
    recording = {"name": name, "backend": back_end, "where": where, "host": host, "runs": runs}
    file = file or FILE
    kept_before = {end: read_recordings(end, file) for end in REAL}
    kept_before[back_end][name] = recording
    write_file(file, render_recordings(kept_before))
    return file


_HOST = ("pacelab", "system", "release", "machine", "cores", "started_utc")


def _valid_run(name: str, experiment: Experiment) -> RunResult:
    for _ in range(TRIES):
        result = run(experiment)
        if result.run["fidelity"] == "valid":
            return result
    raise HostError(
        f"recording {name!r}: {TRIES} runs were not valid, the last one was {result.run['fidelity']}; "
        "stop other programs on this host and try again"
    )


def read_recordings(back_end: str, file: Path | None = None) -> dict[str, Recording]:
    """The back end's recordings by name; empty if there are none."""
    file = file or FILE
    if not file.is_file():
        return {}
    document = json.loads(file.read_text(encoding="utf-8"))
    if document["version"] != VERSION:
        raise ConfigError(
            f"{file}: version must be {VERSION}, not {document['version']}; record again with labs/record.py"
        )
    return {recording["name"]: recording for recording in document["recordings"] if recording["backend"] == back_end}


def render_recordings(recordings: Mapping[str, Mapping[str, Recording]]) -> bytes:
    """The text of the file (back end -> name -> recording): one line each, ordered by name."""
    ordered = sorted((name, end) for end, named in recordings.items() for name in named)
    lines = [json.dumps(recordings[end][name], separators=(",", ":")) for name, end in ordered]
    return (f'{{"version":{VERSION},"recordings":[\n' + ",\n".join(lines) + "\n]}\n").encode()


def expected_results(plans: Mapping[str, Sequence[Experiment]]) -> str:
    """The results that these cells (cell -> its experiments) show, as Markdown: `sim`, and the recordings of each back
    end.

    The table has goodput per flow in kbit/s; of a recording, the median run, and the smallest and largest sum of its
    runs.
    """
    lines = [f"| cell | experiment | sim | {' | '.join(REAL)} |", "|---|---|---|" + "---|" * len(REAL)]
    for name, experiments in plans.items():
        given = [read_recordings(end).get(name) for end in REAL]
        for number, (what, experiment) in enumerate(zip(names_of(experiments), experiments, strict=True)):
            sim = [_row(what, "sim", run(experiment).run)] if experiment.backend == "sim" else [("", "", "-", 0, "-")]
            rows = list(sim)
            rows += [
                _row(what, "", document["runs"][number]) if document else ("", "", "-", 0, "-") for document in given
            ]
            cells = [rates if spread == "-" else f"{rates} ({spread})" for _, _, rates, _, spread, *_ in rows]
            lines.append(f"| {name} | {what} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _live(name: str, back_end: str, experiments: list[Experiment]) -> Table:
    names = names_of(experiments)
    given = [run(experiment.vary(backend=back_end)).run for experiment in experiments]
    rows = _rows_of_sim(experiments, names)
    rows += [_row(what, f"{back_end}, now", one) for what, one in zip(names, given, strict=True)]
    lengths = sorted({f"{experiment.duration_s:g} s" for experiment in experiments})
    note = f"sim and {back_end}: {', '.join(lengths)} each; {back_end}: real hosts on this computer, in real time."
    notes = dict.fromkeys(f"{back_end}: {said}." for one in given for said in one["notes"])
    return _with_recordings(name, experiments, rows, " ".join([note, *notes]), [end for end in REAL if end != back_end])


def _recorded(name: str, experiments: tuple[Experiment, ...], why: str) -> Table:
    rows = _rows_of_sim(list(experiments), names_of(experiments))
    return _with_recordings(name, experiments, rows, f"{why}.", REAL)


def _rows_of_sim(experiments: list[Experiment], names: list[str]) -> list[Row]:
    """Of those that the simulator can run."""
    pairs = zip(names, experiments, strict=True)
    return [_row(what, "sim, now", run(experiment).run) for what, experiment in pairs if experiment.backend == "sim"]


def _with_recordings(
    name: str, experiments: Sequence[Experiment], rows: list[Row], note: str, back_ends: Iterable[str]
) -> Table:
    names, notes = names_of(experiments), [note]
    for back_end in back_ends:
        recording = read_recordings(back_end).get(name)
        if recording is None:
            if any(experiment.backend in ("sim", back_end) for experiment in experiments):
                notes.append(f"No run of {name!r} on {back_end} was recorded yet.")
            continue
        where = f"{back_end}, recorded {recording['host']['started_utc'][:10]}"
        found = [_recorded_run(experiment, recording) for experiment in experiments]
        rows += [_row(what, where, given) for what, given in zip(names, found, strict=True) if given]
        if any(found):
            notes.append(_provenance(recording))
        other = [what for what, given in zip(names, found, strict=True) if not given]
        if other:
            notes.append(f"Recorded {back_end}: no run with the settings of {'; '.join(other)}.")
    rows.sort(key=lambda row: names.index(row[0]))
    return Table(HEADER, rows, " ".join(notes))


def _recorded_run(experiment: Experiment, recording: Recording) -> dict[str, Any] | None:
    """The recorded run of this experiment, or None if its cell has changed since the recording."""
    wanted = _asked(experiment.config())
    return next((given for given in recording["runs"] if _agree(_asked(given["config"]), wanted)), None)


def _asked(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a configuration, without those of `OWN`."""
    return {key: value for key, value in _flat({**config, "backend_options": {}}).items() if key not in OWN}


def _agree(given: Any, wanted: Any) -> bool:
    """Whether two configurations agree in every option that both have; newer versions have more options."""
    if isinstance(given, Mapping) and isinstance(wanted, Mapping):
        return all(_agree(given[key], wanted[key]) for key in given.keys() & wanted.keys())
    return bool(given == wanted)


def _provenance(recording: dict[str, Any]) -> str:
    """The host and the back end of a recording."""
    host, first = recording["host"], recording["runs"][0]
    guest = first.get("guest")
    on = (
        f"{guest['kernel']}, User-Mode Linux in virtual time"
        if guest
        else f"{host['system']} {host['release']}, {host['machine']}, {host['cores']} cores"
    )
    runs = len(first["goodputs_bps"])
    how = "a single run" if runs == 1 else f"the median of {runs} runs"
    return f"Recorded {recording['backend']}: {on}, {first['config']['duration_s']:g} s each, {how}."


def _row(what: str, where: str, given: Mapping[str, Any]) -> Row:
    rates = [flow["goodput_bps"] / 1000 for flow in given["flows"]]
    spread = [goodput / 1000 for goodput in given.get("goodputs_bps", ())]
    least_to_most = f"{min(spread):.0f} to {max(spread):.0f}" if len(spread) > 1 else "-"
    trips_ms = [1e3 * flow["rtt_mean_s"] for flow in given["flows"] if flow.get("rtt_mean_s") is not None]
    trip = " + ".join(f"{trip_ms:.0f}" for trip_ms in trips_ms) or "-"
    return what, where, " + ".join(f"{rate:.0f}" for rate in rates), sum(rates), least_to_most, trip, given["fidelity"]


def names_of(experiments: Sequence[Experiment]) -> list[str]:
    """The topology of each experiment and the options in which the experiments differ."""
    configs = [_flat(experiment.config()) for experiment in experiments]
    shared = [key for key in configs[0] if all(key in config for config in configs)]
    differ = [key for key in shared if any(config[key] != configs[0][key] for config in configs)]
    return [
        ", ".join([str(config["topology"]), *(f"{show_name(key)} {show_value(key, config[key])}" for key in differ)])
        for config in configs
    ]


_NESTED = ("topology_options", "scheme_options", "cc_options", "backend_options")


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with the options of topology, scheme, congestion control and back end among the others, and with
    the defaults that a configuration leaves out.
    """
    nested = [config[key] for key in _NESTED if key in config]
    flat = {**OMITTED_DEFAULTS, **config, **dict.fromkeys(_NESTED)}
    return flat | {key: value for options in nested for key, value in options.items()}


# Stock wmediumd: its recorded results, and our medium's results for the same cases.

_STOCK = (
    "stock wmediumd in interference mode under Mininet-WiFi, UDP of 8 Mbit/s offered to each sender, IBSS at 6 Mbit/s; "
    "Mininet-WiFi 2.7 (commit eaa5accb), wmediumd branch mininet-wifi, Linux 6.1 (Debian 12) in a VM without KVM"
)
# Case, goodput of each sender alone and of both together in Mbit/s, retries.
_STOCK_CASES = (
    ("hidden A->B<-C", (5.44, 5.42), (3.02, 2.91), 0),
    ("all in range", (5.55, 5.56), (2.92, 2.74), 0),
    ("exposed A<-B C->D", (5.53, 5.54), (2.88, 2.93), 0),
    ("pairs 2 km apart", (5.54, 5.54), (2.99, 2.71), 0),
)
# The same cases for our medium, in the order of the recording. Pairs 5 km apart do not affect each other.
_CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("shared", {"apart": 400.0, "sense": 250.0}),
    ("back-to-back", {"apart": 10.0, "link": 10.0}),
    ("back-to-back", {"apart": 200.0}),
    ("in-line", {"apart": 2000.0}),
)


def stock_wmediumd() -> Table:
    """Goodput in Mbit/s of two senders alone and together: stock wmediumd as recorded, ours now, RTS off."""
    alone = _sum_mbps(_run("in-line", {"apart": 5000.0})) / 2
    rows = []
    for (case, alone_mbps, together_mbps, retries), (layout, options) in zip(_STOCK_CASES, _CASES, strict=True):
        ours = _run(layout, options)
        stock_alone = sum(alone_mbps) / len(alone_mbps)
        stock_sum = sum(together_mbps)
        rows.append(
            (
                case,
                f"{stock_sum:.2f} = {stock_sum / stock_alone:.2f} x",
                retries,
                f"{_sum_mbps(ours):.2f} = {_sum_mbps(ours) / alone:.2f} x",
                sum(node["retries"] for node in ours.run["nodes"]),
            )
        )
    header = ("case", "stock: both together", "retries", "ours: both together", "retries in 10 s")
    note = (
        f"Mbit/s, and as a multiple of one sender alone. Stock: {_STOCK}. "
        "Ours: sim, 802.11g at 6 Mbit/s, saturated UDP, preset ns2, RTS off, 10 s, seed 1."
    )
    return Table(header, rows, note)


def _run(layout: str, options: dict[str, float]) -> RunResult:
    net = {"layout": layout, **options}
    return run(
        Experiment(
            topology="pairs", topology_options=net, phy="802.11g", rate_bps=6_000_000, rts=False, duration_s=10.0
        )
    )


def _sum_mbps(result: RunResult) -> float:
    return result.goodput_bps / 1e6
