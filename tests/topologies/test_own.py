"""A user's topology: the meaning of a file, and the line numbers in errors."""

from __future__ import annotations

import random
import sys
import threading
from mmap import mmap
from pathlib import Path

import pytest

from pacelab.user_code.memory import limited_memory
from pacelab_topologies.model import Flow, LinkRate, Move, WiredLink
from pacelab_topologies.registry import find_kind, load_topology

GOOD = """\
version: 1
name: corner
ranges: {decode: 250 m, sense: 0.55 km}
nodes:
  - {name: a, at: [0 m, 0 m]}
  - {name: gw, at: [200m, 0 m]}
  - {name: host, at: [400 m, 0 m], wired: true}
wires:
  - {between: [gw, host], rate: 10 Mbit/s, delay: 40 ms}
flows:
  - {from: a, to: host}
  - {from: host, to: a, start: 10 s, stop: 0.5 min}
moves:
  - {node: a, at: 1 s, to: [0 m, 0 m]}
  - {node: a, at: 3 s, to: [10 m, 0 m]}
rates:
  - {from: a, to: gw, rate: 5.5 Mbit/s, at: 2 s}
defaults:
  rate: 2
  rts: off
"""

TENFOLD = tuple(zip("abcdefghi", ("1", *(f"*{key}" for key in "abcdefgh")), strict=True))
"""Each line expands to ten of the previous one."""


@pytest.fixture
def file(in_tmp: Path) -> Path:
    return Path("net.yaml")


def test_user_yaml_topology_has_the_described_network(file: Path) -> None:
    file.write_text(GOOD)
    own = load_topology("net.yaml")
    assert [(node.name, node.wireless, node.position_m) for node in own.nodes] == [
        ("a", True, (0.0, 0.0)),
        ("gw", True, (200.0, 0.0)),
        ("host", False, (400.0, 0.0)),
    ]
    assert (own.name, own.decode_m, own.sense_m) == ("corner", 250.0, 550.0)
    assert own.wired == (WiredLink(a=1, b=2, rate_bps=10_000_000, delay_s=0.04, queue_pkts=50),)
    assert own.flows == (Flow(src=0, dst=2), Flow(src=2, dst=0, start_s=10.0, stop_s=30.0))
    assert own.moves == (
        Move(node=0, at_s=1.0, position_m=(0.0, 0.0)),
        Move(node=0, at_s=3.0, position_m=(10.0, 0.0)),
    )
    assert own.link_rates == (LinkRate(a=0, b=1, rate_bps=5_500_000, at_s=2.0),)
    assert dict(own.defaults) == {"--rate": "2", "--rts": "off"}


BAD = [
    # replacement, file, line, key, the error, the valid values
    (
        "to: host}",
        "to: hots}",
        11,
        "flows.0.to",
        "net.yaml:11: flows.0.to: must be a node (a, gw, host), not 'hots'",
        "a, gw, host",
    ),
    ("name: gw,", "name: a,", 6, "nodes.1.name", "'a' is the name of the node in line 5", "names must differ"),
    ("[200m, 0 m]", "[251 m, 0 m]", 11, "flows.0", "no path connects a -> host", "nodes at most 250 m apart"),
    ("40 ms", "40 msec", 9, "wires.0.delay", "unknown unit 'msec'", "units s, ms, us, min, for example '40 ms'"),
    (
        "10 Mbit/s,",
        "10,",
        9,
        "wires.0.rate",
        "net.yaml:9: wires.0.rate: the unit of 10 is missing; must be a number above 0 with one of the units",
        "units bit/s, kbit/s, Mbit/s, Gbit/s",
    ),
    (
        "10 Mbit/s,",
        "fast,",
        9,
        "wires.0.rate",
        "net.yaml:9: wires.0.rate: must be a number above 0 with one of the units bit/s, kbit/s, Mbit/s,",
        "a number above 0",
    ),
    ("40 ms", "-40 ms", 9, "wires.0.delay", "out of range", "a number of at least 0"),
    ("40 ms", "2e10 s", 9, "wires.0.delay", "out of range", "at most 3600 s"),
    ("10 Mbit/s,", "0.1 bit/s,", 9, "wires.0.rate", "out of range", "at least 1 bit/s"),
    ("stop: 0.5 min", "stop: 2e10 s", 12, "flows.1.stop", "out of range", "at most 1000000000 s"),
    (
        "sense: 0.55 km",
        "sense: 0.55 km, exponent: 3, shadowing: 21 dB",
        3,
        "ranges.shadowing",
        "'21 dB'",
        "at most 20 dB",
    ),
    (
        "delay: 40 ms",
        "delay: 40 ms, queue: 5000000000",
        9,
        "wires.0.queue",
        "5000000000",
        "net.yaml:9: wires.0.queue: must be a whole number from 1 to 10000, not 5000000000",
    ),
    (
        "name: gw,",
        'name: "g\\ew",',
        6,
        "nodes.1.name",
        "net.yaml:6: nodes.1.name: name must be a text without control characters, not 'g\\x1bw'",
        "must be a text without control characters",
    ),
    ("name: corner", 'name: "a\\nb"', 2, "name", "name must be", "a text without control characters"),
    ("wires:", "wire:", 8, "wire", "unknown key", "one of version, name, description, ranges, nodes, wires, flows"),
    (
        "at: [0 m, 0 m]}\n  - {name: gw",
        "on: 3}\n  - {name: gw",
        5,
        "nodes.0.on",
        "unknown key",
        "one of name, at, wired",
    ),
    ("decode: 250 m, ", "", 3, "ranges.decode", "the key is missing", "decode, sense"),
    ("version: 1", "version: 2", 1, "version", "2", "must be 1, not 2"),
    (
        "sense: 0.55 km",
        "sense: 100 m",
        3,
        "ranges.sense",
        "net.yaml:3: ranges.sense: must be at least decode, 250 m, not 100 m",
        "net.yaml:3: ranges.sense: must be at least decode, 250 m, not 100 m",
    ),
    ("wired: true", "wired: maybe", 7, "nodes.2.wired", "'maybe'", "true or false"),
    (
        "stop: 0.5 min",
        "stop: 10 s",
        12,
        "flows.1.stop",
        "net.yaml:12: flows.1.stop: must be after start, 10 s, not 10 s",
        "not 10 s",
    ),
    (
        "to: host}",
        "to: a}",
        11,
        "flows.0",
        "net.yaml:11: flows.0: must name two different nodes, not one node twice",
        "two different nodes",
    ),
    (
        "flows:",
        "  - {between: [host, gw], rate: 1 Mbit/s, delay: 1 ms}\nflows:",
        10,
        "wires.1.between",
        "the wire in line 9 already joins these nodes",
        "remove one",
    ),
    ("[gw, host]", "[gw]", 9, "wires.0.between", "['gw']", "a list of at least 2"),
    (
        "{node: a, at: 3 s",
        "{node: host, at: 3 s",
        15,
        "moves.1.node",
        "'host' is wired",
        "net.yaml:15: moves.1.node: must be a wireless node, and 'host' is wired",
    ),
    (
        "at: 3 s",
        "at: 1 s",
        15,
        "moves.1.at",
        "",
        "net.yaml:15: moves.1.at: must be after the node's previous move, 1 s, not 1 s",
    ),
    (
        "[200m, 0 m]",
        "[0 m, 0 m]",
        6,
        "nodes.1.at",
        "net.yaml:6: nodes.1.at: 'a' has the same position; wireless nodes need different positions",
        "wireless nodes need different positions",
    ),
]


@pytest.mark.parametrize(("old", "new", "line", "key", "wrong", "allowed"), BAD, ids=[f"{b[3]}-{b[4]}" for b in BAD])
def test_user_yaml_topology_refuses(
    old: str, new: str, line: int, key: str, wrong: str, allowed: str, file: Path
) -> None:
    assert old in GOOD
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ValueError, match=r"must|; ") as caught:
        load_topology("net.yaml")
    message = str(caught.value)
    assert message.startswith(f"net.yaml:{line}: {key}: ")
    assert wrong in message
    assert allowed in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "version: 1\nversion: 1\n",
            'net.yaml:2: not valid YAML: found duplicate key "version" with value "1" (original value: "1");',
        ),
        (
            "nodes: [\n",
            "net.yaml:2: not valid YAML: expected the node content, but found '<stream end>'; write YAML 1.2",
        ),
        ("- 1\n", "net.yaml:1: the file must be a mapping at the top level: write lines of `key: value`"),
        ("", "net.yaml:1: the file must be a mapping at the top level: write lines of `key: value`"),
        (
            "a: " + "[" * 20_000 + "]" * 20_000,
            "net.yaml:1: nested more than 20 levels deep; use the keys of the format only",
        ),
        (
            "".join(f"{key}: &{key} [{', '.join([value] * 10)}]\n" for key, value in TENFOLD),
            "net.yaml:6: the document must have at most 500000 values, aliases counted",  # ten to the power of the line
        ),
        ("a: " + "1" * 5_000_000, "net.yaml:1: the file must have at most 4000000 characters, not 5000003"),
    ],
)
def test_user_yaml_topology_refuses_a_file_without_a_mapping(text: str, message: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises(ValueError, match=r"; |must") as caught:
        load_topology("net.yaml")
    assert str(caught.value).startswith(message)


def test_user_topology_that_is_not_there(in_tmp: Path) -> None:
    with pytest.raises(
        ValueError,
        match=r"^cannot read topology 'no\.yaml' \(No such file or directory\); give the path of a \.yaml",
    ):
        load_topology("no.yaml")


def test_user_topology_that_changes_is_read_again(file: Path) -> None:
    file.write_text(GOOD)
    before = find_kind("net.yaml").digest
    file.write_text(GOOD.replace("corner", "bend"))
    assert load_topology("net.yaml").name == "bend"
    assert find_kind("net.yaml").digest != before


def test_user_topology_whose_trace_sets_two_radios_on_one_place_is_reported_with_its_file(file: Path) -> None:
    Path("walk.bonnmotion").write_text("0 10 10\n0 10 10\n")
    head, _, rest = GOOD.partition("moves:\n")
    mobility = "mobility: {area: [500 m, 500 m], bonnmotion: walk.bonnmotion}\nrates:" + rest.partition("rates:")[2]
    file.write_text(head + mobility)
    with pytest.raises(ValueError, match=r"^net.yaml:1: document: topology 'corner': nodes 'a' and 'gw' are both at"):
        load_topology("net.yaml")


PYTHON = """\
from pacelab.user_code.memory import limited_memory
from pacelab_topologies.model import Flow, Node, Topology

def topology(*, n: int = 2, step: float = 200.0, back: bool = False):
    nodes = tuple(Node(name=f"n{i}", wireless=True, position_m=(i * step, 0.0)) for i in range(n))
    flow = Flow(src=n - 1, dst=0) if back else Flow(src=0, dst=n - 1)
    return Topology(name="line", description="", nodes=nodes, flows=(flow,), decode_m=250.0, sense_m=550.0)
"""


def test_user_python_topology_takes_its_options(in_tmp: Path) -> None:
    Path("line.py").write_text(PYTHON)
    assert load_topology("line.py", n=4, back=True).path(Flow(src=3, dst=0)) == (3, 2, 1, 0)
    assert [option.name for option in find_kind("line.py").options] == ["n", "step", "back"]
    with pytest.raises(ValueError, match=r"^--set step must be a number from -1000000000 to 1000000000, not 'far'"):
        load_topology("line.py", step="far")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def topology(:\n", "line.py:1: not valid Python: invalid syntax; correct the file"),
        ("x = 1\n", "line.py:1: topology is missing; define `def topology(*, direction, ...)`"),
        ("def topology():\n    return 3\n", "line.py:1: topology must return a pacelab.Topology, not 3"),
        ("\n\ndef topology():\n    return 1 / 0\n", "line.py:4: topology: ZeroDivisionError: division by zero"),
        (
            "def topology(n):\n    pass\n",
            "line.py:1: topology: parameter 'n' must have a default that is a bool, int, float, or str",
        ),
        (
            "class topology:\n    pass\n",
            "line.py:1: topology is not a function but <class 'own_topology.topology'>; define `def topology(*,",
        ),
        (
            "def topology(*, far=float('nan')):\n    pass\n",
            "line.py:1: topology: the default of parameter 'far' must be a number from -1000000000 to",
        ),
        (
            "def topology(*, n=10**10):\n    pass\n",
            "line.py:1: topology: the default of parameter 'n' must be a whole number from -1000000000 to",
        ),
        ("import sys\nsys.exit(0)\n", "line.py:2: topology: SystemExit: 0; correct the file"),
        ("def topology():\n    raise SystemExit\n", "line.py:2: topology: SystemExit: ; correct the file"),
        ("x = 1\0\n", "line.py:1: not valid Python: source code string cannot contain null bytes; correct the file"),
        ("import nowhere_at_all\n", "line.py:1: topology: ModuleNotFoundError: "),
    ],
)
def test_user_python_topology_refuses(text: str, message: str, in_tmp: Path) -> None:
    Path("line.py").write_text(text)
    with pytest.raises(ValueError, match=r"^line\.py:") as caught:
        load_topology("line.py")
    assert str(caught.value).startswith(message)


BESIDE = """\
from pacelab import Flow, Node, Topology
import every


def topology():
    import every as late
    nodes = tuple(Node(name=f"n{i}", wireless=True, position_m=(i * 200.0, 0.0)) for i in range(late.number()))
    flow = Flow(src=0, dst=1)
    return Topology(name="line", description="", nodes=nodes, flows=(flow,), decode_m=250.0, sense_m=550.0)
"""


@pytest.mark.parametrize("module", ["random", "numpy.random"])
def test_user_python_topology_that_draws_is_one_network(module: str, in_tmp: Path) -> None:
    text = (
        f"import {module} as random\nimport pacelab\nAPART = random.uniform(100, 200)\n"
        "def topology(*, wide: float = 9.0):\n"
        "    nodes = tuple(\n"
        "        pacelab.Node(name=f'n{i}', wireless=True, position_m=(i * APART, random.uniform(0, wide)))\n"
        "        for i in (0, 1)\n"
        "    )\n"
        "    return pacelab.Topology(name='t', description='', nodes=nodes, flows=(pacelab.Flow(src=0, dst=1),),\n"
        "                            decode_m=250.0, sense_m=550.0)\n"
    )
    (in_tmp / "a.py").write_text(text)
    (in_tmp / "b.py").write_text(text)  # another process would read it again
    before = random.getstate()
    places = [load_topology(name).nodes for name in ("a.py", "a.py", "b.py")]
    assert places[0] == places[1] == places[2]
    assert random.getstate() == before


def test_user_python_topology_imports_files_of_its_folder(tmp_path: Path, in_tmp: Path) -> None:
    digests = set()
    for folder, number in (("a", 2), ("b", 5)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "line.py").write_text(BESIDE)
        (tmp_path / folder / "every.py").write_text(f"def number():\n    return {number}\n")
        assert len(load_topology(f"{tmp_path / folder}/line.py").nodes) == number
        digests.add(find_kind(f"{tmp_path / folder}/line.py").digest)
    assert len(digests) == 2
    assert "every" not in sys.modules
    (tmp_path / "b" / "every.py").write_text("def number():\n    return 1 / 0\n")
    with pytest.raises(ValueError, match=r"/b/every\.py:2: topology: ZeroDivisionError: "):
        load_topology(f"{tmp_path}/b/line.py")


def test_user_python_topology_of_too_many_nodes_is_refused(in_tmp: Path) -> None:
    Path("line.py").write_text(PYTHON)
    with pytest.raises(
        ValueError,
        match=r"line\.py:7: topology: ValueError: topology 'line' must have at most 4000 nodes, not 4001; correct",
    ):
        load_topology("line.py", n=4001)


@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="memory is bounded on Linux")
def test_user_python_topology_is_stopped_before_it_takes_all_memory(in_tmp: Path) -> None:
    Path("line.py").write_text("def topology(*, n: int = 3):\n    return len(bytearray(3 * n))\n")
    told = r"line\.py:2: topology: it needs more than 2 GiB of memory; give its options smaller values"
    with pytest.raises(ValueError, match=told):
        load_topology("line.py", n=10**9)
    with mmap(-1, 3 * 10**9):  # the limit has been removed
        pass


@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="memory is bounded on Linux")
def test_no_bound_is_left_by_two_threads() -> None:
    """The second thread would start within the first, with less memory in use, and end after it."""
    import resource

    first, second = threading.Event(), threading.Event()

    def larger() -> None:
        taken = mmap(-1, 10**9)
        with limited_memory():
            taken.close()
            first.set()
            second.wait(0.2)

    def smaller() -> None:
        first.wait()
        with limited_memory():
            second.set()
            one.join()

    before = resource.getrlimit(resource.RLIMIT_AS)
    one, other = threading.Thread(target=larger), threading.Thread(target=smaller)
    one.start()
    other.start()
    other.join()
    assert resource.getrlimit(resource.RLIMIT_AS) == before
