"""The guest's side of mininet_wifi.py: runs the steps of a plan in an installation of Mininet-WiFi.

The guest's first process calls `run_job`, before PaceLab's root tree is left for the installation. The standard
library alone.
"""

import ctypes
import json
import os
import signal
import subprocess
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = "/tmp/installation"
JOB = "/mnt"
"""The job's folder, as the installation sees it."""
READ_ONLY, BIND, RECURSIVE, DETACH = 0x1, 0x1000, 0x4000, 2
PIVOT_ROOT = 155
KEPT = ("/dev", "/proc", "/sys")
"""Mounts of the guest that the installation gets."""
EMPTY = ("/tmp", "/run", "/home", "/var/tmp", "/var/log", "/var/lib/openvswitch", "/etc/openvswitch")
"""Folders that programs of the installation write to."""
PATH = f"{JOB}/tools:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LIMIT_S = 900
"""Guest seconds after which a step is ended."""
SWITCHES = (
    "ovsdb-tool create /etc/openvswitch/conf.db /usr/share/openvswitch/vswitch.ovsschema",
    "ovsdb-server --remote=punix:/run/openvswitch/db.sock --detach --no-chdir --pidfile --log-file",
    "ovs-vsctl --no-wait init",
    "ovs-vswitchd --detach --no-chdir --pidfile --log-file",
)
"""What the service openvswitch-switch starts. Access points are switches."""
libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    if libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mounting {kind or source} at {target}")


def enter_installation() -> None:
    """Make the installation the root folder. It stays unchanged."""
    os.makedirs(ROOT, exist_ok=True)
    mount("installation", ROOT, "hostfs", READ_ONLY, "/proc/self/cwd/installation/.")
    for place in KEPT:
        mount(place, ROOT + place, "", BIND | RECURSIVE, "")
    for place in EMPTY:
        if os.path.isdir(ROOT + place):
            mount("tmpfs", ROOT + place, "tmpfs", 0, "")
    mount("/job", ROOT + JOB, "", BIND, "")
    # No chroot: Mininet's programs enter mount namespaces, and would find the old root there.
    os.chdir(ROOT)
    if libc.syscall(PIVOT_ROOT, b".", b".") != 0 or libc.umount2(b".", DETACH) != 0:
        raise OSError(ctypes.get_errno(), "changing the root folder")
    os.chdir("/home")
    for place in ("/run/openvswitch", "/run/netns", "/var/log/openvswitch"):
        os.makedirs(place, exist_ok=True)


def wait(process: subprocess.Popen[bytes], limit_s: float) -> int | None:
    """The exit code of a process; None if it had to be ended. Reaps the daemons that others have left to us.

    Mininet-WiFi waits until the processes that it ends are gone.
    """
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended == process.pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode
        if not ended:
            time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return None


def run_step(number: int, step: dict[str, Any]) -> dict[str, Any]:
    """The outcome of one program: its output, its code and how long it took."""
    output = Path(f"{JOB}/output-{number}")
    began = time.monotonic()
    environment = {"PATH": PATH, "HOME": "/home", "TERM": "dumb", "MPLBACKEND": "Agg", "PYTHONHASHSEED": "1"}
    with output.open("wb") as out:
        process = subprocess.Popen(
            ["sh", "-c", str(step["command"])],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment | dict(step.get("environment", {})),
            cwd=str(step.get("folder", "/home")),
            start_new_session=True,
        )
        # A pipe, not a file: Mininet's command line looks for input without a pause where it can read.
        assert process.stdin is not None
        process.stdin.write(str(step.get("stdin", "")).encode())
        process.stdin.close()
        code = wait(process, float(step.get("limit_s", LIMIT_S)))
    text = output.read_text(errors="replace")
    return {"command": step["command"], "code": code, "s": round(time.monotonic() - began, 2), "output": text}


def run_job(folder: str) -> None:
    """Run the steps of FOLDER/plan.json one after the other. Results go to FOLDER/found.json."""
    plan = json.loads((Path(folder) / "plan.json").read_text())
    found: dict[str, Any] = {"steps": []}
    try:
        enter_installation()
        os.environ["PATH"] = PATH
        # The kernel looked for the regulatory database before it had this root folder.
        subprocess.run("ip link set lo up; iw reg reload", shell=True, check=True)
        if plan["switches"]:
            for command in SWITCHES:
                subprocess.run(command, shell=True, check=True)
        for number, step in enumerate(plan["steps"]):
            found["steps"].append(run_step(number, step))
            Path(f"{JOB}/found.json").write_text(json.dumps(found))
        found["files"] = {
            name: path.read_text(errors="replace") for name in plan["files"] if (path := Path(name)).is_file()
        }
    except BaseException:
        found["error"] = traceback.format_exc()
    Path(f"{JOB}/found.json").write_text(json.dumps(found))
