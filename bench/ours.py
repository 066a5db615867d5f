"""PaceLab's runs: through the command line, or with the engine alone for layouts that no topology describes.

As a program, this is the child process of `engine`: it runs the air configuration on standard input and prints the
cost.
"""

import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import cost

COMMAND = Path(sys.executable).parent / "pacelab"
CHAIN = ("chain", "--hops", "7", "--rate", "2", "--seed", "1")
CHAIN_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """CPU seconds of the simulation and of the whole process, delivered packets, engine events, and peak memory."""

    cpu_s: float
    whole_cpu_s: float
    delivered_pkts: int
    events: int
    peak_mb: float


def missing() -> str | None:
    """Why PaceLab cannot run here, or None."""
    return None if COMMAND.exists() else f"{COMMAND} does not exist: run `make lab` first"


def command(*options: str) -> Run:
    """`pacelab run OPTIONS --json` in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        done = cost.run([COMMAND, "run", *options, "--json", "--out", f"{folder}/run"])
    document = json.loads(done.stdout)
    return Run(
        cpu_s=document["host"]["cpu_s"],
        whole_cpu_s=done.cpu_s,
        delivered_pkts=sum(flow["delivered_pkts"] for flow in document["run"]["flows"]),
        events=document["host"]["events"],
        peak_mb=done.peak_mb,
    )


def chain(*options: str, seconds: int = CHAIN_S) -> Run:
    """7 hops at 2 Mbit/s with these options."""
    return command(*CHAIN, *options, "--seconds", str(seconds))


def engine(config: str) -> Run:
    """One air configuration without hooks, in a separate process."""
    done = cost.run([sys.executable, __file__], stdin=config)
    return Run(whole_cpu_s=done.cpu_s, peak_mb=done.peak_mb, **json.loads(done.stdout))


def main() -> None:
    """The child process."""
    # The first run of a process imports the contract, which counts as start-up.
    import pacelab_medium

    import pacelab_pacer.core.contract  # noqa: F401

    config = sys.stdin.read()
    before_s = time.process_time()
    result = json.loads(pacelab_medium.run(config, [], None))
    cost_s = {"cpu_s": time.process_time() - before_s, "events": result["events"]}
    print(json.dumps(cost_s | {"delivered_pkts": sum(flow["delivered_pkts"] for flow in result["flows"])}))


if __name__ == "__main__":
    main()
