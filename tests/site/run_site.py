"""The site of `make site`: links, requests of pages, accessibility, search (`make test-site`; needs Chromium)."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import threading
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
LITE = SITE / "lite"
"""The labs in the browser, if `make site` could build them. `make test-lite` tests their pages."""
OWN = [path for path in SITE.rglob("*.html") if LITE not in path.parents]
PAGES = sorted(path.relative_to(SITE).as_posix() for path in OWN)
LAB_PAGES = [name for name in PAGES if name.startswith("labs/pacelab_labs/masters/lab")]
WITH_CONTROLS = {"lab0": 1, "lab1": 2, "lab2": 1}
"""Figures of the first labs that have their controls on the page."""
MOST_SITE_BYTES = 60e6
HERE = ("file", "data", "blob", "about")
AXE = {"light": {"preload": False}, "dark": {"preload": False, "runOnly": ["color-contrast"]}}
"""At night only colours differ. Preloading reads style sheets again, by requests that a folder refuses."""


def test_there_is_a_site() -> None:
    assert PAGES, "make site makes it"


def test_the_site_is_small() -> None:
    """The labs in the browser, the manual, and the book of claims."""
    sizes = {path.relative_to(SITE).as_posix(): path.stat().st_size for path in SITE.rglob("*") if path.is_file()}
    total = sum(sizes.values())
    print(f"\nthe site: {total / 1e6:.1f} MB in {len(sizes)} files", end="")
    assert total <= MOST_SITE_BYTES, sorted(sizes.items(), key=lambda item: -item[1])[:20]


class Page(HTMLParser):
    """The links of a page, and its link targets."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Store the relevant parts of a tag."""
        known = dict(attrs)
        self.anchors |= {known[name] or "" for name in ("id", "name") if name in known}
        if tag in ("a", "link", "img", "script", "iframe", "source"):
            self.links += [known[name] or "" for name in ("href", "src") if name in known]


@functools.cache
def read(name: str) -> Page:
    return Page(SITE / name)


@pytest.mark.parametrize("name", PAGES)
def test_links_and_anchors_resolve(name: str) -> None:
    broken = []
    for link in read(name).links:
        address = urlsplit(link)
        if address.scheme in ("https", "http", "mailto", "data"):
            continue
        target = (SITE / name).parent / unquote(address.path) if address.path else SITE / name
        target = target / "index.html" if target.is_dir() else target
        if address.scheme or link.startswith("/") or not target.is_file():
            broken.append(link)
        elif address.fragment and target.suffix == ".html":
            anchors = read(target.resolve().relative_to(SITE).as_posix()).anchors
            if unquote(address.fragment) not in anchors:
                broken.append(link)
    assert broken == []


@pytest.fixture(scope="module")
def tabs(browser: Any) -> Iterator[dict[str, Any]]:
    """A light and a dark browser window."""
    contexts = {
        look: browser.new_context(color_scheme=look, viewport={"width": 1366, "height": 900})
        for look in ("light", "dark")
    }
    yield contexts
    for context in contexts.values():
        context.close()


@pytest.mark.parametrize("name", PAGES)
def test_page_sends_no_request_and_is_accessible_in_both_colour_schemes(tabs: dict[str, Any], name: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    asked, complaints, violations = [], [], []
    for look, context in tabs.items():
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        begun = time.perf_counter()
        page.goto((SITE / name).as_uri(), wait_until="load")
        print(f"{name}, {look}: loaded in {time.perf_counter() - begun:.2f} s")
        if name.startswith("live/"):
            page.wait_for_selector("pacelab-editor tbody tr, pacelab-demo .bar")
        page.wait_for_timeout(200)  # the theme's script builds its parts after the page has loaded
        for found in Axe().run(page, options=AXE[look]).response["violations"]:
            violations.append((look, found["id"], [node["target"] for node in found["nodes"]][:5]))
        page.close()
    assert [url for url in asked if urlsplit(url).scheme not in HERE] == []
    assert complaints == []
    assert violations == []


@pytest.mark.parametrize("look", ["light", "dark"])
def test_figures_of_a_lab_are_drawn_and_read_by_keys(tabs: dict[str, Any], look: str) -> None:
    page = tabs[look].new_page()
    page.goto((SITE / "labs/pacelab_labs/masters/lab1_hidden_exposed.html").as_uri())
    page.locator("pacelab-figure[data-drawn]").first.wait_for()
    assert (
        page.locator("pacelab-figure").count() == page.locator("pacelab-figure[data-drawn] .pf-stage > svg").count() > 3
    )
    panel = page.locator("pacelab-figure .pf-panel").first
    panel.focus()
    page.keyboard.press("ArrowRight")
    assert panel.get_attribute("aria-valuetext") == page.locator(".pf-told:visible").inner_text()
    page.close()


@pytest.mark.parametrize("lab", WITH_CONTROLS)
def test_controls_of_a_lab_move_its_figures_without_python(tabs: dict[str, Any], lab: str) -> None:
    (name,) = (name for name in LAB_PAGES if f"/{lab}_" in name)
    page = tabs["light"].new_page()
    page.goto((SITE / name).as_uri())
    figures = page.locator("pacelab-explore:has(.controls)")
    assert figures.count() >= WITH_CONTROLS[lab]
    for figure in figures.all():
        shown = [figure.locator("pacelab-figure").first.get_attribute("aria-label")]
        slider = figure.locator("input[type=range]").first
        for key in ("End", "Home", "ArrowRight"):
            slider.press(key)
            page.wait_for_function(
                "([figure, before]) => figure.querySelector('pacelab-figure').ariaLabel !== before",
                arg=[figure.element_handle(), shown[-1]],
            )
            shown.append(figure.locator("pacelab-figure").first.get_attribute("aria-label"))
        assert len(set(shown)) >= 3
        choice = figure.locator("select").last
        choice.select_option(index=1 - choice.evaluate("(select) => Math.min(select.selectedIndex, 1)"))
        page.wait_for_function(
            "([figure, before]) => figure.querySelector('pacelab-figure').ariaLabel !== before",
            arg=[figure.element_handle(), shown[-1]],
        )
    page.close()


def test_the_home_page_opens_with_a_demonstration_and_the_labs(tabs: dict[str, Any]) -> None:
    page = tabs["light"].new_page()
    page.goto((SITE / "index.html").as_uri())
    assert page.locator("article h2").all_inner_texts()[:2] == ["Try it¶", "Labs¶"]
    demo = page.frame_locator("iframe.try")
    demo.locator("pacelab-demo .bar").first.wait_for()
    figures = page.locator("iframe.try").bounding_box()
    assert figures is not None
    assert figures["y"] < 300, "it is on the first screen"
    labs = len(list((ROOT / "labs" / "pacelab_labs" / "masters").glob("lab[0-9]*.py")))
    assert page.locator("article li a[href*='masters/lab']").count() == labs
    assert page.locator("article li a[href*='lite/notebooks/']").count() == (labs if LITE.is_dir() else 0)
    page.close()


@pytest.mark.skipif(not LITE.is_dir(), reason="make site lacks Node.js or rustup")
@pytest.mark.parametrize("name", LAB_PAGES)
def test_a_lab_opens_in_the_browser_with_one_click(tabs: dict[str, Any], served: str, name: str) -> None:
    page = tabs["light"].new_page()
    page.goto(served + name)
    page.get_by_role("link", name="Open this lab in your browser").click()
    stem = name.rpartition("/")[2].removesuffix(".html")
    page.wait_for_url(f"**/lite/notebooks/index.html?path={stem}.ipynb")
    page.locator(".jp-MarkdownCell h1").first.wait_for(timeout=240_000)
    page.close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The site below some path of a server."""
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "path").symlink_to(SITE)
    handler = functools.partial(_Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/some/path/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("where", ["file", "server"])
@pytest.mark.parametrize("start", ["index.html", "docs/glossary.html"])
def test_search_finds_pages(tabs: dict[str, Any], served: str, where: str, start: str) -> None:
    page = tabs["light"].new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((SITE / start).as_uri() if where == "file" else served + start)
    field, found = page.locator("input[name='query']").first, page.locator(".md-search-result__item a")
    for _ in range(20):  # text that is typed before the index has loaded is not searched again
        field.fill("")
        field.press_sequentially("wmediumd maintainer", delay=20)
        page.wait_for_timeout(500)
        if found.count():
            break
    found.first.click()
    page.wait_for_url("**?h=wmediumd*")
    assert "wmediumd" in page.locator("article").inner_text()
    assert page.url.startswith(SITE.as_uri() if where == "file" else served)
    allowed = HERE if where == "file" else (*HERE, "http")
    assert [url for url in asked if urlsplit(url).scheme not in allowed] == []
    assert [url for url in asked if urlsplit(url).scheme == "http" and not url.startswith(served)] == []
    page.close()


def test_no_solution_reaches_a_page() -> None:
    if importlib.util.find_spec("jupytext") is None:
        pytest.skip("jupytext is missing: tools/sync --extra labs brings it")
    spec = importlib.util.spec_from_file_location("_labs_generate", ROOT / "labs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for master in generate.masters():
        student = "\n".join(cell.source for cell in generate.make(master, "student").cells)
        markdown = (ROOT / "build" / "site-pages" / master.relative_to(ROOT).with_suffix(".md")).read_text("utf-8")
        given_away = [line for line in generate.solutions(master) if line not in student and line in markdown]
        assert given_away == [], master.name


def test_nothing_names_where_it_was_made() -> None:
    for path in SITE.rglob("*"):
        if path.suffix in (".html", ".js", ".json", ".css", ".svg", ".md"):
            assert str(ROOT) not in path.read_text("utf-8"), path
