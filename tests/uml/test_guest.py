"""`--where uml` with a real guest: equal bytes under any load of the machine; the guest's TCP; endless runs
are ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pacelab.emulation.where import uml
from pacelab.emulation.where.confine import NOBODY, closed_to_nobody
from pacelab.emulation.where.files import FOLDER, find_files
from pacelab.errors import HostError
from pacelab.experiment.experiment import Experiment
from pacelab.results.folder import PcapFile
from pacelab.results.results import RunResult
from pacelab.running.runner import run
from pacelab.user_code.messages import UserCodeError

pytestmark = pytest.mark.guest

SECONDS = 10.0


def experiment(**changes: object) -> Experiment:
    """TCP over three hops with the Python agents of TCP-GAP, on the kernel's own Wi-Fi stack."""
    return Experiment(
        topology="chain",
        topology_options={"hops": 3, "wired_hops": 1},
        rate_bps=2_000_000,
        backend="hwsim",
        where="uml",
        scheme="tcp-gap",
        duration_s=SECONDS,
    ).vary(**changes)


def digest(result: RunResult) -> str:
    """A digest of the result folder without host.json."""
    digest = hashlib.sha256()
    for name, content in sorted(result.files().items()):
        if name != "host.json":
            digest.update(name.encode() + content)
    return digest.hexdigest()


def test_two_runs_are_the_same_bytes_on_a_loaded_machine_too(tmp_path: Path) -> None:
    captures = [PcapFile(path=tmp_path / name) for name in ("first.pcapng", "second.pcapng")]
    first = run(experiment(), pcap=captures[0])
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        second = run(experiment(), pcap=captures[1])
    finally:
        for process in load:
            process.kill()
            process.wait()
    assert digest(first) == digest(second)
    content = captures[0].path.read_bytes()
    assert content == captures[1].path.read_bytes()
    assert len(content) > 100_000
    assert first.run["fidelity"] == "valid"
    assert first.run["hooks"]["actions"] > 0
    assert set(first.run["guest"]) == {"kernel", "kernel_sha256", "tree_sha256"}
    costs_s = [json.loads(result.files()["host.json"])["guest_cpu_s"] for result in (first, second)]
    assert min(costs_s) > 1  # read while there still is something to read
    assert digest(run(experiment(seed=2))) != digest(first)


def test_an_endless_run_is_ended_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A low limit stands for an endless computation, during which the guest's time stands still."""
    monkeypatch.setenv(uml.LIMIT, "1")
    with pytest.raises(HostError, match=r"s of processor time used up at \d\.\d s of 10 s: .*the limit is 1 s"):
        run(experiment())


OWN = """
import time
import pacelab
from pacelab_pacer.core.null import NullHook

class Mine(NullHook):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def handle(self, now_ns, event):
        self.seen += 1
        if self.seen == 200:
            {then}
        super().handle(now_ns, event)

    def counters(self):
        return {{"seen": self.seen}}

MINE = pacelab.Scheme(
    name="mine", summary="", source="", gateway=lambda settings: Mine(), effect_counters=frozenset(("seen",))
)
"""


def own(folder: Path, then: str, **changes: object) -> Experiment:
    """The experiment with a user's gateway scheme that executes `then` at its 200th packet."""
    (folder / "mine.py").write_text(OWN.format(then=then))
    return experiment(scheme=f"{folder / 'mine.py'}:MINE", duration_s=4.0, **changes)


def test_a_users_scheme_runs_on_real_linux(tmp_path: Path) -> None:
    found = run(own(tmp_path, "pass"))
    assert found.run["hooks"]["points"][0]["counters"]["seen"] > 200
    assert found.run["hooks"]["points"][0]["errors"] == 0


def test_user_code_that_spins_is_ended_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(uml.LIMIT, "8")
    with pytest.raises(
        HostError, match=r"processor time used up at [0-3]\.\d s of 4 s: a program in the guest computes"
    ):
        run(own(tmp_path, "while True: pass"))


@pytest.mark.thorough
def test_user_code_that_polls_the_clock_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading the clock takes time in a guest, so the run reaches its end or its limit.

    At most the 200 packets before the loop pass, in 4 s: 584 kbit/s. An agent that does not answer at the end has
    failed.
    """
    monkeypatch.setenv(uml.LIMIT, "20")
    said = ending(own(tmp_path, "while True: time.monotonic()"))
    known = "asks for the time" in said or "it reported nothing" in said
    assert known or float(said.removeprefix("goodput ")) < 584_000, said


def ending(of: Experiment) -> str:
    """The message of a run that must fail."""
    try:
        return f"goodput {run(of).goodput_bps:.0f}"
    except (HostError, UserCodeError) as error:
        return str(error)


def test_a_stopped_run_leaves_nothing_behind() -> None:
    class Enough(Exception):
        pass

    def stop(fraction: float) -> None:
        if fraction > 0.01:
            raise Enough

    with pytest.raises(Enough):
        run(experiment(), on_progress=stop)
    assert not guests()


def test_a_killed_pacelab_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pacelab", "run", "chain", "--hops", "1", "--backend", "tap", "--where", "uml"]
    process = subprocess.Popen([*command, "--seconds", "3000", "--out", str(tmp_path / "out"), "--quiet"])
    kernels = wait_for(lambda: guests(process.pid))
    process.kill()
    process.wait()
    assert wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in kernels))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, whose guest is nobody: call it as root")
def test_a_guest_in_a_folder_that_is_roots_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For example a clone in a root account's home, mode 700."""
    files, here = find_files(), tmp_path / "closed"
    here.mkdir(mode=0o700)
    for part in (files.kernel, files.kernel.parent / "guest.json", files.tree):
        subprocess.run(["cp", "-a", str(part), str(here)], check=True)
    asked = experiment(duration_s=1.0, backend="tap")
    elsewhere = run(asked).run["flows"]
    monkeypatch.setenv(FOLDER, str(here))
    assert run(asked).run["flows"] == elsewhere
    assert closed_to_nobody(here)
    assert (here / files.tree.name / "usr/sbin/init").is_file()


def test_a_guests_kernel_runs_unprivileged() -> None:
    seen: dict[str, str] = {}

    def look(fraction: float) -> None:
        if not seen:
            for pid in guests():
                status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
                seen.update(status)

    run(experiment(duration_s=1.0, backend="tap"), on_progress=look)
    ids = set(seen["Uid"].split())
    assert ids == {str(NOBODY if os.geteuid() == 0 else os.geteuid())}
    assert int(seen["CapPrm"], 16) == int(seen["CapEff"], 16) == 0
    assert seen["NoNewPrivs"] == "1"
    assert "," not in seen["Cpus_allowed_list"]
    assert "-" not in seen["Cpus_allowed_list"]


def wait_for(what: Callable[[], Any]) -> Any:
    """The value as soon as there is one, within a minute."""
    until = time.monotonic() + 60
    while not (found := what()) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def guests(parent: int | None = None) -> list[int]:
    """Kernels of guests that are children of this or another process."""
    wanted = str(parent or os.getpid())
    found = []
    for path in Path("/proc").iterdir():
        try:
            parent_of = (path / "stat").read_text().rsplit(")", 1)[1].split()[1]
            command = (path / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if parent_of == wanted and b"time-travel=inf-cpu" in command:
            found.append(int(path.name))
    return found


# Linux's TCP, queue disciplines and rate control in a guest follow the options.


def test_fq_codel_keeps_a_ping_short_beside_bulk_data() -> None:
    plain = Experiment(
        topology="chain",
        topology_options={"hops": 1, "wired": False},
        rate_bps=2_000_000,
        window_pkts=64,
        backend="tap",
        where="uml",
        ping_interval_s=0.1,
        duration_s=20.0,
        warmup_s=5.0,
    )
    drop_tail, codel = run(plain), run(plain.vary(qdisc="fq_codel"))
    pings_s = [float(result.run["pings"][0]["rtt_mean_s"]) for result in (drop_tail, codel)]
    print(f"{pings_s}, {codel.goodput_bps / drop_tail.goodput_bps - 1:+.1%}")
    # A ping and its answer wait behind the three packets below each discipline, not behind fifty.
    assert pings_s[1] < 0.5 * pings_s[0]
    assert codel.goodput_bps > 0.9 * drop_tail.goodput_bps
    assert codel.run["nodes"][0]["qdisc"]["sent"] > 1000
    assert codel.host["qdiscs"]["n0"]["kind"] == "fq_codel"


@pytest.mark.thorough
def test_rate_control_finds_the_fastest_rate_that_arrives_where_nothing_disturbs_it() -> None:
    pair = Experiment(
        topology="reuse",
        phy="802.11g",
        traffic="udp-saturated",
        backend="hwsim",
        where="uml",
        rts=False,
        duration_s=5.0,
        warmup_s=2.0,
    )
    fixed, auto = run(pair), run(pair.vary(rate_bps="auto"))  # fixed: 54 Mbit/s
    print(f"{fixed.goodput_bps:.0f}, {auto.goodput_bps:.0f}")
    assert auto.goodput_bps == pytest.approx(fixed.goodput_bps, rel=0.1)


@pytest.mark.parametrize("backend", ["tap", pytest.param("hwsim", marks=pytest.mark.thorough)])
def test_acks_are_delayed_where_they_should_be(backend: str) -> None:
    every = Experiment(
        topology="chain",
        topology_options={"hops": 3, "wired": False},
        backend=backend,
        where="uml",
        duration_s=10.0,
        warmup_s=2.0,
    )
    gain = run(every.vary(ack="delayed")).goodput_bps / run(every).goodput_bps - 1
    print(f"{backend}: {gain:+.1%}")
    assert gain > 0.15  # the simulator's: 0.24
