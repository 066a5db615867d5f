"""What the root side takes from a user: plans, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacelab.errors import ConfigError, HostError
from pacelab.experiment.experiment import Experiment
from pacelab.hosts.compile import compile_plan
from pacelab.hosts.network import tcp
from pacelab.hosts.plan import MOST_BYTES, Plan, dump_plan, read_plan
from pacelab.hosts.supervisor import build


def plan_of(backend: str = "tap", **options: Any) -> Plan:
    experiment = Experiment(backend=backend, **options)
    return compile_plan(experiment)


def document(**options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(dump_plan(plan_of(**options)))
    return found


CHAIN = document(topology="chain", topology_options={"hops": 2, "wired_hops": 1}, scheme="tcp-gap")


def with_value(path: tuple[str | int, ...], value: object) -> bytes:
    changed = json.loads(json.dumps(CHAIN))
    *folders, last = path
    place = changed
    for step in folders:
        place = place[step]
    place[last] = value
    return json.dumps(changed).encode()


def _paths(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [here] if here else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += _paths(inner, (*here, key))
    return found


def test_plan_survives_the_way_to_root() -> None:
    plan = plan_of(topology="chain", topology_options={"hops": 4}, scheme="tcp-gap")
    assert read_plan(dump_plan(plan) + b"\n") == plan


def test_compile_chain_of_two_hops() -> None:
    plan = plan_of(
        topology="chain", topology_options={"hops": 2, "wired_hops": 1}, scheme="tcp-gap", window_pkts=8, min_rto_s=1.0
    )
    assert [node.name for node in plan.nodes] == ["n0", "n1", "n2", "host"]
    assert plan.neighbours == ((0, 1), (1, 2))
    assert [(wire.a, wire.b, wire.rate_bps, wire.delay_s) for wire in plan.wires] == [(2, 3, 10_000_000, 0.04)]
    assert [(hook.point, hook.host) for hook in plan.scheme.hooks] == [("gateway", 2), ("sender", 0)]
    assert (plan.tcp.control, plan.tcp.window_pkts, plan.tcp.min_rto_s) == ("reno", 8, 1.0)
    assert plan.flows[0].kind == "tcp"


def test_compile_saturated_udp_offers_more_than_the_air_carries() -> None:
    plan = plan_of(topology="hidden", rate_bps=2_000_000)
    assert [flow.rate_bps for flow in plan.flows] == [2_500_000, 2_500_000]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"routing": "aodv"}, "Linux has none such: allowed is one of static, olsr"),
        ({"routing": "802.11s"}, "it is below IP, of radios: allowed is static, olsr, or --backend hwsim"),
        ({"routing": "olsr", "where": "uml"}, "its guest has no olsrd: allowed is here"),
        ({"cc": "tahoe"}, "Linux has none such"),
        ({"ack": "dynamic"}, "Linux has none such"),
        ({"scheme": "delayed-ack"}, "dynamic or a scheme with it: Linux has none such"),
        ({"traffic": "http"}, "not built for real hosts"),
        ({"topology": "hidden", "headers": "ns2"}, "real datagrams have headers"),
        ({"topology": "hidden", "payload_bytes": 10}, "allowed with UDP is 20 or more"),
        ({"stop_after_pkts": 100}, "--full counts packets"),
        ({"topology": "grid"}, "tap: 169 nodes: allowed are up to 96"),
        (
            {"topology_options": {"hops": 70, "wired": False}},
            "tap: 71 wireless nodes: allowed are up to 64",
        ),
        ({"topology_options": {"hops": 2, "voice": 40, "tcp": 3}}, "tap: 83 flows: allowed are up to 64"),
        ({"duration_s": 4000.0}, "--seconds 4000: allowed is up to 3600"),
    ],
)
def test_experiment_says_at_once_why_not_on_real_hosts(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        Experiment(backend="tap", **options)


def test_radios_are_the_back_ends_and_their_options_part_of_its_config_alone() -> None:
    tap, hwsim = (Experiment(backend=name, topology="chain") for name in ("tap", "hwsim"))
    assert plan_of(topology="chain").radios == "tap"
    assert compile_plan(hwsim).radios == "hwsim"
    linux = {"where": "here", "controller": None, "linux_tcp": None}
    assert hwsim.config()["backend_options"] == {**linux, "builder": "plain", "medium": "own"}
    assert tap.config()["backend_options"] == linux


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"topology": "string", "topology_options": {"varying": True}}, "rates of single links"),
        ({"queue_pkts": 200}, "--queue 200: mac80211_hwsim forgets frames: allowed is up to 100"),
        ({"medium": "stock"}, "--rts on with --medium stock: wmediumd has none"),
        ({"medium": "stock", "rts": False, "topology": "two-gateways", "routing": "static"}, "its stations move"),
        ({"medium": "stock", "rts": False, "scheme": "link-pacing"}, "it listens to the link layer"),
        ({"routing": "aodv"}, "Linux has none such: allowed is one of static, 802.11s, batman-adv, olsr"),
        ({"routing": "olsr", "controller": "ryu"}, "with --controller ryu: it sets the routes: allowed is static"),
        ({"routing": "olsr", "where": "uml"}, "its guest has no olsrd: allowed is here"),
        ({"routing": "batman-adv", "scheme": "lred"}, "relays forward below IP"),
    ],
)
def test_experiment_says_at_once_why_not_with_simulated_radios(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        Experiment(backend="hwsim", **options)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("nodes", 0, "name"), "../../etc"),
        (("nodes", 0, "name"), "n1"),
        (("nodes", 0, "name"), "-n"),
        (("nodes", 0, "command"), "reboot"),
        (("nodes", 0, "position_m"), [0.0, 1e300]),
        (("wires", 0, "b"), 99),
        (("wires", 0, "b"), 2),
        (("wires", 0, "delay_s"), -1.0),
        (("flows", 0, "src"), 3.5),
        (("flows", 0, "dst"), 0),
        (("flows", 0, "stop_s"), 1e9),
        (("flows", 0, "kind"), "shell"),
        (("flows", 0, "rate_bps"), 1_000_000),
        (("duration_s",), 0.0),
        (("duration_s",), 1e6),
        (("tcp", "control"), "bbr; reboot"),
        (("scheme", "name"), "rm -rf"),
        (("scheme", "settings"), {"node": 1}),
        (("scheme", "settings"), {"phy": "--help"}),
        (("scheme", "settings"), {"pace_hops": "4"}),
        (("scheme", "hooks", 0, "host"), 3),
        (("scheme", "hooks", 0, "host"), 1),
        (("neighbours",), [[0, 3]]),
        (("radio", "preset"), "mine"),
        (("routing",), "batman-adv"),
        (("routing",), "aodv"),
        (("radio", "propagation"), {"kind": "matrix", "capture_db": 10.0, "links": []}),
        (("version",), 1),
    ],
)
def test_read_plan_refuses(path: tuple[str | int, ...], value: object) -> None:
    with pytest.raises(ConfigError, match=r"^plan") as caught:
        read_plan(with_value(path, value))
    assert "\n" not in str(caught.value)


WHOLE = {
    "tcp-gap": CHAIN,
    "lred-ecn+pacing": document(topology="chain", topology_options={"hops": 3}, scheme="lred-ecn+pacing", edca=True),
    "vagp": document(topology="tree", scheme="vagp"),
    "newreno": document(backend="hwsim", topology="two-gateways", routing="static", phy="802.11a"),
    "udp": document(topology="hidden"),
}
"""Plans that have together what a plan may have."""


@pytest.mark.parametrize("scheme", WHOLE)
def test_a_plan_lacks_no_field(scheme: str) -> None:
    for *folders, last in _paths(WHOLE[scheme]):
        if isinstance(last, int):
            continue
        changed = json.loads(json.dumps(WHOLE[scheme]))
        place = changed
        for step in folders:
            place = place[step]
        del place[last]
        with pytest.raises(ConfigError, match=rf"^plan: .*{last}"):
            read_plan(json.dumps(changed).encode())


def test_a_plan_with_more_datagrams_than_a_process_sends_is_refused_in_words() -> None:
    with pytest.raises(ConfigError) as refused:
        plan_of(topology="cell", topology_options={"stations": 10}, phy="802.11g", rate_bps=54_000_000)
    assert str(refused.value) == "--backend tap: datagrams of all flows are at most 400000000 bit/s"


def test_read_plan_refuses_what_is_too_long() -> None:
    with pytest.raises(ConfigError, match=f"allowed are {MOST_BYTES}"):
        read_plan(b" " * (MOST_BYTES + 1))


def test_read_plan_refuses_nan_and_depth() -> None:
    with pytest.raises(ConfigError):
        read_plan(json.dumps(CHAIN).replace('"duration_s": 60.0', '"duration_s": NaN').encode())
    with pytest.raises(ConfigError):
        read_plan(b"[" * 50_000)


@given(st.binary(max_size=400))
def test_read_plan_survives_any_bytes(text: bytes) -> None:
    with pytest.raises(ConfigError):
        read_plan(text)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.lists(st.integers(), max_size=3)
)


@settings(max_examples=400)
@given(st.sampled_from(_paths(CHAIN)), VALUES)
def test_read_plan_gives_a_plan_or_one_line(path: tuple[str | int, ...], value: object) -> None:
    said = ""
    try:
        plan = read_plan(with_value(path, value))
    except ConfigError as error:
        said = str(error)
    assert said.startswith("plan") if said else read_plan(dump_plan(plan)) == plan


def test_transfers_of_a_fixed_size_are_refused() -> None:
    with pytest.raises(ConfigError, match="file traffic"):
        plan_of(topology="chain", topology_options={"hops": 2}, traffic="file")


def test_hosts_whose_kernel_lacks_the_congestion_control_are_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kernel:
        """Its sockets know reno alone."""

        def __enter__(self) -> Kernel:
            return self

        def __exit__(self, *_: object) -> None: ...

        def setsockopt(self, _level: int, _option: int, value: bytes) -> None:
            if value != b"reno":
                raise FileNotFoundError

    def built(_plan: Plan, _page_fd: int | None) -> None:
        raise AssertionError("built")

    monkeypatch.setattr("pacelab.hosts.lab.Lab", built)
    monkeypatch.setattr(tcp.socket, "socket", lambda *_: Kernel())
    with pytest.raises(HostError, match=r"'vegas': this kernel has .*modprobe tcp_vegas"):
        build(plan_of(topology="chain", cc="vegas"))
    for plan in (plan_of(topology="chain"), plan_of(topology="hidden", traffic="udp-saturated", cc="vegas")):
        with pytest.raises(AssertionError, match="built"):
            build(plan)
