"""The cells on real hosts: the same experiment on a real back end, or what such a run gave where it was recorded.

A recording is run.json and host.json of runs on a real back end, one JSON file in `recorded/`, written by
`python labs/record.py` on a host that has the back end. A simulated run never becomes a recording, nor does one that
says of itself that it is not valid.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pacelab.errors import ConfigError, HostError, PaceLabError
from pacelab.experiment import Experiment
from pacelab.lab.back_ends import found_back_ends
from pacelab.lab.table import Table
from pacelab.options import BY_FIELD
from pacelab.runner import run
from pacelab.tables import show_name, show_value

REAL = ("tap", "hwsim")
"""Back ends with real hosts, the one that needs less first."""
FOLDER = Path(__file__).parent / "recorded"
LIVE_S = 6.0
"""Real time passes as it does: a notebook does not wait longer for each experiment, unless asked to."""
HEADER = ("experiment", "where", "goodput per flow (kbit/s)", "sum (kbit/s)", "fidelity")

KEPT = ("config", "flows", "totals", "drops", "fidelity")
"""Of run.json, in a recording."""

Row = tuple[Any, ...]


def on_real_hosts(name: str, *experiments: Experiment, seconds: float = LIVE_S) -> Table:
    """Run the experiments on a real back end beside `sim`, where this host has one; else show recording `name`.

    A live run lasts `seconds` at most. The table has goodput per flow in kbit/s and says where each line comes from.
    """
    found = found_back_ends()
    back_end = next((end for end in REAL if end in found and found[end].present and _accepts(end)), None)
    if back_end is None:
        how = "; ".join(f"{end}: {found[end].mend}" for end in REAL if end in found)
        return _recorded(name, experiments, f"No real back end on this host. To get one: {how}")
    try:
        return _live(back_end, [vary_length(experiment, seconds) for experiment in experiments])
    except PaceLabError as error:
        return _recorded(name, experiments, f"Running on {back_end} failed: {error}")


def vary_length(experiment: Experiment, seconds: float) -> Experiment:
    """The experiment, of at most so many seconds."""
    return experiment.vary(duration_s=min(experiment.duration_s, seconds))


def record(name: str, back_end: str, experiments: tuple[Experiment, ...], folder: Path = FOLDER) -> Path:
    """Run on a real back end and keep what it gave; returns the file.

    Raises ConfigError for a back end without real hosts, HostError when a run is not valid: the host was too busy.
    """
    if back_end not in REAL:
        raise ConfigError(f"recording on {back_end!r}: allowed is one of {', '.join(REAL)}; simulations are rerun")
    results = [run(experiment.vary(backend=back_end)) for experiment in experiments]
    for result in results:
        if result.run["fidelity"] != "valid":
            raise HostError(f"recording {name!r}: a run was {result.run['fidelity']}: let this host do nothing else")
    kept = ("pacelab", "system", "release", "machine", "cores", "started_utc")
    document = {
        "version": 1,
        "name": name,
        "backend": back_end,
        "host": {key: results[0].host[key] for key in kept},
        "runs": [{key: result.run[key] for key in KEPT} for result in results],
    }
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.json"
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return file


def read_recording(name: str, folder: Path | None = None) -> dict[str, Any] | None:
    """The recording called `name`, None when there is none."""
    file = (folder or FOLDER) / f"{name}.json"
    if not file.is_file():
        return None
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


def _live(back_end: str, experiments: list[Experiment]) -> Table:
    rows: list[Row] = []
    for experiment, what in zip(experiments, _names(experiments), strict=True):
        rows.append(_row(what, "sim", run(experiment).run))
        rows.append(_row(what, f"{back_end}, now", run(experiment.vary(backend=back_end)).run))
    lengths = sorted({f"{experiment.duration_s:g} s" for experiment in experiments})
    return Table(HEADER, rows, f"Real hosts on this computer, in real time, {', '.join(lengths)} each.")


def _recorded(name: str, experiments: tuple[Experiment, ...], why: str) -> Table:
    names = _names(list(experiments))
    rows = [_row(what, "sim, now", run(experiment).run) for what, experiment in zip(names, experiments, strict=True)]
    recording = read_recording(name)
    if recording is None:
        return Table(HEADER, rows, f"{why}. No real run of {name!r} was recorded yet.")
    where = f"{recording['backend']}, recorded {recording['host']['started_utc'][:10]}"
    for what, given in zip(names, recording["runs"], strict=True):
        rows.append(_row(what, where, given))
    host = recording["host"]
    note = f"{why}. Recorded on {host['system']} {host['release']}, {host['machine']}, {host['cores']} cores."
    return Table(HEADER, sorted(rows, key=lambda row: names.index(row[0])), note)


def _row(what: str, where: str, given: dict[str, Any]) -> Row:
    rates = [flow["goodput_bps"] / 1000 for flow in given["flows"]]
    return what, where, " + ".join(f"{rate:.0f}" for rate in rates), sum(rates), given["fidelity"]


def _names(experiments: list[Experiment]) -> list[str]:
    """The topology of each experiment, and in what they differ."""
    configs = [experiment.config() for experiment in experiments]
    differ = [key for key in configs[0] if any(config.get(key) != configs[0][key] for config in configs)]
    return [
        ", ".join([config["topology"], *(f"{show_name(key)} {show_value(key, config[key])}" for key in differ)])
        for config in configs
    ]


def _accepts(back_end: str) -> bool:
    """Whether an experiment may name this back end at all."""
    try:
        BY_FIELD["backend"].check(back_end)
    except PaceLabError:
        return False
    return True
