"""A demonstration as a notebook's widget, without a notebook."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import pacelab
from pacelab.demo.catalog import find_demo
from pacelab.demo.runs import answer, start
from pacelab.demo.widget import module, reply
from pacelab.errors import ConfigError, HostError


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
