"""The traffic of flows and its times: by name, by file, and by the HTTP-like model."""

from __future__ import annotations

import hashlib
import json
import math
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Literal

import pacelab_medium
import pytest

from pacelab.errors import ConfigError
from pacelab.experiment.air_config import compile_air
from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run
from pacelab.traffic.flows import requests
from pacelab_pacer.core.contract import Drop, Event, SegmentSeen
from pacelab_pacer.core.null import NullHook

TCP = {
    **{"kind": "tcp", "segment_bytes": 1460, "window_pkts": 32, "cc": "newreno", "initial_window": 2},
    **{"min_rto_s": 0.2, "ack_every": 1},
}


def air_flows(experiment: Experiment) -> list[dict[str, object]]:
    flows: list[dict[str, object]] = compile_air(experiment)["flows"]
    return flows


def test_file_traffic_is_a_transfer_of_1_mb_by_default() -> None:
    one = Experiment(topology="indoor", topology_options={"hops": 4}, traffic="file")
    assert air_flows(one) == [{"id": 0, "src": 0, "dst": 4, "start_s": 0.0, **TCP, "size_bytes": 1_000_000}]
    assert air_flows(one.vary(size_bytes=5000))[0]["size_bytes"] == 5000


def test_cbr_traffic_has_its_burst() -> None:
    cbr = Experiment(topology="hidden", traffic="cbr", burst_pkts=5, cbr_rate_bps=300_000)
    expected = {"kind": "cbr", "payload_bytes": 1460, "rate_bps": 300_000, "burst_pkts": 5}
    assert air_flows(cbr)[1] == {"id": 1, "src": 2, "dst": 1, "start_s": 0.0, **expected}


def test_http_traffic_is_short_transfers_in_the_order_of_time() -> None:
    http = Experiment(topology_options={"hops": 2}, traffic="http", http_users=5, duration_s=100)
    flows = air_flows(http)
    starts = [float(str(flow["start_s"])) for flow in flows]
    assert starts == sorted(starts)
    assert all(1 <= start < 100 for start in starts)
    assert all(1 <= int(str(flow["size_bytes"])) <= 133_000 for flow in flows)
    # 5 users with a mean think time below 3 s (Pareto, 1 s and 1.5, cut at 60 s: 2.74 s)
    assert 100 < len(flows) < 300
    assert {plan.group for plan in http.flows} == {0}


def test_http_traffic_follows_the_seed() -> None:
    first, again, other = (list(requests(seed, 0, 0, start_s=0, end_s=1000)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_http_draws_have_the_stated_distributions() -> None:
    drawn = list(requests(7, 0, 0, start_s=0, end_s=50_000))
    starts = [0.0, *(start for start, _ in drawn)]
    thinks = [b - a for a, b in pairwise(starts)]
    # median of Pareto(1 s, 1.5): 2 ** (1 / 1.5) = 1.5874 s; of the sizes: exp(9.357) = 11,580 B
    assert median(thinks) == pytest.approx(1.5874, rel=0.05)
    assert median(size for _, size in drawn) == pytest.approx(11_580, rel=0.05)
    # a share of exp(-1.5 ln 10) = 0.0316 of the think times is above 10 s
    assert sum(think > 10 for think in thinks) / len(thinks) == pytest.approx(0.0316, abs=0.005)
    assert all(math.isclose(start * 1000, round(start * 1000), abs_tol=1e-6) for start in starts)


def test_traffic_refuses_more_flows_than_it_should_run() -> None:
    with pytest.raises(
        ConfigError, match="--traffic http gives more than 20000 flows in 100000 s; use a shorter run or fewer flows"
    ):
        Experiment(topology="cell", traffic="http", duration_s=100_000)


FILE = """\
version: 1
flows:
  - {flow: 0, stop: 130 s}
  - {flow: 0, start: 160 s}
  - {from: host, to: n0, kind: cbr, rate: 200 kbit/s, burst: 5, payload: 1000 B, category: voice}
  - {from: n1, to: host, kind: file, size: 2 MB, start: 1500 ms}
  - {from: n1, to: n0, kind: udp-saturated}
"""


@pytest.mark.usefixtures("engine")
def test_a_category_without_a_queue_of_its_own_is_reported(in_tmp: Path) -> None:
    text = FILE.replace("burst: 5", "start: 0 s").replace("udp-saturated}", "udp-saturated, category: video}")
    Path("ftp.yaml").write_text(text)
    base = Experiment(topology_options={"hops": 2, "wired_hops": 1}, traffic="ftp.yaml", duration_s=0.1)
    told = [
        [note for note in run(base.vary(**options)).notes if "category" in note]
        for options in ({}, {"priority": True}, {"edca": True})
    ]
    voice, video = (f"category {name} has no effect without --edca on" for name in ("voice", "video"))
    assert told == [[voice, video], [video], []]


def test_traffic_file_takes_the_place_of_the_topologys_flows(in_tmp: Path) -> None:
    Path("ftp.yaml").write_text(FILE)
    experiment = Experiment(topology_options={"hops": 2, "wired_hops": 1}, traffic="ftp.yaml", edca=True)
    assert air_flows(experiment) == [
        {"id": 0, "src": 0, "dst": 3, "start_s": 0.0, "stop_s": 130.0, **TCP},
        {"id": 1, "src": 0, "dst": 3, "start_s": 160.0, **TCP},
        {
            **{"id": 2, "src": 3, "dst": 0, "start_s": 0.0, "category": "voice", "kind": "cbr"},
            **{"payload_bytes": 1000, "rate_bps": 200_000, "burst_pkts": 5},
        },
        {"id": 3, "src": 1, "dst": 3, "start_s": 1.5, **TCP, "size_bytes": 2_000_000},
        {"id": 4, "src": 1, "dst": 0, "start_s": 0.0, "kind": "udp-saturated", "payload_bytes": 1460},
    ]
    Path("ftp.yaml").write_text(FILE.replace("start: 160 s", "start: 160 s, cc: few"))
    again = experiment.vary()
    assert [flow.get("cc") for flow in air_flows(again)] == ["newreno", "few", None, "newreno", None]
    config = experiment.config()
    assert config["traffic_sha256"] == hashlib.sha256(FILE.encode()).hexdigest() != again.config()["traffic_sha256"]
    assert config["traffic"] == "ftp.yaml"
    assert experiment.vary(scheme="tcp-gap").traffic_kind == "tcp"


TIMED = """\
version: 1
name: timed
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: a, at: [0 m, 0 m]}
  - {name: b, at: [200 m, 0 m]}
flows:
  - {from: a, to: b, start: 2 s, stop: 6 s}
"""


def test_flows_of_the_topology_keep_their_times(in_tmp: Path) -> None:
    Path("timed.yaml").write_text(TIMED)

    def times(line: str, **options: float) -> tuple[float, float | None]:
        Path("flows.yaml").write_text(f"version: 1\nflows: [{{flow: 0{line}}}]\n")
        (flow,) = air_flows(Experiment(topology="timed.yaml", traffic="flows.yaml", **options))
        return flow["start_s"], flow.get("stop_s")

    assert times("") == (2.0, 6.0)
    assert times("", tcp_start_s=1.0) == (3.0, 6.0)
    assert times(", start: 3 s") == (3.0, 6.0)
    assert times(", stop: 4 s") == (2.0, 4.0)
    assert times(", kind: file") == (2.0, None)
    with pytest.raises(ConfigError, match=r"flows\.yaml:2: flows\.0.*the topology's 6 s is not after start"):
        times(", start: 7 s")


@pytest.mark.parametrize(
    ("old", "new", "start", "valid"),
    [
        ("from: host", "from: hst", "ftp.yaml:5: flows.2.from: must be a node (n0, n1, n2, host)", "not 'hst'"),
        ("kind: cbr", "kind: video", "ftp.yaml:5: flows.2.kind: must be one of tcp, udp-saturated, cbr", "not 'video'"),
        ("200 kbit/s", "200 kbps", "ftp.yaml:5: flows.2.rate: unknown unit 'kbps' in '200 kbps'", "bit/s, kbit/s"),
        ("stop: 130 s", "until: 130 s", "ftp.yaml:3: flows.0.until: unknown key; use", "flow, from, to, kind, start"),
        ("{flow: 0, stop", "{flow: 7, stop", "ftp.yaml:3: flows.0.flow: must be a flow of the", "0 to 0, not 7"),
        ("{flow: 0, stop", "{flow: 0, to: n1, stop", "ftp.yaml:3: flows.0: must have", "`flow` (a number) or `from`"),
        ("{from: n1, to: host, kind", "{from: n1, kind", "ftp.yaml:6: flows.3.to: is missing", "must be a node (n0"),
        (
            "200 kbit/s",
            "1 Gbit/s",
            "ftp.yaml:5: flows.2.rate: must be a number above 0, up to 100",
            "not '1000' Mbit/s",
        ),
        ("burst: 5", "burst: 0", "ftp.yaml:5: flows.2.burst: must be a whole number from 1 to 100", "not 0"),
        ("kind: file, size", "kind: tcp, size", "ftp.yaml:6: flows.3.size: tcp flows have no size", "or use file"),
        (
            "start: 1500 ms",
            "start: 1500 ms, stop: 2 s",
            "ftp.yaml:6: flows.3.stop: a file flow stops",
            "remove stop, or use tcp, udp-sat",
        ),
        (
            "category: voice",
            "category: music",
            "ftp.yaml:5: flows.2.category: must be 'background', 'best-effort'",
            "not 'music'",
        ),
        (
            "kind: cbr",
            "kind: cbr, cc: reno",
            "ftp.yaml:5: flows.2.cc: only tcp, file, http flows have a congestion control, not cbr; remove cc",
            "remove cc",
        ),
        (
            "start: 160 s",
            "start: 160 s, cc: veno",
            "ftp.yaml:4: flows.1.cc: must be one of newreno, reno",
            "few, bbr, not 'veno'",
        ),
        (
            "start: 160 s",
            "start: 160 s, stop: 160 s",
            "ftp.yaml:4: flows.1.stop: 160 s is not after",
            "more than 160 s",
        ),
    ],
)
def test_traffic_file_refuses(old: str, new: str, start: str, valid: str, in_tmp: Path) -> None:
    assert old in FILE
    Path("ftp.yaml").write_text(FILE.replace(old, new, 1))
    with pytest.raises(ConfigError, match=r"must|; ") as caught:
        Experiment(topology_options={"hops": 2, "wired_hops": 1}, traffic="ftp.yaml")
    assert str(caught.value).startswith(start)
    assert valid in str(caught.value)


def flows_of(air: dict[str, Any]) -> list[dict[str, Any]]:
    """The flows of one run."""
    found: list[dict[str, Any]] = json.loads(pacelab_medium.run(json.dumps(air), []))["flows"]
    return found


def test_a_saturating_host_behind_wires_has_the_goodput_of_a_saturating_node() -> None:
    one = Experiment(topology_options={"hops": 1}, traffic="udp-saturated", duration_s=4, warmup_s=1)
    (up,), (down,) = flows_of(compile_air(one)), flows_of(compile_air(one.vary(direction="down")))
    up_bps, down_bps = up["goodput_bps"], down["goodput_bps"]
    assert down_bps == pytest.approx(up_bps, rel=0.02)


@pytest.mark.parametrize(("flows", "queue_pkts"), [(2, 2), (3, 5), (20, 50)])
@pytest.mark.parametrize("routing", ["static", "aodv"])
def test_saturating_flows_of_one_node_share_a_queue_that_refuses_some(
    flows: int, queue_pkts: int, routing: Literal["static", "aodv"]
) -> None:
    one = Experiment(
        topology_options={"hops": 1, "wired": False},
        traffic="udp-saturated",
        queue_pkts=queue_pkts,
        routing=routing,
        duration_s=4,
        warmup_s=1,
    )
    air = compile_air(one)
    (flow,) = air["flows"]
    counts = [found["delivered_pkts"] for found in flows_of(air | {"flows": [flow | {"id": i} for i in range(flows)]})]
    (alone,) = flows_of(air)
    assert sum(counts) == pytest.approx(alone["delivered_pkts"], rel=0.02)
    assert min(counts) > 0.8 * max(counts)


def test_a_flow_that_stops_before_it_is_connected_delivers_nothing() -> None:
    air = compile_air(Experiment(topology_options={"hops": 4, "wired": False}, duration_s=3))
    (flow,) = air["flows"]
    (stopped,) = flows_of(air | {"flows": [flow | {"stop_s": 0.001}]})
    assert (stopped["delivered_pkts"], stopped["timeouts"]) == (0, 0)


def test_saturating_flows_that_wait_for_a_route_continue_when_it_is_there() -> None:
    air = compile_air(
        Experiment(topology_options={"hops": 1, "wired": False}, traffic="udp-saturated", routing="aodv", duration_s=2)
    )
    (flow,) = air["flows"]  # 60 flows have 180 packets at once, and AODV keeps 64
    counts = [found["delivered_pkts"] for found in flows_of(air | {"flows": [flow | {"id": i} for i in range(60)]})]
    assert min(counts) > 0


@pytest.mark.parametrize("routing", ["static", "aodv"])
def test_a_saturating_flow_continues_when_a_node_has_come_back(routing: str, in_tmp: Path) -> None:
    (in_tmp / "back.yaml").write_text(BACK)
    asked = Experiment(topology="back.yaml", traffic="udp-saturated", duration_s=4).vary(routing=routing)
    first, away, *back = run(asked).series["flows"][0]["goodput_bps"]
    assert away < first / 2
    assert back[-1] == pytest.approx(first, rel=0.05)


@pytest.mark.parametrize("ends", ["a, to: b", "a, to: host", "host, to: a", "a, to: far", "far, to: a"])
def test_without_a_path_aodv_notices_and_searches(ends: str, in_tmp: Path) -> None:
    """A relay is out of range from 25 to 50 s.

    ns-2: 15 requests, a route error, 27.7 s of silence on average, and 27.4 s if the sink or the source of the packets
    is a wire behind b.
    """
    (in_tmp / "relay.yaml").write_text(RELAY.replace("a, to: b", ends))
    result = run(Experiment(topology="relay.yaml", duration_s=80, series_interval_s=0.1))
    assert result.run["drops"]["no-route"] == 0
    assert result.run["aodv"] is not None
    assert 12 <= result.run["aodv"]["requests"] <= 20
    assert result.run["aodv"]["errors"] == 1
    silent = [rate == 0 for rate in result.series["flows"][0]["goodput_bps"][200:]]
    assert 25 < 0.1 * sum(silent) < 32


RELAY = """\
version: 1
name: relay
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: a, at: [0 m, 500 m]}
  - {name: relay, at: [200 m, 500 m]}
  - {name: b, at: [400 m, 500 m]}
  - {name: host, at: [500 m, 500 m], wired: true}
  - {name: far, at: [600 m, 500 m], wired: true}
wires:
  - {between: [b, host], rate: 10 Mbit/s, delay: 40 ms}
  - {between: [host, far], rate: 10 Mbit/s, delay: 40 ms}
flows:
  - {from: a, to: b, start: 1 s}
moves:
  - {node: relay, at: 20 s, to: [200 m, 500 m]}
  - {node: relay, at: 30 s, to: [200 m, 200 m]}
  - {node: relay, at: 45 s, to: [200 m, 200 m]}
  - {node: relay, at: 55 s, to: [200 m, 500 m]}
defaults: {routing: aodv, rate: 2, headers: ns2, traffic: cbr, cbr-rate: 0.2, payload: 500}
"""
BACK = """\
version: 1
name: back
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: a, at: [0 m, 0 m]}
  - {name: b, at: [200 m, 0 m]}
flows:
  - {from: a, to: b}
moves:
  - {node: b, at: 1 s, to: [200 m, 0 m]}
  - {node: b, at: 1.2 s, to: [400 m, 0 m]}
  - {node: b, at: 1.8 s, to: [400 m, 0 m]}
  - {node: b, at: 2 s, to: [200 m, 0 m]}
"""


class EveryOther(NullHook):
    """Drops every other packet."""

    def handle(self, now_ns: int, event: Event) -> None:
        super().handle(now_ns, event)
        if isinstance(event, SegmentSeen) and event.segment.handle % 2:
            self._actions[-1] = Drop(event.segment.handle, "every-other")


def test_a_saturating_flow_continues_where_its_own_hook_drops_packets() -> None:
    one = Experiment(topology_options={"hops": 1, "wired": False}, traffic="udp-saturated", duration_s=2)
    found = json.loads(pacelab_medium.run(json.dumps(compile_air(one)), [(0, EveryOther(), "node")]))
    assert found["drops"]["hook:every-other"] > 100
    assert found["flows"][0]["delivered_pkts"] > 100
