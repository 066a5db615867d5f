"""Which hook of which scheme sits where."""

from __future__ import annotations

import pytest

from pacelab.pacer.core.contract import EventMask
from pacelab.schemes import SCHEMES, HookSettings, find_scheme
from pacelab.topologies.registry import load_topology

SETTINGS = HookSettings(pace_rate_bps=200_000, gateway_window_pkts=4)


@pytest.mark.parametrize(
    ("scheme", "direction", "wired", "sites"),
    [
        ("newreno", "up", True, []),
        ("tcp-gap", "up", True, [("gateway", 3), ("sender", 0)]),
        ("tcp-gap", "down", True, [("gateway", 3)]),
        ("tcp-gap", "mixed", True, [("gateway", 3), ("sender", 0)]),
        ("tcp-gap", "up", False, [("sender", 0)]),
        ("tcp-gap", "down", False, [("sender", 3)]),
        ("tcp-gap-nogc", "up", True, [("gateway", 3), ("sender", 0)]),
        ("tcp-ap", "up", True, [("sender", 0)]),
        ("fixed-rate", "down", True, [("gateway", 3)]),
        ("vagp", "down", True, [("gateway", 3), ("station", 0)]),
        ("window-control", "down", True, [("gateway", 3)]),
        ("data-pacing", "down", True, [("gateway", 3)]),
        ("ack-pacing", "down", True, [("gateway", 3)]),
    ],
)
def test_scheme_sites(scheme: str, direction: str, wired: bool, sites: list[tuple[str, int]]) -> None:
    topology = load_topology("chain", hops=3, direction=direction, wired=wired)
    made = find_scheme(scheme).attach(topology, SETTINGS)
    assert [(attachment.point, attachment.node) for attachment in made] == sites


@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES.values() if scheme.points], ids=lambda s: s.name)
def test_scheme_hooks_keep_the_contract_and_count_what_counts_as_acting(scheme) -> None:  # type: ignore[no-untyped-def]
    counted: set[str] = set()
    for attachment in scheme.attach(load_topology("chain", hops=3), SETTINGS):
        hook = attachment.hook
        assert hook.event_mask & EventMask.SEGMENT
        assert hook.poll_action() is None
        assert set(hook.counters().values()) <= {0}
        counted |= hook.counters().keys()
    told = "a scheme's `acting` names those of its hooks' counters that stand for a changed fate of a packet"
    assert scheme.acting, told
    assert scheme.acting <= counted, told


def test_scheme_hooks_are_fresh_for_each_run() -> None:
    topology = load_topology("chain", hops=3)
    first, second = (find_scheme("tcp-gap").attach(topology, SETTINGS) for _ in range(2))
    assert first[0].hook is not second[0].hook
