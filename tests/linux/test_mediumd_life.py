"""mediumd's start and end, and what it makes of bad input: nothing outlives it, and nothing said to it ends it."""

from __future__ import annotations

import grp
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from air_hosts import SENDER, Air, Connection, address, program, wait_until

MakeAir = Callable[..., Air]

FLOOD = """
import socket, sys, time
out, end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    out.sendto(bytes(1000), (sys.argv[1], 9000))
"""
"""All that a host can send."""


@pytest.mark.parametrize("end", ["SIGTERM", "SIGINT", "shutdown"])
def test_a_clean_end_leaves_neither_tap_nor_socket(make_air: MakeAir, end: str) -> None:
    air = make_air([0, 200])
    assert [air.tap_exists(0), air.tap_exists(1)] == [True, True]
    assert stat.S_IMODE(air.socket_path.stat().st_mode) == 0o600
    if end == "shutdown":
        assert air.control.call("shutdown") == {}
    else:
        air.process.send_signal(getattr(signal, end))
    assert air.process.wait(5) == 0
    assert [air.tap_exists(0), air.tap_exists(1)] == [False, False]
    assert not air.socket_path.exists()


def test_a_group_may_be_let_in_and_real_time_left_out(make_air: MakeAir) -> None:
    air = make_air([0], options=["--socket-group", "daemon", "--no-realtime"])
    found = air.socket_path.stat()
    assert (stat.S_IMODE(found.st_mode), found.st_gid) == (0o660, grp.getgrnam("daemon").gr_gid)
    assert (air.ready["sched_fifo"], air.ready["memory_locked"]) == (False, False)


def test_kill_9_costs_the_hosts_the_air_and_nothing_else_and_a_new_one_takes_over(make_air: MakeAir) -> None:
    air = make_air([0, 200])
    inside = air.hosts[0].start(sys.executable, "-c", "import time; time.sleep(60)")
    air.kill()
    assert wait_until(lambda: not air.tap_exists(0) and not air.tap_exists(1))
    assert inside.poll() is None
    assert "lo" in air.hosts[0].run("ip -o link")
    assert air.socket_path.exists()  # stale
    air.start()
    assert air.ping(0, 1)


def test_it_dies_with_its_parent(make_air: MakeAir) -> None:
    air = make_air([0])
    air.config["stations"][0]["tap"]["name"] = "air1"
    path = air.folder / "second.json"
    path.write_text(json.dumps(air.config), encoding="utf-8")
    code = "import subprocess, sys; subprocess.Popen(sys.argv[1:], stdout=1).wait()"
    command = [str(program()), "--config", str(path), "--die-with-parent"]
    parent = subprocess.Popen([sys.executable, "-c", code, *command], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = json.loads(parent.stdout.readline())["pid"]
    parent.kill()
    parent.wait(5)
    parent.stdout.close()
    assert wait_until(lambda: "air1" not in air.hosts[0].run("ip -o link"))
    assert wait_until(lambda: not Path(f"/proc/{child}/exe").exists())


def spoil(config: dict[str, Any], path: str, value: Any) -> None:
    *way, last = path.split(".")
    place: Any = config
    for key in way:
        place = place[int(key)] if isinstance(place, list) else place[key]
    place[last] = value


@pytest.mark.parametrize(
    ("path", "value", "code", "told"),
    [
        ("version", 2, 2, "version 2"),
        ("radio.data_rate_bps", 3, 2, "rate 3"),
        ("radio.color", "red", 2, "color"),
        ("stations.0.mac", "01:00:00:00:00:01", 2, "group"),
        ("stations.0.tap.netns", "/proc/self/status", 3, "/proc/self/status"),
        ("stations.0.tap.netns", "/nowhere", 3, "/nowhere"),
        ("stations.0.tap.name", "lo", 3, "lo"),
        ("seed", 2, 3, "in use"),  # the socket of the one that runs
    ],
)
def test_a_bad_start_is_one_line_and_leaves_nothing(
    make_air: MakeAir, path: str, value: Any, code: int, told: str
) -> None:
    air = make_air([0])
    air.config["stations"][0]["tap"]["name"] = "air1"
    spoil(air.config, path, value)
    file = air.folder / "bad.json"
    file.write_text(json.dumps(air.config), encoding="utf-8")
    other = air.socket_path if path == "seed" else air.folder / "other"
    command = [str(program()), "--config", str(file), "--socket", str(other)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert done.stderr.startswith("mediumd: ")
    assert done.stderr.count("\n") == 1
    assert other.exists() == (path == "seed")
    assert "air1" not in air.hosts[0].run("ip -o link")
    assert air.ping(0, 0)  # the one that runs still does


def test_malformed_messages_are_refused_with_a_line_each_and_the_rest_keeps_running(make_air: MakeAir) -> None:
    air = make_air([0, 200])
    control = Connection(air.socket_path)
    draw = random.Random(1)
    good = json.dumps({"id": 1, "method": "set_position", "params": {"station": "n1", "position_m": [150, 0]}}).encode()
    for _ in range(3000):
        bent = bytearray(good)
        for _ in range(draw.randint(1, 4)):
            bent[draw.randrange(len(bent))] = draw.randrange(256)
        if draw.random() < 0.3:
            bent = bent[: draw.randrange(len(bent))]
        lines = bytes(bent).split(b"\n")
        control.send(bytes(bent))
        for _ in lines:
            answer = control.next()
            assert set(answer) == {"id", "result"} or answer["error"]["code"] in ("parse", "params", "method")
    control.send(b"x" * 200_000)
    answer = control.next()
    assert (answer["id"], answer["error"]["code"]) == (None, "parse")
    assert "65536" in answer["error"]["message"]
    assert control.call("set_position", station="n1", position_m=[200, 0]) == {}
    control.close()
    assert air.ping(0, 1)
    assert air.process.poll() is None


def test_the_seventeenth_connection_is_told_that_it_is_one_too_many(make_air: MakeAir) -> None:
    air = make_air([0])
    more = [Connection(air.socket_path) for _ in range(15)]
    for one in more:
        assert one.call("hello", version=1)["name"] == "mediumd"
    last = Connection(air.socket_path)
    assert last.next()["error"]["code"] == "busy"
    assert last.next() == {}
    for one in [*more, last]:
        one.close()
    again = Connection(air.socket_path)
    assert wait_until(lambda: air.control.call("hello", version=1)["version"] == 1)
    again.close()


def test_a_listener_that_does_not_read_loses_events_and_never_holds_up_the_air(make_air: MakeAir) -> None:
    air = make_air([0, 200, 100])
    deaf = Connection(air.socket_path)
    deaf.call("subscribe", kinds=["transmit", "drop"])
    flood = air.hosts[0].python(SENDER, address(1), "100", "6000", "4")
    time.sleep(1)
    times_ms = air.ping(1, 2, "-c 10 -i 0.2 -W 1")
    flood.communicate(timeout=20)
    stats = air.stats()
    assert len(times_ms) >= 8
    assert stats["drops"]["queue"] > 5_000
    assert stats["lateness"]["delivery"]["p50_ns"] < 1_000_000
    told = 0
    while (event := deaf.next()).get("event") != "lost":
        told += 1
    assert told > 1_000
    assert event["count"] > 1_000
    deaf.close()


def test_a_flood_is_dropped_and_costs_little(make_air: MakeAir) -> None:
    air = make_air([0, 200])
    before = air.stats()
    flood = air.hosts[0].python(FLOOD, address(1), "3")
    flood.communicate(timeout=20)
    after = air.stats()
    assert after["drops"]["tap_ring"] > 1_000
    assert after["drops"]["queue"] > 1_000
    # 3 s of a host that sends all it can; what is taken off its ring while the queue is full is bounded
    assert after["process"]["air_cpu_s"] - before["process"]["air_cpu_s"] < 1.0
    assert after["stations"][0]["queue_max_pkts"] == 50
    assert after["drops"]["host"] == 0


def test_an_interface_that_goes_down_comes_back(make_air: MakeAir) -> None:
    air = make_air([0, 200])
    assert air.ping(0, 1)
    air.hosts[1].run("ip link set air0 down")
    air.ping(0, 1)
    time.sleep(0.3)
    before = air.stats()["process"]["cpu_s"]
    time.sleep(1)
    assert air.stats()["process"]["cpu_s"] - before < 0.1  # no spinning on a descriptor in trouble
    air.hosts[1].run("ip link set air0 up")
    air.set_neighbours()
    assert wait_until(lambda: bool(air.ping(0, 1)))
    assert os.path.exists(air.socket_path)
