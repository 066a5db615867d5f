"""A user's congestion control in Python: used like any other, with its own name in comparisons; failures
are reported.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import pacelab
from pacelab import Experiment, compare, run
from pacelab.air import congestion
from pacelab.air.own_hooks import OwnCalls
from pacelab.cli.main import main
from pacelab.errors import ConfigError
from pacelab.figures.tables import run_title
from pacelab.grid.sweep_plots import load_points, plot_points

HEADER = "import pacelab\n\nclass Mine(pacelab.CongestionControl):\n"
AIMD = """
    threshold = 1e9
    def acknowledged(self, now_ns, acked_pkts, rtt_ns):
        self.window += 1.0 if self.window < self.threshold else 1.0 / self.window
    def lost(self, now_ns, in_use_pkts):
        self.threshold = self.window = max(in_use_pkts / 2, 2.0)
    def recovered(self):
        self.window = self.threshold
    def timed_out(self, now_ns, in_use_pkts):
        self.threshold = max(in_use_pkts / 2, 2.0)
        self.window = 1.0
"""


def own(tmp_path: Path, body: str, class_name: str = "Mine") -> str:
    path = tmp_path / "mine.py"
    path.write_text(HEADER + body)
    return f"{path}:{class_name}"


def experiment(cc: str, **options: object) -> pacelab.Experiment:
    return pacelab.Experiment(
        topology="chain",
        topology_options={"hops": 4, "wired": False},
        rate_bps=2_000_000,
        duration_s=20,
        cc=cc,
        **options,
    )


def test_newreno_in_python_gives_newrenos_result(tmp_path: Path) -> None:
    # The engine's threshold starts at the receiver's window and here far above it: both windows grow in the same way.
    body = AIMD.replace("threshold = 1e9", "threshold = 32")
    mine = pacelab.run(experiment(own(tmp_path, body))).run
    theirs = pacelab.run(experiment("newreno")).run
    assert mine["flows"] == theirs["flows"]
    assert len(mine["config"]["cc_sha256"]) == 64


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("    def acknowledged(self, *a): raise KeyError('boom')\n    def lost(self, *a): pass\n", "KeyError: 'boom'"),
        ("    def acknowledged(self, *a): self.window = float('nan')\n    def lost(self, *a): pass\n", "window to nan"),
        ("    def acknowledged(self, *a): self.window = -1\n    def lost(self, *a): pass\n", "window to -1"),
        ("    def acknowledged(self, *a): self.window = 'x'\n    def lost(self, *a): pass\n", "window to 'x'"),
        ("    def acknowledged(self, *a): self.window = 10**400\n    def lost(self, *a): pass\n", "window to 10000"),
        (
            "    def acknowledged(self, *a): self.window = 10**5000\n    def lost(self, *a): pass\n",
            "window to a value of type int that cannot be shown: a number of segments above 0",
        ),
        (
            "    def acknowledged(self, *a): self.pacing_pps = 10**400\n    def lost(self, *a): pass\n",
            "pacing_pps to 10",
        ),
        ("    def lost(self, *a:\n", "SyntaxError"),
        ("    def acknowledged(self, *a): raise SystemExit(3)\n    def lost(self, *a): pass\n", "SystemExit: 3"),
        ("    raise SystemExit(0)\n", "(?s)loading .*SystemExit: 0"),
    ],
)
def test_failures_stop_the_run_with_their_reason(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(congestion.UserCodeError, match=message) as caught:
        pacelab.run(experiment(own(tmp_path, body)))
    text = str(caught.value)
    assert "of simulated time" in text or "loading" in text


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (
            "    def __init__(self, *a): pass\n    def acknowledged(self, *a): pass\n    def lost(self, *a): pass\n",
            4,
            r"has no self\.window: does its __init__ call super\(\)\.__init__\(initial_window, window_limit\)\?",
        ),
        ("    def acknowledged(self, now_ns): pass\n    def lost(self, *a): pass\n", 4, "takes 2 positional arguments"),
        (
            "    def lost(self, *a): pass\n    def __init__(self): pass\n    acknowledged = lost\n",
            5,
            "takes 1 positional",
        ),
        (
            "    def acknowledged(self, *a): pass\n    def lost(self, *a): pass\n    recovery = 'sak'\n",
            3,
            r"has recovery = 'sak': one of 'newreno', 'reno', 'go-back-n', 'sack' is needed",
        ),
    ],
)
def test_failures_outside_of_own_lines_name_the_line(tmp_path: Path, body: str, line: int, message: str) -> None:
    with pytest.raises(congestion.UserCodeError, match=message) as caught:
        pacelab.run(experiment(own(tmp_path, body)))
    assert f'File "{tmp_path / "mine.py"}", line {line}, in ' in str(caught.value)


def test_a_dataclass_that_cannot_be_made_is_reported_with_its_line(tmp_path: Path) -> None:
    body = "    seen: int = 0\n    def acknowledged(self, *a): pass\n    def lost(self, *a): pass\n"
    path, _, name = own(tmp_path, body).rpartition(":")
    text = Path(path).read_text().replace("class Mine", "import dataclasses\n@dataclasses.dataclass\nclass Mine")
    Path(path).write_text(text)
    line = text[: text.index("@dataclasses")].count("\n") + 1
    with pytest.raises(
        congestion.UserCodeError, match=rf'File "{path}", line ({line}|{line + 1}), in Mine\n.*\n.*positional'
    ):
        pacelab.run(experiment(f"{path}:{name}"))


def test_attributes_of_a_class_in_a_file_do_not_last_from_run_to_run(tmp_path: Path) -> None:
    body = (
        "    made = []\n"
        "    def __init__(self, *a):\n        super().__init__(*a)\n        self.made.append(1)\n"
        "    def acknowledged(self, *a): self.window = 1 + len(self.made)\n    def lost(self, *a): pass\n"
    )
    one, other = (pacelab.run(experiment(own(tmp_path, body))).goodput_bps for _ in range(2))
    assert one == other


def test_a_class_without_a_required_method_is_refused(tmp_path: Path) -> None:
    path = own(tmp_path, "    def acknowledged(self, *a): pass\n")
    with pytest.raises(pacelab.ConfigError, match=r"must define lost; `pacelab new cc NAME` writes an example$"):
        pacelab.run(experiment(path))


def test_a_call_that_never_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(congestion, "TIME_LIMIT_S", 0.3)
    body = "    def acknowledged(self, *a):\n        while True: pass\n    def lost(self, *a): pass\n"
    with pytest.raises(congestion.UserCodeError, match=r"had not returned after 0\.3 s"):
        pacelab.run(experiment(own(tmp_path, body)))


@pytest.mark.parametrize("body", ["async def acknowledged(self, *a): pass", "def acknowledged(self, *a): yield"])
def test_a_method_of_which_nothing_runs_is_reported(tmp_path: Path, body: str) -> None:
    told = r"failed:\n  File .*mine\.py\", line \d+, in acknowledged\n(.*\n)*TypeError: its body does not run: write"
    with pytest.raises(congestion.UserCodeError, match=told):
        pacelab.run(experiment(own(tmp_path, f"    {body}\n    def lost(self, *a): pass\n")))


def test_a_loop_that_swallows_every_exception_is_ended_nevertheless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(congestion, "TIME_LIMIT_S", 0.3)
    body = (
        "    def acknowledged(self, *a):\n        while True:\n            try: pass\n"
        "            except Exception: pass\n    def lost(self, *a): pass\n"
    )
    with pytest.raises(
        congestion.UserCodeError, match=r"s of simulated time.*\n(.*\n)*.*had not returned after 0\.3 s"
    ):
        pacelab.run(experiment(own(tmp_path, body)))


@pytest.mark.parametrize(
    "loop",
    ["while True:\n            try:\n                while True: pass\n            except: pass", "time.sleep(1000)"],
    ids=["swallows", "sleeps"],
)
def test_a_call_that_ignores_interrupts_does_not_hang(tmp_path: Path, loop: str) -> None:
    body = f"    def acknowledged(self, *a):\n        import time\n        {loop}\n    def lost(self, *a): pass\n"
    code = (
        "import pacelab; from pacelab.air import congestion; congestion.TIME_LIMIT_S = 0.2; "
        f"pacelab.run(pacelab.Experiment(cc={own(tmp_path, body)!r}, duration_s=5))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    # The interrupt may hit the loop outside its `try`; then the run ends like any other failure.
    assert ended.returncode == (1 if "UserCodeError" in ended.stderr else congestion.UserCodeError.exit_code)
    assert "s of simulated time" in ended.stderr
    assert "mine.py" in ended.stderr  # its traceback


def test_a_watch_ends_with_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise each run of user code would leave a thread."""
    monkeypatch.setattr(congestion, "TIME_LIMIT_S", 0.1)
    before = set(threading.enumerate())
    code = OwnCalls("mine")
    assert code.call(int) == 0
    (thread,) = set(threading.enumerate()) - before
    del code  # the control refers to the watch, not vice versa
    thread.join(timeout=60)
    assert not thread.is_alive()


def test_a_pacer_is_no_control(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import pacelab\n\nclass Mine(pacelab.Pacer): ...\n")
    name = f"{tmp_path / 'mine.py'}:Mine"
    with pytest.raises(
        pacelab.ConfigError,
        match="^" + re.escape(f"--cc {name!r} is not a congestion control; use --scheme {name}") + "$",
    ):
        pacelab.run(experiment(name))


@pytest.mark.parametrize("number", ["np.int64(2)", "np.float32(2)", "Fraction(2)"])
def test_a_window_may_be_any_number(tmp_path: Path, number: str) -> None:
    body = f"    def acknowledged(self, *a): self.window = {number}\n    def lost(self, *a): pass\n"
    path = tmp_path / "mine.py"
    path.write_text(f"import numpy as np\nfrom fractions import Fraction\n{HEADER}{body}")
    own_result = pacelab.run(experiment(f"{path}:Mine").vary(duration_s=1))
    path.write_text(HEADER + body.replace(number, "2.0"))
    assert own_result.run["flows"] == pacelab.run(experiment(f"{path}:Mine").vary(duration_s=1)).run["flows"]


@pytest.mark.parametrize(
    ("acknowledged", "notes"),
    [
        ("self.windw = 5", ["Mine: no call changed self.window; it stayed at 2 segments"]),
        ("return 5", ["Mine: no call changed self.window; it stayed at 2 segments"]),
        ("self.window = 5", []),
        ("self.pacing_pps = 5", []),
    ],
)
def test_a_window_that_no_call_changes_is_reported(tmp_path: Path, acknowledged: str, notes: list[str]) -> None:
    body = f"    def acknowledged(self, *a): {acknowledged}\n    def lost(self, *a): pass\n"
    result = pacelab.run(experiment(own(tmp_path, body)).vary(duration_s=1))
    assert [note for note in result.notes if note.startswith("Mine")] == notes


@pytest.mark.parametrize("name", ["nowhere.py:Mine", "fast", "mine.py", ":Mine"])
def test_unknown_controls_are_refused(name: str) -> None:
    with pytest.raises(pacelab.ConfigError, match="--cc"):
        pacelab.run(experiment(name))


def test_a_file_without_the_class_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pacelab.ConfigError, match="no subclass"):
        pacelab.run(experiment(own(tmp_path, AIMD, class_name="Other")))


# A user's congestion control has its own name in folder, title, legend and gain, in one panel.

MINE = """from pacelab import CongestionControl


class Steady(CongestionControl):
    def __init__(self, initial_window, window_limit):
        super().__init__(initial_window, window_limit)
        self.window = 3.0

    def acknowledged(self, now_ns, acked_pkts, rtt_ns):
        self.window = 3.0

    def lost(self, now_ns, in_use_pkts):
        self.window = 3.0

    def timed_out(self, now_ns, in_use_pkts):
        self.window = 3.0
"""


@pytest.fixture
def mine(in_tmp: Path) -> str:
    (in_tmp / "mine.py").write_text(MINE)
    return "mine.py:Steady"


def chain(**more: object) -> Experiment:
    options = {"hops": 4, "wired": False}
    return Experiment(topology="chain", topology_options=options, rate_bps=2_000_000, duration_s=3, **more)


@pytest.mark.usefixtures("engine")
def test_a_run_has_the_controls_own_name(mine: str, in_tmp: Path) -> None:
    result = run(chain(cc=mine))
    assert "; Steady, " in run_title(result)
    assert result.write().name == "chain-Steady-1"
    assert run(chain(cc=mine, scheme="lred")).write().name == "chain-lred+Steady-1"
    assert run(chain(cc="cubic")).write().name == "chain-cubic-1"
    assert run(chain()).write().name == "chain-newreno-1"


@pytest.mark.usefixtures("engine")
def test_a_users_control_is_listed_among_the_schemes_with_a_gain(mine: str) -> None:
    found = compare(chain(), schemes=["newreno", "cubic", mine], seeds=2, jobs=1)
    assert found.compare["schemes"] == ["newreno", "cubic", "Steady"]
    rows = {row["scheme"]: row for row in found.rows}
    assert rows["Steady"]["gain"] is not None
    assert {row["scheme"] for row in found.compare["runs"]} == {"newreno", "cubic", "Steady"}
    alone = run(chain(cc=mine))
    assert rows["Steady"]["goodput_bps"]["samples"][0] == alone.goodput_bps


@pytest.mark.usefixtures("engine")
def test_one_panel_and_seeds_by_their_names(mine: str, in_tmp: Path) -> None:
    words = ["compare", "chain", "--no-wired", "--hops", "3,4", "--seconds", "2", "--seeds", "2", "--jobs", "1"]
    assert main([*words, "--seed", "4", "--schemes", f"newreno,{mine}", "--out", "both", "--quiet"]) == 0
    assert json.loads(Path("both/compare.json").read_text())["schemes"] == ["newreno", "Steady"]
    for quantity in ("goodput_bps", "jain", "rtt_mean_s", "retransmitted_pkts", "dropped_pkts"):
        ax = plot_points(load_points(Path("both")), x="hops", y=quantity)
        legend = ax.get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()] == ["newreno", "Steady"]
        assert any("seeds 4-5" in text.get_text() for text in ax.texts)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("asked", "baseline"),
    [
        ("--schemes newreno --cc newreno,{mine}", "newreno"),
        pytest.param("--schemes cubic,{mine}", "cubic", marks=pytest.mark.thorough),
    ],
)
def test_gains_are_over_newreno_or_the_first(
    mine: str, asked: str, baseline: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "chain", "--no-wired", "--hops", "3", "--seconds", "2", "--seeds", "2", "--jobs", "1"]
    assert main([*words, *asked.format(mine=mine).split(), "--out", "both"]) == 0
    out = capsys.readouterr().out
    assert f"gain over {baseline}, " in out
    first, other = json.loads(Path("both/compare.json").read_text())["rows"]
    assert (first["scheme"], first["gain"], other["scheme"]) == (baseline, 0, "Steady")
    (line,) = (line for line in out.splitlines() if "Steady" in line)
    assert f"{other['gain']:+.1%}" in line.split()


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("first", ["{mine},newreno", pytest.param("cubic,{mine}", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("command", ["compare", "sweep"])
def test_a_control_may_be_first(mine: str, first: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [command, "chain", "--no-wired", "--hops", "2", "--seconds", "0.2", "--seeds", "1", "--jobs", "1"]
    code = main([*words, "--quiet", "--schemes", first.format(mine=mine), "--out", "both"])
    assert (code, capsys.readouterr().err) == (0, "")


@pytest.mark.usefixtures("engine")
def test_a_control_beside_another_one_is_refused(mine: str) -> None:
    with pytest.raises(
        ConfigError,
        match=r"--cc 'cubic' and 'mine\.py:Steady' among the schemes are both congestion controls; leave one out",
    ):
        compare(chain(cc="cubic"), schemes=["newreno", mine], seeds=1, jobs=1)
    with pytest.raises(
        ConfigError,
        match=r"compare: schemes must be a list that has each name once, not \['mine\.py:Steady', 'mine\.py:Steady'\]",
    ):
        compare(chain(), schemes=[mine, mine], seeds=1, jobs=1)


@pytest.mark.usefixtures("engine")
def test_batches_are_no_seeds(in_tmp: Path) -> None:
    rows = [{"point": {}, "scheme": "newreno", "goodput_bps": {"mean": 2.0, "samples": [1.0, 2.0, 3.0]}}]
    document = {
        "schema_version": 2,
        "config": chain().config(),
        "axes": {},
        "schemes": ["newreno"],
        "seeds": [7],
        "interval": {"level": 0.95, "over": "batches"},
        "rows": rows,
    }
    Path("full").mkdir()
    Path("full/compare.json").write_text(json.dumps(document))
    ax = plot_points(load_points(Path("full")), x="scheme")
    assert any("n = 3 batches per point, seed 7" in text.get_text() for text in ax.texts)


@pytest.mark.usefixtures("engine")
def test_a_capture_explains_how_to_read_its_tcp(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "chain", "--hops", "2", "--no-wired", "--seconds", "1", "--pcap", "run.pcapng"]) == 0
    told = capsys.readouterr().err.replace("\n", " ")
    assert "which Wireshark takes for retransmissions" in told
    assert "-o wlan.retransmitted:FALSE" in told
