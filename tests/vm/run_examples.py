"""Runs Mininet-WiFi's examples, unmodified, and asks each the same questions: vm/run vm/jobs/examples.sh SECONDS.

    run_examples.py MEDIUM OUT.jsonl [NAME ...]        MEDIUM: stock or ours, which decides the `wmediumd` on the PATH

Each example is started headless with `-p` (most take it for: no plot). Once its command line is there, example_probe.py
asks in its process: is a wmediumd running, and what do a ping and a UDP stream of 1 Mbit/s from its first to its second
station meet? A line of JSON for each example; those that OUT has are not run again, so that a second call goes on.
Environment: STOCK_WMEDIUMD names the stock program; EXAMPLES a folder, else those that Mininet-WiFi was installed with.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PYTHON = shutil.which("mininet-wifi-python") or sys.exit("mininet-wifi-python: not on the PATH")
OURS = Path(__file__).resolve().parents[2] / "medium/target/release/mediumd"
START_S, PROBE_S = 300, 180
# Programs that run beside a network of somebody's; and one that is a drawing board.
NO_NETWORKS = {"socket_client.py": "a client of a network that runs", "miniedit.py": "a drawing board: needs a display"}

PROBE = Path(__file__).with_name("example_probe.py")


def run(example: Path, tree: Path, environment: dict[str, str]) -> dict[str, object]:
    """What one example did."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        result, output = home / "result.json", home / "output"
        call = f"py __import__('runpy').run_path('{PROBE}')['probe'](net, '{result}')"
        # From a file: what comes down a pipe, the command line hands on to the program at the node.
        (home / "commands").write_text(f"sh touch {home}/began\n{call}\nsh touch {home}/done\n")
        began = time.monotonic()
        with output.open("w") as out:
            process = subprocess.Popen(
                [PYTHON, example, "-p"],
                **{"stdin": subprocess.PIPE, "stdout": out, "stderr": subprocess.STDOUT},
                env=environment,
                cwd=tree,
                text=True,
                start_new_session=True,
            )
            process.stdin.write(f"source {home}/commands\n")
            process.stdin.flush()
            until = time.monotonic() + START_S
            started = False
            while process.poll() is None and time.monotonic() < until and not (home / "done").exists():
                if not started and (home / "began").exists():
                    started, until = True, time.monotonic() + PROBE_S
                    start_s = time.monotonic() - began
                time.sleep(0.5)
            ended = process.poll() is not None
            with contextlib.suppress(subprocess.TimeoutExpired, BrokenPipeError):
                process.communicate("exit\n", timeout=60)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        text = output.read_text(errors="replace")
        if result.exists():
            return {"starts": True, "start_s": round(start_s, 1)} | json.loads(result.read_text())
        said = [line.strip() for line in text.splitlines() if line.strip()]
        telling = [line for line in said if any(word in line for word in ("Error", "rror:", "not found", "install"))]
        why = (telling or said or ["nothing said"])[-1][:150]
        if started:
            return {"starts": True, "start_s": round(start_s, 1), "probe": why}
        return {"starts": False, "why": why if ended else f"not up after {START_S} s: {why}"}


def clean() -> None:
    """Nothing of an example is left: the next one finds the machine as the first did."""
    for program in ("wmediumd", "hostapd", "wpa_supplicant", "controller"):
        quietly("pkill", "-x", program)
    quietly("pkill", "-f", "mininet:")  # the nodes' shells
    time.sleep(0.5)
    for path in (Path("/var/run/wmediumd.sock"), *Path("/tmp").glob("mn_wmd*")):
        path.unlink(missing_ok=True)
    for bridge in quietly("ovs-vsctl", "list-br").split():
        quietly("ovs-vsctl", "--if-exists", "del-br", bridge)
    quietly("rmmod", "mac80211_hwsim")
    quietly("rmmod", "mac802154_hwsim")
    for line in quietly("ip", "-o", "link").splitlines():
        name = line.split(": ")[1].partition("@")[0]
        if "-" in name:  # sta1-eth0, root-eth1
            quietly("ip", "link", "delete", name)


def quietly(*command: str) -> str:
    """What a command prints; that it fails, for nothing is there, does not matter."""
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout


def main() -> None:
    """Runs what is missing in OUT."""
    medium, out, names = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    program = Path(os.environ["STOCK_WMEDIUMD"]) if medium == "stock" else OURS
    found = subprocess.run([PYTHON, "-c", "import mn_wifi; print(*mn_wifi.__path__)"], capture_output=True, text=True)
    folder = Path(os.environ.get("EXAMPLES", Path(found.stdout.strip()) / "examples"))
    done = {json.loads(line)["example"] for line in out.read_text().splitlines()} if out.exists() else set()
    with tempfile.TemporaryDirectory() as home:
        tree = Path(home) / "tree"
        shutil.copytree(folder, tree / "examples")
        (Path(home) / "wmediumd").symlink_to(program.resolve())
        environment = os.environ | {"PATH": f"{home}:{os.environ['PATH']}", "MPLBACKEND": "Agg"}
        texts = {each: each.read_text(errors="replace") for each in sorted((tree / "examples").rglob("*.py"))}
        for example, text in sorted(texts.items(), key=lambda pair: "wmediumd" not in pair[1]):
            name = str(example.relative_to(tree / "examples"))
            if name in done or (names and name not in names) or "Mininet_wifi(" not in text:
                continue
            if medium == "ours" and "wmediumd" not in text:
                continue  # no medium comes into it
            if name in NO_NETWORKS:
                row = {"starts": False, "why": NO_NETWORKS[name]}
            else:
                clean()
                row = run(example, tree, environment)
            row = {"example": name, "medium": medium, "asks": "wmediumd" in text} | row
            print(json.dumps(row), flush=True)
            with out.open("a") as lines:
                lines.write(json.dumps(row) + "\n")
        clean()


if __name__ == "__main__":
    main()
