"""Writes the results of run_examples.py to docs/mininet-wifi.md and hwsim-examples.csv: tabulate_examples.py STOCK
OURS.
"""

import csv
import json
import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
NETWORK = ("example", "asks", "medium", "starts", "why", "wmediumd", "pair")
SEEN = ("channel", "ping", "rtt", "kbps", "counters")
BEGIN, END = "<!-- examples: tests/vm/tabulate_examples.py -->", "<!-- end -->"


def read(path: Path) -> dict[str, dict[str, object]]:
    """The rows of one medium, by example."""
    rows = (json.loads(line) for line in path.read_text().splitlines()) if path.exists() else ()
    return {str(row["example"]): row for row in rows}


def seen(row: dict[str, object] | None) -> str:
    """The probe's results as a cell."""
    if row is None:
        return "not run"
    if not row["starts"]:
        return "does not start"
    if "probe" in row:
        return "starts; the probe failed"
    if len(row["pair"]) < 2 or row["pair"][1].startswith("ap"):
        return "one station"
    counted = re.search(r"(\d+) packets transmitted, (\d+) received", str(row["ping"]))
    pings = f"{counted[2]} of {counted[1]}" if counted else "none"
    failures = row["counters"]
    told = f"; {failures['tx retries']} retries, {failures['tx failed']} failed" if failures else ""
    return f"{pings}, {row['kbps']:.0f} kbit/s{told}"


def main() -> None:
    """Write both files."""
    stock, ours = (read(Path(path)) for path in sys.argv[1:3])
    names = sorted(stock | ours, key=lambda name: (not (stock.get(name) or ours[name])["asks"], name))
    with (DOCS / "hwsim-examples.csv").open("w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(NETWORK + SEEN)
        for name in names:
            for row in (rows[name] for rows in (stock, ours) if name in rows):
                cells = (row.get(key, "") for key in NETWORK + SEEN)
                table.writerow([json.dumps(cell) if isinstance(cell, list | dict) else cell for cell in cells])
    lines = ["| example | stock wmediumd | mediumd |", "|---|---|---|"]
    silent, failing = [], []
    for name in names:
        row = stock.get(name) or ours[name]
        if not row["starts"]:
            failing.append((name, row["why"]))
        elif not row.get("wmediumd", row["asks"]):
            silent.append(name)
        else:
            lines.append(f"| `{name}` | {seen(stock.get(name))} | {seen(ours.get(name))} |")
    if silent:
        names_told = ", ".join(f"`{name}`" for name in silent)
        lines += ["", f"These examples start no wmediumd, so the program makes no difference: {names_told}."]
    lines += ["", "| does not start | last message |", "|---|---|"]
    lines += [f"| `{name}` | {why.replace('|', '/')} |" for name, why in failing]
    page = DOCS / "mininet-wifi.md"
    before, _, rest = page.read_text().partition(BEGIN)
    if not rest:
        sys.exit(f"{page}: the line {BEGIN} is missing")
    page.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
