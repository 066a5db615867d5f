"""The demonstrations' documents, pages and widgets, and a picture's export, without a browser."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

import pacelab
from pacelab.cli.main import main
from pacelab.demo import animation
from pacelab.demo.catalog import DEMOS, find_demo
from pacelab.demo.model import Demo, Slider
from pacelab.demo.network import MODULE, START
from pacelab.demo.own import MODULES as OWN
from pacelab.demo.page import MODULES, bundle, engine_bytes, index, page, script, static
from pacelab.demo.runs import answer, start
from pacelab.demo.widget import module, reply
from pacelab.errors import ConfigError, HostError
from pacelab.sim.airconfig import compile_air
from pacelab.sim.engine import run_air

# The demonstrations' documents and pages, without a browser.

ENGINES = {name: demo for name, demo in DEMOS.items() if not demo.python}


@pytest.fixture(params=ENGINES.values(), ids=ENGINES)
def engine_demo(request: pytest.FixtureRequest) -> Demo:
    chosen: Demo = request.param
    return chosen


@pytest.fixture(params=DEMOS.values(), ids=DEMOS)
def demo(request: pytest.FixtureRequest) -> Demo:
    chosen: Demo = request.param
    return chosen


@pytest.mark.parametrize("modules", [(*MODULES, MODULE), OWN])
def test_a_pages_modules_stand_in_one_script(modules: tuple[str, ...]) -> None:
    names = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", script(*modules), re.MULTILINE)
    assert len(names) > 50
    assert sorted(names) == sorted(set(names))


def test_demo_runs_and_carries_something(engine_demo: Demo) -> None:
    result = run_air(engine_demo.air() | {"duration_s": 1.0, "warmup_s": 0.0}, [], lambda _fraction: None)
    assert sum(flow["goodput_bps"] for flow in result["flows"]) > 0


def test_the_fastest_setting_of_the_window_fits_its_bar() -> None:
    demo = DEMOS["window"]
    air = replace(demo, duration_s=10.0).experiment(rate_bps=11_000_000, rts=False, window_pkts=8)
    (flow,) = run_air(compile_air(air), [], lambda _fraction: None)["flows"]
    assert demo.full_bps is not None
    assert 0.8 * demo.full_bps < flow["goodput_bps"] < demo.full_bps


def test_demo_names_every_node_and_starts_inside_its_ranges(demo: Demo) -> None:
    document = json.loads(json.dumps(demo.document()))
    assert len(document["labels"]) == len(document["air"]["nodes"])
    for control in demo.controls:
        if isinstance(control, Slider):
            assert control.low <= control.value <= control.high
        else:
            assert control.value in dict(control.settings).values()


def test_demo_starts_where_its_controls_stand(engine_demo: Demo) -> None:
    air = engine_demo.air()
    shown = {
        "rate": air["radio"]["data_rate_bps"] / 1e6,
        "rts": int(air["radio"]["rts_threshold_bytes"] == 0),
        "sense": air["radio"]["propagation"]["sense_m"],
        "window": air["flows"][0].get("window_pkts"),
        "gap": air["nodes"][-2]["position_m"][0] - air["nodes"][1]["position_m"][0],
    }
    for control in engine_demo.controls:
        assert shown[control.what] == control.value, control.what


@pytest.mark.parametrize("more", [(), (MODULE,)], ids=["demonstrations", "the controller's page"])
def test_bundle_is_the_modules_without_imports_and_exports(more: tuple[str, ...]) -> None:
    text = bundle(*more) + START * bool(more)
    assert not re.search(r"^(import|export) ", text, re.MULTILINE)
    named = re.findall(r"^(?:const|class|function|async function) ([\w\[{][^=({]*)", text, re.MULTILINE)
    names = [name for names in named for name in re.findall(r"\w+", names.removesuffix("extends HTMLElement "))]
    assert len(names) == len(set(names)), "two modules give the same name at their top"
    for name in (*MODULES, *more):
        assert static(name).strip().splitlines()[-1] in text


def test_page_needs_nothing_from_elsewhere(demo: Demo) -> None:
    try:
        text = page(demo)
    except HostError as error:
        pytest.skip(str(error))
    outside = re.sub(r"http://www\.w3\.org/2000/svg", "", text)
    assert not re.search(r"(?:src|href)=\"(?!data:)|https?://", outside)


def test_engine_has_no_imports() -> None:
    try:
        module = engine_bytes()
    except HostError as error:
        pytest.skip(str(error))
    assert module[:4] == b"\0asm"
    assert 2 not in _section_ids(module), "an import section: the page could not start it"


def _section_ids(module: bytes) -> list[int]:
    ids, at = [], 8
    while at < len(module):
        ids.append(module[at])
        size, shift, at = 0, 0, at + 1
        while True:
            octet = module[at]
            size |= (octet & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if octet < 0x80:
                break
        at += size
    return ids


def test_index_lists_all_and_keeps_the_token() -> None:
    text = index("?token=a&b")
    for name in DEMOS:
        assert f'href="/{name}?token=a&amp;b"' in text


def test_unknown_demo_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'magic': allowed is one of hidden, exposed"):
        find_demo("magic")
    with pytest.raises(ConfigError, match=r"demo \['magic'\]: allowed is one of hidden, exposed"):
        find_demo(["magic"])  # type: ignore[arg-type]


def test_missing_engine_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("pacelab.demo.page.ENGINE", "absent.wasm")
    with pytest.raises(HostError, match="`make demo` in the source tree"):
        engine_bytes()


def test_a_page_without_scripts_says_what_it_needs() -> None:
    """As the preview of a mail shows it."""
    assert "<noscript><p>This page needs JavaScript" in page(find_demo("starvation"))


# A demonstration as a notebook's widget, without a notebook.


def test_widget_answers_a_change() -> None:
    demo = find_demo("starvation")
    begin = start(demo)
    change = {"values": dict(begin.values), "places": [list(place) for place in begin.places], "seed": 1}
    assert reply(demo, {"id": "7", "change": change}) == {"id": "7", "view": answer(demo, begin)}


@pytest.mark.parametrize("message", [None, [], {}, {"change": {"air": {}}}])
def test_widget_refuses_what_is_no_change(message: object) -> None:
    assert set(reply(find_demo("starvation"), message)) == {"id", "error"}


def test_widget_module_has_one_export() -> None:
    assert module().count("export ") == 1


def test_widget_of_an_unknown_demo_is_refused() -> None:
    with pytest.raises(ConfigError, match="allowed is one of hidden"):
        pacelab.show_demo("magic")


def test_widget_without_notebooks_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(HostError, match=r'pip install "pacelab\[notebooks\]"'):
        pacelab.show_demo("starvation")


def test_widget_carries_the_demo() -> None:
    pytest.importorskip("anywidget", reason="pip install 'pacelab[notebooks]'")
    widget = pacelab.show_demo("starvation")
    assert widget.demo["name"] == "starvation"
    assert widget.engine == b""


def test_widget_of_a_notebook_that_is_opened_again_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anywidget", reason="pip install 'pacelab[notebooks]'")
    seen: list[dict[str, str]] = []
    display = SimpleNamespace(HTML=lambda markup: {"text/html": markup}, display=lambda thing, **_: seen.append(thing))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    pacelab.show_demo("starvation")._ipython_display_()
    live, kept = seen
    assert "application/vnd.jupyter.widget-view+json" in live
    assert "<code>pacelab.show_demo('starvation')</code> again" in kept["text/html"]


# Exports: a GIF for slides, and what is said of a name that is neither.


@pytest.mark.parametrize(("name", "parts"), [("hidden", 2), ("starvation", 3)])
def test_gif_shows_each_part(name: str, parts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(animation, "FRAMES", 2)
    path = tmp_path / f"{name}.gif"
    assert main(["demo", name, "--export", str(path)]) == 0
    with Image.open(path) as picture:
        assert picture.size == (1280, 720)
        assert picture.info["loop"] == 0
        shown = []
        for frame in range(picture.n_frames):
            picture.seek(frame)
            shown.append(picture.info["duration"])
    assert 2 * parts <= len(shown) <= 3 * parts
    assert sum(shown) == parts * (2 * animation.FRAME_MS + animation.LAST_MS)


@pytest.mark.parametrize("name", ["hidden.mp4", "hidden"])
def test_export_of_another_kind_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "hidden", "--export", str(tmp_path / name)]) == 2
    assert "allowed is a name that ends in .html or .gif" in capsys.readouterr().err
