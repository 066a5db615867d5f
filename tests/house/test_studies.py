"""What a page quotes of a study is what the study makes of its stored runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_tables_of_the_ns2_code_are_those_of_its_runs() -> None:
    command = [sys.executable, ROOT / "studies/tcp_ap_code.py", "--table"]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    page = (ROOT / "docs/tcp-gap.md").read_text("utf-8")
    tables = made.strip().split("\n\n")
    assert len(tables) == 6
    for table in tables[:5]:
        assert table in page


def test_vagp_s_table_is_that_of_its_runs() -> None:
    rows = ROOT / "studies/vagp_expect.jsonl"
    command = [sys.executable, ROOT / "studies/vagp_expect.py", rows, "--seeds", "10", "--table"]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert made.count("\n") == 17
    assert made.strip() in (ROOT / "docs/vagp.md").read_text("utf-8")
