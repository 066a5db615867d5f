"""A user's pacer and link layer, and the templates of `pacelab new`."""

from __future__ import annotations

import errno
import math
import os
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pacelab import ConfigError, Experiment, LinkLayer, Pacer, Sample, run, run_link_layer, run_pacer
from pacelab.air import congestion
from pacelab.cli.main import main
from pacelab.cli.new import TEMPLATES
from pacelab.results import folder

pytestmark = pytest.mark.usefixtures("engine")

# A user's pacer paces, and its failures are reported with the place.


DOWN = Experiment(topology="chain", topology_options={"hops": 2, "wired_hops": 1}, direction="down", duration_s=5.0)


class Steady(Pacer):
    """A constant interval of 20 ms."""

    interval_s = 0.02
    samples: list[Sample] = []  # noqa: RUF012 - the samples of the last run, for the tests

    def measured(self, sample: Sample) -> None:
        self.samples.append(sample)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_user_pacer_sets_the_time_between_packets(direction: str) -> None:
    Steady.samples.clear()
    result = run_pacer(DOWN.vary(direction=direction), Steady)
    # 50 packets/s of 11,680 bits are 584 kbit/s, far below the path's capacity; slightly less, since flows start late.
    assert 0.9 * 584_000 < result.goodput_bps <= 590_000
    assert result.run["config"]["scheme"] == "Steady"
    assert result.run["hooks"]["actions"] > 100
    sample = Steady.samples[-1]
    ack_bytes = 40 if direction == "down" else 52  # upwards ACKs carry the option RTT_wired
    assert (sample.hops, sample.rate_bps, sample.data_bytes, sample.ack_bytes) == (2, 11_000_000, 1500, ack_bytes)
    # Two hops in each direction take at least the packets' bits at 11 Mbit/s; the wire is not included.
    assert 2 * (1500 + 40) * 8 / 11e6 < sample.rtt_s < 0.04


def test_user_pacer_that_does_nothing_is_newreno() -> None:
    class Idle(Pacer):
        def measured(self, sample: Sample) -> None:
            pass

    plain, idle = run(DOWN), run_pacer(DOWN, Idle)
    # The gateway's local retransmission is TCP-GAP's, so the results are not exactly equal.
    assert math.isclose(idle.goodput_bps, plain.goodput_bps, rel_tol=0.05)


def test_user_pacer_that_draws_has_the_same_result_by_the_same_seed() -> None:
    class Drawing(Pacer):
        def measured(self, sample: Sample) -> None:
            self.interval_s = 0.02 * random.random()

    before = random.getstate()
    first = run_pacer(DOWN, Drawing)
    assert random.getstate() == before
    random.random()
    assert run_pacer(DOWN, Drawing).run == first.run
    assert run_pacer(DOWN.vary(seed=2), Drawing).goodput_bps != first.goodput_bps


@pytest.mark.parametrize(
    ("interval", "told"),
    [
        (math.nan, r"set interval_s to nan; it must be 0 or more seconds"),
        (-0.1, r"set interval_s to -0.1; it must be 0 or more"),
        ("soon", r"set interval_s to 'soon'; it must be a number of seconds"),
        (True, r"set interval_s to True; it must be a number"),
        (10**400, r"set interval_s to 10{59}; it must be 0 or more"),
        (Decimal("sNaN"), r"set interval_s to Decimal\('sNaN'\); it must be 0 or more"),
        (np.array([0.1, 0.2]), r"set interval_s to array\(\[0\.1, 0\.2\]\); it must be a number"),
    ],
)
def test_user_pacer_with_a_bad_interval_is_reported(interval: Any, told: str) -> None:
    class Bad(Pacer):
        def measured(self, sample: Sample) -> None:
            self.interval_s = interval

    with pytest.raises(ConfigError, match=r"pacer Bad at 0\.\d+ s of simulated time " + told):
        run_pacer(DOWN, Bad)


def test_user_pacer_that_raises_is_reported_with_its_line() -> None:
    class Broken(Pacer):
        def measured(self, sample: Sample) -> None:
            raise KeyError("oops")

    with pytest.raises(ConfigError, match=r"(?s)pacer Broken.*failed:.*raise KeyError\(\"oops\"\).*KeyError: 'oops'"):
        run_pacer(DOWN, Broken)


def test_user_pacer_of_which_nothing_runs_is_reported() -> None:
    class Async(Pacer):
        async def measured(self, sample: Sample) -> None:  # type: ignore[override]
            self.interval_s = 0.1

    with pytest.raises(ConfigError, match=r"pacer Async at .* failed:\n(.*\n)*TypeError: its body does not run: write"):
        run_pacer(DOWN, Async)


def test_user_pacer_that_ends_python_is_reported_with_its_line() -> None:
    class Ends(Pacer):
        def measured(self, sample: Sample) -> None:
            sys.exit(3)

    with pytest.raises(ConfigError, match=r"(?s)pacer Ends at .* failed:.*sys.exit\(3\).*SystemExit: 3"):
        run_pacer(DOWN, Ends)


def test_user_pacer_and_link_layer_of_a_wrong_signature_are_reported_with_their_line() -> None:
    class Wrong(Pacer):
        def measured(self) -> None:  # type: ignore[override]
            pass

    class WrongLayer(LinkLayer):
        def __init__(self) -> None:
            pass

    told = r'(?s)failed:\n  File ".*test_own_pacer\.py", line \d+, in {}\n.*TypeError'
    with pytest.raises(ConfigError, match=told.format("measured")):
        run_pacer(DOWN, Wrong)
    with pytest.raises(ConfigError, match=told.format("__init__")):
        run_link_layer(CHAIN, WrongLayer)


def test_user_pacer_that_does_not_return_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(congestion, "TIME_LIMIT_S", 0.5)

    class Endless(Pacer):
        def measured(self, sample: Sample) -> None:
            while True:
                pass

    with pytest.raises(ConfigError, match="it had not returned after 0"):
        run_pacer(DOWN, Endless)


def test_code_that_has_failed_at_one_node_is_not_called_at_the_others() -> None:
    """Otherwise each endless call would use its 5 s: 100 s over 20 hops."""
    called: list[int] = []

    class Failing(LinkLayer):
        def sent(self, attempts: int, delivered: bool) -> None:
            called.append(self.node)
            raise KeyError

    with pytest.raises(ConfigError, match="in sent"):
        run_link_layer(CHAIN, Failing)
    assert len(called) == 1


def test_numpys_words_are_understood() -> None:
    class Numbers(Pacer):
        def measured(self, sample: Sample) -> None:
            self.interval_s = np.float32(0.02)  # type: ignore[assignment]

    class Passes(LinkLayer):
        def passes(self) -> bool:
            return np.float64(1) > 0  # type: ignore[return-value]

    assert run_pacer(DOWN, Numbers).run["hooks"]["actions"] > 100
    assert run_link_layer(CHAIN, Passes).run["flows"] == run(CHAIN).run["flows"]


def test_user_pacer_must_be_a_class_of_pacers() -> None:
    with pytest.raises(ConfigError, match="must be a subclass of pacelab"):
        run_pacer(DOWN, Steady())  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="in an experiment that runs a scheme of your own, not 'tcp-gap'"):
        run_pacer(DOWN.vary(scheme="tcp-gap"), Steady)


def test_a_very_long_interval_is_bounded() -> None:
    class Slow(Pacer):
        interval_s = 1e9

        def measured(self, sample: Sample) -> None:
            pass

    assert run_pacer(DOWN, Slow).run["flows"][0]["delivered_pkts"] >= 4  # one a second


# A user's link layer gets attempts, drops packets, and its failures are reported with the place.


CHAIN = Experiment(topology="chain", topology_options={"hops": 3, "wired": False}, duration_s=5.0)


def test_user_link_layer_that_does_nothing_changes_nothing() -> None:
    assert run_link_layer(CHAIN, LinkLayer).goodput_bps == run(CHAIN).goodput_bps


def test_user_link_layer_drops_its_choice_and_gets_every_attempt() -> None:
    heard: list[tuple[int, bool]] = []

    class Tenth(LinkLayer):
        def sent(self, attempts: int, delivered: bool) -> None:
            heard.append((attempts, delivered))

        def passes(self) -> bool:
            return self.random.random() >= 0.1

    result = run_link_layer(CHAIN, Tenth)
    dropped = result.run["drops"]["hook:own"]
    assert dropped == result.run["hooks"]["actions"]
    # Each packet is judged at each of its nodes: a tenth of them, within 4 standard deviations.
    judged = dropped + len(heard)
    assert abs(dropped - 0.1 * judged) < 4 * (0.09 * judged) ** 0.5
    assert min(attempts for attempts, _ in heard) == 1
    assert sum(delivered for _, delivered in heard) > 0.9 * len(heard)
    assert run_link_layer(CHAIN, Tenth).goodput_bps == result.goodput_bps


def test_user_link_layer_knows_its_node() -> None:
    """Packets pass every node of a chain: each node asks, and so does the receiving last node, for the ACKs."""
    asked: set[int] = set()

    class Asked(LinkLayer):
        def passes(self) -> bool:
            asked.add(self.node)
            return True

    run_link_layer(CHAIN, Asked)
    assert asked == {0, 1, 2, 3}


@pytest.mark.parametrize("answer", [None, 1, "yes"])
def test_user_link_layer_with_a_bad_answer_is_reported(answer: Any) -> None:
    class Bad(LinkLayer):
        def passes(self) -> bool:
            return answer  # type: ignore[no-any-return]

    with pytest.raises(ConfigError, match=r"link layer Bad at 0\.000025 s of simulated time returned"):
        run_link_layer(CHAIN, Bad)


def test_user_link_layer_that_raises_is_reported_with_its_line() -> None:
    class Broken(LinkLayer):
        def sent(self, attempts: int, delivered: bool) -> None:
            raise KeyError("oops")

    with pytest.raises(ConfigError, match=r"(?s)link layer Broken.*failed:.*raise KeyError\(\"oops\"\)"):
        run_link_layer(CHAIN, Broken)
    with pytest.raises(ConfigError, match="must be a subclass of pacelab"):
        run_link_layer(CHAIN, object)  # type: ignore[arg-type]


# `pacelab new`: its template runs unchanged, and so does the test beside it.

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
PLAIN = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""A student's environment, without our plugins, which take half a second."""

RUNS = {
    "claim": ["reproduce", "mine.yaml", "--quick", "--jobs", "1", "--out", "out"],
    "cc": ["run", "chain", "--cc", "mine.py:Mine", "--seconds", "3"],
    "qdisc": ["run", "chain", "--qdisc", "mine.py:Mine", "--seconds", "3"],
    "scheme": ["run", "chain", "--scheme", "mine.py:SCHEME", "--seconds", "3"],
    "topology": ["run", "mine.py", "--set", "arms=4", "--seconds", "3"],
}


@pytest.mark.parametrize("kind", TEMPLATES)
def test_the_template_runs(kind: str, in_tmp: Path) -> None:
    assert main(["new", kind, "Mine"]) == 0
    if kind in RUNS:
        assert main([*RUNS[kind], "--quiet"]) == 0
    else:
        told = subprocess.run([sys.executable, "mine.py"], capture_output=True, text=True, check=True).stdout
        assert "Mine: " in told


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param([kind for kind in TEMPLATES if kind != "claim"], id="all"),
        pytest.param(["claim"], id="claim", marks=pytest.mark.thorough),
    ],
)
def test_the_tests_of_the_templates_pass(kinds: list[str], in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pytest runs them, because it takes longer to start than to run."""
    for kind in kinds:
        (in_tmp / kind).mkdir()
        monkeypatch.chdir(in_tmp / kind)
        assert main(["new", kind, "Mine"]) == 0
    files = [str(in_tmp / kind / "test_mine.py") for kind in kinds]
    ran = subprocess.run(
        [*PYTEST, "--import-mode=importlib", *files], env=PLAIN, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("module", "says"),
    [
        ("pacelab_pacer.core.contract", "class SetExtraBackoff"),
        ("pacelab_pacer.core.segment", "Advertised window, window scaling already applied"),
        ("pacelab.schemes.scheme", "Features that the topology must have"),
    ],
)
def test_modules_that_a_new_scheme_names_document_the_contract(module: str, says: str) -> None:
    assert module in TEMPLATES["scheme"]
    # The source, even of a compiled module.
    folder = Path(__file__).parents[2] / ("pacer" if module.startswith("pacelab_pacer") else "")
    source = folder / (module.replace(".", "/") + ".py")
    assert says in source.read_text(encoding="utf-8")


def test_a_users_control_can_be_compared(in_tmp: Path) -> None:
    assert main(["new", "cc", "Mine"]) == 0
    words = ["compare", "chain", "--seconds", "2", "--seeds", "1", "--jobs", "1", "--quiet", "--out", "both"]
    assert main([*words, "--schemes", "newreno,mine.py:Mine"]) == 0
    assert "Mine" in Path("both/table.csv").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["new", "gateway", "Mine"],
            "new: the kind must be one of cc, pacer, link, qdisc, scheme, topology, claim, not 'gateway'",
        ),
        (
            ["new", "cc", "my-own"],
            "new cc: the name must be letters, digits and _, starting with a letter, not 'my-own'",
        ),
        (["new", "cc", "class"], "new cc: 'class' is a Python keyword; choose another name"),
        (
            ["new", "cc", "PaceLab"],
            "new cc: pacelab.py would hide the module pacelab from other programs; choose another name",
        ),
        (
            ["new", "pacer", "json"],
            "new pacer: json.py would hide the module json from other programs; choose another name",
        ),
        (
            ["new", "link", "Typing"],
            "new link: typing.py would hide the module typing from other programs; choose another name",
        ),
        (
            ["new", "topology", "pytest"],
            "new topology: pytest.py would hide the module pytest from other programs; choose another name",
        ),
        (
            ["new", "cc", "NumPy"],
            "new cc: numpy.py would hide the module numpy from other programs; choose another name",
        ),
        (["new", "claim", "Größe"], "new claim: the name must be the letters a to z, digits and _"),
        (["new", "claim", "_"], "new claim: the name must be the letters a to z, digits and _"),
        (
            ["new", "cc", "__init__"],
            "new cc: the name must be letters, digits and _, starting with a letter, not '__init__'",
        ),
        (["new", "cc", "float"], "is a name that the file itself uses"),
        (["new", "pacer", "Experiment"], "is a name that the file itself uses"),
        (["new", "cc", "Test_x"], "new cc: pytest would take test_x.py for a test; choose another name"),
    ],
)
def test_impossible_templates_are_refused(
    words: list[str], told: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert told in capsys.readouterr().err.replace("\n", " ")
    assert list(Path().iterdir()) == []


def test_a_folder_or_a_file_nearby_is_no_module(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m pacelab` has the current folder on its path."""
    monkeypatch.syspath_prepend(str(in_tmp))
    monkeypatch.syspath_prepend("")
    Path("mine").mkdir()
    assert main(["new", "cc", "Mine"]) == 0
    assert main(["new", "claim", "json"]) == 0


def test_the_template_explains_how_to_install_pytest(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "cc", "Mine"]) == 0
    told = "run `pytest test_mine.py` (`pip install pytest`, or `make dev` in the source folder, installs pytest)"
    assert told in capsys.readouterr().err.replace("\n", " ")


def test_nothing_is_written_over(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("test_mine.py").write_text("mine")
    assert main(["new", "cc", "Mine"]) == 2
    assert "new cc: 'test_mine.py' already exists; choose another name" in capsys.readouterr().err
    assert Path("test_mine.py").read_text() == "mine"
    assert not Path("mine.py").exists()


def test_without_space_for_both_files_none_is_written(
    in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = folder._write

    def fill(path: Path, content: bytes) -> None:
        if path.name == "test_mine.py":
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, content)

    monkeypatch.setattr(folder, "_write", fill)
    assert main(["new", "cc", "Mine"]) == 3
    told = f"writing {str(in_tmp / 'test_mine.py')!r}: No space left on device; free some space, or write elsewhere"
    assert told in capsys.readouterr().err
    assert list(in_tmp.iterdir()) == []


@pytest.mark.thorough
def test_a_written_claim_is_judged_and_can_be_refuted(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "claim", "My_Own"]) == 0
    text = Path("my_own.yaml").read_text()
    assert "id: own-my-own\n" in text
    Path("my_own.yaml").write_text(text.replace("{rts: on}, against: {rts: off}", "{rts: off}, against: {rts: on}"))
    ran = subprocess.run(PYTEST, env=PLAIN, capture_output=True, check=False)
    assert ran.returncode == 1
    assert b"not reproduced" in ran.stdout


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            ("paper: own", "paper: fu"),
            "claim file mine.yaml, line 8, key the whole: id must be fu-NAME, not 'own-mine' (found {'schema':",
        ),
        (("own", "fu"), "claim file mine.yaml: fu-mine: use each id once, and a paper of your own, for example own"),
        (
            ("goodput_kbps", "beauty"),
            "claim file mine.yaml, line 25, key checks.0.measure: of must be one of goodput_kbps, fairness,",
        ),
        (
            ("rate: 2", "rates: 2"),
            "claim own-mine: option must be one of direction, traffic, cc, ack, few-alpha, few-min-window, phy,",
        ),
        (
            ("rate: 2", "seed: 2"),
            "claim file mine.yaml, line 14, key scenario: 'seed' is neither an option nor an axis here; use",
        ),
        (
            ("rts: [off, on]", "seed: [1, 2]"),
            "claim file mine.yaml, line 14, key scenario: 'seed' is neither an option nor an axis here; use",
        ),
        (
            ("rate: 2", "seconds: 2"),
            "claim file mine.yaml, line 14, key scenario: 'seconds' is neither an option nor an axis here; use",
        ),
        (
            ("rate: 2", "cc: [newreno, cubic]"),
            "claim file mine.yaml, line 16, key scenario.options.cc: must be one value (a text, a number, true, or "
            "false; a list of values belongs under `axes`), not ['newreno', 'cubic']",
        ),
        (
            ("own-mine", "own mine"),
            "line 9, key id: must be small letters and digits, with single hyphens between them, not 'own mine'",
        ),
        (
            ("compare: ratio", "compare: quotient"),
            ".compare: must be 'change', 'difference' or 'ratio', not 'quotient'",
        ),
        (("at: {rts: on}", "at: {rtss: on}"), "check 1: axis must be one of rts, scheme, not 'rtss'"),
        (None, "claim file mine.yaml is empty; `pacelab new claim NAME` writes an example"),
    ],
)
def test_an_invalid_claim_file_is_refused(
    change: tuple[str, str] | None, told: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "claim", "Mine"]) == 0
    text = Path("mine.yaml").read_text()
    Path("mine.yaml").write_text(text.replace(*change) if change else "")
    capsys.readouterr()
    assert main(["reproduce", "mine.yaml", "--quick"]) == 2
    assert told in capsys.readouterr().err.replace("\n", " ")


def test_a_claim_file_that_is_not_there_is_reported(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "mine.yaml"]) == 2
    assert "cannot read claim file 'mine.yaml' (No such file" in capsys.readouterr().err
    assert main(["reproduce", "mine.yaml", "--docs", "page.md"]) == 2
    assert (
        "--docs stores outcomes of the papers' claims, not of mine.yaml; leave --docs out"
        in capsys.readouterr().err.replace("\n", " ")
    )
