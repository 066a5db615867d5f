"""The numbers of docs/mininet-wifi.md, and README's, are those of the stored rows; the study reads outputs rightly."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "studies"))
import mininet_wifi  # noqa: E402
import mininet_wifi_machine  # noqa: E402

CLIENTS = """\
[  5] local 10.0.0.1 port 53043 connected to 10.0.0.2 port 5001
[  5]   0.00-1.00   sec  1.19 MBytes  9.99 Mbits/sec  863
[  5]   0.00-5.00   sec  5.96 MBytes  10.0 Mbits/sec  0.000 ms  0/4317 (0%)  sender
[  5]   0.00-5.01   sec  5.40 MBytes  9.04 Mbits/sec  0.140 ms  404/4317 (9.4%)  receiver
[  5] local 10.0.0.3 port 38331 connected to 10.0.0.2 port 5003
[  5]   0.00-5.02   sec   512 KBytes   821 Kbits/sec  0.140 ms  404/4317 (9.4%)  receiver
[  5] local 10.0.0.1 port 53044 connected to 10.0.0.2 port 5001
[  5]   0.00-5.01   sec  4.80 MBytes  8.05 Mbits/sec  0.140 ms  404/4317 (9.4%)  receiver
"""
PINGS = "6 packets transmitted, 5 received, 16% packet loss"


def test_the_page_has_every_table_of_the_study_once() -> None:
    assert sorted(re.findall(r"<!-- measured: ([\w ]+) -->", mininet_wifi.page_text())) == sorted(mininet_wifi.TABLES)


def test_the_tables_are_those_of_the_rows() -> None:
    page = mininet_wifi.page_text()
    assert mininet_wifi.with_tables(page) == page, "run `studies/mininet_wifi.py page`"


def test_the_readme_has_the_hidden_pair_of_the_rows() -> None:
    rows = mininet_wifi.stored()
    stock, ours = (
        " + ".join(mininet_wifi.mbps(bps) for bps in rows["hidden", medium]["together_bps"])
        for medium in mininet_wifi.MEDIA
    )
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"Over stock wmediumd their goodput is {stock} Mbit/s" in readme
    assert f"Over `mediumd` their goodput is {ours} Mbit/s" in readme


def test_the_first_script_of_the_page_has_fifteen_lines() -> None:
    assert len([line for line in mininet_wifi.script_text("row.py").splitlines() if line]) == 15


def test_rates_are_those_at_the_receiver_by_sender() -> None:
    assert mininet_wifi.iperf_mbps(CLIENTS) == {"10.0.0.1": [9.04, 8.05], "10.0.0.3": [0.82]}


def test_counters_are_summed_over_the_neighbours() -> None:
    dump = "Station a\n\ttx packets:\t3\n\ttx retries:\t2\n\ttx failed:\t1\nStation b\n\ttx packets:\t4\n"
    assert mininet_wifi.counters(dump) == {"tx packets": 7, "tx retries": 2, "tx failed": 1}


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("*** Creating nodes\nModuleNotFoundError: No module named 'x'\n*** Done\n", "No module named 'x'"),
        ("*** Creating nodes\n\n", "*** Creating nodes"),
        ("", "nothing"),
    ],
)
def test_the_message_of_an_example_is_its_last_error(output: str, words: str) -> None:
    assert mininet_wifi.last_words(output).endswith(words)


def test_the_study_types_the_commands_of_the_page() -> None:
    install, which, start, status = mininet_wifi.install_commands()
    assert install.startswith("python3 -m venv pacelab && ")
    assert which.endswith("which wmediumd")
    assert start.endswith("/usr/bin/python3 examples/adhoc.py")
    assert status == "sudo pacelab/bin/wmediumd --status"
    assert [command.count("tshark") for command in mininet_wifi.capture_commands()] == [1, 1, 1]
    assert [line.split()[1] for line in mininet_wifi.commands("modes.py")] == ["iperf3", "iperf3", "iw"]


@pytest.mark.parametrize(
    ("row", "cell"),
    [
        (None, "not run"),
        ({"ended": True, "says": "Error: a | b"}, "`Error: a / b`"),
        ({"ended": False, "says": "*** Nodes"}, "no command line; the last line is `*** Nodes`"),
        ({"ended": True, "probe": {"pair": []}}, "starts; no station has an address"),
        ({"ended": True, "probe": {"pair": ["sta1"]}}, "starts; one station"),
        (
            {"ended": True, "probe": {"pair": ["a", "b"], "ping": PINGS, "kbps": 9.6, "counters": {}}},
            "5 of 6 pings, 10 kbit/s",
        ),
    ],
)
def test_the_cell_of_an_example(row: mininet_wifi.Row | None, cell: str) -> None:
    assert mininet_wifi.example_cell(row) == cell


def test_a_machine_that_computes_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mininet_wifi_machine, "CPU_LIMIT_S", 0.1)
    monkeypatch.setattr(mininet_wifi_machine, "LOOK_S", 0.05)
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
    mininet_wifi_machine.wait_for(process)
    assert process.returncode == -signal.SIGKILL
