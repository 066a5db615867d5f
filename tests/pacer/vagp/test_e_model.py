"""MOS against values worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelab.pacer.core.vagp.e_model import mos, mos_from_r, mouth_to_ear_ns, r_factor
from tests.pacer.hook_shell import CALM, MS


@pytest.mark.parametrize(
    ("network_ms", "loss", "r", "quality"),
    [
        (0, 0.0, 81.160, 4.067),  # d = 85: 94.2 - 2.04 - 11
        (160, 0.0, 69.873, 3.591),  # d = 245: 94.2 - 5.88 - 7.447 - 11
        (104, 0.02, 70.084, 3.601),  # d = 189: 94.2 - 4.536 - 1.287 - 11 - 40 * 0.182322
        (92.3, 0.0, 78.945, 3.983),  # d = 177.3, the kink: 94.2 - 4.2552 - 11
        (50, 0.1, 52.234, 2.693),  # d = 135: 94.2 - 3.24 - 11 - 40 * 0.693147
        (400, 0.05, 21.494, 1.298),  # d = 485: 94.2 - 11.64 - 33.847 - 11 - 40 * 0.405465
    ],
)
def test_quality_by_hand(network_ms: float, loss: float, r: float, quality: float) -> None:
    network_ns = round(network_ms * MS)
    assert r_factor(mouth_to_ear_ns(network_ns), loss) == pytest.approx(r, abs=0.001)
    assert mos(network_delay_ns=network_ns, loss=loss) == pytest.approx(quality, abs=0.001)


def test_longer_playout_costs_what_delay_costs() -> None:
    assert mos(network_delay_ns=60 * MS, loss=0, playout_ns=100 * MS) == mos(network_delay_ns=100 * MS, loss=0)


@pytest.mark.parametrize(("r", "quality"), [(-1e9, 1), (0, 1), (3, 1), (60, 3.1), (100, 4.5), (1e9, 4.5)])
def test_quality_stays_on_its_scale(r: float, quality: float) -> None:
    # R = 3: 1 + 0.105 - 0.116 is below 1
    assert mos_from_r(r) == pytest.approx(quality)


def test_nothing_arrived_is_the_worst_quality() -> None:
    assert mos(network_delay_ns=0, loss=1.0) == 1.0


@CALM
@given(st.integers(0, 10**15), st.floats(0, 1), st.integers(0, 10**12), st.floats(0, 1))
def test_more_delay_or_loss_is_never_better(delay_ns: int, loss: float, more_ns: int, more_loss: float) -> None:
    worse = mos(network_delay_ns=delay_ns + more_ns, loss=max(loss, more_loss))
    assert 1.0 <= worse <= mos(network_delay_ns=delay_ns, loss=loss) + 1e-12


@pytest.mark.parametrize("loss", [-0.01, 1.01, float("nan"), float("inf")])
def test_loss_out_of_range_is_refused(loss: float) -> None:
    with pytest.raises(ValueError, match=r"loss is .*: allowed is 0\.\.1"):
        r_factor(0, loss)


def test_negative_delay_is_refused() -> None:
    with pytest.raises(ValueError, match="mouth_to_ear_ns is -1"):
        r_factor(-1, 0.0)
