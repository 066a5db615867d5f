"""What a check works with: the student's objects, a shell without a network, and the simulator.

Everything drawn at random comes from `Lab.random`, a stream keyed by the assignment, the instructor's key and a topic:
the same on every machine, and unknown to a student's code, which has no way to ask.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Any, NamedTuple

from pacelab import (
    Drop,
    Experiment,
    FlowKey,
    Forward,
    HookSettings,
    Point,
    Release,
    Resend,
    Scheme,
    Segment,
    SegmentSeen,
    TransmitResult,
    run,
)
from pacelab_grading.assignment import Wrong
from pacelab_grading.inside.worker import revive
from pacelab_grading.remote import Lender, Note, RemoteHook, RemoteObject, parts_of
from pacelab_grading.sandbox import Box
from pacelab_grading.session import ASLEEP_S, IMPORTING, AnySession, LocalSession, Malformed, Raised, Session

MS = 1_000_000
S = 1_000_000_000
HEADERS = 40
TCP, ACK, FIN, SYN, RST = 6, 0x10, 0x01, 0x02, 0x04
DOWN = FlowKey(src=100, dst=1, sport=80, dport=5000)
"""A wired-to-wireless flow."""
UP = FlowKey(src=1, dst=100, sport=5000, dport=80)
"""A wireless-to-wired flow."""
FOUR_HOPS = (2_000_000,) * 4
MAX_STUCK = 3
"""Callbacks at one moment that ask for one more: a deadline that never moves on."""
MAX_STEPS = 400
"""The last things done that are kept for a report."""


@dataclass(slots=True)
class Lab:
    """Of one check of one submission. Close it (`with`) to end the processes."""

    box: Box
    file: str
    key: bytes
    """Of the assignment, the instructor's key and, with individual parameters, the student."""
    first_number: int = 0
    counted: bool = False
    patience: float = 1.0
    asleep_s: float = ASLEEP_S
    steps: list[str] = field(default_factory=list)
    """What was done so far, for the report of a failed check."""
    printed: list[str] = field(default_factory=list)
    guards: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()
    """Names that are the model solution's in this check."""
    model: Callable[[], tuple[Box, str]] | None = None
    """A box with the model solution, and its text: for the reference."""
    memory: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of this submission: simulations that two checks look at run once."""
    ready: AnySession | None = None
    """A process that has loaded the file, and was asked for nothing since: the first that is wanted."""
    _sessions: list[AnySession] = field(default_factory=list)
    _lending: AnySession | None = None
    """The model's process."""
    _names: frozenset[str] = frozenset()

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        if self.ready is not None:
            self.ready.close()
        for session in self._sessions:
            session.close()
            if session.printed:
                self.printed.append(session.printed)

    def random(self, topic: str) -> Random:
        """A stream of this lab's key for the topic."""
        return Random(int.from_bytes(hmac.digest(self.key, topic.encode(), "sha256"), "big"))

    def seed(self, topic: str) -> int:
        """A seed for a simulation."""
        return self.random(topic).randrange(1, 1_000_000)

    def session(self) -> AnySession:
        """A fresh process with the student's module loaded."""
        if self.ready is not None:
            self._sessions.append(self.ready)
            self.ready = None
            return self._sessions[-1]
        session = self._started(self.box)
        self.guards = session.guards
        names = session.request("load", doing=IMPORTING)
        if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise Malformed(f"{IMPORTING}: an answer of no known kind")
        self._names = frozenset(names)
        if self.reference:
            session.lend(self._lender())
        return session

    def _started(self, box: Box) -> AnySession:
        number = self.first_number + len(self._sessions)
        session: AnySession = LocalSession(box, self.file)
        if not box.walls.none:
            session = Session(
                box,
                self.file,
                number=number,
                counted=self.counted,
                patience=self.patience,
                asleep_s=self.asleep_s,
            )
        self._sessions.append(session)
        return session

    def _lender(self) -> Lender:
        """For what one of the student's processes borrows of the model's."""
        assert self.model is not None
        box, text = self.model()
        if self._lending is None:
            self._lending = self._started(box)
            self._lending.request("load", doing="importing the reference")
        return Lender(self._lending, parts_of(text, self.reference))

    def load(self) -> tuple[frozenset[str], AnySession]:
        """What the module defines, and the process that has said so: the caller's, to be `ready` for a check."""
        session = self.session()
        self._sessions = [other for other in self._sessions if other is not session]
        return self._names, session

    def new(self, name: str, **keywords: Any) -> RemoteObject:
        """An object in a process of its own."""
        self.step(f"{name}({_asked((), keywords)})")
        return RemoteObject(self.session(), name, keywords, note=self._noting(name))

    def several(self, name: str, each: Sequence[Sequence[Any]]) -> list[RemoteObject]:
        """Objects in one process, made with these arguments each."""
        session, made = self.session(), []
        for number, arguments in enumerate(each, 1):
            called = f"{name}#{number}" if len(each) > 1 else name
            self.step(f"{called}({_asked(arguments, {})})")
            made.append(RemoteObject(session, name, {}, arguments, note=self._noting(called)))
        return made

    def _noting(self, called: str) -> Note:
        def note(method: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
            self.step(f"{called}.{method}({_asked(arguments, keywords)})")

        return note

    def function(self, name: str) -> RemoteFunction:
        """A function of the module, in a process of its own."""
        return RemoteFunction(self.session(), name, self)

    def hook(self, name: str, *, allowed: Collection[str], **keywords: Any) -> RemoteHook:
        """A hook in a process of its own, as the nodes of a network have: they share nothing."""
        return RemoteHook(self.session(), name, keywords, allowed=allowed)

    def shell(self, name: str, *, allowed: Collection[str], **keywords: Any) -> Shell:
        """A hook on a made-up clock."""
        self.step(f"{name}({_asked((), keywords)})")
        return Shell(self.hook(name, allowed=allowed, **keywords), self)

    def beside(self, shell: Shell, name: str, *, allowed: Collection[str], **keywords: Any) -> Shell:
        """Another hook in the process of a shell's: they must share nothing all the same."""
        self.step(f"one more {name}({_asked((), keywords)})")
        return Shell(RemoteHook(shell.hook.session, name, keywords, allowed=allowed), self)

    def step(self, text: str) -> None:
        """Note what is being done."""
        self.steps.append(text)
        del self.steps[:-MAX_STEPS]

    def simulate(
        self, experiment: Experiment, point: str, name: str, *, allowed: Collection[str], **keywords: Any
    ) -> dict[str, Any]:
        """run.json of the experiment with the student's hook at every node of a hook point.

        Raises a StudentFailure when a hook fails; the simulation ends at once.
        """
        known = f"{self.reference} {name} {point} {_described(experiment)} {experiment.seed} {experiment.config()}"
        if known in self.memory:
            return self.memory[known]
        hooks: list[RemoteHook] = []

        def make(settings: HookSettings) -> RemoteHook:
            values = {key: value(settings) if callable(value) else value for key, value in keywords.items()}
            hooks.append(self.hook(name, allowed=allowed, **values))
            return hooks[-1]

        def raise_failure() -> None:
            for hook in hooks:
                if hook.failure is not None:
                    raise hook.failure

        empty = Scheme(name="submission", summary="a student's", source="", raise_failure=raise_failure)
        scheme = replace(empty, gateway=make) if point == "gateway" else replace(empty, link=make)
        self.step(f"simulate {_described(experiment)} with {name} at {point}")
        result: dict[str, Any] = {**run(experiment, scheme=scheme).run}
        invalid = sum(report["errors"] for report in result["hooks"]["points"])
        if invalid:
            raise Wrong("actions that name segments which the hook holds", f"{invalid} actions with an unknown handle")
        self.memory[known] = result
        return result

    def simulate_trusted(self, experiment: Experiment, make: Callable[[], Any]) -> dict[str, Any]:
        """run.json with a hook of the grader's at the gateway, which asks the student's objects; as `simulate`."""
        known = f"{self.reference} {_described(experiment)} {experiment.seed} {experiment.config()}"
        if known in self.memory:
            return self.memory[known]
        hooks: list[Any] = []

        def once(_settings: HookSettings) -> Any:
            hooks.append(make())
            return hooks[-1]

        def raise_failure() -> None:
            for hook in hooks:
                if hook.failure is not None:
                    raise hook.failure

        scheme = Scheme(
            name="submission",
            summary="",
            source="",
            gateway=once,
            traffic=("tcp", "voice"),
            raise_failure=raise_failure,
        )
        self.step(f"simulate {_described(experiment)}")
        result: dict[str, Any] = {**run(experiment, scheme=scheme).run}
        self.memory[known] = result
        return result

    def baseline(self, experiment: Experiment) -> dict[str, Any]:
        """run.json of the experiment without any hook: what there is to beat."""
        return _run_once(json.dumps(experiment.config(), sort_keys=True), experiment)


_runs: dict[str, dict[str, Any]] = {}
MAX_RUNS = 200


def _run_once(key: str, experiment: Experiment) -> dict[str, Any]:
    """The same for all submissions that this process grades."""
    if key not in _runs:
        if len(_runs) >= MAX_RUNS:
            _runs.clear()
        _runs[key] = {**run(experiment).run}
    return _runs[key]


class RemoteFunction:
    """A function of the student's module."""

    def __init__(self, session: AnySession, name: str, lab: Lab) -> None:
        self._session = session
        self._name = name
        self._lab = lab

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """What the function returns, as JSON values. Raises a StudentFailure."""
        shown = _asked(arguments, keywords)
        self._lab.step(f"{self._name}({shown})")
        return self._session.request("call", None, self._name, arguments, keywords, doing=f"{self._name}({shown})")


class Sent(NamedTuple):
    """A segment that left the hook."""

    at_ns: int
    segment: Segment
    again: bool


class Shell:
    """Drives one hook on a made-up clock, and holds it to the contract as it goes."""

    def __init__(self, hook: RemoteHook, lab: Lab) -> None:
        self.hook = hook
        self.lab = lab
        self.now_ns = 0
        self.held: dict[int, Segment] = {}
        self.kept: dict[int, Segment] = {}
        self.sent: list[Sent] = []
        self.dropped: list[tuple[Segment, str]] = []
        self._handles = count(1)

    def data(self, flow: FlowKey = DOWN, seq: int = 0, payload: int = 1460, *, flags: int = ACK) -> Segment:
        """A data segment of the flow."""
        handle = next(self._handles)
        return Segment(handle, flow, TCP, flags, seq, 0, payload, payload + HEADERS, 65_535, None)

    def ack(self, flow: FlowKey = DOWN, ack: int = 0) -> Segment:
        """A pure ACK for data of the flow: it travels the other way."""
        return Segment(next(self._handles), flow.reversed(), TCP, ACK, 0, ack, 0, HEADERS, 65_535, None)

    def see(self, point: Point, segment: Segment, path: Sequence[int] = FOUR_HOPS) -> None:
        """Hand a segment over now, and call back if the hook wants that now."""
        what = f"ACK {segment.ack}" if segment.payload_bytes == 0 else f"data {segment.seq}"
        self._note(f"{what} of flow {segment.flow.src}->{segment.flow.dst} arrives, {point.name}")
        self.held[segment.handle] = segment
        self.hook.handle(self.now_ns, SegmentSeen(point, segment, tuple(path)))
        self._drain()
        self.run_until(self.now_ns)  # what it left to a deadline that is due leaves at once, too

    def transmitted(self, segment: Segment, attempts: int, *, delivered: bool = True, to: int | None = 1) -> None:
        """Tell of a frame's end."""
        self._note(f"frame sent, {attempts} attempts, {'delivered' if delivered else 'given up'}")
        self.hook.handle(self.now_ns, TransmitResult(segment, attempts, delivered, to))
        self._drain()

    def run_until(self, at_ns: int) -> None:
        """Let time pass, calling back punctually at every deadline."""
        stuck = 0
        while (wanted := self.hook.deadline()) is not None and wanted[0] <= at_ns:
            stuck = stuck + 1 if wanted[0] <= self.now_ns else 0
            if stuck > MAX_STUCK:
                raise Wrong(
                    "a deadline that moves on once it has been handled",
                    f"deadline() still asks for {wanted[0] / MS:g} ms at {self.now_ns / MS:g} ms",
                )
            self.now_ns = max(self.now_ns, wanted[0])
            self.timeout()
        self.now_ns = at_ns

    def timeout(self) -> None:
        """Call back now, due or not."""
        self.hook.handle_timeout(self.now_ns)
        self._drain()

    def skip_to(self, at_ns: int) -> None:
        """Let time pass without calling back: the host was busy."""
        self.now_ns = at_ns

    def times(self, flow: FlowKey = DOWN) -> list[int]:
        """When the flow's data left, local retransmissions left out."""
        return [s.at_ns for s in self.sent if s.segment.flow == flow and s.segment.payload_bytes and not s.again]

    def seqs(self, flow: FlowKey = DOWN) -> list[int]:
        """Sequence numbers of the flow's data in the order in which they left."""
        return [s.segment.seq for s in self.sent if s.segment.flow == flow and s.segment.payload_bytes and not s.again]

    def _drain(self) -> None:
        while (action := self.hook.poll_action()) is not None:
            self._carry_out(action)

    def _carry_out(self, action: Any) -> None:
        match action:
            case Forward(handle, keep):
                segment = self._held(handle, "Forward")
                self._note(f"  forwards {'ACK' if not segment.payload_bytes else 'data'} {segment.seq or segment.ack}")
                self.sent.append(Sent(self.now_ns, segment, again=False))
                if keep:
                    self.kept[handle] = segment
            case Drop(handle, reason):
                self._note(f"  drops {handle}: {reason}")
                self.dropped.append((self._held(handle, "Drop"), reason))
            case Resend(handle):
                if handle not in self.kept:
                    raise Wrong("Resend of a segment that was forwarded with keep=True", f"Resend({handle})")
                self.sent.append(Sent(self.now_ns, self.kept[handle], again=True))
            case Release(handle):
                self.kept.pop(handle, None)

    def _held(self, handle: int, what: str) -> Segment:
        if handle not in self.held:
            raise Wrong(
                "every handle named once, in Forward or Drop", f"{what}({handle}), which is not held (any more)"
            )
        return self.held.pop(handle)

    def _note(self, text: str) -> None:
        self.lab.step(f"{self.now_ns / MS:10.3f} ms  {text}")


def stream_key(assignment: str, key: str, student: str = "") -> bytes:
    """The key of a lab: fixed for the assignment, unless the instructor has a key; the student's own if asked for."""
    return hashlib.sha256(f"pacelab/{assignment}/{key}/{student}".encode()).digest()


@contextlib.contextmanager
def failing(expected: str) -> Iterator[None]:
    """Turn an exception of the student's code into "expected ..., got ..."."""
    try:
        yield
    except Raised as failure:
        raise Wrong(expected, str(failure)) from None


def numeric(got: Any, *, what: str) -> float:
    """The number that `got` is; raises `Wrong` if it is none."""
    if isinstance(got, bool) or not isinstance(got, int | float):
        raise Wrong(f"{what}: a number", f"{_short(got)}, which is no number")
    return got


def near(expected: float, got: Any, *, what: str, tolerance: float = 1e-6) -> None:
    """Raise `Wrong` unless `got` is a number within the relative tolerance of `expected`."""
    if isinstance(got, bool) or not isinstance(got, int | float):
        raise Wrong(f"{what} = {expected:,.6g}", f"{_short(got)}, which is no number")
    if abs(got - expected) > tolerance * max(abs(expected), 1e-12):
        wanted, came = _apart(expected, got)
        raise Wrong(f"{what} = {wanted}", came)


def _apart(one: float, other: float) -> tuple[str, str]:
    """Both with as many digits as it takes to see that they differ."""
    shown = [(f"{one:,.{digits}g}", f"{other:,.{digits}g}") for digits in (6, 9, 12, 17)]
    return next((pair for pair in shown if pair[0] != pair[1]), shown[-1])


def exactly(expected: Any, got: Any, *, what: str) -> None:
    """Raise `Wrong` unless both are equal."""
    if got != expected or isinstance(got, bool) != isinstance(expected, bool):
        raise Wrong(f"{what} = {_short(expected)}", _short(got))


def _described(experiment: Experiment) -> str:
    options = ", ".join(f"{key} {value}" for key, value in experiment.topology_options.items())
    return f"{experiment.topology} ({options}) {experiment.direction}, {experiment.duration_s:g} s"


def _asked(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """What stands in the brackets of a call."""
    return ", ".join((*map(_short, arguments), *(f"{key}={_short(value)}" for key, value in keywords.items())))


def _short(value: Any) -> str:
    if isinstance(value, dict) and (drawn := value.get("$draws", value.get("$random"))) is not None:
        return f"<draws {drawn}>"
    if isinstance(value, dict | list):
        value = revive(value)
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
