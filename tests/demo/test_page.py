"""The demonstrations' documents, pages, runs, widgets and exports, without a browser."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

import pacelab
from pacelab.air.backend import run_air
from pacelab.cli.main import main
from pacelab.demo import animation
from pacelab.demo.catalog import DEMOS, Demo, Slider, find_demo
from pacelab.demo.editor import MODULES as EDITOR_MODULES
from pacelab.demo.network import MODULES as NETWORK_MODULES
from pacelab.demo.page import MODULES, bundle, engine_bytes, page, recorded_page, script, static
from pacelab.demo.runs import initial_change, read_change, recorded_runs, run_change
from pacelab.demo.widget import module, reply
from pacelab.errors import ConfigError, HostError

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


@pytest.mark.parametrize("modules", [(*MODULES, *NETWORK_MODULES), EDITOR_MODULES])
def test_the_modules_of_a_page_share_no_names(modules: tuple[str, ...]) -> None:
    names = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", script(*modules), re.MULTILINE)
    assert len(names) > 50
    assert sorted(names) == sorted(set(names))


def test_demo_runs_and_carries_something(engine_demo: Demo) -> None:
    result = run_air(engine_demo.air() | {"duration_s": 1.0, "warmup_s": 0.0}, [], lambda _fraction: None)
    assert sum(flow["goodput_bps"] for flow in result["flows"]) > 0


def test_demo_names_every_node_and_starts_inside_its_ranges(demo: Demo) -> None:
    document = json.loads(json.dumps(demo.document()))
    assert len(document["labels"]) == len(document["air"]["nodes"])
    for control in demo.controls:
        if isinstance(control, Slider):
            assert control.low <= control.value <= control.high
        else:
            assert control.value in dict(control.settings).values()


def test_the_initial_configuration_matches_the_controls(engine_demo: Demo) -> None:
    air = engine_demo.air()
    shown = {
        "rate": air["radio"]["data_rate_bps"] / 1e6,
        "rts": int(air["radio"]["rts_threshold_bytes"] == 0),
        "sense": air["radio"]["propagation"]["sense_m"],
        "window": air["flows"][0].get("window_pkts"),
        "hops": len(air["nodes"]) - 1,
        "routing": air["routing"],
        "gap": air["nodes"][-2]["position_m"][0] - air["nodes"][1]["position_m"][0],
    }
    for control in engine_demo.controls:
        assert shown[control.what] == control.value, control.what


@pytest.mark.parametrize("more", [(), NETWORK_MODULES], ids=["demonstrations", "the controller's page"])
def test_bundle_is_the_modules_without_imports_and_exports(more: tuple[str, ...]) -> None:
    text = bundle(*more)
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


def test_unknown_demo_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"demo must be one of hidden, exposed, .*, not 'magic'"):
        find_demo("magic")
    with pytest.raises(ConfigError, match=r"demo must be one of hidden, exposed, .*, not \['magic'\]"):
        find_demo(["magic"])  # type: ignore[arg-type]


def test_a_missing_engine_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("pacelab.demo.page.ENGINE", "absent.wasm")
    with pytest.raises(HostError, match="`make demo` in the source tree"):
        engine_bytes()


def test_a_page_without_javascript_has_a_message() -> None:
    """For example the preview of a mail program."""
    assert "<noscript><p>This page needs JavaScript" in page(find_demo("starvation"))


# A demonstration as a notebook's widget, without a notebook.


def test_widget_answers_a_change() -> None:
    demo = find_demo("starvation")
    begin = initial_change(demo)
    change = {"values": dict(begin.values), "places": [list(place) for place in begin.places], "seed": 1}
    assert reply(demo, {"id": "7", "change": change}) == {"id": "7", "view": run_change(demo, begin)}


@pytest.mark.parametrize("message", [None, [], {}, {"change": {"air": {}}}])
def test_widget_refuses_an_invalid_change(message: object) -> None:
    assert set(reply(find_demo("starvation"), message)) == {"id", "error"}


def test_widget_module_has_one_export() -> None:
    assert module().count("export ") == 1


def test_widget_of_an_unknown_demo_is_refused() -> None:
    with pytest.raises(ConfigError, match="demo must be one of hidden"):
        pacelab.show_demo("magic")


def test_widget_without_the_notebook_packages_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(HostError, match=r'pip install "pacelab\[labs\]"'):
        pacelab.show_demo("starvation")


def test_widget_carries_the_demo() -> None:
    pytest.importorskip("anywidget", reason="pip install 'pacelab[labs]'")
    widget = pacelab.show_demo("starvation")
    assert widget.demo["name"] == "starvation"
    assert widget.engine == b""


def test_a_reopened_notebook_shows_how_to_run_the_widget(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anywidget", reason="pip install 'pacelab[labs]'")
    seen: list[dict[str, str]] = []
    display = SimpleNamespace(HTML=lambda markup: {"text/html": markup}, display=lambda thing, **_: seen.append(thing))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    pacelab.show_demo("starvation")._ipython_display_()
    live, kept = seen
    assert "application/vnd.jupyter.widget-view+json" in live
    assert "<code>pacelab.show_demo('starvation')</code> again" in kept["text/html"]


# Exports: a GIF for slides, and the message for any other file name.


@pytest.mark.parametrize(("name", "parts"), [("hidden", 2), pytest.param("starvation", 3, marks=pytest.mark.thorough)])
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
    assert sum(shown) == parts * (2 * animation.FRAME_MS + animation.LAST_FRAME_MS)


@pytest.mark.parametrize("name", ["hidden.mp4", "hidden"])
def test_export_of_another_kind_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "hidden", "--export", str(tmp_path / name)]) == 2
    assert "--export must be a file name that ends in .html or .gif, not " in capsys.readouterr().err


# Demonstrations with Python schemes: the changes that a page may request.


def document(name: str, **changes: Any) -> dict[str, Any]:
    begin = initial_change(find_demo(name))
    whole = {"values": dict(begin.values), "places": [list(place) for place in begin.places], "seed": begin.seed}
    return json.loads(json.dumps(whole)) | changes


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": {}},
        {"values": {"scheme": "magic"}},
        {"values": {"scheme": 0}},
        {"values": {"scheme": "/etc/passwd:Scheme"}},
        {"values": {"scheme": ["newreno"]}},
        {"values": {"scheme": "newreno", "duration_s": 1e9}},
        {"values": None},
        {"places": []},
        {"places": [[0, 0]] * 19 + [[0]]},
        {"places": [[0, 0]] * 19 + [[0, 1e9]]},
        {"places": [[0, 0]] * 19 + [[0, float("nan")]]},
        {"places": [[0, 0]] * 19 + [[True, 0]]},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": True},
        {"seed": 10**9},
        {"air": {}},
    ],
)
def test_a_change_outside_the_ranges_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        read_change(find_demo("starvation"), document("starvation", **wrong))


def test_a_change_is_no_other_json() -> None:
    for wrong in ([], None, 1, "x"):
        with pytest.raises(ConfigError):
            read_change(find_demo("starvation"), wrong)


def test_places_and_seed_of_a_change_are_run() -> None:
    demo = find_demo("starvation")
    moved = document("starvation", seed=2)
    moved["places"][2] = [10.0, 210.0]
    change = read_change(demo, moved)
    assert run_change(demo, change) != run_change(demo, replace(initial_change(demo), seed=2))
    assert run_change(demo, change) == run_change(demo, change)


def test_a_network_without_a_path_is_refused() -> None:
    far = document("starvation")
    far["places"][0] = [5000.0, 5000.0]
    demo = find_demo("starvation")
    with pytest.raises(ConfigError, match="Reset puts the nodes back"):
        run_change(demo, read_change(demo, far))


@pytest.mark.thorough
def test_a_file_for_slides_holds_every_setting() -> None:
    demo = find_demo("starvation")
    rows = list(recorded_runs(demo))
    assert len(rows) == 4 * 2 * 3
    assert [key for key, _ in rows][:2] == [["newreno", "static", 1], ["newreno", "aodv", 1]]
    assert rows[0][1] == run_change(demo, initial_change(demo))
    assert '"recorded": [[["newreno", "static", 1]' in recorded_page(demo)


def test_messages_about_nodes_use_the_labels() -> None:
    """A1 is labelled A there, and the wired host B1 is drawn as the gateway. A relay has no other name."""
    demo = find_demo("starvation")
    begin = initial_change(demo)
    for place, told in (
        (
            (9000.0, 0.0),
            "topology 'cross-gateway': no path connects flow A->G; add a wire, or move nodes to at most 250 m from "
            "each other",
        ),
        (begin.places[1], "nodes 'A' and 'RL1' are both"),
    ):
        with pytest.raises(ConfigError) as caught:
            run_change(demo, replace(begin, places=(place, *begin.places[1:])))
        assert told in str(caught.value)
        assert str(caught.value).endswith("Reset puts the nodes back")
