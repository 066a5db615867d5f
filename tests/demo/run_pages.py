"""The demonstrations in headless Chromium: drags, sliders, keys, accessibility, and the engine's bytes.

`make test-labs` runs it. Without Chromium it skips and prints the reason.
"""

from __future__ import annotations

import base64
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")

from pacelab.air.backend import run_air  # noqa: E402
from pacelab.demo import widget  # noqa: E402
from pacelab.demo.catalog import DEMOS, find_demo  # noqa: E402
from pacelab.demo.editor import EditorSession, export_editor, open_editor  # noqa: E402
from pacelab.demo.live import FlowTracker, Live  # noqa: E402
from pacelab.demo.model import Demo, Slider  # noqa: E402
from pacelab.demo.page import engine_bytes, export  # noqa: E402
from pacelab.demo.server import DemoServer  # noqa: E402
from pacelab.demo.widget import reply  # noqa: E402
from pacelab.errors import HostError  # noqa: E402
from pacelab.experiment.air_config import compile_air  # noqa: E402

SIZE = {"width": 1366, "height": 900}
PROJECTORS = (
    {"width": 1280, "height": 720},
    {"width": 1366, "height": 768},
    {"width": 1920, "height": 1080},
    {"width": 3840, "height": 2160},
)
SAMPLE = ("hidden", "starvation")
"""Demonstrations of a short test. The others have the same page with other controls and take longer."""
EACH_DEMO = [pytest.param(name, marks=[] if name in SAMPLE else [pytest.mark.thorough]) for name in DEMOS]
SLIDER_P95_S, FIRST_PAINT_S, UPDATES_PER_S = 1.0, 2.0, 20


@pytest.fixture(scope="module")
def file_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The exported file of a demonstration. It is made once, because the export runs all settings of Python schemes."""

    @cache
    def made(name: str) -> Path:
        file = tmp_path_factory.mktemp("demo") / "demo.html"
        export(find_demo(name), file)
        return file

    return made


@pytest.fixture
def open_demo(
    browser: sync_api.Browser, file_of: Callable[[str], Path], tmp_path: Path, complaints: list[str]
) -> Iterator[object]:
    context = browser.new_context(viewport=SIZE)

    def open_(name: str | Demo | EditorSession, *, init: str = "") -> sync_api.Page:
        file = file_of(name) if isinstance(name, str) else tmp_path / "demo.html"
        if not isinstance(name, str):
            (export_editor if isinstance(name, EditorSession) else export)(name, file)
        page = context.new_page()
        page.add_init_script(init)
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(file.as_uri())
        page.wait_for_selector("pacelab-demo .bar, pacelab-editor tbody tr")
        return page

    yield open_
    context.close()
    assert complaints == []


def sums(page: sync_api.Page) -> float:
    """Goodput of all flows, Mbit/s, as the page shows it."""
    return float(page.locator(".bar .value").last.inner_text().split()[0])


def wait_run(page: sync_api.Page, state: str) -> None:
    """Wait until `demo` has this state and has run: a change runs with the page's next picture."""
    page.wait_for_function(f"(demo => {state} && !demo.pending && !demo.busy)(document.querySelector('pacelab-demo'))")


FIRST_PAINT = """() => new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('nothing was painted')), 20000);
    const seen = (list) => list.getEntriesByName('first-contentful-paint').forEach((entry) => resolve(entry.startTime));
    new PerformanceObserver(seen).observe({ type: 'paint', buffered: true });
})"""
"""Milliseconds; the entry may come after the page's own code has run."""


@pytest.mark.parametrize("name", EACH_DEMO)
def test_page_starts_soon_and_is_accessible(open_demo, name: str, within) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = open_demo(name)
    violations = Axe().run(page).response["violations"]
    assert [(found["id"], [node["target"] for node in found["nodes"]]) for found in violations] == []
    within(FIRST_PAINT_S, lambda: open_demo(name).evaluate(FIRST_PAINT) / 1e3)


@pytest.mark.parametrize("name", EACH_DEMO)
def test_page_fits_a_projector(open_demo, name: str) -> None:
    page = open_demo(name)
    for size in PROJECTORS:
        page.set_viewport_size(size)
        root = "document.documentElement"
        page.wait_for_function(f"innerWidth === {size['width']}")
        assert page.evaluate(f"[{root}.scrollWidth, {root}.scrollHeight]") == list(size.values())


HEAR_WORDS = """
const fillText = CanvasRenderingContext2D.prototype.fillText;
window.words = [];
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const { actualBoundingBoxLeft: left, actualBoundingBoxRight: right } = this.measureText(text);
    window.words.push({ ink: this, text: String(text), left: x - left, right: x + right, y });
    fillText.call(this, text, x, y);
};
"""
COVERED_WORDS = """() => {
    const page = document.querySelector('pacelab-demo, pacelab-editor');
    window.words = [];
    page[page.plot ? 'plot' : 'draw']();
    const row = (one, other) => one.ink === other.ink && one.y === other.y;
    const cover = (one, other) => row(one, other) && one.left < other.right && other.left < one.right;
    const covered = window.words.filter((one, at) => window.words.slice(0, at).some((other) => cover(one, other)));
    return covered.map(({ text }) => text);
}"""
"""Checks the words that the canvases draw in rows."""
WIDTHS = (320, 390, 520, 760, 1280)


@pytest.mark.parametrize("name", [*EACH_DEMO, "new", "chain"])
def test_page_fits_a_narrow_window(open_demo, name: str) -> None:
    """No part is outside the window, the network is visible, and no text on a canvas covers another."""
    page = open_demo(name if name in DEMOS else open_editor(name, ["newreno", "delayed-ack"]), init=HEAR_WORDS)
    page.set_default_timeout(5000)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"innerWidth === {width}")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        scenes = [scene.bounding_box() for scene in page.locator(".scene").all()]
        across = max(box["x"] + box["width"] for box in scenes) - min(box["x"] for box in scenes)
        assert across > (0.8 if width <= 850 else 0.45) * width
        assert min(box["height"] for box in scenes) > 100
        summaries = [summary.bounding_box() for summary in page.locator("summary:visible").all()]
        assert max(box["height"] for box in summaries) < 35, "each is one line"
        assert page.evaluate(COVERED_WORDS) == []


CROSSED_WORDS = """() => {
    const shown = (text) => text.textContent && getComputedStyle(text).visibility !== 'hidden';
    const seen = [...document.querySelectorAll('.scene text:not(.state)')].filter(shown);
    const words = seen.map((text) => [text.textContent, text.getBoundingClientRect()]);
    const across = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = (a, b) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    const cover = (a, b) => across(a, b) > 2 && down(a, b) > 5;
    return words.flatMap(([word, box], at) =>
        words.slice(0, at).filter(([, other]) => cover(box, other)).map(([other]) => [word, other]));
}"""


ZOOMED_TWICE = (683, 384)
"""A window of 1366 by 768."""


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("random", (390, 844)),
        pytest.param("random", (1366, 768), marks=pytest.mark.thorough),
        pytest.param("random", ZOOMED_TWICE, marks=pytest.mark.thorough),
        ("window", ZOOMED_TWICE),
    ],
)
def test_a_network_s_legend_covers_no_word(open_demo, name: str, size: tuple[int, int]) -> None:
    page = open_demo(name if name in DEMOS else open_editor(name, ["newreno"]))
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.wait_for_function(f"innerWidth === {size[0]}")
    page.get_by_role("button", name="Pause").click()
    assert page.evaluate(CROSSED_WORDS) == []


def test_curves_without_any_width_end(open_demo) -> None:
    """Even the "…" of a label does not fit there."""
    page = open_demo("starvation")
    page.locator(".air").evaluate("air => { air.style.width = 0; }")
    page.wait_for_function("document.querySelector('.curves').width === 1")


def test_page_engine_gives_the_native_bytes(open_demo) -> None:
    page = open_demo("hidden")
    config = page.evaluate("document.querySelector('pacelab-demo').config")
    shown = page.evaluate("JSON.stringify(document.querySelector('pacelab-demo').result)")
    native = run_air(config, [], lambda _fraction: None)
    assert json.loads(shown) == native


def test_rts_cts_helps_the_hidden_terminals(open_demo) -> None:
    page = open_demo("hidden")
    before = sums(page)
    page.get_by_label("on", exact=True).check()
    page.wait_for_function("document.querySelector('pacelab-demo').config.radio.rts_threshold_bytes === 0")
    assert sums(page) > 3 * before


def test_a_dragged_node_runs_the_air_again(open_demo) -> None:
    page = open_demo("hidden")
    before = sums(page)
    source = page.locator("[data-node='2'] .body").bounding_box()
    target = page.locator("[data-node='1'] .body").bounding_box()
    page.mouse.move(source["x"] + source["width"] / 2, source["y"] + source["height"] / 2)
    page.mouse.down()
    page.mouse.move(target["x"] + target["width"] / 2, target["y"] + 2.2 * target["height"], steps=8)
    page.mouse.up()
    wait_run(page, "demo.places[2][0] < 260")
    assert sums(page) > 3 * before  # they hear each other now


def test_keys_move_a_node_step_and_play(open_demo) -> None:
    page = open_demo("exposed")
    page.locator("[data-node='3']").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('pacelab-demo').places[3][0] === 710")
    page.locator(".timeline").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".play").inner_text().endswith("Play")  # stepping pauses
    clock = page.locator(".clock").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator(".clock").inner_text() != clock
    page.keyboard.press("Space")
    assert page.locator(".play").inner_text().endswith("Pause")


def test_many_nodes_are_one_stop_of_the_tab_key(open_demo) -> None:
    page = open_demo(open_editor("random", ["newreno"]))
    focused = "document.activeElement.dataset.node ?? document.activeElement.className"
    assert [(page.keyboard.press(key), page.evaluate(focused))[1] for key in ("Tab", "Tab")] == ["0", "play"]
    page.keyboard.press("Shift+Tab")
    for key in ("PageUp", "PageDown", "PageDown"):
        page.keyboard.press(key)
    assert page.evaluate(focused) == "2"
    assert "Page Down" in page.locator(":focus").get_attribute("aria-label")
    assert [(page.keyboard.press(key), page.evaluate(focused))[1] for key in ("Tab", "Shift+Tab")] == ["play", "2"]


def test_the_time_is_announced_when_the_user_moves_it_only(open_demo) -> None:
    page = open_demo("hidden")
    page.locator(".timeline").focus()
    page.keyboard.press("ArrowRight")
    said = page.locator(".timeline").get_attribute("aria-valuetext")
    page.keyboard.press("Space")
    page.wait_for_function(
        "said => parseFloat(document.querySelector('.clock').textContent) !== parseFloat(said)", arg=said
    )
    assert page.locator(".timeline").get_attribute("aria-valuetext") == said
    page.keyboard.press("Space")
    shown = page.locator(".clock").inner_text().removesuffix(" ms")
    assert page.locator(".timeline").get_attribute("aria-valuetext") == f"{shown} milliseconds"


def test_a_slider_announces_its_name_and_its_value_with_the_unit(open_demo) -> None:
    """Before, its label named the number beside it."""
    slider = open_demo("exposed").get_by_role("slider", name="Carrier sense range")
    slider.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") == "560 m"


def test_a_distance_s_slider_shows_what_a_drag_has_made_of_it(open_demo) -> None:
    page = open_demo("reuse")
    shown = page.locator(".slider output").first
    page.locator("[data-node='2']").focus()
    for key in ("ArrowLeft", *["ArrowDown"] * 50):
        page.keyboard.press(key)
    wait_run(page, "demo.places[2][1] === 500")
    assert shown.inner_text() == f"{math.hypot(990, 500):.0f} m"
    page.locator("[name='gap']").fill("550")
    wait_run(page, "demo.values.gap === 550")
    (_, one, other, _) = page.evaluate("document.querySelector('pacelab-demo').places")
    assert shown.inner_text() == "550 m"
    assert math.dist(one, other) == pytest.approx(550)


def test_the_sense_range_alone_frees_the_exposed(open_demo) -> None:
    page = open_demo("exposed")
    before = sums(page)
    slide(page, "sense", 290)
    wait_run(page, "demo.values.sense === 290")
    assert sums(page) > 1.9 * before


def same_configuration(page: sync_api.Page, demo: Demo, values: dict[str, object]) -> None:
    """The page's configuration equals Python's for the same values."""
    shown = page.evaluate("document.querySelector('pacelab-demo').config")
    expected = json.loads(json.dumps(compile_air(demo.experiment(values, seed=shown["seed"]))))
    assert shown == expected


@pytest.mark.parametrize("name", [each for each in EACH_DEMO if not DEMOS[each.values[0]].python])
def test_controls_configure_the_engine_as_python_does(open_demo, name: str) -> None:
    page, demo, dice = open_demo(name), find_demo(name), Random(name)
    for _ in range(5):
        values: dict[str, object] = {}
        for control in demo.controls:
            if isinstance(control, Slider):
                value = control.low + control.step * dice.randint(0, round((control.high - control.low) / control.step))
                slide(page, control.what, value)
            else:
                _, value = dice.choice(control.settings)
                page.locator(f"input[name='{control.what}'][value='{value}']").check()
            values[control.what] = value
        wait_run(page, f"JSON.stringify(demo.values) === '{json.dumps(values, separators=(',', ':'))}'")
        same_configuration(page, demo, values)


def test_hops_and_routes_of_the_chain_are_controls(open_demo) -> None:
    page = open_demo("window")
    assert page.locator(".node").count() == 8
    slide(page, "hops", 3)
    wait_run(page, "demo.config.nodes.length === 4")
    assert page.locator(".node").count() == 4
    assert page.locator(".bar .name").inner_text() == "A → D"
    page.get_by_label("static", exact=True).check()
    wait_run(page, "demo.config.routing === 'static'")
    page.get_by_role("button", name="Reset").click()
    wait_run(page, "demo.config.nodes.length === 8 && demo.config.routing === 'aodv'")
    assert page.locator(".node").count() == 8
    assert page.locator(".bar .name").inner_text() == "A → H"


def test_the_page_starts_at_the_options_of_the_command(open_demo) -> None:
    page = open_demo(find_demo("window").starting_at({"hops": "5", "routing": "static", "seed": "4"}))
    assert page.locator(".node").count() == 6
    assert page.get_by_label("static", exact=True).is_checked()
    assert "(seed 4," in page.locator(".numbers").inner_text()


def test_slider_is_answered_within_a_second(open_demo, within) -> None:
    page = open_demo("window")

    def p95_s() -> float:
        took = []
        for window in range(1, 33):
            slide(page, "window", window)
            page.wait_for_function(f"document.querySelector('pacelab-demo').config.flows[0].window_pkts === {window}")
            took.append(page.evaluate("document.querySelector('pacelab-demo').lastRefreshMs"))
        return sorted(took)[int(0.95 * len(took))] / 1e3

    within(SLIDER_P95_S, p95_s)


def test_curve_goes_through_what_the_engine_carries(open_demo) -> None:
    """Each point is a run, the ring is at the position of the slider, and another rate starts a new curve."""
    page = open_demo("window")
    demo = "document.querySelector('pacelab-demo')"
    count = len(DEMOS["window"].sweep[1])
    page.wait_for_function(f"{demo}.sweepPoints.size === {count}")
    points = dict(page.evaluate(f"[...{demo}.sweepPoints]"))
    for window in (1, 3, 32):
        config = page.evaluate(f"{demo}.config")
        config["flows"][0]["window_pkts"] = window
        native = run_air(config, [], lambda _fraction: None)
        assert points[window] == native["flows"][0]["goodput_bps"]
    slide(page, "window", 7)
    page.wait_for_function(f"{demo}.sweepPoints.size === {count + 1}")
    assert "at 7" in page.locator(".view .curves").get_attribute("aria-label")
    page.get_by_label("11", exact=True).check()
    page.wait_for_function(f"{demo}.config.radio.data_rate_bps === 11e6 && {demo}.sweepPoints.size === {count + 1}")
    assert dict(page.evaluate(f"[...{demo}.sweepPoints]"))[3] > points[3]


SMALL_LABELS = """() => {
    const page = document.querySelector('pacelab-demo'), small = [];
    for (const text of page.querySelectorAll('svg text')) {
        if (!text.textContent) continue;
        const px = parseFloat(text.getAttribute('font-size')) * text.getScreenCTM().a;
        if (px < 16) small.push([text.textContent, px]);
    }
    const walk = document.createTreeWalker(page, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const holder = walk.currentNode.parentElement;
        if (!walk.currentNode.textContent.trim() || holder.closest('svg') || !holder.getClientRects().length) continue;
        const px = parseFloat(getComputedStyle(holder).fontSize);
        if (px < 16) small.push([walk.currentNode.textContent.trim(), px]);
    }
    return small;
}"""
"""axe does not check drawings on canvases: timeline.js and curves.js have their own minimum."""


@pytest.mark.parametrize("name", EACH_DEMO)
def test_no_label_is_small_on_a_projector(open_demo, name: str) -> None:
    page = open_demo(name)
    page.set_viewport_size({"width": 1280, "height": 720})
    page.wait_for_function("innerWidth === 1280")
    assert page.evaluate(SMALL_LABELS) == []


def test_bars_are_marked_with_what_one_carries_alone(open_demo) -> None:
    page = open_demo("hidden")
    assert page.locator(".flow0 .mark, .flow1 .mark").count() == 2
    alone = page.evaluate("document.querySelector('pacelab-demo').view.flows.map((flow) => flow.alone_bps)")
    assert min(alone) > 5 * 1e6 * bars(page)[0]


def test_the_slow_motion_is_of_the_steady_state(open_demo) -> None:
    page = open_demo("window")
    strip = "JSON.stringify(document.querySelector('pacelab-demo').log.frames)"
    assert page.locator(".clock").inner_text().startswith("5 s + ")
    three = page.evaluate(strip)
    slide(page, "window", 9)
    page.wait_for_function("document.querySelector('pacelab-demo').config.flows[0].window_pkts === 9")
    assert page.evaluate(strip) != three


TURN = """async () => {
    const demo = document.querySelector('pacelab-demo');
    const turn = async (count) => { for (let i = 0; i < count; i++) {
        demo.seed += 1; demo.refresh(); await new Promise(requestAnimationFrame); } };
    const first = demo.seed;
    await turn(100);
    demo.seed = first;  // runs differ in what they need: the same ones again need no more
    const begun = performance.now(), sizes = [performance.memory.usedJSHeapSize, demo.run.memoryBytes()];
    await turn(100);
    return [1e5 / (performance.now() - begun), performance.memory.usedJSHeapSize - sizes[0],
            demo.run.memoryBytes() - sizes[1]];
}"""


def test_memory_stays_and_updates_keep_pace(open_demo, within) -> None:
    """A short version of bench/users/pages.py, which takes ten minutes."""
    moments = {"duration_s": 2.5, "warmup_s": 0.5, "watch_from_s": 0.0, "sweep": None}
    longer = replace(DEMOS["window"], **moments)
    page = open_demo(longer)

    def update_s() -> float:
        rate, heap, engine = page.evaluate(TURN)
        print(f"updates/s with 8 nodes: {rate:.1f}, the page's heap {heap / 1e6:+.1f} MB, the engine's {engine} B")
        assert heap < 20e6
        assert engine == 0
        return float(1 / rate)

    within(1 / UPDATES_PER_S, update_s)


def test_a_silent_interval_is_named(open_demo) -> None:
    """For example the one of `window` with AODV, 4 hops, a window of 12 and seed 1."""
    page = open_demo("hidden")
    assert page.locator(".silence").is_hidden()
    page.evaluate("""() => {
      const demo = document.querySelector("pacelab-demo");
      demo.timeline.show({ ...demo.log, frames: [] }, demo.spanNs);
    }""")
    assert page.locator(".silence").inner_text() == "No node sends in these 60 ms."


def test_events_are_listed_as_text_and_the_seed_changes(open_demo) -> None:
    page = open_demo("hidden")
    page.get_by_text("Events as text").click()
    page.wait_for_function("/collision at B: (A and C|C and A)/.test(document.querySelector('.log pre').textContent)")
    page.get_by_role("button", name="Another seed").click()
    page.wait_for_function("document.querySelector('pacelab-demo').config.seed === 2")
    page.get_by_role("button", name="Reset").click()
    page.wait_for_function("document.querySelector('pacelab-demo').config.seed === 1")


@pytest.fixture
def serve(browser: sync_api.Browser, complaints: list[str]) -> Iterator[object]:
    context = browser.new_context(viewport=SIZE)
    with DemoServer() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()

        def open_(name: str) -> tuple[sync_api.Page, DemoServer]:
            page = context.new_page()
            page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto(server.link(name))
            page.wait_for_selector("pacelab-demo .bar")
            return page, server

        yield open_
        context.close()
        server.shutdown()
        thread.join()


def bars(page: sync_api.Page) -> list[float]:
    return [float(text.split()[0]) for text in page.locator(".bar .value").all_inner_texts()]


def test_goodput_control_feeds_the_starved_flows(serve, complaints: list[str]) -> None:
    page, _ = serve("starvation")
    assert max(bars(page)[0], bars(page)[2]) < 5
    page.get_by_label("TCP-GAP", exact=True).check()
    page.wait_for_function("document.querySelector('pacelab-demo').view.flows[0].goodput_bps > 50e3")
    assert min(bars(page)[:4]) > 60
    assert page.locator(".starved").count() == 0
    assert page.locator(".curves").get_attribute("aria-label").startswith("Goodput over 30 s")
    assert complaints == []


def test_the_length_of_a_bar_is_its_number(serve, complaints: list[str]) -> None:
    page, _ = serve("starvation")
    page.evaluate("""() => {
        const demo = document.querySelector('pacelab-demo');
        const [x, y] = demo.places[12];
        demo.places[9] = [x + 60, y];  // D, beside the gateway
        demo.refresh();
    }""")
    wait_run(page, "demo.places[9][0] === demo.places[12][0] + 60 && demo.view.flows[3].goodput_bps > 600e3")
    numbers = bars(page)
    parts = [
        float(part)
        for part in page.locator(".bar .fill").evaluate_all(
            "fills => fills.map((fill) => parseFloat(fill.style.width))"
        )
    ]
    assert parts == pytest.approx([100 * number / numbers[-1] for number in numbers], abs=0.5)
    assert complaints == []


def test_calls_gain_by_vagp(serve, complaints: list[str]) -> None:
    page, _ = serve("voice")
    assert page.locator(".call.good").count() == 0
    page.get_by_label("VAGP", exact=True).check()
    page.locator(".call.good").nth(3).wait_for()
    page.get_by_label("2", exact=True).check()
    page.wait_for_function("document.querySelectorAll('.call').length === 2")
    assert complaints == []


def test_controls_match_the_run_after_going_back_to_the_page(serve, complaints: list[str]) -> None:
    page, _ = serve("starvation")
    page.get_by_label("TCP-GAP", exact=True).check()
    wait_run(page, "demo.values.scheme === 'tcp-gap'")
    page.goto("about:blank")
    page.go_back()
    page.wait_for_selector("pacelab-demo .bar")
    assert page.locator("input[name='scheme']:checked").get_attribute("value") == page.evaluate(
        "document.querySelector('pacelab-demo').values.scheme"
    )
    assert complaints == []


def test_changes_during_a_run_are_one_and_the_newest_wins(serve, complaints: list[str]) -> None:
    page, server = serve("starvation")
    posts = []
    page.on("request", lambda request: posts.append(request.post_data_json) if request.method == "POST" else None)
    with server.run_lock:
        for _ in range(5):
            page.get_by_role("button", name="Another seed").click()
        assert page.locator(".side").get_attribute("aria-busy") == "true"
    page.wait_for_function("/seed 6,/.test(document.querySelector('.numbers').textContent)")
    assert [post["seed"] for post in posts] == [2, 6]
    assert complaints == []


def test_a_server_that_does_not_answer_gives_a_message(serve, complaints: list[str]) -> None:
    page, _ = serve("starvation")
    page.route("**/run*", lambda route: route.abort())
    page.get_by_label("TCP-GAP", exact=True).check()
    told = page.get_by_role("alert")
    told.wait_for()
    assert told.inner_text().startswith("The local server does not answer. Start pacelab demo again")
    page.unroute("**/run*")
    page.get_by_role("button", name="Reset").click()
    told.wait_for(state="hidden")
    assert all("ERR_FAILED" in complaint for complaint in complaints)  # the browser's own message


def test_a_node_dragged_out_of_reach_gives_a_message(serve, complaints: list[str]) -> None:
    page, _ = serve("starvation")
    for _ in range(12):
        page.locator("[data-node='0']").press("ArrowDown")
    told = page.get_by_role("alert")
    told.wait_for()
    assert "Reset puts the nodes back" in told.inner_text()
    assert len(told.inner_text().splitlines()) == 1
    page.get_by_role("button", name="Reset").click()
    told.wait_for(state="hidden")
    assert all("400" in complaint for complaint in complaints)


def test_the_message_on_a_node_out_of_reach_uses_the_labels(open_demo) -> None:
    page = open_demo("hidden")
    for _ in range(30):
        page.locator("[data-node='1']").press("ArrowDown")
    told = page.get_by_role("alert")
    told.wait_for()
    assert (
        told.inner_text()
        == "There is no path from A to B: a radio decodes frames from at most 250 m. Reset puts the nodes back."
    )
    page.get_by_role("button", name="Reset").click()
    told.wait_for(state="hidden")


IN_SIGHT = """(node) => {
    const box = (what) => document.querySelector(what).getBoundingClientRect();
    const [inner, outer] = [box(`[data-node='${node}'] .body`), box('.scene')];
    const across = inner.left >= outer.left && inner.right <= outer.right;
    return across && inner.top >= outer.top && inner.bottom <= outer.bottom;
}"""


def test_a_node_that_is_moved_out_of_the_picture_is_seen_again(open_demo) -> None:
    page = open_demo("reuse")
    for _ in range(60):
        page.locator("[data-node='0']").press("ArrowUp")
    page.wait_for_function("document.querySelector('pacelab-demo').places[0][1] === -600")
    page.wait_for_function(IN_SIGHT, arg=0)
    page.get_by_role("button", name="Reset").click()
    page.wait_for_function("document.querySelector('pacelab-demo').places[0][1] === 0")
    source = page.locator("[data-node='1'] .body").bounding_box()
    scene = page.locator(".scene").bounding_box()
    page.mouse.move(source["x"] + source["width"] / 2, source["y"] + source["height"] / 2)
    page.mouse.down()
    page.mouse.move(source["x"] + source["width"] / 2, scene["y"] + scene["height"] + 60, steps=4)
    page.mouse.up()
    page.wait_for_function(IN_SIGHT, arg=1)


def test_a_file_for_slides_switches_schemes_without_a_server(open_demo) -> None:
    page = open_demo("starvation")
    assert max(bars(page)[0], bars(page)[2]) < 5
    page.get_by_label("TCP-GAP", exact=True).check()
    page.wait_for_function("document.querySelector('pacelab-demo').view.flows[0].goodput_bps > 50e3")
    assert min(bars(page)[:4]) > 60
    for seed in (2, 3, 1):
        page.get_by_role("button", name="Another seed").click()
        page.wait_for_function(f"/seed {seed},/.test(document.querySelector('.numbers').textContent)")


class Network(Live):
    """Three stations; a flow that runs for two views, then the end."""

    def __init__(self) -> None:
        self._stations = [{"name": name, "position_m": [200.0 * x, 0.0]} for x, name in enumerate("PQR")]

    def messages(self) -> Iterator[tuple[str, object]]:
        tracker = FlowTracker("PQR")
        for number in range(2):
            ip = {"src": "10.0.0.1", "dst": "10.0.0.3", "protocol": 17}
            for hop in ("PQ", "QR"):
                frame = {"ip": ip, "ports": [1, 2], "payload_bytes": 20_000}
                ends = {"station": hop[0], "to": hop[1]}
                tracker.on_event({"event": "transmit", "t_ns": number, "delivered": True, "frame": frame, **ends})
            yield "frames", tracker.take_frames()
            yield "view", tracker.view(1.0) | {"places": [[0, 0], [200, 0], [400, 100]]}
        time.sleep(2)
        raise HostError("mediumd has ended")


def test_live_page_follows_the_network_until_it_ends(browser: sync_api.Browser, complaints: list[str]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with DemoServer(live=Network()) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        page = browser.new_page(viewport=SIZE)
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(server.link("live"))
        page.wait_for_selector("pacelab-demo .bar")
        assert page.locator(".bar").all_inner_texts() == ["P → R\n160 kbit/s"]
        assert page.locator(".numbers").get_attribute("aria-live") == "off"  # its numbers change each second
        assert page.locator(".node.DATA").count() == 2
        assert page.locator("[data-node='2']").get_attribute("aria-label") == "Node R at 400 m, 100 m"
        page.get_by_role("alert").wait_for()
        assert page.get_by_role("alert").inner_text() == "mediumd has ended. Start the network and this page again."
        assert Axe().run(page).response["violations"] == []
        page.close()
        server.shutdown()
        thread.join()
    assert complaints == []


def slide(page: sync_api.Page, name: str, value: float) -> None:
    page.locator(f"input[name='{name}']").evaluate(
        "(input, value) => { input.value = value; input.dispatchEvent(new Event('input', { bubbles: true })); }", value
    )


@pytest.mark.parametrize("name", ["hidden", "starvation"])
def test_widget_runs_in_a_cell(browser: sync_api.Browser, complaints: list[str], name: str) -> None:
    demo = find_demo(name)
    engine = base64.b64encode(b"" if demo.python else engine_bytes()).decode()
    page = browser.new_page(viewport={"width": 900, "height": 800})
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.expose_function("kernel", lambda message: reply(demo, message))
    page.set_content(f"<style>{widget.style()}</style><div id=cell></div>")
    page.evaluate(
        """async ([text, demo, engine]) => {
            const module = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
            const bytes = Uint8Array.from(atob(engine), (letter) => letter.charCodeAt(0));
            const traits = { demo, engine: new DataView(bytes.buffer) };
            let hear;
            const model = { get: (trait) => traits[trait], on: (_what, listener) => { hear = listener; },
                            send: async (message) => hear(await window.kernel(message)) };
            window.end = await module.default.render({ model, el: document.getElementById("cell") });
        }""",
        [widget.module(), json.loads(json.dumps(demo.document())), engine],
    )
    page.wait_for_selector("pacelab-demo .bar")
    before = bars(page)
    page.get_by_label("TCP-GAP" if demo.python else "on", exact=True).check()
    page.wait_for_function(f"document.querySelector('.bar .value').textContent.split(' ')[0] > 4 * {before[0]}")
    page.evaluate("window.end()")
    assert page.locator("pacelab-demo").count() == 0
    assert complaints == []
