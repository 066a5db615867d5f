"""The Vagrantfile, as far as a machine without VirtualBox or libvirt can tell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VAGRANTFILE = ROOT / "Vagrantfile"

needs_vagrant = pytest.mark.skipif(not shutil.which("vagrant"), reason="no vagrant here: apt install vagrant")


def validate(vagrantfile: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """`vagrant validate`, which writes only into `folder`."""
    text = vagrantfile.read_text()
    if "config.vm.box = " not in text:  # a packed one's name is `vagrant init`'s to give
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


@needs_vagrant
@pytest.mark.parametrize("vagrantfile", ["Vagrantfile", "vm/box/Vagrantfile"])
def test_vagrant_finds_it_valid(vagrantfile: str, tmp_path: Path) -> None:
    done = validate(ROOT / vagrantfile, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "validated successfully" in done.stdout


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
    assert listed[1].split()[-1] == "mininet-wifi"  # without it all else works
    assert [name for name in names if not (ROOT / f"vm/provision/{name}.sh").is_file()] == []


def test_every_forwarded_port_is_the_hosts_own() -> None:
    ports = [line for line in VAGRANTFILE.read_text().splitlines() if '"forwarded_port"' in line]
    assert ports
    assert all('host_ip: "127.0.0.1"' in line for line in ports)
