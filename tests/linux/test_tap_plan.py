"""The root side accepts only plans and requests to its helper from a user."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network import ROOT, assert_gone, why_not

from pacelab.emulation.compile import compile_plan
from pacelab.emulation.helper import listen, may_run, write_units
from pacelab.emulation.network import tcp
from pacelab.emulation.plan import MOST_BYTES, Plan, dump_plan, read_plan
from pacelab.emulation.probes import missing
from pacelab.emulation.session import converse
from pacelab.emulation.supervisor import ProgressReporter, build, read_line
from pacelab.errors import ConfigError, HostError
from pacelab.experiment.experiment import Experiment

# The root side accepts only plans from a user.


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


@pytest.mark.usefixtures("engine")
def test_a_missing_program_is_named_before_a_run_as_doctor_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from pacelab.emulation import probes
    from pacelab.running.runner import run

    monkeypatch.setattr(probes.shutil, "which", lambda name, **_: None if name == "iperf3" else f"/usr/bin/{name}")
    remedy = "sudo apt-get install iperf3"
    assert ("iperf3", remedy) in list(missing("tap"))
    with pytest.raises(HostError, match=f"^--backend tap: iperf3 is not installed: {remedy}$"):
        run(Experiment(backend="tap", topology_options={"hops": 1}, duration_s=1))
    probes.check_programs("tap", without=("iperf3",))  # a run without TCP


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
        ({"routing": "aodv"}, "--routing must be one of static, olsr on Linux, not aodv"),
        (
            {"routing": "aodv-2001"},
            "--routing aodv-2001 is a model of the simulator ns-2.1b8a, and no program on Linux speaks it; "
            "use one of static, olsr, or --backend sim",
        ),
        ({"routing": "802.11s"}, "works below IP, on radios; use one of static, olsr, or --backend hwsim"),
        ({"routing": "olsr", "where": "uml"}, "needs olsrd, which the guest of --where uml lacks; use --where here"),
        ({"cc": "tahoe"}, "--cc must be one of .* on Linux, not 'tahoe'"),
        ({"ack": "dynamic"}, "--ack must be every or delayed on Linux, not dynamic"),
        ({"scheme": "delayed-ack"}, "every or delayed on Linux, not dynamic"),
        ({"traffic": "http"}, "http traffic is not available on real hosts; use one of"),
        ({"topology": "hidden", "headers": "ns2"}, "--headers must be real for real datagrams, not ns2"),
        ({"topology": "hidden", "payload_bytes": 10}, "--payload must be at least 20 with UDP, not 10"),
        ({"stop_after_pkts": 100}, "--full counts packets"),
        ({"topology": "grid"}, "tap: at most 96 nodes are possible, not 169"),
        (
            {"topology_options": {"hops": 70, "wired": False}},
            "tap: at most 64 wireless nodes are possible, not 71",
        ),
        ({"topology_options": {"hops": 2, "voice": 40, "tcp": 3}}, "tap: at most 64 flows are possible, not 83"),
        ({"duration_s": 4000.0}, "--seconds must be at most 3600, not 4000"),
    ],
)
def test_experiment_gives_the_reason_at_once_if_real_hosts_are_impossible(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        Experiment(backend="tap", **options)


def test_radios_are_the_back_ends_and_their_options_part_of_its_config_alone() -> None:
    tap, hwsim = (Experiment(backend=name, topology="chain") for name in ("tap", "hwsim"))
    assert plan_of(topology="chain").radios == "tap"
    assert compile_plan(hwsim).radios == "hwsim"
    linux = {"where": "here", "controller": None, "linux_tcp": None}
    assert hwsim.config()["backend_options"] == {**linux, "builder": "plain", "medium": "pacelab"}
    assert tap.config()["backend_options"] == linux


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"topology": "string", "topology_options": {"varying": True}}, "rates of single links"),
        ({"queue_pkts": 200}, "--queue must be at most 100, since mac80211_hwsim loses frames beyond, not 200"),
        ({"medium": "stock"}, "--rts on needs RTS/CTS, which the stock wmediumd lacks; use --rts off"),
        (
            {"medium": "stock", "rts": False, "topology": "two-gateways", "routing": "static"},
            "move, which --medium stock cannot do; use --medium pacelab",
        ),
        (
            {"medium": "stock", "rts": False, "scheme": "link-pacing"},
            "needs reports of each frame, which --medium stock lacks",
        ),
        ({"routing": "aodv"}, "--routing must be one of static, 802.11s, batman-adv, olsr on Linux, not aodv"),
        ({"routing": "aodv-2001"}, "no program on Linux speaks it; use one of static, 802.11s, batman-adv, olsr, or"),
        (
            {"routing": "olsr", "controller": "ryu"},
            "cannot be combined with --controller ryu, which sets the routes; use --routing static",
        ),
        ({"routing": "olsr", "where": "uml"}, "needs olsrd, which the guest of --where uml lacks; use --where here"),
        (
            {"routing": "batman-adv", "scheme": "lred"},
            "forwards below IP, where the agents of scheme 'lred' see no packets",
        ),
    ],
)
def test_experiment_gives_the_reason_at_once_if_simulated_radios_are_impossible(
    options: dict[str, Any], reason: str
) -> None:
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
"""Plans that together use everything a plan can have."""


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
    assert str(refused.value) == "--backend tap: the UDP traffic of all flows together must be at most 400000000 bit/s"


def test_read_plan_refuses_what_is_too_long() -> None:
    with pytest.raises(ConfigError, match=f"plan must have at most {MOST_BYTES} bytes"):
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
        """Its sockets know only reno."""

        def __enter__(self) -> Kernel:
            return self

        def __exit__(self, *_: object) -> None: ...

        def setsockopt(self, _level: int, _option: int, value: bytes) -> None:
            if value != b"reno":
                raise FileNotFoundError

    def built(_plan: Plan, _page_fd: int | None) -> None:
        raise AssertionError("built")

    monkeypatch.setattr("pacelab.emulation.network.plain.PlainNetwork", built)
    monkeypatch.setattr(tcp.socket, "socket", lambda *_: Kernel())
    with pytest.raises(HostError, match=r"'vegas': this kernel has .*modprobe tcp_vegas"):
        build(plan_of(topology="chain", cc="vegas"))
    for plan in (plan_of(topology="chain"), plan_of(topology="hidden", traffic="udp-saturated", cc="vegas")):
        with pytest.raises(AssertionError, match="built"):
            build(plan)


# The root helper: its permissions, its input, and that no input ends it.

NOBODY, DAEMON = 65_534, 1
"""Users of every Debian. The tests' helper serves the group `daemon`."""


class Running:
    """A helper in a separate process."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "helper.sock"
        code = (
            "import sys; from pathlib import Path; from pacelab.emulation.helper import serve\n"
            "serve(Path(sys.argv[1]), say=print, group='daemon')"
        )
        self.process = subprocess.Popen([sys.executable, "-c", code, str(self.path)], cwd=ROOT)
        until = time.monotonic() + 60
        while not self.path.exists():
            assert time.monotonic() < until
            time.sleep(0.02)

    def connect(self) -> socket.socket:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.settimeout(60)
        until = time.monotonic() + 60
        while link.connect_ex(str(self.path)) == errno.ECONNREFUSED:  # it is there a moment before it is listened at
            assert time.monotonic() < until
            time.sleep(0.02)
        return link

    def ask(self, text: bytes) -> dict[str, Any]:
        """The answer to some bytes, followed by the end of input."""
        with self.connect() as link:
            try:
                link.sendall(text)
                link.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the helper has answered and closed
            line = link.makefile("rb").readline()
        answer: dict[str, Any] = json.loads(line or b"{}")
        return answer


@pytest.fixture
def helper() -> Iterator[Running]:
    # Pytest's own folders are closed to other users.
    with tempfile.TemporaryDirectory(prefix="pacelab-helper-") as folder:
        Path(folder).chmod(0o755)
        running = Running(Path(folder))
        yield running
        running.process.terminate()
        assert running.process.wait(60) == 0
        assert not running.path.exists()
        assert_gone(running.process.pid)


def short_plan() -> Any:
    return plan_of(topology="hidden", rate_bps=2_000_000, duration_s=2.0)


@pytest.mark.kernel
@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
class TestRunning:
    def test_helper_runs_a_plan_and_reports_progress(self, helper: Running) -> None:
        heard: list[float] = []
        with helper.connect() as link:
            result = converse(link, short_plan(), heard.append)
        assert result["air"]["flows"][0]["delivered_pkts"] > 0
        assert heard == sorted(heard)
        assert heard[-1] > 0.5

    def test_helper_refuses_an_invalid_plan_and_continues(self, helper: Running) -> None:
        good = dump_plan(short_plan()) + b"\n"
        chance = random.Random(1)
        cases = [b"", b"\n", b"{}\n", b"null\n", b"\xff\xfe\n", b"[" * 10_000 + b"\n", b'{"version": 1}\n', good[:100]]
        for _ in range(12):
            spoilt = bytearray(good)
            for _ in range(3):
                spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
            cases.append(bytes(spoilt).replace(b"\n", b" ") + b"}\n")
        for case in [*cases, b"x" * (MOST_BYTES + 100_000)]:
            answer = helper.ask(case)
            assert answer == {} or answer["error"]["kind"] == "config", case[:80]
        with helper.connect() as link:
            assert converse(link, short_plan(), lambda _: None)["air"]["flows"]

    def test_helper_ends_a_run_whose_client_goes(self, helper: Running) -> None:
        long = plan_of(topology="hidden", rate_bps=2_000_000, duration_s=60.0)
        with helper.connect() as link:
            link.sendall(dump_plan(long) + b"\n")
            assert link.makefile("rb").readline()  # the run has started
            busy = helper.ask(dump_plan(short_plan()) + b"\n")
            assert "another run is under way" in busy["error"]["message"]
        with helper.connect() as link:
            assert converse(link, short_plan(), lambda _: None)["air"]["flows"]

    def test_helper_asks_the_kernel_who_calls(self, helper: Running) -> None:
        helper.path.chmod(0o666)
        for user, allowed in ((DAEMON, True), (NOBODY, False)):
            assert _ask_as(user, helper.path, b"{}\n") == ("config" if allowed else "host")

    def test_helper_is_not_replaced_by_another(self, helper: Running) -> None:
        other = [sys.executable, "-m", "pacelab", "helper", "--socket", str(helper.path)]
        done = subprocess.run(other, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 3
        assert "another helper is already running" in done.stderr


def test_helper_names_a_path_that_cannot_be_its_socket(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path, why in ((file, "Address already in use"), (tmp_path / ("a" * 120), "AF_UNIX path too long")):
        with pytest.raises(HostError, match=f"{path}: {why}; give another path with --socket"):
            listen(path, group="daemon")
    assert file.is_file()


def _ask_as(user: int, path: Path, text: bytes) -> str:
    """The kind of error that a user other than root gets."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
                link.connect(str(path))
                with contextlib.suppress(BrokenPipeError):
                    link.sendall(text)  # a refusal may arrive before the request is sent
                line = link.makefile("rb").readline()
            os.write(write, json.loads(line)["error"]["kind"].encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        return pipe.read()


def test_only_root_and_the_group_may() -> None:
    assert may_run(0, 0, group="no such group")
    assert not may_run(DAEMON, DAEMON, group="no such group")
    assert may_run(DAEMON, DAEMON, group="daemon")
    assert not may_run(NOBODY, NOBODY, group="daemon")


def test_doctor_reports_users_outside_the_group_of_a_helper_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "access", lambda path, _mode: path != tmp_path)
    monkeypatch.setenv("PACELAB_HELPER", str(tmp_path))
    lacks = dict(missing("tap"))
    assert lacks["membership of the group pacelab"] == "sudo usermod -aG pacelab $USER, then log in again"
    monkeypatch.setattr(os, "access", lambda _path, _mode: True)
    assert not {"root", "membership of the group pacelab"} & dict(missing("tap")).keys()


def test_units_name_this_installation(tmp_path: Path) -> None:
    paths = write_units(tmp_path)
    assert [path.name for path in paths] == ["pacelab-helper.socket", "pacelab-helper.service"]
    assert "SocketGroup=pacelab" in paths[0].read_text()
    assert f'ExecStart="{sys.executable}" -P -m pacelab helper' in paths[1].read_text()


def test_a_plan_that_comes_byte_by_byte_is_not_waited_for() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ended = threading.Event()

        def trickle() -> None:
            while not ended.wait(0.05):
                theirs.send(b"{")

        sender = threading.Thread(target=trickle)
        sender.start()
        try:
            with pytest.raises(ConfigError, match="no plan arrived within"):
                read_line(ours, within_s=0.5)
        finally:
            ended.set()
            sender.join()


def test_data_after_a_plan_is_reported_at_once() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"{}\n\n{")
        with pytest.raises(ConfigError, match="there is text after the line of the plan"):
            read_line(ours)


def test_a_run_does_not_wait_for_a_client_that_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacelab.emulation.supervisor.PROGRESS_S", 0.0)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        teller = ProgressReporter(ours)
        run = threading.Thread(target=lambda: [teller.progress(0.5) for _ in range(5000)], daemon=True)
        run.start()
        run.join(20)
        assert not run.is_alive()
        theirs.setblocking(False)
        ours.sendall(b"the result\n")  # has room
        assert theirs.recv(1_000_000).endswith(b'{"progress": 0.5}\nthe result\n')


def test_converse_gives_the_reason_of_a_refusal_before_the_plan_was_read() -> None:
    ours, theirs = socket.socketpair()
    theirs.sendall(b'{"error": {"kind": "host", "message": "not in the group"}}\n')
    theirs.close()
    with ours, pytest.raises(HostError, match="not in the group"):
        converse(ours, short_plan(), lambda _: None)


def test_converse_turns_errors_into_ours() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b'{"progress": 0.5}\n{"error": {"kind": "config", "message": "plan: no"}}\n')
        with pytest.raises(ConfigError, match="plan: no"):
            converse(ours, short_plan(), lambda _: None)
