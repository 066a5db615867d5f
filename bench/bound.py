"""What it would take to be faster still: as many events as a run has in a bare loop, the agenda and nothing else.

Above that loop lies what the frames need: at each event a station is brought up to date, and each frame is noted at
every station that hears it. Below it one gets only with fewer events.
"""

import os
import shutil
from pathlib import Path

import child

ROOT = Path(__file__).parent.parent
MANIFEST = ROOT / "medium" / "Cargo.toml"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "medium" / "target"))
BINARY = TARGET / "release" / "examples" / "bare_loop"


def missing() -> str | None:
    """Why the loop cannot be made here, or None."""
    return None if BINARY.exists() or shutil.which("cargo") else "cargo is not installed"


def build() -> None:
    """Compile the loop unless it is up to date."""
    if shutil.which("cargo"):
        crate = ["-p", "pacelab-engine", "--example", "bare_loop"]
        child.run(["cargo", "build", "-q", "--release", "--locked", "--manifest-path", MANIFEST, *crate])


def loop_s(*, events: int, stations: int, repeats: int) -> float:
    """CPU seconds of the bare loop, the least of some runs."""
    return min(child.run([BINARY, str(events), str(stations)]).cpu_s for _ in range(repeats))


def lines(name: str, *, ours_s: float, loop_s: float, events: int, ratio: float | None, goal: float) -> list[str]:
    """The bound as text; `ratio`: times ns-2, where it was measured."""
    ours_ns, loop_ns = 1e9 * ours_s / events, 1e9 * loop_s / events
    text = [
        f"{name}: {events} events, {ours_ns:.0f} ns of CPU each; in a bare loop (agenda alone) {loop_ns:.0f} ns,"
        f" {100 * loop_ns / ours_ns:.0f} %"
    ]
    if ratio is not None:
        text.append(
            f"    {ratio:.1f}x ns-2 now; {goal:g}x takes {ours_ns * ratio / goal:.0f} ns an event;"
            f" {ratio * ours_ns / loop_ns:.0f}x if frames cost nothing; more only with fewer events"
        )
    return text
