"""Tables and the page, from hand-made outcomes."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from pacelab.claims.load import parse_claim
from pacelab.claims.outcome import Outcome, digest_of
from pacelab.claims.report import claims_page, outcomes_table, summary


def outcome(text: str, mean: float | None, half_width: float | None, verdict: str) -> Outcome:
    found: dict[str, Any] = {"what": "x", "mean": mean, "half_width": half_width, "verdict": verdict}
    claim = parse_claim(text, "x")
    made: Outcome = {"id": claim.id, "digest": digest_of(claim), "mode": "full", "verdict": verdict, "seeds": 2}
    return made | {"seconds": 20.0, "checks": [found], "why": [{"name": "no RTS", "checks": [found]}]}


@pytest.mark.parametrize(
    ("mean", "half_width", "shown"),
    [
        (2.01234, 0.0123, "2.012 ± 0.012"),
        (622.8, 199.1, "623 ± 199"),
        (1.0, 0.0, "1 ± 0"),
        (1.25, None, "1.25"),
        (None, None, "undefined"),
    ],
)
def test_page_shows_as_many_digits_as_the_interval_warrants(
    claim_text: str, mean: float | None, half_width: float | None, shown: str
) -> None:
    text = claim_text + "why:\n  - {name: no RTS, options: {rts: off}}\njudgement: it is so\n"
    page = claims_page([parse_claim(text, "x")], {"fu-demo": outcome(text, mean, half_width, "reproduced")})
    assert f"| goodput of one hop over that of two | 2 | 1.9..2.1, stated, twice | {shown} | reproduced |" in page
    assert f"| no RTS | {shown} |" in page
    assert "Judgement: it is so" in page
    assert "1 claims: 1 reproduced." in page


def test_table_fits_80_columns(claim_text: str) -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    claim = parse_claim(claim_text, "x")
    console.print(outcomes_table([claim], [outcome(claim_text, 2.01, 0.01, "reproduced")]))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert any("2 [1.9..2.1]" in line and "reproduced" in line for line in lines)


def test_summary_counts_verdicts(claim_text: str) -> None:
    made = [outcome(claim_text, 1, 1, verdict) for verdict in ("reproduced", "not reproduced", "not reproduced")]
    assert summary(made) == "3 claims: 1 reproduced, 2 not reproduced"
