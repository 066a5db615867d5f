"""A link layer of one's own hears attempts, drops what it says, and its failures are told with the place."""

from __future__ import annotations

from typing import Any

import pytest

from pacelab import ConfigError, Experiment, LinkLayer, run, run_link_layer

pytestmark = pytest.mark.usefixtures("engine")
CHAIN = Experiment(topology="chain", topology_options={"hops": 3, "wired": False}, duration_s=5.0)


def test_own_link_layer_that_does_nothing_changes_nothing() -> None:
    assert run_link_layer(CHAIN, LinkLayer).goodput_bps == run(CHAIN).goodput_bps


def test_own_link_layer_drops_what_it_says_and_hears_every_attempt() -> None:
    heard: list[tuple[int, bool]] = []

    class Tenth(LinkLayer):
        def sent(self, attempts: int, delivered: bool) -> None:
            heard.append((attempts, delivered))

        def passes(self) -> bool:
            return self.random.random() >= 0.1

    result = run_link_layer(CHAIN, Tenth)
    dropped = result.run["drops"]["hook:own"]
    assert dropped == result.run["hooks"]["actions"]
    # Each packet is judged at each of its nodes: of what was judged, a tenth, give or take 4 standard deviations.
    judged = dropped + len(heard)
    assert abs(dropped - 0.1 * judged) < 4 * (0.09 * judged) ** 0.5
    assert min(attempts for attempts, _ in heard) == 1
    assert sum(delivered for _, delivered in heard) > 0.9 * len(heard)
    assert run_link_layer(CHAIN, Tenth).goodput_bps == result.goodput_bps


@pytest.mark.parametrize("answer", [None, 1, "yes"])
def test_own_link_layer_with_a_bad_answer_is_told(answer: Any) -> None:
    class Bad(LinkLayer):
        def passes(self) -> bool:
            return answer  # type: ignore[no-any-return]

    with pytest.raises(ConfigError, match=r"link layer Bad at .* from passes\(\): allowed is True or False"):
        run_link_layer(CHAIN, Bad)


def test_own_link_layer_that_raises_is_told_with_its_line() -> None:
    class Broken(LinkLayer):
        def sent(self, attempts: int, delivered: bool) -> None:
            raise KeyError("oops")

    with pytest.raises(ConfigError, match=r"(?s)link layer Broken.*failed:.*raise KeyError\(\"oops\"\)"):
        run_link_layer(CHAIN, Broken)
    with pytest.raises(ConfigError, match="allowed is a subclass of pacelab"):
        run_link_layer(CHAIN, object)  # type: ignore[arg-type]
