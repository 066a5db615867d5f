"""mediumd beside the stock wmediumd: the same radios, file and traffic, one after the other.

The stock program is the `wmediumd` on the PATH, or the one that STOCK_WMEDIUMD names. Skipped if there is none.
"""

import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from check_drop_in import config
from radios import MEDIUMD, PAYLOAD_BYTES, Radios

STOCK = os.environ.get("STOCK_WMEDIUMD") or shutil.which("wmediumd")
SECONDS = 4
RATE = "6"
PAIR_M, APART_M = 20, 2000
CLOCK_HZ = os.sysconf("SC_CLK_TCK")


def missing() -> str | None:
    """Why a comparison is impossible."""
    if STOCK is None:
        return "no stock wmediumd: build it (Mininet-WiFi's util/install.sh -l) and put it on the PATH"
    said = subprocess.run([STOCK, "-V"], capture_output=True, text=True)
    return f"{STOCK} is mediumd: STOCK_WMEDIUMD=FILE names the stock one" if "mediumd 0" in said.stdout else None


class Air:
    """One of the two programs as the medium; a context manager."""

    def __init__(self, program: str | Path, places: list[tuple[float, float]]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name)
        (path / "wmediumd").symlink_to(program)
        (path / "net.cfg").write_text(config(places).replace("14,", "14.0,").replace("14)", "14.0)"))
        self.command = [path / "wmediumd", "-l", "0", "-c", path / "net.cfg"]

    def __enter__(self) -> "Air":
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(10)
        self.folder.cleanup()

    def cpu_s(self) -> float:
        """Processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / CLOCK_HZ


def pairs(count: int) -> list[tuple[float, float]]:
    """Positions of pairs that are out of each other's range."""
    return [(APART_M * pair + PAIR_M * end, 0) for pair in range(count) for end in (0, 1)]


@unittest.skipIf(missing() is not None, str(missing()))
class SideBySide(unittest.TestCase):
    def measure(
        self, places: list[tuple[float, float]], flows: list[tuple[int, int]], rate: str
    ) -> dict[str, tuple[list[float], float, int]]:
        """For both: payload Mbit/s of each flow, the daemon's CPU s, and retries counted by the first
        sender's kernel.
        """
        found = {}
        for name, program in (("stock", STOCK), ("mediumd", MEDIUMD)):
            with Radios(len(places), rate) as radios, Air(program, places) as air:
                radios.join()
                time.sleep(2.5)
                before_s = air.cpu_s()
                rates = radios.saturate(flows, SECONDS)
                cpu_s = air.cpu_s() - before_s
                try:
                    retries = radios.station_dump(*flows[0])["tx retries"]
                except RuntimeError:  # it does not know the other one
                    retries = -1
            found[name] = ([round(each / 1e6, 2) for each in rates], cpu_s, retries)
        return found

    def test_pairs_out_of_reach_share_stocks_air_and_not_ours(self) -> None:
        alone = self.measure(pairs(2), [(0, 1)], RATE)
        together = self.measure(pairs(2), [(0, 1), (2, 3)], RATE)
        for name in ("stock", "mediumd"):
            print(f"  pairs 2 km apart, {name}: alone {alone[name][0]}, together {together[name][0]}", flush=True)
        assert sum(together["mediumd"][0]) >= 1.9 * alone["mediumd"][0][0]
        assert sum(together["stock"][0]) < 1.4 * alone["stock"][0][0]

    def test_hidden_stations_collide_in_ours_alone(self) -> None:
        # 30 dB per decade, 14 dBm: A and C, 80 m apart, hear each other below the noise, and B 17 dB above it.
        found = self.measure([(0, 0), (40, 0), (80, 0)], [(0, 1), (2, 1)], RATE)
        for name in ("stock", "mediumd"):
            print(f"  hidden, {name}: {found[name][0]}, retries {found[name][2]}", flush=True)
        assert found["stock"][2] < 20
        assert found["mediumd"][2] > 100

    def test_ten_pairs_get_at_least_stocks_frame_rate(self) -> None:
        found = self.measure(pairs(10), [(2 * pair, 2 * pair + 1) for pair in range(10)], "11")
        rate = {}
        for name, (rates, cpu_s, _) in found.items():
            rate[name] = sum(rates) * 1e6 / 8 / PAYLOAD_BYTES
            each_us = 1e6 * cpu_s / rate[name] / (SECONDS + 1)  # including the warm-up
            print(
                f"  ten pairs at 11 Mbit/s, {name}: {rate[name]:.0f} frames/s, {each_us:.0f} us of CPU each", flush=True
            )
        assert rate["mediumd"] >= rate["stock"]


if __name__ == "__main__":
    unittest.main()
