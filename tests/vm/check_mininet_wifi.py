"""Mininet-WiFi's own examples, unmodified, with our wmediumd first on the PATH. Skipped if it is not installed."""

import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from radios import MEDIUMD, sh

PYTHON = shutil.which("mininet-wifi-python")
LIMIT_S = 240


def missing() -> str | None:
    """Why the examples cannot run here."""
    if PYTHON is None:
        return "mininet-wifi-python is not on the PATH; with the internet: sudo sh vm/provision/mininet-wifi.sh"
    lacking = [name for name in ("hwsim_mgmt", "controller", "mnexec", "hostapd") if shutil.which(name) is None]
    return f"{', '.join(lacking)}: not on the PATH; sudo sh vm/provision/mininet-wifi.sh" if lacking else None


@unittest.skipIf(missing() is not None, str(missing()))
class Examples(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        path = Path(self.folder.name)
        (path / "wmediumd").symlink_to(MEDIUMD)
        self.environment = os.environ | {"PATH": f"{path}:{os.environ['PATH']}"}
        self.addCleanup(lambda: subprocess.run(["pkill", "-x", "wmediumd"], check=False))
        found = sh(f"{PYTHON} -c 'import mn_wifi; print(*mn_wifi.__path__)'")
        self.examples = Path(found.strip()) / "examples"

    def run_example(self, name: str, *commands: str, arguments: tuple[str, ...] = ()) -> str:
        """The output of an example for these commands on its command line."""
        path = Path(self.folder.name)
        done = path / "done"
        # From a file: the command line passes input from a pipe on to the program at the node.
        (path / "commands").write_text("\n".join([*commands, f"sh touch {done}"]) + "\n")
        with (path / "output").open("w+") as output:
            process = subprocess.Popen(
                [PYTHON, self.examples / name, *arguments],
                **{"stdin": subprocess.PIPE, "stdout": output, "stderr": subprocess.STDOUT},
                env=self.environment,
                cwd=path,
                text=True,
            )
            process.stdin.write(f"source {path}/commands\n")
            process.stdin.flush()
            until = time.monotonic() + LIMIT_S
            while not done.exists() and process.poll() is None and time.monotonic() < until:
                time.sleep(0.5)
            done.unlink(missing_ok=True)
            process.communicate("exit\n", timeout=60)
            output.seek(0)
            text = output.read()
        assert process.returncode == 0, text
        print("\n".join(f"  {line}" for line in text.splitlines() if "packets transmitted" in line or "rtt" in line))
        return text

    def test_adhoc(self) -> None:
        # 40 m apart in a line; 80 m is out of range.
        text = self.run_example(
            "adhoc.py", "sta1 sleep 8", "sta1 ping -c 5 10.0.0.2", "sta1 ping -c 3 10.0.0.3", "sta2 ping -c 5 10.0.0.3"
        )
        received = [line.split()[3] for line in text.splitlines() if "packets transmitted" in line]
        assert received == ["5", "0", "5"], text

    def test_mesh(self) -> None:
        text = self.run_example(
            "mesh.py", "sta1 sleep 10", "sta1 ping -c 5 10.0.0.3", "sta1 iw dev sta1-mp0 mpath dump"
        )
        assert "5 packets transmitted, 5 received" in text, text
        assert "02:00:00:00:02:00 02:00:00:00:01:00" in text, text  # through the station in between

    def test_wmediumd_interference(self) -> None:
        text = self.run_example(
            "wmediumd_interference.py", "sta1 sleep 15", "sta1 ping -c 5 10.0.0.2", arguments=("-p",)
        )
        assert "5 packets transmitted, 5 received" in text, text

    def test_handover_bgscan(self) -> None:
        # 10 m from the first access point, then 5 m from the second.
        text = self.run_example(
            "handover_bgscan.py",
            "sta1 sleep 25",
            "sta1 iw dev sta1-wlan0 link",
            "py sta1.setPosition('60,25,0')",
            "sta1 sleep 40",
            "sta1 iw dev sta1-wlan0 link",
            arguments=("-p",),
        )
        access_points = re.findall(r"Connected to (\S+)", text)  # the first one comes after a prompt
        assert access_points == ["00:00:00:00:00:01", "00:00:00:00:00:02"], text


if __name__ == "__main__":
    unittest.main()
