"""The guest's side of test_modes.py and measure_modes.py: TCP between two stations in several modes of Wi-Fi.

Settings: {"scenes": [...], "medium": [...], "hostapd": [...]}. A scene joins both stations, 5 m apart, to a network,
and one sends to the other. The guest's own Python runs this, without PaceLab.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MEDIUM = ["/code/mediumd", "wmediumd"]
CONFIG = """ifaces: { ids = ["02:00:00:00:00:00", "02:00:00:00:01:00"]; };
model: { type = "path_loss"; positions = ((0.0, 0.0, 0.0), (5.0, 0.0, 0.0)); tx_powers = (14.0, 14.0);
         model_name = "log_distance"; path_loss_exp = 3.0; xg = 0.0; };
"""
BSSID = "02:ca:fe:00:00:01"
SETTLING_S = 3


def sh(command: str) -> str:
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr.strip()}")
    return done.stdout


def set_country() -> None:
    """Load the database of countries, if the guest has one, and set the country that Mininet-WiFi sets."""
    if not Path("/code/regulatory.db").exists():
        return
    Path("/sys/module/firmware_class/parameters/path").write_text("/code")
    sh("iw reg reload; iw reg set US")
    time.sleep(1)


def inside(station: int, command: str) -> str:
    return sh(f"ip netns exec h{station} {command}")


def start_stations() -> None:
    radios = {(phy / "macaddress").read_text().strip(): phy.name for phy in Path("/sys/class/ieee80211").iterdir()}
    for station in (0, 1):
        phy = radios[f"02:00:00:00:{station:02x}:00"]
        device = next(Path(f"/sys/class/ieee80211/{phy}/device/net").iterdir()).name
        sh(f"ip netns add h{station}; iw phy {phy} set netns name h{station}")
        inside(station, f"ip link set {device} name wlan0")
        inside(station, "ip link set lo up")


KINDS = {"ibss": "ibss", "mesh": "mp", "ap": "managed"}
HOSTAPD = "interface=wlan0\ndriver=nl80211\nssid={ssid}\n"


def join(scene: dict[str, Any], ssid: str, hostapd: list[str]) -> subprocess.Popen[bytes] | None:
    """Join both stations to the network `ssid`, with {"rate": "ht-mcs-2.4 7"} at this rate.

    The networks are {"network": "ibss" or "mesh", "channel": "2412 HT20"} and {"network": "ap", "config": [...]}, where
    the second station is an access point with these lines for hostapd.
    """
    access_point = None
    for station in (1, 0):
        inside(station, "ip link set wlan0 down")
        inside(station, f"iw dev wlan0 set type {KINDS[scene['network']]}")
        inside(station, "ip link set wlan0 up")
        inside(station, f"ip addr replace 10.0.0.{station + 1}/24 dev wlan0")
        if scene["network"] == "mesh":
            inside(station, f"iw dev wlan0 mesh join {ssid} freq {scene['channel']}")
        elif scene["network"] == "ibss":
            inside(station, f"iw dev wlan0 ibss join {ssid} {scene['channel']} fixed-freq {BSSID}")
        elif station == 1:
            Path("/tmp/ap.conf").write_text(HOSTAPD.format(ssid=ssid) + "\n".join(scene["config"]) + "\n")
            with open("/tmp/ap.log", "w") as log:
                command = ["ip", "netns", "exec", "h1", *hostapd, "/tmp/ap.conf"]
                access_point = subprocess.Popen(command, stdout=log, stderr=log)
            time.sleep(SETTLING_S)
            inside(1, "ip addr replace 10.0.0.2/24 dev wlan0")
        else:
            inside(0, f"iw dev wlan0 connect -w {ssid}")
        if scene.get("rate"):
            inside(station, f"iw dev wlan0 set bitrates {scene['rate']}")
    time.sleep(SETTLING_S)
    inside(0, "ping -n -c 2 10.0.0.2 || true")
    return access_point


def leave(scene: dict[str, Any], access_point: subprocess.Popen[bytes] | None) -> None:
    if scene["network"] == "ap":
        inside(0, "iw dev wlan0 disconnect || true")
    for station in (0, 1):
        if scene.get("rate"):
            inside(station, "iw dev wlan0 set bitrates")
        if scene["network"] != "ap":
            inside(station, f"iw dev wlan0 {scene['network']} leave")
    if access_point is not None:
        access_point.terminate()
        access_point.wait(10)


def transfer(scene: dict[str, Any]) -> dict[str, Any]:
    """Goodput of `iperf3` in Mbit/s, the rate of the last frame, and the counters of the sender."""
    server = subprocess.Popen(["ip", "netns", "exec", "h1", "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    udp = f"-u -b {scene['udp_mbps']}M -l 1470" if "udp_mbps" in scene else ""
    amount = f"-n {scene['bytes']}" if "bytes" in scene else f"-t {scene['seconds']} -O 1"
    said = json.loads(inside(0, f"iperf3 -c 10.0.0.2 {amount} -J {udp} || true"))
    if "error" in said:
        server.kill()
    server.wait(20)
    if "error" in said:
        return {"error": said["error"]}
    end = said["end"]
    received = end["sum"] if udp else end["sum_received"]
    bps = received["bits_per_second"] * (1 - received.get("lost_percent", 0) / 100)
    dump = inside(0, "iw dev wlan0 station dump")
    counters = {name: int(value) for name, value in re.findall(r"(tx packets|tx retries|tx failed):\s+(\d+)", dump)}
    rate = re.search(r"tx bitrate:\s+(.*)", dump)
    return {"mbps": round(bps / 1e6, 2), "bitrate": rate.group(1) if rate else None, **counters}


def rate_table() -> str:
    """Minstrel's statistics at the sender, without rates that it never used."""
    for path in Path("/sys/kernel/debug/ieee80211").glob("*/netdev:wlan0/stations/02:00:00:00:01:00/rc_stats"):
        lines = path.read_text().splitlines()
        return "\n".join(line for line in lines if re.search(r"[1-9]\d*\s*$", line) or "MCS" not in line)
    return ""


def main(folder: str) -> dict[str, object]:
    settings = json.loads((Path(folder) / "settings.json").read_text())
    set_country()
    start_stations()
    Path("/tmp/net.cfg").write_text(CONFIG)
    medium = None
    if settings.get("medium", MEDIUM):
        options = ["-p", f"{folder}/air.pcapng"] if settings.get("capture") else []
        with open("/tmp/log", "w") as log:
            command = [*settings.get("medium", MEDIUM), "-c", "/tmp/net.cfg", *options]
            medium = subprocess.Popen(command, stdout=log, stderr=log)
        time.sleep(0.5)
    scenes = []
    for number, scene in enumerate(settings["scenes"]):
        access_point = join(scene, f"lab{number}", settings.get("hostapd", []))
        result = transfer(scene)
        if "error" in result and access_point is not None:
            result["hostapd"] = Path("/tmp/ap.log").read_text()[-1000:] + sh("dmesg | tail -20")
        scenes.append({**result, "rates": rate_table()})
        leave(scene, access_point)
    found: dict[str, object] = {"scenes": scenes, "country": sh("iw reg get").splitlines()[:2]}
    if medium is not None:
        used = os.sysconf("SC_CLK_TCK")
        times = Path(f"/proc/{medium.pid}/stat").read_text().rsplit(")", 1)[1].split()
        found["medium_cpu_s"] = (int(times[11]) + int(times[12])) / used
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
