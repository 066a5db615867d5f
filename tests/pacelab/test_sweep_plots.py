"""Figures of sweeps: hand-computed means and intervals; values that must not be mixed stay separate."""

from __future__ import annotations

import json
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pacelab.cli.main import main
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.grid.sweep_plots import Points, load_points, parse_where, plot_points
from pacelab.schemes import SCHEMES

AXES: dict[str, list[Any]] = {"hops": [1, 2], "rts": [True, False], "scheme": ["newreno", "tcp-gap"]}


def points(**changes: Any) -> Points:
    """Goodput of 100 kbit/s per hop, twice that for tcp-gap, half without RTS, and +-1 kbit/s by seed."""
    rows = [
        {
            "point": {"hops": hops, "rts": rts},
            "scheme": scheme,
            "seed": seed,
            "goodput_bps": 1e5 * hops * factor * (1.0 if rts else 0.5) + offset,
            "rtt_mean_s": None if seed == 1 else 0.25,
        }
        for hops in (1, 2)
        for rts in (True, False)
        for scheme, factor in (("newreno", 1), ("tcp-gap", 2))
        for seed, offset in ((1, -1e3), (2, 0.0), (3, 1e3))
    ]
    return Points(**({"config": Experiment().config(), "axes": AXES, "rows": rows} | changes))


def draw(found: Points, **options: Any) -> Axes:
    return plot_points(found, Figure().subplots(), **options)


def lines(ax: Axes) -> dict[str, tuple[list[float], list[float]]]:
    return {bar.get_label(): (list(bar.lines[0].get_xdata()), list(bar.lines[0].get_ydata())) for bar in ax.containers}


def test_plot_draws_means_and_intervals_by_scheme() -> None:
    ax = draw(points(), x="hops", where={"rts": "on"})
    assert lines(ax) == {
        "newreno": ([0.97, 1.97], [pytest.approx(100), pytest.approx(200)]),
        "tcp-gap": ([1.03, 2.03], [pytest.approx(200), pytest.approx(400)]),
    }
    (bars,) = ax.containers[0].lines[2]
    low, high = (float(y) for y in bars.get_segments()[0][:, 1])
    # three samples 1 kbit/s apart: s = 1, t(0.975, 2) = 4.3027, half width 4.3027 / sqrt(3) = 2.4841
    assert (low, high) == (pytest.approx(97.5159, abs=1e-3), pytest.approx(102.4841, abs=1e-3))
    assert ax.containers[1].lines[0].get_color() == SCHEMES["tcp-gap"].style.color
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("wireless hops", "goodput (kbit/s)")
    assert "n = 3 per point, seeds 1-3; bars: 95% t intervals" in ax.texts[-1].get_text()
    assert ax.get_title(loc="left") == "chain, rts on"


def test_a_title_has_the_hops_that_all_runs_have() -> None:
    axes = {name: values for name, values in AXES.items() if name != "hops"}
    config = Experiment(topology_options={"hops": 2}).config()
    rows = [row | {"point": {"rts": row["point"]["rts"]}} for row in points().rows if row["point"]["hops"] == 2]
    ax = draw(points(config=config, axes=axes, rows=rows), x="rts")
    assert ax.get_title(loc="left") == "chain, hops 2"


def test_rates_are_along_the_axis_as_they_are_written() -> None:
    axes: dict[str, list[Any]] = {"rate_bps": [1_000_000, 5_500_000, 11_000_000], "scheme": ["newreno"]}
    rows = [
        {"point": {"rate_bps": rate_bps}, "scheme": "newreno", "seed": 1, "goodput_bps": 1.0}
        for rate_bps in axes["rate_bps"]
    ]
    ax = draw(points(axes=axes, rows=rows))
    assert ax.get_xlabel() == "802.11 data rate (Mbit/s)"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "5.5", "11"]


def test_numbers_along_the_axis_do_not_overlap() -> None:
    axes: dict[str, list[Any]] = {"cbr_rate_bps": [place * 1_000_000 for place in range(1, 51)], "scheme": ["newreno"]}
    rows = [
        {"point": {"cbr_rate_bps": rate_bps}, "scheme": "newreno", "seed": 1, "goodput_bps": 1.0}
        for rate_bps in axes["cbr_rate_bps"]
    ]
    ax = draw(points(axes=axes, rows=rows))
    assert ax.get_xlabel() == "cbr-rate (Mbit/s)"
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert [label.get_text() for label in ax.get_xticklabels()][:2] == ["1", "4"]
    assert all(before.x1 < after.x0 for before, after in pairwise(boxes))


def test_where_accepts_the_values_of_an_experiment() -> None:
    one, other = (draw(points(), x="hops", where=where) for where in ({"rts": "on"}, {"rts": True}))
    assert lines(one) == lines(other)


def test_plot_draws_a_line_for_each_combination() -> None:
    ax = draw(points(), x="hops", by=["scheme", "rts"])
    assert list(lines(ax)) == ["newreno, rts on", "tcp-gap, rts on", "newreno, rts off", "tcp-gap, rts off"]
    looks = {(bar.lines[0].get_color(), bar.lines[0].get_marker()) for bar in ax.containers}
    assert len(looks) == 4


def test_no_two_lines_look_alike() -> None:
    axes: dict[str, list[Any]] = {"hops": [1], "window_pkts": list(range(1, 21)), "scheme": ["newreno"]}
    rows = [
        {"point": {"hops": 1, "window_pkts": window}, "scheme": "newreno", "seed": 1, "goodput_bps": 1.0}
        for window in axes["window_pkts"]
    ]
    drawn = [bar.lines[0] for bar in draw(points(axes=axes, rows=rows), x="hops", by=["window"]).containers]
    assert len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in drawn}) == len(rows)


def test_plot_against_a_name_has_no_lines_between() -> None:
    ax = draw(points(), x="scheme", by=["rts"], where={"hops": "2"})
    assert [label.get_text() for label in ax.get_xticklabels()] == ["newreno", "tcp-gap"]
    assert {bar.lines[0].get_linestyle() for bar in ax.containers} == {"None"}
    assert lines(ax)["rts off"][1] == [pytest.approx(100), pytest.approx(200)]


def test_plot_leaves_out_what_was_not_measured() -> None:
    ax = draw(points(), x="hops", y="rtt_mean_s", where={"rts": "on"})
    assert lines(ax)["newreno"] == ([0.97, 1.97], [pytest.approx(250), pytest.approx(250)])
    assert "n = 2 per point" in ax.texts[-1].get_text()


def test_plot_names_no_line_that_has_no_point() -> None:
    rows = [row | {"rtt_mean_s": None} if row["scheme"] == "tcp-gap" else row for row in points().rows]
    ax = draw(points(rows=rows), x="hops", y="rtt", where={"rts": "on"})
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["newreno"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"x": "hops"}, "rts also varies; name it in --by, or pick a value, for example --where rts=on"),
        ({"x": "spacing"}, "--x must be one of hops, rts, scheme, not 'spacing'"),
        ({"x": "hops", "by": ["colour"]}, "--by must be one of hops, rts, scheme, not 'colour'"),
        ({"x": "hops", "where": {"rts": "maybe"}}, "--where rts must be one of on, off, not maybe"),
        ({"x": "hops", "y": "gooput"}, r"did you mean 'goodput'\?"),
        ({"x": "hops", "y": "mos"}, "no run of the folder has --y mos; use one of goodput, rtt"),
        (
            {"x": "hops", "y": "beauty", "where": {"rts": "on"}},
            "--y must be one of goodput, throughput, jain, rtt, rtt-p95, ping, ping-p95, delivered, resent,",
        ),
    ],
)
def test_plot_refuses_to_mix_or_guess(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says.replace("(", r"\(")):
        draw(points(), **options)


def test_two_values_of_an_option_are_refused() -> None:
    with pytest.raises(ConfigError, match="--where 'rts=off' and rts=on name the same option; give one value"):
        parse_where(["hops=1", "rts=on", "rts=off"])


def test_a_full_comparisons_batches_are_points(tmp_path: Path) -> None:
    document = {
        "schema_version": 2,
        "config": Experiment().config(),
        "axes": {"hops": [1]},
        "schemes": ["newreno"],
        "seeds": [1],
        "interval": {"level": 0.95, "over": "batches"},
        "rows": [{"point": {"hops": 1}, "scheme": "newreno", "goodput_bps": {"samples": [1.0, 3.0]}}],
    }
    (tmp_path / "compare.json").write_text(json.dumps(document))
    assert [row["goodput_bps"] for row in load_points(tmp_path).rows] == [1.0, 3.0]
    assert load_points(str(tmp_path)) == load_points(tmp_path)
    (tmp_path / "compare.json").write_text(json.dumps(document | {"schema_version": 1}))
    with pytest.raises(ConfigError, match="folder '"):
        load_points(tmp_path)


@pytest.mark.usefixtures("engine")
def test_any_quantity_of_a_comparison_can_be_plotted(in_tmp: Path) -> None:
    assert main(shlex.split("compare chain --hops 1,2 --seeds 2 --seconds 1 --jobs 1 --out c --quiet")) == 0
    rows = load_points(Path("c")).rows
    assert {(row["point"]["hops"], row["scheme"], row["seed"]) for row in rows} == {
        (hops, scheme, seed) for hops in (1, 2) for scheme in ("newreno", "tcp-gap") for seed in (1, 2)
    }
    assert main(["plot", "c", "--x", "hops", "--y", "rtt_mean_s", "--out", "rtt.svg"]) == 0
    assert Path("rtt.svg").stat().st_size > 1000


@pytest.mark.usefixtures("engine")
def test_the_command_that_a_sweep_names_draws_it(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["sweep", "cell", "--stations", "1", "--seconds", "0.1", "--jobs", "1"]
    for more in ([], ["--window", "1,2"], ["--window", "1,2", "--rts", "on,off", "--queue", "50"]):
        assert main([*small, *more, "--out", f"my sweep{len(more)}"]) == 0
        told = capsys.readouterr().err.rpartition("to draw it: pacelab ")[2]
        assert main(shlex.split(told)) == 0, told


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_plot_without_by_draws_a_line_for_whatever_varies(in_tmp: Path) -> None:
    small = ["sweep", "chain", "--hops", "1", "--seconds", "0.1", "--jobs", "1", "--quiet", "--out", "s"]
    assert main([*small, "--window", "1,2", "--rts", "on,off", "--schemes", "newreno,delayed-ack"]) == 0
    assert main(["plot", "s", "--x", "window", "--by", "scheme,rts", "--out", "named.svg"]) == 0
    assert main(["plot", "s", "--x", "window", "--out", "default.svg"]) == 0
    assert Path("default.svg").read_bytes() == Path("named.svg").read_bytes()
    assert main(["plot", "s", "--x", "scheme", "--by", "window", "--where", "rts=on", "--out", "named.svg"]) == 0
    assert main(["plot", "s", "--x", "scheme", "--where", "rts=on", "--out", "default.svg"]) == 0
    assert Path("default.svg").read_bytes() == Path("named.svg").read_bytes()
    assert main(["plot", "s", "--cdf", "--out", "cdf.svg"]) == 0


def test_plot_command_draws_a_sweep_and_a_run(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split("sweep chain --hops 1,2 --seeds 2 --seconds 1 --jobs 1 --out s --quiet")) == 0
    assert main(["plot", "s", "--x", "hops", "--y", "goodput", "--by", "scheme"]) == 0
    content = Path("s/goodput.svg").read_bytes()
    assert main(["plot", "s", "--out", "again.svg"]) == 0
    assert Path("again.svg").read_bytes() == content, "the first option that varies is the default"
    folder = next(iter(Path("s/runs").iterdir()))
    assert main(["plot", str(folder), "--y", "cwnd_pkts", "--out", "run.png"]) == 0
    assert Path("run.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    assert main(["plot", "s/runs"]) == 2
    assert (
        "folder 's/runs' holds no finished sweep or comparison (No such file or directory); give the folder"
        in capsys.readouterr().err
    )
    Path("s/sweep.json").rename("kept.json")
    assert main(["plot", "s"]) == 2
    assert "the sweep in 's' is not finished; repeat its command to continue" in capsys.readouterr().err.replace(
        "\n", " "
    )
    for given, told in (
        ("beauty", "--y must be one of goodput, throughput, jain, rtt, rtt-p95, ping, ping-p95, delivered, resent,"),
        ("jain", "one of goodput, rtt, mos"),
    ):
        assert main(["plot", str(folder), "--y", given]) == 2
        assert told in capsys.readouterr().err.replace("\n", " ")
    for given in (["--x", "hops"], ["--by", "hops"], ["--where", "hops=1"]):
        assert main(["plot", str(folder), *given]) == 2
        assert "holds a single run, in which no option varies" in capsys.readouterr().err


def test_why_a_run_has_no_such_series_is_true_of_it(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seconds, y, told in (
        ("0.5", "goodput", "this run is shorter than one interval of its time series, 1 s"),
        ("1", "mos", "no flow of this run has it; use one of goodput, rtt, cwnd"),
    ):
        assert main(["run", "chain", "--hops", "1", "--no-wired", "--seconds", seconds, "--out", seconds]) == 0
        for more in ([], ["--cdf"]):
            assert main(["plot", seconds, "--y", y, *more]) == 2
            assert f"--y {y}: {told}" in capsys.readouterr().err
