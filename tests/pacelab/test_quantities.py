"""Quantities and their measures against hand-computed values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import pacelab
from pacelab.cli.main import main
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.figures.plots import caption, find_series, plot_difference, plot_quantity, plot_series
from pacelab.figures.tables import quantity_table
from pacelab.grid.comparison import Comparison, compare
from pacelab.results.metrics import (
    airtime_shares,
    batch_rates_bps,
    estimate,
    group_goodputs,
    jain,
    jain_per_hop,
    jain_times_hops,
    link_loss,
    log_utility,
    loss_curve,
    ratio,
    window_quantile,
)
from pacelab.results.quantities import QUANTITIES, SHORT_NAMES, find_quantity, read_flows, read_quantities
from pacelab_labs import figures

# Fairness, utility, loss, windows, t intervals and batch rates against hand-computed values.


def test_jain_by_hand() -> None:
    assert jain([5.0, 5.0, 5.0]) == 1.0
    assert jain([7.0, 0.0]) == 0.5
    assert jain([1.0, 2.0, 3.0]) == pytest.approx(36 / 42)  # (1+2+3)^2 / (3 (1+4+9))


def test_jain_of_silent_flows_is_undefined() -> None:
    assert jain([0.0, 0.0]) is None


@given(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=20))
def test_jain_lies_between_one_over_n_and_one(rates: list[float]) -> None:
    index = jain(rates)
    assert index is not None
    assert 1 / len(rates) - 1e-12 <= index <= 1 + 1e-12


def test_jain_by_hops_by_hand() -> None:
    # 1 Mbit/s over 4 hops and 2 Mbit/s over 2 hops cost the air the same; per hop they are 0.25 and 1
    assert jain_times_hops([1e6, 2e6], [4, 2]) == 1.0
    assert jain_per_hop([1e6, 2e6], [4, 2]) == pytest.approx(1.25**2 / (2 * 1.0625))
    assert jain_per_hop([1e6, 2e6], [0, 2]) is None


def test_log_utility_is_in_natural_logarithms_of_bits_per_second() -> None:
    # ln 1000 = 6.907755, ln 1e6 = 13.815511
    assert log_utility([1e3, 1e6]) == pytest.approx(20.723266, abs=1e-6)
    assert log_utility([1e6, 0.0]) == 0.0


def test_ratio_of_nothing_is_undefined() -> None:
    assert (ratio(1, 4), ratio(0, 0)) == (0.25, None)


def link(a: str, b: str, kind: str, *, delivered: int, rts: int, data: int, attempts: int) -> dict[str, object]:
    return {
        **{"from": a, "to": b, "class": kind, "delivered": delivered},
        **{"drops_rts": rts, "drops_data": data, "attempts": attempts},
    }


RUN = {
    "config": {"warmup_s": 10.0},
    "totals": {"end_s": 60.0},
    "nodes": [{"name": "a", "airtime_s": 20.0}, {"name": "b", "airtime_s": 5.0}],
    "links": [
        link("a", "b", "tcp-data", delivered=90, rts=6, data=4, attempts=150),
        link("a", "b", "routing", delivered=10, rts=0, data=0, attempts=10),
        link("b", "a", "tcp-ack", delivered=0, rts=0, data=0, attempts=0),
    ],
    "flows": [
        {"id": 0, "group": 0, "goodput_bps": 1.0},
        {"id": 1, "group": 1, "goodput_bps": 2.0},
        {"id": 2, "group": 0, "goodput_bps": 4.0},
    ],
}


def test_link_loss_by_hand() -> None:
    loss = link_loss(RUN, kind="tcp-data")
    assert loss == {
        ("a", "b"): {
            **{"offered_pkts": 100, "dropped_pkts": 10, "drops_rts": 6, "drops_data": 4},
            **{"drop_probability": 0.1, "attempts_mean": 1.5},
        }
    }
    everything = link_loss(RUN)
    assert everything is not None
    assert everything["a", "b"]["drop_probability"] == pytest.approx(10 / 110)
    assert everything["b", "a"]["drop_probability"] is None
    assert link_loss({"links": None}) is None


def test_airtime_shares_are_of_the_measured_interval() -> None:
    assert airtime_shares(RUN) == {"a": 0.4, "b": 0.1}


def test_group_goodputs_add_up_transfers_of_one_flow() -> None:
    assert group_goodputs(RUN) == [5.0, 2.0]


def test_loss_curve_is_in_the_order_of_load_and_leaves_silence_out() -> None:
    runs = [
        {"totals": {"offered_bps": load, "link_drop_probability": p}}
        for load, p in ((3e5, 0.02), (1e5, 0.01), (0, None))
    ]
    assert loss_curve(runs) == [(1e5, 0.01), (3e5, 0.02)]


def test_window_quantiles_by_hand() -> None:
    shares = {"10": 0.25, "9": 0.5, "2": 0.25}
    assert [window_quantile(shares, q) for q in (0.05, 0.25, 0.5, 0.75, 0.76, 1.0)] == [2, 2, 9, 9, 10, 10]


def test_estimate_by_hand() -> None:
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.mean == 3.0
    # s^2 = 10/4, s/sqrt(5) = 0.70711; t(0.975; 4) = 2.7764 from a printed table
    assert found.half_width == pytest.approx(2.7764 * math.sqrt(2.5 / 5), rel=1e-4)


def test_estimate_of_two_samples() -> None:
    assert estimate([0.0, 2.0]).half_width == pytest.approx(12.706, rel=1e-4)  # t(0.975; 1), s/sqrt(2) = 1


def test_estimate_of_one_sample_has_no_interval() -> None:
    assert (estimate([7.0]).mean, estimate([7.0]).half_width) == (7.0, None)


def test_batch_rates_discard_the_first_batch() -> None:
    # 5000 packets of 1460 bytes are 58.4 Mbit; then 20 s and 10 s
    assert batch_rates_bps([100.0, 120.0, 130.0], batch_pkts=5000, payload_bytes=1460) == [2_920_000, 5_840_000]


# Quantities: known by their names, computed from a run by hand, shown equally by compare, plot and labs.


def comparison(**differing: Any) -> Comparison:
    """Jain's index of two schemes over three seeds, at one point."""
    values = {"newreno": [0.5, 0.6, 0.7], "tcp-gap": [0.6, 0.8, 0.7]} | differing
    runs = [
        {"point": {}, "scheme": scheme, "seed": seed, **{one.name: None for one in QUANTITIES}, "jain": value}
        for scheme, samples in values.items()
        for seed, value in enumerate(samples, start=1)
    ]
    document = {
        "config": Experiment().config(),
        "axes": {},
        "schemes": list(values),
        "seeds": [1, 2, 3],
        "interval": {"level": 0.95, "over": "seeds"},
        "rows": [{"point": {}, "scheme": scheme} for scheme in values],
        "runs": runs,
        "notes": [],
    }
    return Comparison(compare=document, host={})


def test_a_quantity_has_names_of_its_own() -> None:
    names = [name for one in QUANTITIES for name in {one.name, one.short, one.series} - {None}]
    assert len(names) == len(set(names))
    assert find_quantity("rtt") is find_quantity("rtt_mean_s") is find_quantity("rtt_s")
    assert find_quantity("rtt").label == "mean round-trip time (ms)"
    assert find_quantity("rtt").label_of_one == "round-trip time (ms)"
    assert find_quantity("jain").label == "Jain's index"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("jian", r"did you mean 'jain'\?"),
        ("retrys", "did you mean 'retries'"),
        (
            "x",
            "--y must be one of goodput, throughput, jain, rtt, rtt-p95, ping, ping-p95, delivered, resent, timeouts,",
        ),
    ],
)
def test_an_unknown_quantity_is_refused_with_a_similar_one(given: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        find_quantity(given)


def test_quantities_without_a_series_are_refused_over_time() -> None:
    assert find_series("cwnd").series == "cwnd_pkts"
    with pytest.raises(ConfigError, match="--y jain has no time series; use one of goodput, rtt, mos, delay, cwnd"):
        find_series("jain")


def test_a_missing_round_trip_is_none_in_the_series() -> None:
    flow = {"rtt_s": [0.0, 0.25, None], "cwnd_pkts": [0.0, 2.0, None], "goodput_bps": [0.0, 1e3, None]}
    told = {name: str(find_quantity(name).over_time(flow)) for name in ("rtt", "cwnd", "goodput", "mos")}
    expected = {"rtt": "[nan, 250.0, nan]", "cwnd": "[nan, 2.0, nan]", "goodput": "[0.0, 1.0, nan]", "mos": "[]"}
    assert told == expected


def test_a_difference_is_taken_seed_by_seed() -> None:
    # 0.1, 0.2, 0.0: mean 0.1, s 0.1, t of 2 degrees of freedom 4.3027: half width 4.3027 * 0.1 / sqrt(3) = 0.24841
    found = comparison().with_quantity("jain")
    first, second = found.rows
    assert first["y"]["mean"] == pytest.approx(0.6)
    assert first["difference"] is None
    assert second["y"]["mean"] == pytest.approx(0.7)
    assert second["difference"]["samples"] == pytest.approx([0.1, 0.2, 0.0])
    assert second["difference"]["mean"] == pytest.approx(0.1)
    assert second["difference"]["half_width"] == pytest.approx(0.24841, abs=1e-5)
    ax = plot_difference(found, Figure().subplots())
    assert list(ax.containers[0].lines[0].get_ydata()) == [pytest.approx(0.1)]
    assert ax.get_ylabel() == "jain minus newreno's"


def test_a_seed_that_one_of_the_two_has_not_is_left_out() -> None:
    second = comparison(**{"tcp-gap": [0.6, None, 0.8]}).with_quantity("jain").rows[1]
    assert second["difference"]["samples"] == pytest.approx([0.1, 0.1])
    nothing = comparison(**{"tcp-gap": [None, None, None]}).with_quantity("jain").rows[1]
    assert (nothing["y"], nothing["difference"]) == (None, None)


def test_its_table_and_figure_are_of_what_was_asked_for() -> None:
    found = comparison().with_quantity("jain")
    table = quantity_table(found)
    assert [str(column.header) for column in table.columns] == ["scheme", "jain", "±", "minus newreno", "±"]
    assert [list(column.cells) for column in table.columns] == [
        ["newreno", "tcp-gap"],
        ["0.600", "0.700"],
        ["0.248", "0.248"],
        ["", "+0.100"],
        ["", "0.248"],
    ]
    ax = plot_quantity(found, Figure().subplots())
    assert (ax.get_ylabel(), ax.get_ylim()) == ("Jain's index", (0.0, 1.05))
    assert caption(found).startswith("n = 3 seeds")


def test_quantities_that_no_run_has_are_reported() -> None:
    assert comparison().with_quantity("mos").compare["notes"] == [
        "no run has MOS, mean of the calls: there are no calls"
    ]


@pytest.mark.parametrize(("y", "told"), [("mos", ["no run has a value"]), ("jain", [])])
@pytest.mark.parametrize("plot", [plot_quantity, plot_difference])
def test_empty_axes_show_a_note(plot: Callable[..., Axes], y: str, told: list[str]) -> None:
    assert [text.get_text() for text in plot(comparison().with_quantity(y), Figure().subplots()).texts] == told


def test_a_note_gives_the_number_of_runs_and_the_first_points() -> None:
    at_one, points = comparison(), [{"hops": hops} for hops in range(1, 6)]
    runs = [
        run | {"point": point, "jain": None if point["hops"] > 1 and run["seed"] == 2 else run["jain"]}
        for point in points
        for run in at_one.compare["runs"]
    ]
    rows = [row | {"point": point} for point in points for row in at_one.rows]
    document = at_one.compare | {"axes": {"hops": [1, 2, 3, 4, 5]}, "rows": rows, "runs": runs}
    notes = Comparison(compare=document, host={}).with_quantity("jain").compare["notes"]
    told = "no Jain's index in 1 of 3 runs (at hops 2; hops 3; hops 4; and 1 more)"
    assert notes == [f"{scheme}: {told}" for scheme in ("newreno", "tcp-gap")]


@pytest.mark.usefixtures("engine")
def test_they_are_read_off_a_run() -> None:
    run = pacelab.run(Experiment(topology="parallel", duration_s=3, warmup_s=1)).run
    found, flows = read_quantities(run), read_flows(run)
    assert found["retries"] == sum(node["retries"] for node in run["nodes"]) > 0
    assert found["dropped_pkts"] == run["totals"]["dropped_pkts"]
    assert found["hook_actions"] == 0
    assert found["mos_mean"] is found["delay_mean_s"] is None
    assert len(run["flows"]) > 1
    assert flows["goodput_bps"] == [flow["goodput_bps"] for flow in run["flows"]]
    known = [value for value in flows["rtt_mean_s"] if value is not None]
    assert found["rtt_mean_s"] == pytest.approx(sum(known) / len(known))
    assert sum(flows["timeouts"]) == found["timeouts"]  # type: ignore[arg-type]


@pytest.mark.usefixtures("engine")
def test_quantities_of_calls_are_read_for_runs_and_flows() -> None:
    run = pacelab.run(Experiment(topology_options={"hops": 2}, traffic="voice", duration_s=3)).run
    found, flows = read_quantities(run), read_flows(run)
    assert found["mos_mean"] == pytest.approx(sum(flows["mos_mean"]) / len(run["calls"]))  # type: ignore[arg-type]
    assert found["mos_worst"] == min(flows["mos_worst"])  # type: ignore[type-var]
    assert found["delay_mean_s"] == pytest.approx(run["calls"][0]["delay_mean_s"])
    assert (flows["goodput_bps"], found["rtt_mean_s"]) == ([], None)


@pytest.mark.usefixtures("engine")
def test_compare_plot_and_labs_call_them_alike(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "chain", "--hops", "2,3", "--seconds", "1", "--seeds", "2", "--jobs", "1", "--y", "rtt"]
    assert main([*words, "--out", "c"]) == 0
    out, err = capsys.readouterr()
    assert "mean round-trip time (ms)" in out
    assert "minus newreno" in out
    assert str(in_tmp / "c" / "rtt.png") in err.replace("\n", "")
    assert sorted(path.name for path in Path("c").iterdir()) == [
        "compare.json",
        "host.json",
        "rtt.png",
        "rtt.svg",
        "table.csv",
    ]
    header = Path("c/table.csv").read_text().splitlines()[0]
    assert header.endswith(",rtt_mean_s,y_half_width,difference,difference_half_width")
    document = json.loads(Path("c/compare.json").read_text())
    assert document["y"] == "rtt_mean_s"
    by_seed = {(run["point"]["hops"], run["scheme"], run["seed"]): run["rtt_mean_s"] for run in document["runs"]}
    for row in document["rows"]:
        at = row["point"]["hops"]
        assert row["y"]["samples"] == [by_seed[at, row["scheme"], seed] for seed in (1, 2)]
        if row["scheme"] == "tcp-gap":
            told = [by_seed[at, "tcp-gap", seed] - by_seed[at, "newreno", seed] for seed in (1, 2)]
            assert row["difference"]["samples"] == told
    result = pacelab.run(Experiment(topology_options={"hops": 2}, duration_s=2))
    assert plot_series(result, Figure().subplots(), quantity="rtt").get_ylabel() == "round-trip time (ms)"
    assert figures.series(result, "rtt").png == figures.series(result, "rtt_s").png
    found = Comparison(compare=document, host={})
    assert figures.comparison(found, y="jain").text.startswith("Jain's index. hops 2 newreno: 1")
    told = figures.comparison(found).text
    assert told == figures.comparison(found, y="goodput").text
    assert told.startswith("Goodput in kbit/s. hops 2 newreno: ")


@pytest.mark.usefixtures("engine")
def test_a_flow_without_round_trips_is_not_drawn_at_0_ms() -> None:
    udp = pacelab.run(Experiment(topology="hidden", traffic="udp-saturated", duration_s=2))
    with pytest.raises(ConfigError, match="--y rtt: no flow of this run has it; use one of goodput"):
        plot_series(udp, Figure().subplots(), quantity="rtt")


@pytest.mark.usefixtures("engine")
def test_asking_for_calls_where_there_are_none_is_refused_first(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "chain", "--hops", "2,3", "--y", "mos"]) == 2
    assert "--y mos needs voice calls; add some, for example with --traffic voice" in capsys.readouterr().err
    assert main(["compare", "chain", "--y", "jian"]) == 2
    assert "did you mean 'jain'?" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["compare", "plot"])
def test_help_lists_them(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    shown = "".join(
        re.sub(r"\(.*?\)", "", capsys.readouterr().out, flags=re.DOTALL).split()
    )  # lines may end at a hyphen
    assert ",".join(SHORT_NAMES) in shown


def test_a_comparison_without_a_question_is_as_it_was() -> None:
    base = Experiment(topology_options={"hops": 1}, duration_s=1)
    found = compare(base, schemes=["newreno"], seeds=1, jobs=1)
    assert "y" not in found.compare
    assert "y" not in found.rows[0]
