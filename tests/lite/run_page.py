"""The notebooks of `make lite` in Chromium: every cell runs, no request leaves the host, the work survives a reload."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

NOTEBOOK = "first_experiment.ipynb"
LONGEST_MS = 240_000
"""Time limit for a start of Python and a cell on a busy machine."""
STARTING = "Python is starting."


def run_cell(page: Any, number: int) -> str:
    """Run a code cell by the keyboard and wait for its end; return its text output."""
    cell = page.locator(".jp-CodeCell").nth(number)
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    prompt = cell.locator(".jp-InputPrompt")
    page.wait_for_function(
        "prompt => /\\[\\d+\\]/.test(prompt.innerText)", arg=prompt.element_handle(), timeout=LONGEST_MS
    )
    return "\n".join(cell.locator(".jp-OutputArea-output").all_inner_texts())


@pytest.fixture(scope="module")
def worked(browser: Any, address: str) -> Iterator[tuple[Any, list[str], list[str]]]:
    """The notebook after all its cells have run: the page, the outputs, and the requested addresses."""
    asked: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.goto(f"{address}/notebooks/index.html?path={NOTEBOOK}")
    page.locator(".jp-CodeCell").first.wait_for(timeout=LONGEST_MS)
    # Without a kernel, Jupyter ignores the keys that run a cell.
    page.wait_for_function(
        "globalThis.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel", timeout=LONGEST_MS
    )
    page.get_by_role("region", name="Your work").get_by_text(STARTING).wait_for()
    outputs = [run_cell(page, number) for number in range(3)]
    yield page, outputs, asked
    context.close()


def test_the_cells_give_the_native_numbers(worked: tuple[Any, list[str], list[str]]) -> None:
    first, hops, schemes = worked[1]
    from pacelab import Experiment, run

    chain = Experiment(topology="chain", topology_options={"hops": 4}, duration_s=20)
    assert first.strip() == f"{run(chain).goodput_bps / 1000:.1f} kbit/s over 4 hops"
    assert len(re.findall(r"hops: +\d+\.\d kbit/s", hops)) == 4
    assert len(re.findall(r"(?:newreno|tcp-gap): \d+\.\d kbit/s", schemes)) == 2


def test_the_bar_says_only_until_the_start_that_python_is_starting(worked: tuple[Any, list[str], list[str]]) -> None:
    assert not worked[0].get_by_text(STARTING).count()


def test_no_request_leaves_the_host(worked: tuple[Any, list[str], list[str]]) -> None:
    asked = [urlsplit(url) for url in worked[2]]
    assert any(url.path.endswith("pyodide.asm.wasm") for url in asked)
    assert {url.hostname for url in asked if url.scheme not in ("blob", "data")} == {"127.0.0.1"}


def test_work_survives_a_reload(worked: tuple[Any, list[str], list[str]]) -> None:
    page = worked[0]
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("\n# my own line")
    page.keyboard.press("Control+S")
    page.wait_for_timeout(2_000)
    page.reload()
    page.locator(".jp-CodeCell .cm-content", has_text="# my own line").first.wait_for(timeout=LONGEST_MS)
