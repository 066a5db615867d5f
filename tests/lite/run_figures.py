"""Figures on a page, in Chromium: pointer, keys, legend, light and dark, and axe's findings (`make test-lite`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from pacelab import Experiment, load_topology, run
from pacelab.figures.chart import Chart, Line, Panel, linear
from pacelab.figures.network_map import map_chart
from pacelab.figures.page import element, script
from pacelab.figures.timeline import choose_window, timeline_chart
from pacelab.schemes import SCHEMES
from pacelab_labs import bars, curves, link_roles, pairs_picture, series
from tests.pacelab.colour_vision import DISTINCT, distance

HIDDEN = Experiment(topology="hidden", rts=False, duration_s=1)
PAIRS = Experiment(topology="pairs", topology_options={"layout": "facing", "apart": 60.0}, duration_s=0.5)


def two_lines() -> Chart:
    """Two lines with known positions on the screen."""
    lines = [
        Line(x=(0.0, 5.0, 10.0), y=y, name=name, color=color, marker="o")
        for name, color, y in (("newreno", "#000000", (1.0, 2.0, 3.0)), ("tcp-gap", "#f0e442", (7.0, 8.0, 9.0)))
    ]
    panel = Panel(x=linear(0, 10, "time (s)"), y=linear(0, 10, "goodput (kbit/s)"), marks=tuple(lines))
    return Chart(panels=(panel,), width=6.0, height=4.0)


def scheme_chart() -> Chart:
    """A line of each scheme."""
    lines = [
        Line(x=(0.0, 5.0, 10.0), y=(place, place, place), name=name, color=look.color, marker=look.marker, size=6)
        for place, (name, look) in enumerate((name, scheme.style) for name, scheme in SCHEMES.items())
    ]
    panel = Panel(x=linear(0, 10, "time (s)"), y=linear(-1, len(lines), "scheme"), marks=tuple(lines))
    return Chart(panels=(panel,), width=8.0, height=7.0)


def kinds() -> dict[str, Chart | None]:
    """A figure of each kind that students see."""
    result = run(HIDDEN)
    link = load_topology("chain", hops=8, wired=False)
    panel = (HIDDEN, *choose_window(HIDDEN, from_ms=None, to_ms=None))
    return {
        "lines": two_lines(),
        "schemes": scheme_chart(),
        "series": series(result).chart,
        "curves": curves([1, 2, 4], {"a": [1, 2, 3], "b": [3, 2, 1]}, xlabel="x", ylabel="y", marks=[2]).chart,
        "bars": bars({"one": 1.0, "two": -2.0}, unit="kbit/s", reference=("best", 3.0)).chart,
        "air": timeline_chart([panel]),
        "map": map_chart(load_topology("chain", hops=4)),
        "roles": link_roles(link, 4, 5, names="ABCDEFGHI").chart,
        "pairs": pairs_picture(run(PAIRS), PAIRS.network, alone_kbps=1681.0).chart,
    }


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with all kinds of figures."""
    shown = "".join(
        f'<section id="{name}"><h2>{name}</h2>{element(chart, name)}</section>'
        for name, chart in kinds().items()
        if chart is not None
    )
    place = tmp_path_factory.mktemp("figures") / "page.html"
    # The module twice, since each output of a notebook contains it.
    body = f"<main><h1>Figures</h1>{shown}</main>{script()}{script()}"
    page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Figures</title><body>{body}'
    place.write_text(page, encoding="utf-8")
    return place.as_uri()


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, browser: Any, gallery: str) -> Iterator[Any]:
    """The page in this colour scheme."""
    context = browser.new_context(viewport={"width": 1280, "height": 720}, color_scheme=request.param)
    made = context.new_page()
    errors: list[str] = []
    made.on("pageerror", lambda error: errors.append(str(error)))
    made.goto(gallery)
    made.locator("#lines svg").first.wait_for()
    made.scheme = request.param
    yield made
    assert errors == []
    context.close()


def test_every_kind_is_drawn_within_the_page(page: Any) -> None:
    for name in kinds():
        box = page.locator(f"#{name} .pf-stage > svg").bounding_box()
        assert box is not None, name
        assert box["x"] + box["width"] <= 1280, name
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_schemes_can_be_told_apart(page: Any) -> None:
    """By their signs, and by the tones that this page gives their colours."""
    looks = f"""(stage) => [...stage.querySelectorAll("[data-name]")].map((line) => [
        line.lastChild.getAttribute("d") ?? line.lastChild.textContent,
        line.firstChild.style.getPropertyValue("--{page.scheme}"),
    ])"""
    found = page.locator("#schemes .pf-stage").evaluate(looks)
    assert len(found) == len(SCHEMES)
    turned = 1  # `X` is a `P` that is turned
    assert len({sign for sign, _ in found}) == len(SCHEMES) - turned
    tones = sorted({tone for _, tone in found})
    close = {pair: round(distance(*pair), 1) for pair in combinations(tones, 2) if distance(*pair) < DISTINCT}
    assert len(tones) == len({scheme.style.color for scheme in SCHEMES.values()})
    assert not close


def told(page: Any, name: str) -> str:
    """The text that a figure shows for the pointer or the keys."""
    return str(page.locator(f"#{name} .pf-told:visible").inner_text())


def test_the_pointer_shows_the_nearest_value(page: Any) -> None:
    panel = page.locator("#lines .pf-panel")
    box = panel.bounding_box()
    panel.hover(position={"x": box["width"] * 0.5 + 3, "y": box["height"] * 0.2 - 2})
    assert told(page, "lines") == "tcp-gap: goodput 8 kbit/s, time 5 s"
    panel.hover(position={"x": box["width"] * 0.25, "y": box["height"] * 0.5})
    page.locator("#lines .pf-told").last.wait_for(state="hidden")


def test_the_arrow_keys_read_all_values(page: Any) -> None:
    panel = page.get_by_role("slider", name="values of goodput (kbit/s)").first
    panel.focus()
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "End", "ArrowUp", "Home"):
        page.keyboard.press(key)
        seen.append(panel.get_attribute("aria-valuetext"))
        assert told(page, "lines") == seen[-1]
    assert seen == [
        "tcp-gap: goodput 7 kbit/s, time 0 s",
        "tcp-gap: goodput 8 kbit/s, time 5 s",
        "newreno: goodput 2 kbit/s, time 5 s",
        "newreno: goodput 3 kbit/s, time 10 s",
        "tcp-gap: goodput 9 kbit/s, time 10 s",
        "tcp-gap: goodput 7 kbit/s, time 0 s",
    ]
    page.keyboard.press("Escape")
    assert page.locator("#lines .pf-told:visible").count() == 0


def test_the_legend_hides_a_line_and_its_values(page: Any) -> None:
    button = page.locator("#lines").get_by_role("button", name="tcp-gap")
    line = page.locator("#lines .pf-stage [data-name]").nth(1)
    line.wait_for(state="visible")
    button.focus()
    page.keyboard.press("Enter")
    page.locator("#lines").locator("button[aria-pressed=false]", has_text="tcp-gap").wait_for()
    line.wait_for(state="hidden")
    page.locator("#lines .pf-panel").focus()
    page.keyboard.press("ArrowUp")
    assert told(page, "lines").startswith("newreno: ")
    button.click()
    line.wait_for(state="visible")


def test_frames_on_the_air_are_reported(page: Any) -> None:
    panel = page.locator("#air .pf-panel")
    panel.focus()
    seen = set()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
        seen.add(panel.get_attribute("aria-valuetext").split(" ")[1])
    assert {"counts", "from"} <= seen


def test_lines_and_texts_have_contrast(page: Any) -> None:
    """Lines have at least 3:1 and texts 4.5:1 on the figure's background, including black, which becomes
    light on dark.
    """
    ratio = """(node) => {
        const style = getComputedStyle(node);
        const color = node.classList.contains("pf-line") ? style.stroke : style.fill;
        const light = (text) => {
            const parts = text.match(/[\\d.]+/g).slice(0, 3).map((part) => Number(part) / 255);
            const [r, g, b] = parts.map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const paper = light(getComputedStyle(node.closest("pacelab-figure")).backgroundColor);
        const ink = light(color);
        return (Math.max(paper, ink) + 0.05) / (Math.min(paper, ink) + 0.05);
    }"""
    for part, least in ((".pf-line:not(.pf-paper)", 3), ("path.pf-fill", 3), ("text.pf-fill, text.pf-ink", 4.5)):
        found = page.locator(part).evaluate_all(f"(nodes) => nodes.map({ratio})")
        assert len(found) > 10, part
        assert min(found) >= least - 0.05, part
    background = page.locator("pacelab-figure").first.evaluate("(node) => getComputedStyle(node).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (page.scheme == "light")


def test_axe_finds_nothing(page: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python")
    page.add_style_tag(content=":root { color-scheme: light dark }")  # for the page around the figures
    found = axe.Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert found == [], json.dumps([(each["id"], each["nodes"][0]["html"][:200]) for each in found])
