"""Delay and loss of voice calls on lines drawn by chance, against ns-2."""

from __future__ import annotations

import statistics

import ns2_calls
import pytest

# Who sends at which moment of the 20 ms decides what meets what, and each seed draws it once: beside the bands, 3.3
# standard errors of the difference (one in a thousand) are allowed.
DELAY_TOLERANCE = 0.05
LOSS_TOLERANCE = 0.01
ERRORS = 3.3

SCENES = ns2_calls.scenes()


@pytest.fixture(scope="module")
def ours(measure):
    del measure  # it skips what needs the engine where that is not built
    return ns2_calls.measure(SCENES)


@pytest.mark.thorough
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_calls_wait_and_lose_as_in_ns2(scene, ours):
    own = ours[scene.name]
    lost, delay_ms = statistics.mean(scene.lost), statistics.mean(scene.delay_ms)
    may = max(LOSS_TOLERANCE, ERRORS * ns2_calls.spread(own.lost, scene.lost))
    assert statistics.mean(own.lost) == pytest.approx(lost, abs=may)
    may = max(DELAY_TOLERANCE * delay_ms, ERRORS * ns2_calls.spread(own.delay_ms, scene.delay_ms))
    assert statistics.mean(own.delay_ms) == pytest.approx(delay_ms, abs=may)


@pytest.mark.thorough
def test_the_scenes_hold_light_and_heavy_loads():
    lost = [statistics.mean(scene.lost) for scene in SCENES]
    assert sum(share < 0.01 for share in lost) >= 10
    assert sum(share > 0.1 for share in lost) >= 10
