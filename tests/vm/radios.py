"""Hosts with simulated radios inside the virtual machine, and mediumd between them.

Plain Python 3.11 of Debian 12: nothing of PaceLab is imported there. Each host is a network namespace with one radio in
an IBSS at a fixed legacy rate; sockets are opened inside the namespaces by this one process, so that one loop drives
all senders and receivers.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

MEDIUMD = Path(os.environ.get("MEDIUMD", Path(__file__).resolve().parents[2] / "medium/target/release/mediumd"))
CHANNEL_MHZ = {1: 2412, 6: 2437, 11: 2462, 36: 5180}
NEVER = 4294967295
PAYLOAD_BYTES = 1472  # with UDP, IP, LLC, MAC header and FCS: 1536 on the air
# About forty frames: a full buffer blocks the sender, so the daemon's queue of fifty does not fill. At 2 Mbit/s they
# last 0.3 s, as long as an emulated machine on a busy host may stand still.
SEND_BUFFER_BYTES = 100_000
_libc = ctypes.CDLL(None, use_errno=True)
_HOME = os.open("/proc/self/ns/net", os.O_RDONLY)


def sh(command: str, said: str = "") -> str:
    """Run a command with `said` as its input; return its output. A failure shows the output.

    A command that hangs is ended by the caller of the machine, in real time: a counted clock skips waits for the disk.
    """
    done = subprocess.run(["sh", "-c", command], input=said, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr.strip()}")
    return done.stdout


@contextlib.contextmanager
def inside(station: int) -> Iterator[None]:
    """Context manager: sockets and programs that are opened inside belong to the host's network.

    It replaces `ip netns exec`, which takes an emulated processor as long as two further commands.
    """
    there = os.open(f"/run/netns/h{station}", os.O_RDONLY)
    try:
        _enter(there)
        yield
    finally:
        _enter(_HOME)
        os.close(there)


def _enter(network: int) -> None:
    if _libc.setns(network, 0):
        raise OSError(ctypes.get_errno(), "setns")


def at(station: int, command: str, said: str = "") -> str:
    """Like `sh`, on a host."""
    with inside(station):
        return sh(command, said)


def mac(station: int) -> str:
    return f"02:00:00:00:{station:02x}:00"


def ip(station: int) -> str:
    return f"10.0.0.{station + 1}"


class Radios:
    """`count` hosts h0, h1, … with one radio each; a context manager."""

    def __init__(self, count: int, rate: str = "2", channels: dict[int, int] | None = None) -> None:
        self.count, self.rate, self.channels = count, rate, channels or {}

    def __enter__(self) -> "Radios":
        sh("rmmod mac80211_hwsim 2>/dev/null || true")
        sh(f"modprobe mac80211_hwsim radios={self.count}")
        by_mac = {(phy / "macaddress").read_text().strip(): phy.name for phy in Path("/sys/class/ieee80211").iterdir()}
        sh("ip -batch -", "".join(f"netns add h{station}\n" for station in range(self.count)))
        for station in range(self.count):
            phy = by_mac[mac(station)]
            device = next(Path(f"/sys/class/ieee80211/{phy}/device/net").iterdir()).name
            sh(f"iw phy {phy} set netns name h{station}")
            at(
                station,
                "set -e; for each in all default; do echo 1 >/proc/sys/net/ipv6/conf/$each/disable_ipv6; done;"
                f"iw dev {device} set type ibss; exec ip -batch -",
                f"link set lo up\nlink set {device} name wlan0\nlink set wlan0 up\n"
                f"addr add {ip(station)}/24 dev wlan0\n",
            )
        return self

    def join(self) -> None:
        """Join all radios to the IBSS. Call this when the medium is up, so that beacons pass through it.

        Beacons are due at multiples of their interval on one clock: beacons of hidden stations would collide every
        time.
        """
        for station in range(self.count):
            channel = CHANNEL_MHZ[self.channels.get(station, 1)]
            at(
                station,
                f"set -e; iw dev wlan0 ibss join lab {channel} fixed-freq 02:ca:fe:00:00:01 "
                f"beacon-interval {1000 + 7 * station} basic-rates {self.rate} mcast-rate {self.rate};"
                f"iw dev wlan0 set bitrates legacy-{5 if channel > 5000 else 2.4} {self.rate}; exec ip -batch -",
                "".join(
                    f"neigh replace {ip(other)} lladdr {mac(other)} dev wlan0 nud permanent\n"
                    for other in range(self.count)
                    if other != station
                ),
            )

    def __exit__(self, *_: object) -> None:
        sh("ip -batch -", "".join(f"netns delete h{station}\n" for station in range(self.count)))

    def socket(self, station: int) -> socket.socket:
        """A UDP socket of the host."""
        with inside(station):
            return socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)

    def saturate(
        self,
        pairs: list[tuple[int, int]],
        seconds: float = 6.0,
        warmup_s: float = 1.0,
        tos: tuple[int, ...] = (),
    ) -> list[float]:
        """Each pair's sender keeps its queue full; returns the received payload in bit/s. `tos`: IP's octet. Both per
        pair.
        """
        senders, receivers = {}, {}
        for number, (source, sink) in enumerate(pairs):
            receiver = self.socket(sink)
            receiver.bind((ip(sink), 5000 + number))
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            sender = self.socket(source)
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES // 2)  # the kernel doubles it
            if tos:
                sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos[number])
            sender.connect((ip(sink), 5000 + number))
            senders[sender], receivers[receiver] = number, number
        got = [0] * len(pairs)
        payload = bytes(PAYLOAD_BYTES)
        start = time.monotonic()
        try:
            while (now := time.monotonic()) < start + warmup_s + seconds:
                readable, writable, _ = select.select(list(receivers), list(senders), [], 0.1)
                for each in readable:
                    length = len(each.recv(2048))
                    if now >= start + warmup_s:
                        got[receivers[each]] += length
                for each in writable:
                    with contextlib.suppress(BlockingIOError, ConnectionError):
                        each.send(payload)
        finally:
            for each in [*senders, *receivers]:
                each.close()
        return [8 * octets / seconds for octets in got]

    def station_dump(self, station: int, peer: int) -> dict[str, int]:
        """The counters of `iw station dump` of one neighbour."""
        text = at(station, f"iw dev wlan0 station get {mac(peer)}")
        rows = (line.strip().split(":", 1) for line in text.splitlines()[1:] if ":" in line)
        return {key: int(value.split()[0]) for key, value in rows if value.split() and _is_integer(value.split()[0])}


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdigit()


class Medium:
    """mediumd with a JSON configuration; a context manager."""

    def __init__(self, radios: Radios, positions_m: list[tuple[float, float]], **radio: object) -> None:
        self.radios = radios
        stations = [
            {"name": f"h{i}", "position_m": list(place), "mac": mac(i), "hwsim": {"mac": mac(i)}}
            for i, place in enumerate(positions_m)
        ]
        settings = {
            "preset": "standard", "basic_rate_bps": 1_000_000, "data_rate_bps": 2_000_000,
            "rts_threshold_bytes": NEVER, "short_retry_limit": 7, "long_retry_limit": 4, "queue_pkts": 50,
            "mac_ack_rate": "basic", "propagation": {"kind": "two-ray", "capture_db": 10.0},
        }  # fmt: skip
        self.config = {"version": 1, "seed": 1, "stations": stations, "radio": settings | radio}

    def __enter__(self) -> "Medium":
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name)
        (path / "air.json").write_text(json.dumps(self.config))
        command = [str(MEDIUMD), "--config", str(path / "air.json"), "--socket", str(path / "socket")]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"mediumd ended with {self.process.wait()}")
        self.ready = json.loads(line)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10)
        self.socket.connect(str(path / "socket"))
        self.lines = self.socket.makefile("r")
        self.radios.join()
        time.sleep(2.5)  # beacons, so that the stations know each other
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(10)
        self.lines.close()
        self.socket.close()
        self.process.stdout.close()
        self.folder.cleanup()
        if code:
            raise RuntimeError(f"mediumd ended with {code}")

    def ask(self, method: str, **params: object) -> dict:
        """Send a request on the JSON socket; events before the answer are skipped."""
        self.socket.sendall((json.dumps({"id": 1, "method": method, "params": params}) + "\n").encode())
        while "event" in (answer := json.loads(self.lines.readline())):
            pass
        return answer["result"]
