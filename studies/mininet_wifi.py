"""Measures everything that docs/mininet-wifi.md says, on stock wmediumd and on mediumd, in virtual time.

sudo vm/mininet-wifi-folder FOLDER                     an installation of Mininet-WiFi, once (needs the internet)
.venv/bin/python studies/mininet_wifi.py run --wheel FILE FOLDER [CASE ...]     rows go to mininet_wifi.jsonl
.venv/bin/python studies/mininet_wifi.py page          writes the tables of the page from the rows

FOLDER is the root folder of a machine with Mininet-WiFi and the stock wmediumd on its PATH. Each case is one machine,
which boots, runs Mininet-WiFi as its user would, and ends. Its clock stops while programs compute (docs/uml.md), so the
rows do not depend on the host. The scripts and the commands are those of the page.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mininet_wifi_machine import Machine, Step

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "mininet-wifi.md"
ROWS = Path(__file__).with_suffix(".jsonl")
MEDIA = ("stock", "pacelab")
PYTHON = "mininet-wifi-python"
OURS = "mkdir -p /tmp/ours && cp /mnt/mediumd /mnt/wmediumd /tmp/ours && chmod 755 /tmp/ours/*"
OURS_FIRST = 'env PATH="/tmp/ours:$PATH" '
MARK = "=== "
"""Begins the line before the output of each command."""
SETTLE_S = 20
OWN_CHECKSUMS = "h1 ethtool -K h1-eth0 tx off > /dev/null"
"""Open vSwitch's datapath in user space passes on checksums that the wired host leaves to its interface."""
TYPED = "(echo source /tmp/commands; until [ -e /tmp/typed ]; do sleep 1; done)"
"""Input of Mininet-WiFi's command line. If the input ended sooner, Mininet would look for input without a pause while a
command runs, and the clock would hardly move.
"""
PROBE = "py __import__('runpy').run_path('/mnt/example_probe.py')['probe'](net, '/mnt/probe.json')"
ASKS = re.compile(r"link=wmediumd\b")
"""An example with a medium. (`link=wmediumd_802154` is another program.)"""
EXAMPLES = (
    "4address.py",
    "adhoc.py",
    "flightRadar24.py",
    "handover_bgscan.py",
    "ieee80211p.py",
    "mesh.py",
    "meshAP.py",
    "miniedit.py",
    "physicalMesh.py",
    "physicalWifiDirect.py",
    "radius/radiusCode.py",
    "replaying/replayingMobility.py",
    "satellite.py",
    "sflow.py",
    "sta_ap_mode.py",
    "sub_1ghz.py",
    "telemetry.py",
    "uav/demo-uav-routing-setup.py",
    "uav/uav.py",
    "userap_managed_mode.py",
    "vanet-sumo.py",
    "wifiDirect.py",
    "wmediumd_error_prob.py",
    "wmediumd_interference.py",
    "wmediumd_multimedium.py",
)
"""The examples of the pinned Mininet-WiFi that ask for a medium."""
EXAMPLE_LIMIT_S = 400
"""Virtual seconds."""

Row = dict[str, Any]


def page_text() -> str:
    return PAGE.read_text("utf-8")


def section(script: str) -> str:
    """The part of the page about a script of the page, up to the next heading."""
    begin = re.search(rf"Save\s+this\s+script\s+as\s+`{re.escape(script)}`", page_text())
    assert begin is not None, script
    return page_text()[begin.start() :].partition("\n## ")[0]


def script_text(script: str) -> str:
    found = re.search(r"```python\n(.*?)```", section(script), re.DOTALL)
    assert found is not None
    return found[1]


def commands(script: str) -> list[str]:
    """The commands that the page gives for the script's command line, in order."""
    return re.findall(r"^    ((?:sta|ap|h)\d .*)$", section(script), re.MULTILINE)


def install_commands() -> list[str]:
    """The page's commands that install the wheel, look for the program, start an example, and ask for the status."""
    part = page_text().partition("## Install it")[2].partition("<!-- measured")[0]
    return re.findall(r"^    (.*?)(?: +#.*)?$", part, re.MULTILINE)


def capture_commands() -> list[str]:
    """The page's commands that count RTS, retries and collisions in a capture."""
    return re.findall(r"^    (tshark .*?) +#", page_text(), re.MULTILINE)


def session(
    on: Machine,
    script: str,
    lines: Sequence[str],
    medium: str,
    *,
    keys: str = "",
    arguments: str = "",
    after: Sequence[str] = (),
) -> list[str]:
    """The output of each line that is typed at the script's command line, SETTLE_S after it appears.

    `keys`: settings of mediumd, as PACELAB_WMEDIUMD has them. `arguments`: those of the script. `after`: commands
    after the script has ended, whose output follows.
    """
    typed = [f"sh sleep {SETTLE_S}"]
    if "addHost" in script_text(script):
        typed.append(OWN_CHECKSUMS)
    for number, line in enumerate(lines):
        typed += [f"sh echo {MARK}{number}", line]
    typed += [f"sh echo {MARK}end", "sh touch /tmp/typed"]
    first = OURS_FIRST if medium == "pacelab" else ""
    settings = f"PACELAB_WMEDIUMD='{keys}' " if keys else ""
    outcome = on.run(
        [
            Step(command=f"cat > /tmp/commands; {OURS}", stdin="\n".join(typed) + "\n"),
            Step(
                command=f"{TYPED} | {settings}{first}{PYTHON} -W ignore /mnt/{script} {arguments}",
            ),
            *(Step(command=command) for command in after),
        ]
    )
    text, *rest = (step["output"] for step in outcome["steps"][1:])
    parts = re.split(rf"^.*{MARK}(?:\d+|end)\n", text, flags=re.MULTILINE)
    if len(parts) != len(lines) + 2:
        raise RuntimeError(text[-2000:])
    return [part.strip() for part in (*parts[1:-1], *rest)]


def iperf_mbps(text: str) -> dict[str, list[float]]:
    """The rates at the receiver that clients of iperf3 print, by the sender's address, in order."""
    factor = {"K": 1e-3, "M": 1.0, "G": 1e3, "": 1e-6}
    rates: dict[str, list[float]] = {}
    sender = ""
    for line in text.splitlines():
        if begun := re.search(r"\] local (\S+) port \d+ connected to", line):
            sender = begun[1]
        elif ended := re.search(r"Bytes +([\d.]+) ([KMG]?)bits/sec .* receiver", line):
            rates.setdefault(sender, []).append(round(float(ended[1]) * factor[ended[2]], 2))
    return rates


def counters(text: str) -> dict[str, int]:
    """Sums of the counters of `iw station dump` over all neighbours."""
    sums: dict[str, int] = {}
    for name, value in re.findall(r"(tx packets|tx retries|tx failed):\s+(\d+)", text):
        sums[name] = sums.get(name, 0) + int(value)
    return sums


def machine(folder: Path, wheel: Path) -> Machine:
    """The installation with mediumd, the page's scripts and the probe of the examples."""
    with zipfile.ZipFile(io.BytesIO(wheel.read_bytes())) as archive:
        programs = {
            name: archive.read(path)
            for path in archive.namelist()
            if (name := Path(path).name) in ("mediumd", "wmediumd")
        }
    scripts = {name: script_text(name).encode() for name in re.findall(r"as `(\w+\.py)`", page_text())}
    helpers = {
        "example_probe.py": (ROOT / "tests/vm/example_probe.py").read_bytes(),
        "shared_air.py": (ROOT / "bench/hosts/mininet_wifi.py").read_bytes(),
        wheel.name: wheel.read_bytes(),
    }
    return Machine(installation=folder, files=programs | scripts | helpers)


def check_examples(folder: Path) -> None:
    """Exit if the installation's examples with a medium are not EXAMPLES."""
    home = folder / "opt/mininet-wifi/examples"
    texts = {path: path.read_text(errors="replace") for path in sorted(home.rglob("*.py"))}
    found = tuple(str(path.relative_to(home)) for path, text in texts.items() if ASKS.search(text))
    if found != EXAMPLES:
        sys.exit(f"{home}: the examples with a medium are {', '.join(found)}; EXAMPLES names others")


def run_example(on: Machine, name: str, medium: str) -> Row:
    """Start an example as it is, headless and with `-p`, and ask its command line what the probe asks."""
    first = OURS_FIRST if medium == "pacelab" else ""
    outcome = on.run(
        [
            Step(command=f"cp -r /opt/mininet-wifi/examples /home/; cat > /tmp/commands; {OURS}", stdin=f"{PROBE}\n"),
            Step(
                command=f"{first}{PYTHON} -W ignore examples/{name} -p",
                stdin="source /tmp/commands\n",
                limit_s=EXAMPLE_LIMIT_S,
            ),
        ],
        read=["/mnt/probe.json"],
    )
    done = outcome["steps"][-1] if len(outcome["steps"]) == 2 else None
    text = done["output"] if done else outcome.get("outputs", {}).get("output-1", "")
    row: Row = {"ended": done is not None and done["code"] is not None}
    if "/mnt/probe.json" in outcome.get("files", {}):
        return row | {"probe": json.loads(outcome["files"]["/mnt/probe.json"])}
    return row | {"says": last_words(text)}


def last_words(text: str) -> str:
    """The last line of an output that reports a failure, or the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"Error|rror:|not found|install|refused|No such", line)]
    return (telling or lines or ["nothing"])[-1][:200]


def run_row(on: Machine, medium: str, keys: str = "") -> Row:
    """The page's row.py: sta1 alone, then both outer stations."""
    lines = commands("row.py")
    said = session(on, "row.py", lines, medium, keys=keys)
    dumps = [text for line, text in zip(lines, said, strict=True) if "station dump" in line]
    rates = iperf_mbps("\n".join(said))
    if len(rates.get("10.0.0.1", ())) != 2 or "10.0.0.3" not in rates:
        raise RuntimeError("\n".join(said))
    alone, together = (counters(text) for text in dumps)
    return {
        "alone_mbps": rates["10.0.0.1"][0],
        "together_mbps": [rates["10.0.0.1"][1], rates["10.0.0.3"][0]],
        "retries_alone": alone["tx retries"],
        "retries_together": together["tx retries"] - alone["tx retries"],
        "failed_alone": alone["tx failed"],
        "failed_together": together["tx failed"] - alone["tx failed"],
        "signal_dbm": int(re.findall(r"signal:\s+(-\d+)", dumps[0])[0]),
    }


def run_access_point(on: Machine, medium: str) -> Row:
    """The page's ap.py: each station alone sends to the host behind the access point."""
    stations = re.findall(r"\d+", re.findall(r"metres in enumerate\(\((.*?)\)", script_text("ap.py"))[0])
    server, *one = commands("ap.py")
    lines = [server]
    for number in range(1, len(stations) + 1):
        lines += [line.replace("sta1", f"sta{number}") for line in one]
    said = session(on, "ap.py", lines, medium)
    rates = iperf_mbps("\n".join(said))
    found = []
    for number, metres in enumerate(stations):
        text = "\n".join(said[1 + number * len(one) : 1 + (number + 1) * len(one)])
        signal = re.findall(r"signal:\s+(-\d+)", text)
        rate = re.findall(r"tx bitrate:\s+([\d.]+)", text)
        found.append(
            {
                "metres": int(metres),
                "signal_dbm": int(signal[-1]) if signal else None,
                "rate_mbps": float(rate[-1]) if rate else None,
                "mbps": rates.get(f"10.0.0.{number + 2}", [None])[0],
                **counters(text),
            }
        )
    return {"stations": found}


def run_install(on: Machine, medium: str) -> Row | None:
    """The page's commands from the wheel to a network: what `which` finds, and the status while the network runs."""
    if medium == "stock":
        return None
    # The guest's root cannot read the installation's sudoers, and needs no sudo.
    install, which, start, status = (command.removeprefix("sudo ") for command in install_commands())
    typed = [f"sh sleep {SETTLE_S}", f"sh {status}"]
    outcome = on.run(
        [
            Step(command="cp -r /opt/mininet-wifi/examples /mnt/*.whl .; cat > /tmp/commands", stdin="\n".join(typed)),
            Step(command=install),
            Step(command=which),
            Step(command="pacelab/bin/wmediumd -V"),
            Step(command=start.replace("/usr/bin/python3", PYTHON), stdin="source /tmp/commands\n"),
        ]
    )
    _, installed, found, version, network = (step["output"].strip() for step in outcome["steps"])
    says = re.search(r"wmediumd of PaceLab (?:.*\n){4}", network)
    if says is None:
        raise RuntimeError("\n".join((installed, found, version, network)))
    return {"which": found, "version": version, "status": says[0].splitlines()}


def run_capture(on: Machine, medium: str, keys: str) -> Row | None:
    """The page's row.py with a capture, and its commands for tshark."""
    if medium == "stock":
        return None
    counts = capture_commands()
    lines = commands("row.py")
    said = session(on, "row.py", lines, medium, keys=f'{keys}pcap = "/tmp/air.pcapng";', after=counts)
    rts, retries, collided = (int(text.split()[-1]) for text in said[-len(counts) :])
    return {"rts": rts, "retries": retries, "collided": collided}


def run_mode(on: Machine, medium: str, arguments: str, rate: str = "") -> Row:
    """The page's modes.py with its arguments: TCP from the station to the host, at a fixed `rate` of `iw` if given."""
    server, *rest = commands("modes.py")
    fixed = [f"sta1 iw dev sta1-wlan0 set bitrates {rate}"] if rate else []
    said = session(on, "modes.py", [server, *fixed, *rest], medium, arguments=arguments)
    rates = iperf_mbps("\n".join(said))
    chosen = re.search(r"tx bitrate:\s+(.*)", said[-1])
    if "10.0.0.2" not in rates or chosen is None:
        return {"says": last_words("\n".join(said[:-1]))}
    return {"mbps": rates["10.0.0.2"][0], "rate": chosen[1].strip(), **counters(said[-1])}


def run_shared_air(on: Machine, case: str, medium: str) -> Row:
    """A case of bench/hosts/mininet_wifi.py: pairs at 6 Mbit/s, alone and together."""
    first = OURS_FIRST if medium == "pacelab" else ""
    outcome = on.run([Step(command=f"{OURS}; {first}{PYTHON} -W ignore /mnt/shared_air.py {case} --seconds 4")])
    lines = [line for line in outcome["steps"][-1]["output"].splitlines() if line.startswith("{")]
    if not lines:
        raise RuntimeError(outcome["steps"][-1]["output"][-1000:])
    found: Row = json.loads(lines[-1])
    del found["case"], found["medium_cpu_s"]
    return found


MODES = {
    "g": ("g 1", ""),
    "n2": ("n2 1", ""),
    "n": ("n 36", ""),
    "n, MCS 7": ("n 36", "ht-mcs-5 7"),
    "ac": ("ac 36", ""),
    "ax5": ("ax5 36", ""),
    "ax": ("ax 149", ""),
}
"""Mininet-WiFi's modes: the arguments of modes.py (mode and channel), and the rate that `iw` fixes."""
CASES: dict[str, Callable[[Machine, str], Row | None]] = {
    "row": run_row,
    # Stock has no RTS and no captures.
    "row with RTS": lambda on, medium: run_row(on, medium, "rts_threshold = 0;") if medium == "pacelab" else None,
    "hidden": lambda on, medium: run_shared_air(on, "hidden", medium),
    "access point": run_access_point,
    "install": run_install,
    "capture": lambda on, medium: run_capture(on, medium, ""),
    "capture with RTS": lambda on, medium: run_capture(on, medium, "rts_threshold = 0; "),
    "far": lambda on, medium: run_shared_air(on, "far", medium),
    "exposed": lambda on, medium: run_shared_air(on, "exposed", medium),
    "contention": lambda on, medium: run_shared_air(on, "contention", medium),
} | {f"mode {mode}": (lambda on, medium, typed=typed: run_mode(on, medium, *typed)) for mode, typed in MODES.items()}
SHARED_AIR = {
    "hidden": "hidden: 40 m to the receiver in the middle",
    "contention": "the same, 20 m: the senders hear each other",
    "exposed": "exposed: the senders are 60 m apart, back to back",
    "far": "pairs 2 km apart",
}


def stored() -> dict[tuple[str, str], Row]:
    """The rows by case and medium."""
    rows = map(json.loads, ROWS.read_text("utf-8").splitlines()) if ROWS.exists() else ()
    return {(row["case"], row["medium"]): row for row in rows}


def measure(folder: Path, wheel: Path, names: Sequence[str], media: Sequence[str]) -> None:
    """Run the cases that have no row yet, and add their rows."""
    on = machine(folder, wheel)
    cases = dict(CASES) | {
        f"examples/{name}": (lambda on, medium, name=name: run_example(on, name, medium)) for name in EXAMPLES
    }
    check_examples(folder)
    for name in names or cases:
        for medium in media:
            if (name, medium) in stored():
                continue
            try:
                found = cases[name](on, medium)
            except (RuntimeError, LookupError) as error:
                print(f"{name}, {medium}: {error!r}", file=sys.stderr)
                continue
            if found is not None:
                with ROWS.open("a", encoding="utf-8") as rows:
                    rows.write(json.dumps({"case": name, "medium": medium} | found) + "\n")
                print(name, medium, json.dumps(found), flush=True)


NOT_RUN = "not run"


def row_table(rows: Mapping[tuple[str, str], Row]) -> list[str]:
    lines = [
        "| | `sta1` alone, Mbit/s | `sta1` and `sta3` together, Mbit/s | `tx retries`: alone, together "
        "| `tx failed`: alone, together |",
        "|---|---|---|---|---|",
    ]
    for title, key in (
        ("stock wmediumd", ("row", "stock")),
        ("mediumd", ("row", "pacelab")),
        ("mediumd with RTS", ("row with RTS", "pacelab")),
    ):
        if (row := rows.get(key)) is None:
            lines.append(f"| {title} | {NOT_RUN} | | | |")
            continue
        both = " + ".join(f"{mbps:.2f}" for mbps in row["together_mbps"])
        retries = f"{row['retries_alone']}, {row['retries_together']}"
        failed = f"{row['failed_alone']}, {row['failed_together']}"
        lines.append(f"| {title} | {row['alone_mbps']:.2f} | {both} | {retries} | {failed} |")
    return lines


def shared_air_table(rows: Mapping[tuple[str, str], Row]) -> list[str]:
    lines = [
        "| two pairs at 6 Mbit/s | stock: each alone | stock: together | mediumd: each alone | mediumd: together |",
        "|---|---|---|---|---|",
    ]
    for case, title in SHARED_AIR.items():
        cells = []
        for medium in MEDIA:
            row = rows.get((case, medium))
            alone = ", ".join(mbps(bps) for bps in row["alone_bps"]) if row else NOT_RUN
            together = " + ".join(mbps(bps) for bps in row["together_bps"]) if row else NOT_RUN
            cells += [alone, together]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return lines


def mbps(bps: float) -> str:
    return f"{bps / 1e6:.2f}"


def access_point_table(rows: Mapping[tuple[str, str], Row]) -> list[str]:
    lines = [
        "| metres | signal, dBm | stock: rate, goodput, retries | mediumd: rate, goodput, retries |",
        "|---|---|---|---|",
    ]
    found = {medium: rows[("access point", medium)]["stations"] for medium in MEDIA if ("access point", medium) in rows}
    for number, station in enumerate(next(iter(found.values()), [])):
        cells = [station_cell(found[medium][number]) if medium in found else NOT_RUN for medium in MEDIA]
        signal = station["signal_dbm"] if station["signal_dbm"] is not None else "none"
        lines.append(f"| {station['metres']} | {signal} | {' | '.join(cells)} |")
    return lines if found else [*lines, f"| {NOT_RUN} | | | |"]


def station_cell(station: Row) -> str:
    if station["rate_mbps"] is None:
        return "not associated"
    goodput = f"{station['mbps']:.2f}" if station["mbps"] is not None else "no report"
    return f"{station['rate_mbps']:g}, {goodput} Mbit/s, {station['tx retries']}"


def status_text(rows: Mapping[tuple[str, str], Row]) -> list[str]:
    row = rows.get(("install", "pacelab"))
    return ["", *(f"    {line}" for line in (row["status"] if row else [NOT_RUN])), ""]


def capture_table(rows: Mapping[tuple[str, str], Row]) -> list[str]:
    lines = ["| `row.py` with its commands | RTS | retries | collided |", "|---|---|---|---|"]
    for title, case in (("without RTS", "capture"), ("with RTS", "capture with RTS")):
        row = rows.get((case, "pacelab"))
        cells = [str(row[key]) for key in ("rts", "retries", "collided")] if row else [NOT_RUN, "", ""]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return lines


def mode_table(rows: Mapping[tuple[str, str], Row]) -> list[str]:
    lines = [
        "| mode | stock: Mbit/s | stock: rate that Linux chose | mediumd: Mbit/s | mediumd: rate that Linux chose |",
        "|---|---|---|---|---|",
    ]
    for mode in MODES:
        found = [rows.get((f"mode {mode}", medium)) for medium in MEDIA]
        cells = [mode_cells(row) for row in found]
        lines.append(f"| {mode} | {' | '.join(cells)} |")
    return lines


def mode_cells(row: Row | None) -> str:
    """Goodput and rate, or iperf3's message."""
    if row is None:
        return f"{NOT_RUN} |"
    return f"{row['mbps']:.1f} | {row['rate']}" if "mbps" in row else f"`{row['says']}` |"


def example_table(rows: Mapping[tuple[str, str], Row]) -> list[str]:
    lines = ["| example | stock wmediumd | mediumd |", "|---|---|---|"]
    for name in EXAMPLES:
        cells = [example_cell(rows.get((f"examples/{name}", medium))) for medium in MEDIA]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return lines


def example_cell(row: Row | None) -> str:
    """The probe's results, or the message with which the example ended."""
    if row is None:
        return NOT_RUN
    if "probe" not in row:
        says: str = row["says"].replace("|", "/").replace("`", "'")
        return f"`{says}`" if row["ended"] else f"no command line; the last line is `{says}`"
    probe = row["probe"]
    if len(probe["pair"]) < 2:
        return "starts; one station" if probe["pair"] else "starts; no station has an address"
    counted = re.search(r"(\d+) packets transmitted, (\d+) received", str(probe["ping"]))
    pings = f"{counted[2]} of {counted[1]} pings" if counted else "no ping"
    sent = probe["counters"]
    told = f"; {sent['tx retries']} retries, {sent['tx failed']} failed" if "tx retries" in sent else ""
    return f"{pings}, {probe['kbps']:.0f} kbit/s{told}"


TABLES = {
    "status": status_text,
    "row": row_table,
    "capture": capture_table,
    "shared air": shared_air_table,
    "access point": access_point_table,
    "modes": mode_table,
    "examples": example_table,
}


def with_tables(text: str) -> str:
    """A text with its tables written again: each is between `<!-- measured: NAME -->` and `<!-- end -->`."""
    rows = stored()

    def written(block: re.Match[str]) -> str:
        return "\n".join([block[1], *TABLES[block[2]](rows), "<!-- end -->"])

    return re.sub(r"(<!-- measured: ([\w ]+) -->)\n.*?<!-- end -->", written, text, flags=re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run")
    run.add_argument("folder", type=Path)
    run.add_argument("cases", nargs="*")
    run.add_argument("--wheel", type=Path, required=True, help="pacelab_wmediumd-*.whl (make wheels)")
    run.add_argument("--medium", choices=MEDIA, action="append")
    verbs.add_parser("page")
    options = parser.parse_args()
    if options.verb == "run":
        measure(options.folder, options.wheel, options.cases, options.medium or MEDIA)
    else:
        PAGE.write_text(with_tables(page_text()), "utf-8")


if __name__ == "__main__":
    main()
