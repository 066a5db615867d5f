"""A queue discipline in Python: it can equal the engine's own, works with a scheme, and its failures are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

import pacelab
from pacelab.errors import ConfigError
from pacelab.user_code.messages import UserCodeError

HEADER = "from collections import deque\n\nimport pacelab\n\n\nclass Mine(pacelab.QueueDiscipline):\n"
FIFO = """    def __init__(self, limit_pkts):
        super().__init__(limit_pkts)
        self.waiting = deque()
    def push(self, packet):
        if len(self.waiting) >= self.limit_pkts:
            self.drop(packet)
        else:
            self.waiting.append(packet)
    def pop(self, now_ns):
        return self.waiting.popleft() if self.waiting else None
"""
OLD = """    def pop(self, now_ns):
        while self.waiting:
            packet = self.waiting.popleft()
            if not self.waiting or now_ns - packet.arrived_ns <= 50_000_000:
                return packet
            {act}
"""


def own(tmp_path: Path, body: str) -> str:
    path = tmp_path / "mine.py"
    path.write_text(HEADER + body)
    return f"{path}:Mine"


def experiment(qdisc: str, hops: int = 1, **options: object) -> pacelab.Experiment:
    return pacelab.Experiment(
        topology="chain",
        topology_options={"hops": hops, "wired": bool(options.pop("wired", False))},
        rate_bps=2_000_000,
        window_pkts=128,
        duration_s=options.pop("duration_s", 10),
        qdisc=qdisc,
        **options,
    )


@pytest.mark.usefixtures("engine")
def test_a_fifo_in_python_is_the_engines_fq_with_one_flow(tmp_path: Path) -> None:
    # Twice what a hop carries: the queue is full most of the time.
    options = {"traffic": "cbr", "cbr_rate_bps": 3_000_000, "queue_pkts": 20}
    mine = pacelab.run(experiment(own(tmp_path, FIFO), **options)).run
    theirs = pacelab.run(experiment("fq", **options)).run
    assert mine["flows"] == theirs["flows"]
    assert mine["drops"] == theirs["drops"]
    assert mine["drops"]["queue"] > 100
    assert mine["nodes"] == theirs["nodes"]


@pytest.mark.usefixtures("engine")
def test_a_result_names_the_class_and_its_content(tmp_path: Path) -> None:
    config = pacelab.run(experiment(own(tmp_path, FIFO), duration_s=1)).run["config"]
    assert config["qdisc"] == "mine.py:Mine"
    assert len(config["qdisc_sha256"]) == 64


@pytest.mark.usefixtures("engine")
def test_drops_and_marks_are_counted(tmp_path: Path) -> None:
    dropping = pacelab.run(experiment(own(tmp_path, FIFO + OLD.format(act='self.drop(packet, "early")')))).run
    assert dropping["drops"]["qdisc:early"] > 0
    assert dropping["flows"][0]["rtt_mean_s"] < 0.1
    marking = FIFO + OLD.format(
        act="(self.mark if packet.ecn_capable else self.drop)(packet)\n            return packet"
    )
    marking = marking.replace("else self.drop", "else len")
    run = pacelab.run(experiment(own(tmp_path, marking), ecn=True)).run
    assert sum(node["qdisc"]["marked"] for node in run["nodes"] if "qdisc" in node) > 0
    assert run["drops"]["queue"] == 0
    assert run["flows"][0]["retransmitted_pkts"] == 0


@pytest.mark.usefixtures("engine")
def test_it_runs_beside_a_scheme_and_at_wires(tmp_path: Path) -> None:
    qdisc = own(tmp_path, FIFO + OLD.format(act='self.drop(packet, "early")'))
    scene = experiment(qdisc, hops=4, wired=True, direction="down", scheme="tcp-gap", queue_pkts=20)
    run = pacelab.run(scene).run
    assert run["hooks"]["actions"] > 0
    assert {"from", "to", "qdisc"} <= run["wires"][0].keys()
    assert all(wire["qdisc"]["sent"] > 0 for wire in run["wires"])


@pytest.mark.usefixtures("engine")
def test_packets_that_a_broken_route_takes_back_are_gone(tmp_path: Path) -> None:
    scene = experiment(own(tmp_path, FIFO), hops=6, routing="aodv", duration_s=20)
    run = pacelab.run(scene).run
    assert run["aodv"]["link_failures"] > 0
    assert run["flows"][0]["goodput_bps"] > 0


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            FIFO.replace("self.waiting.popleft() if self.waiting else None", "None"),
            r"no packet from pop although \d+ wa",
        ),
        (
            FIFO.replace("self.waiting.popleft() if self.waiting else None", "7"),
            "returned 7 from pop; it must be a Queued",
        ),
        (FIFO.replace(".popleft()", "[0]"), r"returned packet \d+ from pop, which does not wait in this queue"),
        (FIFO.replace("self.drop(packet)", "self.drop(packet, 'late')"), "reason 'late'; it must be full or early"),
        (FIFO.replace("self.drop(packet)", "self.mark(packet)"), "is not ECN-capable; drop it instead"),
        (FIFO.replace("self.drop(packet)", "raise KeyError('boom')"), "KeyError: 'boom'"),
        (FIFO.replace("super().__init__(limit_pkts)", "limit_pkts[0]"), "not subscriptable"),
        ("    def push(self, packet): pass\n", "abstract"),
    ],
)
def test_failures_stop_the_run_with_their_reason(tmp_path: Path, body: str, message: str) -> None:
    scene = experiment(own(tmp_path, body), queue_pkts=5)
    with pytest.raises(UserCodeError, match=message) as caught:
        pacelab.run(scene)
    assert "of simulated time" in str(caught.value)


def test_a_name_or_a_back_end_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"--qdisc must be one of pfifo, codel, fq_codel, fq, or FILE\.py:CLASS, not 'red'"
    ):
        experiment("red")
    with pytest.raises(ConfigError, match=r"no subclass of pacelab\.QueueDiscipline called 'Other'"):
        pacelab.run(experiment(own(tmp_path, FIFO).replace(":Mine", ":Other")))
    with pytest.raises(
        ConfigError, match=r"--qdisc must be one of .* on Linux, not .*; classes run with --backend sim"
    ):
        experiment(own(tmp_path, FIFO), backend="tap", where="uml")
