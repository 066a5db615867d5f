"""Controls, predictions, tables and figures: what they show, and that they work without a browser."""

from __future__ import annotations

import math
import re
import runpy
import shlex
import sys
from collections.abc import Callable
from html import escape
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.axes import Axes

from pacelab import Experiment, LinkLayer, Pacer, compare, lab, run, run_link_layer
from pacelab.console import Interrupted
from pacelab.errors import ConfigError
from pacelab.figures.airlog import read_records
from pacelab.figures.chart import Rule
from pacelab.figures.figures import image
from pacelab.figures.in_matplotlib import draw_chart
from pacelab.figures.timeline import choose_window

ROOT = Path(__file__).parents[2]
LAB0 = ROOT / "labs/pacelab_labs/masters/lab0_tour.py"

pytestmark = pytest.mark.usefixtures("engine")


def test_slide_has_whole_numbers_where_it_can() -> None:
    assert lab.slide("hops", 1, 4, start=2).values == (1, 2, 3, 4)
    assert lab.slide("share", 0, 1, step=0.25, start=0.5).values == (0, 0.25, 0.5, 0.75, 1.0)
    with pytest.raises(ConfigError, match="from 4 to 1, start 2: low must be below high"):
        lab.slide("hops", 4, 1, start=2)
    with pytest.raises(ConfigError, match=r"from 1 to 1000000000\.0 in steps of 1: must be at most 10000 steps"):
        lab.slide("hops", 1, 1e9, start=2)


def test_an_invalid_control_is_refused_with_the_valid_values() -> None:
    with pytest.raises(
        ConfigError,
        match=r"choice: values must be a list or a range with at least one value, for example \[1, 2\], not \[\]",
    ):
        lab.choice("x", [])
    with pytest.raises(ConfigError, match=r"hops must be a lab\.slide, lab\.choice or lab\.switch, not \(1, 5\)"):
        lab.explore(draw, hops=(1, 5))  # type: ignore[arg-type]


def test_jupyterlab_as_root_is_refused_with_the_whole_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, folder = str(ROOT / "labs" / "open.py"), str(tmp_path / "my labs")
    Path(folder).mkdir()
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: True)
    monkeypatch.setattr("os.geteuid", lambda: 0, raising=False)
    monkeypatch.setattr("sys.argv", [file])
    assert runpy.run_path(file)["main"]([folder]) == 3
    command = capsys.readouterr().err.partition("in a container call ")[2]
    assert shlex.split(command) == [sys.executable, file, folder, "--allow-root"]


def test_a_missing_folder_of_notebooks_is_refused_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: True)
    main = runpy.run_path(str(ROOT / "labs" / "open.py"))["main"]
    for made, told in (("", "`make notebooks` makes it"), ("student", f"choose one of {tmp_path / 'student'}")):
        (tmp_path / made).mkdir(exist_ok=True)
        assert main([str(tmp_path / "Teacher")]) == 3
        assert capsys.readouterr().err == f"no such folder: {tmp_path / 'Teacher'}; {told}\n"


def draw(hops: int) -> lab.Picture:
    return lab.series(run(Experiment(topology_options={"hops": hops}, duration_s=2)))


def test_exploration_redraws_when_a_control_moves() -> None:
    shown = lab.explore(draw, hops=lab.slide("hops", 1, 4, start=1))
    first = shown.text
    assert "kbit/s" in first
    assert shown.set(hops=4) != first
    assert len(shown.seconds) == 2
    with pytest.raises(ConfigError, match="hops must be one of 1, 2, 3, 4, not 5"):
        shown.set(hops=5)
    with pytest.raises(ConfigError, match="no such control: 'window'; must be one of hops"):
        shown.set(window=5)


def test_exploration_tells_errors_in_one_line() -> None:
    def refuse(hops: int) -> lab.Picture:
        raise ConfigError(f"no {hops} hops") if hops < 3 else KeyError("oops")

    shown = lab.explore(refuse, hops=lab.slide("hops", 1, 4, start=1))
    assert shown.text == "Not drawn: no 1 hops"
    assert shown.set(hops=3) == "Not drawn: the drawing function raised KeyError: 'oops'"


def test_a_drawing_that_is_stopped_says_so_in_one_line() -> None:
    def endless(hops: int) -> lab.Picture:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="the figure") as caught:
        lab.explore(endless, hops=lab.slide("hops", 1, 4, start=1))
    assert len(caught.value._render_traceback_()) == 1  # otherwise Jupyter shows 37 lines of our code


def test_exploration_of_a_function_that_returns_no_picture_says_so() -> None:
    shown = lab.explore(lambda hops: None, hops=lab.slide("hops", 1, 4, start=1))  # type: ignore[arg-type,return-value]
    assert shown.text.startswith(
        "Not drawn: the result of the drawing function must be a picture, as lab.series, lab.curves or lab.picture"
    )


ONE = Experiment(topology_options={"hops": 1}, duration_s=1)
SLIPS: dict[str, tuple[Callable[[], object], str]] = {
    "slide of text": (lambda: lab.slide("x", 1, "9", start=1), "slide: high must be a finite number, not '9'"),  # type: ignore[arg-type]
    "slide without end": (lambda: lab.slide("x", 1, math.inf, start=1), "slide: high must be a finite number, not inf"),
    "slide that stands": (
        lambda: lab.slide("x", 1, 5, step=0, start=1),
        "slide: step must be a number above 0, up to 1000000000, not 0",
    ),
    "choice of one": (
        lambda: lab.choice("x", 5),
        "choice: values must be a list or a range with at least one value, for example [1, 2], not 5",
    ),  # type: ignore[arg-type]
    "choice, start": (lambda: lab.choice("x", [1, 2], start=3), "choice 'x': start must be one of 1, 2, not 3"),
    "switch": (lambda: lab.switch("x", start="on"), "switch: start must be True or False, not 'on'"),  # type: ignore[arg-type]
    "explore nothing": (lambda: lab.explore(None), "explore: draw must be a function, not None"),  # type: ignore[arg-type]
    "answers": (
        lambda: lab.predict("?", {"all": 1}),
        "predict: answers must be a range of numbers (from, below) for each answer, as {'half of it': (0.4, 0.6)}, not",
    ),  # type: ignore[dict-item]
    "against": (
        lambda: lab.predict("?", {"all": (0, 1)}).against(None),
        "against: measured must be a finite number, not None",
    ),  # type: ignore[arg-type]
    "series": (
        lambda: lab.series({"a": None}),
        "series: results must be runs by name, as {'newreno': run(...)}, not {'a': None}",
    ),  # type: ignore[dict-item]
    "flow_bars": (
        lambda: lab.flow_bars({}),
        "flow_bars: results must be runs by name, as {'newreno': run(...)}, not {}",
    ),
    "call_picture": (
        lambda: lab.call_picture(3),
        "call_picture: results must be runs by name, as {'newreno': run(...)}, not 3",
    ),  # type: ignore[arg-type]
    "bars": (lambda: lab.bars({"a": math.nan}, unit="s"), "bars: values must be a finite number, not {'a': nan}"),
    "curves": (
        lambda: lab.curves([1, 2], {"a": [1]}, xlabel="", ylabel=""),
        "line 'a' must have one value for each of the 2 x values, not 1",
    ),
    "curves, halves": (
        lambda: lab.curves([1], {"a": [1]}, xlabel="", ylabel="", halves={"b": [1]}),
        "curves: halves for 'b', which is not among the lines",
    ),
    "curves, none": (
        lambda: lab.curves([1], {"a": [None]}, xlabel="", ylabel=""),
        "curves: line 'a' must be a list of numbers, as [1, 2, 4], not [None]",
    ),  # type: ignore[list-item]
    "table": (
        lambda: lab.table(("a", "b"), [(1,)]),
        "table: row 1 must be a row of 2 values, as the header has, not (1,)",
    ),
    "table of numbers": (
        lambda: lab.table(("a",), [1]),
        "table: row 1 must be a row of 1 values, as the header has, not 1",
    ),  # type: ignore[list-item]
    "table of one number": (lambda: lab.table(("a",), 5), "table: rows must be a list of rows, not 5"),  # type: ignore[arg-type]
    "table without order": (
        lambda: lab.table(("a",), [{1}]),
        "table: row 1 must be a row of 1 values, as the header has, not {1}",
    ),
    "mark": (
        lambda: lab.curves([1], {"a": [1]}, xlabel="", ylabel="", marks=1.75),  # type: ignore[arg-type]
        "curves: marks must be a list of numbers, as [1, 2, 4], not 1.75",
    ),
    "reference": (
        lambda: lab.bars({"a": 1.0}, unit="s", reference=3),
        "bars: reference must be a label and a number, as ('alone', 1681.0), not 3",
    ),  # type: ignore[arg-type]
    "link's host": (
        lambda: lab.link_roles(ONE.network, 0, 4),
        "the link's receiver must be a wireless node other than 0, not 4",
    ),
    "link to itself": (
        lambda: lab.link_roles(ONE.network, 1, 1),
        "the link's receiver must be a wireless node other than 1, not 1",
    ),
    "pairs": (
        lambda: lab.pairs_picture(run(ONE), ONE.network, alone_kbps=1.0),
        "pairs_picture: topology must be a topology of two pairs, as load_topology('pairs') gives it, not",
    ),
    "word": (lambda: lab.score(Pacer, word=7), "score: word must be a text, not 7"),  # type: ignore[arg-type]
    "word of networks": (lambda: lab.networks(None), "networks: word must be a text, not None"),  # type: ignore[arg-type]
    "swapped": (
        lambda: run_link_layer(LinkLayer, ONE),  # type: ignore[arg-type]
        "run_link_layer: the link layer must be a subclass of pacelab.LinkLayer, not",
    ),
    "picture": (
        lambda: lab.picture(None, "x"),
        "picture: drawn must be a figure, or the axes that plot_goodput and its like give, not None",
    ),  # type: ignore[type-var]
    "air of nothing": (lambda: lab.air(), "must be a list of 1 or more pacelab.Experiment objects, not ()"),
    "air, when": (lambda: lab.air(ONE, from_ms="x"), "air: from_ms must be a finite number, not 'x'"),  # type: ignore[arg-type]
    "fates": (
        lambda: lab.fates(ONE, sender=0, receiver=9),
        "fates: receiver must be a whole number from 0 to 4, not 9",
    ),
    "link": (
        lambda: lab.link_roles(ONE.network, 0, 99),
        "the link's receiver must be a whole number from 0 to 4, not 99",
    ),
    "real hosts": (
        lambda: lab.on_real_hosts("lab0.chain"),
        "must be a list of 1 or more pacelab.Experiment objects, not ()",
    ),
    "board": (lambda: lab.enter("board.json", 3), "enter: scored must be what lab.score gives, not 3"),  # type: ignore[arg-type]
    "board's folder": (lambda: lab.leaderboard("/"), "leaderboard '/': this file is not a leaderboard"),
}


@pytest.mark.parametrize(("slip", "told"), SLIPS.values(), ids=SLIPS)
def test_a_slip_in_a_cell_is_reported_in_a_line(slip: Callable[[], object], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        slip()
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


ANSWERS = {"all": (0.9, 1.1), "half": (0.4, 0.6)}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The output of predictions without widgets, in their own folder."""
    markup: list[str] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules["pacelab_labs.interactive"], "widgets", lambda: None)
    monkeypatch.setattr(sys.modules["pacelab_labs.interactive"], "show", markup.append)
    return markup


def test_prediction_is_judged_by_the_measurement(shown: list[str]) -> None:
    guess = lab.predict("How much?", ANSWERS)
    with pytest.raises(ConfigError, match="no prediction: Choose an answer first"):
        guess.against(0.5)
    guess.choose("all")
    assert guess.against(0.5).startswith("Measured: 0.5, that is: half.\nYou predicted: all.")
    assert guess.against(1.0) == "Measured: 1, that is: all.\nAs you predicted."
    assert repr(guess.against(1.0)) == guess.against(1.0)  # no quotes at the end of a cell
    assert "outside of all answers" in guess.against(0.7)
    with pytest.raises(ConfigError, match="answer must be one of 'all', 'half', not 'none'"):
        guess.choose("none")


def test_a_measurement_waits_for_the_choice_which_is_then_final(shown: list[str]) -> None:
    guess, ran = lab.predict("How much?", ANSWERS), []

    @guess.measure
    def measured() -> tuple[float, str]:
        ran.append(1)
        return 0.5, "a <text> below"

    assert not ran
    assert "Choose an answer first" in shown[-1]
    assert "0.5" not in "".join(shown)
    guess.choose("all")
    assert ran == [1]
    assert "Measured: 0.5, that is: half.<br>You predicted: all." in shown[-1]
    assert "a &lt;text&gt; below" in shown[-1]
    with pytest.raises(ConfigError, match="the result is known, so the prediction stays: 'all'"):
        guess.choose("half")
    guess.choose("all")
    assert ran == [1]


def test_a_recorded_choice_measures_at_once(shown: list[str]) -> None:
    lab.predict("How much?", ANSWERS).choose("half")
    guess = lab.predict("How much?", ANSWERS)
    guess.measure(lambda: 0.5)
    assert guess.text == "Measured: 0.5, that is: half.\nAs you predicted."
    assert lab.predict("How many?", ANSWERS).chosen is None
    assert lab.predict("How much?", {"other": (0, 1)}).chosen is None
    Path("predictions.json").write_text("damaged")
    assert lab.predict("How much?", ANSWERS).chosen is None


def test_a_measurement_that_fails_is_reported_and_can_be_repeated(shown: list[str]) -> None:
    guess = lab.predict("How much?", ANSWERS)
    guess.choose("all")
    with pytest.raises(ZeroDivisionError):
        guess.measure(lambda: 1 / 0)
    assert "Not measured: ZeroDivisionError" in shown[-1]
    guess.measure(lambda: 1.0)
    assert guess.text.endswith("As you predicted.")


def test_without_widgets_a_prediction_says_how_to_choose(shown: list[str]) -> None:
    guess = lab.predict("How much?", ANSWERS)
    guess._ipython_display_()
    assert "<li>all</li>" in shown[-1]
    assert '.choose("...")' in shown[-1]
    guess.choose("half")
    assert guess.against(0.5).endswith("As you predicted.")


def test_a_saved_notebook_has_figures_and_predictions_without_their_widgets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Jupyter does not save widgets. Without our HTML a page shows "Error displaying widget: model not found"."""
    pytest.importorskip("ipywidgets", reason="ipywidgets is missing: make notebooks installs it")
    monkeypatch.chdir(tmp_path)
    seen: list[dict[str, str]] = []

    def display(thing: dict[str, str], **_: object) -> SimpleNamespace:
        seen.append(thing)
        return SimpleNamespace(update=seen.append)

    html = SimpleNamespace(HTML=lambda markup: {"text/html": markup}, display=display)
    monkeypatch.setitem(sys.modules, "IPython.display", html)
    shown = lab.explore(draw, hops=lab.slide("wireless hops", 1, 4, start=1))
    shown._ipython_display_()
    shown.set(hops=3)
    guess = lab.predict("How much?", {"all": (0.9, 1.1), "half": (0.4, 0.6)})
    guess._ipython_display_()
    guess.choose("half")
    live, first, moved, _question, buttons, _unanswered, answered = seen
    for widget in (live, buttons):
        assert "application/vnd.jupyter.widget-view+json" in widget
        assert widget["text/plain"] == widget["text/html"] == ""
    assert "<p>wireless hops: 1</p><pacelab-figure" in first["text/html"]
    assert "<p>wireless hops: 3</p><pacelab-figure" in moved["text/html"]
    assert escape(shown.text) in moved["text/html"]
    assert "<li>all</li><li>half <b>(predicted)</b></li>" in answered["text/html"]


def test_table_reads_as_text_and_as_html() -> None:
    shown = lab.table(("what", "number"), [("a<b", 1234.5), ("c", 0.123456)], "caption")
    assert str(shown) == "what  number\na<b    1,234\nc      0.123\ncaption"
    html = shown._repr_html_()
    assert "a&lt;b" in html
    assert '<th scope="col" style="text-align:right;padding:0.3em 0.6em">number</th>' in html


def test_table_takes_rows_as_cells_make_them() -> None:
    told = str(lab.table(("hops", "kbit/s"), [(1, 2.5), (2, 3.5)]))
    assert str(lab.table(("hops", "kbit/s"), zip([1, 2], [2.5, 3.5], strict=True))) == told
    assert str(lab.table(("hops", "kbit/s"), ((hops, hops + 1.5) for hops in (1, 2)))) == told
    assert (
        str(lab.table(["hops", "kbit/s"], [(np.int64(1), np.float64(2.5)), np.array([2, 3.5], dtype=object)])) == told
    )


def test_bars_of_one_flow_are_together_and_numbers_under_curves_are_folded() -> None:
    two = Experiment(topology="hidden", rts=False, duration_s=1)
    shown = lab.flow_bars({"off": run(two), "on": run(two.vary(rts=True))}).text.splitlines()[0]
    assert re.findall(r"(\w+: n\d→n\d):", shown) == ["off: n0→n1", "on: n0→n1", "off: n2→n1", "on: n2→n1"]
    curve = lab.curves([1, 2], {"a": [1, 2]}, xlabel="hops", ylabel="kbit/s")
    assert "<summary>the same in numbers</summary>" in curve._repr_html_()


def axes_of(picture: lab.Picture) -> list[Axes]:
    """The axes of a figure as matplotlib draws them."""
    assert picture.chart is not None
    return draw_chart(picture.chart).axes


def test_a_mark_outside_the_x_values_is_left_out() -> None:
    """h/4 of a chain of three hops: no window is smaller than one packet."""
    shown = lab.curves([1, 2], {"goodput": [3, 5]}, xlabel="window", ylabel="kbit/s", marks=[0.75, 1.75, 8])
    assert shown.chart is not None
    assert [mark.at for mark in shown.chart.panels[0].marks if isinstance(mark, Rule)] == [1.75]


def test_a_gain_below_zero_is_within_its_picture() -> None:
    (curves,) = axes_of(lab.curves([1, 2], {"gain": [0.1, -0.2]}, xlabel="hops", ylabel="gain"))
    (bars,) = axes_of(lab.bars({"gain": -0.2, "none": 0.1}, unit="gain"))
    (usual,) = axes_of(lab.curves([1, 2], {"goodput": [3, 5]}, xlabel="hops", ylabel="kbit/s"))
    (flat,) = axes_of(lab.curves([1, 2], {"flat": [1254, 1255]}, xlabel="window", ylabel="kbit/s"))
    assert curves.get_ylim()[0] < -0.2
    assert bars.get_xlim()[0] < -0.2
    assert usual.get_ylim()[0] == 0
    assert flat.get_ylim() == (0, pytest.approx(1.05 * 1255))


def test_an_error_bar_is_within_its_picture_and_in_its_text() -> None:
    shown = lab.curves([4, 7], {"W*": [1, 4], "h/4": [1, 1.75]}, halves={"W*": [0, 3]}, xlabel="hops", ylabel="window")
    assert shown.text == "window against hops. W*: 1 ± 0 at 4, 4 ± 3 at 7; h/4: 1 at 4, 1.75 at 7"
    (ax,) = axes_of(shown)
    (bars,) = ax.containers[0].lines[2]
    assert [segment[:, 1].tolist() for segment in bars.get_segments()] == [[1, 1], [1, 7]]
    assert ax.get_ylim()[1] > 7


def test_unknown_values_are_shown_as_unknown() -> None:
    nan = math.nan
    shown = lab.curves([1, 2], {"a": [1, nan], "b": [nan, nan]}, xlabel="x", ylabel="y")
    assert shown.text == "y against x. a: 1 at 1, unknown at 2; b: unknown at 1, unknown at 2"
    (series,) = axes_of(lab.series(run(ONE.vary(duration_s=0.5)), "goodput"))
    (bars,) = axes_of(lab.bars({"none": 0.0}, unit="kbit/s"))
    said = "nothing to draw: this run is shorter than one interval of its time series, 1 s"
    assert [text.get_text() for text in series.texts] == [said]
    assert bars.get_xlim()[1] > 1


def test_flows_have_colours_and_runs_have_line_styles() -> None:
    many = Experiment(topology="cross-gateway", direction="mixed", duration_s=1, series_interval_s=0.5)
    (ax,) = axes_of(lab.series({"one": run(many), "other": run(many.vary(seed=2))}, "goodput"))
    looks = [(line.get_color(), line.get_linestyle()) for line in ax.lines]
    assert [color for color, _ in looks[:4]] == [color for color, _ in looks[4:]]
    assert [line for _, line in looks] == 4 * ["-"] + 4 * ["--"]
    box = ax.get_legend().get_window_extent()
    assert box.y0 >= ax.get_window_extent().y1  # above the panel, not over its curves


@pytest.mark.parametrize(
    "x", [[7], [250, 1000, 1460], [2, 3, 4, 5, 6, 8, 10, 12, 15, 19], list(range(0, 420, 20))], ids=str
)
def test_the_x_axis_names_each_point_where_there_is_room(x: list[int]) -> None:
    (ax,) = axes_of(lab.curves(x, {"a": [1.0] * len(x)}, xlabel="x", ylabel="y"))
    image(ax.get_figure(root=True), "png", dpi=110)
    ticks = ax.get_xticklabels()
    if len(x) <= 16:
        assert [tick.get_text() for tick in ticks] == list(map(str, x))
    boxes = [tick.get_window_extent() for tick in ticks]
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_bars_of_flows_tell_what_a_run_carries_and_how_evenly() -> None:
    """Lab 6 says which policy carries most, and lab 4 which scheme is fairest. Bars of ten flows do not show this."""
    result = run(Experiment(topology="hidden", rts=True, traffic="udp-saturated", duration_s=2))
    rates = [flow["goodput_bps"] / 1000 for flow in result.run["flows"]]
    evenly = sum(rates) ** 2 / (2 * sum(rate**2 for rate in rates))
    told = lab.flow_bars({"on": result, "alone": run(ONE)}).text.splitlines()
    assert told[1:] == [f"on: {sum(rates):.0f} kbit/s in all, Jain's index {evenly:.3f}"]
    assert told[1].removeprefix("on: ") in lab.series(result, "goodput").text.splitlines()


def test_bars_of_flows_that_carried_nothing_and_of_one_flow_beside_calls_tell_no_index() -> None:
    nothing = run(Experiment(topology="hidden", duration_s=0.001))
    assert lab.flow_bars({"on": nothing}).text.splitlines()[1:] == ["on: 0 kbit/s in all"]
    one = run(Experiment(topology="string", topology_options={"voice": 2, "tcp": 1}, duration_s=1))
    assert "in all" not in lab.flow_bars({"beside calls": one}).text


def test_a_scheme_looks_alike_in_curves_and_over_time() -> None:
    result, names = run(ONE.vary(duration_s=2)), ("yours", "tcp-gap", "newreno")
    pictures = (
        lab.series(dict.fromkeys(names, result), "goodput"),
        lab.curves([1, 2], {name: [1.0, 2.0] for name in names}, xlabel="x", ylabel="y"),
    )
    over_time, against_x = (
        [(line.get_color(), line.get_marker(), line.get_linestyle()) for line in axes_of(picture)[0].lines]
        for picture in pictures
    )
    assert over_time == against_x
    assert over_time[2] == ("#000000", "o", "--"), "NewReno is the black dashed line"


def test_names_of_pairs_that_overlap_are_off_the_other_s_arrow() -> None:
    near = Experiment(topology="pairs", topology_options={"layout": "facing", "apart": 60.0}, duration_s=0.1)
    above, _ = axes_of(lab.pairs_picture(run(near), near.network, alone_kbps=1681.0))
    image(above.get_figure(root=True), "png", dpi=110)
    names = {text.get_text(): text for text in above.texts if text.get_text().startswith("n")}
    arrow = above.transData.transform((0, max(line.get_ydata()[0] for line in above.lines)))[1]
    assert names["n0"].get_window_extent().y1 < arrow - 2
    assert min(text.get_fontsize() for text in names.values()) > 8


def test_a_run_without_calls_has_no_worst_call() -> None:
    result = run(ONE)
    assert re.fullmatch(r"alone: no calls, TCP \d+ kbit/s", lab.call_picture({"alone": result}).text)
    assert lab.call_series(result).text.startswith("no calls; TCP")


def test_pictures_carry_their_text() -> None:
    shown = lab.bars({"one": 10.0, "two": 20.0}, unit="kbit/s", reference=("best", 25.0))
    assert shown.text == "kbit/s: one: 10; two: 20 (best: 25)"
    assert 'aria-label="kbit/s: one: 10; two: 20 (best: 25)"' in shown._repr_html_()
    assert shown.png.startswith(b"\x89PNG")


def test_flows_with_the_same_ends_have_a_bar_each() -> None:
    result = run(Experiment(topology="string", topology_options={"hops": 1, "tcp": 2}, duration_s=1))
    one, other = (f"{flow['goodput_bps'] / 1000:.0f}" for flow in result.run["flows"])
    shown, _, in_all = lab.flow_bars({"newreno": result}).text.partition("\n")
    assert shown == (f"goodput (kbit/s): newreno: server→MAP3, flow 0: {one}; newreno: server→MAP3, flow 1: {other}")
    assert in_all.startswith(f"newreno: {result.goodput_bps / 1000:.0f} kbit/s in all, ")
    assert "server→MAP3, flow 1: " in lab.series(result).text


def test_packets_dropped_for_a_broken_link_are_lost_once() -> None:
    result = run(Experiment(topology_options={"hops": 4}, direction="down", routing="aodv", window_pkts=64))
    drops = result.run["drops"]
    assert drops["mac-rts"] == sum(link["drops_rts"] for link in result.run["links"] or ()) > 0
    told = lab.series(result).text.splitlines()[-1]
    assert told == f"Packets lost: {drops['link-failure']} dropped by AODV"


def test_drops_of_a_scheme_are_reported_as_a_sentence() -> None:
    result = run(ONE)
    result.run["drops"].update({"queue": 2, "hook:duplicate ACK absorbed": 4})
    told = lab.series(result).text.splitlines()[-1]
    assert told == "Packets lost: 2 queue full, 4 dropped by the scheme: duplicate ACK absorbed"


def test_link_roles_are_those_of_fu() -> None:
    from pacelab import load_topology

    shown = lab.link_roles(load_topology("chain", hops=8, wired=False), 4, 5, names="ABCDEFGHI")
    assert "C exposed; D both; E sender; F receiver; G both; H hidden; I neither" in shown.text


def test_link_roles_take_a_link_s_own_interference_range() -> None:
    from pacelab import load_topology

    chain = load_topology("chain", hops=8, wired=False)
    shown = lab.link_roles(chain, 4, 5, names="ABCDEFGHI", disturb_m=356)
    assert "C exposed; D exposed; E sender; F receiver; G both; H neither; I neither" in shown.text
    asked = lab.link_ranges(chain, 4, 5, names="ABCDEFGHI", disturb_m=550)
    assert "hidden" not in asked.text
    assert "exposed" not in asked.text


def test_back_ends_name_each_with_its_remedy() -> None:
    text = str(lab.back_ends())
    for name in ("sim", "tap", "hwsim"):
        assert name in text


def test_stock_medium_has_no_reuse_and_ours_has() -> None:
    rows = {row[0]: row for row in lab.stock_wmediumd().rows}
    assert rows["pairs 2 km apart"][1].endswith("1.03 x")
    assert rows["pairs 2 km apart"][3].endswith("2.00 x")
    assert rows["hidden A->B<-C"][3].endswith("0.16 x")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_fates_of_the_link_beside_h(seed: int) -> None:
    """Lab 1: without RTS/CTS nearly all of E's frames are answered; of the received RTSs, less than a fifth are."""
    options = {"layout": "in-line", "apart": 600.0}
    pairs = Experiment(topology="pairs", topology_options=options, rate_bps=2_000_000, duration_s=10, seed=seed)
    shown = lab.fates(pairs.vary(rts=False), pairs.vary(rts=True), sender=0, receiver=1)
    data, rts = ([int(cell.replace(",", "")) for cell in row[1:]] for row in shown.rows)
    assert [row[0] for row in shown.rows] == ["data", "RTS"]
    for sent, *fates in (data, rts):
        assert sent == sum(fates)
    assert data[3] > 0.95 * data[0]
    assert data[2] == 0
    assert rts[1] > rts[0] / 2
    assert rts[3] < (rts[2] + rts[3]) / 5


def test_lab0_s_air_shows_an_ack_the_packets_it_lets_out_and_two_rts_that_n3_spoils() -> None:
    """The interval in lab 0, frame by frame."""
    drawn = re.search(r"lab\.air\(experiment, from_ms=(\d+), to_ms=(\d+)\)", LAB0.read_text("utf-8"))
    assert drawn
    experiment = Experiment(topology="chain", topology_options={"hops": 4}, window_pkts=64, duration_s=20)
    records, (from_ns, to_ns) = choose_window(experiment, from_ms=int(drawn[1]), to_ms=int(drawn[2]))
    log = read_records(records)
    frames = [frame for frame in log.frames if from_ns <= frame.start_ns < to_ns]
    data = [(frame.node, frame.peer) for frame in frames if frame.kind == "DATA"]
    packet = [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert data == [(4, 3), (3, 2), (2, 1), (1, 0), *packet, *packet]

    asked = [frame for frame in frames if (frame.node, frame.kind) == (0, "RTS")]
    answered = [any(0 < cts.start_ns - rts.end_ns < 20_000 for cts in frames if cts.peer == 0) for rts in asked]
    assert answered == [True, False, False, True]
    refused = [mark.at_ns for mark in log.marks if (mark.kind, mark.node, mark.peer) == ("no CTS", 1, 0)]
    assert [at_ns for at_ns in refused if from_ns <= at_ns < to_ns] == [pytest.approx(asked[1].end_ns, abs=20_000)]
    captured = [mark.at_ns for mark in log.marks if (mark.kind, mark.node, mark.peer) == ("capture", 1, 3)]
    assert any(asked[1].start_ns < at_ns < asked[1].end_ns for at_ns in captured)
    assert any((f.node, f.kind) == (3, "RTS") and asked[1].start_ns < f.start_ns < asked[1].end_ns for f in frames)
    assert any(
        (f.node, f.kind) == (3, "DATA") and f.start_ns < asked[2].start_ns and f.end_ns > asked[2].end_ns
        for f in frames
    )
    assert experiment.network.nodes[3].position_m[0] - experiment.network.nodes[0].position_m[0] == 600


def test_lab0_s_intervals_overlap_at_7_hops() -> None:
    """Lab 0: at 7 hops with AODV, the confidence intervals of three seeds of 20 s overlap."""
    base = Experiment(topology="chain", topology_options={"hops": 7}, routing="aodv", window_pkts=64, duration_s=20)
    rows = {
        row["scheme"]: row["goodput_bps"] for row in compare(base, schemes=["newreno", "tcp-gap"], seeds=3, jobs=1).rows
    }
    below, above = rows["newreno"], rows["tcp-gap"]
    assert below["mean"] < above["mean"]
    assert below["mean"] + below["half_width"] > above["mean"] - above["half_width"]
