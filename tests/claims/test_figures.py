"""Figures: every shape draws from a run, the same bytes each time."""

from __future__ import annotations

import pytest

from pacelab.claims.load import parse_claim
from pacelab.claims.reproduce import Reproduction, reproduce

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
