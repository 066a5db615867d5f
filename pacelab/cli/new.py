"""`pacelab new KIND NAME`: writes a working file of the user's own code, and its test."""

from __future__ import annotations

import builtins
import keyword
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pacelab.console import log
from pacelab.errors import ConfigError
from pacelab.parameters import Argument
from pacelab.public import PUBLIC
from pacelab.results.folder import write_file

CC = '''"""A congestion control. This example has additive increase and multiplicative decrease. Run it, or compare it:

    pacelab run chain --cc {file}.py:{name}
    pacelab compare chain --hops 1..6 --schemes newreno,{file}.py:{name}
"""

from pacelab import CongestionControl


class {name}(CongestionControl):
    """Windows are in segments and may have fractions. Times are whole numbers of ns."""

    def __init__(self, initial_window, window_limit):
        super().__init__(initial_window, window_limit)
        self.threshold = float(window_limit)

    def acknowledged(self, now_ns, acked_pkts, rtt_ns):
        """New data was acknowledged. Below the threshold the window doubles in a round trip, then it grows by one."""
        self.window += acked_pkts if self.window < self.threshold else acked_pkts / self.window

    def lost(self, now_ns, in_use_pkts):
        """The sender received three duplicate ACKs: halve the window that was in use."""
        self.window = self.threshold = max(in_use_pkts / 2, 2.0)

    def timed_out(self, now_ns, in_use_pkts):
        """The retransmission timer expired: start again with one segment."""
        self.threshold = max(in_use_pkts / 2, 2.0)
        self.window = 1.0
'''
PACER = '''"""A pacer. This example estimates the four-hop delay from the round trip. Run `python {file}.py`, or:

    pacelab compare chain --direction down --routing aodv --schemes newreno,tcp-gap,{file}.py:{name}
"""

from pacelab import Experiment, Pacer, run, run_pacer


class {name}(Pacer):
    """Set `interval_s`, the time from one packet to the next, after each round trip."""

    def measured(self, sample):
        self.interval_s = sample.rtt_s * min(sample.hops, 4) / (2 * sample.hops)


if __name__ == "__main__":
    chain = Experiment(topology="chain", topology_options={{"hops": 6}}, duration_s=20)
    for label, result in (("unpaced", run(chain)), ("{name}", run_pacer(chain, {name}))):
        print(f"{{label}}: {{result.goodput_bps / 1000:.0f}} kbit/s")
'''
LINK = '''"""A link algorithm. This example drops one packet in fifty at every node. Run `python {file}.py`, or:

    pacelab compare chain --hops 7 --schemes newreno,lred,{file}.py:{name}
"""

from pacelab import Experiment, LinkLayer, run, run_link_layer


class {name}(LinkLayer):
    """`sent` gets the number of attempts of each frame. `passes` says whether the next packet may enter the queue."""

    retries = 0.0

    def sent(self, attempts, delivered):
        self.retries = 7 / 8 * self.retries + 1 / 8 * (attempts - 1)

    def passes(self):
        return self.random.random() >= 0.02


if __name__ == "__main__":
    chain = Experiment(topology="chain", topology_options={{"hops": 6, "wired": False}}, duration_s=20)
    for label, result in (("without", run(chain)), ("{name}", run_link_layer(chain, {name}))):
        print(f"{{label}}: {{result.goodput_bps / 1000:.0f}} kbit/s")
'''
QDISC = '''"""A queue discipline. This example drops packets that have waited too long. Run it alone, or with a scheme:

    pacelab run chain --hops 4 --window 256 --qdisc {file}.py:{name}
    pacelab compare chain --hops 1..4 --qdisc pfifo,{file}.py:{name} --schemes newreno --y rtt
    pacelab run chain --direction down --scheme tcp-gap --qdisc {file}.py:{name}
"""

from collections import deque

from pacelab import QueueDiscipline


class {name}(QueueDiscipline):
    """The queue of one radio, or of one direction of a wire."""

    longest_wait_ns = 100_000_000

    def __init__(self, limit_pkts):
        super().__init__(limit_pkts)
        self.waiting = deque()

    def push(self, packet):
        """A packet arrives. If the queue is full, drop it."""
        if len(self.waiting) >= self.limit_pkts:
            self.drop(packet)
        else:
            self.waiting.append(packet)

    def pop(self, now_ns):
        """Return the next packet, or None if no packet waits. `self.mark(packet)` marks a packet (ECN)."""
        while self.waiting:
            packet = self.waiting.popleft()
            if not self.waiting or now_ns - packet.arrived_ns <= self.longest_wait_ns:
                return packet
            self.drop(packet, "early")
        return None
'''
SCHEME = '''"""A scheme of hooks. In this example, the gateway sends only the newest of ACKs that arrive close together:

    pacelab compare chain --hops 2..4 --schemes newreno,{file}.py:SCHEME
"""

from pacelab import Drop, EventMask, Forward, Point, Scheme


class {name}:
    """The hook of one node. Each packet of an event waits until an action with its handle follows: Forward or Drop.

    Three modules document the rest: pacelab_pacer.core.contract (points, events, and actions),
    pacelab_pacer.core.segment (packets), and pacelab.schemes.scheme (Scheme). `python -m pydoc MODULE` prints each.
    """

    event_mask = EventMask.SEGMENT  # add | EventMask.TRANSMIT to learn which frames of the node arrived
    wait_ns = 10_000_000

    def __init__(self, settings):
        self.actions, self.waiting, self.thinned = [], {{}}, 0

    def handle(self, now_ns, event):
        """A packet arrives. An ACK for the air waits for `wait_ns`. A newer ACK of the flow replaces it."""
        packet = event.segment
        _, before = self.waiting.pop(packet.flow, (0, None))
        if before and packet.is_pure_ack and packet.ack != before.ack:
            self.thinned += 1
            self.actions.append(Drop(before.handle, "thinned"))
        elif before:
            self.actions.append(Forward(before.handle))
        if packet.is_pure_ack and event.point == Point.WIRED_TO_AIR:
            self.waiting[packet.flow] = now_ns + self.wait_ns, packet
        else:
            self.actions.append(Forward(packet.handle))

    def poll_action(self):
        """PaceLab calls this until it returns None."""
        return self.actions.pop(0) if self.actions else None

    def deadline(self):
        """When `handle_timeout` must be called, in ns, and why. None: never."""
        return min(((at_ns, "an ACK waits") for at_ns, _ in self.waiting.values()), default=None)

    def handle_timeout(self, now_ns):
        for flow in [flow for flow, (at_ns, _) in self.waiting.items() if at_ns <= now_ns]:
            self.actions.append(Forward(self.waiting.pop(flow)[1].handle))

    def counters(self):
        """These counters are in run.json."""
        return {{"thinned": self.thinned}}


SCHEME = Scheme(
    name="{file}",
    summary="sends only the newest of several ACKs",
    source="mine",
    gateway={name},  # makes the gateways' hooks; or sender=, station= (both ends of flows), link= (wireless nodes)
    needs=("gateway",),
    effect_counters=frozenset({{"thinned"}}),  # counters that show whether the scheme had an effect
)
'''
TOPOLOGY = '''"""A topology. This example is a star: arms around a hub, and one flow from each arm.

    pacelab topologies {file}.py
    pacelab run {file}.py --set arms=4
"""

from math import cos, pi, sin

from pacelab import Flow, Node, Topology


def topology(*, arms: int = 3):
    """Each parameter is an option on the command line. The type of its default is the type of the option."""
    ends = [(200.0 * cos(2 * pi * i / arms), 200.0 * sin(2 * pi * i / arms)) for i in range(arms)]
    nodes = tuple(Node(name=f"n{{i}}", wireless=True, position_m=place) for i, place in enumerate([(0.0, 0.0), *ends]))
    flows = tuple(Flow(src=i + 1, dst=0) for i in range(arms))
    return Topology(
        name="{file}", description=f"{{arms}} arms", nodes=nodes, flows=flows, decode_m=250.0, sense_m=550.0
    )
'''
CLAIM = """# A claim: a sentence, the runs that can refute it, and the band: the range of results for which it holds.
# Write the band before you run the claim for the first time.
#
#     pacelab reproduce {file}.yaml --quick
#     pacelab reproduce {file}.yaml
#
# docs/verdicts.md has the rules. This claim holds if the whole 95 % interval of its result lies in the band.
schema: 2
id: own-{id}
paper: own
section: ""
title: RTS/CTS helps two senders that cannot hear each other
quote: Two senders that cannot hear each other carry more with RTS/CTS than without.
scenario:
  topology: hidden
  options: {{rate: 2}} # as on the command line, without the dashes
  axes:
    rts: [off, on] # one run for each value and each seed
  # schemes: [newreno, tcp-gap]  is one more list of values; a check names it `scheme` in `at`
  full: {{seconds: 60, warmup: 5, seeds: 10}}
  quick: {{seconds: 10, warmup: 1, seeds: 3}}
checks:
  - what: goodput with RTS/CTS divided by goodput without
    role: headline # decides the verdict; a detail does not
    measure: {{of: goodput_kbps, at: {{rts: on}}, against: {{rts: off}}, compare: ratio}}
    band: [1, .inf]
    band_from: the sentence does not say how much more
"""
TESTS = {
    "cc": 'run(Experiment(topology="chain", cc=f"{{HERE / \'{file}.py\'}}:{name}", duration_s=5))',
    "pacer": 'run_pacer(Experiment(topology="chain", duration_s=5), load().{name})',
    "link": 'run_link_layer(Experiment(topology="chain", duration_s=5), load().{name})',
    "scheme": 'run(Experiment(topology="chain", scheme=f"{{HERE / \'{file}.py\'}}:SCHEME", duration_s=5))',
    "qdisc": 'run(Experiment(topology="chain", qdisc=f"{{HERE / \'{file}.py\'}}:{name}", duration_s=5))',
    "topology": 'run(Experiment(topology=str(HERE / "{file}.py"), duration_s=5))',
}
NEEDS = {"pacer": "run_pacer", "link": "run_link_layer"}
TEST = '''"""pytest {test}.py"""

from pathlib import Path

from pacelab import Experiment, {needs}

HERE = Path(__file__).parent

{load}
def test_it_runs_and_delivers_data():
    result = {call}
    assert result.goodput_bps > 0
'''
LOAD = '''
def load():
    """Load the file beside this test."""
    import sys
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("{file}", HERE / "{file}.py")
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

'''
CLAIM_TEST = '''"""pytest {test}.py"""

import json
import subprocess
import sys
from pathlib import Path

CLAIM = Path(__file__).with_name("{file}.yaml")


def test_the_claim_holds(tmp_path):
    """Makes the runs of --quick. Fails if a change to the code refutes the claim."""
    command = [sys.executable, "-m", "pacelab", "reproduce", str(CLAIM), "--quick", "--quiet", "--json"]
    ran = subprocess.run([*command, "--out", str(tmp_path / "out")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    for outcome in json.loads(ran.stdout)["reproduce"]["outcomes"]:
        assert outcome["verdict"] in ("reproduced", "holds"), outcome["checks"]
'''
PYTEST = "`pip install pytest`, or `make dev` in the source folder, installs pytest"
NEEDED = ("pacelab", "pytest")
"""Modules that the files import. Their names are refused even if they are not installed, or not found by path."""
TEMPLATES: Mapping[str, str] = MappingProxyType(
    {"cc": CC, "pacer": PACER, "link": LINK, "qdisc": QDISC, "scheme": SCHEME, "topology": TOPOLOGY, "claim": CLAIM}
)
"""Kind -> template of the file."""


def write_new(kind: str, name: str, folder: Path) -> tuple[Path, Path]:
    """Write the file and its test into `folder`, both or none. Raises ConfigError for an existing file or an invalid
    name.
    """
    if kind not in TEMPLATES:
        raise ConfigError(f"new: the kind must be one of {', '.join(TEMPLATES)}, not {kind!r}")
    if keyword.iskeyword(name):
        raise ConfigError(f"new {kind}: {name!r} is a Python keyword; choose another name")
    if not name.isidentifier() or (kind != "claim" and name[0] == "_"):
        raise ConfigError(f"new {kind}: the name must be letters, digits and _, starting with a letter, not {name!r}")
    if kind != "claim" and (hasattr(builtins, name) or name in PUBLIC):
        raise ConfigError(f"new {kind}: {name!r} is a name that the file itself uses; choose another name")
    file = name.lower()
    words = {"name": name, "file": file, "test": f"test_{file}", "id": "-".join(filter(None, file.split("_")))}
    if kind == "claim" and not (file.isascii() and words["id"]):
        raise ConfigError(f"new claim: the name must be the letters a to z, digits and _, not {name!r}")
    contents = {
        folder / f"{file}.{'yaml' if kind == 'claim' else 'py'}": TEMPLATES[kind].format(**words),
        folder / f"test_{file}.py": _test(kind, words),
    }
    for path in contents:
        if path.exists():
            raise ConfigError(f"new {kind}: {str(path)!r} already exists; choose another name")
    if kind != "claim" and file.startswith("test_"):
        raise ConfigError(f"new {kind}: pytest would take {file}.py for a test; choose another name")
    if kind != "claim" and _is_module(file, folder):
        raise ConfigError(
            f"new {kind}: {file}.py would hide the module {file} from other programs; choose another name"
        )
    written: list[Path] = []
    try:
        for path, text in contents.items():
            write_file(path, text.encode())
            written.append(path)
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise
    one, test = contents
    return one, test


def _is_module(name: str, folder: Path) -> bool:
    """Whether a module of this name exists in PaceLab, in Python or in an installed package; `folder` does
    not count.
    """
    if name in sys.stdlib_module_names or name in NEEDED:
        return True
    paths = [path for path in sys.path if Path(path).resolve() != folder.resolve()]
    spec = PathFinder.find_spec(name, paths)
    return spec is not None and spec.loader is not None


def _test(kind: str, words: Mapping[str, str]) -> str:
    if kind == "claim":
        return CLAIM_TEST.format(**words)
    call = TESTS[kind].format(**words)
    load = LOAD.format(**words) if "load()" in call else ""
    return TEST.format(**words, needs=NEEDS.get(kind, "run"), load=load, call=call)


def new(
    kind: Annotated[str, Argument(metavar="KIND", help="cc, pacer, link, qdisc, scheme, topology or claim")],
    name: Annotated[
        str, Argument(metavar="NAME", help="a name for your code; the file has this name in small letters")
    ],
) -> None:
    """Write a working example of a KIND of code (cc, pacer, ...) that you can edit, and a test of it.

    KIND is cc, pacer, link, qdisc, scheme, topology or claim.
    """
    one, test = write_new(kind, name, Path())
    log(f"wrote {one} and its test {test}; the first lines of {one} say how to run it; run `pytest {test}` ({PYTEST})")
