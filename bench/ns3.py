"""ns-3.37 from Debian's libns3-dev: bench/ns3/chain.cc, built once into bench/out/."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import cost

SOURCE = Path(__file__).parent / "ns3" / "chain.cc"
BINARY = Path(__file__).parent / "out" / "ns3-chain"
HEADER = Path("/usr/include/ns3/wifi-module.h")
LIBRARIES = ("wifi", "internet", "applications", "mobility", "propagation", "network", "core")


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpRun:
    """Segments delivered, and the CPU seconds of the whole process."""

    delivered_pkts: int
    cpu_s: float


def missing() -> str | None:
    """Why ns-3 cannot run here, or None."""
    if not HEADER.exists():
        return "ns-3 is not installed (apt install libns3-dev)"
    return None if shutil.which("g++") else "g++ is not installed (apt install g++)"


def build() -> None:
    """Compile the chain unless the program is newer than its source."""
    if BINARY.exists() and BINARY.stat().st_mtime > SOURCE.stat().st_mtime:
        return
    BINARY.parent.mkdir(exist_ok=True)
    libraries = [f"-lns3-{name}" for name in LIBRARIES]
    cost.run(["g++", "-O2", "-std=c++17", SOURCE, "-o", BINARY, *libraries])


def chain(*, hops: int, window_pkts: int, rate_mbps: int = 2, seed: int = 1, seconds: float = 60) -> TcpRun:
    """One NewReno flow over a chain with static routes, RTS on."""
    options = {"hops": hops, "rate": rate_mbps, "window": window_pkts, "seed": seed, "seconds": seconds}
    done = cost.run([BINARY, *(f"--{name}={value}" for name, value in options.items())])
    return TcpRun(delivered_pkts=int(done.stdout.split()[1]), cpu_s=done.cpu_s)
