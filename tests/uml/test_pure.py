"""`--where`: tests that need no guest."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest

from pacelab.domains import Words
from pacelab.emulation.agents.start import task_of
from pacelab.emulation.backend import _own_files, _with_code
from pacelab.emulation.compile import compile_plan
from pacelab.emulation.network.medium import configuration
from pacelab.emulation.network.radio_queues import arguments
from pacelab.emulation.network.tcp import sysctls
from pacelab.emulation.plan import Switch, dump_plan, read_plan
from pacelab.emulation.where import features, files, memory, uml, vm, work_folder
from pacelab.emulation.where.cpu import Core, cpu_seconds
from pacelab.emulation.where.features import missing_for_uml
from pacelab.emulation.where.job import JOB, MESSAGES, Sink, Source, read_job, write_job
from pacelab.emulation.where.memory import exec_folder
from pacelab.errors import ConfigError, HostError, ProtocolError
from pacelab.experiment.experiment import Experiment
from pacelab.options.congestion_controls import SWITCHES, TODAY
from pacelab.options.settings import BY_FIELD
from pacelab.running.runner import in_real_time
from pacelab.schemes import find_scheme

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="guests are for Linux")


def experiment(**changes: object) -> Experiment:
    return Experiment(topology="chain", topology_options={"hops": 2}, backend="tap", where="uml", duration_s=2.0).vary(
        **changes
    )


def test_job_is_read_as_it_was_written(tmp_path: Path) -> None:
    plan = compile_plan(experiment())
    write_job(tmp_path, plan)
    assert read_job(tmp_path) == plan


def test_job_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / JOB).write_text(json.dumps({"version": 2, "plan": "{}"}))
    with pytest.raises(ProtocolError, match="job of version 2"):
        read_job(tmp_path)


def test_job_without_a_valid_plan_is_refused(tmp_path: Path) -> None:
    (tmp_path / JOB).write_text(json.dumps({"version": 1, "plan": '{"nodes": []}'}))
    with pytest.raises(ConfigError, match="plan: "):
        read_job(tmp_path)


OWN = """from __future__ import annotations
from pacelab import Scheme
from pacelab_pacer.core.null import NullHook
MINE = Scheme(name="mine", summary="", source="", link=lambda settings: NullHook())
"""


def test_a_users_scheme_runs_in_a_guest_and_on_no_other_real_hosts(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"# -*- coding: latin-1 -*- M\xfcller\n{OWN}import table\n", "latin-1")
    (tmp_path / "table.py").write_text("import parts.whole")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").touch()
    (tmp_path / "parts" / "whole.py").write_text("# -*- coding: latin-1 -*-\nNAME = 'M\xfcller'", "latin-1")
    own = experiment(scheme=f"{tmp_path / 'mine.py'}:MINE")
    found = _with_code(own, own.chosen_scheme)
    assert found is not None
    plan = compile_plan(own, found)
    (job := tmp_path / "job").mkdir()
    write_job(job, plan, _own_files(own, found))
    assert read_job(job) == plan
    assert sorted(path.relative_to(job).as_posix() for path in job.rglob("*.py")) == [
        "own.py",
        "parts/__init__.py",
        "parts/whole.py",
        "table.py",
    ]
    assert (job / "parts/whole.py").read_bytes() == (tmp_path / "parts/whole.py").read_bytes()
    assert task_of(plan, plan.scheme.hooks[0]).scheme == "/job/own.py:SCHEME"
    assert find_scheme(f"{job / 'own.py'}:SCHEME").name == "mine"
    with pytest.raises(ConfigError, match="plan: scheme: user code runs in a guest only; use --where uml"):
        read_plan(dump_plan(plan))
    with pytest.raises(ConfigError, match=r"root runs registered schemes only, not .* of your own; use --where uml"):
        own.vary(where="here")


def test_switches_of_linux_tcp_are_turned_one_by_one() -> None:
    plain, turned = (
        compile_plan(each).tcp for each in (experiment(), experiment(linux_tcp="sack+no-prr", backend="hwsim"))
    )
    before, after = sysctls(plain), sysctls(turned)
    different = {name.removeprefix("net.ipv4."): after[name] for name in before if before[name] != after[name]}
    assert different == {"tcp_sack": 1, "tcp_dsack": 1, "tcp_recovery": 128}
    assert BY_FIELD["linux_tcp"].domain == Words(("today", "none", *SWITCHES))
    assert get_args(Switch) == SWITCHES
    assert "linux_tcp" not in experiment().config()


@pytest.mark.parametrize(
    ("changes", "control", "switches"),
    [
        ({}, "reno", ()),
        ({"cc": "cubic"}, "cubic", ()),
        ({"cc": "cubic", "linux_tcp": "today"}, "cubic", TODAY),
        # BBR without SACK is an artefact, so a control that only Linux has gets Linux's default features.
        ({"cc": "bbr"}, "bbr", TODAY),
        ({"cc": "linux:bbr3"}, "bbr3", TODAY),
        ({"cc": "bbr", "linux_tcp": "none"}, "bbr", ()),
        ({"cc": "veno", "linux_tcp": "today+pacing"}, "veno", (*TODAY, "pacing")),
    ],
)
def test_a_control_that_only_linux_has_gets_todays_recovery(
    changes: dict[str, object], control: str, switches: tuple[str, ...]
) -> None:
    tcp = compile_plan(experiment(**changes)).tcp
    assert (tcp.control, set(tcp.switches)) == (control, set(switches))


def test_tcp_gap_eval_runs_on_linux_where_its_sender_part_never_acts() -> None:
    # Its wireless senders keep their timeouts constant. Linux always doubles them; for wired senders this is equal.
    down = experiment(scheme="tcp-gap-eval", direction="down")
    assert compile_plan(down).scheme.name == "tcp-gap-eval"
    with pytest.raises(ConfigError, match="--rto-backoff must be all, since Linux always backs off, not wired"):
        experiment(scheme="tcp-gap-eval", direction="up")


def test_the_rate_is_left_to_linux_where_it_has_rate_control() -> None:
    auto = experiment(rate_bps="auto", phy="802.11g", backend="hwsim")
    plan = compile_plan(auto)
    # The medium gets the highest rate for frames whose rate the kernel leaves open; control frames keep the basic rate.
    assert (plan.rate_control, plan.radio.data_rate_bps, plan.radio.basic_rate_bps) == (True, 54_000_000, 6_000_000)
    assert auto.config()["rate_bps"] == "auto"
    assert compile_plan(experiment(backend="hwsim")).rate_control is False


def test_a_discipline_of_linux_has_the_queue_and_the_medium_leaves_packets_in_it() -> None:
    plans = {name: compile_plan(experiment(qdisc=name, queue_pkts=40)) for name in ("pfifo", "codel", "fq_codel", "fq")}
    assert {name for name, plan in plans.items() if configuration(plan).get("queue_at_host")} == plans.keys() - {
        "pfifo"
    }
    assert arguments(plans["codel"]) == ["codel", "limit", "40", "noecn"]
    assert arguments(plans["fq"]) == ["fq", "limit", "40"]
    marking = compile_plan(experiment(qdisc="fq_codel", ecn=True))
    assert arguments(marking) == ["fq_codel", "limit", "50", "ecn"]
    assert sysctls(marking.tcp)["net.ipv4.tcp_ecn"] == 1
    assert "queue_at_host" not in configuration(compile_plan(experiment(qdisc="fq", backend="hwsim")))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"rate_bps": "auto"},
            "--backend tap: --rate auto needs the rate control of Linux's Wi-Fi stack; use --backend hwsim, and "
            "--where uml if you are not root, or one of 1, 2, 5.5, 11 Mbit/s",
        ),
        (
            {"rate_bps": "auto", "backend": "sim", "where": "here"},
            "--backend sim: --rate auto needs the rate control of Linux's Wi-Fi stack; use --backend hwsim",
        ),
        (
            {"rate_bps": "auto", "backend": "hwsim", "radio": "ns2-2001"},
            "--radio ns2-2001 needs a fixed --rate, since that simulator had one rate for all, not auto",
        ),
        ({"rate_bps": "fast"}, "--rate must be one of 1, 2, 5.5, 6, .* Mbit/s, or auto, not 'fast'"),
        ({"ping_interval_s": 0.001}, "--ping must be a number from 0.01 to 60, not '0.001'"),
        (
            {"linux_tcp": "sack+sack"},
            "--linux-tcp must be one of today, none, sack, rack, tlp, frto, timestamps, pacing, no-prr, no-hystart, or",
        ),
        ({"linux_tcp": "none+sack"}, r"--backend tap: --linux-tcp none must be alone, not none\+sack"),
        ({"linux_tcp": "tlp+frto"}, r"--backend tap: --linux-tcp tlp needs SACK in Linux; use sack\+tlp"),
        (
            {"linux_tcp": ""},
            "--linux-tcp must be one of today, none, sack, rack, tlp, frto, timestamps, pacing, no-prr, no-hystart, or",
        ),
        (
            {"linux_tcp": "no-prr", "where": "here"},
            "--backend tap: --linux-tcp no-prr needs a kernel of its own; use --where uml",
        ),
        (
            {"linux_tcp": "sack", "where": "here", "backend": "sim"},
            "--linux-tcp needs --backend tap or hwsim, not sim",
        ),
    ],
)
def test_impossible_values_are_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        experiment(**changes)


def test_messages_arrive_whole_however_they_are_written(tmp_path: Path) -> None:
    (tmp_path / MESSAGES).touch()
    source, sink = Source(tmp_path), Sink(tmp_path)
    sink.sendall(b'{"progress": 0.2')
    assert list(source.read()) == []
    sink.sendall(b'5}\n{"progress": 1}\n{"re')
    assert list(source.read()) == [{"progress": 0.25}, {"progress": 1}]
    source.close()
    sink.close()


def test_command_line_differs_by_the_seed_alone() -> None:
    lines = []
    for changes in ({"seed": 1}, {"seed": 2**40 + 3}, {"seed": 1, "scheme": "tcp-gap", "duration_s": 9.0}):
        varied = experiment(**changes)
        lines.append(uml.command_line(compile_plan(varied)))
    assert lines[0] == lines[2]
    assert sorted(set(lines[1]) - set(lines[0])) == ["PYTHONHASHSEED=3", f"um_seed={2**40 + 3}"]
    assert not [part for part in lines[0] if str(Path.cwd()) in part]


@pytest.mark.parametrize(("hops", "mem"), [(1, "512M"), (16, "512M"), (24, "704M"), (44, "1184M")])
def test_many_hosts_have_more_memory(hops: int, mem: str) -> None:
    """With 512 MB Linux killed one of 25 agents with LRED."""
    plan = compile_plan(experiment(topology_options={"hops": hops}))
    assert f"mem={mem}" in uml.command_line(plan)


def test_virtual_time_is_no_real_time() -> None:
    assert not in_real_time(experiment())
    assert in_real_time(experiment(where="vm"))
    assert in_real_time(experiment(where="here"))
    assert not in_real_time(Experiment())


def guest_folder(place: Path, **changes: object) -> Path:
    """Files that look like a guest."""
    (place / "linux-0").write_bytes(b"kernel")
    (place / "tree-0/usr/sbin").mkdir(parents=True)
    (place / "tree-0/usr/sbin/init").touch()
    said = {
        "version": 1,
        "kernel": "linux-0",
        "kernel_sha256": "b8bac12c5b8b3b56bd6ef0ef3c5ec5d3f0fb5f5c3c5d35b9d7d2c9e8e8a2c9f1",
        "source": "linux-source 1",
        "tree": "tree-0",
        "tree_sha256": "0",
    }
    (place / "guest.json").write_text(json.dumps(said | changes))
    return place


def test_without_a_guest_the_error_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(files.FOLDER, str(tmp_path))
    with pytest.raises(
        HostError, match=r"no kernel and root file system in .*; run `make uml-kernel` in the source tree$"
    ):
        files.find_files()
    assert ("kernel and root file system", "run `make uml-kernel` in the source tree") in list(missing_for_uml())
    monkeypatch.delenv(files.FOLDER)
    monkeypatch.setattr(files, "source_tree", lambda: tmp_path / "site-packages")
    with pytest.raises(HostError, match=r"in the source tree, then export PACELAB_UML=TREE/build/uml$"):
        files.find_files()


@pytest.mark.skipif(sys.platform != "linux", reason="a script for Linux")
def test_a_kernel_is_not_compiled_where_linux_cannot_be(tmp_path: Path) -> None:
    build, out = Path(__file__).parents[2] / "uml" / "build", tmp_path / "a b"
    ran = subprocess.run([build, out], capture_output=True, text=True, check=False)
    said = f"uml/build: Linux cannot be compiled in {out}, whose path has a space or a colon: move PaceLab\n"
    assert (ran.returncode, ran.stderr) == (3, said)


def test_a_kernel_that_is_not_the_named_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(files.FOLDER, str(guest_folder(tmp_path)))
    with pytest.raises(HostError, match=r"linux-0 is not the kernel that guest\.json names"):
        files.find_files()


def test_a_guest_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(files.FOLDER, str(guest_folder(tmp_path, version=2)))
    with pytest.raises(HostError, match="is of version 2, not 1; run `make uml-kernel`"):
        files.find_files()


def test_a_tree_in_part_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sha256 = subprocess.run(["sha256sum"], input=b"kernel", capture_output=True, check=True).stdout.split()[0].decode()
    monkeypatch.setenv(files.FOLDER, str(guest_folder(tmp_path, kernel_sha256=sha256)))
    assert files.find_files().identity() == {
        "kernel": "linux-source 1",
        "kernel_sha256": sha256,
        "tree_sha256": "0",
    }
    (tmp_path / "tree-0/usr/sbin/init").unlink()
    with pytest.raises(HostError, match="is not complete"):
        files.find_files()


def test_each_guest_has_a_core_of_its_own() -> None:
    cores = os.sched_getaffinity(0)
    with Core() as first, Core() as second:
        assert {first.number, second.number} <= cores
        assert first.number != second.number or len(cores) == 1 or not first.own or not second.own
    with Core() as again:
        assert again.number in cores


def test_folder_of_a_run_that_was_killed_goes_with_the_next_and_that_of_a_live_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    live = (
        "from pacelab.emulation.where.work_folder import *; import sys; f = work_folder(); "
        "(f.__enter__() / KERNEL).touch()"
    )
    other = [sys.executable, "-c", f"{live}; print(flush=True); sys.stdin.read()"]
    given = {"env": os.environ | {"TMPDIR": str(tmp_path)}, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(other, **given) as run:  # type: ignore[call-overload]
        assert run.stdout.readline()
        (left,) = tmp_path.iterdir()
        assert work_folder.remove_left() == []
        run.kill()
    assert left.exists()
    with work_folder.work_folder() as own:
        assert list(tmp_path.iterdir()) == [own]
    assert list(tmp_path.iterdir()) == []


def test_a_run_works_in_such_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(uml, "find_files", lambda: None)
    monkeypatch.setattr(uml, "code_for", lambda _files: None)
    seen = []

    def lay_out(work: Path, *_: object) -> Path:
        (work / work_folder.KERNEL).touch()
        seen.append((work.name.startswith(work_folder.PREFIX), work_folder.remove_left()))
        raise HostError("far enough")

    monkeypatch.setattr(uml, "_fill_folder", lay_out)
    with pytest.raises(HostError, match="far enough"):
        uml.run_plan(compile_plan(experiment()), lambda _done: None)
    assert seen == [(True, [])]


def test_no_exec_mount_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    import mmap

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    assert exec_folder() in ("/dev/shm", "/var/tmp") or Path(exec_folder()).is_dir()
    monkeypatch.setattr(mmap, "mmap", refuse)
    with pytest.raises(HostError, match=r"noexec; run `mount -o remount,exec /dev/shm"):
        exec_folder()


def test_the_guests_memory_goes_where_there_is_room_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    free = {"/dev/shm": 64 << 20, tempfile.gettempdir(): 4 << 30, "/var/tmp": 8 << 30}
    monkeypatch.setattr(memory, "_may_run_from", lambda _place: True)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=free[place]))
    assert exec_folder() == tempfile.gettempdir()
    free["/dev/shm"] = 512 << 20
    assert exec_folder() == "/dev/shm"
    assert exec_folder(513 << 20) == tempfile.gettempdir()
    free |= {"/dev/shm": 1 << 20, tempfile.gettempdir(): 2 << 20, "/var/tmp": 3 << 20}
    assert exec_folder() == "/var/tmp"


def test_a_guest_without_space_for_its_memory_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uml, "find_files", lambda: None)
    monkeypatch.setattr(uml, "code_for", lambda _files: None)

    def kernel(work: Path, *_: object) -> Path:
        work.chmod(0o755)
        (work / work_folder.KERNEL).write_text("#!/bin/sh\necho Kernel panic - not syncing: Kernel mode signal 7\n")
        (work / work_folder.KERNEL).chmod(0o755)
        (work / "job").mkdir()
        (work / "job" / MESSAGES).touch()
        return work

    monkeypatch.setattr(uml, "_fill_folder", kernel)
    monkeypatch.setattr(uml, "missing_for_uml", list)
    monkeypatch.setattr(uml, "exec_folder", lambda _bytes: "/dev/shm")
    with pytest.raises(HostError, match=r"no room left for its memory in /dev/shm: it takes up to 512 MB"):
        uml.run_plan(compile_plan(experiment()), lambda _done: None)


def test_a_folder_for_temporary_files_that_cannot_hold_or_run_a_guest_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device", "linux")

    plan = compile_plan(experiment())
    monkeypatch.setattr(uml, "find_files", lambda: None)
    monkeypatch.setattr(uml, "code_for", lambda _files: None)
    monkeypatch.setattr(uml, "_fill_folder", no_room)
    with pytest.raises(HostError, match=r"laying out a guest in .*: No space left on device; TMPDIR names another"):
        uml.run_plan(plan, lambda _done: None)
    (tmp_path / work_folder.KERNEL).touch(mode=0o644)  # like on a mount with noexec
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / MESSAGES).touch()
    monkeypatch.setattr(uml, "_fill_folder", lambda *_: tmp_path)
    with pytest.raises(HostError, match=r"no program may run from .*noexec.* TMPDIR names another folder"):
        uml.run_plan(plan, lambda _done: None)


def test_a_home_that_cannot_hold_the_guests_code_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").touch()
    guest = files.GuestFiles(kernel=tmp_path, tree=tmp_path, kernel_sha256="", tree_sha256="", source="")
    monkeypatch.setenv(files.FOLDER, str(tmp_path / "nowhere"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(files, "_parts", dict)
    with pytest.raises(
        HostError, match=r"folder .*home/pacelab/uml.* cannot be made: Not a directory; set XDG_CACHE_HOME to"
    ):
        files.code_for(guest)


def test_each_missing_part_is_reported_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(files.FOLDER, str(tmp_path))
    monkeypatch.setattr(features, "may_trace", lambda: False)
    assert list(missing_for_uml()) == [
        ("kernel and root file system", "run `make uml-kernel` in the source tree"),
        ("ptrace", "sudo sysctl kernel.yama.ptrace_scope=1; in a container: --cap-add SYS_PTRACE"),
    ]


def test_cpu_seconds_are_of_the_group() -> None:
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
    try:
        until = time.monotonic() + 60
        while cpu_seconds(busy.pid) < 0.2 and time.monotonic() < until:
            time.sleep(0.05)
        assert cpu_seconds(busy.pid) >= 0.2
        assert cpu_seconds(2**22 + 1) == 0
    finally:
        busy.kill()
        busy.wait()


def test_vm_without_an_image_prints_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vm, "source_tree", lambda: tmp_path)
    with pytest.raises(HostError, match="it needs PaceLab's source tree"):
        vm.project_folder()
    (tmp_path / "vm").mkdir()
    (tmp_path / "vm/run").touch(mode=0o755)
    with pytest.raises(HostError, match=r"no virtual machine in .*; run `sudo make vm`"):
        vm.project_folder()


def test_a_plan_with_captures_is_for_guests() -> None:
    plan = compile_plan(experiment()).model_copy(update={"capture_bytes": 96})
    assert read_plan(dump_plan(plan), in_guest=True) == plan
    with pytest.raises(ConfigError, match="captures are available only with --where uml"):
        read_plan(dump_plan(plan))


_START_A_PROGRAM = """
import subprocess
from pacelab.emulation.where.confine import confine
subprocess.run(["true"], check=True, preexec_fn=lambda: confine(0, {}))
"""


def test_the_root_of_a_user_namespace_starts_a_guest_as_who_it_is() -> None:
    inside = ["unshare", "--user", "--map-root-user"]
    if shutil.which("unshare") is None or subprocess.run([*inside, "true"], check=False).returncode:
        pytest.skip("no user namespaces here: a kernel that allows them would enable this")
    for code in (_START_A_PROGRAM, "from pacelab.emulation.where import uml; assert not uml.may_be_nobody()"):
        done = subprocess.run([*inside, sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
