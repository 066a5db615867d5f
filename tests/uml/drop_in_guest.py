"""The guest's side of test_drop_in.py: wmediumd, its status, and radios that only listen. Prints one line of JSON.

Three radios are in one IBSS, and a fourth has a monitor interface. A fifth is an access point on another channel, which
only beacons, and a sixth looks for it. The guest's own Python runs this, without PaceLab.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

MEDIUMD = "/code/mediumd"
CHANNEL_MHZ, OTHER_MHZ = 2412, 2437
SO_RCVBUFFORCE = 33
FRAMES = 40
CONFIG = """ifaces: {{ ids = [{ids}]; }};
model: {{ type = "path_loss"; positions = ({positions}); tx_powers = ({powers});
          model_name = "log_distance"; path_loss_exp = 3; xg = 0; }};
"""
PLACES = [(0, 0), (20, 0), (20, 20), (10, 5), (10, 10), (15, 10)]
IBSS, LISTENER, ACCESS_POINT, SEEKER = (0, 1, 2), 3, 4, 5
BEACON = "80000000ffffffffffff{mac}{mac}00000000000000000000640001000003617061010882848b960c121824030106"
"""A beacon of the network "apa" on channel 6, up to the element that the kernel writes itself."""
DATA, QOS_DATA, A_BEACON = 0x08, 0x88, 0x80


def sh(command: str) -> str:
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr.strip()}")
    return done.stdout


def mac(station: int) -> str:
    return f"02:00:00:00:{station:02x}:00"


def phys() -> dict[str, str]:
    """Radio by permanent address."""
    return {(phy / "macaddress").read_text().strip(): phy.name for phy in Path("/sys/class/ieee80211").iterdir()}


def start_stations(radios: dict[str, str]) -> None:
    """Give each host a radio. h0, h1 and h2 are in an IBSS."""
    for station in range(len(PLACES)):
        phy = radios[mac(station)]
        device = next(Path(f"/sys/class/ieee80211/{phy}/device/net").iterdir()).name
        sh(f"ip netns add h{station}; iw phy {phy} set netns name h{station}")
        inside = f"ip netns exec h{station}"
        sh(f"{inside} ip link set {device} name wlan0; {inside} ip link set lo up")
        if station in IBSS:
            sh(f"{inside} iw dev wlan0 set type ibss; {inside} ip link set wlan0 up")
            sh(f"{inside} ip addr add 10.0.0.{station + 1}/24 dev wlan0")
            sh(f"{inside} iw dev wlan0 ibss join lab {CHANNEL_MHZ} fixed-freq 02:ca:fe:00:00:01")


class Monitor:
    """A monitor interface beside a station's first one, and the unicast data frames that it hears."""

    def __init__(self, station: int, phy: str) -> None:
        self.inside = f"ip netns exec h{station}"
        sh(f"{self.inside} iw phy {phy} interface add mon0 type monitor")
        sh(f"{self.inside} ip link set mon0 up")
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/h{station}", os.O_RDONLY)
        setns(there)
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20)
        self.socket.bind(("mon0", 0))
        self.socket.setblocking(False)
        setns(home)
        os.close(home)
        os.close(there)

    def tune(self, mhz: int) -> None:
        sh(f"{self.inside} iw dev mon0 set freq {mhz}")

    def heard(self, sender: str) -> int:
        """Sequence numbers of unicast data frames of `sender` since the last call."""
        of_sender = (frame for frame in self._frames() if frame[10:16] == bytes.fromhex(sender.replace(":", "")))
        return len({frame[22:24] for frame in of_sender if frame[0] in (DATA, QOS_DATA) and not frame[4] & 1})

    def beacons(self) -> int:
        """Beacons of the access point since the last call."""
        address = bytes.fromhex(mac(ACCESS_POINT).replace(":", ""))
        return sum(frame[0] == A_BEACON and frame[10:16] == address for frame in self._frames())

    def _frames(self) -> list[bytes]:
        frames = []
        while select.select([self.socket], [], [], 0)[0]:
            packet = self.socket.recv(4096)
            frames.append(packet[int.from_bytes(packet[2:4], "little") :])
        return [frame for frame in frames if len(frame) >= 24]


def setns(there: int) -> None:
    import ctypes

    if ctypes.CDLL(None, use_errno=True).setns(there, 0):
        raise OSError("setns")


def ping(station: int, peer: int) -> int:
    """Number of answers to FRAMES pings."""
    said = sh(f"ip netns exec h{station} ping -n -i 0.05 -c {FRAMES} 10.0.0.{peer + 1} || true")
    return int(next(line for line in said.splitlines() if "received" in line).split(", ")[1].split()[0])


def start_access_point() -> None:
    inside = f"ip netns exec h{ACCESS_POINT}"
    sh(f"{inside} iw dev wlan0 set type __ap; {inside} ip link set wlan0 up")
    head = BEACON.format(mac=mac(ACCESS_POINT).replace(":", ""))
    sh(f"{inside} iw dev wlan0 ap start apa {OTHER_MHZ} 100 2 head {head}")


def finds(station: int, mhz: int, how: str) -> bool:
    """Whether a scan of one channel, `passive` or active, finds the access point."""
    said = sh(f"ip netns exec h{station} iw dev wlan0 scan flush freq {mhz} {how}")
    return f"BSS {mac(ACCESS_POINT)}" in said


def status() -> object:
    done = subprocess.run([MEDIUMD, "wmediumd", "--status", "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


def main(folder: str) -> dict[str, object]:
    found: dict[str, object] = {}
    radios = phys()
    count = len(PLACES)
    config = CONFIG.format(
        ids=", ".join(f'"{mac(station)}"' for station in range(count)),
        positions=", ".join(f"({x}.0, {y}.0, 0.0)" for x, y in PLACES),
        powers=", ".join(["14.0"] * count),
    )
    Path("/tmp/net.cfg").write_text(config)
    found["none"] = status()
    none = subprocess.run([MEDIUMD, "wmediumd", "--status"], capture_output=True, text=True, check=False)
    found["none_says"] = [none.returncode, none.stderr.strip()]
    with open("/tmp/log", "w") as log:
        command = [MEDIUMD, "wmediumd", "-c", "/tmp/net.cfg", "-p", f"{folder}/air.pcapng"]
        medium = subprocess.Popen(command, stdout=log, stderr=log)
    time.sleep(0.5)
    start_stations(radios)
    time.sleep(5)
    # Passive scans, by a radio that was silent so far and by one that last sent on another channel.
    start_access_point()
    time.sleep(1)
    sh(f"ip netns exec h{SEEKER} ip link set wlan0 up; ip netns exec h{LISTENER} ip link set wlan0 up")
    found["passive_scan_first"] = finds(SEEKER, OTHER_MHZ, "passive")
    found["active_scan_elsewhere"] = finds(SEEKER, CHANNEL_MHZ, "")
    found["passive_scan_after_active"] = finds(SEEKER, OTHER_MHZ, "passive")
    found["other_channel_first"] = finds(LISTENER, CHANNEL_MHZ, "")
    found["passive_scan_second"] = finds(LISTENER, OTHER_MHZ, "passive")
    sh(f"ip netns exec h{LISTENER} ip link set wlan0 down")
    # A sniffer next to the access point: first on its channel, then on the channel of the IBSS, then back.
    sniffer = Monitor(SEEKER, radios[mac(SEEKER)])
    sh(f"ip netns exec h{SEEKER} ip link set wlan0 down")
    found["beacons"] = []
    for mhz in (OTHER_MHZ, CHANNEL_MHZ, OTHER_MHZ):
        sniffer.tune(mhz)
        sniffer.heard(mac(0))
        time.sleep(2)
        found["beacons"].append(sniffer.beacons())
    sh(f"ip netns exec h{SEEKER} iw dev mon0 del")
    listener = Monitor(3, radios[mac(3)])
    listener.tune(CHANNEL_MHZ)
    time.sleep(2)  # wmediumd searches for monitors each second
    listener.heard(mac(0))
    found["pings"] = ping(0, 1)
    found["fresh_monitor"] = listener.heard(mac(0))
    # The radio scans another channel, so it sent there last. Then it listens on the first one again.
    inside = "ip netns exec h3"
    sh(f"{inside} iw dev mon0 del; {inside} ip link set wlan0 up; {inside} iw dev wlan0 scan freq {OTHER_MHZ}")
    sh(f"{inside} ip link set wlan0 down")
    listener = Monitor(3, radios[mac(3)])
    listener.tune(CHANNEL_MHZ)
    time.sleep(2)
    ping(0, 1)
    found["monitor_after_scan"] = listener.heard(mac(0))
    # A station of the IBSS with a monitor interface, which hears the frames between the two others.
    beside = Monitor(2, radios[mac(2)])
    time.sleep(2)
    ping(0, 1)
    found["monitor_beside_station"] = beside.heard(mac(0))
    sh("ip netns exec h2 iw dev mon0 del")
    found["status"] = status()
    found["status_says"] = sh(f"{MEDIUMD} wmediumd --status").splitlines()
    medium.send_signal(signal.SIGTERM)
    found["ended"] = medium.wait(10)
    found["log"] = Path("/tmp/log").read_text().splitlines()
    return found


def run_job(folder: str) -> None:
    """Called by the guest's first process."""
    os.environ["PATH"] = "/usr/sbin:/usr/bin"
    try:
        found = main(folder)
    except BaseException as error:
        found = {"error": f"{type(error).__name__}: {error}"}
    (Path(folder) / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    sys.exit("the guest's first process calls run_job")
