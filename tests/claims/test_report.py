"""What is printed and drawn of outcomes."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from pacelab.claims.load import parse_claim
from pacelab.claims.outcome import Outcome, digest_of
from pacelab.claims.report import claims_page, outcomes_table, summary
from pacelab.claims.reproduce import Reproduction, reproduce

# Tables and the page, from hand-made outcomes.


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


# Figures: every shape draws from a run, the same bytes each time.


SHAPES = {
    "lines": "{shape: lines, x: hops, y: [goodput_kbps], by: [scheme]}",
    "several quantities": "{shape: lines, x: hops, y: [queue_mean_pkts, queue_max_pkts]}",
    "peaks": "{shape: lines, x: hops, y: [goodput_kbps], peak: window, flat: h/4}",
    "bars": "{shape: bars, by: [scheme], at: {hops: 2}}",
    "time": "{shape: time, by: [scheme], at: {hops: 2}}",
    "contention": "{shape: contention, x: hops, by: [scheme]}",
}


def drawn(claim_text: str, shape: str) -> Reproduction:
    text = claim_text.replace("axes: {hops: [1, 2]}", "axes: {hops: [1, 2], window: [2, 8]}")
    text = text.replace("  full:", "  schemes: [newreno, tcp-ap]\n  full:").replace("{hops: 1}", "{hops: 1, window: 8}")
    text = text.replace("against: {hops: 2}", "against: {hops: 2}, reduce: [{how: mean, over: scheme}]")
    text = text.replace("seconds: 10", "seconds: 1").replace(
        "{shape: lines, x: hops, y: [goodput_kbps], by: []}", shape
    )
    return reproduce([parse_claim(text, "x")], quick=True, jobs=1)


@pytest.mark.parametrize("name", list(SHAPES))
def test_figure_shape(claim_text: str, name: str) -> None:
    found = drawn(claim_text, SHAPES[name])
    figures = found.figures()
    assert set(figures) == {"fu-demo.png", "fu-demo.svg"}
    assert figures["fu-demo.png"].startswith(b"\x89PNG")
    assert figures == found.figures()
