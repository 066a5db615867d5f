"""What a run tells its agents: all that hooks are told in the simulator, through a plan and a task as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import signal
import sys
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from pacelab.cli.main import main
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.hosts.agents import run
from pacelab.hosts.agents.start import Agents, task_of
from pacelab.hosts.agents.task import Task
from pacelab.hosts.compile import compile_plan
from pacelab.hosts.plan import Hook, dump_plan, read_plan
from pacelab.hosts.validation import read_document
from pacelab.pacer.core.null import NullHook
from pacelab.pacer.linux.agent import BEGIN
from pacelab.pacer.linux.process import StopSignal
from pacelab.schemes import HookSettings


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
def test_an_agent_is_told_what_its_hook_is_told_in_the_simulator(options: dict[str, Any]) -> None:
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


def test_what_an_own_scheme_prints_is_no_document(monkeypatch: Any, capsys: Any) -> None:
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
        (("settings",), {"node": -1}, "task: node -1: allowed is a whole number from 0"),
        (("settings",), {"phy": "802.11x"}, "task: --phy '802.11x': allowed is one of"),
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
