"""The parts of the back end tap that need no kernel: wires, meters, reports, moves, fidelity, addresses and routes."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest
from test_tap_plan import plan_of

from pacelab.emulation import helper_client
from pacelab.emulation.agents.start import path_rates, task_of
from pacelab.emulation.changes import Changes, position_at
from pacelab.emulation.compile import compile_plan
from pacelab.emulation.fidelity import Load, judge, judge_medium, read_load
from pacelab.emulation.network import addresses, mesh
from pacelab.emulation.network.addresses import Interface, Route
from pacelab.emulation.network.counters import COUNTED, GAUGES
from pacelab.emulation.network.iperf3_sockets import read_sender
from pacelab.emulation.network.plain import PlainNetwork
from pacelab.emulation.network.radio_queues import QueueCounts, RadioQueues
from pacelab.emulation.network.sent_rates import MeanRate
from pacelab.emulation.network.tcp_counters import Counters, read_counters
from pacelab.emulation.network.wire_relay import WirePath
from pacelab.emulation.plan import Move
from pacelab.emulation.processes import Child, last_document
from pacelab.emulation.programs import find_mediumd
from pacelab.emulation.quantiles import quantiles, rtt_quantiles_s
from pacelab.emulation.report import air_result, late_start
from pacelab.emulation.shell import iperf_results
from pacelab.emulation.traffic import traffic
from pacelab.emulation.traffic.datagrams import Ping
from pacelab.emulation.traffic.meter import Meter, Window
from pacelab.emulation.traffic.traffic import Measured, TcpRun, Traffic
from pacelab.errors import HostError
from pacelab.experiment.experiment import Experiment
from pacelab.units import NS_PER_S
from pacelab_pacer.linux.link_layer import Station

S = 1_000_000_000
MS = 1_000_000
NO_COUNT = Counters(timeouts=0, retransmitted=0)


def test_wire_queues_and_overflows() -> None:
    # 1000 B at 8 Mbit/s take 1 ms; 5 ms of delay; two may wait (the case of network/src/wire.rs)
    wire = WirePath(rate_bps=8_000_000, delay_ns=5 * MS, queue_pkts=2)
    assert wire.take(0, 1000) == 6 * MS
    assert wire.take(0, 1000) == 7 * MS
    assert wire.take(0, 1000) == 8 * MS
    assert wire.take(0, 1000) is None
    assert wire.take(1 * MS + 1, 1000) == 9 * MS


def test_mediumd_is_found_where_the_wheel_put_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # like `pip install --user`: the metadata under lib, the program in a bin that is not on PATH
    for name in ("bin/mediumd", "lib/pacelab_wmediumd-1.dist-info/METADATA"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "bin/mediumd").chmod(0o755)
    (tmp_path / "lib/pacelab_wmediumd-1.dist-info/RECORD").write_text("../bin/mediumd,,\n")
    monkeypatch.setattr("pacelab.emulation.programs.source_tree", lambda: tmp_path / "lib")
    monkeypatch.syspath_prepend(tmp_path / "lib")
    monkeypatch.setenv("PATH", "")
    assert find_mediumd().resolve() == tmp_path / "bin/mediumd"


IDS = 'ifaces: { ids = ["02:00:00:00:00:00", "02:00:00:00:01:00"]; };'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"# Z\u00fcrich\r\n{IDS}\r\n".encode("latin-1"), ""),
        (f"{IDS} # \u00e9".encode("utf-8-sig"), ""),
        (IDS.encode("utf-16"), "is encoded in UTF-16; save it as UTF-8"),
        (f"{IDS} /* open".encode(), "line 1: a comment does not end; '*/' is missing"),
        (IDS.replace("01:00", "").encode(), 'ifaces.ids: "02:00:00:00:": must be an address such as 02:00:00:00:00:00'),
        (b"\xff\x00\x80", "line 1: expected a setting's name, not '\N{REPLACEMENT CHARACTER}'"),
        (b"", "ifaces.ids: missing; must be a list of MAC addresses"),
    ],
)
def test_the_drop_in_reads_a_file_or_refuses_it_in_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "net.cfg"
    file.write_bytes(content)
    done = subprocess.run(
        [find_mediumd(), "wmediumd", "--check", file], capture_output=True, check=False, encoding="utf-8"
    )
    expected = f"wmediumd: --check {file}: {message}\n" if message else ""
    assert (done.stdout, done.stderr, done.returncode) == ("", expected, 2 if message else 0)


def test_mediumd_refuses_words_that_are_not_utf_8_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "net.cfg"
    file.write_text(IDS)
    name = b"Z\xfcrich.cfg"
    for words, settings, message in (
        (["wmediumd", "--check", name], b"", 'wmediumd: "Z\\xFCrich.cfg": must be UTF-8; rename the file\n'),
        (["--config", name], b"", 'mediumd: "Z\\xFCrich.cfg": must be UTF-8; rename the file\n'),
        (["wmediumd", "--check", file], b'pcap = "Z\xfcrich"', "wmediumd: PACELAB_WMEDIUMD: must be UTF-8\n"),
    ):
        done = subprocess.run(
            [find_mediumd(), *words], capture_output=True, check=False, env={b"PACELAB_WMEDIUMD": settings}
        )
        assert (done.stdout, done.stderr.decode(), done.returncode) == (b"", message, 2)


def test_the_drop_in_does_not_write_its_capture_over_another_file(tmp_path: Path) -> None:
    file = tmp_path / "net.cfg"
    file.write_text(IDS)
    words = [find_mediumd(), "wmediumd", "-c", file, "-p", file]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    message = f"wmediumd: capture file {file}: exists, and is no capture; choose another name\n"
    assert (done.stderr, done.returncode) == (message, 2)
    assert file.read_text() == IDS


@pytest.mark.parametrize(
    ("words", "prefix"), [(("wmediumd", "--check"), "wmediumd: --check"), (("--config",), "mediumd: --config")]
)
def test_mediumd_refuses_a_file_without_end(words: tuple[str, ...], prefix: str) -> None:
    done = subprocess.run([find_mediumd(), *words, "/dev/zero"], capture_output=True, text=True, check=False)
    message = f"{prefix} /dev/zero: is larger than 256 MiB\n"
    assert (done.stdout, done.stderr, done.returncode) == ("", message, 2)


@pytest.mark.thorough
def test_the_drop_in_reads_the_links_of_a_thousand_stations_in_seconds(tmp_path: Path) -> None:
    file = tmp_path / "net.cfg"
    ids = ",".join(f'"02:00:00:00:{number // 256:02x}:{number % 256:02x}"' for number in range(1000))
    links = ",".join(f"({one},{other},20)" for other in range(1000) for one in range(other))
    file.write_text(f"ifaces: {{ ids = [{ids}]; links = ({links}); }};")
    subprocess.run([find_mediumd(), "wmediumd", "--check", file], check=True, timeout=30)  # took minutes


def test_wire_idles_between_packets() -> None:
    wire = WirePath(rate_bps=10_000_000, delay_ns=40 * MS, queue_pkts=50)
    assert wire.take(0, 1500) == 41_200_000
    assert wire.take(100 * MS, 40) == 140_032_000


def test_a_full_disk_does_not_affect_a_childs_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no room"))
    child = Child("echo", ["sh", "-c", "cat; echo why >&2"], stdin=b"said")
    with child._output, child._errors:
        assert (child.finish(), child.last_words()) == (b"said", "why")
    flow = Mock(process=Mock(netns=None), src=0, dst=1, stop_s=1.0, start_s=0.0)
    with monkeypatch.context() as patch:
        started = Mock()
        patch.setattr("pacelab.emulation.traffic.traffic.Child", started)
        traffic = SimpleNamespace(_plan=plan_of(topology="chain"), _report_s=1.0)
        run = TcpRun(0, flow, started)
        Traffic._serve(cast("Traffic", traffic), 0, flow)
        Traffic._call(cast("Traffic", traffic), run)
    assert [call.kwargs["variables"] for call in started.call_args_list] == [{"TMPDIR": "/run"}] * 2


def test_an_air_that_is_stopped_in_a_run_is_a_fault_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlainNetwork, "__init__", lambda _lab: None)
    lab = PlainNetwork()  # type: ignore[call-arg]
    lab.air, lab.relay, lab.switched, lab.routing = Child("mediumd", ["sleep", "60"]), None, None, []
    lab._air_stopped_s, lab._looked_s = 0.0, 9.0
    monkeypatch.setattr("pacelab.emulation.network.plain.time", Mock(monotonic=Mock(side_effect=[10.0, 10.3])))
    lab.check_alive()
    told = [lab.faults()]
    os.kill(lab.air.process.pid, signal.SIGSTOP)
    while not lab.air.stopped():
        time.sleep(0.01)
    lab.check_alive()
    with lab.air._output, lab.air._errors:
        lab.air.end(signal.SIGKILL)
    told.append(lab.faults())
    assert told == [[], ["mediumd was stopped for about 0.3 s: no frames were sent in this time"]]


def test_wires_whose_relay_does_not_answer_are_no_result() -> None:
    relay = SimpleNamespace(name="the wires' relay", end=lambda: b'{"ready": true}\n')
    with pytest.raises(HostError, match="the wires' relay did not answer at the end of the run"):
        PlainNetwork.wire_report(cast("PlainNetwork", SimpleNamespace(relay=relay)))


def test_drops_of_the_kernels_wires_count_since_the_mark() -> None:
    plan = plan_of(topology="chain", topology_options={"wired_hops": 1})
    dropped = [3, 0, 5, 2]
    queues = [Mock(get_nested=Mock(return_value={"drops": count})) for count in dropped]
    netlink = [Mock(get_qdiscs=Mock(side_effect=[[queue] for queue in queues]))] * len(plan.nodes)
    lab = SimpleNamespace(plan=plan, relay=None, wires="netem", _netlink=netlink, _index=lambda *_: 1)
    lab._netem_drops = lambda: PlainNetwork._netem_drops(cast("PlainNetwork", lab))
    PlainNetwork.mark_wires(cast("PlainNetwork", lab))
    assert PlainNetwork.wire_report(cast("PlainNetwork", lab)) == {"counters": {"wired-queue": 7 - 3}}


WINDOW = Window(start_ns=10 * S, measured_ns=11 * S, end_ns=13 * S + S // 2, interval_ns=S)


def test_meter_counts_what_arrives_in_the_window_once() -> None:
    meter = Meter(WINDOW)
    meter.sent(10 * S, 5)
    meter.sent(12 * S, 3)
    meter.arrived(9 * S, sequence=0, sent_ns=9 * S, payload_bytes=1000)
    meter.arrived(10 * S + 1, sequence=1, sent_ns=10 * S, payload_bytes=1000)
    meter.arrived(12 * S, sequence=2, sent_ns=12 * S - 10 * MS, payload_bytes=1000)
    meter.arrived(12 * S + 1, sequence=2, sent_ns=12 * S - 10 * MS, payload_bytes=1000)
    meter.arrived(13 * S, sequence=3, sent_ns=13 * S - 30 * MS, payload_bytes=500)
    meter.arrived(14 * S, sequence=4, sent_ns=13 * S, payload_bytes=1000)
    report = meter.report()
    assert report["sent_pkts"] == 3
    assert (report["delivered_pkts"], report["repeats"]) == (2, 1)
    assert report["goodput_bps"] == pytest.approx(1500 * 8 / 2.5)
    assert report["delay_mean_s"] == pytest.approx(0.02)
    assert report["delay_sd_s"] == pytest.approx(0.01)
    assert report["series_bps"] == [8000.0, 0.0, 8000.0, 8000.0]  # the last interval is half as long


def stream(start: float, end: float, size: int, **more: int) -> dict[str, Any]:
    return {"streams": [{"start": start, "end": end, "seconds": end - start, "bytes": size, **more}]}


def report_of(*intervals: dict[str, Any], **more: str) -> bytes:
    return json.dumps({"intervals": list(intervals), **more}).encode()


def test_iperf_report_is_placed_by_its_end() -> None:
    text = report_of(
        stream(0, 1.0, 1000, retransmits=2, snd_cwnd=2920, rtt=81_000),
        stream(1.0, 1.5, 500, retransmits=0, snd_cwnd=4380, snd_wnd=2944, rtt=82_000),
        error="interrupt - the server has terminated",
    )
    intervals, complaint = traffic.read_report(text, ended_ns=20 * S)
    assert complaint == ""
    assert [(part.start_ns, part.end_ns, part.payload_bytes) for part in intervals] == [
        (18 * S + S // 2, 19 * S + S // 2, 1000),
        (19 * S + S // 2, 20 * S, 500),
    ]
    assert (intervals[0].retransmits, intervals[0].window_bytes, intervals[0].rtt_s) == (2, 2920, 0.081)
    assert intervals[1].window_bytes == 2944  # the receiver's window, not the size that reno would reach


def test_iperf_report_drops_a_repeated_interval() -> None:
    text = report_of(stream(0, 1.0, 1000), stream(1.0, 2.0, 500), stream(1.0, 2.0, 500))
    assert len(traffic.read_report(text, ended_ns=S)[0]) == 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", "it printed no report"),
        (b"iperf3: error", "it printed no report"),
        (report_of(error="unable to connect to server"), "unable to connect to server"),
    ],
)
def test_iperf_report_without_intervals(text: bytes, complaint: str) -> None:
    assert traffic.read_report(text, ended_ns=S) == ([], complaint)


@pytest.mark.parametrize(
    ("seconds", "warmup_s", "said"),
    [
        (6, 0, "began up to 1.5 s late, .*: --warmup 3 leaves"),
        (6, 1, "began up to 1.5 s late, .*: --warmup 3 leaves"),
        (6, 2.2, ""),
        (23, 0, ""),
    ],
)
def test_run_of_which_much_is_the_start_of_iperf_has_a_note(seconds: int, warmup_s: float, said: str) -> None:
    plan = plan_of(topology="chain", duration_s=float(seconds), warmup_s=warmup_s)
    window = Window(
        start_ns=NS_PER_S,
        measured_ns=round((1 + warmup_s) * NS_PER_S),
        end_ns=(1 + seconds) * NS_PER_S,
        interval_ns=NS_PER_S,
    )
    run = TcpRun(0, plan.flows[0], cast("Child", None))
    run.received = [traffic.Interval(start_ns=round(2.1 * NS_PER_S), end_ns=3 * NS_PER_S, payload_bytes=1)]
    notes = late_start(Measured(window=window, tcp=[run], datagrams={}, datagram_lateness_s={}, pings=[], counters=[]))
    assert re.search(said, notes[0]) if said else not notes, notes


def test_iperf_resample_splits_an_interval_over_the_series() -> None:
    intervals, _ = traffic.read_report(
        report_of(stream(0, 1.0, 1000, snd_cwnd=10, rtt=1000), stream(1.0, 2.0, 2000, snd_cwnd=20, rtt=2000)),
        ended_ns=12 * S + 250 * MS,
    )
    series = traffic.resample(intervals, WINDOW)
    # the flow ran from 10.25 to 12.25 s
    assert series["goodput_bps"] == pytest.approx([750 * 8, (250 + 1500) * 8, 500 * 8, 0.0])
    assert series["window_bytes"] == [10, 20, 20, None]
    assert traffic.bytes_between(intervals, 11 * S, 12 * S) == pytest.approx(250 + 1500)


def test_window_is_the_permitted_data_in_flight_whatever_iperf_reports() -> None:
    plan = plan_of(topology="chain", duration_s=2.0, window_pkts=2)
    window = Window(start_ns=0, measured_ns=0, end_ns=2 * S, interval_ns=S)
    run = TcpRun(0, plan.flows[0], cast("Child", None))
    text = report_of(stream(0, 1.0, 1460, snd_cwnd=1460), stream(1.0, 2.0, 1460, snd_cwnd=4 * 1460))
    run.sent = run.received = traffic.read_report(text, ended_ns=2 * S)[0]
    nothing = Counter[str]()
    stations = [{"name": node.name} | dict.fromkeys((*COUNTED, *GAUGES), 0) for node in plan.nodes]
    stats = {"drops": nothing, "frames": nothing, "stations": stations}
    measured = Measured(
        window=window, tcp=[run], datagrams={}, datagram_lateness_s={}, pings=[], counters=[NO_COUNT] * 9
    )
    air = air_result(plan, measured, before=stats, after=stats, hooks=[], wire_drops=0, hook_drops={"lred": 3})
    assert air["drops"]["hook:lred"] == 3
    assert air["flows"][0]["cwnd_mean_pkts"] == 1.5
    assert air["series"]["flows"][0]["cwnd_pkts"] == [1.0, 2.0]


def test_pings_are_counted_from_the_warm_up_on_and_late_answers_are_not() -> None:
    endpoints = Mock()
    window = Window(start_ns=0, measured_ns=S, end_ns=3 * S, interval_ns=S)
    row = {"number": 0, "src": "n0", "dst": "n1", "dst_address": "10.9.0.2", "interval_s": 0.5}
    ping = Ping(row | {"start_ns": 0, "stop_ns": 3 * S}, window, 0.0, endpoints)
    for at_ns in range(0, 3 * S, S // 2):
        assert ping.next_ns == at_ns
        ping.send(at_ns)
    requests = [call.args[0] for call in endpoints.echo.return_value.sendto.call_args_list]
    assert [len(request) for request in requests] == [64] * 6
    replies = [bytes([0, 0]) + request[2:] for request in requests]  # an echo reply has type 0
    receive = endpoints.deliver.call_args.args[1]
    # Replies to the pings of 0 s, which is not measured; of 1 s, twice; of 2 s; and of 2.5 s, after the end.
    for at_ns, reply in [
        (100 * MS, replies[0]),
        (S + 40 * MS, replies[2]),
        (S + 50 * MS, replies[2]),
        (2 * S + 200 * MS, replies[4]),
        (3 * S, replies[5]),
    ]:
        receive(at_ns, reply)
    counts = {"sent": 4, "answered": 2, "rtt_mean_s": 0.12, "rtt_p95_s": 0.2, "rtt_max_s": 0.2}
    assert ping.report() == {"src": "n0", "dst": "n1"} | {name: pytest.approx(count) for name, count in counts.items()}


def test_quantiles_of_round_trips_are_nearest_ranks_as_in_the_simulator() -> None:
    assert rtt_quantiles_s([0.5, 0.1, 0.3]) == [0.1, 0.3, 0.3, 0.5, 0.5]  # 0.25 of two steps is a tie: up
    assert rtt_quantiles_s([]) is None


def test_the_mean_rate_counts_packets_between_looks_with_the_rate_of_the_last_one() -> None:
    mean = MeanRate(10)
    for packets, rate_bps in ((10, 6_000_000), (20, 54_000_000), (50, 6_000_000), (50, 1_000_000), (51, 0)):
        mean.see(Station("02:00:00:00:00:01", True, packets, 0, 0, rate_bps))
    assert (mean.packets, mean.rate_sum_bps) == (40, 10 * 54_000_000 + 30 * 6_000_000)


@pytest.mark.skipif(shutil.which("ss") is None, reason="no ss: apt install iproute2")
def test_a_senders_counters_are_those_of_ss() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        peer, _ = server.accept()
        with peer:
            client.sendall(bytes(50_000))
            while len(peer.recv(50_000, socket.MSG_PEEK)) < 50_000:
                pass
            before: dict[str, float | int] | None = {}
            while (said := read_sender(client)) != before:  # until no ACK arrives between two readings
                before = said
                listed = subprocess.run(
                    ["ss", "-tin", "sport", "=", str(client.getsockname()[1])],
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
    assert said is not None
    shown = dict(re.findall(r"\b(cwnd|rtt|minrtt):([0-9.]+)", listed))
    assert said["cwnd_pkts"] == int(shown["cwnd"])
    assert said["rtt_s"] == pytest.approx(float(shown["rtt"]) / 1e3, abs=1e-6)
    assert said["min_rtt_s"] == pytest.approx(float(shown["minrtt"]) / 1e3, abs=1e-6)
    assert 0 < said["delivered_pkts"] <= 60


def test_a_disciplines_drops_and_lengths_replace_those_of_the_medium() -> None:
    plan = plan_of(topology="chain", topology_options={"hops": 1}, where="uml", qdisc="codel", duration_s=2.0)
    radios = plan.stations
    queues = RadioQueues.__new__(RadioQueues)
    queues._plan, queues._hosts, queues._lengths = plan, radios, {}
    reading = {"waiting": 0, "sent": 5, "dropped": 1, "full": 1, "marked": 0}
    queues._read = lambda host: QueueCounts(**reading)
    queues.sample()  # before the mark: does not count
    queues.mark()
    for waiting in (4, 8):
        reading["waiting"] = waiting
        queues.sample()
    reading |= {"sent": 25, "dropped": 11, "full": 4, "marked": 2}
    stations = [{"name": plan.nodes[host].name, "drops_queue": 1, "queue_mean_pkts": 0.5} for host in radios]
    statistics = {"stations": stations, "drops": {"queue": 2}}
    queues.add_to(statistics)
    assert statistics["drops"]["queue"] == 2 + 3 * len(radios)
    assert stations[0] == {
        "name": plan.nodes[radios[0]].name,
        "drops_queue": 4,
        "queue_max_pkts": 8,
        "queue_mean_pkts": 6.0,
        "queue_sd_pkts": 2.0,
        "qdisc": {
            "sent": 20,
            "drops": {"full": 3, "codel": 7},
            "marked": 2,
            "wait_mean_s": None,
            "wait_max_s": None,
        },
    }


def test_iperf_results_of_tcp_and_udp() -> None:
    tcp = {"end": {"sum_received": {"bits_per_second": 1.5e6}, "sum_sent": {"bits_per_second": 2e6}}}
    assert iperf_results(json.dumps(tcp)) == ["1.5 Mbits/sec", "2 Mbits/sec"]
    assert iperf_results(json.dumps({"end": {"sum": {"bits_per_second": 1e6}}})) == ["1 Mbits/sec"]
    udp = {"end": tcp["end"] | {"sum": {"bits_per_second": 2e6}}}
    assert iperf_results(json.dumps(udp)) == ["1.5 Mbits/sec", "2 Mbits/sec"]
    assert iperf_results(json.dumps({"error": "no route"})) == ["no route"]


TRACK = [Move(node=0, at_s=1.0, position_m=(0.0, 0.0)), Move(node=0, at_s=3.0, position_m=(20.0, 10.0))]


@pytest.mark.parametrize(
    ("now_s", "place_m"),
    [
        (0.0, (4.0, 0.0)),
        (0.5, (2.0, 0.0)),
        (1.0, (0.0, 0.0)),
        (2.0, (10.0, 5.0)),
        (3.0, (20.0, 10.0)),
        (9.0, (20.0, 10.0)),
    ],
)
def test_place_of_a_moving_host(now_s: float, place_m: tuple[float, float]) -> None:
    assert position_at((4.0, 0.0), TRACK, now_s) == pytest.approx(place_m)


class Recorder:
    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, object]]] = []

    def call(self, method: str, **params: object) -> dict[str, object]:
        self.calls.append((method, params))
        return {}


def test_changes_are_sent_when_due() -> None:
    plan = plan_of(topology="chain", topology_options={"hops": 1}).model_copy(update={"moves": tuple(TRACK)})
    medium = Recorder()
    changes = Changes(plan, medium)
    for now_s in (0.0, 0.05, 2.0, 3.5, 4.0):
        changes.apply(now_s)
    assert medium.calls == [
        ("set_position", {"station": "n0", "position_m": [0.0, 0.0]}),
        ("set_position", {"station": "n0", "position_m": [10.0, 5.0]}),
        ("set_position", {"station": "n0", "position_m": [20.0, 10.0]}),
    ]


def test_judgement_is_the_worst_of_all() -> None:
    assert judge(medium="valid", late_p99_s=[0.001], stolen=0.0) == "valid"
    assert judge(medium="degraded", late_p99_s=[], stolen=0.0) == "degraded"
    assert judge(medium="valid", late_p99_s=[0.001, 0.003], stolen=0.0) == "degraded"
    assert judge(medium="degraded", late_p99_s=[], stolen=0.2) == "invalid"


@pytest.mark.parametrize(
    ("now", "since_start", "lost", "expected"),
    [
        ("valid", "valid", 0, "valid"),
        ("valid", "degraded", 0, "degraded"),
        ("invalid", "degraded", 0, "invalid"),
        ("valid", "valid", 1, "invalid"),
    ],
)
def test_a_medium_is_judged_by_its_whole_run(now: str, since_start: str, lost: int, expected: str) -> None:
    after = {"fidelity": now, "fidelity_since_start": since_start, "lost": 2 + lost}
    assert judge_medium({"lost": 2}, after) == expected


def test_load_from_proc(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 5 20 300 10 1 4 60 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n")
    assert read_load(stat) == Load(busy=130, stolen=60, total=500)
    assert (read_load(stat) - Load(busy=30, stolen=10, total=300)).shares() == {"busy": 0.5, "stolen": 0.25}


def test_counters_from_proc(tmp_path: Path) -> None:
    (tmp_path / "snmp").write_text("Ip: A B\nIp: 1 2\nTcp: RtoMin RetransSegs\nTcp: 200 7\n")
    (tmp_path / "netstat").write_text("TcpExt: X TCPTimeouts\nTcpExt: 0 3\n")
    counters = read_counters(tmp_path)
    assert counters - Counters(timeouts=1, retransmitted=2) == Counters(timeouts=2, retransmitted=5)


def test_quantiles_by_nearest_rank() -> None:
    assert quantiles([]) == {}
    assert quantiles(list(range(100, 0, -1))) == {"p50": 51, "p99": 100, "max": 100}


def test_last_document_of_a_child() -> None:
    assert last_document(b'{"ready": true}\n{"a": 1}\n{"b"') == {"a": 1}
    assert last_document(b"") == {}


@pytest.mark.parametrize(
    ("named", "in_environment", "command"),
    [
        (False, True, "sudo '{here}/a b/pacelab' cleanup"),  # a clone: sudo does not know our PATH
        (True, True, "sudo pacelab cleanup"),  # the machine of docs/vm.md
        (False, False, "sudo pacelab cleanup"),
    ],
)
def test_sudo_gets_the_path_of_a_program_that_it_would_not_find(
    named: bool, in_environment: bool, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, there in (("a b", in_environment), ("usr", named)):
        (tmp_path / folder).mkdir()
        if there:
            (tmp_path / folder / "pacelab").touch(mode=0o755)
    monkeypatch.setattr(helper_client.sysconfig, "get_path", lambda name: str(tmp_path / "a b"))
    monkeypatch.setattr(helper_client, "SUDO_FINDS", str(tmp_path / "usr"))
    assert helper_client.as_root("cleanup") == command.format(here=tmp_path)


def test_sudo_gets_the_path_of_a_users_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # for `pip install --user`: root's Python searches root's home, and sudo searches no home
    (tmp_path / "my own/bin").mkdir(parents=True)
    (tmp_path / "my own/bin/pacelab").touch(mode=0o755)
    monkeypatch.setattr(helper_client.sysconfig, "get_path", lambda name: str(tmp_path / "usr"))
    monkeypatch.setattr(helper_client, "SUDO_FINDS", str(tmp_path / "usr"))
    monkeypatch.setattr(helper_client.site, "getuserbase", lambda: str(tmp_path / "my own"))
    monkeypatch.setattr(helper_client.site, "ENABLE_USER_SITE", True)
    own = tmp_path / "my own"
    assert helper_client.as_root("cleanup") == f"sudo env PYTHONUSERBASE='{own}' '{own}/bin/pacelab' cleanup"


# Addresses and routes of real hosts.


def test_addresses_are_one_per_host() -> None:
    assert [addresses.address(host) for host in (0, 1, 95, 254, 255)] == [
        *("10.77.0.1", "10.77.0.2", "10.77.0.96", "10.77.0.255", "10.77.1.0"),
    ]


def test_interfaces_of_a_gateway() -> None:
    plan = plan_of(topology="chain", topology_options={"hops": 2, "wired_hops": 1})
    assert addresses.interfaces(plan, 2) == [
        Interface("air0", "42:50:4c:00:00:02", None),
        Interface("wire0", "02:50:4c:01:00:00", 3),
    ]
    assert addresses.interfaces(plan, 3) == [Interface("wire0", "02:50:4c:02:00:00", 2)]
    assert addresses.neighbour_mac(plan, 2, 3) == "02:50:4c:02:00:00"
    assert addresses.neighbour_mac(plan, 3, 2) == "02:50:4c:01:00:00"
    assert addresses.neighbour_mac(plan, 2, 1) == "42:50:4c:00:00:01"


def test_routes_follow_the_chain() -> None:
    plan = plan_of(topology="chain", topology_options={"hops": 2, "wired_hops": 1})
    assert addresses.routes(plan)[0] == [Route(1, 1, "air0"), Route(2, 1, "air0"), Route(3, 1, "air0")]
    assert addresses.routes(plan)[2] == [Route(0, 1, "air0"), Route(1, 1, "air0"), Route(3, 3, "wire0")]


def test_below_ip_all_stations_are_one_hop_apart() -> None:
    plan = plan_of("hwsim", topology="chain", topology_options={"hops": 2, "wired_hops": 1}, routing="batman-adv")
    assert addresses.routes(plan)[0] == [Route(1, 1, "air0"), Route(2, 2, "air0"), Route(3, 2, "air0")]
    assert addresses.routes(plan)[3] == [Route(0, 2, "wire0"), Route(1, 2, "wire0"), Route(2, 2, "wire0")]
    assert path_rates(plan, 0, 3) == (11_000_000,) * 2  # the wireless hops have not changed
    assert addresses.radio_name(plan) == "radio0"
    assert addresses.neighbour_mac(plan, 0, 2) == "02:50:4c:04:00:02"


def test_olsr_finds_wireless_routes_and_is_configured_with_networks_behind_a_gateway() -> None:
    plan = plan_of("hwsim", topology="chain", topology_options={"hops": 2, "wired_hops": 1}, routing="olsr")
    left = [[route.dst for route in table if not mesh.finds(plan, route)] for table in addresses.routes(plan)]
    assert left == [[], [], [3], [0, 1, 2]]
    assert "Hna4 { 10.77.0.4 255.255.255.255 }" in mesh.configuration(plan, 2)
    assert "Hna4" not in mesh.configuration(plan, 1)


def test_routes_take_the_lower_number_of_equals() -> None:
    # a 3 by 3 grid: from corner 0 to the middle 4 by 1 or by 3
    plan = plan_of(topology="grid", topology_options={"side": 3})
    assert addresses.path(plan, 0, 4) == [0, 1, 4]
    assert addresses.path(plan, 4, 0) == [4, 1, 0]


def test_path_rates_are_those_of_the_wireless_hops_nearest_first() -> None:
    plan = plan_of(topology="chain", topology_options={"hops": 3}, rate_bps=2_000_000)
    assert path_rates(plan, 0, 4) == (2_000_000,) * 3  # to the wired host
    assert path_rates(plan, 3, 1) == (2_000_000,) * 2  # from the gateway
    assert path_rates(plan, 3, 4) == ()


def test_gateway_agent_sees_all_wires_of_its_host() -> None:
    # the string of [vagp]: voice and TCP use separate wires
    plan = plan_of(topology="chain", topology_options={"hops": 2, "voice": 1, "tcp": 1}, scheme="vagp")
    gateway = next(hook for hook in plan.scheme.hooks if hook.point == "gateway")
    wired = [port.name for port in addresses.interfaces(plan, gateway.host) if port.peer is not None]
    assert len(wired) > 1
    assert task_of(plan, gateway).wired == "wire+"
    assert all(name.startswith("wire") for name in wired)


@pytest.mark.parametrize(
    ("back_end", "scheme", "asks_the_kernel"),
    [("hwsim", "lred", True), ("hwsim", "lred+pacing", False), ("tap", "lred", False)],
)
def test_link_red_asks_the_kernel_of_simulated_radios(back_end: str, scheme: str, asks_the_kernel: bool) -> None:
    plan = plan_of(back_end, topology="chain", topology_options={"hops": 2, "wired": False}, scheme=scheme)
    task = task_of(plan, plan.scheme.hooks[0])
    assert (task.link == "nl80211") is asks_the_kernel
    assert task.station == "n0"


# The clock of a measured run.


def test_run_on_a_machine_that_is_too_busy_reports_it() -> None:
    experiment = Experiment(backend="tap", topology="hidden", duration_s=0.2, warmup_s=0.1)
    plan = compile_plan(experiment).model_copy(update={"flows": ()})
    with pytest.raises(HostError, match="too busy"):
        Traffic(plan).run(tick=lambda done: time.sleep(0.8), at_warmup=lambda: None)
