"""A user's scheme or topology is one file anywhere: usable at once, also in comparisons."""

from __future__ import annotations

import hashlib
import json
import pickle
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest

import pacelab
from pacelab.cli.main import main
from pacelab.grid.grid import changes_of
from pacelab.schemes import registry
from pacelab.user_code import imports
from pacelab.user_code.loading import digest_of, load_user_code
from pacelab.user_code.messages import UserCodeError

pytestmark = pytest.mark.usefixtures("engine")

SCHEME = '''
"""Drops every twentieth data segment that a wireless source sends."""

import pacelab


class Dropper:
    event_mask = pacelab.EventMask.SEGMENT

    def __init__(self):
        self.actions, self.seen, self.dropped = [], 0, 0

    def handle(self, now_ns, event):
        segment = event.segment
        self.seen += segment.is_data
        if segment.is_data and self.seen % 20 == 0:
            self.dropped += 1
            self.actions.append(pacelab.Drop(segment.handle, "own"))
        else:
            self.actions.append(pacelab.Forward(segment.handle))

    def poll_action(self):
        return self.actions.pop() if self.actions else None

    def deadline(self):
        return None

    def handle_timeout(self, now_ns):
        pass

    def counters(self):
        return {"dropped": self.dropped}


OWN = pacelab.Scheme(
    name="dropper", summary="", source="mine", sender=lambda settings: Dropper(), effect_counters=frozenset({"dropped"})
)
'''
TOPOLOGY = '''
from pacelab import Flow, Node, Topology


def topology(*, nodes: int = 3):
    """A line of nodes."""
    places = tuple(Node(name=f"n{i}", wireless=True, position_m=(i * 200.0, 0.0)) for i in range(nodes))
    flows = (Flow(src=0, dst=nodes - 1),)
    return Topology(name="line", description="", nodes=places, flows=flows, decode_m=250.0, sense_m=550.0)
'''


def test_both_are_compared_from_a_users_folder(
    tmp_path: Path, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "dropper.py").write_text(SCHEME)
    (folder / "line.py").write_text(TOPOLOGY)
    schemes = f"newreno,{folder}/dropper.py:OWN"
    arguments = ["--set", "nodes=4", "--schemes", schemes, "--seeds", "2", "--seconds", "10", "--jobs", "2"]
    assert main(["compare", f"{folder}/line.py", *arguments, "--json", "--quiet"]) == 0
    plain, own = json.loads(capsys.readouterr().out)["compare"]["rows"]
    assert [plain["scheme"], own["scheme"]] == ["newreno", "dropper"]
    assert own["hook_actions"] > 0
    assert own["goodput_bps"]["mean"] < plain["goodput_bps"]["mean"]
    swept = ["sweep", f"{folder}/line.py", *arguments[:-1], "1", "--json", "--quiet", "--out", "swept"]
    assert main(swept) == 0
    sweep = json.loads(capsys.readouterr().out)["sweep"]
    assert sweep["schemes"] == ["newreno", "dropper"]
    assert {row["scheme"] for row in sweep["rows"]} == {"newreno", "dropper"}
    assert main(["plot", "swept", "--x", "scheme", "--where", "scheme=dropper"]) == 0


@pytest.mark.parametrize("command", ["compare", "sweep"])
def test_a_refusal_of_one_point_is_reported_with_the_point(
    command: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("line.py").write_text(TOPOLOGY)
    out = ["--out", "there", "--quiet"]
    assert main([command, "line.py", "--set", "nodes=2,1", "--schemes", "newreno", *out]) == 2
    assert capsys.readouterr().err.endswith("correct the file (at nodes 1)\n")
    assert main([command, "line.py", "--set", "nodes=1", "--schemes", "newreno", *out]) == 2
    assert capsys.readouterr().err.endswith("correct the file\n")


def test_the_result_names_its_file_by_the_content(tmp_path: Path) -> None:
    file = tmp_path / "dropper.py"
    file.write_text(SCHEME)
    experiment = pacelab.Experiment(topology_options={"hops": 2}, scheme=f"{file}:OWN", duration_s=2.0)
    run = pacelab.run(experiment).run
    assert run["config"]["scheme"] == "dropper"
    assert len(run["config"]["scheme_sha256"]) == 64
    assert run["drops"]["hook:own"] == run["hooks"]["actions"] > 0
    file.write_text(SCHEME.replace("% 20", "% 1000"))
    assert pacelab.run(experiment.vary(seed=1)).run["hooks"]["actions"] == 0


def test_its_file_may_define_dataclasses_with_postponed_annotations(tmp_path: Path) -> None:
    file = tmp_path / "dropper.py"
    counted = "from dataclasses import dataclass\n\n@dataclass\nclass Counted:\n    number: int = 0\n"
    file.write_text("from __future__ import annotations\n" + counted + SCHEME)
    assert pacelab.Experiment(scheme=f"{file}:OWN", topology_options={"hops": 2}).scheme == f"{file}:OWN"


@pytest.mark.parametrize(
    ("text", "name", "error", "message"),
    [
        (SCHEME, "Other", pacelab.ConfigError, "has no pacelab.Scheme, Pacer or LinkLayer called 'Other'"),
        (SCHEME, "Dropper", pacelab.ConfigError, "has no pacelab.Scheme, Pacer or LinkLayer called 'Dropper'"),
        ("1 / 0\n", "OWN", UserCodeError, r'mine\.py", line 1(.*\n)+ZeroDivisionError'),
    ],
)
def test_errors_of_a_file_are_reported(
    tmp_path: Path, text: str, name: str, error: type[Exception], message: str
) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(error, match=message):
        pacelab.Experiment(scheme=f"{tmp_path}/mine.py:{name}")


CLASSES = """
from pacelab import LinkLayer, Pacer


class Steady(Pacer):
    def measured(self, sample):
        self.interval_s = sample.rtt_s


class Tenth(LinkLayer):
    def passes(self):
        return self.random.random() >= 0.1


class Broken(Pacer):
    def measured(self, sample):
        self.interval_s = sample.rtt_s / 0
"""


def test_a_pacer_and_a_link_layer_are_listed_among_the_schemes(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (in_tmp / "mine.py").write_text(CLASSES)
    schemes = "newreno,mine.py:Steady,mine.py:Tenth"
    words = [
        "--schemes",
        schemes,
        "--hops",
        "3",
        "--direction",
        "down",
        "--seeds",
        "2",
        "--seconds",
        "5",
        "--jobs",
        "1",
    ]
    assert main(["compare", "chain", *words, "--json", "--quiet"]) == 0
    rows = json.loads(capsys.readouterr().out)["compare"]["rows"]
    assert [row["scheme"] for row in rows] == ["newreno", "Steady", "Tenth"]
    steady, tenth = rows[1:]
    chain = pacelab.Experiment(topology_options={"hops": 3}, direction="down", duration_s=5.0)
    for row, run_own in ((steady, pacelab.run_pacer), (tenth, pacelab.run_link_layer)):
        own = getattr(load_user_code("", f"mine.py:{row['scheme']}")[0], row["scheme"])
        alone = [run_own(chain.vary(seed=seed), own).goodput_bps for seed in (1, 2)]
        assert row["goodput_bps"]["mean"] == pytest.approx(sum(alone) / 2)
        assert row["hook_actions"] > 0


DRAWING = """
import {module} as source

from pacelab import LinkLayer

AT_LOAD = source.random()


class Drawing(LinkLayer):
    def __init__(self, random):
        super().__init__(random)
        self.at_first = source.random()

    def passes(self):
        return source.random() >= (AT_LOAD + self.at_first) / 5
"""


@pytest.mark.parametrize("module", ["random", "numpy.random"])
def test_a_schemes_draws_from_the_global_generator_depend_on_the_seed(module: str, in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text(DRAWING.format(module=module))

    def of(seed: int) -> pacelab.RunResult:
        registry._load.cache_clear()  # another process would read it again
        random.random()
        options = {"hops": 3}
        return pacelab.run(
            pacelab.Experiment(scheme="mine.py:Drawing", topology_options=options, duration_s=3, seed=seed)
        )

    first, again = of(1), of(1)
    assert again.run == first.run
    assert of(2).goodput_bps != first.goodput_bps
    before = numpy.random.mtrand._rand.get_state()[1].tolist()
    of(2)
    assert numpy.random.mtrand._rand.get_state()[1].tolist() == before


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_class_that_fails_ends_the_comparison_with_its_line(
    jobs: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (in_tmp / "mine.py").write_text(CLASSES)
    words = ["--schemes", "newreno,mine.py:Broken", "--direction", "down", "--seconds", "2", "--seeds", "2"]
    assert main(["compare", "chain", *words, "--jobs", jobs, "--quiet"]) == 2
    told = capsys.readouterr().err
    assert "pacer Broken at " in told
    assert 'mine.py", line 17' in told
    assert "ZeroDivisionError" in told


def test_two_of_one_name_are_not_compared(in_tmp: Path) -> None:
    for name in ("a", "b"):
        (in_tmp / f"{name}.py").write_text(SCHEME)
    told = "a.py:OWN and b.py:OWN are both called dropper; rename one"
    with pytest.raises(pacelab.ConfigError, match=f"^{told}$"):
        pacelab.compare(pacelab.Experiment(), schemes=["a.py:OWN", "newreno", "b.py:OWN"])


@pytest.mark.parametrize(
    "command",
    [["run"], pytest.param(["compare", "--seeds", "2", "--jobs", "2"], marks=pytest.mark.thorough)],
    ids=lambda words: words[0],
)
def test_output_of_a_users_file_is_not_in_the_document(
    command: list[str], in_tmp: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (in_tmp / "mine.py").write_text("print('hello')\n" + SCHEME)
    own = ["--scheme" if command[0] == "run" else "--schemes", "mine.py:OWN"]
    assert main([command[0], "cell", *command[1:], *own, "--traffic", "tcp", "--seconds", "0.1", "--json"]) == 0
    captured = capfd.readouterr()
    assert command[0] in json.loads(captured.out)
    assert "hello" in captured.err


def test_a_file_is_read_once_for_all_points_of_a_grid_until_it_changes(in_tmp: Path) -> None:
    text = "with open('loads', 'a') as file:\n    file.write('x')\n" + SCHEME
    (in_tmp / "mine.py").write_text(text)
    for _point in range(3):
        assert changes_of("mine.py:OWN") == {"scheme": "mine.py:OWN"}
    assert (in_tmp / "loads").read_text() == "x"
    (in_tmp / "mine.py").write_text(text + "# changed\n")
    changes_of("mine.py:OWN")
    assert (in_tmp / "loads").read_text() == "xx"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"scheme": "mine.py"},
            "--scheme must be FILE.py:NAME with a name of that file, not 'mine.py'; did you mean mine.py:OWN?",
        ),
        ({"scheme": "mine.py:Own"}, "no pacelab.Scheme, Pacer or LinkLayer called 'Own'; did you mean 'OWN'?"),
        (
            {"scheme": "mine.py:Other"},
            "no pacelab.Scheme, Pacer or LinkLayer called 'Other'; did you mean mine.py:OWN?",
        ),
        (
            {"scheme": "mine.py:Dropper"},
            "no pacelab.Scheme, Pacer or LinkLayer called 'Dropper'; did you mean mine.py:OWN?",
        ),
        ({"scheme": "empty.py:Any"}, "called 'Any'; `pacelab new scheme NAME` writes an example"),
        ({"scheme": "pacer.py"}, "not 'pacer.py'; did you mean pacer.py:Steady?"),
        ({"cc": "control.py:Other"}, "CongestionControl called 'Other'; did you mean control.py:Half?"),
        ({"cc": "mine.py"}, "--cc must be FILE.py:CLASS with a class of that file, not 'mine.py'"),
        (
            {"cc": "mine.py:dropper"},
            "no subclass of pacelab.CongestionControl called 'dropper'; did you mean 'Dropper'?",
        ),
    ],
)
def test_a_name_that_is_not_in_the_file_is_reported(options: dict[str, str], told: str, in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text(SCHEME)
    (in_tmp / "empty.py").write_text("")
    (in_tmp / "control.py").write_text("import pacelab\n\n\nclass Half(pacelab.CongestionControl):\n    pass\n")
    (in_tmp / "pacer.py").write_text("from pacelab import Pacer\n\n\nclass Steady(Pacer):\n    pass\n")
    with pytest.raises(pacelab.ConfigError) as caught:
        pacelab.run(pacelab.Experiment().vary(**options))
    assert str(caught.value).endswith(told)


def test_a_file_that_is_not_there_is_reported() -> None:
    with pytest.raises(
        pacelab.ConfigError,
        match=r"^--scheme: cannot read 'nowhere\.py' \(No such file or directory\); give the path of an existing file",
    ):
        pacelab.Experiment(scheme="nowhere.py:OWN")


FACTORIES = """import functools
import pacelab


def failing(settings):
    raise ValueError("mine")


def empty(settings):
    return None


Raises = pacelab.Scheme(name="raises", summary="", source="", link=failing)
Empty = pacelab.Scheme(name="empty", summary="", source="", link=empty)
Slip = pacelab.Scheme(name="slip", summary="", source="", link=lambda: None)


class Maker:
    def __call__(self, settings):
        raise ValueError("mine")


Partial = pacelab.Scheme(name="partial", summary="", source="", link=functools.partial(failing))
Object = pacelab.Scheme(name="object", summary="", source="", link=Maker())
"""


@pytest.mark.parametrize(
    ("name", "line", "told"),
    [
        ("Raises", 6, "ValueError: mine"),
        ("Empty", 9, "returned None, which lacks event_mask, handle, "),
        ("Slip", 15, "takes 0 positional arguments but 1 was given"),
        ("Partial", 6, "ValueError: mine"),
        ("Object", 20, "ValueError: mine"),
    ],
)
def test_a_factory_that_fails_or_gives_no_hook_is_reported_with_its_line(
    name: str, line: int, told: str, in_tmp: Path
) -> None:
    (in_tmp / "mine.py").write_text(FACTORIES)
    with pytest.raises(UserCodeError, match="link= ") as caught:
        pacelab.run(pacelab.Experiment(scheme=f"mine.py:{name}", topology_options={"hops": 2}, duration_s=1.0))
    assert f'mine.py", line {line}' in str(caught.value)
    assert told in str(caught.value)


def test_a_users_file_imports_files_beside_it_from_any_folder(tmp_path: Path, in_tmp: Path) -> None:
    sys.modules["every"] = ModuleType("every")  # another module of that name stays unchanged
    told = set()
    try:
        for folder, number in (("a", 20), ("b", 1000)):
            (tmp_path / folder / "deep").mkdir(parents=True)
            (tmp_path / folder / "mine.py").write_text("import every\n" + SCHEME.replace("% 20", "% every.NUMBER"))
            (tmp_path / folder / "every.py").write_text("from deep.er import NUMBER\n")
            (tmp_path / folder / "deep" / "__init__.py").touch()
            (tmp_path / folder / "deep" / "er.py").write_text(f"NUMBER = {number}\n")
            config, dropped = _few_dropped(f"{tmp_path / folder}/mine.py:OWN")
            told.add((config["scheme_sha256"], dropped))
        assert "NUMBER" not in vars(sys.modules["every"])
    finally:
        del sys.modules["every"]
    assert len({digest for digest, _ in told}) == len({dropped for _, dropped in told}) == 2
    assert "deep" not in sys.modules


def _few_dropped(scheme: str) -> tuple[dict[str, Any], int]:
    """The scheme's name and the number of packets that it dropped."""
    run = pacelab.run(pacelab.Experiment(topology_options={"hops": 2}, scheme=scheme, duration_s=2.0)).run
    return run["config"], run["hooks"]["actions"]


def test_changed_imports_are_read_again(in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text("import every\n" + SCHEME.replace("% 20", "% every.NUMBER"))
    (in_tmp / "every.py").write_text("NUMBER = 20\n")
    before = _few_dropped("mine.py:OWN")
    (in_tmp / "every.py").write_text("NUMBER = 1000 # more\n")
    after = _few_dropped("mine.py:OWN")
    assert after[1] < before[1]
    assert after[0]["scheme_sha256"] != before[0]["scheme_sha256"]


def test_a_file_that_changes_while_a_sweep_runs_leaves_no_run_of_other_code(in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text(SCHEME)
    base = pacelab.Experiment(topology_options={"hops": 2}, duration_s=2.0)

    def edit(done: int, _total: int) -> None:
        if done == 1:
            (in_tmp / "mine.py").write_text(SCHEME.replace("% 20", "% 1000"))

    def sweep() -> list[bool]:
        one = pacelab.Workers(jobs=1)
        pacelab.run_sweep(base, schemes=["mine.py:OWN"], seeds=2, out="out", workers=one, on_done=edit)
        runs = [json.loads(path.read_bytes()) for path in in_tmp.glob("out/runs/*/run.json")]
        return sorted(run["hooks"]["actions"] > 0 for run in runs if run["config"]["scheme_sha256"] == now())

    def now() -> str:
        return digest_of("--scheme", "mine.py")

    assert sweep() == [], "both are the file's as it was"
    assert sweep() == [False, False]


def test_an_experiment_runs_elsewhere_and_later_only_with_the_files_that_it_was_made_of(in_tmp: Path) -> None:
    control = "import pacelab\n\n\nclass Mine(pacelab.CongestionControl):\n    acknowledged = lost = lambda *_: None\n"
    (in_tmp / "mine.py").write_text(control)
    experiment = pacelab.Experiment(topology_options={"hops": 2}, cc="mine.py:Mine", duration_s=1.0)
    packed = pickle.dumps(experiment)
    assert pickle.loads(packed).config() == experiment.config()
    (in_tmp / "mine.py").write_text(control + "# more\n")
    for again in (lambda: pickle.loads(packed), lambda: pacelab.run(experiment)):
        with pytest.raises(
            pacelab.ConfigError,
            match=r"mine\.py:Mine has changed since the experiment was made, or a worker's machine has another",
        ):
            again()
    assert pacelab.run(experiment.vary()).run["config"]["cc_sha256"] == digest_of("--cc", "mine.py")


def test_a_users_file_can_import_while_it_runs(tmp_path: Path, in_tmp: Path) -> None:
    for folder, number in (("a", 20), ("b", 1000)):
        (tmp_path / folder).mkdir()
        own = SCHEME.replace("% 20", "% __import__('every').NUMBER")
        (tmp_path / folder / "mine.py").write_text(own + "\n\ndef late():\n    import every\n")
        (tmp_path / folder / "every.py").write_text(f"NUMBER = {number}\n")
    few, many = (_few_dropped(f"{tmp_path / folder}/mine.py:OWN")[1] for folder in "ba")
    assert few < many
    (tmp_path / "a" / "every.py").write_text("1 / 0\n")
    with pytest.raises(UserCodeError, match=r'every\.py", line 1') as caught:
        _few_dropped(f"{tmp_path}/a/mine.py:OWN")
    assert imports.__file__ not in str(caught.value)


def test_a_single_file_is_named_by_its_content(in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text(SCHEME)
    (in_tmp / "random.py").write_text("1 / 0\n")
    assert digest_of("", "mine.py") == hashlib.sha256(SCHEME.encode()).hexdigest()


SLOW = """\
import time
import pacelab
from pacelab.user_code import waiting

def wait(*_):
    end_s = time.monotonic() + 60
    while TOLD not in waiting._said and time.monotonic() < end_s:
        time.sleep(0.001)
    raise ValueError("over")
"""


@pytest.mark.parametrize(
    ("last", "told"),
    [
        ("wait()", "loading 'slow.py'"),
        ("def topology():\n    wait()", "topology() of 'slow.py'"),
        ("OWN = pacelab.Scheme(name='slow', summary='', source='', link=wait)", "link= of scheme 'slow'"),
    ],
)
def test_a_call_that_does_not_return_is_reported_while_it_runs(
    last: str, told: str, in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pacelab.user_code.waiting.NOTICE_AFTER_S", 0.01)
    monkeypatch.setattr("pacelab.user_code.waiting._said", set())
    Path("slow.py").write_text(f"{SLOW}TOLD = {told!r}\n{last}")
    arguments = ["chain", "--scheme", "slow.py:OWN"] if "OWN" in last else ["slow.py"]
    assert main(["run", *arguments, "--seconds", "1", "--quiet"]) == 2
    assert (
        f"pacelab: {told} has not returned for 0.01 s; PaceLab waits for it; press Ctrl-C to stop it\n"
        in capsys.readouterr().err
    )
