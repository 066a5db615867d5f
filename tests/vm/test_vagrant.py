"""Vagrant's files, as far as a machine without VirtualBox or libvirt can check them."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

# The Vagrantfile, as far as a machine without VirtualBox or libvirt can check it.

ROOT = Path(__file__).resolve().parents[2]
VAGRANTFILE = ROOT / "Vagrantfile"

needs_vagrant = pytest.mark.skipif(not shutil.which("vagrant"), reason="no vagrant here: apt install vagrant")


def validate(vagrantfile: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """`vagrant validate`, which writes only into `folder`."""
    text = vagrantfile.read_text()
    if "config.vm.box = " not in text:  # `vagrant init` sets the name of a packed box
        text = text.replace("|config|\n", '|config|\n  config.vm.box = "pacelab"\n', 1)
    (folder / "Vagrantfile").write_text(text)
    (folder / "vm").symlink_to(ROOT / "vm")
    environment = {
        **os.environ,
        "VAGRANT_HOME": str(folder / "home"),
        "VAGRANT_DOTFILE_PATH": str(folder / "state"),
        "VAGRANT_CHECKPOINT_DISABLE": "1",
    }
    command = ["vagrant", "validate", "--ignore-provider"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.thorough
@needs_vagrant
@pytest.mark.parametrize("vagrantfile", ["Vagrantfile", "vm/box/Vagrantfile"])
def test_vagrant_finds_it_valid(vagrantfile: str, tmp_path: Path) -> None:
    done = validate(ROOT / vagrantfile, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "validated successfully" in done.stdout


@pytest.mark.thorough
@needs_vagrant
def test_vagrant_finds_a_misspelt_setting(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text(VAGRANTFILE.read_text().replace("config.vm.hostname", "config.vm.hostnome"))
    done = validate(wrong, tmp_path)
    assert done.returncode != 0
    assert "hostnome" in done.stdout + done.stderr


def test_its_scripts_exist() -> None:
    text = VAGRANTFILE.read_text()
    listed = re.search(r"%w\[([a-z -]+)\]\.each\(&step\)", text)
    assert listed
    names = [
        *re.findall(r'step\["([a-z-]+)"\]', text),
        *listed[1].split(),
        *re.findall(r"provision/([a-z-]+)\.sh", text),
    ]
    assert names[:2] == ["system", "environment"]
    assert listed[1].split()[-1] == "mininet-wifi"  # everything else works without it
    assert [name for name in names if not (ROOT / f"vm/provision/{name}.sh").is_file()] == []


def test_every_forwarded_port_is_the_hosts_own() -> None:
    ports = [line for line in VAGRANTFILE.read_text().splitlines() if '"forwarded_port"' in line]
    assert ports
    assert all('host_ip: "127.0.0.1"' in line for line in ports)


# vm/host: the code that Vagrant runs on the student's computer, with Vagrant and its machine replaced by mocks.

needs_ruby = pytest.mark.skipif(not shutil.which("ruby"), reason="no ruby here: apt install ruby")

# The few calls that vm/host makes to Vagrant. The real Vagrant runs it in `make vagrant-test`.
STAND_IN = """
require "pathname"
module Vagrant
  VERSION = "%(vagrant)s"
  module Errors
    class VagrantError < StandardError; end
  end
end
$networks = [[:forwarded_port, { guest: 22, host: 2222 }], [:forwarded_port, { guest: 8888, host: 8888 }]]
Said = Struct.new(:lines) { def warn(text) = puts("warn: #{text}") }
Machine = Struct.new(:provider_name, :state_id, :driver, :folder) do
  def state = Struct.new(:id).new(state_id)
  def provider_config = Struct.new(:driver).new(driver)
  def data_dir = Pathname.new(folder)
  def ui = Said.new
  def config = Struct.new(:vm).new(Struct.new(:networks).new($networks))
end
require "%(root)s/vm/host/computer"
machine = Machine.new(:%(provider)s, :%(state)s, "%(driver)s", "%(folder)s")
begin
  %(script)s
rescue PaceLab::Failure => error
  puts "failure: #{error.error_message}"
end
"""


def ruby(script: str, folder: Path, provider: str = "libvirt", **given: str) -> str:
    values = {"vagrant": "2.4.9", "state": "not_created", "driver": "qemu", **given}
    text = STAND_IN % {"script": script, "folder": folder, "root": ROOT, "provider": provider, **values}
    done = subprocess.run(["ruby", "-e", text], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


CHECK = "PaceLab::Computer.check(machine)"
CHOOSE = "PaceLab::NotebookPort.choose(machine); puts $networks.last.last[:host]"


@needs_ruby
def test_an_old_vagrant_is_refused_but_for_libvirt(tmp_path: Path) -> None:
    refused = ruby(CHECK, tmp_path, provider="virtualbox", vagrant="2.4.8")
    assert refused.startswith("failure: PaceLab: with virtualbox this lab needs Vagrant 2.4.9")
    assert "this is 2.4.8" in refused
    assert "failure" not in ruby(CHECK, tmp_path, provider="virtualbox", vagrant="2.4.10")
    assert "failure" not in ruby(CHECK, tmp_path, provider="libvirt", vagrant="2.3.4")


@needs_ruby
def test_no_virtualization_is_reported_before_anything_is_made(tmp_path: Path) -> None:
    lacking = 'def File.exist?(path) = path != "/dev/kvm"\n'
    assert "failure: PaceLab: this computer has no /dev/kvm" in ruby(lacking + CHECK, tmp_path, driver="kvm")
    assert "failure" not in ruby(lacking + CHECK, tmp_path, driver="qemu")


@needs_ruby
@pytest.mark.parametrize(("free", "warned"), [(7, True), (8, False), ("nil", False)])
def test_little_room_is_warned_of(free: int | str, warned: bool, tmp_path: Path) -> None:
    said = ruby(f"def (PaceLab::Computer).free_gb = {free}\n{CHECK}", tmp_path)
    assert (f"warn: PaceLab: {free} GB are free" in said) is warned


@pytest.fixture
def taken() -> int:
    """A port that another program uses, the first of those that may be chosen."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


@needs_ruby
def test_a_taken_port_is_reported_and_the_next_free_one_kept(taken: int, tmp_path: Path) -> None:
    shifted = f"PaceLab::NotebookPort.send(:remove_const, :LAST); PaceLab::NotebookPort::LAST = {taken + 50}\n"
    (tmp_path / "notebook_port").write_text(str(taken))
    said = ruby(f"{shifted}{CHOOSE}", tmp_path).splitlines()
    chosen = int(said[-1])
    assert chosen != taken
    assert said[-2].startswith(f"warn: PaceLab: port {taken} of this computer is taken")
    assert (tmp_path / "notebook_port").read_text() == str(chosen)
    assert ruby(f"{shifted}{CHOOSE}", tmp_path).splitlines() == [str(chosen)]  # the next time without a message


@needs_ruby
def test_a_machine_that_runs_keeps_its_port(taken: int, tmp_path: Path) -> None:
    (tmp_path / "notebook_port").write_text(str(taken))  # by itself
    assert ruby(CHOOSE, tmp_path, state="running").splitlines() == [str(taken)]


@needs_ruby
def test_a_spoilt_note_of_the_port_is_as_none(tmp_path: Path) -> None:
    (tmp_path / "notebook_port").write_text("eight")
    assert int(ruby(CHOOSE, tmp_path).splitlines()[-1]) >= 8888


# vm/provision/step.sh: the messages for a student if a step of `vagrant up` fails.


@pytest.fixture
def run(tmp_path: Path) -> object:
    """Run a step whose script is `body`, with programs of these names replaced by shell scripts."""
    shutil.copy(ROOT / "vm/provision/step.sh", tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()

    def call(step: str, body: str, **replaced: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / f"{step}.sh").write_text(body)
        for name, script in replaced.items():
            (programs / name).write_text(f"#!/bin/sh\n{script}\n")
            (programs / name).chmod(0o755)
        environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
        command = ["sh", str(tmp_path / "step.sh"), step]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    return call


SILENT = "exit 124"  # `timeout`: no answer
ANSWERING = "exit 0"
ROOMY = "echo Avail; echo 9000000"


def test_a_successful_step_reports_its_time(run) -> None:
    done = run("notebooks", "echo working")
    assert done.returncode == 0
    assert done.stdout.splitlines()[:2] == ["PaceLab: the notebooks", "working"]
    assert done.stdout.splitlines()[2].startswith("PaceLab: the notebooks: installed, ")
    assert done.stderr == ""


def test_a_host_out_of_reach_is_named(run) -> None:
    done = run("environment", "exit 1", timeout=SILENT, df=ROOMY)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "pypi.org does not answer" in done.stderr
    assert "vagrant provision" in done.stderr


def test_a_full_disk_is_named_before_any_host(run) -> None:
    done = run("environment", "exit 1", timeout=SILENT, df="echo Avail; echo 1000")
    assert done.returncode == 1
    assert "disk is full" in done.stderr
    assert "pypi.org" not in done.stderr


def test_if_every_server_answers_the_error_is_the_steps_own(run) -> None:
    done = run("pacelab", "echo no compiler >&2; exit 7", timeout=ANSWERING, df=ROOMY)
    assert done.returncode == 7
    assert done.stderr.splitlines()[0] == "no compiler"
    assert "see the messages above" in done.stderr


def test_mininet_wifis_failure_costs_nothing_else(run) -> None:
    done = run("mininet-wifi", "exit 1", timeout=SILENT, df=ROOMY)
    assert done.returncode == 0
    assert "github.com does not answer" in done.stderr
    assert "the lab works without Mininet-WiFi" in done.stderr


def test_an_unknown_step_is_refused(run) -> None:
    done = run("notebook", "")
    assert done.returncode == 2
    assert "no step notebook" in done.stderr
