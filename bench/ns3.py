"""ns-3.37 from Debian's libns3-dev: bench/ns3/chain.cc and cell.cc, built once into bench/out/."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import cost

FOLDER = Path(__file__).parent
HEADER = Path("/usr/include/ns3/wifi-module.h")
LIBRARIES = ("wifi", "internet", "applications", "mobility", "propagation", "network", "core")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ns3Run:
    """Packets delivered, and the CPU seconds of the whole process."""

    delivered_pkts: int
    cpu_s: float


def missing() -> str | None:
    """Why ns-3 cannot run here, or None."""
    if not HEADER.exists():
        return "ns-3 is not installed (apt install libns3-dev)"
    return None if shutil.which("g++") else "g++ is not installed (apt install g++)"


def build(program: str) -> Path:
    """Compile ns3/PROGRAM.cc unless the result is newer than its source. Returns the executable."""
    source, binary = FOLDER / "ns3" / f"{program}.cc", FOLDER / "out" / f"ns3-{program}"
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        binary.parent.mkdir(exist_ok=True)
        libraries = [f"-lns3-{name}" for name in LIBRARIES]
        cost.run(["g++", "-O2", "-std=c++17", source, "-o", binary, *libraries])
    return binary


def chain(*, hops: int, window_pkts: int, rate_mbps: int = 2, seed: int = 1, seconds: float = 60) -> Ns3Run:
    """One NewReno flow over a chain with static routes, RTS on."""
    return _run("chain", hops=hops, rate=rate_mbps, window=window_pkts, seed=seed, seconds=seconds)


def cell(*, stations: int, seed: int = 1, seconds: float = 10) -> Ns3Run:
    """Saturated UDP stations of 802.11n at MCS 7 with A-MPDUs."""
    return _run("cell", stations=stations, seed=seed, seconds=seconds)


def _run(program: str, **options: float) -> Ns3Run:
    done = cost.run([build(program), *(f"--{name}={value}" for name, value in options.items())])
    return Ns3Run(delivered_pkts=int(done.stdout.split()[1]), cpu_s=done.cpu_s)
