"""mediumd as wmediumd: Mininet-WiFi's own file, command line and client, and invalid ones."""

import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from radios import MEDIUMD, PAYLOAD_BYTES, Radios, mac, sh

SOCKET = "/var/run/wmediumd.sock"


def config(places: list[tuple[float, float]], own: str = "", fading_db: int = 0) -> str:
    """The file of Mininet-WiFi's wmediumdConnector in interference mode; `own` goes into our group."""
    count = len(places)
    ids = ",\n".join(f'\t\t"{mac(i)}"' for i in range(count))
    spots = ",\n".join(f"\t\t({x:.1f}, {y:.1f}, 0.0)" for x, y in places)
    powers = ", ".join(["14"] * count)  # an integer, which stock wmediumd ignores
    return (
        f"ifaces:\n{{\n\tids = [\n{ids}\n\t];\n\n\tenable_interference = true;\n}};\nmodel:\n{{\n"
        f'\ttype = "path_loss";\n\tpositions = (\n{spots}\n\t);\n\tfading_coefficient = {fading_db};\n'
        f"\tnoise_threshold = -91;\n\tisnodeaps = ({', '.join(['0'] * count)});\n\ttx_powers = ({powers});\n"
        f'\tmodel_name = "log_distance";\n\tpath_loss_exp = 3.0;\n\txg = 0.0;\n}};\n{own}\n'
    )


def octets(address: str) -> bytes:
    return bytes.fromhex(address.replace(":", ""))


class WmediumdConnector:
    """Requests with the structs of Mininet-WiFi's client, which blocks on the exact size of each answer."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(5)
        self.socket.connect(SOCKET)

    def __enter__(self) -> "WmediumdConnector":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, form: str, answer_form: str, *values: object) -> int:
        """The result, which is the last octet."""
        self.socket.sendall(struct.pack("!" + form, *values))
        size = struct.calcsize("!" + answer_form)
        answer = b""
        while len(answer) < size:
            chunk = self.socket.recv(size - len(answer))
            if not chunk:
                raise ConnectionError("the medium closed the connection")
            answer += chunk
        return answer[-1]

    def position(self, station: int, x: float, y: float) -> int:
        return self.ask("B6s3f", "BB6s3fB", 13, octets(mac(station)), x, y, 0.0)


class Wmediumd:
    """The drop-in as `wmediumd`, first on PATH; a context manager."""

    def __init__(self, text: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        (self.path / "wmediumd").symlink_to(MEDIUMD)
        (self.path / "net.cfg").write_text(text)

    def __enter__(self) -> "Wmediumd":
        environment = os.environ | {"PATH": f"{self.path}:{os.environ['PATH']}"}
        command = ["wmediumd", "-l", "0", "-s", "-c", str(self.path / "net.cfg"), "-x", "signal_table_ieee80211ax"]
        self.process = subprocess.Popen(command, env=environment)
        time.sleep(1)  # as Mininet-WiFi does
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(10)
        self.folder.cleanup()


class DropIn(unittest.TestCase):
    def test_it_carries_frames_reuses_space_and_follows_the_client(self) -> None:
        places = [(0, 0), (20, 0), (2000, 0), (2020, 0)]
        with Radios(4) as radios, Wmediumd(config(places)) as medium:
            radios.join()
            time.sleep(2.5)
            (alone,) = radios.saturate([(0, 1)], 4)
            together = radios.saturate([(0, 1), (2, 3)], 4)
            with WmediumdConnector() as client:
                assert client.position(1, 3000.0, 0.0) == 0
                (gone,) = radios.saturate([(0, 1)], 2)
                assert client.position(1, 20.0, 0.0) == 0
                (back,) = radios.saturate([(0, 1)], 3)
            assert sh("pgrep -x wmediumd").split() == [str(medium.process.pid)]
            sh("pkill wmediumd")
            assert medium.process.wait(10) == 0
            assert not Path(SOCKET).exists()
        print(f"  drop-in, 2 Mbit/s, sinr: alone {alone:.0f}, together {[round(rate) for rate in together]}, "
              f"out of range {gone:.0f}, back {back:.0f}", flush=True)  # fmt: skip
        assert sum(together) >= 1.9 * alone
        assert gone == 0
        assert back > 0.9 * alone

    def test_frames_that_a_full_queue_refuses_have_not_failed(self) -> None:
        with Radios(2) as radios, Wmediumd(config([(0, 0), (20, 0)])):
            radios.join()
            time.sleep(2.5)
            # Four senders' buffers hold three times the capacity of the daemon's queue.
            rates = radios.saturate([(0, 1)] * 4, 1)
            counters = radios.station_dump(0, 1)
        print(f"  clean link, four senders: {sum(rates):.0f} bit/s, {counters}", flush=True)
        assert sum(rates) > 3e5
        assert counters["tx packets"] > 2 * 2 * sum(rates) / 8 / PAYLOAD_BYTES  # most frames were refused
        assert counters["tx failed"] == 0

    def test_a_station_at_five_gigahertz_is_heard_as_its_carrier_lets_it(self) -> None:
        # 14 dBm, two antennas of 5 dB, 20 m, 30 dB a decade: 24 - 40.10 - 39.03 = -55.1 dBm on channel 1;
        # 20 lg(5180 / 2412) = 6.64 dB less on channel 36
        sh("iw reg set US")
        heard = {}
        for channel in (1, 36):
            channels = dict.fromkeys(range(2), channel)
            with Radios(2, "6", channels) as radios, Wmediumd(config([(0, 0), (20, 0)])):
                radios.join()
                time.sleep(2.5)
                (rate,) = radios.saturate([(0, 1)], 2)
                heard[channel] = (radios.station_dump(1, 0)["signal"], rate)
        print(f"  signal and bit/s on channels 1 and 36: {heard}", flush=True)
        assert heard[1][0] == -55
        assert heard[36][0] == -61
        assert heard[36][1] > 1e6

    def test_fading_differs_from_frame_to_frame(self) -> None:
        spread = {}
        for fading_db in (0, 6):
            with Radios(2) as radios, Wmediumd(config([(0, 0), (20, 0)], fading_db=fading_db)):
                radios.join()
                time.sleep(2.5)
                signals = set()
                for _ in range(12):
                    radios.saturate([(0, 1)], 0.1, 0.0)
                    signals.add(radios.station_dump(1, 0)["signal"])
                spread[fading_db] = max(signals) - min(signals)
        print(f"  signal's range over 12 frames: {spread}", flush=True)
        assert spread[0] == 0
        assert 3 <= spread[6] <= 50

    def test_every_message_is_answered_and_bad_clients_do_no_harm(self) -> None:
        a, b, unknown = octets(mac(0)), octets(mac(1)), octets(mac(9))
        with Radios(2), Wmediumd(config([(0, 0), (20, 0)])):
            hanging = [socket.socket(socket.AF_UNIX) for _ in range(3)]
            for each in hanging:
                each.connect(SOCKET)
                each.sendall(b"\x0d\x02\x00")  # the rest never arrives
            noisy = socket.socket(socket.AF_UNIX)
            noisy.connect(SOCKET)
            noisy.sendall(b"\xc8" * 5000)
            with WmediumdConnector() as client:
                for expected, form, answer, values in [
                    (3, "B6s6si", "BB6s6siB", (1, a, b, 20)),  # SNR under a path loss law: wrong mode
                    (3, "B6s6si", "BB6s6siB", (9, a, b, 1 << 30)),
                    (3, "B6s6s144i", "B6s6sB", (11, a, b, *[0] * 144)),
                    (0, "B6s3f", "BB6s3fB", (13, a, 1.0, 2.0, 0.0)),
                    (1, "B6s3f", "BB6s3fB", (13, unknown, 1.0, 2.0, 0.0)),
                    (3, "B6s3f", "BB6s3fB", (13, a, float("nan"), 0.0, 0.0)),
                    (0, "B6si", "BB6siB", (15, a, 20)),
                    (0, "B6si", "BB6siB", (17, a, 5)),
                    (0, "B6si", "BB6siB", (19, a, 2)),
                    (0, "B6sf", "BB6sfB", (21, a, 1.5)),
                    (0, "B6si", "BB6siB", (23, a, 0)),
                    (2, "B6s", "BB6siB", (7, a)),
                    (0, "B6s", "BB6siB", (7, unknown)),
                    (0, "B6s", "BB6sB", (3, unknown)),
                    (1, "Bi", "BBiB", (5, 4711)),
                ]:
                    assert client.ask(form, answer, *values) == expected, values[0]
            for each in [*hanging, noisy]:
                each.close()

    def test_a_second_medium_and_a_bad_file_are_refused_with_one_line(self) -> None:
        good = config([(0, 0), (20, 0)])
        with Radios(2), Wmediumd(good) as medium:
            air = {"version": 1, "seed": 1, "radio": {
                "preset": "ns2", "basic_rate_bps": 1000000, "data_rate_bps": 2000000, "rts_threshold_bytes": 0,
                "short_retry_limit": 7, "long_retry_limit": 4, "queue_pkts": 50, "mac_ack_rate": "basic",
                "propagation": {"kind": "two-ray", "capture_db": 10.0}}, "stations": [
                    {"name": "h0", "position_m": [0, 0], "mac": mac(0), "hwsim": {"mac": mac(0)}}]}  # fmt: skip
            second = subprocess.run([MEDIUMD, "--config", "-"], input=json.dumps(air), capture_output=True, text=True)
            assert (second.returncode, second.stderr.count("\n")) == (3, 1)
            assert "another medium" in second.stderr
            (medium.path / "bad.cfg").write_text(good.replace("path_loss", "magic", 1))
            bad = subprocess.run(
                [medium.path / "wmediumd", "-c", medium.path / "bad.cfg"], capture_output=True, text=True
            )
            assert (bad.returncode, bad.stderr.count("\n")) == (2, 1)
            assert "model.type" in bad.stderr
            assert medium.process.poll() is None
        sh("rmmod mac80211_hwsim")
        third = subprocess.run([MEDIUMD, "--config", "-"], input=json.dumps(air), capture_output=True, text=True)
        assert (third.returncode, third.stderr.count("\n")) == (3, 1)
        assert "modprobe mac80211_hwsim" in third.stderr


if __name__ == "__main__":
    unittest.main()
