"""`--datapath tc`: whose the kernel's classes are, and what becomes of them when agents and interfaces come and go."""

from __future__ import annotations

import subprocess

from network import PACELAB, Host, Line, RunningAgent

TC = ("--scheme", "fixed-rate", "--pace-rate", "6", "--datapath", "tc")


def test_tc_agent_that_is_refused_leaves_the_one_that_runs_its_classes(line: Line) -> None:
    agent = line.agent(*TC)
    said = _refused(line.gateway, "gateway", *TC, "--air", "air0", "--wired", "wired0")
    assert "another agent paces there" in said
    assert "htb 5041:" in _left(line, "air0")
    assert _tables(line) == 1
    agent.stop()
    assert (_left(line, "air0"), _tables(line)) == ("", 0)


def test_tc_agent_that_was_killed_starts_again_beside_one_on_another_interface(line: Line) -> None:
    other = line.agent(*TC)
    killed = RunningAgent(line.gateway, "sender", *TC, "--air", "wired0")
    killed.kill()
    again = RunningAgent(line.gateway, "sender", *TC, "--air", "wired0")
    assert _tables(line) == 2
    again.stop()
    assert _left(line, "wired0") == ""
    assert "htb 5041:" in _left(line, "air0")
    other.stop()


def test_tc_classes_of_a_killed_agent_go_with_the_next_agent_of_any_kind(line: Line) -> None:
    line.agent(*TC).kill()
    assert "htb 5041:" in _left(line, "air0")
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "6")
    assert (_left(line, "air0"), _tables(line)) == ("", 0)
    agent.kill()
    line.agent(*TC).stop()
    assert line.rules() == ""


def test_tc_agent_whose_classes_were_taken_away_ends_in_one_line(line: Line) -> None:
    agent = line.agent(*TC)
    line.gateway.run("tc qdisc del dev air0 root")
    # A SYN is enough: its flow is to have a class.
    line.wired.run(f"timeout 5 bash -c 'echo > /dev/tcp/{line.STATION}/9'", check=False)
    assert agent.process.wait(10) == 3
    said = agent.said()
    assert (said.count("\n"), "start the agent again" in said) == (1, True), said
    assert _tables(line) == 0


def _refused(host: Host, *arguments: str) -> str:
    """The one line that an agent says which cannot start."""
    done = host.start(*PACELAB, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _out, said = done.communicate(timeout=30)
    assert (done.returncode, said.count("\n")) == (3, 1), said
    return said


def _left(line: Line, interface: str) -> str:
    return line.gateway.run(f"tc qdisc show dev {interface} | grep -v noqueue", check=False)


def _tables(line: Line) -> int:
    return line.gateway.run("nft list tables").count("pacelab-")
