"""Measures the wmediumd on the PATH under Mininet-WiFi: how stations share the air, and the cost.

    sudo env PATH="$PWD/.venv/bin:$PATH" mininet-wifi-python bench/hosts/mininet_wifi.py [CASE ...] [--seconds 6]

This program runs in Mininet-WiFi's own environment (vm/provision/mininet-wifi.sh), so it imports nothing of PaceLab.
The stations are ad hoc, at 6 Mbit/s. The path loss is log-distance with exponent 4; transmit power and antenna gain
are Mininet-WiFi's 14 dBm and 5 dBi. The signal is 11 dB over noise at 40 m, and 1 dB at 70 m, where neither wmediumd
delivers frames. Each sender sends UDP datagrams of 1472 B without pause. The program prints one line of JSON per case:
payload in bit/s of each pair alone and of all pairs together, and the counters of `iw station dump`.
"""

import argparse
import contextlib
import ctypes
import json
import os
import select
import socket
import sys
import time
from pathlib import Path

try:
    from mininet.log import setLogLevel
    from mn_wifi.link import adhoc, wmediumd
    from mn_wifi.net import Mininet_wifi
    from mn_wifi.wmediumdConnector import interference
except ModuleNotFoundError as lacking:
    LACKS = lacking.name
else:
    LACKS = None

PAYLOAD_BYTES = 1472
PORT = 5000
SEND_BUFFER_BYTES = 100_000
"""About forty frames: a full buffer blocks the sender."""
SETTLE_S = 5.0
"""Time for beacons, so that the stations know each other."""

CASES = {
    # name: positions in m on a line; pairs (sender, receiver)
    "hidden": ([0, 40, 80], [(0, 1), (2, 1)]),
    "contention": ([0, 20, 40], [(0, 1), (2, 1)]),
    "exposed": ([0, 40, 100, 140], [(1, 0), (2, 3)]),
    "far": ([0, 40, 2000, 2040], [(0, 1), (2, 3)]),
    "twenty": ([200 * (i // 2) + 40 * (i % 2) for i in range(20)], [(i, i + 1) for i in range(0, 20, 2)]),
}
_libc = ctypes.CDLL(None, use_errno=True)


def build(places_m):
    """A network with a station at each position."""
    net = Mininet_wifi(link=wmediumd, wmediumd_mode=interference)
    stations = [net.addStation(f"sta{i + 1}", position=f"{x},0,0") for i, x in enumerate(places_m)]
    net.setPropagationModel(model="logDistance", exp=4)
    net.configureNodes()
    for station in stations:
        net.addLink(station, cls=adhoc, intf=f"{station.name}-wlan0", ssid="lab", mode="g", channel=5)
    net.build()
    for station in stations:
        station.cmd(f"iw dev {station.name}-wlan0 set bitrates legacy-2.4 6")
    time.sleep(SETTLE_S)
    return net, stations


def socket_of(station):
    """A UDP socket in the station's network namespace."""
    home, there = (os.open(f"/proc/{pid}/ns/net", os.O_RDONLY) for pid in ("self", station.pid))
    try:
        if _libc.setns(there, 0):
            raise OSError(ctypes.get_errno(), "setns")
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    finally:
        _libc.setns(home, 0)
        os.close(home)
        os.close(there)


def saturate(pairs, seconds, warmup_s=1.0):
    """Received payload in bit/s of each pair of stations whose senders never pause."""
    senders, receivers = {}, {}
    for number, (source, sink) in enumerate(pairs):
        receiver = socket_of(sink)
        receiver.bind((sink.IP(), PORT + number))
        sender = socket_of(source)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES // 2)  # the kernel doubles this value
        sender.connect((sink.IP(), PORT + number))
        senders[sender], receivers[receiver] = number, number
    got, payload = [0] * len(pairs), bytes(PAYLOAD_BYTES)
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
    return [round(8 * octets / seconds) for octets in got]


def retries(pairs):
    """Sum of the senders' `tx retries` towards their receivers."""
    total = 0
    for source, sink in pairs:
        dump = source.cmd(f"iw dev {source.name}-wlan0 station get {sink.wintfs[0].mac}")
        total += sum(int(line.split(":")[1]) for line in dump.splitlines() if "tx retries" in line)
    return total


def medium_cpu_s():
    """CPU time that all processes named wmediumd have used."""
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = stat.read_text().partition(") ")
            if name.endswith("(wmediumd"):
                total += sum(map(int, rest.split()[11:13])) / os.sysconf("SC_CLK_TCK")
    return total


def measure(name, seconds):
    """One case."""
    places_m, numbers = CASES[name]
    net, stations = build(places_m)
    try:
        pairs = [(stations[a], stations[b]) for a, b in numbers]
        for source, sink in pairs:
            source.cmd(f"ping -c 2 {sink.IP()}")  # fills the neighbour tables
        alone = [saturate([pair], seconds)[0] for pair in pairs[:2]]
        before, cpu_s = retries(pairs), medium_cpu_s()
        together = saturate(pairs, seconds)
        after, cpu_s = retries(pairs), medium_cpu_s() - cpu_s
    finally:
        net.stop()
    return {
        "case": name,
        "alone_bps": alone,
        "together_bps": together,
        "retries_alone": before,
        "retries_together": after - before,
        "frames_per_s": round(sum(together) / 8 / PAYLOAD_BYTES),
        "medium_cpu_s": round(cpu_s, 2),
    }


def main():
    """The cases named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], default=list(CASES))
    parser.add_argument("--seconds", type=float, default=6.0)
    options = parser.parse_args()
    if LACKS is not None:
        parser.error(f"this Python has no {LACKS}: run it as `mininet-wifi-python {sys.argv[0]}` (see --help)")
    setLogLevel("error")
    for name in options.cases:
        print(json.dumps(measure(name, options.seconds)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
