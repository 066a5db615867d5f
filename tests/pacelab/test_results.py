"""Statements of run.json about a whole run, and result folders that appear completely or not at all."""

from __future__ import annotations

import math
import multiprocessing
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

import pacelab
from pacelab.cli.main import main
from pacelab.console import print_table
from pacelab.errors import ConfigError, HostError
from pacelab.results.folder import check_destination, write_file, write_folder

# Statements of run.json about a whole run, on the real engine.


@pytest.mark.usefixtures("engine")
def test_totals_of_a_lone_saturated_sender() -> None:
    experiment = pacelab.Experiment(topology="cell", topology_options={"stations": 1}, duration_s=10, rts=False)
    run = pacelab.run(experiment).run
    totals, (flow,) = run["totals"], run["flows"]
    assert totals["efficiency"] == pytest.approx(1.0)
    assert totals["log_utility"] == pytest.approx(math.log(flow["goodput_bps"]))
    assert totals["jain_goodput_x_hops"] == totals["jain_goodput_per_hop"] == totals["jain"] == 1.0
    # on the air: 192 us preamble + (1460 + 8 + 20 + 34) B at 11 Mbit/s = 1107 us data, 192 + 112 = 304 us ACK
    packets = flow["goodput_bps"] * 10 / (8 * 1460)
    sender = next(node for node in run["nodes"] if node["name"] == "n1")
    receiver = next(node for node in run["nodes"] if node["name"] == "n0")
    assert sender["airtime_share"] == pytest.approx(packets * (192e-6 + 8 * 1522 / 11e6) / 10, rel=0.01)
    assert receiver["airtime_share"] == pytest.approx(packets * 304e-6 / 10, rel=0.01)
    assert totals["airtime_share_sum"] == pytest.approx(sender["airtime_share"] + receiver["airtime_share"])
    assert totals["airtime_share_max"] == sender["airtime_share"]


@pytest.mark.usefixtures("engine")
def test_totals_of_links_agree_with_the_drops() -> None:
    run = pacelab.run(pacelab.Experiment(topology="hidden", rts=False, duration_s=10)).run
    totals = run["totals"]
    assert run["links"]
    assert totals["link_dropped_pkts"] == run["drops"]["mac-rts"] + run["drops"]["mac-data"] > 0
    assert totals["link_drop_probability"] == totals["link_dropped_pkts"] / totals["link_offered_pkts"]


@pytest.mark.usefixtures("engine")
def test_links_report_packets_that_routing_removed_from_their_queues() -> None:
    experiment = pacelab.Experiment(topology_options={"hops": 8}, direction="down", routing="aodv", window_pkts=64)
    run = pacelab.run(experiment).run
    assert run["links"]
    recalled = {(link["from"], link["to"]): link["drops_recalled"] for link in run["links"] if link["drops_recalled"]}
    assert recalled
    # The others: packets that AODV held for a route that it did not find, or had when the link failed.
    assert sum(recalled.values()) <= run["drops"]["link-failure"]
    static = pacelab.run(experiment.vary(routing="static")).run
    assert not any(link["drops_recalled"] for link in static["links"] or ())


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("draw", [0, 1, 2, 3, 4, 7, 9])
@pytest.mark.parametrize("flows", [1, 2])
def test_each_packet_that_is_lost_under_aodv_is_reported_once(draw: int, flows: int, in_tmp: Path) -> None:
    """Radios move between random positions while the flows last. Long after that no packet is in transit."""
    random = Random(draw)
    ways = [[f"[{random.randrange(800)} m, {random.randrange(800)} m]" for _ in range(2)] for _ in range(14)]
    nodes = [f"  - {{name: n{i}, at: {at}}}" for i, (at, _) in enumerate(ways)]
    ends = [f"  - {{from: n{2 * i}, to: n{2 * i + 1}, stop: 12 s}}" for i in range(flows)]
    walks = [
        f"  - {{node: n{i}, at: {at_s} s, to: {to}}}"
        for i, way in enumerate(ways)
        for at_s, to in zip((1, 12), way, strict=True)
    ]
    (in_tmp / "walk.yaml").write_text("\n".join([WALK, "nodes:", *nodes, "flows:", *ends, "moves:", *walks]))
    run = pacelab.run(pacelab.Experiment(topology="walk.yaml")).run
    assert run["links"]
    of_routing = sum(link["drops_rts"] + link["drops_data"] for link in run["links"] if link["class"] == "routing")
    told = run["totals"]["dropped_pkts"] - of_routing
    lost = sum(flow["sent_pkts"] - flow["delivered_pkts"] for flow in run["flows"])
    # An upper bound of the packets that were dropped although they had arrived.
    arrived_unheard = sum(node["data_failures"] for node in run["nodes"])
    assert run["drops"]["mac-rts"] - of_routing > arrived_unheard, "a loss told twice would not be seen"
    assert lost <= told <= lost + arrived_unheard


WALK = """\
version: 1
name: walk
ranges: {decode: 250 m, sense: 550 m}
defaults: {routing: aodv, traffic: cbr, cbr-rate: 0.4, rate: 2, seconds: 60}"""


@pytest.mark.usefixtures("engine")
def test_window_shares_and_rtt_quantiles_are_distributions() -> None:
    run = pacelab.run(pacelab.Experiment(topology_options={"hops": 3}, duration_s=20)).run
    (flow,) = run["flows"]
    assert math.fsum(flow["cwnd_share"].values()) == pytest.approx(1.0)
    assert flow["rtt_quantiles_s"] == sorted(flow["rtt_quantiles_s"])
    assert flow["rtt_quantiles_s"][0] < flow["rtt_mean_s"] < flow["rtt_quantiles_s"][-1]


@pytest.mark.usefixtures("engine")
def test_a_transfer_states_how_long_it_took() -> None:
    experiment = pacelab.Experiment(topology="indoor", topology_options={"hops": 1}, traffic="file", duration_s=20)
    (flow,) = pacelab.run(experiment).run["flows"]
    assert flow["transfer_bps"] == pytest.approx(8_000_000 / flow["completion_s"])
    assert 5e6 < flow["transfer_bps"] < 24e6


@pytest.mark.usefixtures("engine")
def test_table_of_transfers_has_the_duration_of_each(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "indoor", "--hops", "1", "--traffic", "file", "--seconds", "20"]) == 0
    assert re.search(r"│ file, \d\.\d\d s │", capsys.readouterr().out)


@pytest.mark.usefixtures("engine")
def test_http_transfers_of_a_user_are_one_flow_of_the_totals_and_one_series(in_tmp: Path) -> None:
    experiment = pacelab.Experiment(
        topology="access-point", topology_options={"stations": 2}, traffic="http", http_users=3, duration_s=30
    )
    result = pacelab.run(experiment)
    assert len(result.run["flows"]) > 10
    assert len(result.series["flows"]) == 2
    assert result.run["totals"]["finished_flows"] > 10
    loaded = pacelab.load_result(result.write(in_tmp / "out"))
    assert loaded.series == result.series
    assert loaded.run == result.run


@pytest.mark.usefixtures("engine")
def test_flows_start_and_stop_on_schedule(in_tmp: Path) -> None:
    (in_tmp / "pause.yaml").write_text("version: 1\nflows: [{flow: 0, stop: 4 s}, {flow: 0, start: 8 s}]\n")
    experiment = pacelab.Experiment(topology_options={"hops": 2}, traffic="pause.yaml", duration_s=12)
    first, second = pacelab.run(experiment).series["flows"]
    assert all(rate > 0 for rate in first["goodput_bps"][:4])
    assert all(rate == 0 for rate in first["goodput_bps"][5:])
    assert all(rate == 0 for rate in second["goodput_bps"][:8])
    assert all(rate > 0 for rate in second["goodput_bps"][9:])


@pytest.mark.usefixtures("engine")
def test_a_walking_station_keeps_its_flow_over_the_handover() -> None:
    result = pacelab.run(pacelab.Experiment(topology="two-gateways"))
    (flow,) = result.series["flows"]
    assert all(rate > 0 for rate in flow["goodput_bps"][:60])
    assert all(rate > 0 for rate in flow["goodput_bps"][-20:])


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("topology", ["parallel", "cross", "cross-gateway", "asymmetric", "indoor", "access-point"])
def test_every_small_paper_topology_carries_traffic(topology: str) -> None:
    run = pacelab.run(pacelab.Experiment(topology=topology, duration_s=10)).run
    assert run["totals"]["goodput_bps"] > 100_000
    assert run["notes"] == [] or topology == "asymmetric"


@pytest.mark.usefixtures("engine")
def test_the_tree_carries_traffic_under_rts() -> None:
    run = pacelab.run(pacelab.Experiment(topology="tree", duration_s=5)).run
    assert run["totals"]["goodput_bps"] > 100_000


@pytest.mark.usefixtures("engine")
def test_an_option_of_traffic_that_no_flow_carries_is_reported() -> None:
    base = pacelab.Experiment(topology_options={"hops": 1}, duration_s=0.5, cbr_rate_bps=1_000_000, playout_s=0.06)
    notes = [pacelab.run(base.vary(traffic=traffic)).notes for traffic in ("tcp", "cbr")]
    assert notes == [["--cbr-rate 1 has no effect: no flow of this run is cbr"], []]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("topology", ["chain", "parallel", "cross"])
def test_nodes_near_enough_for_routes_to_skip_some_are_reported(topology: str) -> None:
    near, usual = (
        pacelab.run(pacelab.Experiment(topology=topology, topology_options={"spacing": spacing}, duration_s=0.1))
        for spacing in (125.0, 126.0)
    )
    told = "--spacing 125: nodes decode 250 m, so routes skip some and have fewer hops than --hops"
    assert (told in near.notes, any("--spacing" in note for note in usual.notes)) == (True, False)
    assert max(flow["hops"] for flow in near.run["flows"]) < max(flow["hops"] for flow in usual.run["flows"])


@pytest.mark.usefixtures("engine")
def test_a_transfer_that_was_over_before_the_warm_up_is_not_called_silent() -> None:
    over = {"traffic": "file", "size_bytes": 10_000, "warmup_s": 2.0, "duration_s": 3.0}
    result = pacelab.run(pacelab.Experiment(topology_options={"hops": 1}, **over))
    assert result.run["flows"][0]["completion_s"] < 2
    assert result.notes == []
    late = pacelab.run(pacelab.Experiment(topology_options={"hops": 1}, tcp_start_s=3, warmup_s=1, duration_s=2))
    assert late.notes == ["flow 0, n0 -> host, delivered nothing: it starts at 3 s, and the run ends at 2"]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("given", "notes"),
    [
        ({"few_alpha": 0.5}, ["--few-alpha 0.5 has no effect: no flow of this run has --cc few"]),
        ({"few_alpha": 0.5, "cc": "few"}, []),
        ({"pace_hops": 3}, ["--pace-hops 3 has no effect: the scheme does not take it"]),
        ({"pace_hops": 3, "scheme": "tcp-ap"}, []),
        ({"retry_long": 2}, []),
        ({"window_pkts": 4}, []),
        ({"window_pkts": 4, "traffic": "cbr"}, ["--window 4 has no effect: no flow of this run is TCP"]),
        ({"tcp_defaults": "ns2-2001", "traffic": "cbr"}, []),
        ({"retry_long": 2, "rts": False}, ["--retry-long 2 has no effect: with --rts off all are --retry-short's"]),
    ],
)
def test_an_option_that_nothing_takes_is_reported(given: dict[str, Any], notes: list[str]) -> None:
    result = pacelab.run(pacelab.Experiment(topology_options={"hops": 2, "wired": False}, duration_s=1.0, **given))
    assert [note for note in result.notes if "no effect" in note] == notes


@pytest.mark.usefixtures("engine")
def test_a_stop_that_a_transfer_passes_over_is_reported(in_tmp: Path) -> None:
    (in_tmp / "stop.yaml").write_text(STOP)
    notes = [pacelab.run(pacelab.Experiment(topology="stop.yaml", traffic=kind)).notes for kind in ("tcp", "file")]
    assert notes == [[], ["flow 0: its stop at 0.5 s has no effect: a transfer ends with its last byte"]]


STOP = """\
version: 1
name: stop
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: a, at: [0 m, 0 m]}
  - {name: b, at: [200 m, 0 m]}
flows:
  - {from: a, to: b, stop: 500 ms}
defaults: {seconds: 1}
"""
FAR = [
    ({"hops": 1}, {"scheme": "tcp-ap"}, "240 ms of wires (flows with far wires: 1)"),
    ({"hops": 4, "wired_hops": 1}, {"scheme": "tcp-ap-oid"}, "80 ms of wires (flows with far wires: 1)"),
    ({"hops": 4}, {"scheme": "tcp-ap", "direction": "mixed"}, "240 ms of wires (flows with far wires: 1)"),
    ({"hops": 1, "wired": False}, {"scheme": "tcp-ap"}, ""),
    ({"hops": 8, "wired_hops": 1}, {"scheme": "tcp-ap", "rate_bps": 2_000_000}, ""),  # 80 ms, and 93 ms of air
    ({"hops": 4}, {"scheme": "tcp-gap"}, ""),
]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("path", "options", "told"), FAR)
def test_a_pace_that_takes_far_wires_for_hops_is_reported(
    path: dict[str, Any], options: dict[str, Any], told: str
) -> None:
    notes = pacelab.run(pacelab.Experiment(topology_options=path, duration_s=2, **options)).notes
    found = [note for note in notes if "of wires" in note]
    assert len(found) == bool(told)
    assert all(told in note and "tcp-gap" in note for note in found)


# Result folders appear completely or not at all; unusual paths and terminals.

FILES = {"a.json": b"{}\n", "b.csv": b"1,2\n"}


def everything_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_write_folder_makes_parents_and_all_files(tmp_path: Path) -> None:
    out = write_folder(tmp_path / "x" / "y", FILES, name="n")
    assert everything_below(out) == ["a.json", "b.csv"]
    assert (out / "b.csv").read_bytes() == b"1,2\n"
    assert everything_below(tmp_path) == ["x", "x/y", "x/y/a.json", "x/y/b.csv"]


def test_write_folder_takes_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert everything_below(write_folder(tmp_path / "out", FILES, name="n")) == ["a.json", "b.csv"]


def test_write_folder_numbers_fresh_folders(in_tmp: Path) -> None:
    (in_tmp / "runs" / "chain-7").mkdir(parents=True)
    (in_tmp / "runs" / "chain-x").mkdir()
    names = [write_folder(None, FILES, name="chain").name for _ in range(3)]
    assert names == ["chain-8", "chain-9", "chain-10"]


def _write_fresh(count: int) -> list[str]:
    return [write_folder(None, FILES, name="n").name for _ in range(count)]


def test_write_folder_gives_each_process_its_own(in_tmp: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        names = [name for part in pool.map(_write_fresh, [20, 20], chunksize=1) for name in part]
    assert len(set(names)) == 40
    assert all(everything_below(in_tmp / "runs" / name) == ["a.json", "b.csv"] for name in names)


@pytest.mark.parametrize("check", [lambda out: check_destination(out), lambda out: write_folder(out, FILES, name="n")])
def test_out_that_is_not_empty_is_refused(tmp_path: Path, check) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(ConfigError, match="--out must be a new or an empty folder; '"):
        check(tmp_path)
    with pytest.raises(ConfigError, match="--out must be a new or an empty folder; '"):
        check(tmp_path / "mine.txt")
    assert everything_below(tmp_path) == ["mine.txt"]


def test_out_that_is_not_writable_is_refused() -> None:
    with pytest.raises(
        ConfigError,
        match=r"--out '/proc/here': cannot write there \(No such file or directory\); use a writable folder",
    ):
        check_destination(Path("/proc/here"))
    with pytest.raises(ConfigError, match="cannot write there"):
        check_destination(Path("/proc/a/b"))


def test_a_place_of_its_own_choice_is_named_as_the_docs_do(in_tmp: Path) -> None:
    Path("runs").symlink_to("/proc/none")
    with pytest.raises(ConfigError, match=r"^writing 'runs/NAME-N': cannot write there"):
        check_destination(None)


def test_check_destination_leaves_nothing(in_tmp: Path) -> None:
    check_destination(in_tmp / "a" / "b")
    check_destination(None)
    assert everything_below(in_tmp) == []


def test_full_disk_leaves_nothing(small_disk: Path) -> None:
    with pytest.raises(HostError, match="writing '") as caught:
        write_folder(small_disk / "x" / "out", {"a": b"small", "b": bytes(200_000)}, name="n")
    assert "\n" not in str(caught.value)
    assert everything_below(small_disk) == []


def test_file_size_limit_leaves_nothing(tmp_path: Path) -> None:
    """The same without root, by a limit on file sizes."""
    resource = pytest.importorskip("resource", reason="only POSIX limits the size of files")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(HostError, match="File too large"):
            write_folder(tmp_path / "x" / "out", {"a": b"small", "b": bytes(2000)}, name="n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert everything_below(tmp_path) == []


def test_interrupt_while_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "x" / "out", FILES, name="n")
    assert everything_below(tmp_path) == []


def test_write_file_replaces_the_whole_file(tmp_path: Path) -> None:
    write_file(tmp_path / "figures" / "a.svg", b"one")
    write_file(tmp_path / "figures" / "a.svg", b"two")
    assert (tmp_path / "figures" / "a.svg").read_bytes() == b"two"
    assert everything_below(tmp_path) == ["figures", "figures/a.svg"]
    with pytest.raises(ConfigError, match=r"^cannot write '"):
        write_file(tmp_path / "figures", b"three")
    with pytest.raises(
        ConfigError,
        match=r"^writing '/proc/here\.svg': cannot write there \(No such file or directory\); use a writable folder",
    ):
        write_file(Path("/proc/here.svg"), b"four")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away: run as root"
)
def test_folder_made_under_sudo_belongs_to_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", "1")
    monkeypatch.setenv("SUDO_GID", "2")
    folder = write_folder(tmp_path / "new" / "run", {"run.json": b"{}"}, name="run")
    for path in (folder.parent, folder, folder / "run.json"):
        assert (path.stat().st_uid, path.stat().st_gid) == (1, 2)


# Unusual paths, folders and terminals on the command line: one line with the remedy.

LONG = "x" * 300
NO_PATH = "the path of a file or folder"
REFUSED = [
    (
        "run cell --out=",
        "--out must be the path of a file or folder, not ''; perhaps a shell variable is unset; `pacelab",
        NO_PATH,
    ),
    (
        "sweep cell --out=",
        "--out must be the path of a file or folder, not ''; perhaps a shell variable is unset; `pacelab",
        NO_PATH,
    ),
    (
        "run cell --pcap -",
        "--pcap must be the path of a file or folder, not '-'; write ./- for a file called -; `pacelab run",
        NO_PATH,
    ),
    (
        "plot ''",
        "DIR must be the path of a file or folder, not ''; perhaps a shell variable is unset; `pacelab plot",
        NO_PATH,
    ),
    (
        "grade here ''",
        "SUBMISSIONS must be the path of a file or folder, not ''; perhaps a shell variable is unset;",
        NO_PATH,
    ),
    ("compare chain --hops 1 --hops 2", "--hops is given 2 times", "a list A,B"),
    ("run cell --out loop", "--out 'loop'", "use a writable folder"),
    ("run cell --out loop/x", "--out 'loop/x'", "use a writable folder"),
    ("run cell --pcap loop/x", "--pcap 'loop/x'", "use a writable folder"),
    ("sweep cell --out loop", "--out 'loop'", "use a writable folder"),
    ("topologies cell --plot --out loop/x.svg", "loop/x.svg'", "use a writable folder"),
    (f"sweep cell --out {LONG}", LONG, "use a writable folder"),
    (f"topologies cell --plot --out {LONG}.svg", LONG, "use a writable folder"),
    ("sweep cell --seconds 1000000 --out file/x", "--out 'file/x/sweep.json'", "use a writable folder"),
    ("compare cell --seconds 1000000 --schemes newreno --cache file/x", "file/x/", "use a writable folder"),
    (
        "sweep cell --out mine",
        "--out must be a new folder, an empty one, or one of a sweep; 'mine' holds other files",
        "--out must be a new folder, an empty one, or one of a sweep; 'mine' holds other files",
    ),
    (
        "plot nowhere",
        "no such folder: 'nowhere'; give the folder of a run, sweep or comparison",
        "no such folder: 'nowhere'; give the folder of a run, sweep or comparison",
    ),
    ("topologies --plot", "--plot", "topologies NAME"),
    (
        "topologies --hops 3",
        "--plot and options of a topology need one topology; use `pacelab topologies NAME`",
        "topologies NAME",
    ),
    ("topologies cell --out cell.svg", "--out", "--out needs --plot, whose figure it names"),
    ("grade", "no submissions", "folders, zips, notebooks or .py"),
    ("grade nowhere", "'nowhere'", "does not exist"),
]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("command", "what", "allowed"), REFUSED, ids=[case[0][:60] for case in REFUSED])
def test_contradictory_options_are_refused_before_the_first_run(
    command: str, what: str, allowed: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("loop").symlink_to("loop")
    Path("file").touch()
    Path("mine/runs/cell-newreno-1").mkdir(parents=True)
    before = sorted(in_tmp.rglob("*"))
    assert main(shlex.split(command)) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1), err
    assert what in err
    assert allowed in err
    assert sorted(in_tmp.rglob("*")) == before


@pytest.mark.usefixtures("engine")
def test_an_unfinished_sweep_is_known_by_its_runs(in_tmp: Path) -> None:
    sweep = ["sweep", "cell", "--seconds", "1", "--seeds", "1", "--jobs", "1", "--quiet", "--out", "s"]
    Path("s/runs").mkdir(parents=True)
    assert main(sweep) == 0
    Path("s/sweep.json").unlink()
    assert main(sweep) == 0


@pytest.mark.parametrize("command", ["run", "compare", "sweep", "timeline", "demo"])
def test_help_with_a_topology_lists_its_options_only(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "hidden", "--help"]) == 0
    hidden = capsys.readouterr().out
    assert "Topology:" not in hidden.replace("TOPOLOGY", "")
    assert main([command, "--hops", "3", "chain", "-h"]) == 0
    chain = capsys.readouterr().out
    listed = re.findall(r"^  (--[a-z-]+)", chain.partition("Topology:")[2].partition("Experiment:")[0], re.MULTILINE)
    assert listed == ["--hops", "--spacing", "--wired", "--wired-hops", "--voice", "--tcp"]
    assert "wireless hops; a whole number from 1 to 200 [default: 7]" in " ".join(chain.split())
    assert "Experiment:" in chain


def test_help_is_given_whatever_else_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "cell", "--out=", "--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: pacelab run")


@pytest.mark.skipif(sys.platform == "win32", reason="a current folder cannot be removed there")
def test_a_current_folder_that_was_removed_is_reported(in_tmp: Path) -> None:
    gone = in_tmp / "gone"
    gone.mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); from pacelab.cli.main import main; sys.exit(main(['update']))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=gone, capture_output=True, text=True, check=False)
    said = "pacelab: the current folder no longer exists; change to another one\n"
    assert (ran.returncode, ran.stderr) == (3, said)


def test_a_narrow_terminal_cuts_no_number_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.table import Table

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setitem(os.environ, "COLUMNS", "20")
    table = Table("goodput", "retransmitted", "timeouts")
    table.add_row("1234567.8", "23456", "34567")
    print_table(table)
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert all(word in out for word in ("goodput", "retransmitted", "timeouts", "1234567.8", "23456", "34567"))
