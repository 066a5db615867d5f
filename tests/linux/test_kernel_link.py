"""Retries as the kernel counts them, shared among packets; the relay agent that asks for them."""

from __future__ import annotations

import subprocess

from hypothesis import given
from hypothesis import strategies as st
from network import PACELAB, Line

from pacelab.pacer.linux.kernel.kernel_link import Shares
from pacelab.pacer.linux.kernel.stations import Station

Counts = tuple[int, int, int]


def station(counts: Counts, mac: str = "42:00:00:00:00:01") -> Station:
    packets, retries, failed = counts
    return Station(mac, True, packets, retries, failed)


def attempts(shares: Shares, *counts: Counts) -> list[int]:
    return [report.result.attempts for report in shares.reports([station(one) for one in counts])]


def test_shares_start_at_what_is_there_already() -> None:
    shares = Shares([station((100, 40, 2))])
    assert attempts(shares, (100, 40, 2)) == []
    assert attempts(shares, (102, 40, 2)) == [1, 1]


def test_shares_spread_the_retries_of_an_interval_evenly() -> None:
    assert sorted(attempts(Shares([]), (4, 6, 0))) == [2, 2, 3, 3]


def test_shares_keep_retries_for_the_next_packet() -> None:
    shares = Shares([])
    assert attempts(shares, (1, 0, 0)) == [1]
    assert attempts(shares, (1, 3, 0)) == []
    assert attempts(shares, (2, 3, 0)) == [4]


def test_shares_tell_failures_and_neighbours_apart() -> None:
    seen = [station((2, 6, 1), "42:00:00:00:00:01"), station((1, 0, 0), "42:00:00:00:00:02")]
    results = [report.result for report in Shares([]).reports(seen)]
    assert [result.delivered for result in results] == [False, True, True]
    assert [result.next_hop for result in results] == [0, 0, 1]


def test_shares_begin_anew_with_a_neighbour_that_was_forgotten() -> None:
    shares = Shares([station((50, 90, 0))])
    assert attempts(shares, (2, 2, 0)) == [2, 2]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 300)), max_size=30))
def test_shares_conserve_packets_and_retries(steps: list[tuple[int, int]]) -> None:
    shares, packets, retries, told = Shares([]), 0, 0, []
    for more_packets, more_retries in [*steps, (1, 0)]:  # a last packet takes what is left
        packets, retries = packets + more_packets, retries + more_retries
        told += attempts(shares, (packets, retries, 0))
    assert len(told) == packets
    assert sum(told) - len(told) == retries


def test_relay_asks_the_kernel_and_says_when_the_interface_has_no_such_counters(line: Line) -> None:
    done = line.station.start(
        *(*PACELAB, "relay", "--scheme", "lred", "--air", "eth0", "--link", "nl80211"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    _out, said = done.communicate(timeout=30)
    assert (done.returncode, said.count("\n")) == (3, 1), said
    assert "is it a Wi-Fi interface?" in said


def test_relay_refuses_the_kernels_counts_for_schemes_that_follow_single_frames(line: Line) -> None:
    done = line.station.start(
        *(*PACELAB, "relay", "--scheme", "lred+pacing", "--air", "eth0", "--link", "nl80211"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert "allowed is one of lred, lred-ecn" in done.communicate(timeout=30)[1]
    assert done.returncode == 2
