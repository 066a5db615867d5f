"""Measures the demonstrations' pages in headless Chromium: `.venv/bin/python bench/users/pages.py [--seconds 600]`.

First, the program measures the first paint of every demonstration, and its response to a moved slider. Then it opens
two pages with 8 nodes each and 20 updates/s: in one, the engine runs a chain again at every update; the other follows
a network (a stand-in for mediumd's stream, through our server). Their memory after garbage collection must not grow.
Exit code 1 if a target is missed, 3 if Chromium or Playwright (tools/sync --group pages) is missing. The page tests
include a short version.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from pacelab.demo.catalog import DEMOS, find_demo
from pacelab.demo.live import FRAMES_INTERVAL_S, VIEW_INTERVAL_S, FlowTracker, Live
from pacelab.demo.model import Demo
from pacelab.demo.page import export
from pacelab.demo.runs import initial_change, run_change
from pacelab.demo.server import DemoServer

UPDATES_PER_S, NODES = 20, 8
PAINT_S, SLIDER_S = 2.0, 1.0
"""Limits of elapsed time. On an idle computer they are also limits of processor time."""
WARM_S, SAMPLE_S = 20.0, 60.0
HEAP_GROWTH, PROCESS_GROWTH = 1e6, 30e6
"""Bytes by which collected heaps and processes may differ between two samples. A leak would add up over
12,000 updates.
"""
SEEDS = 200
"""Used in turn: wasm memory never shrinks, so after the first turn it must not grow."""
FRAMES = 10
"""Frames of the followed network per update."""

SHORT_RUN: dict[str, Any] = {"duration_s": 2.5, "warmup_s": 0.5, "watch_from_s": 0.0, "sweep": None}
"""A run that is short enough for 20 updates per second."""

UPDATE = f"""() => {{
    const demo = document.querySelector("pacelab-demo");
    window.updates = 0;
    window.times = [];
    setInterval(() => {{
        demo.seed = 1 + demo.seed % {SEEDS};
        demo.refresh();
        window.updates += 1;
        window.times[window.updates % 1000] = demo.lastRefreshMs;
    }}, {1000 / UPDATES_PER_S});
}}"""
COUNT = """() => {
    const demo = document.querySelector("pacelab-demo"), play = demo.scene.play.bind(demo.scene);
    window.updates = 0;
    demo.scene.play = (...given) => { window.updates += 1; play(...given); };
}"""


class Network(Live):
    """Stations in a row with a flow in each direction. Every station sends."""

    def __init__(self) -> None:
        self._stations = [{"name": name, "position_m": [200.0 * x, 0.0]} for x, name in enumerate("ABCDEFGH"[:NODES])]

    def messages(self) -> Iterator[tuple[str, Any]]:
        """The messages of `Live.messages`: frames 20 times per second and goodput each second, for ever."""
        tracker = FlowTracker("ABCDEFGH"[:NODES])
        begun = view_at = time.monotonic()
        for number in range(1, 10**9):
            time.sleep(max(0.0, begun + number * FRAMES_INTERVAL_S - time.monotonic()))
            for frame in range(FRAMES):
                hop = (number + frame) % (NODES - 1)
                ends = "ABCDEFGH"[hop : hop + 2]
                back = frame % 2
                addresses = ("10.0.0.8", "10.0.0.1") if back else ("10.0.0.1", "10.0.0.8")
                ip = {"src": addresses[0], "dst": addresses[1], "protocol": 17}
                event = {"station": ends[back], "to": ends[1 - back], "frame": {"ip": ip, "ports": [1, 2]}}
                event["frame"]["payload_bytes"] = 1000 + number % 400
                at_ns = round(number * FRAMES_INTERVAL_S * 1e9)
                tracker.on_event({"event": "transmit", "t_ns": at_ns, "delivered": True, **event})
            yield "frames", tracker.take_frames()
            if (now := time.monotonic()) - view_at >= VIEW_INTERVAL_S:
                view, view_at = tracker.view(now - view_at), now
                yield "view", view | {"places": [station["position_m"] for station in self._stations]}


def main() -> int:
    """Measure; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    given = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("bench/users/pages: needs Chromium (apt install chromium) and tools/sync --group pages", file=sys.stderr)
        return 3
    print(f"load average at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        met = [first_paints_and_sliders(browser, Path(folder)), endurance(browser, Path(folder), given.seconds)]
        browser.close()
    print("every target met" if all(met) else "a target was MISSED")
    return 0 if all(met) else 1


def first_paints_and_sliders(browser: Any, folder: Path) -> bool:
    """For every demonstration from the local server: the worst first paint, and the 95th percentile of a control's
    response.
    """
    paints, moves, busy = {}, {}, {}
    with Serving(DemoServer()) as server:
        for name, demo in DEMOS.items():
            page = browser.new_page(viewport={"width": 1366, "height": 768})
            page.goto(server.link(name))
            page.wait_for_selector("pacelab-demo .bar")
            paints[name] = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1e3
            slider = page.locator("pacelab-demo .controls input[type=range]").first
            if demo.python:
                busy[name] = [server_busy_s(demo, seed) for seed in range(1, 21)]
            else:
                tools = page.context.new_cdp_session(page)
                tools.send("Performance.enable", {"timeDomain": "threadTicks"})
                moves[name], spent = [], [busy_s(tools)]
                for number in range(40):
                    moves[name].append(moved(page, slider, number))
                    spent.append(busy_s(tools))
                busy[name] = [after - before for before, after in pairwise(spent)]
            page.close()
    worst = max(paints, key=lambda name: paints[name])
    print(f"first paint: {paints[worst]:.2f} s at worst ({worst}); target below {PAINT_S:g} s")
    for name, spent in busy.items():
        clock = f", {high(moves[name]) * 1e3:.0f} ms elapsed" if name in moves else " (in the server)"
        print(f"response to a control, 95th percentile: {name}: {high(spent) * 1e3:.0f} ms of one core{clock}")
    print(f"target: below {SLIDER_S:g} s of one core")
    return paints[worst] < PAINT_S and max(map(high, busy.values())) < SLIDER_S


def high(values: list[float]) -> float:
    """The 95th percentile."""
    return sorted(values)[round(0.95 * len(values)) - 1]


def busy_s(tools: Any) -> float:
    """Processor time of the page's thread, in which the engine of these demonstrations runs."""
    found = {each["name"]: each["value"] for each in tools.send("Performance.getMetrics")["metrics"]}
    return float(found["TaskDuration"])


def server_busy_s(demo: Demo, seed: int) -> float:
    """Processor time of one answer of the server, with one of the slowest schemes."""
    begin = initial_change(demo)
    setting = demo.controls[0].settings[1][1]
    begun = time.process_time()
    run_change(demo, replace(begin, values={**begin.values, demo.controls[0].what: setting}, seed=seed))
    return time.process_time() - begun


def moved(page: Any, slider: Any, number: int) -> float:
    """Seconds from a key press to the finished picture."""
    slider.focus()
    seen = """window.done = new Promise((done) => {
        const demo = document.querySelector("pacelab-demo"), show = demo.showView;
        demo.showView = (view) => { show.call(demo, view); demo.showView = show; done(performance.now()); };
    });"""
    page.evaluate(
        seen + " addEventListener('keydown', (e) => { window.begun = e.timeStamp; }, { once: true, capture: true })"
    )
    page.keyboard.press("ArrowRight" if number < 20 else "ArrowLeft")
    took_ms: float = page.evaluate("window.done.then((at) => at - window.begun)")
    return took_ms / 1e3


def endurance(browser: Any, folder: Path, seconds: float) -> bool:
    """Run both pages for this long: updates/s, and memory after garbage collection, before and after."""
    eight = replace(find_demo("window"), **SHORT_RUN)
    export(eight, folder / "engine.html")
    with Serving(DemoServer(live=Network())) as server:
        places = {"engine": (folder / "engine.html").as_uri(), "live": server.link("live")}
        pages = {name: Watched(browser, place) for name, place in places.items()}
        pages["engine"].page.evaluate(UPDATE)
        pages["live"].page.evaluate(COUNT)
        time.sleep(WARM_S)
        first = last = {name: watched.sample() for name, watched in pages.items()}
        resident = [resident_bytes(browser)]
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 1:
            time.sleep(min(SAMPLE_S, left))
            last = {name: watched.sample() for name, watched in pages.items()}
            resident.append(resident_bytes(browser))
        met = [report(name, first[name], last[name]) for name in pages]
        print(f"both pages' processes, every minute: {', '.join(f'{each / 1e6:.0f}' for each in resident)} MB")
        ok = all(met) and max(resident[len(resident) // 2 :]) - max(resident[: len(resident) // 2 + 1]) < PROCESS_GROWTH
        times = sorted(time_ms for time_ms in pages["engine"].page.evaluate("window.times") if time_ms)
        print(
            f"engine: an update took {times[len(times) // 2]:.1f} ms, "
            f"95th percentile {times[len(times) * 19 // 20]:.1f} ms"
        )
        errors = [error for watched in pages.values() for error in watched.errors]
        print("\n".join(["errors on the console:", *errors]) if errors else "no errors on the console")
        for watched in pages.values():
            watched.page.close()
    return ok and not errors


def report(name: str, first: dict[str, float], last: dict[str, float]) -> bool:
    """Print the result of a page; return whether it meets the targets."""
    rate = (last["updates"] - first["updates"]) / (last["at"] - first["at"])
    print(f"{name}: {rate:.1f} updates/s over {last['at'] - first['at']:.0f} s")
    for what in ("heap", "wasm", "elements"):
        unit, factor = ("", 1) if what == "elements" else (" MB", 1e6)
        print(f"  {what:9s} {first[what] / factor:8.3f}{unit} -> {last[what] / factor:8.3f}{unit}")
    grown = {what: last[what] - first[what] for what in ("heap", "wasm", "elements")}
    return (
        rate > 0.95 * UPDATES_PER_S and grown["heap"] < HEAP_GROWTH and grown["wasm"] == 0 and grown["elements"] < 1000
    )


class Watched:
    """A page and its counters."""

    def __init__(self, browser: Any, address: str) -> None:
        self.page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
        self.errors: list[str] = []
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(address)
        self.page.wait_for_selector("pacelab-demo .bar")
        self.tools = self.page.context.new_cdp_session(self.page)
        self.tools.send("Performance.enable")

    def sample(self) -> dict[str, float]:
        """Bytes after garbage collection, elements of the page, and updates so far."""
        self.tools.send("HeapProfiler.collectGarbage")
        found = {each["name"]: each["value"] for each in self.tools.send("Performance.getMetrics")["metrics"]}
        wasm = self.page.evaluate("document.querySelector('pacelab-demo').run.memoryBytes?.() ?? 0")
        updates = self.page.evaluate("window.updates")
        sizes = {"heap": found["JSHeapUsedSize"], "wasm": wasm, "elements": found["Nodes"]}
        return sizes | {"updates": updates, "at": time.monotonic()}


def resident_bytes(browser: Any) -> int:
    """Resident bytes of all processes of the pages. A process that ends meanwhile counts nothing."""
    found = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    total = 0
    for pid in (process["id"] for process in found if process["type"] == "renderer"):
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total


class Serving:
    """A server in a thread."""

    def __init__(self, server: DemoServer) -> None:
        self.server = server
        self.thread = threading.Thread(target=server.serve_forever, daemon=True)

    def __enter__(self) -> DemoServer:
        self.thread.start()
        return self.server

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


if __name__ == "__main__":
    sys.exit(main())
