"""A small valid claim, as text, for tests to break."""

from __future__ import annotations

import pytest

CLAIM = """\
schema: 2
id: fu-demo
paper: fu
section: "4"
title: One hop carries more than two
quote: "one hop carries twice as much as two"
scenario:
  topology: chain
  options: {rate: 2, wired: off}
  axes: {hops: [1, 2]}
  full: {seconds: 20, seeds: 2}
  quick: {seconds: 10, seeds: 2}
checks:
  - what: goodput of one hop over that of two
    role: headline
    measure: {of: goodput_kbps, at: {hops: 1}, against: {hops: 2}, compare: ratio}
    paper: 2
    band: [1.9, 2.1]
    band_from: stated, twice
    direction: [1, .inf]
figure: {shape: lines, x: hops, y: [goodput_kbps], by: []}
"""


@pytest.fixture
def claim_text() -> str:
    return CLAIM
