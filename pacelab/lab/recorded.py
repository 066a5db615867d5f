"""The cells on real hosts: the same experiment on a real back end, or what such a run gave where it was recorded.

A recording is run.json and host.json of a run on a real back end, one JSON file in `recorded/`, written by
`python labs/record.py` on a host that has the back end. A simulated run never becomes a recording.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pacelab.errors import ConfigError, PaceLabError
from pacelab.experiment import Experiment
from pacelab.lab.back_ends import found_back_ends
from pacelab.lab.table import Table
from pacelab.options import BY_FIELD
from pacelab.runner import run
from pacelab.tables import show_name, show_value

REAL = ("tap", "hwsim")
"""Back ends with real hosts, the one that needs less first."""
FOLDER = Path(__file__).parent / "recorded"


def on_real_hosts(name: str, *experiments: Experiment) -> Table:
    """Run the experiments on a real back end beside `sim`, where this host has one; else show recording `name`.

    The table has goodput per flow in kbit/s and says where each line comes from.
    """
    found = found_back_ends()
    for back_end in REAL:
        feature = found.get(back_end)
        if feature is not None and feature.present and _accepts(back_end):
            return _live(back_end, experiments)
    recording = read_recording(name)
    how = "; ".join(f"{end}: {found[end].mend}" for end in REAL if end in found and not found[end].present)
    names = _names(experiments)
    rows = [_row(what, "sim, now", run(experiment).run) for what, experiment in zip(names, experiments, strict=True)]
    if recording is None:
        note = f"No real back end on this host ({how}), and no real run of {name!r} was recorded yet."
        return Table(_HEADER, rows, note)
    where = f"{recording['backend']}, recorded {recording['host']['started_utc'][:10]}"
    for what, given in zip(names, recording["runs"], strict=True):
        rows.append(_row(what, where, given))
    host = recording["host"]
    note = f"Recorded on {host['system']} {host['release']}, {host['machine']}. To run it here: {how}"
    return Table(_HEADER, rows, note)


def record(name: str, back_end: str, experiments: tuple[Experiment, ...], folder: Path = FOLDER) -> Path:
    """Run on a real back end and keep what it gave. ConfigError for a back end without real hosts."""
    if back_end not in REAL:
        raise ConfigError(f"recording on {back_end!r}: allowed is one of {', '.join(REAL)}; simulations are rerun")
    results = [run(experiment.vary(backend=back_end)) for experiment in experiments]
    document = {
        "version": 1,
        "name": name,
        "backend": back_end,
        "host": results[0].host,
        "runs": [result.run for result in results],
    }
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.json"
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return file


def read_recording(name: str, folder: Path = FOLDER) -> dict[str, Any] | None:
    """The recording called `name`, None when there is none."""
    file = folder / f"{name}.json"
    if not file.is_file():
        return None
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


_HEADER = ("experiment", "where", "goodput per flow (kbit/s)", "sum (kbit/s)", "fidelity")


def _live(back_end: str, experiments: tuple[Experiment, ...]) -> Table:
    rows: list[tuple[Any, ...]] = []
    note = ""
    for experiment, what in zip(experiments, _names(experiments), strict=True):
        rows.append(_row(what, "sim", run(experiment).run))
        try:
            rows.append(_row(what, back_end, run(experiment.vary(backend=back_end)).run))
        except PaceLabError as error:
            note = f"{back_end}: {error}"
    return Table(_HEADER, rows, note)


def _row(what: str, where: str, given: dict[str, Any]) -> tuple[Any, ...]:
    rates = [flow["goodput_bps"] / 1000 for flow in given["flows"]]
    return what, where, " + ".join(f"{rate:.0f}" for rate in rates), sum(rates), given["fidelity"]


def _names(experiments: tuple[Experiment, ...]) -> list[str]:
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
