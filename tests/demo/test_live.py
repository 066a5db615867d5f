"""Following a running network, with hand-written events and with a simulated mediumd socket."""

from __future__ import annotations

import http.client
import json
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pacelab.cli.main import main
from pacelab.demo.live import CURVE_POINTS, MAX_FLOWS, FlowTracker, Live
from pacelab.demo.server import LOOPBACK, DemoServer
from pacelab.errors import HostError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mediumd needs Linux")
STATIONS = ("n0", "n1", "n2")


def sent(
    station: str, to: str, *, seq: int | None = None, size: int = 1000, t_ns: int = 0, port: int = 80, **other: Any
) -> dict[str, Any]:
    frame: dict[str, Any] = {
        "ip": {"src": "10.0.0.1", "dst": "10.0.0.3", "protocol": 17 if seq is None else 6},
        "ports": [5000, port],
        "payload_bytes": size,
    }
    if seq is not None:
        frame["tcp"] = {"seq": seq}
    whole = {"event": "transmit", "t_ns": t_ns, "station": station, "to": to, "delivered": True, "frame": frame}
    return whole | other


def view_of(*events: dict[str, Any], seconds: float = 1.0) -> dict[str, Any]:
    tracker = FlowTracker(STATIONS)
    for event in events:
        tracker.on_event(event)
    return tracker.view(seconds)


def test_goodput_counts_at_the_end_of_the_way_alone() -> None:
    view = view_of(*[sent("n0", "n1")] * 3, *[sent("n1", "n2")] * 2, seconds=2.0)
    assert view["flows"] == [{"label": "n0 → n2", "src": 0, "dst": 2, "goodput_bps": 2 * 8000 / 2}]
    assert view["curves"]["lines"] == [{"label": "n0 → n2", "values": [None] * (CURVE_POINTS - 1) + [8.0]}]


@pytest.mark.parametrize("start", [7, 2**32 - 1500])
def test_repeated_octets_count_once_also_when_sequence_numbers_wrap(start: int) -> None:
    seqs = [start, start + 1000, start + 1000, start + 500, start, start + 2000]
    view = view_of(*[sent("n0", "n1", seq=seq % 2**32) for seq in seqs])
    assert view["flows"][0]["goodput_bps"] == 8 * 3000


def test_frames_without_payload_undelivered_or_for_all_are_no_goodput() -> None:
    view = view_of(
        sent("n0", "n1", seq=5, size=0),
        sent("n0", "n1", delivered=False),
        sent("n0", "n1") | {"to": None},
        sent("n0", "n1") | {"frame": {"bytes": 28, "ethertype": 2054}},
        {"event": "air", "t_ns": 0, "stations": []},
    )
    assert view["flows"] == []


def test_drops_and_lost_events_are_counted() -> None:
    view = view_of({"event": "drop", "t_ns": 0}, {"event": "lost", "count": 12})
    assert view["numbers"] == "1 packet was given up or refused since this page was opened. The page missed 12 events."


def test_memory_is_bounded_and_silent_flows_make_room() -> None:
    tracker = FlowTracker(STATIONS)
    for port in range(100):
        tracker.on_event(sent("n0", "n1", port=port))
    assert len(tracker.view(1.0)["flows"]) == MAX_FLOWS
    tracker.on_event(sent("n0", "n1", port=999, t_ns=31 * 10**9))
    assert len(tracker.view(1.0)["flows"]) == 1


def test_beams_are_the_newest_once_each() -> None:
    tracker = FlowTracker(STATIONS)
    for _ in range(5):
        tracker.on_event(sent("n0", "n1"))
        tracker.on_event(sent("n1", "n2"))
    assert tracker.take_frames() == [(0, 1), (1, 2)]
    assert tracker.take_frames() == []


STATS = {"fidelity": "valid", "stations": [{"name": name, "position_m": None} for name in STATIONS]}


class StandIn:
    """Answers on a Unix socket like mediumd. A subscriber gets 15 rounds of frames; then the stream ends."""

    def __init__(self, path: Path) -> None:
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rwb") as lines:
            for line in lines:
                request = json.loads(line)
                results = {"hello": {"stations": [{"name": name} for name in STATIONS]}, "stats": STATS}
                self.say(lines, {"id": request["id"], "result": results.get(request["method"], {})})
                if request["method"] == "subscribe":
                    for number in range(15):
                        threading.Event().wait(0.1)
                        self.say(lines, sent("n0", "n1", seq=1000 * number))
                    return

    def say(self, lines: Any, document: dict[str, Any]) -> None:
        lines.write(json.dumps(document).encode() + b"\n")
        lines.flush()


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    path = tmp_path / "air.sock"
    stand_in = StandIn(path)
    yield Live(str(path))
    stand_in.listener.close()


def test_a_page_receives_frames_views_and_the_end(live: Live) -> None:
    with DemoServer(live=live) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        connection = http.client.HTTPConnection(LOOPBACK, server.server_port, timeout=60)
        connection.request("GET", f"/live?token={server.token}")
        page = connection.getresponse().read().decode()
        connection.close()
        connection.request("GET", f"/live/events?token={server.token}")
        told = connection.getresponse().read().decode()
        connection.close()
        server.shutdown()
        thread.join()
    assert "A running network" in page
    assert "event: frames\ndata: [[0, 1]]" in told
    assert '"label": "n0 \\u2192 n1"' in told
    assert told.endswith('event: end\ndata: "mediumd has ended"\n\n')


def test_stations_without_positions_are_drawn_in_a_row(live: Live) -> None:
    assert [node["position_m"] for node in live.document()["air"]["nodes"]] == [[0.0, 0.0], [200.0, 0.0], [400.0, 0.0]]


def test_no_network_to_follow_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(HostError, match="is it running"):
        Live(str(tmp_path / "absent.sock"))
    assert main(["demo", "--live", str(tmp_path / "absent.sock")]) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert main(["demo", "hidden", "--live", "x"]) == 2
