"""Measures mediumd against its targets: `sudo .venv/bin/python bench/hosts/mediumd.py [--frames N] [--only
load|memory|udp]`.

This program needs root rights, /dev/net/tun and the tools of `make test-linux`, whose test network it uses. Run it on
an idle machine; it also prints how late the machine's own sleeps end. Exit code 1 if a result misses its target, 3 if
this machine cannot run the measurement.

`mediumd.py send PKTS_PER_S SECONDS PAYLOAD_BYTES PID...` is the sending process.
"""

import argparse
import ctypes
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
for folder in ("tests/linux", "tests/conformance"):
    sys.path.append(str(ROOT / folder))

PAIRS = 25
PAIR_DISTANCE_M = 1400.0
LATENESS_TARGET_US, CPU_TARGET_US, UDP_TARGET = 60, 40, 0.05
RSS_GROWTH_TARGET_KIB = 256
LOAD_S = 30
MEMORY_PKTS_PER_S = 20_000
PAYLOAD_BYTES = 72
"""An IP packet of 100 bytes."""
DSSS = {"data_rate_bps": 11_000_000}
OFDM = {"phy": "802.11a", "basic_rate_bps": 6_000_000, "data_rate_bps": 54_000_000, "mac_ack_rate": "mandatory"}
LOADS = ((1_000, DSSS, None), (5_000, DSSS, CPU_TARGET_US), (20_000, OFDM, CPU_TARGET_US))
"""Frames/s of all stations together, a radio that carries them, and the maximum cost of a frame. At 1,000 frames/s each
frame has its own wake-ups, so there is no target."""


def main() -> int:
    """Measure; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=2_000_000, help="frames of the memory run (default 2000000)")
    parser.add_argument("--only", choices=("load", "memory", "udp"))
    options = parser.parse_args()
    from air_hosts import missing_for_mediumd
    from network import missing_for_namespaces

    if reason := missing_for_namespaces() or missing_for_mediumd():
        print(f"bench/hosts/mediumd: {reason}", file=sys.stderr)
        return 3
    print(f"load average at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    parts = {"load": load, "memory": lambda: memory(options.frames), "udp": udp}
    good = [part() for name, part in parts.items() if options.only in (None, name)]
    print("every measured target met" if all(good) else "a target was MISSED")
    return 0 if all(good) else 1


def load() -> bool:
    """50 stations in pairs that do not sense each other, under each of `LOADS`."""
    good = [loaded(*case) for case in LOADS]
    return all(good)


def loaded(pkts_per_s: int, radio, cpu_target_us: float | None) -> bool:
    """Measure the lateness of frames beside that of this machine's sleep, the cost of a frame, and losses."""
    air = make_pairs(**radio)
    before, sent, after = offer(air, pkts_per_s, LOAD_S)
    air.close()
    frames = after["frames"]["to_hosts"] - before["frames"]["to_hosts"]
    late, wake = after["lateness"]["delivery"], after["lateness"]["wakeup"]
    cpu_us = (after["process"]["cpu_s"] - before["process"]["cpu_s"]) / frames * 1e6
    offered = f"{2 * PAIRS} stations, {sent / LOAD_S:.0f} frames/s offered for {LOAD_S} s"
    print(f"{offered}, {frames} delivered, {after['fidelity']}")
    print(
        f"  sleeps of this machine end late: median {wake['p50_ns'] / 1e3:.0f} us, 99 % {wake['p99_ns'] / 1e3:.0f} us"
    )
    late_us, lost = late["p50_ns"] / 1e3, lost_outside(before, sent, after)
    return all(
        [
            met(f"median lateness {late_us:.0f} us (99 % {late['p99_ns'] / 1e3:.0f} us)", late_us, LATENESS_TARGET_US),
            met(f"CPU per frame {cpu_us:.1f} us, all of mediumd", cpu_us, cpu_target_us),
            met(f"{lost} frames lost outside the model", lost, 1),
        ]
    )


def memory(frames: int) -> bool:
    """Check whether memory grows with the same stations at 54 Mbit/s and 20,000 frames/s.

    Memory depends on the longest queues so far, so the queues are filled once before.
    """
    air = make_pairs(**OFDM)
    offer(air, 5 * MEMORY_PKTS_PER_S, 3)
    fullest = min(row["queue_max_pkts"] for row in air.stats()["stations"])
    print(f"warmed up: each queue has held {fullest} packets or more")
    before, sent, after = offer(air, MEMORY_PKTS_PER_S, frames / MEMORY_PKTS_PER_S)
    air.close()
    grown_kib = (after["process"]["rss_bytes"] - before["process"]["rss_bytes"]) / 1024
    rss_mib = after["process"]["rss_bytes"] / 2**20
    cpu_us = (after["process"]["cpu_s"] - before["process"]["cpu_s"]) / sent * 1e6
    print(f"{sent} frames at {MEMORY_PKTS_PER_S}/s: {rss_mib:.1f} MiB resident, {cpu_us:.1f} us of CPU a frame")
    print(f"  lost outside the model: {lost_outside(before, sent, after)}")
    return met(f"memory grew by {grown_kib:.0f} KiB", grown_kib, RSS_GROWTH_TARGET_KIB)


def udp() -> bool:
    """Saturated UDP of each 2 Mbit/s row of tests/data/ns2-cells.csv, on the air and in `sim`."""
    from air_hosts import NEVER_RTS, Air, saturated
    from references import cells

    good = []
    for case in (case for case in cells() if " 2 Mbit/s" in case.name):
        simulated_kbps = simulate(case)
        seconds = 60 if case.name == "hidden 2 Mbit/s RTS off" else 15  # few packets need a longer run
        radio = case.config["radio"]
        air = Air(
            [node["position_m"][0] for node in case.config["nodes"]],
            preset="ns2",
            propagation=radio["propagation"],
            rts_threshold_bytes=0 if "RTS on" in case.name else NEVER_RTS,
        )
        flows = [(flow["src"], flow["dst"]) for flow in case.config["flows"]]
        counts = saturated(air, flows, warmup_s=2, seconds=seconds)
        fidelity = air.stats()["fidelity"]
        air.close()
        kbps = sum(counts) * 1460 * 8 / seconds / 1e3
        off = abs(kbps / simulated_kbps - 1)
        text = (
            f"{case.name}: {kbps:.0f} kbit/s, sim {simulated_kbps:.0f} ({kbps / simulated_kbps - 1:+.1%}, {fidelity})"
        )
        good.append(met(text, off, UDP_TARGET))
    return all(good)


def simulate(case) -> float:
    """Mean sum of the flows over the case's seeds, kbit/s."""
    from air_case import measure

    return measure([case])[case.name].mean_kbps


def make_pairs(**radio):
    """Pairs of stations on a line. Different pairs are out of each other's range."""
    from air_hosts import Air

    return Air([pair * PAIR_DISTANCE_M + end * 100 for pair in range(PAIRS) for end in (0, 1)], **radio)


def offer(air, pkts_per_s: int, seconds: float):
    """Read statistics, let all stations send datagrams to their partners, and read statistics again."""
    pids = [str(host.pid) for host in air.hosts]
    before = air.stats()
    command = [sys.executable, __file__, "send", str(pkts_per_s), str(seconds), str(PAYLOAD_BYTES), *pids]
    sent = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    time.sleep(0.5)
    return before, sent, air.stats()


def lost_outside(before, sent: int, after) -> int:
    """Frames sent that neither arrived nor were dropped by the model."""
    arrived = after["frames"]["to_hosts"] - before["frames"]["to_hosts"]
    model = sum(after["drops"][cause] - before["drops"][cause] for cause in ("mac-rts", "mac-data", "queue"))
    return sent - arrived - model


def met(text: str, value: float, limit: float | None) -> bool:
    """Print a result with its target; return whether it meets the target. None: there is no target."""
    if limit is None:
        print(f"  {text}", flush=True)
        return True
    good = value < limit
    print(f"  {text}: target below {limit:g}{'' if good else '  MISSED'}", flush=True)
    return good


# Sends datagrams from many namespaces at once, and prints their number. Hosts 2k and 2k + 1 send to each other. One
# process sends all of them, so that context switches between senders do not count as mediumd's.

CLONE_NEWNET = 0x40000000
PORT = 9000


def sockets(pids: list[str]) -> list[socket.socket]:
    """A connected socket per host, and one that receives the datagrams there (and is never read)."""
    libc = ctypes.CDLL(None, use_errno=True)
    found = []
    for number, pid in enumerate(pids):
        with open(f"/proc/{pid}/ns/net", encoding="utf-8") as namespace:
            if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"entering the namespace of {pid}")
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sink.bind(("", PORT))
        out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        out.connect((f"10.0.0.{(number ^ 1) + 1}", PORT))
        found.append(out)
        sink.detach()
    return found


def send(arguments: list[str]) -> None:
    """Send at planned times. Datagrams that are due are sent at once, host by host."""
    pkts_per_s, seconds, payload_bytes = int(arguments[0]), float(arguments[1]), int(arguments[2])
    outs = sockets(arguments[3:])
    data, sent, total = os.urandom(payload_bytes), 0, round(pkts_per_s * seconds)
    start = time.monotonic()
    while sent < total:
        due = min(total, int((time.monotonic() - start) * pkts_per_s))
        for number in range(sent, due):
            outs[number % len(outs)].send(data)
        sent = due
        time.sleep(0.0005)
    print(sent)


if __name__ == "__main__":
    sys.exit(send(sys.argv[2:]) if sys.argv[1:2] == ["send"] else main())
