"""Linux's Wi-Fi over mediumd: carrier sense and reuse, which stock wmediumd lacks; access points, mesh, a
lost medium.
"""

import select
import socket
import subprocess
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path

from radios import CHANNEL_MHZ, NEVER, Medium, Radios, at, inside, ip, mac

# The real Wi-Fi stack over mediumd: carrier sense, hidden stations and reuse, which stock wmediumd lacks.

# Standard, 802.11b: DIFS 50, 15.5 slots of 20, preamble 192 + 1536 * 8 / 2, SIFS 10, ACK 304 (us), 2 x 0.67 of
# propagation.
LONE_BPS = 1472 * 8 / 7011.3e-6
# A station 400 m away is not sensed.
HIDDEN = {"kind": "range", "decode_m": 250.0, "sense_m": 390.0, "capture_db": 10.0}


def told(what: str, **numbers: object) -> None:
    print(f"  {what}: " + ", ".join(f"{key} {value}" for key, value in numbers.items()), flush=True)


class Air(unittest.TestCase):
    def test_a_lone_link_reaches_the_closed_form(self) -> None:
        with Radios(2) as radios, Medium(radios, [(0, 0), (200, 0)]) as medium:
            (rate,) = radios.saturate([(0, 1)], 10)
            stats = medium.ask("stats")
        told(
            "alone",
            bps=round(rate),
            of_closed_form=round(rate / LONE_BPS, 3),
            fidelity=stats["fidelity"],
            late_us=[round((stats["lateness"]["delivery"][key] or 0) / 1000) for key in ("p50_ns", "p99_ns")],
        )
        assert abs(rate / LONE_BPS - 1) <= 0.03

    def test_pairs_two_kilometres_apart_do_not_share(self) -> None:
        places = [(0, 0), (200, 0), (2000, 0), (2200, 0)]
        with Radios(4) as radios, Medium(radios, places):
            (alone,) = radios.saturate([(0, 1)])
            together = radios.saturate([(0, 1), (2, 3)])
        told(
            "2 km apart",
            alone=round(alone),
            together=[round(rate) for rate in together],
            ratio=round(sum(together) / alone, 2),
        )
        assert sum(together) >= 1.9 * alone

    def test_hidden_senders_collide_without_rts_and_the_kernel_counts_retries(self) -> None:
        with Radios(3) as radios, Medium(radios, [(0, 0), (200, 0), (400, 0)], propagation=HIDDEN) as medium:
            (alone,) = radios.saturate([(0, 1)])
            before = radios.station_dump(0, 1)
            off = radios.saturate([(0, 1), (2, 1)])
            after = radios.station_dump(0, 1)
            medium.ask("set_rts_threshold", bytes=0)
            radios.saturate([(0, 1)], 2.0)  # remove what was queued without RTS
            on = radios.saturate([(0, 1), (2, 1)])
            (alone_rts,) = radios.saturate([(0, 1)])
            medium.ask("set_rts_threshold", bytes=NEVER)
        told(
            "hidden",
            alone=round(alone),
            off=[round(rate) for rate in off],
            on=[round(rate) for rate in on],
            alone_with_rts=round(alone_rts),
            retries_alone=before["tx retries"],
            retries=after["tx retries"] - before["tx retries"],
            failed=after["tx failed"] - before["tx failed"],
        )
        assert sum(off) <= 0.25 * alone
        assert sum(on) >= 0.9 * alone_rts
        assert before["tx retries"] < 20
        assert after["tx retries"] - before["tx retries"] > 100

    def test_channels_do_not_interact(self) -> None:
        places = [(0, 0), (200, 0), (0, 100), (200, 100)]
        with Radios(4, channels={2: 11, 3: 11}) as radios, Medium(radios, places):
            (alone,) = radios.saturate([(0, 1)], 4)
            together = radios.saturate([(0, 1), (2, 3)], 4)
        told("channels 1 and 11", alone=round(alone), together=[round(rate) for rate in together])
        assert sum(together) >= 1.9 * alone

    def test_an_exposed_sender_defers(self) -> None:
        # h1 sends to h0, h2 to h3; the senders sense each other although neither's receiver hears the other.
        places = [(0, 0), (200, 0), (500, 0), (700, 0)]
        with Radios(4) as radios, Medium(radios, places) as medium:
            (alone,) = radios.saturate([(1, 0)], 4)
            together = radios.saturate([(1, 0), (2, 3)], 4)
            rows = {row["name"]: row for row in medium.ask("stats")["stations"]}
        told(
            "exposed",
            alone=round(alone),
            together=[round(rate) for rate in together],
            retries=[rows[name]["retries"] for name in ("h1", "h2")],
        )
        assert sum(together) < 1.2 * alone

    def test_twenty_stations(self) -> None:
        # Ten pairs 600 m apart: no pair senses another.
        places = [(600 * (i // 2) + 100 * (i % 2), 0) for i in range(20)]
        with Radios(20) as radios, Medium(radios, places) as medium:
            rates = radios.saturate([(i, i + 1) for i in range(0, 20, 2)], 4)
            stats = medium.ask("stats")
        told(
            "20 stations",
            sum_bps=round(sum(rates)),
            least=round(min(rates)),
            fidelity=stats["fidelity"],
            frames_per_s=round(sum(rates) / 8 / 1472),
        )
        assert min(rates) > 0


# Features of Linux's Wi-Fi besides ad hoc networks over mediumd: access points, mesh, categories, a lost medium.

LINE = [(0, 0), (200, 0), (400, 0)]
FROM_THE_MIDDLE = [LINE[1], LINE[0], LINE[2]]
# A station 400 m away is neither decoded nor sensed.
NETLINK_ROUTE, NETLINK_GENERIC = 0, 16


def until(true: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.2)
    return False


def answers(source: int, sink: int, count: int = 5) -> int:
    """Number of answered pings out of `count`."""
    text = at(source, f"ping -i 0.2 -W 1 -c {count} {ip(sink)} || true")
    return next(int(line.split()[3]) for line in text.splitlines() if "packets transmitted" in line)


class Infrastructure(Radios):
    """h0 is an access point with the others as stations. No station knows a neighbour's address beforehand."""

    def __init__(self, count: int, secured: bool) -> None:
        super().__init__(count)
        self.secured = secured
        self.programs: list[subprocess.Popen] = []

    def join(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name)
        security = "wpa=2\nwpa_key_mgmt=WPA-PSK\nrsn_pairwise=CCMP\nwpa_passphrase=measured\n" if self.secured else ""
        (path / "hostapd").write_text(f"interface=wlan0\nssid=lab\nhw_mode=g\nchannel=1\n{security}")
        (path / "supplicant").write_text('network={\n ssid="lab"\n psk="measured"\n scan_freq=2412\n}\n')
        for station in range(self.count):
            at(station, "ip link set wlan0 down; iw dev wlan0 set type managed; ip link set wlan0 up")
        self._start(0, f"hostapd {path}/hostapd")
        for station in range(1, self.count):
            if self.secured:
                self._start(station, f"wpa_supplicant -D nl80211 -i wlan0 -c {path}/supplicant")

    def _start(self, station: int, command: str) -> None:
        with inside(station):
            self.programs.append(subprocess.Popen(command.split(), stdout=subprocess.DEVNULL))

    def are_authorized(self) -> bool:
        """Whether all stations are authorized. Asks unauthorized stations of an open network to connect."""
        for station in range(1, self.count):
            if not self.secured and "Not connected" in at(station, "iw dev wlan0 link"):
                at(station, "iw dev wlan0 connect lab 2412 || true")
                time.sleep(1)
        dump = at(0, "iw dev wlan0 station dump")
        return dump.count("authorized:\tyes") == self.count - 1

    def __exit__(self, *error: object) -> None:
        for program in self.programs:
            program.terminate()
            program.wait(10)
        self.folder.cleanup()
        super().__exit__(*error)


class Mesh(Radios):
    """All hosts are stations of one 802.11s mesh."""

    def join(self) -> None:
        for station in range(self.count):
            at(
                station,
                "ip link set wlan0 down; iw dev wlan0 set type mp; ip link set wlan0 up;"
                f"iw dev wlan0 mesh join lab freq {CHANNEL_MHZ[1]} basic-rates 2 mcast-rate 2 beacon-interval 500",
            )


def port_of(process: int) -> int:
    """Number of the generic netlink socket of a process."""
    own = {link.readlink().name for link in Path(f"/proc/{process}/fd").iterdir()}
    for line in Path("/proc/net/netlink").read_text().splitlines()[1:]:
        _, protocol, port, *_, inode = line.split()
        if int(protocol) == NETLINK_GENERIC and f"socket:[{inode}]" in own:
            return int(port)
    raise AssertionError("no such socket")


def end_registration(process: int) -> None:
    """hwsim treats the end of any netlink socket with its medium's port as the medium's end."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_ROUTE) as other:
        other.bind((port_of(process), 0))


class Modes(unittest.TestCase):
    def test_an_open_access_point_joins_stations_that_do_not_hear_each_other(self) -> None:
        # h1 - h0 - h2, 200 m each: beacons, scan, authentication, association; ARP is broadcast and forwarded.
        with (
            Infrastructure(3, secured=False) as radios,
            Medium(radios, FROM_THE_MIDDLE, propagation=HIDDEN),
        ):
            assert until(radios.are_authorized, 30)
            link = at(1, "iw dev wlan0 link")
            got = answers(1, 2)
        told("open access point", pings=got)
        assert f"Connected to {mac(0)}" in link
        assert got == 5

    def test_keys_are_agreed_on_with_an_access_point(self) -> None:
        with Infrastructure(3, secured=True) as radios, Medium(radios, FROM_THE_MIDDLE, propagation=HIDDEN):
            assert until(radios.are_authorized, 40)
            got = answers(1, 2)
        told("WPA2", pings=got)
        assert got == 5

    def test_a_mesh_finds_its_way_over_two_hops(self) -> None:
        with Mesh(3) as radios, Medium(radios, LINE, propagation=HIDDEN):
            assert until(lambda: answers(0, 2, 1) == 1, 30)
            got = answers(0, 2)
            path = next(line for line in at(0, "iw dev wlan0 mpath dump").splitlines() if line.startswith(mac(2)))
        told("mesh", pings=got, path=path.split()[:2])
        assert got == 5
        assert path.split()[1] == mac(1)

    def test_categories_share_as_edca_requires(self) -> None:
        # All stations hear each other equally well, so no frame survives a collision. With AIFS 2 and CWmin 7 against 3
        # and 31, the voice sender gets nearly all of the air.
        places = [(0, 0), (200, 0), (100, 173)]
        with Radios(3) as radios, Medium(radios, places, edca=True):
            same = radios.saturate([(0, 1), (2, 1)], 8, tos=(0, 0))
            voice, best_effort = radios.saturate([(0, 1), (2, 1)], 4, tos=(0xC0, 0))
        told("EDCA", both_best_effort=list(map(round, same)), voice=round(voice), best_effort=round(best_effort))
        assert 0.8 < same[0] / same[1] < 1.25
        assert voice > 3 * best_effort

    def test_a_lost_registration_is_regained(self) -> None:
        with Radios(2) as radios, Medium(radios, LINE[:2]) as medium:
            process = medium.process.pid
            assert port_of(process) > 1 << 22  # no port that the kernel assigns
            assert is_the_medium(medium)
            end_registration(process)
            assert until(lambda: is_the_medium(medium), 10)
            other = subprocess.Popen(["python3", "-B", "-c", OTHER_MEDIUM], stdout=subprocess.PIPE, bufsize=0)
            assert other.stdout.readline() == b"asking\n"
            for _ in range(10):  # both register: sometimes mediumd is first
                end_registration(process)
                if select.select([other.stdout], [], [], 2)[0]:
                    break
            else:
                other.kill()
                self.fail("the other one never got it")
            assert other.stdout.readline() == b"registered\n"
            time.sleep(3)  # the other one keeps the registration
            assert other.poll() is None
            assert answers(0, 1, 2) == 0
            other.kill()
            other.wait()
            other.stdout.close()
            assert until(lambda: is_the_medium(medium), 10)


def is_the_medium(medium: Medium) -> bool:
    """Whether it is the active medium: without a medium all radios hear each other; with an idle one none does."""
    medium.ask("set_ranges", decode_m=100.0, sense_m=100.0)
    apart = answers(0, 1, 2)
    medium.ask("set_ranges", decode_m=250.0, sense_m=550.0)
    return (apart, answers(0, 1, 2)) == (0, 2)


# Registers as soon as possible, and then delivers nothing.
OTHER_MEDIUM = """
import socket, struct, time
link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
def ask(family, command, rest=b""):
    link.send(struct.pack("=IHHIIBBH", 20 + len(rest), family, 5, 1, 0, command, 1, 0) + rest)
    return link.recv(65536)
answer = ask(16, 3, struct.pack("=HH16s", 20, 2, b"MAC80211_HWSIM"))
at = answer.index(struct.pack("=HH", 6, 1))
family = struct.unpack_from("=H", answer, at + 4)[0]
link.recv(65536)
print("asking", flush=True)
while struct.unpack_from("=i", ask(family, 1), 16)[0]:
    time.sleep(0.05)
print("registered", flush=True)
time.sleep(60)
"""


if __name__ == "__main__":
    unittest.main()
