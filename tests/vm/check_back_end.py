"""The back end hwsim for a student in the virtual machine: `pacelab doctor`, `run`, `compare`; its controller.

Its finer tests need pytest and a punctual machine: tests/linux/test_hwsim.py.
"""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

LAB = Path(__file__).resolve().parents[2]
PACELAB = [sys.executable, "-B", "-m", "pacelab"]
RADIOS = Path("/sys/devices/virtual/mac80211_hwsim")
# ns-2's radio, 2 Mbit/s, RTS off, 1460 bytes: tests/linux/test_hwsim.py has the sum.
LONE_BPS = 1460 * 8 / 6961.3e-6

# Out of range from 3.5 to 8.5 s.
AWAY = """
version: 1
name: away
description: a station walks out of reach and back
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: sink, at: [0 m, 0 m]}
  - {name: walker, at: [200 m, 0 m]}
flows: [{from: walker, to: sink}]
mobility:
  area: [500 m, 100 m]
  waypoints:
    - {node: walker, at: 3 s, to: [200 m, 0 m]}
    - {node: walker, at: 5 s, to: [400 m, 0 m]}
    - {node: walker, at: 7 s, to: [400 m, 0 m]}
    - {node: walker, at: 9 s, to: [200 m, 0 m]}
defaults: {routing: batman-adv, rate: 2, seconds: 16, traffic: cbr}
"""


def pacelab(*arguments: str) -> str:
    """The output of a command. A failure shows the output."""
    done = subprocess.run([*PACELAB, *arguments], cwd=LAB, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def radios() -> set[str]:
    """The radios of all network namespaces."""
    return {radio.name for radio in RADIOS.glob("hwsim*")}


class BackEnd(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = ("--out", str(Path(self.folder.name) / "run"))

    def test_1_doctor_finds_it(self) -> None:
        features = {feature["name"]: feature for feature in json.loads(pacelab("doctor", "--json"))["features"]}
        assert features["back end hwsim"]["present"], features["back end hwsim"]

    def test_2_a_lone_link_reaches_the_closed_form(self) -> None:
        document = json.loads(
            pacelab(
                *("run", "chain", "--hops", "1", "--no-wired", "--rate", "2", "--traffic", "udp-saturated"),
                *("--rts", "off", "--seconds", "8", "--warmup", "2", "--backend", "hwsim", "--json", *self.out),
            )
        )
        share = document["run"]["flows"][0]["goodput_bps"] / LONE_BPS
        host = document["host"]
        print(f"  alone: {share:.3f} of the closed form, {document['run']['fidelity']}, up in {host['built_s']:.1f} s")
        assert abs(share - 1) <= 0.03

    def test_3_compare_prints_a_table(self) -> None:
        options = ("--hops", "3", "--backend", "hwsim", "--schemes", "newreno,tcp-gap", "--seeds", "1")
        table = pacelab("compare", "chain", *options, "--seconds", "10", "--warmup", "2", *self.out)
        print(table)
        assert "newreno" in table
        assert "tcp-gap" in table

    def test_4_nothing_is_left_of_a_run_that_is_killed(self) -> None:
        before = self.settled()
        command = [*PACELAB, "run", "chain", "--hops", "2", "--seconds", "60", "--backend", "hwsim", *self.out]
        with subprocess.Popen(command, cwd=LAB, stderr=subprocess.DEVNULL) as process:
            until = time.monotonic() + 60
            while len(radios() - before) < 3 and time.monotonic() < until:
                time.sleep(0.2)
            made = radios() - before
            os.kill(process.pid, signal.SIGKILL)
        left = self.settled()
        assert (len(made), left) == (3, before), (before, made, left)

    @unittest.skipIf(
        shutil.which("mininet-wifi-python") is None, "no Mininet-WiFi: sudo sh vm/provision/mininet-wifi.sh (internet)"
    )
    def test_5_the_same_as_a_mininet_wifi_network(self) -> None:
        options = ("--hops", "2", "--rate", "2", "--scheme", "tcp-gap", "--seconds", "8", "--backend", "hwsim")
        document = json.loads(pacelab("run", "chain", *options, "--builder", "mininet-wifi", "--json", *self.out))
        goodput = document["run"]["flows"][0]["goodput_bps"]
        print(f"  Mininet-WiFi, TCP-GAP over two hops: {goodput / 1e3:.0f} kbit/s, {document['run']['fidelity']}")
        assert goodput > 100_000
        assert [point["point"] for point in document["run"]["hooks"]["points"]] == ["gateway", "sender"]

    @unittest.skipIf(
        shutil.which("mininet-wifi-python") is None, "no Mininet-WiFi: sudo sh vm/provision/mininet-wifi.sh (internet)"
    )
    def test_6_a_station_that_mininet_wifi_moves_delivers_while_it_is_in_reach(self) -> None:
        network = Path(self.folder.name) / "away.yaml"
        network.write_text(AWAY)
        document = json.loads(
            pacelab("run", str(network), "--backend", "hwsim", "--builder", "mininet-wifi", "--json", *self.out)
        )
        with (Path(self.folder.name) / "run" / "flow-0.csv").open() as table:
            each_second = [float(row["goodput_bps"]) for row in csv.DictReader(table)]
        print(f"  kbit/s: {' '.join(f'{bps / 1e3:.0f}' for bps in each_second)}; {document['host']['walked']}")
        assert min(each_second[:3]) > 0
        assert max(each_second[5:8]) == 0  # on a punctual machine 4 s would suffice
        assert each_second[-1] > 0
        assert document["host"]["walked"]["at_end_m"] == {"walker": [200.0, 0.0]}

    def settled(self) -> set[str]:
        """The radios when their number no longer falls: a kernel thread deletes them after the run's end."""
        now, before = radios(), None
        while now != before:
            time.sleep(3)
            now, before = radios(), now
        return now


# The controller with the real Wi-Fi stack and Open vSwitch's datapath in the kernel, inside the virtual machine.

OF_A_FAST_MACHINE = {"first packet of a flow", "a link goes down"}
"""Checks with time limits, for which an emulated processor is too slow."""


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PACELAB, *arguments], cwd=LAB, capture_output=True, text=True, timeout=900)


class Controller(unittest.TestCase):
    def test_1_a_station_walks_over_and_its_flow_continues(self) -> None:
        walk = ("two-gateways", "--speed", "40", "--seconds", "28", "--scheme", "tcp-gap")
        with tempfile.TemporaryDirectory() as folder:
            out = str(Path(folder) / "run")
            done = ran("run", *walk, "--backend", "hwsim", "--controller", "ryu", "--json", "--out", out)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        controller = document["host"]["controller"]
        print(f"  {controller}, {document['run']['fidelity']}, up in {document['host']['built_s']:.0f} s")
        (handover,) = controller["handovers"]
        (flow,) = handover["flows"]
        assert controller["datapath"] == "system"
        assert (handover["station"], handover["from"], handover["to"]) == ("s", "GA", "GB")
        assert flow["silence_s"] < 1
        assert min(flow["before_bps"], flow["after_bps"]) > 100_000

    def test_2_its_self_test(self) -> None:
        done = ran("controller", "--check", "--json")
        assert done.stdout, done.stderr
        rows = json.loads(done.stdout)["checks"]
        for row in rows:
            print(f"  {row['check']}: {'ok' if row['passed'] else 'failed'}, {row['said']}")
        assert rows[0]["said"].startswith("datapath system")
        assert len(rows) == 10
        assert {row["check"] for row in rows if not row["passed"]} <= OF_A_FAST_MACHINE


if __name__ == "__main__":
    unittest.main()
