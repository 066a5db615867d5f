"""Figures as data: round ticks, plain JSON, and HTML that no student's name can break."""

from __future__ import annotations

import json
import math
import re
from html import unescape

import pytest
from matplotlib import pyplot

from pacelab.figures import page
from pacelab.figures.chart import Bar, Chart, Line, Panel, Rule, as_json, from_zero, linear, powers, round_ticks
from pacelab.figures.in_matplotlib import draw_chart

NAN = math.nan


def chart_of(*marks: Bar | Line | Rule, legend: str = "inside") -> Chart:
    panel = Panel(x=linear(0, 10, "time (s)"), y=linear(0, 10, "goodput (kbit/s)"), marks=marks, legend=legend)
    return Chart(panels=(panel,), width=5.0, height=3.0)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 10, [0, 2, 4, 6, 8, 10]),
        (0, 1255, [0, 200, 400, 600, 800, 1000, 1200]),
        (-0.23, 0.11, [-0.2, -0.15, -0.1, -0.05, 0, 0.05, 0.1]),
        (0.95, 7.05, [1, 2, 3, 4, 5, 6, 7]),
        (3, 3, [3]),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: list[float]) -> None:
    assert list(round_ticks(low, high)) == pytest.approx(ticks)


def test_ticks_of_counts_are_whole() -> None:
    assert list(round_ticks(0.5, 3.5, whole=True)) == [1, 2, 3]
    assert list(round_ticks(0.5, 3.5)) == [0.5, 1, 1.5, 2, 2.5, 3, 3.5]


def test_a_logarithmic_scale_has_ticks_at_one_two_and_five() -> None:
    assert [text for _, text in powers(7, 1300).ticks] == ["10", "20", "50", "100", "200", "500", "1000"]


def test_limits_from_zero_have_room_above_what_is_known() -> None:
    assert from_zero([2.0, NAN, 4.0]) == (0.0, 4.2)
    assert from_zero([NAN]) == (0.0, 1.0)
    assert from_zero([1.2, 4.0], 1.0, 4.5) == (1.0, 4.5)


def test_a_chart_is_plain_json_without_defaults() -> None:
    line = Line(x=(0.0, 1.0), y=(1 / 3, NAN), name="newreno", marker="o")
    (panel,) = json.loads(json.dumps(as_json(chart_of(line)), allow_nan=False))["panels"]
    assert panel["marks"] == [{"mark": "line", "x": [0, 1], "y": [0.3333333, None], "name": "newreno", "marker": "o"}]
    assert panel["x"] == {
        "low": 0,
        "high": 10,
        "label": "time (s)",
        "ticks": [[value, str(value)] for value in (0, 2, 4, 6, 8, 10)],
    }


def test_names_do_not_end_the_element() -> None:
    name = """</pacelab-figure>'"><script>alert(1)</script>&"""
    html = page.element(chart_of(Line(x=(0.0,), y=(1.0,), name=name)), name)
    assert html.count("<") == 2
    assert html.endswith("</pacelab-figure>")
    data = re.search(r"data-chart='([^']*)'", html)
    assert data is not None
    assert json.loads(unescape(data[1]))["panels"][0]["marks"][0]["name"] == name


def test_the_module_keeps_its_code() -> None:
    """Comments and indents are removed. A closing tag would end the script element."""
    module = page.module()
    assert "customElements.define" in module
    assert not any(line.startswith((" ", "//")) for line in module.splitlines())
    assert "</script" not in module
    classic = page.classic_script()
    assert not re.search(r"^(export|import)\b", classic, re.MULTILINE)
    assert len(classic) > 0.95 * len(module)


def test_a_name_is_in_the_legend_once() -> None:
    lines = [Line(x=(0.0, 1.0), y=(1.0, value), name="each call") for value in (1.0, 2.0)]
    (ax,) = draw_chart(chart_of(*lines)).axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["each call"]
    (ax,) = draw_chart(chart_of(*lines, legend="none")).axes
    assert ax.get_legend() is None


def test_marks_do_not_move_the_limits() -> None:
    there = pyplot.get_fignums()
    (ax,) = draw_chart(
        chart_of(Line(x=(0.0, 99.0), y=(1.0, 99.0)), Rule(at=50.0), Bar(at=1, low=0, high=70, name="a"))
    ).axes
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 10), (0, 10))
    assert pyplot.get_fignums() == there
