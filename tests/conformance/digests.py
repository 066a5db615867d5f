"""What results are made of, by SHA-256: flows, totals and drops of run.json, the series, the capture.

    python tests/conformance/digests.py      writes tests/data/digests.csv anew

That is for the day a change is meant to change results; the commit then says why. All else keeps their bytes.
"""

from __future__ import annotations

import csv
import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pacelab import Experiment
from pacelab.errors import ConfigError
from pacelab.results.folder import PcapFile
from pacelab.results.results import dump
from pacelab.running.runner import run
from pacelab.schemes import SCHEMES
from pacelab.topologies.registry import KINDS

RECORDED = Path(__file__).parents[1] / "data/digests.csv"
PARTS = ("run", "series", "capture")
SECONDS = 4.0
NEEDED: dict[str, dict[str, Any]] = {
    "fixed-rate": {"pace_rate_bps": 300_000},
    "vagp-fixed": {"pace_rate_bps": 300_000},
}
"""Scheme -> options that it cannot do without."""
CALLS: dict[str, Any] = {"traffic": "mixed", "topology_options": {"voice": 2, "tcp": 1}}
"""Where the topology has them."""
VARIED: tuple[dict[str, Any], ...] = (
    {"direction": "down"},
    {"traffic": "voice"},
    {"traffic": "cbr"},
    {"traffic": "http"},
    {"routing": "aodv"},
    {"radio": "standard"},
    {"radio": "sinr"},
    {"phy": "802.11g"},
    {"rts": False},
    {"cc": "cubic", "ack": "dynamic"},
    {"cc": "few", "few_alpha": 0.05},
    {"edca": True, **CALLS},
    {"seed": 2, "warmup_s": 1.0, "stop_after_pkts": 200, "batch_pkts": 50},
)


def cases() -> Iterator[dict[str, Any]]:
    """Every scheme on every topology that takes it, with TCP and with calls beside it; then one option at a time."""
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
    """Part of the result -> the first 16 digits of its SHA-256; a capture is made of the baseline's runs."""
    pcap = PcapFile(path=folder / "run.pcapng") if "scheme" not in case else None
    result = run(Experiment(**case, duration_s=SECONDS), pcap=pcap)
    parts = {
        "run": dump({part: result.run[part] for part in ("flows", "totals", "drops")}),
        "series": b"".join(content for name, content in result.files().items() if name.endswith(".csv")),
        "capture": pcap.path.read_bytes() if pcap else b"",
    }
    return {name: hashlib.sha256(content).hexdigest()[:16] if content else "" for name, content in parts.items()}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, RECORDED.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["case", *PARTS])
        for case in filter(accepted, cases()):
            rows.writerow([json.dumps(case), *digests(case, Path(folder)).values()])


if __name__ == "__main__":
    main()
