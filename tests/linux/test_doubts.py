"""What lets an agent run and do nothing is said, once."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from ipaddress import IPv4Address

import pytest
from network import PACELAB, Line

from pacelab.pacer.core.contract import Point
from pacelab.pacer.linux import rules
from pacelab.pacer.linux.doubts import MANY, QUIET_NS, Traffic
from pacelab.pacer.linux.host import AgentError

FAR = int(IPv4Address("10.9.2.1"))


class Watched:
    """Traffic of an agent, with what it said."""

    def __init__(self, *, wired: str | None = "wired0", paths_known: bool = True) -> None:
        self.said: list[str] = []
        self.traffic = Traffic("air0", wired, paths_known=paths_known, say=self.said.append)

    def meet(self, point: Point, count: int, *, path_known: bool = True) -> None:
        for _ in range(count):
            self.traffic.met(point, FAR, path_known=path_known)

    def look(self, seen: int, *, two_way: bool = True, **unseen: int) -> None:
        for second in range(15):
            self.traffic.look(second * QUIET_NS // 10, seen=seen, unseen=Counter(unseen), two_way=two_way)


@pytest.mark.parametrize(("wired", "said"), [("wired0", "between wired0 and air0"), (None, "no packet by air0")])
def test_an_agent_that_meets_no_packet_for_10_s_says_so_once(wired: str | None, said: str) -> None:
    watched = Watched(wired=wired)
    watched.traffic.look(0, seen=0, unseen=Counter(), two_way=True)
    watched.traffic.look(QUIET_NS - 1, seen=0, unseen=Counter(), two_way=True)
    assert watched.said == []
    watched.look(0)
    watched.look(0)
    assert len(watched.said) == 1
    assert said in watched.said[0]


def test_packets_of_which_nearly_all_are_not_for_schemes_are_said_once() -> None:
    watched = Watched()
    watched.look(MANY - 1, ipv6=MANY - 1)
    watched.look(MANY * 2, ipv6=MANY)
    assert watched.said == []
    for _ in range(2):
        watched.look(MANY * 2, ipv6=MANY * 2 - 2, fragment=1)
    assert len(watched.said) == 1
    assert "most as ipv6: schemes see IPv4's TCP and UDP alone" in watched.said[0]


@pytest.mark.parametrize(
    ("wired", "point", "way"),
    [
        ("wired0", Point.WIRED_TO_AIR, "from wired0 to air0 alone"),
        ("wired0", Point.AIR_TO_WIRED, "from air0 to wired0 alone"),
        (None, Point.LOCAL_OUT, "out by air0 alone"),
        (None, Point.LOCAL_IN, "in by air0 alone"),
    ],
)
def test_tcp_of_which_one_direction_passes_elsewhere_is_said_once(wired: str | None, point: Point, way: str) -> None:
    watched = Watched(wired=wired)
    watched.meet(point, MANY - 1)
    watched.look(MANY - 1)
    assert watched.said == []
    watched.meet(point, 2)
    watched.look(MANY + 1)
    assert len(watched.said) == 1
    assert way in watched.said[0]


def test_traffic_both_ways_or_a_place_that_has_one_way_only_leaves_no_doubt() -> None:
    both, relay = Watched(), Watched(wired=None)
    both.meet(Point.WIRED_TO_AIR, MANY)
    both.meet(Point.AIR_TO_WIRED, 1)
    both.look(MANY + 1)
    relay.meet(Point.LINK, MANY)
    relay.look(MANY, two_way=False)
    assert both.said + relay.said == []


def test_an_address_without_path_rates_is_named_once_where_others_have_some() -> None:
    some, none = Watched(), Watched(paths_known=False)
    for watched in (some, none):
        watched.meet(Point.WIRED_TO_AIR, 3, path_known=False)
    assert len(some.said) == 1
    assert "no --path-rates for 10.9.2.1" in some.said[0]
    assert none.said == []


def said_of(line: Line, *options: str) -> str:
    """What a gateway's agent says on stderr, which ends by itself with exit code 0."""
    command = (*PACELAB, "gateway", "--scheme", "fixed-rate", "--pace-rate", "6", "--seconds", "0.1", "--air", "air0")
    done = line.gateway.start(*command, *options, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = done.communicate(timeout=30)[1]
    assert done.returncode == 0, text
    return text


@pytest.mark.parametrize("datapath", ["nfqueue", "tc"])
def test_interfaces_that_let_nothing_pass_are_named_at_the_start(line: Line, datapath: str) -> None:
    line.gateway.run("sysctl -qw net.ipv4.ip_forward=0; ip link set wired0 down")
    lines = said_of(line, "--datapath", datapath, "--wired", "wired0").splitlines()
    assert any("wired0 is down" in one and "ip link set wired0 up" in one for one in lines), lines
    assert any("does not forward what comes by air0" in one for one in lines), lines
    assert len(lines) == 3


def test_an_interface_that_goes_or_is_switched_off_under_an_agent_is_named_once(line: Line) -> None:
    agent = line.agent("--scheme", "fixed-rate", "--pace-rate", "6", "--seconds", "2.5")
    line.gateway.run("ip link del air0; ip link set wired0 down")
    assert agent.process.wait(30) == 0
    lines = agent.said().splitlines()
    assert [one.removeprefix("pacelab: ").split(":")[0] for one in lines] == ["air0 has gone", "wired0 is down"], lines


def test_wired_interfaces_by_a_prefix_that_none_has_are_named_at_the_start(line: Line) -> None:
    assert "no interface's name begins with eth" in said_of(line, "--wired", "eth+")
    assert said_of(line, "--wired", "wired+") == ""


SOONER = """
import sys
from pacelab.cli.main import main
from pacelab.pacer.linux import doubts
doubts.QUIET_NS //= 100
sys.exit(main(sys.argv[1:]))
"""
"""The command, which waits a tenth of a second in the place of ten."""


@pytest.mark.parametrize(("datapath", "sees"), [("nfqueue", "packet"), ("tc", "IPv4 TCP packet")])
def test_a_gateway_that_nothing_passes_ends_its_wait_with_a_line(line: Line, datapath: str, sees: str) -> None:
    own = ("gateway", "--scheme", "fixed-rate", "--pace-rate", "6", "--datapath", datapath, "--seconds", "2")
    command = (sys.executable, "-c", SOONER, *own, "--air", "air0", "--wired", "wired0")
    done = line.gateway.start(*command, stderr=subprocess.PIPE)
    assert f"no {sees} between wired0 and air0" in done.communicate(timeout=30)[1]


def test_packets_that_a_living_agent_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    living = f"PACELAB-1-{rules._start_of(1)}-0"
    dead = "PACELAB-1-dead-0"
    listing = f":{living} - [0:0]\n:{dead} - [0:0]\n-A OUTPUT -o air0 -j {living}\n-A INPUT -i air0 -j {dead}\n"
    monkeypatch.setattr(rules, "_save", lambda _command: listing)
    monkeypatch.setattr(rules, "_restore", lambda _command, _lines: None)
    out = rules.Capture(hook="OUTPUT", queue=7, out_interface="air0")
    with pytest.raises(AgentError, match=r"OUTPUT by these interfaces: process 1, an agent too, has the packets"):
        rules.Rules((out,), own_mark=1).install()
    others = replace(out, out_interface="air1"), rules.Capture(hook="INPUT", queue=8, in_interface="air0")
    assert rules.Rules(others, own_mark=1).install() == [dead]
