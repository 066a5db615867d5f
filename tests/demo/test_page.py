"""The demonstrations' documents and pages, without a browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pacelab.demo.catalog import DEMOS, Demo, Slider, find_demo
from pacelab.demo.network import MODULE, START
from pacelab.demo.own import MODULES as OWN
from pacelab.demo.page import MODULES, bundle, engine_bytes, index, page, script, static
from pacelab.errors import ConfigError, HostError
from pacelab.sim.airconfig import compile_air
from pacelab.sim.engine import run_air

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
    for module in (*MODULES, *more):
        assert static(module).strip().splitlines()[-1] in text


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
