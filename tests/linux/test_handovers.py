"""What is told of a handover, off a receiver's reports."""

from __future__ import annotations

from pacelab.backends.hosts.handovers import effect, sentence
from pacelab.backends.hosts.iperf import Interval
from pacelab.backends.hosts.meter import Window

S = 1_000_000_000
DECI = S // 10
WINDOW = Window(start_ns=100 * S, measured_ns=100 * S, end_ns=140 * S, interval_ns=S)


def reports(silent: range = range(0)) -> list[Interval]:
    """A tenth of a second each, 1000 B in it: 80 kbit/s; none in those numbered `silent`; half from 20 s on."""
    found = []
    for number in range(400):
        size = 0 if number in silent else 1000 if number < 200 else 500
        begin_ns = WINDOW.start_ns + number * DECI
        found.append(Interval(start_ns=begin_ns, end_ns=begin_ns + DECI, payload_bytes=size))
    return found


def test_a_silence_lasts_from_the_report_before_it_to_the_one_after_it() -> None:
    # 20.0 to 20.4 s without data: what came before may have come at 19.9 s, what came after at 20.5 s
    assert effect(reports(range(200, 204)), WINDOW, 20.0) == {
        "silence_s": 0.6,
        "before_bps": 80_000.0,
        "after_bps": 40_000.0,
    }


def test_without_silence_two_reports_bound_it() -> None:
    assert effect(reports(), WINDOW, 20.0)["silence_s"] == 0.2


def test_silence_elsewhere_is_not_the_handovers() -> None:
    assert effect(reports(range(50, 90)), WINDOW, 20.0)["silence_s"] == 0.2
    assert effect(reports(range(320, 400)), WINDOW, 20.0)["silence_s"] == 0.2


def test_a_flow_that_never_comes_back_is_silent_to_the_end() -> None:
    assert effect(reports(range(200, 400)), WINDOW, 20.0)["silence_s"] == 10.2  # 19.9 to 30.1 s


def test_what_the_run_does_not_reach_is_not_measured() -> None:
    found = effect(reports(), WINDOW, 31.0)
    assert found["before_bps"] == 40_000.0
    assert found["after_bps"] is None
    assert effect(reports(), WINDOW, 4.0)["before_bps"] is None
    assert effect([], WINDOW, 20.0)["silence_s"] is None
    assert sentence({"flow": 0} | found) == (
        "flow 0: silent for 0.2 s at most, 40 kbit/s before, not measured from 5 s after on"
    )
