"""`vagrant up` in a new clone, then a student's first hour in that machine: make vagrant-test

    python tests/vm/vagrant_up.py bare|bare-wheel|prepared

It uses libvirt with KVM if KVM starts a stock kernel, else with emulation. The box is made from Debian packages
(vm/box/make) and added to a separate Vagrant home, under the name in the Vagrantfile. Run it as root, since it starts
libvirt's daemon if none runs. The output, with the second of each line, is in build/vagrant/log-KIND/. At the end
everything is destroyed. With `bare` nothing is prepared: Debian's packages, Python's and the crates come over the
network, and the machine compiles PaceLab. `bare-wheel` has wheels in dist/, `prepared` also the packages in the box.

MININET_WIFI_SOURCES names a folder with the archives of vm/mininet-wifi.txt, for use without GitHub. Then an incomplete
download comes first, which must affect only Mininet-WiFi.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build/vagrant"
BOX = "debian/bookworm64"
EMULATED = """Vagrant.configure("2") do |config|
  config.vm.boot_timeout = 1800
  config.vm.provider "libvirt" do |machine|
    machine.driver = "qemu"
    machine.cpu_mode = "maximum"
  end
end
"""
CHANGED = (
    "sudo find / -xdev -newercm /run/provisioned -type f ! -path '/var/log/*' ! -path '/home/*' ! -path '/tmp/*'"
    " ! -path '/var/lib/systemd/*' ! -path '/vagrant/*' ! -path '/var/lib/pacelab/host-port'"
)


class Scenario:
    """One machine, from its creation to its removal."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.clone = WORK / f"clone-{kind}"
        self.log = WORK / f"log-{kind}"
        self.times: list[tuple[str, float]] = []
        self.environment = os.environ | {
            "VAGRANT_HOME": str(WORK / "home"),
            "VAGRANT_CHECKPOINT_DISABLE": "1",
            "VAGRANT_DEFAULT_PROVIDER": "libvirt",
        }
        self.sources = os.environ.get("MININET_WIFI_SOURCES")
        self.machine = f"pacelab-{hashlib.sha256(str(self.clone).encode()).hexdigest()[:6]}_default"

    def step(self, name: str, action: Callable[[], object]) -> None:
        print(f"== {name}", flush=True)
        began = time.monotonic()
        action()
        self.times.append((name, time.monotonic() - began))
        print(f"   {self.times[-1][1]:.0f} s", flush=True)

    def call(self, *command: str | Path, limit_s: float = 3600) -> str:
        """The output of a command in the clone, logged with the second of each line; a failure shows the last lines."""
        began = time.monotonic()
        lines: list[str] = []
        words = re.sub(r"[^a-z]+", "-", " ".join(map(str, command[1:])).lower())
        path = self.log / f"{len(list(self.log.iterdir())):02d}-{words[:40]}"
        with path.open("w") as log:
            process = subprocess.Popen(
                command,
                cwd=self.clone,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
            limit = threading.Timer(limit_s, process.kill)
            limit.start()
            assert process.stdout
            for line in process.stdout:
                if "Progress:" in line:  # lines of a progress bar, hundreds of them
                    continue
                log.write(f"{time.monotonic() - began:7.1f} {line}")
                log.flush()
                lines.append(line)
            code = process.wait()
            limit.cancel()
        said = "".join(lines)
        assert code == 0, f"{command}: exit {code}; the end of {path}:\n{said[-3000:]}"
        return said

    def ssh(self, command: str) -> str:
        return self.call("vagrant", "ssh", "-c", command)

    # Steps.

    def run(self) -> None:
        shutil.rmtree(self.log, ignore_errors=True)
        self.log.mkdir(parents=True)
        with contextlib.ExitStack() as at_end:
            at_end.callback(self.report)
            self.step("box, from Debian packages", self.add_box)
            self.step("libvirt", start_libvirt)
            self.before = volumes()
            self.step("fresh clone", self.make_clone)
            at_end.callback(self.destroy)
            self.step("vagrant up, 8888 taken", self.up_beside_another)
            self.step("the link", lambda: self.link_answers(self.said))
            self.step("virtual time", lambda: self.hidden("--seconds 10"))
            self.step("tap", lambda: self.hidden("--backend tap --traffic udp-saturated --seconds 10"))
            self.step("hwsim", lambda: self.hidden("--backend hwsim --traffic udp-saturated --seconds 10"))
            if self.sources:
                self.step("provision again: Mininet-WiFi from whole files", self.provision_mininet_wifi)
            if self.sources or reachable("github.com"):
                self.step("Mininet-WiFi's adhoc.py on the drop-in", self.mininet_wifi_example)
            else:
                print(
                    "skipped: Mininet-WiFi; github.com does not answer here, and MININET_WIFI_SOURCES names no folder"
                )
            self.step("provision again: nothing changes", self.provision_changes_nothing)
            self.step("halt, up: the link", self.halt_and_up)
        left = self.leftovers()
        assert not left, f"destroy left behind: {left}"

    def add_box(self) -> None:
        make = [ROOT / "vm/box/make", self.kind.removesuffix("-wheel")]
        box = subprocess.run(make, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        home = WORK / "home"
        home.mkdir(exist_ok=True)
        accelerated = subprocess.run([ROOT / "vm/accelerated", f"{box}.kernel"], check=False).returncode == 0
        print("   accelerated by KVM" if accelerated else "   emulated: no KVM here that starts a stock kernel")
        (home / "Vagrantfile").write_text("" if accelerated else EMULATED)
        self.clone.mkdir(parents=True, exist_ok=True)
        self.call("vagrant", "box", "add", "--force", "--name", BOX, box)

    def make_clone(self) -> None:
        shutil.rmtree(self.clone)
        subprocess.run(["git", "clone", "-q", ROOT, self.clone], check=True)
        if subprocess.run(["git", "-C", ROOT, "status", "--porcelain"], capture_output=True, check=True).stdout:
            print("   note: what is not committed is not in the clone")
        if self.kind != "bare":
            subprocess.run(["make", "-s", "wheel"], cwd=ROOT, check=True)
            shutil.copytree(ROOT / "dist", self.clone / "dist")
        if self.sources:
            half = self.clone / "build/half"
            half.mkdir(parents=True)
            for archive in Path(self.sources).glob("mininet*.tar.gz"):
                (half / archive.name).write_bytes(archive.read_bytes()[: archive.stat().st_size // 2])
            self.environment["MININET_WIFI_SOURCES"] = str(half)

    def up_beside_another(self) -> None:
        """Another program uses the port: a message reports that, and the next port is used."""
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", 8888))
            other.listen()
            self.said = self.call("vagrant", "up", "--provider", "libvirt", limit_s=4 * 3600)
        assert "PaceLab is ready." in self.said
        assert "port 8888 of this computer is taken" in self.said
        if self.kind != "prepared":
            assert "restarts into a kernel" in self.said
        if self.sources:
            assert "PaceLab: Mininet-WiFi: failed" in self.said
            assert "Mininet-WiFi is not installed" in self.said
        assert self.machine in self.said  # the name belongs to this clone only
        assert "cloud" not in self.ssh("uname -r")

    def link_answers(self, said: str) -> None:
        link = re.search(r"http://127\.0\.0\.1:(\d+)/lab\?token=[0-9a-f]{32}", said)
        assert link, said[-2000:]
        assert link[1] != "8888"
        until = time.monotonic() + 300
        while True:
            try:
                with urllib.request.urlopen(link[0], timeout=60) as answer:
                    assert answer.status == 200
                    return
            except OSError:
                assert time.monotonic() < until, f"{link[0]} does not answer"
                time.sleep(2)

    def hidden(self, options: str) -> None:
        said = self.ssh(f"pacelab run hidden --rts off {options}")
        print("\n".join(f"   {line}" for line in said.splitlines() if "│" in line or "┃" in line))
        assert "bit/s" in said

    def provision_mininet_wifi(self) -> None:
        half = Path(self.environment["MININET_WIFI_SOURCES"])
        for archive in Path(self.sources or "").glob("mininet*.tar.gz"):
            shutil.copy(archive, half)
        self.call("vagrant", "rsync")
        said = self.call("vagrant", "provision")
        assert "Mininet-WiFi: there" in said, said[-3000:]
        assert "restarts" not in said

    def mininet_wifi_example(self) -> None:
        said = self.ssh(
            "cd /vagrant/tests/vm && sudo env MEDIUMD=/usr/local/bin/mediumd"
            " python3 -B -m unittest -v check_mininet_wifi.Examples.test_adhoc"
        )
        assert "skipped" not in said
        print("   " + "\n   ".join(line for line in said.splitlines() if "packets transmitted" in line))

    def provision_changes_nothing(self) -> None:
        before = self.ssh("sudo touch /run/provisioned; cat /proc/sys/kernel/random/boot_id")
        self.call("vagrant", "provision")
        assert self.ssh("cat /proc/sys/kernel/random/boot_id") == before
        # Without Mininet-WiFi each provisioning tries to install it again.
        retried = "" if self.sources or reachable("github.com") else " ! -path '/opt/mininet-wifi/*'"
        changed = self.ssh(CHANGED + retried)
        assert changed.strip() == "", changed

    def halt_and_up(self) -> None:
        self.call("vagrant", "halt")
        self.link_answers(self.call("vagrant", "up"))

    def destroy(self) -> None:
        if (self.clone / ".vagrant").exists():
            self.step("destroy", lambda: self.call("vagrant", "destroy", "-f"))

    def leftovers(self) -> set[str]:
        """New objects in libvirt; the box's copy is removed."""
        found = volumes() - self.before
        for box in {volume for volume in found if "vagrant_box_image" in volume}:
            subprocess.run(["virsh", "-q", "vol-delete", "--pool", "default", box], check=True)
            found.remove(box)
        domains = subprocess.run(["virsh", "-q", "list", "--all", "--name"], capture_output=True, text=True, check=True)
        return found | {name for name in domains.stdout.split() if name == self.machine}

    def report(self) -> None:
        print(f"\n{'step':52s}       s")
        for name, seconds in self.times:
            print(f"{name:52s} {seconds:7.0f}")
        print(f"{'all':52s} {sum(seconds for _, seconds in self.times):7.0f}   logs: {self.log}")


def start_libvirt() -> None:
    """libvirt's daemon, if none answers."""
    if subprocess.run(["virsh", "-q", "uri"], capture_output=True, check=False).returncode == 0:
        return
    for daemon in ("virtlogd", "libvirtd"):
        subprocess.run([daemon, "-d"], check=True)
    until = time.monotonic() + 60
    while subprocess.run(["virsh", "-q", "uri"], capture_output=True, check=False).returncode:
        assert time.monotonic() < until, "libvirtd does not answer"
        time.sleep(0.5)


def volumes() -> set[str]:
    """The volumes that libvirt stores: disks of machines, and a copy of each box."""
    listed = subprocess.run(["virsh", "-q", "vol-list", "default"], capture_output=True, text=True, check=False).stdout
    return {line.split()[0] for line in listed.splitlines() if line.strip()}


def reachable(host: str) -> bool:
    try:
        socket.create_connection((host, 443), timeout=10).close()
    except OSError:
        return False
    return True


def main() -> int:
    kinds = sys.argv[1:] or ["prepared"]
    if kinds not in (["bare"], ["bare-wheel"], ["prepared"]):
        print(__doc__, file=sys.stderr)
        return 2
    Scenario(kinds[0]).run()
    print("vagrant-test: green")
    return 0


if __name__ == "__main__":
    sys.exit(main())
