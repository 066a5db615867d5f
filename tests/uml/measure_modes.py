"""Measures TCP in the modes of Mininet-WiFi over mediumd or another wmediumd: the rows of docs/hwsim-modes.csv.

    .venv/bin/python -m tests.uml.measure_modes --hostapd FILE --countries FILE [--with FILE ...] [--stock FILE]
        [--seeds 1,2]
    .venv/bin/python -m tests.uml.measure_modes --table

A station and an access point are 5 m apart. hostapd gets the lines that Mininet-WiFi (`mn_wifi/link.py`,
setHostapdConfig) writes for the mode. The kernel runs in a guest in virtual time, which lacks some programs of
Debian 12. Name them: hostapd, with `--with` its library libnl-route-3.so.200, and `regulatory.db-debian` of
wireless-regdb as regulatory.db. The stock wmediumd needs libevent-2.1.so.7 and libconfig.so.9. Rows that the file has
are not measured again.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from statistics import mean

from tests.uml.guest_script import run_script

ROWS = Path(__file__).parents[2] / "docs" / "hwsim-modes.csv"
GUEST = Path(__file__).with_name("modes_guest.py")
COLUMNS = ("medium", "mode", "seed", "mbps", "bitrate", "tx_packets", "tx_retries", "tx_failed")
SECONDS = 3
LIMIT_S = 1800
G, N = ["hw_mode=g", "channel=1"], ["wmm_enabled=1", "ieee80211n=1"]
A = ["country_code=US", "hw_mode=a", "channel=36"]
MODES: dict[str, dict[str, object]] = {
    "g": {"config": G},
    "n2": {"config": ["country_code=US", *G, *N]},
    "n": {"config": [*A, *N]},
    "n, MCS 7": {"config": [*A, *N], "rate": "ht-mcs-5 7"},
    "ac": {"config": [*A, *N, "ieee80211ac=1"]},
    "ax": {"config": ["country_code=DE", *A[1:], *N, "ieee80211ax=1"]},
}
"""n2 is 802.11n at 2.4 GHz."""


def measure(medium: str, program: Path | None, others: list[Path], seed: int) -> list[dict[str, object]]:
    """One run of all modes over PaceLab's medium, or over another `program`."""
    environment = ["/usr/bin/env", "LD_LIBRARY_PATH=/code"]
    settings: dict[str, object] = {
        "scenes": [{"network": "ap", "seconds": SECONDS, **mode} for mode in MODES.values()],
        "hostapd": [*environment, "/code/hostapd"],
    }
    if program is not None:
        settings["medium"] = [*environment, f"/code/{program.name}"]
    programs = (*others, *([program] if program else []))
    found = run_script(GUEST, 2, settings=settings, limit_s=LIMIT_S, programs=programs, seed=seed)
    rows: list[dict[str, object]] = []
    for mode, scene in zip(MODES, found["scenes"], strict=True):
        if "error" in scene:
            raise SystemExit(f"{medium}, mode {mode}: {scene}")
        counters = {name.replace(" ", "_"): value for name, value in scene.items() if name != "rates"}
        rows.append({"medium": medium, "mode": mode, "seed": seed, **counters})
    return rows


def read() -> list[dict[str, str]]:
    if not ROWS.exists():
        return []
    with ROWS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table() -> str:
    """The means over the seeds, as in docs/mininet-wifi.md."""
    rows = read()
    lines = ["| mode | stock wmediumd | mediumd | rate that Linux chose, mediumd |", "|---|---|---|---|"]
    for mode in MODES:
        of_mode = [row for row in rows if row["mode"] == mode]
        cells = []
        for medium in ("stock", "mediumd"):
            rates = [float(row["mbps"]) for row in of_mode if row["medium"] == medium]
            cells.append(f"{mean(rates):.1f}" if rates else "")
        chosen = {row["bitrate"] for row in of_mode if row["medium"] == "mediumd"}
        lines.append(f"| {mode} | {cells[0]} | {cells[1]} | {', '.join(sorted(chosen))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--hostapd", type=Path)
    parser.add_argument("--countries", type=Path, help="regulatory.db")
    parser.add_argument("--stock", type=Path, help="another wmediumd")
    parser.add_argument("--with", type=Path, nargs="*", default=[], dest="others", help="libraries")
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--table", action="store_true", help="print the means, without any run")
    options = parser.parse_args()
    if options.table:
        print(table())
        return
    if options.hostapd is None or options.countries is None:
        parser.error("--hostapd FILE and --countries FILE must be given")
    files = [options.hostapd, options.countries, *options.others]
    done = {(row["medium"], row["seed"]) for row in read()}
    media = [("mediumd", None), *([("stock", options.stock)] if options.stock else [])]
    for seed in options.seeds.split(","):
        for medium, program in media:
            if (medium, seed) in done:
                continue
            rows = measure(medium, program, files, int(seed))
            begun = ROWS.exists()
            with ROWS.open("a", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                if not begun:
                    writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main()
