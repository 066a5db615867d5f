"""Runs Mininet-WiFi's unmodified examples and asks each the same questions: vm/run vm/jobs/examples.sh SECONDS.

    run_examples.py FOLDER [NAME ...]        results go to FOLDER/stock.jsonl and FOLDER/ours.jsonl

Each example is started headless with `-p` (for most examples: no plot). When its command line is ready,
example_probe.py asks in its process whether a wmediumd is running, and for the results of a ping and a UDP stream of 1
Mbit/s from its first to its second station. Results in FOLDER are not repeated, so a second call continues.
Environment: STOCK_WMEDIUMD names the stock program; EXAMPLES a folder, else those that Mininet-WiFi was installed with.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PYTHON = shutil.which("mininet-wifi-python") or sys.exit("mininet-wifi-python: not on the PATH")
OURS = Path(__file__).resolve().parents[2] / "medium/target/release/mediumd"
# Without this option Mininet-WiFi starts no wmediumd. (That of 802.15.4 is another program, wmediumd_802154.)
ASKS = re.compile(r"link=wmediumd\b")
START_S, PROBE_S = 300, 180
# Programs that run beside another network, and one drawing tool.
NO_NETWORKS = {
    "socket_client.py": "a client of a network that runs",
    "miniedit.py": "a graphical editor: needs a display",
}

PROBE = Path(__file__).with_name("example_probe.py")


def run(example: Path, tree: Path, environment: dict[str, str]) -> dict[str, object]:
    """The result of one example."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        result, output = home / "result.json", home / "output"
        call = f"py __import__('runpy').run_path('{PROBE}')['probe'](net, '{result}')"
        # From a file: the command line passes input from a pipe on to the program at the node.
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
    """Remove all remains of an example, so that the next one finds a clean machine."""
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
    """The output of a command. Its failure, for example because there is nothing to remove, does not matter."""
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout


def main() -> None:
    """Run the missing examples, each with the stock program and then with ours."""
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    programs = {"stock": Path(os.environ["STOCK_WMEDIUMD"]), "ours": OURS}
    subprocess.run(["systemctl", "start", "openvswitch-switch"], check=False)  # access points are switches
    done = {medium: finished(folder / f"{medium}.jsonl") for medium in programs}
    with tempfile.TemporaryDirectory() as home:
        tree = Path(home) / "tree"
        shutil.copytree(examples_folder(), tree / "examples")
        texts = {each: each.read_text(errors="replace") for each in sorted((tree / "examples").rglob("*.py"))}
        for example, text in sorted(texts.items(), key=lambda pair: not ASKS.search(pair[1])):
            name, asks = str(example.relative_to(tree / "examples")), bool(ASKS.search(text))
            if "Mininet_wifi(" not in text or (names and name not in names):
                continue
            # Without a medium, one run is enough.
            for medium in list(programs)[: 2 if asks else 1]:
                if name in done[medium]:
                    continue
                path = Path(home) / medium
                path.mkdir(exist_ok=True)
                (path / "wmediumd").unlink(missing_ok=True)
                (path / "wmediumd").symlink_to(programs[medium].resolve())
                row = {"example": name, "medium": medium, "asks": asks}
                if name in NO_NETWORKS:
                    row |= {"starts": False, "why": NO_NETWORKS[name]}
                else:
                    clean()
                    row |= run(
                        example, tree, os.environ | {"PATH": f"{path}:{os.environ['PATH']}", "MPLBACKEND": "Agg"}
                    )
                print(json.dumps(row), flush=True)
                with (folder / f"{medium}.jsonl").open("a") as lines:
                    lines.write(json.dumps(row) + "\n")
        clean()


def finished(path: Path) -> set[str]:
    """Examples in the file."""
    return {json.loads(line)["example"] for line in path.read_text().splitlines()} if path.exists() else set()


def examples_folder() -> str:
    """The given folder, or that of the installed Mininet-WiFi."""
    command = [PYTHON, "-c", "import mn_wifi; print(*mn_wifi.__path__)"]
    installed = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return os.environ.get("EXAMPLES", f"{installed}/examples")


if __name__ == "__main__":
    main()
