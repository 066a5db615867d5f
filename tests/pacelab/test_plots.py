"""Figures: units on the axes, one style per scheme, captions that state n, seeds and interval; distributions."""

from __future__ import annotations

import json
from copy import deepcopy
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

import pacelab
from pacelab.cli.main import main
from pacelab.domains import Real, Whole
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.figures.distributions import check_panels, draw_curves, find_distributed, plot_moments, render_curves
from pacelab.figures.figures import add_legend, image, images, name_ticks, share_legend, spread
from pacelab.figures.plots import (
    axis_label,
    caption,
    plot_gain,
    plot_goodput,
    plot_series,
    render_comparison,
    style_of,
    styles_of,
    x_axis,
)
from pacelab.grid.comparison import Comparison
from pacelab.grid.sweep_plots import Points, load_points, plot_flows
from pacelab.options.settings import BY_FIELD
from pacelab.results.quantities import find_quantity
from pacelab.running.runner import run
from pacelab.schemes import SCHEMES
from pacelab.schemes.style import LINES, OTHER, OTHERS
from tests.pacelab.colour_vision import DISTINCT, distance


def comparison(axes: dict[str, list[Any]], points: list[dict[str, Any]]) -> Comparison:
    """A comparison of two schemes with 100 kbit/s per list index; tcp-gap has 10 % more."""
    rows = [
        {
            "point": point,
            "scheme": scheme,
            "goodput_bps": {"mean": 1e5 * place * factor, "half_width": 5e3, "samples": [1.0] * 5},
            "gain": factor - 1,
            "gain_half_width": None if scheme == "newreno" else 0.02,
        }
        for place, point in enumerate(points, start=1)
        for scheme, factor in (("newreno", 1.0), ("tcp-gap", 1.1))
    ]
    document = {
        "config": Experiment().config(),
        "axes": axes,
        "schemes": ["newreno", "tcp-gap"],
        "seeds": [1, 2, 3, 4, 5],
        "interval": {"level": 0.95, "over": "seeds"},
        "rows": rows,
    }
    return Comparison(compare=document, host={})


HOPS = comparison({"hops": [1, 2]}, [{"hops": 1}, {"hops": 2}])


def test_plot_goodput_draws_each_scheme_with_its_own_style() -> None:
    ax = plot_goodput(HOPS, Figure().subplots())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("wireless hops", "goodput (kbit/s)")
    bars = ax.containers
    assert [list(bar.lines[0].get_ydata()) for bar in bars] == [[100, 200], [pytest.approx(110), pytest.approx(220)]]
    assert [bar.lines[0].get_color() for bar in bars] == [SCHEMES[name].style.color for name in ("newreno", "tcp-gap")]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["newreno", "tcp-gap"]


def alike(looks: dict[str, Any]) -> list[str]:
    """Pairs of schemes with equal styles."""
    return [name for name, look in looks.items() if list(looks.values()).count(look) > 1]


def test_every_scheme_has_a_style_of_its_own() -> None:
    styles = {name: scheme.style for name, scheme in SCHEMES.items()}
    plain = [name for name, style in styles.items() if style == OTHER]
    assert not plain, f"{plain}: a scheme needs a `style` in its paper's module in pacelab/schemes/"
    # A colour is a family, and lines differ within it. Without colour, markers distinguish all schemes.
    same = alike({name: (style.color, style.linestyle) for name, style in styles.items()})
    assert not same, f"{same} have one colour and line: a scheme's `style` needs a line that no other of its colour has"
    same = alike({name: style.marker for name, style in styles.items()})
    assert not same, f"{same} have one marker: a scheme's `style` needs a marker that no other scheme has"


def test_colours_of_schemes_can_be_told_apart() -> None:
    """Also by readers with colour blindness. `tests/lite/run_figures.py` tests the tones of light and dark pages."""
    colors = sorted({scheme.style.color for scheme in SCHEMES.values()})
    close = {pair: round(distance(*pair), 1) for pair in combinations(colors, 2) if distance(*pair) < DISTINCT}
    assert not close, f"{close}: schemes may have one colour and different lines, but not two colours that look alike"


def test_known_colours_have_known_distances() -> None:
    assert distance("#000000", "#ffffff") == pytest.approx(100, abs=0.1)
    assert distance("#bd8405", "#d55e00") < 5  # an orange and a red that are one colour without green cones


def test_schemes_that_are_often_in_one_figure_have_different_colours() -> None:
    for names in (
        ("newreno", "tcp-gap", "tcp-gap-nogc", "tcp-gap-eval", "tcp-ap", "lred+pacing"),
        ("newreno", "lred", "lred-ecn", "link-pacing", "lred+pacing", "lred-ecn+pacing"),
        ("newreno", "tcp-gap", "vagp", "data-pacing", "ack-pacing"),
        ("newreno", "delayed-ack", "tcp-ap"),
    ):
        assert len({SCHEMES[name].style.color for name in names}) == len(names), names


def test_those_that_look_alike_are_named() -> None:
    assert alike({"a": "o", "b": "x", "c": "o"}) == ["a", "c"]


def test_two_schemes_without_a_style_are_distinguishable() -> None:
    found = styles_of(["newreno", "cubic", "mine", "tcp-gap"])
    assert (found["newreno"], found["tcp-gap"]) == (SCHEMES["newreno"].style, SCHEMES["tcp-gap"].style)
    assert (found["cubic"], found["mine"]) == OTHERS[:2]
    taken = {style.marker for style in OTHERS} & {scheme.style.marker for scheme in SCHEMES.values()}
    assert not taken, f"{taken}: markers of `OTHERS` (scheme.py), for schemes without a style: no scheme may have them"
    assert len({style.marker for style in OTHERS}) == len(OTHERS)
    assert len(set(styles_of([f"mine{number}" for number in range(12)]).values())) == 12


def test_plot_gain_is_in_percent_with_its_interval() -> None:
    points = [{"hops": h} for h in (1, 2)]
    ax = plot_gain(comparison({"hops": [1, 2]}, points), Figure().subplots())
    [gain] = ax.containers
    assert list(gain.lines[0].get_ydata()) == pytest.approx([10, 10])
    [bars] = gain.lines[2]
    assert [list(bar[:, 1]) for bar in bars.get_segments()] == [pytest.approx([8, 12])] * 2


def test_plot_goodput_picks_one_point_of_the_other_options() -> None:
    points = [{"direction": d, "hops": h} for d in ("up", "down") for h in (1, 2)]
    both = comparison({"direction": ["up", "down"], "hops": [1, 2]}, points)
    ax = plot_goodput(both, Figure().subplots(), point={"direction": "down"})
    assert list(ax.containers[0].lines[0].get_ydata()) == [300, 400]
    assert ax.get_title() == "direction down"


@pytest.mark.parametrize(("count", "step"), [(2, 0.06), (8, 0.06), (30, 0.02)])
def test_no_interval_covers_another(count: int, step: float) -> None:
    lines = [spread([5, 1, 3], place, count) for place in range(count)]
    assert [after[0] - before[0] for before, after in pairwise(lines)] == [pytest.approx(2 * step)] * (count - 1)
    assert [sum(line[1] for line in lines) / count, sum(line[2] for line in lines) / count] == pytest.approx([1, 3])


def test_schemes_of_a_comparison_are_side_by_side() -> None:
    some = deepcopy(comparison({"hops": [1, 2, 9]}, [{"hops": hops} for hops in (1, 2, 9)]))
    del some.rows[-3]  # tcp-gap with 2 hops, like a scheme that cannot act there
    drawn = [list(bar.lines[0].get_xdata()) for bar in plot_goodput(some, Figure().subplots()).containers]
    assert drawn == [pytest.approx([0.97, 1.97, 8.97]), pytest.approx([1.03, 9.03])]


def test_numbers_along_an_axis_do_not_overlap() -> None:
    many = comparison({"window_pkts": list(range(1, 61))}, [{"window_pkts": window} for window in range(1, 61)])
    ax = plot_goodput(many, Figure(figsize=(4.5, 3.2)).subplots())
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert len(boxes) > 10
    assert all(before.x1 < after.x0 for before, after in pairwise(boxes))


@pytest.mark.parametrize(
    ("field", "label"),
    [
        ("cbr_rate_bps", "cbr-rate (Mbit/s)"),
        ("ampdu_spacing_ns", "ampdu-spacing (us)"),
        ("ping_interval_s", "ping (s)"),
        ("queue_pkts", "queue (packets)"),
        ("retry_short", "retry-short"),
        ("wired_hops", "wired_hops"),
    ],
)
def test_an_axis_has_the_unit_of_its_numbers(field: str, label: str) -> None:
    assert axis_label(field) == label


def test_every_option_with_a_number_has_a_label_with_its_unit() -> None:
    fields = [name for name, option in BY_FIELD.items() if isinstance(option.domain, Real | Whole)]
    assert not [
        axis_label(name) for name in fields if name.endswith(("_s", "_ns", "_bps")) and "(" not in axis_label(name)
    ]


def test_the_text_of_a_panel_without_values_is_beside_the_line_of_zero() -> None:
    unknown = deepcopy(HOPS)
    for row in unknown.rows:
        row["gain"] = row["gain_half_width"] = None
    ax = plot_gain(unknown, Figure().subplots())
    (text,) = [text for text in ax.texts if text.get_text() == "no run has a value"]
    ax.figure.draw_without_rendering()
    box, zero_px = text.get_window_extent(), ax.transData.transform((0, 0))[1]
    assert box.y0 > zero_px


def test_x_axis_prefers_hops_then_any_number() -> None:
    assert x_axis(comparison({"window_pkts": [1, 2], "hops": [1, 2]}, [])) == "hops"
    assert x_axis(comparison({"routing": ["static", "aodv"], "window_pkts": [1, 2]}, [])) == "window_pkts"
    assert x_axis(comparison({"rts": [True, False]}, [])) is None


def test_caption_states_n_seeds_and_interval() -> None:
    assert caption(HOPS) == "n = 5 seeds of 60 s, seeds 1-5; bars: 95% t intervals"
    one = deepcopy(HOPS)
    one.compare["seeds"] = [1]
    for row in one.rows:
        row["goodput_bps"]["samples"] = row["goodput_bps"]["samples"][:1]
    assert caption(one) == "n = 1 seed of 60 s, seed 1; no interval"


def test_a_figure_of_its_own_says_what_its_bars_are_and_there_is_none_of_a_wrong_point() -> None:
    shown = plot_goodput(HOPS).figure
    there = pyplot.get_fignums()
    with pytest.raises(ConfigError, match="point 'hops' must be one of 1, 2, not 3"):
        plot_goodput(HOPS, point={"hops": 3})
    assert pyplot.get_fignums() == there
    pyplot.close(shown)
    assert shown.get_supxlabel() == "n = 5 seeds of 60 s, seeds 1-5; bars: 95% t intervals"


@pytest.mark.parametrize(
    ("axes", "points"),
    [
        ({}, [{}]),
        pytest.param({"rts": [True, False]}, [{"rts": True}, {"rts": False}], marks=pytest.mark.thorough),
        pytest.param({"hops": [1, 2]}, [{"hops": 1}, {"hops": 2}], marks=pytest.mark.thorough),
    ],
)
def test_render_comparison_is_reproducible(axes: dict[str, list[Any]], points: list[dict[str, Any]]) -> None:
    first, second = (render_comparison(comparison(axes, points)) for _ in range(2))
    assert sorted(first) == ["goodput.png", "goodput.svg"]
    assert first == second


def test_both_forms_of_a_figure_have_one_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out, execute = [], ConstrainedLayoutEngine.execute

    def noted(self: ConstrainedLayoutEngine, figure: Figure) -> object:
        laid_out.append(figure)
        return execute(self, figure)

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", noted)
    figure = Figure(figsize=(2, 2), layout="constrained")
    figure.subplots().set_xlabel("x")
    made = images(figure, "f", dpi=50)
    assert (made["f.png"][:4], made["f.svg"][:5]) == (b"\x89PNG", b"<?xml")
    assert laid_out == [figure]


def many(count: int, length: int = 1) -> Comparison:
    """Many schemes without a style, all equal."""
    names = [f"{'x' * length}{number}" for number in range(count)]
    rows = [row | {"scheme": name} for name in names for row in HOPS.rows if row["scheme"] == "newreno"]
    return Comparison(
        compare=HOPS.compare | {"schemes": ["newreno", *names], "rows": [*HOPS.rows[::2], *rows]}, host={}
    )


def test_many_names_are_listed_beside_the_drawing() -> None:
    figure = Figure(layout="constrained")
    ax = plot_goodput(many(20), figure.subplots())
    figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1
    assert min(text.get_fontsize() for text in ax.get_legend().get_texts()) >= 8
    figure = Figure(layout="constrained")
    ax = plot_goodput(many(5), figure.subplots())
    figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().x1 <= ax.get_window_extent().x1


def test_panels_of_many_names_share_one_legend() -> None:
    figure = Figure(layout="constrained")
    panels = [plot_goodput(many(20), panel) for panel in figure.subplots(1, 2)]
    width = figure.get_size_inches()[0]
    share_legend(figure, panels)
    assert [panel.get_legend() for panel in panels] == [None, None]
    assert len(figure.legends[0].get_texts()) == 21
    assert min(text.get_fontsize() for text in figure.legends[0].get_texts()) >= 8
    assert figure.get_size_inches()[0] > width


def width_px(png: bytes) -> int:
    return int.from_bytes(png[16:20], "big")


@pytest.mark.thorough
def test_figures_of_many_names_grow_by_their_one_legend() -> None:
    few, crowded = (render_comparison(many(count))["goodput.png"] for count in (2, 9))
    assert width_px(crowded) > width_px(few) * 1.1
    curves = []
    for count in (2, 9):
        names = many(count).compare["schemes"]
        runs = [
            {"point": {"hops": hops}, "scheme": name, "flows": {"goodput_bps": [1e5 * hops]}}
            for hops in (1, 2)
            for name in names
        ]
        drawn = render_curves(Comparison(compare=many(count).compare | {"runs": runs}, host={}))
        curves.append(width_px(drawn["goodput-cdf.png"]))
    assert curves[1] > curves[0] * 1.1


@pytest.mark.parametrize("count", [8, 26])
def test_no_title_is_hidden_by_the_legend(count: int) -> None:
    figure = Figure(figsize=(8.1, 3.9), layout="constrained")
    panel = figure.subplots()
    for place in range(count):
        panel.plot([place], label=f"scheme {place}")
    share_legend(figure, [panel])
    title = figure.suptitle("chain, voice 2, tcp 2: 802.11a, 12 Mbit/s, RTS off, static routes, window 32")
    image(figure, "png", dpi=50)
    assert not title.get_window_extent().overlaps(figure.legends[0].get_window_extent())


def test_a_long_name_is_shortened_in_figures() -> None:
    ax = plot_goodput(many(1, 60), Figure().subplots())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["newreno", "xxxxxxxxxxx\u2026xxxxxxxxxxx0"]


@pytest.mark.parametrize(("count", "slope"), [(2, 25), (20, 90)])
def test_names_along_an_axis_do_not_overlap(count: int, slope: int) -> None:
    ax = Figure().subplots()
    name_ticks(ax, [f"scheme-{number}" for number in range(count)])
    assert {tick.get_rotation() for tick in ax.get_xticklabels()} == {slope}


def test_equal_schemes_look_equal() -> None:
    same = many(2)
    rows = [row | {"gain": 1e-17, "gain_half_width": 1e-17} for row in same.rows]
    ax = plot_gain(Comparison(compare=same.compare | {"rows": rows}, host={}), Figure().subplots())
    assert ax.get_ylim() == (-1.0, 1.0)


def test_a_logarithmic_axis_has_whole_intervals_above() -> None:
    rows = [
        row | {"goodput_bps": {"mean": mean, "half_width": 9e5, "samples": [1.0]}}
        for row, mean in zip(HOPS.rows, (1e6, 1e6, 1e4, 1e4), strict=True)
    ]
    ax = plot_goodput(Comparison(compare=HOPS.compare | {"rows": rows}, host={}), Figure().subplots())
    assert ax.get_yscale() == "log"
    assert ax.get_ylim()[1] > 1900


@pytest.mark.usefixtures("engine")
def test_flows_of_a_run_are_distinguishable_without_colour() -> None:
    result = run(Experiment(topology="cell", topology_options={"stations": 20}, duration_s=0.1, series_interval_s=0.05))
    drawn = plot_series(result, Figure().subplots()).lines
    assert len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in drawn}) == 20
    assert {line.get_color() for line in drawn} <= {style.color for style in LINES}


def test_the_first_of_very_many_lines_are_named() -> None:
    ax = Figure().subplots()
    for number in range(60):
        ax.plot([0, 1], [number, number], label=f"flow {number}")
    add_legend(ax)
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [f"flow {number}" for number in range(26)]
    assert legend.get_title().get_text() == "the first 26 of 60"


def test_a_comparison_s_title_has_the_hops_and_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr("pacelab.figures.plots.images", lambda figure, _name, dpi: drawn.append(figure) or {})
    options = {"hops": 3, "wired": False, "spacing": 200.0}
    config = Experiment(topology_options=options).config()
    render_comparison(Comparison(compare=comparison({}, [{}]).compare | {"config": config}, host={}))
    title = drawn[0]._suptitle
    assert title.get_text().startswith("chain, hops 3, wired no: 802.11b, 11 Mbit/s, ")
    assert title.get_wrap()


def test_letters_that_no_font_has_are_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    figure = Figure()
    figure.text(0, 0, "n1 \N{RIGHTWARDS ARROW} \U000103a0")
    assert image(figure, "png", dpi=50) == image(figure, "png", dpi=50)
    assert capsys.readouterr().err.count("note: no font here has \U000103a0, so boxes are drawn") == 1


# Distributions over flows and over time: curves by hand, all values visible, equal in compare and plot.

GOODPUT = find_quantity("goodput")


def curve(ax: Axes, place: int = 0) -> list[tuple[float, float]]:
    line = ax.lines[place]
    assert line.get_drawstyle() == "steps-post"
    return list(zip(map(float, line.get_xdata()), map(float, line.get_ydata()), strict=True))  # type: ignore[arg-type]


def test_a_curve_steps_at_each_value() -> None:
    ax = Figure().subplots()
    draw_curves(ax, {"newreno": ([30.0, 10.0, 20.0, 20.0], style_of("newreno"))}, GOODPUT)
    assert curve(ax) == [(10, 0), (10, 0.25), (20, 0.5), (20, 0.75), (30, 1)]
    assert (ax.get_xlabel(), ax.get_ylim()) == ("goodput (kbit/s)", (0, 1.03))
    assert ax.get_xlim() == pytest.approx((0, 31.5))


def test_panels_that_share_an_axis_show_all_values() -> None:
    few, many = {"newreno": ([10.0], style_of("newreno"))}, {"newreno": ([900.0], style_of("newreno"))}
    panels = Figure().subplots(1, 2, sharex=True)
    for panel, curves in zip(panels, (many, few), strict=True):
        draw_curves(panel, curves, GOODPUT, beside=(many, few))
    assert [panel.get_xlim() for panel in panels] == [pytest.approx((0, 945))] * 2


def points() -> Points:
    """Two seeds with two flows each; lred halves one flow and leaves the other."""
    rows = [
        {
            "point": {"rts": rts},
            "scheme": scheme,
            "seed": seed,
            "flows": {"goodput_bps": [1e5 * seed, 3e5 * factor], "rtt_mean_s": [None, 0.1], "mos_mean": []},
        }
        for rts in (True, False)
        for scheme, factor in (("newreno", 1), ("lred", 0.5))
        for seed in (1, 2)
    ]
    axes = {"rts": [True, False], "scheme": ["newreno", "lred"]}
    return Points(config=Experiment().config(), axes=axes, rows=rows)


def test_flows_of_all_seeds_share_one_curve() -> None:
    ax = plot_flows(points(), Figure().subplots(), where={"rts": "on"})
    assert curve(ax) == [(100, 0), (100, 0.25), (200, 0.5), (300, 0.75), (300, 1)]
    assert curve(ax, 1) == [(100, 0), (100, 0.25), (150, 0.5), (150, 0.75), (200, 1)]
    assert ax.lines[1].get_color() == SCHEMES["lred"].style.color
    assert ax.get_ylabel() == "share of flows"
    assert ax.texts[-1].get_text().endswith("n = 4 flows a curve, seeds 1-2")
    times = plot_flows(points(), Figure().subplots(), y="rtt", by=["rts"], where={"scheme": "lred"})
    assert curve(times) == [(100, 0), (100, 0.5), (100, 1)], "what a flow has not is left out"


@pytest.mark.parametrize(
    ("y", "told"),
    [
        (
            "jain",
            "--cdf needs a quantity that each flow has; --y must be one of goodput, "
            "rtt, rtt-p95, resent, timeouts, mos,",
        ),
        ("mos", "--cdf --y mos: no flow of these runs has it"),
    ],
)
def test_quantities_that_no_flow_has_are_refused(y: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        plot_flows(points(), Figure().subplots(), y=y, where={"rts": "on"})


def test_varying_options_are_not_mixed() -> None:
    with pytest.raises(
        ConfigError, match="rts also varies; name it in --by, or pick a value, for example --where rts=on"
    ):
        plot_flows(points(), Figure().subplots())


def test_a_figure_of_too_many_panels_is_refused_first() -> None:
    check_panels({"hops": list(range(6)), "rts": [True, False]})
    with pytest.raises(
        ConfigError, match="--cdf draws at most 12 points, not 14; `pacelab plot DIR --cdf --where A=B` draws one"
    ):
        check_panels({"hops": list(range(7)), "rts": [True, False]})
    with pytest.raises(
        ConfigError,
        match="--cdf needs a quantity that each flow has; --y must be one of goodput, "
        "rtt, rtt-p95, resent, timeouts, mos,",
    ):
        find_distributed("retries")


@pytest.mark.usefixtures("engine")
def test_compare_and_plot_draw_them(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "parallel", "--rts", "on,off", "--schemes", "newreno,lred", "--seconds", "1", "--seeds", "2"]
    assert main([*words, "--jobs", "1", "--cdf", "--out", "c"]) == 0
    assert {path.name for path in Path("c").iterdir()} >= {"goodput.png", "goodput-cdf.png", "goodput-cdf.svg"}
    assert "goodput-cdf.svg" in capsys.readouterr().err
    runs = json.loads(Path("c/compare.json").read_text())["runs"]
    assert all(sum(run["flows"]["goodput_bps"]) == pytest.approx(run["goodput_bps"]) for run in runs)
    assert main(["plot", "c", "--cdf", "--y", "rtt", "--where", "rts=on"]) == 0
    assert Path("c/rtt-cdf.svg").stat().st_size > 1000
    for more, told in (
        (
            ["--x", "rts"],
            "drawn into c/rtt-cdf.svg pacelab: --x cannot be combined with --cdf, whose x axis is the quantity;",
        ),
        (
            ["--y", "jain"],
            "--cdf needs a quantity that each flow has; --y must be one of goodput, "
            "rtt, rtt-p95, resent, timeouts, mos,",
        ),
    ):
        assert main(["plot", "c", "--cdf", *more]) == 2
        assert told in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.usefixtures("engine")
def test_a_runs_curves_are_over_time(in_tmp: Path) -> None:
    result = pacelab.run(Experiment(topology="parallel", duration_s=5))
    ax = plot_moments(result, Figure().subplots(), quantity="goodput")
    expected = sorted(rate / 1000 for rate in result.series["flows"][1]["goodput_bps"])
    assert [x for x, _ in curve(ax, 1)][1:] == pytest.approx(expected)
    assert ax.get_ylabel() == "share of time"
    with pytest.raises(ConfigError, match="no flow of this run has it"):
        plot_moments(result, Figure().subplots(), quantity="mos")
    result.write(Path("run"))
    assert main(["plot", "run", "--cdf", "--y", "cwnd"]) == 0
    assert Path("run/cwnd-cdf.svg").stat().st_size > 1000


def test_a_full_comparison_keeps_its_runs_beside_its_batches(tmp_path: Path) -> None:
    document = {
        "schema_version": 2,
        "config": Experiment().config(),
        "axes": {},
        "schemes": ["newreno"],
        "seeds": [1],
        "interval": {"level": 0.95, "over": "batches"},
        "rows": [{"point": {}, "scheme": "newreno", "goodput_bps": {"samples": [1.0, 3.0]}}],
        "runs": [{"point": {}, "scheme": "newreno", "seed": 1, "flows": {"goodput_bps": [2.0]}}],
    }
    (tmp_path / "compare.json").write_text(json.dumps(document))
    assert len(load_points(tmp_path).rows) == 2
    assert load_points(tmp_path, whole_runs=True).rows == document["runs"]


def test_flows_that_all_have_nothing_are_drawn_without_a_warning() -> None:
    ax = Figure().subplots()
    draw_curves(ax, {"newreno": ([0.0, 0.0], style_of("newreno"))}, find_quantity("timeouts"))
    assert curve(ax) == [(0, 0), (0, 0.5), (0, 1)]
    draw_curves(ax, {}, GOODPUT)
