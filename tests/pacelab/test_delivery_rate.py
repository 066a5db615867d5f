"""Further inputs of a user's congestion control: samples of the delivery rate, pacing, and a timer."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

import pacelab
from pacelab.air.congestion import ControlMaker, load_control
from pacelab.user_code.messages import UserCodeError

HEADER = "import pacelab\n\nclass Mine(pacelab.CongestionControl):\n"


def own(tmp_path: Path, body: str) -> str:
    path = tmp_path / "mine.py"
    path.write_text(HEADER + body)
    return f"{path}:Mine"


def run(cc: str, hops: int = 1, **options: object) -> pacelab.RunResult:
    return pacelab.run(
        pacelab.Experiment(
            topology="chain",
            topology_options={"hops": hops, "wired": False},
            rate_bps=2_000_000,
            window_pkts=64,
            duration_s=20,
            warmup_s=5,
            cc=cc,
            **options,
        )
    )


WRITES = """    recovery = "{recovery}"
    def __init__(self, initial_window, window_limit):
        super().__init__(initial_window, window_limit)
        self.window = 10.0
    def delivered(self, sample):
        in_flight, before = sample.in_flight_pkts, sample.prior_in_flight_pkts
        counts = sample.delivered_pkts, sample.newly_delivered_pkts, sample.lost_pkts, sample.newly_lost_pkts
        with open({out!r}, "a") as out:
            print(sample.now_ns, *counts, in_flight, before, sample.rate_pps, sample.phase, file=out)
    def timed_out(self, now_ns, in_use_pkts): pass
"""


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("recovery", ["newreno", "sack"])
def test_each_ack_has_a_sample_also_in_a_recovery(tmp_path: Path, recovery: str) -> None:
    out = tmp_path / "samples"
    result = run(own(tmp_path, WRITES.format(recovery=recovery, out=str(out))), hops=4)
    rows = [line.split() for line in out.read_text().splitlines()]
    delivered = 0
    for _now, total, newly, _lost, _newly_lost, in_flight, _before, _rate, _phase in rows:
        delivered += int(newly)
        assert int(total) == delivered
        assert 0 <= int(in_flight) <= 64
    assert {"open", "recovery"} <= {row[-1] for row in rows}
    assert any(int(row[4]) > 0 for row in rows) or recovery == "newreno"
    # In the median the rate is what the flow carries.
    rates = [float(row[7]) for row in rows if row[7] != "None"]
    assert statistics.median(rates) * 1460 * 8 == pytest.approx(result.goodput_bps, rel=0.25)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("recovery", ["newreno", "sack"])
def test_a_pacing_rate_is_the_rate_of_the_sender(tmp_path: Path, recovery: str) -> None:
    body = f"""    recovery = {recovery!r}
    def __init__(self, initial_window, window_limit):
        super().__init__(initial_window, window_limit)
        self.window, self.pacing_pps = 20.0, 50.0
    def acknowledged(self, now_ns, acked_pkts, rtt_ns): pass
    def lost(self, now_ns, in_use_pkts): pass
"""
    result = run(own(tmp_path, body))
    assert result.goodput_bps == pytest.approx(50 * 1460 * 8, rel=0.005)
    # Each segment leaves an empty queue: 14 ms for the data, and the ACK.
    assert result.run["flows"][0]["rtt_mean_s"] < 0.015


@pytest.mark.usefixtures("engine")
def test_a_timer_expires_when_it_was_set_for(tmp_path: Path) -> None:
    out = tmp_path / "times"
    body = f"""    def __init__(self, initial_window, window_limit):
        super().__init__(initial_window, window_limit)
        self.timer_ns = 3_000_000_000
    def delivered(self, sample): pass
    def timer_expired(self, now_ns):
        with open({str(out)!r}, "a") as out:
            print(now_ns, self.timer_ns, file=out)
        self.timer_ns = now_ns + 4_000_000_007
"""
    run(own(tmp_path, body))
    times = [3_000_000_000 + number * 4_000_000_007 for number in range(5)]
    assert out.read_text().splitlines() == [f"{at_ns} None" for at_ns in times]


@pytest.mark.usefixtures("engine")
def test_each_data_segment_is_announced(tmp_path: Path) -> None:
    out = tmp_path / "sent"
    body = f"""    def __init__(self, initial_window, window_limit):
        super().__init__(initial_window, window_limit)
        self.window = 3.0
    def acknowledged(self, now_ns, acked_pkts, rtt_ns): pass
    def lost(self, now_ns, in_use_pkts): pass
    def sent(self, now_ns, in_flight_pkts):
        with open({str(out)!r}, "a") as out:
            print(in_flight_pkts, file=out)
"""
    run(own(tmp_path, body))
    flights = [int(line) for line in out.read_text().split()]
    assert flights[:3] == [0, 1, 2]
    assert set(flights[3:]) == {2}


PLAIN = """    def acknowledged(self, now_ns, acked_pkts, rtt_ns): {acknowledged}
    def lost(self, now_ns, in_use_pkts): pass
"""


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("self.pacing_pps = 0", "set its pacing_pps to 0: None or a number of segments per second above 0"),
        ("self.pacing_pps = 'fast'", "set its pacing_pps to 'fast'"),
        ("self.timer_ns = now_ns + 1", r"the class needs a method timer_expired\(now_ns\)"),
        ("self.timer_ns = now_ns", "None or a whole number of ns above"),
        ("self.timer_ns = 1.5e12", "None or a whole number of ns above"),
    ],
)
def test_a_wrong_rate_or_time_ends_the_run(tmp_path: Path, statement: str, message: str) -> None:
    with pytest.raises(UserCodeError, match=message):
        run(own(tmp_path, PLAIN.format(acknowledged=statement)))


def test_the_engine_is_asked_for_nothing_that_a_class_does_not_define(tmp_path: Path) -> None:
    def guard(body: str) -> object:
        name = own(tmp_path, body)
        return ControlMaker(name, load_control(name))(name, 2, 32)

    plain = PLAIN.format(acknowledged="pass")
    guard_of_plain = guard(plain)
    assert (guard_of_plain.event_mask, guard_of_plain.extras) == (0, None)
    assert guard_of_plain.acknowledged(1, 1.0, None) is None
    assert guard(plain + "    def sent(self, *a): pass\n").event_mask == 2
    assert guard(plain + "    def timer_expired(self, *a): pass\n").event_mask == 4
    assert guard("    def delivered(self, sample): pass\n").event_mask == 1


def test_a_class_with_delivered_needs_no_other_method(tmp_path: Path) -> None:
    name = own(tmp_path, "    def delivered(self, sample): pass\n")
    made = load_control(name)
    made(2, 32).acknowledged(1, 1.0, None)
    with pytest.raises(TypeError, match="abstract"):
        type("Other", (pacelab.CongestionControl,), {})(2, 32)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("traffic", ["http", "file"])
@pytest.mark.parametrize("cc", ["bbr", "newreno", "cubic"])
def test_short_transfers_end_with_selective_acks(traffic: str, cc: str) -> None:
    run = pacelab.run(
        pacelab.Experiment(
            topology="chain",
            topology_options={"hops": 4},
            traffic=traffic,
            size_bytes=100_000 if traffic == "file" else None,
            cc=cc,
            sack=True,
            duration_s=20,
        )
    ).run
    assert sum(flow["completion_s"] is not None for flow in run["flows"]) >= 1
    assert run["totals"]["goodput_bps"] > 0
