"""Stores the runs of a study in a CSV file beside it: one line per run. Only missing runs are made."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

Key = tuple[str, ...]
Row = dict[str, str]


def only_table(study: str | None) -> bool:
    """Whether a study's command line has --table. With --help, it prints the docstring `study` and ends."""
    parser = argparse.ArgumentParser(description=study, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="print what is stored, without any run")
    return bool(parser.parse_args().table)


@dataclass(frozen=True)
class StoredRows:
    """A file of runs. The columns `keys` identify a run, the last of them is the seed; `values` were measured."""

    path: Path
    keys: tuple[str, ...]
    values: tuple[str, ...]

    def read(self) -> list[Row]:
        """All stored runs, in the order in which they were made."""
        if not self.path.exists():
            return []
        with self.path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def add_missing(self, cases: Iterable[tuple[Any, ...]], measure: Callable[..., Mapping[str, object]]) -> None:
        """Call `measure(*case)` for each case that the file lacks, and write each row before the next run starts."""
        done = {self._key(row) for row in self.read()}
        begun = self.path.exists()
        with self.path.open("a", encoding="utf-8", newline="") as file:
            rows = csv.DictWriter(file, (*self.keys, *self.values), lineterminator="\n")
            if not begun:
                rows.writeheader()
            for case in cases:
                if tuple(str(part) for part in case) not in done:
                    rows.writerow({**dict(zip(self.keys, case, strict=True)), **measure(*case)})
                    file.flush()

    def means(self) -> dict[Key, dict[str, float]]:
        """For each key without its seed: the mean of each value over the seeds that have one."""
        runs: dict[Key, list[Row]] = {}
        for row in self.read():
            runs.setdefault(self._key(row)[:-1], []).append(row)
        return {
            key: {name: mean(float(row[name]) for row in found if row[name]) for name in self.values}
            for key, found in runs.items()
        }

    def _key(self, row: Row) -> Key:
        return tuple(row[name] for name in self.keys)


def totals_of(run: Mapping[str, Any]) -> dict[str, object]:
    """Goodput, fairness, mean round trip of the flows that have one, and losses of a run.json."""
    totals = run["totals"]
    trips = [flow["rtt_mean_s"] for flow in run["flows"] if flow["rtt_mean_s"] is not None]
    return {
        "goodput_bps": round(totals["goodput_bps"]),
        "jain": round(totals["jain"] or 0.0, 4),
        "rtt_s": round(mean(trips), 4) if trips else "",
        "dropped_pkts": totals["dropped_pkts"],
    }
