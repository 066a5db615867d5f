"""SHA-256 digests of whole results: run.json, its sentences, the series, and the capture.

    python tests/conformance/digests.py      rewrites tests/data/digests.csv

Run this when a scheme or a topology is new, or when a change is meant to change results: then give the reason in the
commit message. A digest says that something changed. It does not say what is right: the tests with values from the
standard, the papers, and other simulators do.

The sentences of run.json (its notes and the topology's description) have a column of their own, so that a new wording
does not look like a new result.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pacelab import Experiment
from pacelab.errors import ConfigError
from pacelab.results.folder import PcapFile
from pacelab.results.results import dump
from pacelab.running.runner import run
from pacelab.schemes import SCHEMES
from pacelab_topologies.registry import KINDS

RECORDED = Path(__file__).parents[1] / "data/digests.csv"
PARTS = ("run", "sentences", "series", "capture")
SECONDS = 4.0
NEEDED: dict[str, dict[str, Any]] = {
    "fixed-rate": {"pace_rate_bps": 300_000},
    "vagp-fixed": {"pace_rate_bps": 300_000},
}
"""Scheme -> options that it requires."""
CALLS: dict[str, Any] = {"traffic": "mixed", "topology_options": {"voice": 2, "tcp": 1}}
"""For topologies with these options."""
VARIED: tuple[dict[str, Any], ...] = (
    {"direction": "down"},
    {"traffic": "voice"},
    {"traffic": "cbr"},
    {"traffic": "http"},
    {"routing": "aodv"},
    {"radio": "standard"},
    {"radio": "sinr"},
    {"phy": "802.11g"},
    # Slow MCSs, since a capture has each packet of an aggregate as a frame.
    {"phy": "802.11n", "mcs": 9, "width_mhz": 40, "band_ghz": "2.4"},
    {"phy": "802.11ac", "mcs": 0, "width_mhz": 80, "streams": 2, "gi": "short"},
    {"phy": "802.11ax", "mcs": 0, "width_mhz": 80, "ampdu_frames": 256, "queue_pkts": 300},
    {"phy": "802.11ax", "mcs": 2, "gi": "3.2", "radio": "sinr"},
    {"rts": False},
    {"cc": "cubic", "ack": "dynamic"},
    {"cc": "few", "few_alpha": 0.05},
    {"cc": "bbr", "window_pkts": 64},
    {"cc": "cubic", "sack": True, "window_pkts": 64},
    {"edca": True, **CALLS},
    {"seed": 2, "warmup_s": 1.0, "stop_after_pkts": 200, "batch_pkts": 50},
)


def cases() -> Iterator[dict[str, Any]]:
    """Every scheme on every topology that accepts it, with TCP and with calls beside it; then one option at a time."""
    for topology in KINDS:
        for scheme in SCHEMES:
            for traffic in ({"traffic": "tcp"}, CALLS):
                yield {"topology": topology, "scheme": scheme, **traffic, **NEEDED.get(scheme, {})}
        yield from ({"topology": topology, **options} for options in VARIED)


def accepted(case: dict[str, Any]) -> bool:
    try:
        Experiment(**case, duration_s=SECONDS)
    except ConfigError:
        return False
    return True


def digests(case: dict[str, Any], folder: Path) -> dict[str, str]:
    """Part of the result -> the first 16 digits of its SHA-256. Only the baseline's runs write a capture."""
    pcap = PcapFile(path=folder / "run.pcapng") if "scheme" not in case else None
    result = run(Experiment(**case, duration_s=SECONDS), pcap=pcap)
    numbers, sentences = split_sentences(result.run)
    parts = {
        "run": dump(numbers),
        "sentences": dump(sentences),
        "series": b"".join(content for name, content in result.files().items() if name.endswith(".csv")),
        "capture": pcap.path.read_bytes() if pcap else b"",
    }
    return {name: hashlib.sha256(content).hexdigest()[:16] if content else "" for name, content in parts.items()}


def split_sentences(run: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """run.json without its sentences, and the sentences."""
    topology = dict(run["topology"])
    sentences = {"notes": run["notes"], "description": topology.pop("description")}
    return {key: topology if key == "topology" else run[key] for key in run if key != "notes"}, sentences


def main() -> None:
    from concurrent.futures import ProcessPoolExecutor  # the browser's Python has no processes

    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter).parse_args()
    todo = [case for case in cases() if accepted(case)]
    with ProcessPoolExecutor() as pool, RECORDED.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["case", *PARTS])
        for case, found in zip(todo, pool.map(digests_in_fresh_folder, todo, chunksize=4), strict=True):
            rows.writerow([json.dumps(case), *found.values()])


def digests_in_fresh_folder(case: dict[str, Any]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        return digests(case, Path(folder))


if __name__ == "__main__":
    main()
