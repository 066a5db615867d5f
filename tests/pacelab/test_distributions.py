"""Distributions over flows and over time: curves by hand, all values in sight, the same in compare and plot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import pacelab
from pacelab.cli.main import main
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.grid.sweep_plots import Points, load_points, plot_flows
from pacelab.results.quantities import find_quantity
from pacelab.schemes import SCHEMES
from pacelab.show.distributions import check_panels, draw_curves, find_distributed, plot_moments
from pacelab.show.plots import style_of

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
    """Two seeds of two flows each; lred halves the one and leaves the other."""
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


def test_flows_of_all_seeds_stand_in_one_curve() -> None:
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
        ("jain", "--cdf --y jain: it is not a flow's: allowed is one of goodput, rtt"),
        ("mos", "--cdf --y mos: no flow of these runs has it"),
    ],
)
def test_what_no_flow_has_is_refused(y: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        plot_flows(points(), Figure().subplots(), y=y, where={"rts": "on"})


def test_what_varies_is_not_mixed() -> None:
    with pytest.raises(ConfigError, match="rts varies too: name it in --by"):
        plot_flows(points(), Figure().subplots())


def test_a_figure_of_too_many_panels_is_refused_first() -> None:
    check_panels({"hops": list(range(6)), "rts": [True, False]})
    with pytest.raises(ConfigError, match="--cdf over 14 points: allowed are 12"):
        check_panels({"hops": list(range(7)), "rts": [True, False]})
    with pytest.raises(ConfigError, match="not a flow's"):
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
    for more, told in ((["--x", "rts"], "--x with --cdf"), (["--y", "jain"], "it is not a flow's")):
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
