"""Drives lab 1 in JupyterLab with the system's Chromium: runs it, drags a slider, uses keys, predicts.

Needs Chromium on the PATH (Debian: apt-get install chromium) and Playwright, which `make test-labs` installs. The
screenshots' folder is $LABS_SCREENSHOTS, or a temporary one.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 600
"""The timeout of a page, also on a busy machine. Times are printed here and checked in run_notebooks.py."""
NOT_OURS = (
    *("favicon", "ResizeObserver loop", "the server responded with a status of 404", "ServiceWorker"),
    "Shared module @jupyterlite/services",  # from `make lite`, whose extension JupyterLab finds
)
"""Messages of JupyterLab itself on the console, which appear also without our notebooks."""

playwright = pytest.importorskip("playwright.sync_api", reason="tools/sync --group pages brings Playwright")
pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def server(generate: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """JupyterLab on loopback with the notebooks. Returns an address with `{}` for the path."""
    home = tmp_path_factory.mktemp("jupyter")
    generate.main(["--out", str(home / "notebooks"), "--for", "instructor"])
    (home / "notebooks" / "instructor" / "predictions.json").unlink()  # as for a student who has not chosen yet
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    places = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_RUNTIME_DIR": "runtime", "JUPYTERLAB_SETTINGS_DIR": "settings"}
    places |= {"JUPYTERLAB_WORKSPACES_DIR": "workspaces", "IPYTHONDIR": "ipython"}
    environment = {**os.environ, **{name: str(home / folder) for name, folder in places.items()}}
    environment |= {"JUPYTER_TOKEN": token, "JUPYTER_PLATFORM_DIRS": "1"}
    options = ["--no-browser", "--allow-root", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    folder = home / "notebooks" / "instructor"
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "labs" / "open.py"), str(folder), *options],
            env=environment,
            stdout=log,
            stderr=log,
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/api", process, home / "log")
            yield f"http://127.0.0.1:{port}{{}}?token={token}"
        finally:
            process.terminate()
            process.wait(20)


def wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        if process.poll() is not None:
            pytest.fail(f"JupyterLab ended:\n{log.read_text()}")
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not answer:\n{log.read_text()}")


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = Path(os.environ.get("LABS_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    place.mkdir(parents=True, exist_ok=True)
    return place


@pytest.fixture(scope="module")
def page(chromium: str, server: str, shots: Path) -> Iterator[Any]:
    """Lab 1, run from top to bottom. `page.console_errors` collects the errors."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        made = browser.new_page(viewport={"width": 1280, "height": 720})
        errors: list[str] = []
        made.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        made.on("pageerror", lambda error: errors.append(str(error)))
        made.console_errors = errors
        made.goto(server.format("/lab/tree/lab1_hidden_exposed.ipynb"))
        made.wait_for_selector(".jp-Notebook", timeout=TIMEOUT_S * 1e3)
        made.get_by_text("| Idle").wait_for(timeout=TIMEOUT_S * 1e3)  # earlier, JupyterLab would ask for a kernel
        made.get_by_role("menuitem", name="Run", exact=True).first.click()
        made.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        made.get_by_text("| Busy").wait_for(timeout=TIMEOUT_S * 1e3)
        try:
            until_idle(made)
        finally:
            made.screenshot(path=shots / "run.png")
        yield made
        browser.close()


def until_idle(page: Any) -> None:
    """Wait until the kernel has nothing to do for two seconds: between two cells it is idle for a moment."""
    quiet, ends = 0, time.monotonic() + TIMEOUT_S
    while quiet < 10:
        assert time.monotonic() < ends, f"the notebook is not done after {TIMEOUT_S} s"
        quiet = quiet + 1 if page.get_by_text("| Idle").count() else 0
        page.wait_for_timeout(200)


def show(page: Any, text: str) -> Any:
    """The output area with this text, scrolled into view."""
    area = page.locator(".jp-OutputArea-output", has_text=text).first
    area.scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    return area


def wait_until(holds: Callable[[], bool]) -> float:
    """Seconds until the condition holds."""
    started = time.perf_counter()
    while not holds():
        assert time.perf_counter() - started < TIMEOUT_S
        time.sleep(0.005)
    return time.perf_counter() - started


def test_slider_moves_by_mouse_and_by_keys(page: Any, shots: Path) -> None:
    area = show(page, "distance of the senders (m)")
    told = area.locator("p[aria-live]")
    before = told.inner_text()
    assert before.startswith("Senders 310 m apart sense each other.")
    slider = area.get_by_role("slider", name="distance of the senders (m)")
    slider.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 5 / 15 * box["width"], middle)  # 310 m is the sixth of 16 places
    page.mouse.down()
    for share in (0.4, 0.5, 0.6, 0.75):
        page.mouse.move(box["x"] + share * box["width"], middle)
        page.wait_for_timeout(60)
    page.mouse.up()
    wait_until(lambda: "do not sense each other" in told.inner_text())
    page.screenshot(path=shots / "slider.png")
    waits = []
    slider.focus()
    for _ in range(8):
        old = told.inner_text()
        page.keyboard.press("ArrowLeft")
        waits.append(wait_until(lambda old=old: told.inner_text() != old))
    print(f"\nkey to picture in the browser: {[f'{wait * 1000:.0f} ms' for wait in waits]}")
    figure = area.locator("pacelab-figure")
    wait_until(lambda: figure.get_attribute("aria-label").split() == told.inner_text().split())
    assert figure.locator("svg").first.is_visible()


def test_the_choice_starts_the_run_and_is_final(page: Any, shots: Path) -> None:
    """Run All Cells passes this measurement without a number."""
    area = show(page, "about all of it, in turns")
    waiting = page.locator(".jp-OutputArea-output:visible", has_text="Choose an answer first")
    count = waiting.count()
    assert count == 3, "lab 1 has three predictions"
    assert not page.get_by_text("Measured:").locator("visible=true").count()
    area.scroll_into_view_if_needed()
    page.screenshot(path=shots / "choose.png")
    area.get_by_label("less than a fifth").check()
    measured = page.get_by_text("Measured: ").locator("visible=true").first
    measured.wait_for(timeout=TIMEOUT_S * 1e3)
    assert "As you predicted." in measured.inner_text()
    assert waiting.count() == count - 1
    assert area.get_by_label("less than a fifth").is_checked()
    assert area.get_by_label("less than a fifth").is_disabled()
    measured.scroll_into_view_if_needed()
    page.screenshot(path=shots / "measured.png")
    explanation = page.locator("details", has_text="A data frame takes 6.3 ms").locator("visible=true").first
    assert not explanation.evaluate("(each) => each.open")
    explanation.locator("summary").click()
    page.wait_for_timeout(500)
    assert explanation.evaluate("(each) => each.open")
    assert explanation.get_by_text("A data frame takes 6.3 ms").is_visible()
    page.screenshot(path=shots / "explained.png")


def test_outputs_are_accessible(page: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python")
    show(page, "distance of the senders (m)")
    found = axe.Axe().run(page, context=".jp-OutputArea-output", options={"resultTypes": ["violations"]})
    serious = [item for item in found.response["violations"] if item["impact"] in ("serious", "critical")]
    told = {item["id"]: [node["html"][:200] for node in item["nodes"]][:3] for item in serious}
    assert not told, json.dumps(told, indent=1)


def test_whole_notebook_looks_right(page: Any, shots: Path) -> None:
    for number, text in enumerate(("E is sensed", "RTS off: n0", "stock: both together")):
        area = page.locator(f"pacelab-figure[aria-label*='{text}'], table:has-text('{text}')").first
        if area.count():
            area.scroll_into_view_if_needed()
            page.wait_for_timeout(300)
            page.screenshot(path=shots / f"part{number}.png")


def test_a_figure_whose_kernel_has_ended_says_so(page: Any, shots: Path) -> None:
    """A slider would still move there, also by its keys, while the figure keeps its old setting."""
    area = show(page, "distance of the senders (m)")
    drawn = area.locator("pacelab-figure").get_attribute("aria-label")
    told = page.get_by_text("its kernel has ended").first
    assert not told.is_visible()
    page.get_by_role("menuitem", name="Kernel", exact=True).first.click()
    page.get_by_text("Restart Kernel\N{HORIZONTAL ELLIPSIS}", exact=True).click()
    page.get_by_role("button", name="Confirm Kernel Restart").click()
    told.wait_for(timeout=TIMEOUT_S * 1e3)
    page.screenshot(path=shots / "ended.png")
    assert not page.locator(
        "input[type=range]:visible, input[type=radio]:visible, select:visible.widget-dropdown"
    ).count()
    shown = page.locator("pacelab-figure:visible")
    assert shown.evaluate_all("(all, drawn) => all.some((each) => each.ariaLabel === drawn)", drawn)
    until_idle(page)


def test_nothing_went_wrong_on_the_console(page: Any) -> None:
    assert not _ours(page.console_errors), "\n".join(page.console_errors)


def test_a_notebook_opened_again_shows_figures_and_predictions(page: Any, shots: Path) -> None:
    """Jupyter does not save widgets."""
    page.keyboard.press("Control+s")
    page.wait_for_function("!document.querySelector('.lm-TabBar-tab.jp-mod-dirty')", timeout=TIMEOUT_S * 1e3)
    page.console_errors.clear()
    page.reload()
    page.wait_for_selector(".jp-Notebook", timeout=TIMEOUT_S * 1e3)
    area = show(page, "distance of the senders (m)")
    area.locator("pacelab-figure svg").first.wait_for(timeout=TIMEOUT_S * 1e3)
    page.get_by_text("less than a fifth (predicted)").first.wait_for()
    page.screenshot(path=shots / "again.png")
    assert not page.get_by_text("Error displaying widget").first.is_visible()
    # Jupyter logs each widget that is missing, and shows the HTML beside it.
    assert not _ours(error for error in page.console_errors if "widget model not found" not in error)


def _ours(errors: Iterable[str]) -> list[str]:
    return [error for error in errors if not any(known in error for known in NOT_OURS)]
