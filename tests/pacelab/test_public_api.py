"""The public names: when they load, and their valid arguments."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pacelab
from pacelab import (
    ConfigError,
    Experiment,
    Flow,
    Forward,
    Move,
    Node,
    PcapFile,
    RunStore,
    Scheme,
    SegmentSeen,
    Topology,
    Workers,
    compare,
    jain,
    load_topology,
    run,
    run_sweep,
)
from pacelab.grid.sweep_plots import Points

# The public names load on use, and leaf modules load no other modules.


def test_every_public_name_loads() -> None:
    for name in pacelab.__all__:
        assert getattr(pacelab, name) is not None


def test_public_names_survive_the_import_of_their_modules() -> None:
    import pacelab.grid.comparison
    import pacelab.running.runner

    assert callable(pacelab.run)
    assert callable(pacelab.compare)


def test_the_command_line_starts_lean() -> None:
    """Nothing heavy is imported before a command asks for it."""
    code = (
        "import sys; from pacelab.cli.main import COMMANDS, load_command; [load_command(name) for name in COMMANDS]; "
        "heavy = {'matplotlib', 'numpy', 'scipy', 'rich', 'pydantic', 'multiprocessing', 'asyncio'}; "
        "print(sorted(heavy & sys.modules.keys()))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_a_run_loads_no_more_than_it_needs(tmp_path: Path) -> None:
    code = (
        "import sys; from pacelab.cli.main import main; "
        f"code = main(['run', 'chain', '--hops', '2', '--seconds', '1', '--out', {str(tmp_path / 'run')!r}]); "
        "heavy = {'matplotlib', 'numpy', 'scipy', 'pydantic', 'asyncio', 'importlib.metadata', 'multiprocessing', "
        "'ctypes', 'hashlib', 'statistics'}; "
        "sys.exit(code or ' '.join(sorted(heavy & sys.modules.keys())))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.startswith("chain of 2 wireless hops")
    assert ran.stderr.splitlines()[-1] == ""  # the loaded modules


def test_imports_for_mypy_match_the_public_names() -> None:
    tree = ast.parse(Path(pacelab.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pacelab")
        for alias in node.names
        if alias.name not in ("PUBLIC", "__version__")
    }
    assert seen == pacelab.PUBLIC


class Passing:
    """A user's hook that counts the packets it passes."""

    event_mask = 1

    def __init__(self) -> None:
        self.actions: list[Forward] = []
        self.passed = 0

    def handle(self, now_ns: int, event: SegmentSeen) -> None:
        self.passed += 1
        self.actions.append(Forward(event.segment.handle))

    def poll_action(self) -> Forward | None:
        return self.actions.pop() if self.actions else None

    def deadline(self) -> None:
        return None

    def handle_timeout(self, now_ns: int) -> None: ...

    def counters(self) -> dict[str, int]:
        return {"passed": self.passed}


OWN = Scheme(
    name="own", summary="mine", source="me", gateway=lambda _settings: Passing(), effect_counters=frozenset({"passed"})
)
CHAIN = Experiment(topology="chain", topology_options={"hops": 2}, duration_s=2.0)


@pytest.mark.usefixtures("engine")
def test_a_users_scheme_runs_and_is_named() -> None:
    own, plain = run(CHAIN, scheme=OWN).run, run(CHAIN).run
    assert own["config"]["scheme"] == "own"
    assert own["hooks"]["actions"] > 0
    assert own["flows"] == plain["flows"]


def test_a_users_scheme_is_compared_with_the_baseline_only() -> None:
    with pytest.raises(ConfigError, match="scheme must be one of newreno, delayed-ack, "):
        run(CHAIN.vary(scheme="tcp-gap"), scheme=OWN)


# Arguments of the Python API: converted if possible, otherwise refused with the valid values.


class Unpaced(pacelab.Pacer):
    """The least that a pacer must have."""

    def measured(self, sample: pacelab.Sample) -> None:
        """Leaves the flow unpaced."""


CELL = Experiment(topology="cell", topology_options={"stations": 1}, duration_s=0.1)
HERE = Workers(jobs=1)


def compared(**given: Any) -> pacelab.Comparison:
    return compare(CELL, **({"schemes": ["newreno"], "seeds": 1, "jobs": 1} | given))


def swept(**given: Any) -> pacelab.Sweep:
    return run_sweep(CELL, **({"schemes": ["newreno"], "out": "s", "workers": HERE} | given))


AX: Any = SimpleNamespace(errorbar=None)
TWO = Points(config={}, axes={}, rows=[])
PAIR = pacelab.Comparison(
    compare={"axes": {"hops": [1, 2], "rts": [True, False]}, "schemes": ["newreno"], "rows": []}, host={}
)
RECORD = [0, 0, "backoff", None, 7]
API: Any = pacelab
"""The package without its types."""
EXPERIMENT = "must be a pacelab.Experiment, not"
PATH = "must be a path, as a text or a pathlib.Path, not"
REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: compared(seeds=True), "compare: seeds must be a whole number from 1 to 10000, not True"),
    (lambda: compared(seeds="2"), "compare: seeds must be a whole number from 1 to 10000, not '2'"),
    (lambda: compared(seeds=2.0), "compare: seeds must be a whole number from 1 to 10000, not 2.0"),
    (lambda: compared(seeds=0), "compare: seeds must be a whole number from 1 to 10000, not 0"),
    (lambda: swept(seeds=float("nan")), "run_sweep: seeds must be a whole number from 1 to 10000, not nan"),
    (lambda: compared(jobs=0), "Workers: jobs must be a whole number from 1 to 1024, not 0"),
    (lambda: Workers(jobs=-1), "Workers: jobs must be a whole number from 1 to 1024, not -1"),
    (lambda: API.run_many([CELL], jobs="2"), "Workers: jobs must be a whole number from 1 to 1024, not '2'"),
    (lambda: compared(full="no"), "compare: full must be True or False, not 'no'"),
    (lambda: compared(store="k"), "compare: store must be a pacelab.RunStore, not 'k'"),
    (lambda: compared(on_done=3), "compare: on_done must be a function, not 3"),
    (
        lambda: compared(schemes=None),
        "compare: schemes must be a list of names, for example ['newreno', 'tcp-gap'], not None",
    ),
    (
        lambda: compared(schemes={"newreno"}),
        "compare: schemes must be a list of names, for example ['newreno', 'tcp-gap'], not {'newreno'}",
    ),
    (
        lambda: swept(schemes=["newreno", "newreno"]),
        "run_sweep: schemes must be a list that has each name once, not ['newreno', 'newreno']",
    ),
    (
        lambda: compared(axes={"stations": [1, 1]}),
        "axis 'stations' must be a list that has each value once, not [1, 1]",
    ),
    (
        lambda: compared(axes={"duration_s": [1, 1.0]}),
        "axis 'duration_s' must be a list that has each value once, not [1, 1.0]",
    ),
    (
        lambda: compared(axes={"stations": {1, 2}}),
        "axis 'stations' must be a list or a range with at least one value, for example [1, 2], not {1, 2}",
    ),
    (
        lambda: swept(axes={"scheme": ["newreno"]}),
        "axis must be an option of a run, not 'scheme'; schemes=['newreno', 'tcp-gap'] lists schemes",
    ),
    (
        lambda: swept(axes={"seeds": [1]}),
        "axis must be an option of a run, not 'seeds'; seeds=N says how many seeds",
    ),
    (
        lambda: swept(axes={"topology_options": [{}]}),
        "axis must be an option of a run, not 'topology_options'; each of the topology's is an axis by its",
    ),
    (
        lambda: swept(axes="stations"),
        "run_sweep: axes must be a mapping of names, for example {'hops': [1, 2]}, not 'stations'",
    ),
    (
        lambda: swept(axes={3: [1]}),
        "run_sweep: axes must be a mapping of names, for example {'hops': [1, 2]}, not {3: [1]}",
    ),
    (lambda: swept(workers=2), "run_sweep: workers must be a pacelab.Workers, not 2"),
    (lambda: swept(out=3), f"run_sweep: out {PATH} 3"),
    (lambda: API.run("chain"), f"run: experiment {EXPERIMENT} 'chain'"),
    (lambda: API.run(Experiment), f"run: experiment {EXPERIMENT} <class 'pacelab.experiment.experiment.Experiment'>"),
    (lambda: API.run(CELL, scheme="tcp-gap"), "run: scheme must be a pacelab.Scheme, not 'tcp-gap'"),
    (lambda: API.run(CELL, pcap="x"), "run: pcap must be a pacelab.PcapFile, not 'x'"),
    (lambda: API.run(CELL, on_progress=3), "run: on_progress must be a function, not 3"),
    (
        lambda: API.run_many(["chain"]),
        "run_many: experiments must be a list of pacelab.Experiment objects, not ['chain']",
    ),
    (lambda: API.run_many(3), "run_many: experiments must be a list of pacelab.Experiment objects, not 3"),
    (lambda: API.compare("chain", schemes=["newreno"]), f"compare: base {EXPERIMENT} 'chain'"),
    (lambda: API.record_air("chain", until_s=1), f"record_air: experiment {EXPERIMENT} 'chain'"),
    (
        lambda: API.record_air(CELL, until_s=True),
        "record_air: until_s must be a number above 0, up to 1000000, not True",
    ),
    (lambda: API.run_pacer("chain", Unpaced), f"run: experiment {EXPERIMENT} 'chain'"),
    (lambda: API.load_result(None), f"load_result: folder {PATH} None"),
    (lambda: API.load_points(b"x"), f"load_points: folder {PATH} b'x'"),
    (lambda: API.write_file("x", "text"), "write_file: content must be bytes, not 'text'"),
    (lambda: API.PcapFile(path=3), f"PcapFile: path {PATH} 3"),
    (lambda: API.RunStore(folder=""), f"RunStore: folder {PATH} ''"),
    (lambda: API.plot_goodput("x"), "plot_goodput: comparison must be what pacelab.compare gives, not 'x'"),
    (lambda: API.plot_points(TWO, 3), "plot_points: ax must be a matplotlib Axes, not 3"),
    (lambda: API.plot_goodput(PAIR, 3), "plot_goodput: ax must be a matplotlib Axes, not 3"),
    (
        lambda: API.plot_goodput(PAIR, point=3),
        "plot_goodput: point must be a mapping of names, for example {'hops': [1, 2]}, not 3",
    ),
    (lambda: API.plot_goodput(PAIR, AX, point={"x": 1}), "point must be an option that varies (hops, rts), not 'x'"),
    (lambda: API.plot_goodput(PAIR, AX, point={"rts": "off"}), "point 'rts' must be one of True, False, not 'off'"),
    (lambda: PAIR.write(name="../x"), "write: name must be a name without a path, not '../x'"),
    (lambda: API.plot_timeline([RECORD], AX, names={0: "a"}, lanes=[9]), "lanes must be a list of nodes (0), not [9]"),
    (lambda: API.plot_timeline([RECORD], AX, names={0: "a"}, lanes=3), "lanes must be a list of nodes (0), not 3"),
    (
        lambda: API.plot_timeline([RECORD], window_ns=(5, 1)),
        "plot_timeline: window_ns must be two numbers of ns, from and a later to, not (5, 1)",
    ),
    (lambda: API.run_pacer(CELL, pacelab.Pacer, watched="no"), "run_pacer: watched must be True or False, not 'no'"),
    (
        lambda: API.Experiment(rate_bps=2),
        "24, 36, 48, 54 Mbit/s, or auto, not 2; 2 is written 2000000 here",
    ),
    (lambda: API.Experiment(rate_bps=2), "24, 36, 48, 54 Mbit/s, or auto,"),
    (
        lambda: API.Experiment(rate_bps=2e6),
        "24, 36, 48, 54 Mbit/s, or auto, not 2000000.0; 2 is written",
    ),
    (lambda: API.Experiment(rate_bps=2e6), "--rate must be one of 1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48, 54"),
    (
        lambda: API.Experiment(rate_bps=3_000_000),
        "24, 36, 48, 54 Mbit/s, or auto, not 3000000; they are written",
    ),
    (lambda: API.Experiment(rts="on"), "--rts must be one of on, off, not 'on'; on is written True here"),
    (lambda: API.plot_series("x"), "plot_series: result must be a pacelab.RunResult, not 'x'"),
    (lambda: API.plot_points("x"), "plot_points: points must be what pacelab.load_points gives, not 'x'"),
    (lambda: API.plot_timeline("x"), "plot_timeline: records must be what pacelab.record_air gives, not 'x'"),
    (
        lambda: API.Experiment(topology_options={3: 1}),
        "topology_options must be a mapping, for example {'hops': 7}, not {3: 1}",
    ),
    (
        lambda: API.Experiment("chain"),
        "Experiment takes options by name only, for example topology='chain', not 'chain'",
    ),
    (lambda: load_topology("chian"), "did you mean 'chain'?"),
    (lambda: load_topology("chain", hops=0), "--hops must be a whole number from 1 to 200, not 0"),
    (lambda: pacelab.print_json({"a": float("nan")}), "print_json: Out of range float values"),
    (
        lambda: pacelab.print_json({"a": object()}),
        "has no form in JSON; use texts, finite numbers,",
    ),
    (lambda: pacelab.HookSettings(sense_hops=101), "sense_hops must be a whole number from 0 to 100, not 101"),
    (lambda: jain([float("nan")]), "jain: rates must be a list of finite numbers, 0 or more, not [nan]"),
    (lambda: jain([-1.0, 1.0]), "jain: rates must be a list of finite numbers, 0 or more, not [-1.0, 1.0]"),
    (lambda: API.jain("12"), "jain: rates must be a list of finite numbers, 0 or more, not '12'"),
    (
        lambda: API.Scheme(name="", summary="", source=""),
        "Scheme: name must be a text of 1 to 100 characters, without \" * / : < > ? \\ |, not ''",
    ),
    (lambda: API.Scheme(name="../a", summary="", source=""), "a text of 1 to 100 characters"),
    (lambda: API.Scheme(name="a" * 101, summary="", source=""), "a text of 1 to 100 characters"),
    (
        lambda: API.Scheme(name="a\nb", summary="", source=""),
        "Scheme: name must be a text without control characters, not 'a\\nb'",
    ),
    (
        lambda: API.Scheme(name="a", summary="", source="", implied_options={"qeue": 9}),
        "a mapping of options of an experiment",
    ),
    (
        lambda: API.Scheme(name="a", summary="", source="", implied_options={"edca": "yes"}),
        "--edca must be one of on, off, not 'yes'; they are written True, False here",
    ),
    (lambda: API.Scheme(name="a", summary="", source="", link=3), "Scheme: link must be a function, not 3"),
    (
        lambda: API.Scheme(name="a", summary="", source="", traffic=("http",)),
        "Scheme: traffic must be a list of tcp, udp-saturated, cbr, voice, not ('http',)",
    ),
    (
        lambda: API.Scheme(name="a", summary="", source="", needs="gateway"),
        "Scheme: needs must be a list of texts, not 'gateway'",
    ),
]


@pytest.mark.parametrize(("call", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_invalid_arguments_are_refused(call: Callable[[], object], told: str, in_tmp: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        call()
    assert told in str(caught.value)
    assert list(in_tmp.iterdir()) == []


def test_a_call_without_its_arguments_is_reported_once() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'experiment'") as caught:
        run()  # type: ignore[call-arg]
    assert caught.value.__context__ is None


def test_a_notebook_lists_valid_arguments_without_a_traceback() -> None:
    with pytest.raises(TypeError) as caught:
        API.lab.slide("hops", 1)
    shown: Any = caught.value
    assert shown._render_traceback_() == [
        "TypeError: slide() missing 1 required positional argument: 'high'; "
        "the parameters are (label, low,\nhigh, *, step=1, start)"
    ]


@pytest.mark.usefixtures("engine")
def test_paths_are_texts_as_well(in_tmp: Path) -> None:
    result = run(CELL, pcap=PcapFile(path="a.pcapng"))
    assert result.write("run") == in_tmp / "run"
    assert pacelab.load_result("run").goodput_bps == result.goodput_bps
    assert compared(store=RunStore(folder="kept")).write("compared").is_dir()
    assert len(swept(out="swept", cache="kept").rows) == 1
    pacelab.write_file("one.txt", b"1")
    assert {path.name for path in in_tmp.iterdir()} == {"a.pcapng", "run", "kept", "compared", "swept", "one.txt"}


@pytest.mark.usefixtures("engine")
def test_numbers_of_numpy_are_numbers(in_tmp: Path) -> None:
    given: Any = {"seed": np.int64(3), "window_pkts": np.uint8(4), "min_rto_s": np.float32(0.5), "rts": np.bool_(False)}
    made = CELL.vary(**given)
    assert made == CELL.vary(seed=3, window_pkts=4, min_rto_s=0.5, rts=False)
    assert type(made.seed) is int
    assert load_topology("chain", hops=np.int64(2)) == load_topology("chain", hops=2)
    axes: Any = {"stations": np.arange(1, 3), "min_rto_s": np.linspace(0.25, 0.5, 2)}
    found = compared(axes=axes, seeds=np.int64(1))
    assert found.axes == {"stations": [1, 2], "min_rto_s": [0.25, 0.5]}
    assert {type(value) for values in found.axes.values() for value in values} == {int, float}
    found.write("compared")  # JSON could not encode NumPy's types
    assert jain(np.array([1.0, 3.0])) == jain(iter([1, 3])) == 0.8  # type: ignore[arg-type]


def test_hooks_accept_numbers_of_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    given = {"pace_rate_bps": np.int64(5), "playout_s": np.float64(0.06), "rts": np.bool_(False), "node": np.int8(3)}
    told = API.HookSettings(**given, sense_hops=np.uint8(2))
    assert told == pacelab.HookSettings(pace_rate_bps=5, rts=False, node=3)
    assert type(told.rts) is bool
    pacelab.print_json({"settings": {"rate": np.int64(5), "seeds": np.arange(2)}, "file": Path("a")})
    assert json.loads(capsys.readouterr().out) == {"settings": {"rate": 5, "seeds": [0, 1]}, "file": "a"}


def test_a_topology_of_numpys_numbers_is_the_same() -> None:
    places: Any = np.array([[0.0, 0.0], [200.0, 0.0], [400.0, 0.0]])
    numbers: Any = np.arange(3)
    made, plain = (
        Topology(
            name="three",
            description="",
            nodes=tuple(Node(name=f"n{i}", wireless=True, position_m=place) for i, place in enumerate(at)),
            flows=(Flow(src=nodes[0], dst=nodes[2]),),
            moves=(Move(node=nodes[1], at_s=1.0, position_m=at[1]),),
            decode_m=250.0,
            sense_m=550.0,
        )
        for at, nodes in ((places, numbers), ([(0.0, 0.0), [200.0, 0.0], (400.0, 0.0)], [0, 1, 2]))
    )
    assert made == plain
    assert made.nodes[1].position_m == (200.0, 0.0)
    assert type(made.flows[0].dst) is int


def test_a_topology_is_a_path_as_well() -> None:
    given: Any = Path("cell")
    assert Experiment(topology=given) == Experiment(topology="cell")
    assert load_topology(given) == load_topology("cell")


def test_pythons_own_message_about_a_call_is_kept() -> None:
    with pytest.raises(TypeError, match=r"^compare\(\) missing 1 required keyword-only argument: 'schemes'"):
        API.compare(CELL)


def test_a_scheme_keeps_what_it_was_given() -> None:
    made = API.Scheme(name="a", summary="", source="", traffic=["tcp"], effect_counters=["seen"])
    assert (made.traffic, made.effect_counters) == (("tcp",), frozenset({"seen"}))
    assert made == Scheme(name="a", summary="", source="", traffic=("tcp",), effect_counters=frozenset({"seen"}))


def test_a_picture_of_an_invalid_topology_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^topology must be a pacelab\.Topology, for example from load_topology, not 'chain'"
    ):
        API.plot_topology("chain")
    with pytest.raises(ConfigError, match=r"^topology must be a name or the path of a \.yaml or \.py file, not 3"):
        API.load_topology(3)
