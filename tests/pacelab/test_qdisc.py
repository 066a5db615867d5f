"""--qdisc and --ecn: refusals, and how results store them."""

from __future__ import annotations

from typing import Any

import pytest

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run


def test_a_run_with_drop_tail_queues_stores_neither() -> None:
    stored = Experiment(qdisc="pfifo", ecn=False).config()
    assert not {"qdisc", "ecn"} & stored.keys()


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"qdisc": "red"}, "--qdisc must be one of pfifo, codel, fq_codel, fq, or FILE.py:CLASS, not 'red'"),
        ({"ecn": True}, "--ecn on needs a queue that marks packets: --qdisc codel or fq_codel, not pfifo"),
        ({"ecn": True, "qdisc": "fq"}, "--ecn on needs a queue that marks packets: --qdisc codel or fq_codel, not fq"),
        (
            {"priority": True, "qdisc": "codel"},
            "--qdisc must be pfifo with --priority on, which reorders the queue, not codel",
        ),
        (
            {"backend": "tap", "qdisc": "codel"},
            "--backend tap: --qdisc codel needs the guest's kernel, whose radios hold packets back; use --where uml, "
            "--backend sim, or --qdisc pfifo",
        ),
        (
            {"backend": "hwsim", "where": "uml", "qdisc": "fq", "edca": True},
            "--backend hwsim: --qdisc must be pfifo with --edca on, which has queues of its own, not fq",
        ),
    ],
)
def test_impossible_values_are_refused(options: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Experiment(**options)
    assert str(refused.value) == refusal


# The simulator's disciplines in a network. `medium/network/src/qdisc` has the hand-computed cases.

CHAIN: dict[str, Any] = {"topology_options": {"hops": 2}, "direction": "down", "duration_s": 20.0, "warmup_s": 2.0}


@pytest.mark.usefixtures("engine")
def test_a_discipline_counts_what_it_did_at_each_radio_and_wire() -> None:
    result = run(Experiment(qdisc="codel", window_pkts=64, **CHAIN)).run
    nodes = {node["name"]: node["qdisc"] for node in result["nodes"]}
    assert nodes.keys() == {"n0", "n1", "n2"}
    dropped = sum(counts["drops"].get("codel", 0) for counts in nodes.values())
    assert dropped == result["drops"]["qdisc:codel"] > 0
    assert all(0 < counts["wait_mean_s"] < counts["wait_max_s"] for counts in nodes.values())
    [to_server, from_server] = [wire for wire in result["wires"] if "host" in (wire["from"], wire["to"])]
    assert from_server["from"] == "host"
    assert from_server["qdisc"]["sent"] > 1000
    assert from_server["qdisc"]["wait_max_s"] > to_server["qdisc"]["wait_max_s"] == 0.0
    assert result["config"]["qdisc"] == "codel"


@pytest.mark.usefixtures("engine")
def test_with_ecn_codel_marks_the_data_that_it_would_drop() -> None:
    result = run(Experiment(qdisc="codel", ecn=True, window_pkts=64, **CHAIN)).run
    assert sum(node["qdisc"]["marked"] for node in result["nodes"]) >= 3
    assert result["flows"][0]["retransmitted_pkts"] == result["drops"]["mac-rts"] == 0


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("qdisc", ["fq", "fq_codel"])
def test_a_call_does_not_wait_behind_bulk_data(qdisc: str) -> None:
    """A voice packet is alone in its queue, so at most a packet in service and its own retries delay it."""

    def delay_s(name: str) -> float:
        chain = CHAIN | {"topology_options": {"hops": 2, "voice": 1, "tcp": 1}}
        return float(run(Experiment(qdisc=name, traffic="mixed", **chain)).run["calls"][0]["delay_mean_s"])

    assert delay_s(qdisc) < 0.6 * delay_s("pfifo")


@pytest.mark.usefixtures("engine")
def test_saturating_sources_do_not_stop_when_a_discipline_drops_their_packets() -> None:
    result = run(Experiment(topology="grid", traffic="udp-saturated", qdisc="codel", duration_s=10.0)).run
    sent, delivered = (sum(flow[key] for flow in result["flows"]) for key in ("sent_pkts", "delivered_pkts"))
    assert result["drops"]["qdisc:codel"] > 100
    assert all(flow["sent_pkts"] > 100 for flow in result["flows"])
    waiting = sum(node["queue_max_pkts"] + 1 for node in result["nodes"])
    assert delivered <= sent <= delivered + sum(result["drops"].values()) + waiting


# --ping: round trips of small packets beside the flows.


@pytest.mark.usefixtures("engine")
def test_a_ping_beside_bulk_data_waits_in_drop_tail_queues_and_not_under_fq_codel() -> None:
    def ping(qdisc: str) -> dict[str, Any]:
        [pings] = run(Experiment(qdisc=qdisc, window_pkts=64, ping_interval_s=0.1, **CHAIN)).run["pings"]
        return dict(pings)

    drop_tail, fq_codel = ping("pfifo"), ping("fq_codel")
    assert (drop_tail["src"], drop_tail["dst"], drop_tail["sent"]) == ("host", "n0", 180)
    assert drop_tail["answered"] > 170 < fq_codel["answered"]
    # three wires of 40 ms in each direction; at 2 hops, a packet in service at each radio delays a ping by 4 times 6 ms
    # at most
    assert 0.24 < fq_codel["rtt_mean_s"] < 0.27
    assert fq_codel["rtt_mean_s"] < fq_codel["rtt_p95_s"] < fq_codel["rtt_max_s"]
    assert drop_tail["rtt_mean_s"] > fq_codel["rtt_mean_s"] + 0.05


@pytest.mark.usefixtures("engine")
def test_pings_of_an_idle_chain_take_the_time_of_wires_and_frames() -> None:
    chain = {"topology_options": {"hops": 2}, "direction": "down", "duration_s": 5.0}
    result = run(Experiment(traffic="file", size_bytes=1000, ping_interval_s=0.5, **chain)).run
    [pings] = result["pings"]
    assert pings["sent"] == 10
    assert 0.2400 < pings["rtt_mean_s"] < 0.2550
    assert "pings" not in run(Experiment(traffic="file", size_bytes=1000, **chain)).run
