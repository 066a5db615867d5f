"""Starts a packed disk as a student's QEMU would, and follows the links on its console:

python3 tests/vm/boot_packed.py build/pack/pacelab-amd64.qcow2 [SECONDS]

The disk stays unchanged. If the box is beside it, the box's key is also tried over SSH. Exit code 0: everything worked.
"""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(disk: Path, web: int, ssh: int) -> subprocess.Popen[bytes]:
    """The machine with the serial console on our pipes, for 127.0.0.1 only. Without VGA, GRUB waits for ever."""
    command = f"""qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 3072 -nodefaults -vga std -display none
        -no-reboot -drive file={disk},if=virtio,snapshot=on -device virtio-rng-pci -serial stdio
        -nic user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:{web}-:8888,hostfwd=tcp:127.0.0.1:{ssh}-:22"""
    return subprocess.Popen(command.split(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def read_token(machine: subprocess.Popen[bytes]) -> str:
    """The notebooks' token, from the links that the console shows after the automatic login."""
    assert machine.stdout is not None
    seen = ""
    for line in machine.stdout:
        text = line.decode(errors="replace").rstrip()
        print("|", text, flush=True)
        seen += text + "\n"
        found = re.search(r"lab\?token=([0-9a-f]{32})", text)
        if found:
            return found[1]
    raise AssertionError(f"the machine ended without a link: {seen[-500:]}")


def open_notebooks(port: int, token: str) -> int:
    """HTTP status of the link."""
    until = time.monotonic() + 300
    while True:
        try:
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            link.request("GET", f"/lab?token={token}", headers={"Host": "127.0.0.1:8888"})
            return link.getresponse().status
        except (ConnectionError, http.client.HTTPException, TimeoutError):
            if time.monotonic() > until:
                raise
            time.sleep(3)


def run_over_ssh(port: int, box: Path, command: str) -> str:
    """The output of a command run as the box's user."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(box) as archive:
            archive.extract("id_rsa", folder, filter="data")
        key = Path(folder) / "id_rsa"
        key.chmod(0o600)
        options = [
            "-i",
            str(key),
            "-p",
            str(port),
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            f"UserKnownHostsFile={folder}/known",
        ]
        ssh = ["ssh", "-q", *options, "-o", "ConnectTimeout=60", "-o", "BatchMode=yes", "vagrant@127.0.0.1", command]
        return subprocess.run(ssh, check=True, capture_output=True, text=True, timeout=400).stdout


def main() -> None:
    disk, limit_s = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 900
    box = disk.with_suffix(".box")
    began = time.monotonic()
    web, ssh = free_port(), free_port()
    machine = start(disk, web, ssh)
    watchdog = subprocess.Popen(["sh", "-c", f"sleep {limit_s}; kill {machine.pid}"])
    try:
        token = read_token(machine)
        print(f"links after {time.monotonic() - began:.0f} s", flush=True)
        assert open_notebooks(web, token) == 200
        print(f"notebooks after {time.monotonic() - began:.0f} s", flush=True)
        if box.exists():
            print(run_over_ssh(ssh, box, "pacelab run hidden --rts off --seconds 5"))
            said = run_over_ssh(
                ssh,
                box,
                "pacelab compare chain --hops 3 --backend hwsim --schemes newreno,tcp-gap --seeds 1 --seconds 10",
            )
            print(said)
            assert "tcp-gap" in said
            print(f"SSH after {time.monotonic() - began:.0f} s", flush=True)
    finally:
        machine.kill()
        watchdog.kill()


if __name__ == "__main__":
    main()
