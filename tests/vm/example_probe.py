"""Asks any Mininet-WiFi network the same questions, inside its process: its command line calls `probe`."""

import json
import subprocess
import sys
import time
from pathlib import Path

# An emulated machine needs time to associate.
SETTLE_S, TIMEOUT_S = 5, 40
# No access points: their address belongs to the machine.
KINDS = ("stations", "cars", "aircrafts", "satellites", "sensors", "hosts")
COUNTERS = ("tx packets", "tx retries", "tx failed")
SINK = """
import socket
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); link.bind(("", 5005)); link.settimeout(10)
got = 0
try:
    while True:
        got += len(link.recv(2048)); link.settimeout(2)
except OSError: pass
print(got * 8 / 4 / 1000)
"""
SOURCE = """
import socket, sys, time
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
began = time.monotonic()
for number in range(500):  # of 1000 octets in 4 s
    time.sleep(max(0, began + number * 0.008 - time.monotonic()))
    try: link.sendto(bytes(1000), (sys.argv[1], 5005))
    except OSError: pass
"""


def probe(net, path):
    """Write to `path` whether a wmediumd runs, and the results of a ping and a UDP stream between the first two
    stations.
    """
    nodes = list(dict.fromkeys(node for kind in KINDS for node in getattr(net, kind, [])))
    nodes = [node for node in nodes if node.IP()][:2]
    running = subprocess.run(["pgrep", "-x", "wmediumd"], capture_output=True, text=True).stdout.split()
    found = {"wmediumd": len(running), "pair": [node.name for node in nodes]}
    if len(nodes) == 2:
        time.sleep(SETTLE_S)
        until = time.monotonic() + TIMEOUT_S
        while time.monotonic() < until and " 0 received" in nodes[0].cmd("ping -c 1 -W 2 " + nodes[1].IP()):
            time.sleep(1)
        found |= between(*nodes)
    Path(path).write_text(json.dumps(found))


def between(a, b):
    """Ping and stream from `a` to `b`."""
    pinged = a.cmd("ping -c 6 -i 0.5 -W 2 " + b.IP())
    sink = b.popen([sys.executable, "-c", SINK], stdout=subprocess.PIPE, text=True)
    time.sleep(1.5)
    before = dump(a)
    a.popen([sys.executable, "-c", SOURCE, b.IP()]).wait(60)
    kbps = float(sink.communicate(timeout=60)[0] or 0)
    after = dump(a)
    return {
        "channel": channel(a),
        "ping": next((line for line in pinged.splitlines() if "received" in line), pinged.strip()[-100:]),
        "rtt": next((line.split("=")[1].split("/")[1] for line in pinged.splitlines() if "rtt" in line), None),
        "kbps": kbps,
        "counters": {key: after[key] - before.get(key, 0) for key in after},
    }


def channel(node):
    """Channel of its first interface in MHz; empty if unknown."""
    words = node.cmd(f"iw dev {node.name}-wlan0 info").replace("(", " ").split()
    return words[words.index("MHz),") - 1] if "MHz)," in words else ""


def dump(node):
    """The counters of its first interface, summed over all neighbours."""
    sums = {}
    for line in node.cmd(f"iw dev {node.name}-wlan0 station dump").splitlines():
        key, _, value = line.strip().partition(":")
        if key in COUNTERS:
            sums[key] = sums.get(key, 0) + int(value)
    return sums
