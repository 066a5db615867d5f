"""vm/host: what Vagrant runs on the student's computer, with Vagrant itself and its machine stood in for."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not shutil.which("ruby"), reason="no ruby here: apt install ruby")

# The few calls that vm/host makes of Vagrant. The real one calls it in `make vagrant-test`.
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


def test_an_old_vagrant_is_refused_but_for_libvirt(tmp_path: Path) -> None:
    refused = ruby(CHECK, tmp_path, provider="virtualbox", vagrant="2.4.8")
    assert refused.startswith("failure: PaceLab: with virtualbox this lab needs Vagrant 2.4.9")
    assert "this is 2.4.8" in refused
    assert "failure" not in ruby(CHECK, tmp_path, provider="virtualbox", vagrant="2.4.10")
    assert "failure" not in ruby(CHECK, tmp_path, provider="libvirt", vagrant="2.3.4")


def test_no_virtualization_is_said_before_anything_is_made(tmp_path: Path) -> None:
    lacking = 'def File.exist?(path) = path != "/dev/kvm"\n'
    assert "failure: PaceLab: this computer has no /dev/kvm" in ruby(lacking + CHECK, tmp_path, driver="kvm")
    assert "failure" not in ruby(lacking + CHECK, tmp_path, driver="qemu")


@pytest.mark.parametrize(("free", "warned"), [(7, True), (8, False), ("nil", False)])
def test_little_room_is_warned_of(free: int | str, warned: bool, tmp_path: Path) -> None:
    said = ruby(f"def (PaceLab::Computer).free_gb = {free}\n{CHECK}", tmp_path)
    assert (f"warn: PaceLab: {free} GB are free" in said) is warned


@pytest.fixture
def taken() -> int:
    """A port that another program holds, the first of those that may be chosen."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_taken_port_is_said_and_the_next_free_one_kept(taken: int, tmp_path: Path) -> None:
    shifted = f"PaceLab::NotebookPort.send(:remove_const, :LAST); PaceLab::NotebookPort::LAST = {taken + 50}\n"
    (tmp_path / "notebook_port").write_text(str(taken))
    said = ruby(f"{shifted}{CHOOSE}", tmp_path).splitlines()
    chosen = int(said[-1])
    assert chosen != taken
    assert said[-2].startswith(f"warn: PaceLab: port {taken} of this computer is taken")
    assert (tmp_path / "notebook_port").read_text() == str(chosen)
    assert ruby(f"{shifted}{CHOOSE}", tmp_path).splitlines() == [str(chosen)]  # the next time without a word


def test_a_machine_that_runs_keeps_its_port(taken: int, tmp_path: Path) -> None:
    (tmp_path / "notebook_port").write_text(str(taken))  # by itself
    assert ruby(CHOOSE, tmp_path, state="running").splitlines() == [str(taken)]


def test_a_spoilt_note_of_the_port_is_as_none(tmp_path: Path) -> None:
    (tmp_path / "notebook_port").write_text("eight")
    assert int(ruby(CHOOSE, tmp_path).splitlines()[-1]) >= 8888
