"""TCP-GAP in a network of one's own: the drawing page runs its hooks in Pyodide, in a worker (`make test-lite`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pacelab import Experiment, run
from pacelab.demo.editor import export_editor, open_editor

LONGEST_MS = 240_000
SETTLED = "document.querySelector('pacelab-editor')?.lastRefreshMs != null"
GOODPUTS = "document.querySelector('pacelab-editor').views[1].view.flows.map((flow) => flow.goodput_bps)"


@pytest.fixture
def editor(browser: Any, address: str, web: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The drawing page beside the site, after its first runs. A marker may name another address of Pyodide."""
    marker = request.node.get_closest_marker("parametrize")
    folder = "elsewhere/" if marker else "static/pyodide/"
    export_editor(
        open_editor("chain", ["newreno", "tcp-gap"], {"hops": "3", "duration_s": "5"}),
        web / "editor.html",
        pyodide=f"{address}/{folder}",
    )
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    context.set_default_timeout(LONGEST_MS)
    page = context.new_page()
    page.asked = []
    context.on("request", lambda asked: page.asked.append(asked.url))
    page.goto(f"{address.rsplit('/', 3)[0]}/editor.html")
    page.wait_for_function(SETTLED)
    yield page
    context.close()


def change_hops(page: Any) -> None:
    """Make the chain one hop longer, and wait for the runs."""
    page.evaluate("document.querySelector('pacelab-editor').lastRefreshMs = null")
    page.locator("[name='hops']").press("ArrowRight")
    page.wait_for_function(SETTLED)


def test_a_changed_network_runs_as_natively(editor: Any, tmp_path: Path) -> None:
    assert not any("pyodide" in url for url in editor.asked), "the first runs are in the page"
    change_hops(editor)
    assert editor.locator("[role=alert]").first.inner_text() == ""
    file = tmp_path / "drawn.yaml"
    file.write_text(editor.locator("textarea").input_value(), "utf-8")
    natively = run(Experiment(topology=str(file), scheme="tcp-gap"))
    assert editor.evaluate(GOODPUTS) == [flow["goodput_bps"] for flow in natively.run["flows"]]
    assert natively.goodput_bps > 0
    assert any(url.endswith("pyodide.asm.wasm") for url in editor.asked)
    assert {url.split("/")[2].split(":")[0] for url in editor.asked if url.startswith("http")} == {"127.0.0.1"}


@pytest.mark.parametrize("where", ["elsewhere"])
def test_a_page_without_pyodide_gives_advice(editor: Any, where: str) -> None:
    change_hops(editor)
    alert = editor.locator("[role=alert]:visible").first.inner_text()
    assert alert.startswith("Python did not start in this page (")
    assert alert.endswith("Reload the page, or use a current Firefox, Chrome, Edge or Safari.")
