"""A user's topology: a YAML file, or a Python file that defines `topology(**options)`. See docs/own-code.md.

Errors have the form `file:line: key: what is wrong; what to write`.
"""

from __future__ import annotations

import hashlib
import inspect
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import CodeType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from pacelab.domains import ON_OFF, Domain, Real, Text, Whole
from pacelab.user_code.imports import NeighbourFiles
from pacelab.user_code.memory import MOST_BYTES, limited_memory
from pacelab.user_code.seeds import seeded_generators
from pacelab.user_code.waiting import waiting_for
from pacelab_topologies.document import Delay, Document, Length, Level, Part, Rate, Reach, Time
from pacelab_topologies.kind import Kind, TopologyOption
from pacelab_topologies.mobility import MobilityPart, MobilityReader, MovePart
from pacelab_topologies.model import (
    EXPONENT,
    QUEUE_PKTS,
    Flow,
    LinkRate,
    Move,
    Node,
    PathLoss,
    Topology,
    WiredLink,
    check_name,
)

FILE_VERSION = 1
DIRECTIONS = ("up", "down", "mixed")
LARGEST = 10**9
"""Bound on numbers in the options of a Python file."""


class Ranges(Part):
    """Two radios decode each other up to `decode` and sense each other up to `sense`.

    With an exponent these are means of log-distance loss with shadowing.
    """

    decode: Reach
    sense: Reach
    exponent: Annotated[float, EXPONENT] | None = None
    shadowing: Level = 0.0

    def path_loss(self) -> PathLoss | None:
        """The path loss, if the file requests another model than two-ray ground."""
        return None if self.exponent is None else PathLoss(exponent=self.exponent, shadowing_db=self.shadowing)


Name = Annotated[str, Field(min_length=1), AfterValidator(check_name)]


class NodePart(Part):
    """A radio with its position, or a wired host, whose position is for drawings only."""

    name: Name
    at: list[Length] = Field(min_length=2, max_length=2)
    wired: bool = False


class WirePart(Part):
    """A full-duplex wire."""

    between: list[str] = Field(min_length=2, max_length=2)
    rate: Rate
    delay: Delay
    queue: Annotated[int, QUEUE_PKTS] = 50


class FlowPart(Part):
    """Ends and times of a flow."""

    source: str = Field(alias="from")
    to: str
    start: Time = 0.0
    stop: Time | None = None


class RatePart(Part):
    """Rate of one link in one direction, from the time `at` on."""

    source: str = Field(alias="from")
    to: str
    rate: Rate
    at: Time = 0.0


class TopologyFile(Part):
    """The whole file."""

    version: Literal[1]
    name: Name
    description: str = ""
    ranges: Ranges
    nodes: list[NodePart] = Field(min_length=1)
    wires: list[WirePart] = Field(default_factory=list)
    flows: list[FlowPart] = Field(min_length=1)
    moves: list[MovePart] = Field(default_factory=list)
    mobility: MobilityPart | None = None
    rates: list[RatePart] = Field(default_factory=list)
    defaults: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Options of the command line, without their dashes."""


MOST_LOADED = 64
"""Number of parsed files that are kept. A file that is edited live is another file after each change."""
_loaded: dict[tuple[str, str], Kind] = {}


def load_kind(path: str) -> Kind:
    """The kind of topology that the file at `path` defines."""
    file = Path(path)
    try:
        content = file.read_bytes()
        text = content.decode("utf-8")
        digest = NeighbourFiles(file).digest() if file.suffix == ".py" else hashlib.sha256(content).hexdigest()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(
            f"cannot read topology {path!r} ({why}); give the path of a .yaml or .py file in UTF-8"
        ) from None
    key = (path, digest)
    if key not in _loaded:
        if len(_loaded) >= MOST_LOADED:
            del _loaded[next(iter(_loaded))]
        load = _python_kind if file.suffix == ".py" else _yaml_kind
        kind = load(path, text, digest)
        if kind.digest != digest:
            return kind  # do not cache: it also depends on a trace, which may change
        _loaded[key] = kind
    return _loaded[key]


def read_yaml(text: str, name: str) -> Topology:
    """The topology in a YAML file's text. Raises ValueError, in which `name` is the file's name. Reads no
    other file.
    """
    document = Document(text, name=name)
    return _Builder(document, document.parse(TopologyFile), None).build()


def _yaml_kind(path: str, text: str, digest: str) -> Kind:
    document = Document(text, name=path)
    file = document.parse(TopologyFile)
    builder = _Builder(document, file, Path(path).parent)
    topology = builder.build()
    if builder.trace:
        digest = hashlib.sha256(f"{digest} {hashlib.sha256(builder.trace).hexdigest()}".encode()).hexdigest()

    def build(*, direction: str) -> Topology:
        return topology

    return Kind(
        name=Path(path).name,
        summary=topology.description,
        build=build,
        directions=DIRECTIONS[:1],
        digest=digest,
        places={name: f"{path}:{document.line(('defaults', name))}: defaults.{name}" for name in file.defaults},
        link_rate_places=tuple(
            f"{path}:{document.line(('rates', i, 'rate'))}: rates.{i}.rate" for i in range(len(file.rates))
        ),
    )


class _Builder:
    """Converts names to numbers, and reports the line of an invalid one."""

    def __init__(self, document: Document, file: TopologyFile, folder: Path | None) -> None:
        self.document, self.file, self.folder = document, file, folder
        self.numbers: dict[str, int] = {}
        self.wires: dict[frozenset[int], int] = {}
        self.trace = b""
        """What the file says by another one."""

    def build(self) -> Topology:
        file = self.file
        nodes = tuple(self._node(i, node) for i, node in enumerate(file.nodes))
        if file.ranges.sense < file.ranges.decode:
            raise self.document.error(
                ("ranges", "sense"), f"must be at least decode, {file.ranges.decode:g} m, not {file.ranges.sense:g} m"
            )
        if file.ranges.shadowing and file.ranges.exponent is None:
            raise self.document.error(
                ("ranges", "shadowing"), "shadowing needs an exponent: add one from 1 to 8, for example 3"
            )
        wired = tuple(self._wire(i, wire) for i, wire in enumerate(file.wires))
        flows = tuple(self._flow(i, flow) for i, flow in enumerate(file.flows))
        moves, mobility = tuple(self._move(("moves",), i, file.moves) for i in range(len(file.moves))), ""
        if file.mobility is not None:
            nodes, moves, mobility = self._mobility(file.mobility, nodes)
        rates = tuple(self._rate(i, rate) for i, rate in enumerate(file.rates))
        bare = self._topology(
            name=file.name,
            description=file.description or file.name,
            nodes=nodes,
            flows=(),
            decode_m=file.ranges.decode,
            sense_m=file.ranges.sense,
            wired=wired,
        )
        for i, flow in enumerate(flows):
            if not bare.path(flow) and not mobility:
                ends = f"{file.flows[i].source} -> {file.flows[i].to}"
                raise self.document.error(
                    ("flows", i),
                    f"no path connects {ends}; add a wire, or nodes at most {bare.decode_m:g} m apart",
                )
        defaults = {f"--{name}": str(value) for name, value in file.defaults.items()}
        return self._topology(
            name=bare.name,
            description=bare.description,
            nodes=nodes,
            flows=flows,
            decode_m=bare.decode_m,
            sense_m=bare.sense_m,
            path_loss=file.ranges.path_loss(),
            wired=wired,
            moves=moves,
            mobility=mobility,
            area_m=None if file.mobility is None else (file.mobility.area[0], file.mobility.area[1]),
            link_rates=rates,
            source="your own file",
            defaults=defaults,
        )

    def _topology(self, **fields: Any) -> Topology:
        """Report errors of the model that no earlier check found as errors of the file."""
        try:
            return Topology(**fields)
        except ValueError as error:
            raise self.document.error((), str(error)) from None

    def _node(self, i: int, part: NodePart) -> Node:
        if part.name in self.numbers:
            first = self.document.line(("nodes", self.numbers[part.name]))
            raise self.document.error(
                ("nodes", i, "name"), f"{part.name!r} is the name of the node in line {first}; names must differ"
            )
        x, y = part.at
        if not part.wired:
            for other in self.file.nodes[:i]:
                if not other.wired and other.at == part.at:
                    raise self.document.error(
                        ("nodes", i, "at"),
                        f"{other.name!r} has the same position; wireless nodes need different positions",
                    )
        self.numbers[part.name] = i
        return Node(name=part.name, wireless=not part.wired, position_m=(x, y))

    def _number(self, place: tuple[str | int, ...], name: str) -> int:
        if name not in self.numbers:
            raise self.document.error(place, f"must be a node ({', '.join(self.numbers)}), not {name!r}")
        return self.numbers[name]

    def _radio(self, place: tuple[str | int, ...], name: str) -> int:
        number = self._number(place, name)
        if self.file.nodes[number].wired:
            raise self.document.error(place, f"must be a wireless node, and {name!r} is wired")
        return number

    def _ends(self, place: tuple[str | int, ...], a: int, b: int) -> None:
        if a == b:
            raise self.document.error(place, "must name two different nodes, not one node twice")

    def _wire(self, i: int, part: WirePart) -> WiredLink:
        a, b = (self._number(("wires", i, "between", k), name) for k, name in enumerate(part.between))
        self._ends(("wires", i, "between"), a, b)
        first = self.wires.setdefault(frozenset((a, b)), i)
        if first != i:
            line = self.document.line(("wires", first))
            raise self.document.error(
                ("wires", i, "between"), f"the wire in line {line} already joins these nodes; remove one of the two"
            )
        return WiredLink(a=a, b=b, rate_bps=round(part.rate), delay_s=part.delay, queue_pkts=part.queue)

    def _flow(self, i: int, part: FlowPart) -> Flow:
        src, dst = self._number(("flows", i, "from"), part.source), self._number(("flows", i, "to"), part.to)
        self._ends(("flows", i), src, dst)
        if part.stop is not None and part.stop <= part.start:
            raise self.document.error(
                ("flows", i, "stop"), f"must be after start, {part.start:g} s, not {part.stop:g} s"
            )
        return Flow(src=src, dst=dst, start_s=part.start, stop_s=part.stop)

    def _mobility(self, part: MobilityPart, nodes: tuple[Node, ...]) -> tuple[tuple[Node, ...], tuple[Move, ...], str]:
        """The nodes at their start, their moves, and the name of the mobility model."""
        if self.file.moves:
            raise self.document.error(("moves",), "a file cannot have both moves and mobility; remove one")
        reader = MobilityReader(self.document, part, self.folder)
        if part.waypoints is not None:
            moves = tuple(self._move(("mobility", "waypoints"), i, part.waypoints) for i in range(len(part.waypoints)))
            for i, move in enumerate(moves):
                reader.check_within(("mobility", "waypoints", i, "to"), move.position_m)
            return nodes, moves, "waypoints"
        radios = [number for number, node in enumerate(nodes) if node.wireless]
        walks = reader.walks({number: nodes[number].position_m for number in radios})
        self.trace = reader.trace
        moves = tuple(
            Move(node=number, at_s=at_s, position_m=place)
            for number, walk in zip(radios, walks, strict=True)
            for at_s, place in walk.points
        )
        places = dict(zip(radios, (walk.start for walk in walks), strict=True))
        started = tuple(replace(node, position_m=places.get(i, node.position_m)) for i, node in enumerate(nodes))
        return started, moves, reader.said

    def _move(self, where: tuple[str | int, ...], i: int, moves: list[MovePart]) -> Move:
        part = moves[i]
        place = (*where, i)
        node = self._radio((*place, "node"), part.node)
        before = [move.at for move in moves[:i] if move.node == part.node]
        if before and part.at <= before[-1]:
            raise self.document.error(
                (*place, "at"), f"must be after the node's previous move, {before[-1]:g} s, not {part.at:g} s"
            )
        return Move(node=node, at_s=part.at, position_m=(part.to[0], part.to[1]))

    def _rate(self, i: int, part: RatePart) -> LinkRate:
        a, b = self._radio(("rates", i, "from"), part.source), self._radio(("rates", i, "to"), part.to)
        self._ends(("rates", i), a, b)
        return LinkRate(a=a, b=b, rate_bps=round(part.rate), at_s=part.at)


def _python_kind(path: str, text: str, digest: str) -> Kind:
    beside = NeighbourFiles(Path(path))
    own = {path: path} | {str(file.absolute()): str(file) for name in beside.found for file in beside.files(name)}

    def run(code: CodeType | Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Run the user's code. An exception becomes one line with its place."""
        try:
            with seeded_generators(0, text=text):  # a file defines the same network in each process
                if isinstance(code, CodeType):
                    with waiting_for(f"loading {path!r}"):
                        return exec(code, *arguments)  # without a memory limit: it may import large modules
                with waiting_for(f"topology() of {path!r}"), limited_memory():
                    return code(*arguments, **options)
        except (Exception, SystemExit) as error:
            frames = traceback.extract_tb(error.__traceback__)
            places = [f"{own[frame.filename]}:{frame.lineno}" for frame in frames if frame.filename in own]
            where = places[-1] if places else f"{path}:1"
            what = f"{type(error).__name__}: {' '.join(str(error).split())}; correct the file"
            if isinstance(error, MemoryError):
                what = f"it needs more than {MOST_BYTES >> 30} GiB of memory; give its options smaller values"
            raise ValueError(f"{where}: topology: {what}") from None

    try:
        code = compile(text, path, "exec")
    except (SyntaxError, ValueError) as error:  # older Pythons raise ValueError for a null character
        line, what = getattr(error, "lineno", None) or 1, getattr(error, "msg", error)
        raise ValueError(f"{path}:{line}: not valid Python: {what}; correct the file") from None
    names: dict[str, Any] = {"__name__": "own_topology", "__file__": path}
    beside.make_importable(names)
    run(code, names)
    function = names.get("topology")
    if not inspect.isfunction(function):
        what = "missing" if function is None else f"not a function but {function!r:.60}"
        raise ValueError(f"{path}:1: topology is {what}; define `def topology(*, direction, ...)`")
    parameters = dict(inspect.signature(function).parameters)
    takes_direction = parameters.pop("direction", None) is not None

    def build(*, direction: str, **options: Any) -> Topology:
        given = options | ({"direction": direction} if takes_direction else {})
        topology = run(function, **given)
        if not isinstance(topology, Topology):
            line = function.__code__.co_firstlineno
            raise ValueError(f"{path}:{line}: topology must return a pacelab.Topology, not {topology!r:.60}")
        return topology

    return Kind(
        name=Path(path).name,
        summary=" ".join((inspect.getdoc(function) or "your own topology").split("\n\n")[0].split()),
        build=build,
        options=tuple(_option(path, name, parameter) for name, parameter in parameters.items()),
        directions=DIRECTIONS if takes_direction else DIRECTIONS[:1],
        digest=digest,
    )


def _option(path: str, name: str, parameter: inspect.Parameter) -> TopologyOption:
    """An option of a Python file. The type of its default determines its domain."""
    domains: Mapping[type, Domain] = {
        bool: ON_OFF,
        int: Whole(-LARGEST, LARGEST),
        float: Real(-LARGEST, LARGEST),
        str: Text(),
    }
    if type(parameter.default) not in domains or parameter.kind is parameter.VAR_KEYWORD:
        raise ValueError(
            f"{path}:1: topology: parameter {name!r} must have a default that is a bool, int, float, or str"
        )
    domain = domains[type(parameter.default)]
    if not isinstance(parameter.default, str):  # an empty text cannot be given, but can be the default
        try:
            domain.check(parameter.default)
        except ValueError as error:
            raise ValueError(f"{path}:1: topology: the default of parameter {name!r} {error}") from None
    return TopologyOption(
        name=name, domain=domain, default=parameter.default, help="an option of your own file", own=True
    )
