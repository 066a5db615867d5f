"""The demonstrations in headless Chromium: drags, sliders, keys, accessibility, and the engine's bytes.

`make test-labs` runs it; it skips where there is no Chromium, and says so.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")

from pacelab.demo.catalog import DEMOS, find_demo  # noqa: E402
from pacelab.demo.page import export  # noqa: E402
from pacelab.engine import run_air  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    pytest.skip("no Chromium here: apt install chromium", allow_module_level=True)

SIZE = {"width": 1366, "height": 900}
SLIDER_P95_S, FIRST_PAINT_S, UPDATES_PER_S = 1.0, 2.0, 20


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def complaints() -> list[str]:
    return []


@pytest.fixture
def open_demo(browser: sync_api.Browser, tmp_path: Path, complaints: list[str]) -> Iterator[object]:
    context = browser.new_context(viewport=SIZE)

    def open_(name: str) -> sync_api.Page:
        export(find_demo(name), tmp_path / f"{name}.html")
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto((tmp_path / f"{name}.html").as_uri())
        page.wait_for_selector("pacelab-demo .bar")
        return page

    yield open_
    context.close()
    assert complaints == []


def sums(page: sync_api.Page) -> float:
    """Goodput of all flows, Mbit/s, as the page shows it."""
    return float(page.locator(".bar .value").last.inner_text().split()[0])


@pytest.mark.parametrize("name", DEMOS)
def test_page_starts_soon_and_is_accessible(open_demo, name: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = open_demo(name)
    paint_ms = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint_ms < FIRST_PAINT_S * 1e3
    violations = Axe().run(page).response["violations"]
    assert [(found["id"], [node["target"] for node in found["nodes"]]) for found in violations] == []


def test_page_engine_gives_the_native_bytes(open_demo) -> None:
    page = open_demo("hidden")
    config = page.evaluate("document.querySelector('pacelab-demo').config")
    shown = page.evaluate("JSON.stringify(document.querySelector('pacelab-demo').result)")
    native = run_air(config, [], lambda _fraction: None)
    assert json.loads(shown) == native


def test_rts_mends_the_hidden_terminals(open_demo) -> None:
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
    page.wait_for_function("document.querySelector('pacelab-demo').places[2][0] < 260")
    assert sums(page) > 3 * before  # they hear each other now


def test_keys_move_a_node_step_and_play(open_demo) -> None:
    page = open_demo("exposed")
    page.locator("[data-node='3']").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('pacelab-demo').places[3][0] === 610")
    page.locator(".timeline").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".play").inner_text().endswith("Play")  # stepping pauses
    clock = page.locator(".clock").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator(".clock").inner_text() != clock
    page.keyboard.press("Space")
    assert page.locator(".play").inner_text().endswith("Pause")


def test_a_shorter_sense_range_frees_the_exposed(open_demo) -> None:
    page = open_demo("exposed")
    before = sums(page)
    slide(page, "sense", 250)
    # 200 m apart they still decode each other: the pairs must also be drawn apart
    for _ in range(12):
        page.locator("[data-node='2']").press("ArrowRight")
        page.locator("[data-node='3']").press("ArrowRight")
    page.wait_for_function("document.querySelector('pacelab-demo').places[2][0] === 520")
    assert sums(page) > 1.7 * before


def test_slider_is_answered_within_a_second(open_demo) -> None:
    page = open_demo("window")
    took = []
    for window in range(1, 33):
        slide(page, "window", window)
        page.wait_for_function(f"document.querySelector('pacelab-demo').config.flows[0].window_pkts === {window}")
        took.append(page.evaluate("document.querySelector('pacelab-demo').lastRefreshMs"))
    assert sorted(took)[int(0.95 * len(took))] < SLIDER_P95_S * 1e3


def test_memory_stays_and_updates_keep_pace(open_demo) -> None:
    page = open_demo("window")
    rate, heap, engine = page.evaluate(
        """async () => {
            const demo = document.querySelector('pacelab-demo');
            const turn = async (count) => { for (let i = 0; i < count; i++) {
                demo.seed += 1; demo.refresh(); await new Promise(requestAnimationFrame); } };
            await turn(20);
            const begun = performance.now(), sizes = [performance.memory.usedJSHeapSize, demo.run.memoryBytes()];
            await turn(100);
            return [1e5 / (performance.now() - begun), performance.memory.usedJSHeapSize - sizes[0],
                    demo.run.memoryBytes() - sizes[1]];
        }"""
    )
    print(f"updates/s with 7 nodes: {rate:.1f}, the page's heap {heap / 1e6:+.1f} MB, the engine's {engine} B")
    assert rate >= UPDATES_PER_S
    assert heap < 20e6
    assert engine == 0


def test_log_tells_as_text_and_seed_changes(open_demo) -> None:
    page = open_demo("hidden")
    page.get_by_text("What happened, as text").click()
    page.wait_for_function("/collision at B: (A and C|C and A)/.test(document.querySelector('.log pre').textContent)")
    page.get_by_role("button", name="Another seed").click()
    page.wait_for_function("document.querySelector('pacelab-demo').config.seed === 2")
    page.get_by_role("button", name="Reset").click()
    page.wait_for_function("document.querySelector('pacelab-demo').config.seed === 1")


def slide(page: sync_api.Page, name: str, value: float) -> None:
    page.locator(f"input[name='{name}']").evaluate(
        "(input, value) => { input.value = value; input.dispatchEvent(new Event('input', { bubbles: true })); }", value
    )
