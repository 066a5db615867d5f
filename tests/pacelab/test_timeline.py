"""Pictures of the air, and the engine's records on which they are based."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import pacelab
from pacelab.cli.main import main
from pacelab.figures.airlog import AirLog, Backoff, Frame, Hearing, Hold, Mark, find_window, read_records
from pacelab.figures.timeline import (
    BLOCKS,
    COLLISION,
    HOLDS,
    choose_lanes,
    plot_timeline,
    record_air,
    timeline_chart,
    title_of,
)

# The content of the engine's records: spans, outcomes of receptions, windows of interest.

COLLIDED: list[list[Any]] = [
    [0, 0, "backoff", None, 5],
    [150_000, 0, "send-rts", 1, 352_000],
    [151_000, 1, "lock", 0, 503_000],
    [200_000, 2, "send-rts", 1, 352_000],
    [201_000, 1, "collide", 2, 0],
    [553_000, 1, "garbled", 2, 0],
    [553_000, 1, "eifs", None, 917_000],
    [820_000, 0, "retry", 1, 1],
    [820_000, 0, "backoff", None, 40],
    [1_700_000, 0, "send-rts", 1, 352_000],
    [1_701_000, 1, "lock", 0, 2_053_000],
    [2_053_000, 1, "decode", 0, 0],
]
"""n0 and n2 send an RTS to n1 at nearly the same time; n0 repeats it."""


def test_frames_last_as_long_as_their_airtime() -> None:
    assert read_records(COLLIDED).frames[:2] == [
        Frame(node=0, peer=1, kind="RTS", start_ns=150_000, end_ns=502_000),
        Frame(node=2, peer=1, kind="RTS", start_ns=200_000, end_ns=552_000),
    ]


def test_a_reception_knows_who_destroyed_it_and_when() -> None:
    assert read_records(COLLIDED).hearings == [
        Hearing(node=1, peers=(0, 2), start_ns=151_000, end_ns=553_000, decoded=False, collided_ns=201_000),
        Hearing(node=1, peers=(0,), start_ns=1_701_000, end_ns=2_053_000, decoded=True, collided_ns=None),
    ]


def test_backoffs_end_when_the_node_sends() -> None:
    assert read_records(COLLIDED).backoffs == [
        Backoff(node=0, slots=5, start_ns=0, end_ns=150_000),
        # 40 slots of 20 us after a DIFS of 50 us: 850 us; the node sent 880 us after the draw
        Backoff(node=0, slots=40, start_ns=820_000, end_ns=1_670_000),
    ]


def test_a_backoff_is_frozen_while_a_frame_is_heard() -> None:
    records: list[list[Any]] = [
        [0, 0, "backoff", None, 10],
        [100_000, 0, "lock", 1, 400_000],
        [400_000, 0, "decode", 1, 0],
        [5_000_000, 0, "send-rts", 1, 352_000],
    ]
    # 50 us DIFS, 2 whole slots until 100 us; from 400 us a DIFS and the other 8 slots
    assert read_records(records).backoffs == [Backoff(node=0, slots=10, start_ns=0, end_ns=610_000)]


def test_a_reception_that_the_node_spoiled_by_sending_ends_as_announced() -> None:
    records: list[list[Any]] = [[0, 0, "lock", 1, 100_000], [50_000, 0, "send-cts", 1, 304_000]]
    (hearing,) = read_records(records).hearings
    assert (hearing.end_ns, hearing.decoded, hearing.collided_ns) == (100_000, False, None)


def test_holds_that_overlap_become_one() -> None:
    records: list[list[Any]] = [
        [0, 3, "nav", None, 500],
        [100, 3, "nav", None, 400],
        [300, 3, "nav", None, 900],
        [1_000, 3, "nav", None, 1_100],
        [1_050, 3, "eifs", None, 1_200],
        [2_000, 3, "nav", None, 2_000],
    ]
    assert read_records(records).holds == [
        Hold(node=3, kind="NAV", start_ns=0, end_ns=900),
        Hold(node=3, kind="NAV", start_ns=1_000, end_ns=1_100),
        Hold(node=3, kind="EIFS", start_ns=1_050, end_ns=1_200),
    ]


def test_mishaps_become_marks() -> None:
    assert read_records(COLLIDED).marks == [Mark(node=0, kind="retry", at_ns=820_000, peer=1, count=1)]


def test_the_window_holds_the_first_collision_that_cost_a_frame() -> None:
    # 4 * 352 us and 10 * 300 us; the collision at 0.151 ms is too early for a lead
    assert find_window(read_records(COLLIDED)) == (0, 4_408_000)


def test_a_collision_of_other_peoples_frames_is_not_the_event() -> None:
    records: list[list[Any]] = [
        [10_000_000, 0, "send-rts", 9, 352_000],
        [10_000_000, 2, "send-rts", 8, 352_000],
        [10_001_000, 1, "lock", 0, 10_353_000],
        [10_001_500, 1, "collide", 2, 0],
        [10_353_500, 1, "garbled", 2, 0],
        [20_000_000, 3, "capture", 4, 0],
    ]
    # the capture at 20 ms, 30 % of 4.408 ms before it, down to 0.1 ms
    assert find_window(read_records(records)) == (18_600_000, 23_008_000)


def test_nothing_recorded_is_an_empty_log() -> None:
    assert read_records([]) == AirLog()
    assert find_window(AirLog()) == (0, 7_000_000)


# Pictures of the air: one lane per node, blocks for frames, the same bytes each time.

ROOT = Path(__file__).parents[2]

EXCHANGE: list[list[Any]] = [
    [100_000, 0, "backoff", None, 7],
    [290_000, 0, "send-rts", 1, 352_000],
    [291_000, 1, "lock", 0, 643_000],
    [643_000, 1, "decode", 0, 0],
    [653_000, 1, "send-cts", 0, 304_000],
    [957_000, 2, "nav", None, 2_600_000],
    [967_000, 0, "send-data", 1, 1_300_000],
    [2_277_000, 1, "send-ack", 0, 304_000],
    [2_900_000, 0, "retry", 1, 3],
]


def blocks(ax: Axes, face: str) -> list[tuple[float, float]]:
    """Left edges and widths, in ms, of the blocks of a colour."""
    from matplotlib.colors import to_rgba

    patches = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    found = [patch for patch in patches if patch.get_facecolor() == to_rgba(face)]
    return [(pytest.approx(patch.get_x()), pytest.approx(patch.get_width())) for patch in found]


def draw(records: list[list[Any]], **options: Any) -> Axes:
    return plot_timeline(records, Figure(figsize=(12, 4)).subplots(), **options)


def test_timeline_draws_each_frame_where_it_was() -> None:
    ax = draw(EXCHANGE, window_ns=(0, 3_000_000))
    assert blocks(ax, BLOCKS["RTS"].face) == [(0.29, 0.352)]
    assert blocks(ax, BLOCKS["CTS"].face) == [(0.653, 0.304)]
    assert blocks(ax, BLOCKS["DATA"].face) == [(0.967, 1.3)]
    assert blocks(ax, BLOCKS["ACK"].face) == [(2.277, 0.304)]
    assert blocks(ax, HOLDS["NAV"].face) == [(0.957, 1.643)]
    assert blocks(ax, COLLISION.face) == []
    texts = [text.get_text() for text in ax.texts]
    assert {"DATA → n1", "NAV", "7", "↻3"} <= set(texts)
    assert min(text.get_fontsize() for text in ax.texts) >= 8


def test_a_number_of_slots_is_drawn_where_no_block_covers_it() -> None:
    replies: list[list[Any]] = [
        [1_000_000, 0, "backoff", None, 31],
        [1_200_000, 0, "send-cts", 1, 900_000],
        [3_000_000, 0, "send-rts", 1, 1],
    ]
    (number,) = [text for text in draw(replies, window_ns=(0, 3_000_000)).texts if text.get_text() == "31"]
    assert 2.1 < number.get_position()[0] < 3.0


def test_signs_of_one_moment_are_drawn_side_by_side() -> None:
    """A receiver decodes an RTS although another frame arrived, and must not answer it."""
    seen = [*EXCHANGE, [643_000, 1, "capture", 0, 0], [653_000, 1, "refuse-cts", 0, 0]]
    figure = Figure(figsize=(12, 4), layout="constrained")
    ax = plot_timeline(seen, figure.subplots(), window_ns=(0, 30_000_000))
    figure.draw_without_rendering()
    signs = [text.get_window_extent() for text in ax.texts if text.get_text() in ("△", "∅C")]
    first, second = sorted(signs, key=lambda sign: sign.x0)
    assert first.x1 <= second.x0 < first.x1 + second.width, "beside each other, and near to when it was"


def test_timeline_has_a_lane_per_node_from_the_top() -> None:
    ax = draw(EXCHANGE, names={0: "ann", 1: "bob"}, window_ns=(0, 3_000_000))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["ann", "bob"]
    assert list(ax.get_yticks()) == [1.5, 0.5]
    assert ax.get_xlabel() == "time (ms)"


def test_timeline_cuts_blocks_at_the_window() -> None:
    ax = draw(EXCHANGE, window_ns=(1_000_000, 2_000_000))
    assert blocks(ax, BLOCKS["DATA"].face) == [(1.0, 1.0)]
    assert blocks(ax, BLOCKS["RTS"].face) == []
    assert ax.get_xlim() == (1.0, 2.0)


def test_timeline_distinguishes_kinds_without_colour() -> None:
    looks = {(look.hatch, look.text) for look in (*BLOCKS.values(), COLLISION, *HOLDS.values())}
    assert len(looks) == len(BLOCKS) + 1 + len(HOLDS)


@pytest.mark.parametrize(("window_ms", "hatched"), [(3, True), (3_000, False)])
def test_very_narrow_blocks_are_not_hatched(window_ms: int, hatched: bool) -> None:
    ax = draw(EXCHANGE, window_ns=(0, window_ms * 1_000_000))
    assert any(patch.get_hatch() for patch in ax.patches) == hatched


def test_title_gives_the_main_settings() -> None:
    experiment = pacelab.Experiment(topology="hidden", rts=False, seed=7)
    assert title_of(experiment) == "hidden: RTS/CTS off, radio ns2, 11 Mbit/s, seed 7"


@pytest.mark.parametrize("pairs", [1, 2])
def test_two_pairs_with_and_without_rts_fit_one_screen(pairs: int) -> None:
    """A page shows about 600 pixels of a notebook at once, at 96 pixels per inch."""
    experiment = pacelab.Experiment(topology="pairs")
    records = [[100_000 * node, node, "send-rts", 0, 352_000] for node in range(4)]
    drawn = timeline_chart([(experiment, records, (0, 1_000_000))] * pairs)
    assert drawn.height * 96 <= 600
    assert drawn.height == pytest.approx(sum(drawn.heights) + 0.75)


@pytest.mark.parametrize(("lanes", "shown"), [(2, "DATA\n→n1"), (12, "D")])
def test_a_text_of_two_lines_is_only_in_a_lane_that_is_high_enough(lanes: int, shown: str) -> None:
    names = {node: f"n{node}" for node in range(lanes)}
    texts = [text.get_text() for text in draw(EXCHANGE, names=names, window_ns=(0, 30_000_000)).texts]
    assert [text for text in texts if text.startswith("D")] == [shown]


def test_the_busiest_of_many_nodes_have_lanes() -> None:
    names = {node: f"n{node}" for node in range(40)}
    records = [[1_000 * node, node % 20, "send-rts", 30, 100] for node in range(39)] + [[99_999, 35, "send-cts", 0, 1]]
    lanes = choose_lanes(names, records, (0, 50_000))
    # 0..18 send twice, 19 once, all others never or later
    assert lanes == list(range(16))
    assert choose_lanes({0: "a", 5: "b"}, records, (0, 1)) == [0, 5]


@pytest.mark.usefixtures("engine")
def test_records_of_the_engine_cover_no_more_than_asked_for() -> None:
    records = record_air(pacelab.Experiment(topology="hidden", warmup_s=5.0), until_s=0.05)
    assert records[0][2] == "backoff"
    assert 0.04e9 < records[-1][0] < 0.0501e9


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("form", ["svg", *(pytest.param(form, marks=pytest.mark.thorough) for form in ("png", "pdf"))])
def test_timeline_is_the_same_bytes_each_time(form: str, in_tmp: Path) -> None:
    for name in ("a", "b"):
        assert main(["timeline", "hidden", "--rts", "both", "--out", f"{name}.{form}"]) == 0
    content = (in_tmp / f"a.{form}").read_bytes()
    assert content == (in_tmp / f"b.{form}").read_bytes()
    assert len(content) > 10_000


@pytest.mark.usefixtures("engine")
def test_timeline_of_hidden_senders_shows_collisions_with_and_without_rts(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["timeline", "hidden", "--rts", "both", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["timeline"]
    assert (in_tmp / document["figure"]).is_file()
    without, with_rts = document["panels"]
    assert (with_rts["config"]["rts"], without["config"]["rts"]) == (True, False)
    assert with_rts["frames"]["RTS"] > 0
    assert without["frames"]["RTS"] == without["frames"]["CTS"] == 0
    assert min(panel["collisions"] for panel in (with_rts, without)) > 0


@pytest.mark.usefixtures("engine")
def test_timeline_shows_the_window_asked_for(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["timeline", "chain", "--hops", "2", "--from", "30", "--to", "42.5", "--json"]) == 0
    (panel,) = json.loads(capsys.readouterr().out)["timeline"]["panels"]
    assert (panel["from_ms"], panel["to_ms"]) == (30.0, 42.5)


@pytest.mark.usefixtures("engine")
def test_timeline_reports_when_nothing_is_sent(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["timeline", "chain", "--hops", "4", "--from", "200", "--to", "210"]) == 0  # TCP waits for the wire
    assert "nothing is sent from 200 to 210 ms" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("page", ["docs/instruments.md", "tools/site/pages.py"])
def test_timelines_that_pages_ask_for_have_frames(page: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = re.findall(r"pacelab (timeline [\w -]+)", (ROOT / page).read_text("utf-8"))
    assert any("--from" in command for command in commands)
    for command in commands:
        options = command.split(" --out")[0].split()
        assert main([*options, "--json"]) == 0
        for panel in json.loads(capsys.readouterr().out)["timeline"]["panels"]:
            assert panel["frames"]["DATA"] > 0, command


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--from", "5", "--to", "4"], "--to must be more than --from, 5 ms, not 4"),
        (["--to", "20000"], "--to must be a number from 0 to 10000, not '20000'"),
        (["--hops", "2,3"], "--hops must be one value here; `pacelab compare` accepts lists"),
        (["--rate", "2,11"], "--rate must be one value here; `pacelab compare` accepts lists"),
        (["--out", "x.jpg"], "--out must be a file name that ends with .svg, .png or .pdf, not 'x.jpg'"),
    ],
)
def test_timeline_refuses_what_it_cannot_draw(
    options: list[str], says: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["timeline", "chain", *options]) == 2
    assert says in capsys.readouterr().err
    assert list(in_tmp.iterdir()) == []
