"""Starts Open vSwitch in a separate folder, independent of the system's Open vSwitch.

It uses the kernel's datapath if the kernel has one, else the user-space datapath, which needs no kernel module.

Voice: each port with a known rate gets HTB with two queues, 0 for all packets and 1 for voice. The kernel's datapath
puts a packet into the queue that its rule names. The user-space datapath does not pass the queue on to the kernel's
HTB, so a filter on the DSCP selects the queue there; the same rules set the DSCP (measured in docs/controller.md).
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from pacelab_controller.errors import ControllerError

PROGRAMS = ("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl")
INSTALL_OVS = "apt-get install --no-install-recommends openvswitch-switch"
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
READY_S = 20.0
SAFE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
VOICE_TOS = (0xC0, 0xB8, 0xB0)
"""CS6, EF and VOICE-ADMIT."""
SHAPED = 0.98
"""Share of a wire's rate: packets must wait here, where voice can overtake them, not in the wire's queue."""
VOICE_SHARE = 0.5
"""Share of a wire's rate that is guaranteed for voice; voice may use all free capacity."""


def missing() -> str | None:
    """What is missing, and the command that installs it; None if nothing is missing."""
    for program in PROGRAMS:
        if shutil.which(program, path=SAFE_PATH) is None:
            return f"{program} is not installed; install it: {INSTALL_OVS}"
    return None if SCHEMA.is_file() else f"{SCHEMA} does not exist; install it: {INSTALL_OVS}"


class OpenVSwitch:
    """A running Open vSwitch. Its processes end at the latest with the process that started them."""

    def __init__(self, folder: Path, *, prefix: Sequence[str] = ()) -> None:
        """`prefix`: a command line that runs a command where the ports are, for example `nsenter --net=...`."""
        if problem := missing():
            raise ControllerError(problem)
        self.folder, self._prefix = folder, list(prefix)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._environment = {
            "PATH": SAFE_PATH,
            "OVS_RUNDIR": str(folder),
            "OVS_LOGDIR": str(folder),
            "OVS_DBDIR": str(folder),
            "OVS_SYSCONFDIR": str(folder),
        }
        self._database = f"unix:{folder}/db.sock"
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        database = self.folder / "conf.db"
        self._run("ovsdb-tool", "create", str(database), str(SCHEMA))
        self._spawn("ovsdb-server", str(database), f"--remote=p{self._database}")
        self._await((self.folder / "db.sock").exists, "ovsdb-server")
        self._run("ovs-vsctl", f"--db={self._database}", "--no-wait", "init")
        self._spawn("ovs-vswitchd", self._database)
        self._vsctl("wait-until", "Open_vSwitch", ".", "datapath_types!=[]")  # it is ready
        self.datapath = self._choose_datapath()

    def add_bridge(self, name: str, *, dpid: int, controller: str) -> None:
        """Add a switch that uses OpenFlow 1.3 with the controller at "tcp:ADDRESS:PORT".

        Without the controller it keeps its rules (fail mode "secure").
        """
        self._vsctl(
            *("add-br", name, "--", "set", "bridge", name),
            f"datapath_type={self.datapath}",
            "protocols=OpenFlow13",
            "fail_mode=secure",
            f"other-config:datapath-id={dpid:016x}",
            "other-config:disable-in-band=true",
            *("--", "set-controller", name, controller),
            *("--", "set", "controller", name, "max_backoff=1000", "inactivity_probe=5000"),
        )

    def add_port(self, bridge: str, device: str, *, number: int, rate_bps: int | None = None) -> None:
        """Add an interface as port `number`; with a rate it gets queues."""
        self._vsctl(
            *("add-port", bridge, device, "--", "set", "interface", device, f"ofport_request={number}"),
        )
        if rate_bps is not None:
            self._add_queues(device, round(SHAPED * rate_bps))

    def _add_queues(self, device: str, rate_bps: int) -> None:
        self._vsctl(
            *("set", "port", device, "qos=@q"),
            *("--", "--id=@q", "create", "qos", "type=linux-htb", f"other-config:max-rate={rate_bps}"),
            *("queues:0=@all", "queues:1=@voice"),
            *("--", "--id=@all", "create", "queue", f"other-config:max-rate={rate_bps}"),
            *("other-config:priority=1",),
            *("--", "--id=@voice", "create", "queue", f"other-config:max-rate={rate_bps}"),
            *("other-config:priority=0", f"other-config:min-rate={round(VOICE_SHARE * rate_bps)}"),
        )
        if self.datapath == "netdev":
            for tos in VOICE_TOS:
                match = ["u32", "match", "ip", "tos", f"{tos:#x}", "0xfc", "flowid", "1:2"]
                self._run("tc", "filter", "add", "dev", device, "parent", "1:", "protocol", "ip", *match, inside=True)

    def bridge_ports(self, bridge: str) -> list[str]:
        """The names of a bridge's ports."""
        return self._vsctl("list-ports", bridge).split()

    def rules(self, bridge: str) -> list[str]:
        """The table of a bridge, one line per rule."""
        target = f"unix:{self.folder}/{bridge}.mgmt"
        text = self._run("ovs-ofctl", "-O", "OpenFlow13", "dump-flows", target)
        return [line.strip() for line in text.splitlines() if "cookie=" in line]

    def close(self) -> None:
        """End all its processes."""
        for process in reversed(self._processes.values()):
            if process.poll() is None:
                process.terminate()
        for process in self._processes.values():
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes = {}

    def ended(self) -> tuple[str, str] | None:
        """A program that has ended, and how."""
        for program, process in self._processes.items():
            if (code := process.poll()) is not None:
                return program, f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return None

    def _choose_datapath(self) -> str:
        """The kernel's datapath if it works, tried on a temporary bridge; else the one in user space."""
        text = self._run("ovs-vsctl", f"--db={self._database}", "get", "Open_vSwitch", ".", "datapath_types")
        if "system" not in text:
            return "netdev"
        probe = "pl-probe"
        self._vsctl("add-br", probe, "--", "set", "bridge", probe, "datapath_type=system")
        trouble = self._run("ovs-vsctl", f"--db={self._database}", "get", "interface", probe, "error").strip()
        works = (
            trouble == "[]"
            and self._run("ovs-vsctl", f"--db={self._database}", "get", "interface", probe, "ofport")
            .strip()
            .isdecimal()
        )
        self._vsctl("del-br", probe)
        return "system" if works else "netdev"

    def _vsctl(self, *arguments: str) -> str:
        return self._run("ovs-vsctl", f"--db={self._database}", f"--timeout={READY_S:g}", *arguments)

    def _run(self, *command: str, inside: bool = False) -> str:
        line = [*self._prefix, *command] if inside else list(command)
        done = subprocess.run(line, capture_output=True, text=True, env=self._environment, check=False)
        if done.returncode != 0:
            raise ControllerError(f"Open vSwitch: {' '.join(command[:6])}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def _spawn(self, program: str, *arguments: str) -> None:
        log = self.folder / f"{program}.log"
        command = [
            *self._prefix,
            program,
            *arguments,
            "--no-chdir",
            "-vconsole:off",
            f"--log-file={log}",
            "-vfile:info",
        ]
        self._processes[program] = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self._environment,
            start_new_session=True,
        )

    def _await(self, ready: object, what: str) -> None:
        assert callable(ready)
        until = time.monotonic() + READY_S
        while not ready():
            if time.monotonic() > until or self.ended():
                raise ControllerError(f"Open vSwitch: {what} does not start; see its log in {self.folder}")
            time.sleep(0.02)
