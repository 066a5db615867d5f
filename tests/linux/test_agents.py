"""The agents' command line, an agent's displays, and the settings that a run passes to its agents."""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import replace
from ipaddress import IPv4Address
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from pydantic import TypeAdapter
from rich.console import Console

from pacelab.cli.main import main
from pacelab.emulation.agents import feed, run
from pacelab.emulation.agents.feed import Feed
from pacelab.emulation.agents.roles import path_table, read_path_rates
from pacelab.emulation.agents.start import Agents, task_of
from pacelab.emulation.agents.task import Task
from pacelab.emulation.agents.views import AgentCollector, picture, serve
from pacelab.emulation.compile import compile_plan
from pacelab.emulation.documents import read_document
from pacelab.emulation.plan import Hook, dump_plan, read_plan
from pacelab.emulation.processes import Fork
from pacelab.errors import ConfigError, HostError
from pacelab.experiment.experiment import Experiment
from pacelab.schemes import HookSettings
from pacelab_pacer.core.null import NullHook
from pacelab_pacer.linux.agent import BEGIN
from pacelab_pacer.linux.host import AgentError
from pacelab_pacer.linux.rules import Capture, Rules, own_name
from pacelab_pacer.linux.status import Status
from pacelab_pacer.linux.stop_signal import StopSignal

# The agents' command line and displays; no root needed.

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="agents are for Linux")

STATUS = {
    "event": "status",
    "version": 1,
    "agent": "gateway",
    "scheme": "vagp",
    "uptime_s": 3.0,
    "packets": {"seen": 1234, "resent": 2},
    "held_pkts": 3,
    "kept_pkts": 4,
    "passed_unseen": {"fragment": 5},
    "drops": {"copy already queued": 6},
    "hook": {"paced": 7, "idle": 0},
    "failed": None,
    "released": {"times": 0, "seconds": 0.0},
    "errors": 0,
    "release_lateness_us": {"p50": 20, "p99": 90, "max": 120},
    "flows": [
        {
            "flow": "10.0.0.1:80 > 10.0.1.1:5000",
            "protocol": "tcp",
            "rate_bps": 1_500_000,
            "packets_per_s": 125.0,
            "rtt_s": 0.0421,
            "mos": None,
        },
        {
            "flow": "10.0.0.1:16384 > 10.0.1.1:16384",
            "protocol": "udp",
            "rate_bps": 24_000,
            "packets_per_s": 50.0,
            "rtt_s": None,
            "mos": 3.59,
        },
    ],
}


GAP = ("gateway", "--scheme", "tcp-gap", "--air", "a", "--wired", "b", "--path-rates", "11")
LED = ("gateway", "--scheme", "newreno", "--air", "a", "--wired", "b", "--controller")


@needs_linux
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["gateway", "--scheme", "newreno", "--air", "a", "--wired", "b"],
            "--scheme 'newreno' does nothing at a gateway; use one of tcp-gap, tcp-gap-nogc, tcp-gap-code,",
        ),
        (["gateway", "--scheme", "nope", "--air", "a", "--wired", "b"], "'nope'"),
        (["gateway", "--scheme", "fixed-rate", "--air", "a", "--wired", "b"], "needs --pace-rate"),
        (["gateway", "--scheme", "tcp-gap", "--air", "a", "--wired", "b"], "'tcp-gap' needs --path-rates"),
        (["gateway", "--scheme", "tcp-gap", "--air", "a", "--wired", "b", "--datapath", "tc"], "nearest hop first"),
        (["sender", "--scheme", "tcp-ap+delayed-ack", "--air", "a"], "needs --path-rates"),
        (["station", "--scheme", "tcp-expect", "--air", "a"], "needs --path-rates"),
        (["relay", "--scheme", "lred+pacing", "--air", "a", "--mediumd", "x", "--station", "n"], "needs --path-rates"),
        (["gateway", "--scheme", "tcp-gap", "--air", "a"], "--wired"),
        (["gateway", "--scheme", "tcp-gap", "--air", "a", "--wired", "a"], "another interface than --air"),
        (
            [*GAP, "--pace-rate", "1"],
            "--pace-rate has no effect on --scheme tcp-gap; use one of fixed-rate, data-pacing, ack-pacing, vagp-fixed",
        ),
        ([*GAP, "--throttle", "drop"], "--throttle has no effect on --scheme tcp-gap; use one of ack-suppression"),
        ([*GAP, "--datapath", "tc", "--clamp-mss"], "--clamp-mss needs --datapath nfqueue"),
        ([*GAP, "--datapath", "tc", "--queue", "5"], "--queue 5 needs --datapath nfqueue"),
        (
            [*GAP, "--path-rates", "2"],
            "--path-rates must be RATE,RATE,... in Mbit/s, nearest hop first, or ADDRESS=RATE,... or",
        ),
        ([*LED, "http://10.0.0.1:8080"], "--controller must be http://127.0.0.1:PORT or unix:PATH, not 'http://"),
        ([*LED, "http://127.0.0.1:x"], "--controller must be http://127.0.0.1:PORT or unix:PATH, not 'http://"),
        ([*LED, "http://localhost:99999"], "--controller must be http://127.0.0.1:PORT or unix:PATH, not 'http://"),
        (["sender", "--scheme", "lred", "--air", "a"], "one of tcp-gap"),
        (["relay", "--scheme", "lred", "--air", "a", "--mediumd", "x"], "--mediumd and --station"),
        (["station", "--scheme", "tcp-gap", "--air", "a"], "delayed-ack"),
        (
            ["sender", "--scheme", "tcp-ap", "--air", "a", "--path-rates", "3"],
            "--path-rates must be RATE,RATE,... in Mbit/s, nearest hop first, or ADDRESS=RATE,... or",
        ),
        (["sender", "--scheme", "tcp-ap", "--air", "a", "--path-rates", "10.0.0.300=2"], "10.0.0.300"),
        (["sender", "--scheme", "tcp-ap", "--air", "a", "--queue", "-1"], "--queue"),
        (["sender", "--scheme", "tcp-ap", "--air", "a", "--datapath", "ebpf"], "nfqueue, tc"),
        (["sender", "--scheme", "tcp-ap", "--air", "a", "--seconds", "0"], "--seconds"),
    ],
)
def test_agent_commands_refuse_in_one_line_with_exit_2(arguments, said, capsys) -> None:
    assert main(arguments) == 2
    text = capsys.readouterr().err
    assert said in text
    assert text.count("\n") == 1


@needs_linux
def test_agent_commands_name_a_missing_interface_as_such_under_a_controller_too(capsys) -> None:
    assert main([*LED, "http://127.0.0.1:1"]) == 3
    assert "interface 'b': no such interface" in capsys.readouterr().err


@needs_linux
def test_agent_commands_metrics_port_in_use_is_exit_3(capsys) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["sender", "--scheme", "fixed-rate", "--pace-rate", "1", "--air", "lo", "--metrics", port]) == 3
    assert f"--metrics {port}" in capsys.readouterr().err


@needs_linux
def test_path_rates_longest_prefix_wins() -> None:
    table = path_table(read_path_rates(["2,2", "10.0.0.0/8=11", "10.1.2.3=5.5,1"]))
    assert table.rates_bps(int(IPv4Address("192.168.0.1"))) == (2_000_000, 2_000_000)
    assert table.rates_bps(int(IPv4Address("10.9.9.9"))) == (11_000_000,)
    assert table.rates_bps(int(IPv4Address("10.1.2.3"))) == (5_500_000, 1_000_000)


@needs_linux
def test_path_rates_with_host_bits_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"10\.1\.2\.3/8"):
        path_table(read_path_rates(["10.1.2.3/8=2"]))


def drawn(status: dict) -> str:
    console = Console(width=120, file=io.StringIO())
    console.print(picture(status))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@needs_linux
def test_live_view_shows_flows_and_what_happened() -> None:
    text = drawn(STATUS)
    for shown in ("gateway vagp", "1234 packets", "1.500", "42.1", "3.59", "paced 7", "already queued 6", "fragment 5"):
        assert shown in text
    assert "idle" not in text


@needs_linux
def test_live_view_reports_when_the_algorithm_is_bypassed() -> None:
    assert "BYPASSED, the algorithm failed: ValueError: x" in drawn({**STATUS, "failed": "ValueError: x"})


@pytest.fixture
def metrics():
    """Port of a metrics server with the token `secret`."""
    latest = dict(STATUS)
    listening = socket.create_server(("127.0.0.1", 0))
    server = serve(listening, "secret", latest)
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def ask(port: int, path: str = "/metrics", **headers: str) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return answer.read().decode()


@needs_linux
def test_metrics_have_flows_and_counters(metrics) -> None:
    text = ask(metrics, Authorization="Bearer secret")
    assert 'pacelab_packets_total{agent="gateway",kind="seen",scheme="vagp"} 1234.0' in text
    assert 'pacelab_passed_unseen_total{agent="gateway",kind="fragment",scheme="vagp"} 5.0' in text
    assert 'flow="10.0.0.1:16384 > 10.0.1.1:16384",scheme="vagp"} 3.59' in text
    assert 'pacelab_failed{agent="gateway",scheme="vagp"} 0.0' in text


@needs_linux
def test_metrics_and_the_live_view_take_all_that_an_agent_may_say() -> None:
    """Both views, also with `--datapath tc`, read only fields that every status has by its type."""
    least = {name: STATUS[name] for name in TypeAdapter(Status).json_schema()["required"]}
    assert drawn(least)
    assert list(AgentCollector(least).collect())


@needs_linux
@pytest.mark.parametrize(
    ("path", "headers", "code"),
    [
        ("/metrics", {}, 401),
        ("/metrics", {"Authorization": "Bearer wrong"}, 401),
        ("/metrics", {"Authorization": "Bearer secret", "Host": "evil.example"}, 403),
        ("/metrics", {"Authorization": "Bearer secret", "Origin": "http://evil.example"}, 403),
        ("/other", {"Authorization": "Bearer secret"}, 404),
    ],
)
def test_metrics_are_for_prometheus_alone(metrics, path, headers, code) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(metrics, path, **headers)
    assert refused.value.code == code
    refused.value.close()


@needs_linux
def test_feed_never_blocks_and_still_delivers_the_end(tmp_path, monkeypatch) -> None:
    out, sent, blocked = tmp_path / "out", tmp_path / "sent", tmp_path / "blocked"

    def slow(_mode: str, _metrics: object, _token: str) -> int:
        until = time.monotonic() + 20
        while not sent.exists():  # it reads nothing for a while: the pipe holds 64 KiB
            if time.monotonic() > until:
                blocked.touch()
                break
            time.sleep(0.01)
        out.write_text(sys.stdin.read())
        return 0

    monkeypatch.setattr(feed, "run", slow)
    sender = Feed(mode="json")
    for number in range(100):
        sender.send({"event": "status", "number": number, "padding": "x" * 10_000})
    sent.touch()
    assert not blocked.exists()
    sender.send({"event": "end"})
    sender.close()
    documents = [json.loads(line) for line in out.read_text().splitlines()]
    assert documents[-1] == {"event": "end"}
    assert 1 < len(documents) < 50
    assert [one["number"] for one in documents[:-1]] == list(range(len(documents) - 1))


@needs_linux
def test_the_display_shows_the_end_even_if_its_process_group_is_ended() -> None:
    """systemd, `timeout` and a closing terminal signal the whole group."""
    (theirs, ours), (shown, out) = os.pipe(), os.pipe()
    child = Fork(lambda: feed.run("json", None, ""), name="display", files=(theirs, out, 2), session=False)
    os.close(theirs)
    os.close(out)
    with os.fdopen(ours, "w") as agent, os.fdopen(shown) as screen:
        print('{"event": "ready"}', file=agent, flush=True)
        assert screen.readline() == '{"event": "ready"}\n'
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            child.send_signal(number)
        print('{"event": "end"}', file=agent, flush=True)
        agent.close()
        assert screen.read() == '{"event": "end"}\n'
    assert child.wait(20) == 0


def test_a_port_for_metrics_that_is_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(HostError, match=f"^--metrics {port}: Address already in use; choose another port$"):
            run._listen(port)


@needs_linux
def test_the_display_reports_a_full_disk_in_one_line_and_reads_on() -> None:
    (theirs, ours), (shown, errors) = os.pipe(), os.pipe()
    with open("/dev/full", "w") as full:
        child = Fork(
            lambda: feed.run("json", None, ""), name="display", files=(theirs, full.fileno(), errors), session=False
        )
    os.close(theirs)
    os.close(errors)
    with os.fdopen(ours, "w") as agent, os.fdopen(shown) as screen:
        for event in ("ready", "status", "end"):
            print(json.dumps({"event": event}), file=agent, flush=True)
        agent.close()
        assert screen.read() == "pacelab: no more status on stdout: No space left on device; the agent continues\n"
    assert child.wait(20) == 0


@pytest.mark.parametrize(
    ("theirs", "clash"),
    [
        ("-A FORWARD -i wire0 -o air0", True),
        ("-A FORWARD -i wire+ -o air0", True),
        ("-A FORWARD -o air0", True),
        ("-A FORWARD -i wire1 -o air0", False),
        ("-A FORWARD -i wire0 -o air1", False),
        ("-A OUTPUT -o air0", False),
    ],
)
@needs_linux
def test_an_agent_refuses_packets_that_another_agent_has(theirs: str, clash: bool) -> None:
    captures = (Capture(hook="FORWARD", queue=1, in_interface="wire0", out_interface="air0"),)
    other = f"{own_name('PACELAB')}-9"
    listing = f"*mangle\n:{other} - [0:0]\n{theirs} -j {other}\n"
    with pytest.raises(AgentError, match="already handles these packets") if clash else contextlib.nullcontext():
        Rules(captures, own_mark=1)._check_free(listing)


CLOSED = """
import socket, sys
from pacelab.__main__ import _fill_standard_files
from pacelab.emulation.processes import Fork

_fill_standard_files()
child = Fork(lambda: print("of a child") or 0, name="child")
sys.exit(child.wait(20) or socket.socket().fileno() < 3)
"""


@needs_linux
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_no_socket_takes_the_place_of_a_closed_standard_file(closed: str) -> None:
    ran = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", CLOSED], check=False)
    assert ran.returncode == 0


# The settings that a run passes to its agents: all settings of the simulator's hooks, through a plan and a task as
# JSON.


def tasks_of(**options: Any) -> tuple[Experiment, list[Task]]:
    experiment = Experiment(backend="tap", **options)
    plan = read_plan(dump_plan(compile_plan(experiment)))
    texts = [task_of(plan, hook).model_dump_json() for hook in plan.scheme.hooks]
    return experiment, [read_document(Task, text, "task") for text in texts]


@pytest.mark.parametrize(
    "options",
    [
        {"topology": "chain", "scheme": "lred", "seed": 7},
        {"topology": "chain", "scheme": "fixed-rate", "pace_rate_bps": 300_000},
        {"topology": "pairs", "scheme": "tcp-ap-oid", "traffic": "tcp", "topology_options": {"sense": 250.0}},
        {"topology": "pairs", "scheme": "tcp-ap-oid", "traffic": "tcp", "topology_options": {"sense": 1000.0}},
        {"topology": "access-point", "scheme": "ack-suppression", "throttle": "ecn-echo"},
        {"topology": "access-point", "scheme": "window-control", "gateway_window_pkts": 4, "direction": "down"},
    ],
    ids=lambda options: options["scheme"],
)
def test_an_agents_hook_gets_the_settings_that_it_gets_in_the_simulator(options: dict[str, Any]) -> None:
    experiment, tasks = tasks_of(**options)
    told: list[HookSettings] = []

    def hear(settings: HookSettings) -> NullHook:
        told.append(settings)
        return NullHook()

    scheme = experiment.chosen_scheme
    replace(scheme, **dict.fromkeys(scheme.points, hear)).attach(experiment.network, experiment.hook_settings)
    assert [task.settings for task in tasks] == told
    assert told


def test_each_relay_of_link_red_draws_from_a_stream_of_its_own() -> None:
    _, tasks = tasks_of(topology="chain", scheme="lred")
    first = [task.settings.stream("lred").random() for task in tasks]
    assert len(set(first)) == len(tasks) > 2


def test_output_of_a_users_scheme_is_not_in_the_document(monkeypatch: Any, capsys: Any) -> None:
    _, tasks = tasks_of(topology="chain", scheme="lred")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(tasks[0].model_dump_json().encode())))
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    monkeypatch.setattr(run, "perform", lambda _task: print('{"event": 3}'))
    run.main()
    assert capsys.readouterr() == ("", '{"event": 3}\n')


@pytest.mark.parametrize("warmup", [False, True])
def test_drops_of_a_scheme_count_from_the_mark_on(*, warmup: bool) -> None:
    with contextlib.closing(StopSignal()) as stop:
        dropped = Counter(lred=2)
        before = signal.signal(BEGIN, lambda *_: dropped.clear())
        try:
            child = Mock(name="agent", finish=lambda: json.dumps({"event": "end", "drops": dropped}).encode())
            child.process.send_signal = lambda number: os.kill(os.getpid(), number)
            agents = Agents([(Hook(point="link", host=0), child)], [])
            if warmup:
                agents.mark()
                assert select.select([stop], [], [], 1)[0]
            stop.drain()
            dropped["lred"] += 1
            agents.end()
        finally:
            signal.signal(BEGIN, before)
    assert (agents.drops, stop.given) == ({"lred": 1 if warmup else 3}, False)


@pytest.mark.parametrize(("sense", "hops"), [(250.0, 1), (1000.0, 4)])
def test_out_of_interference_delay_knows_the_carrier_sense_range(sense: float, hops: int) -> None:
    _, tasks = tasks_of(topology="pairs", scheme="tcp-ap-oid", traffic="tcp", topology_options={"sense": sense})
    assert {task.settings.sense_hops for task in tasks} == {hops}


@pytest.mark.parametrize(
    ("where", "change", "said"),
    [
        ((), {"speed": 1}, "task: speed: "),
        ((), {"air": None}, "task: air: "),
        (("settings",), {"colour": 1}, "task: settings.colour: "),
        (("settings",), {"node": None}, "task: settings: .*node"),
        (("settings",), {"node": -1}, "task: node must be a whole number from 0 to 100000, not -1"),
        (
            ("settings",),
            {"phy": "802.11x"},
            r"task: --phy must be one of .* 802\.11n, 802\.11ac, 802\.11ax, not '802\.11x'",
        ),
    ],
)
def test_an_unknown_a_missing_and_a_wrong_field_are_named(
    where: tuple[str, ...], change: dict[str, Any], said: str, monkeypatch: Any, capsys: Any
) -> None:
    _, tasks = tasks_of(topology="chain", scheme="lred")
    document = json.loads(tasks[0].model_dump_json())
    place = document
    for name in where:
        place = place[name]
    for name, value in change.items():
        if value is None:
            del place[name]
        else:
            place[name] = value
    with pytest.raises(ConfigError, match=said):
        read_document(Task, json.dumps(document), "task")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(document).encode())))
    assert main(["agent"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
