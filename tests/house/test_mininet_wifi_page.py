"""The numbers of docs/mininet-wifi.md, and README's, are those of the stored rows; the study reads outputs rightly."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "studies"))
import mininet_wifi  # noqa: E402

SERVER = """\
Server listening on UDP port 5001
[  1] local 10.0.0.2 port 5001 connected with 10.0.0.1 port 53043
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-4.0046 sec  4.40 MBytes  9.21 Mbits/sec   0.666 ms 434/3570 (12%)
[  2] local 10.0.0.2 port 5001 connected with 10.0.0.1 port 59858
[  3] local 10.0.0.2 port 5001 connected with 10.0.0.3 port 36329
[  3] 0.0000-4.0877 sec  4.00 MBytes   821 Kbits/sec   0.136 ms 717/3570 (20%)
[  2] 0.0000-4.0959 sec  3.93 MBytes  8.05 Mbits/sec   0.129 ms 766/3570 (21%)
"""


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
    assert f"Two hidden stations at 6 Mbit/s carry {stock} Mbit/s over stock wmediumd" in readme
    assert f"and {ours} over PaceLab's `mediumd`" in readme


def test_the_first_script_of_the_page_has_fifteen_lines() -> None:
    assert len([line for line in mininet_wifi.script_text("row.py").splitlines() if line]) == 15


def test_rates_are_those_of_the_server_by_sender() -> None:
    assert mininet_wifi.iperf_mbps(SERVER) == {"10.0.0.1": [9.21, 8.05], "10.0.0.3": [0.82]}


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
