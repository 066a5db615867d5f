"""The controller with the real Wi-Fi stack and Open vSwitch's datapath in the kernel, inside the virtual machine."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LAB = Path(__file__).resolve().parents[2]
PACELAB = [sys.executable, "-B", "-m", "pacelab"]
OF_A_FAST_MACHINE = {"first packet of a flow", "a link goes down"}
"""Checks whose limits are times: an emulated processor is too slow for them."""


def pacelab(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PACELAB, *arguments], cwd=LAB, capture_output=True, text=True, timeout=900)


class Controller(unittest.TestCase):
    def test_1_a_station_walks_over_and_its_flow_goes_on(self) -> None:
        walk = ("two-gateways", "--speed", "40", "--seconds", "28", "--scheme", "tcp-gap")
        with tempfile.TemporaryDirectory() as folder:
            out = str(Path(folder) / "run")
            done = pacelab("run", *walk, "--backend", "hwsim", "--controller", "ryu", "--json", "--out", out)
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
        done = pacelab("controller", "--check", "--json")
        assert done.stdout, done.stderr
        rows = json.loads(done.stdout)["checks"]
        for row in rows:
            print(f"  {row['check']}: {'ok' if row['passed'] else 'failed'}, {row['said']}")
        assert rows[0]["said"].startswith("datapath system")
        assert len(rows) == 10
        assert {row["check"] for row in rows if not row["passed"]} <= OF_A_FAST_MACHINE


if __name__ == "__main__":
    unittest.main()
