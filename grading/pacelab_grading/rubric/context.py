"""What a check works with: the student's objects, a hook on a made-up clock, and the simulator.

All random numbers come from `CheckContext.random`, a stream keyed by the assignment, a topic and, in hidden checks, the
instructor's key. It is the same on every machine, and a student's code cannot ask for it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Any, NamedTuple, TypeAlias

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
from pacelab_grading.rubric.expect import short
from pacelab_grading.rubric.findings import WrongAnswer
from pacelab_grading.sandbox.box import Box
from pacelab_grading.sandbox.failures import IMPORTING, Malformed, Raised
from pacelab_grading.sandbox.reference import Lender, parts_of
from pacelab_grading.sandbox.remote import Note, RemoteHook, RemoteObject
from pacelab_grading.sandbox.session import IDLE_S, AnySession, LocalSession, Session

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
"""Callbacks in a row at the same time: more means a deadline that never moves."""
MAX_STEPS = 2000
"""The last steps that are kept for a report. A check of a model solution takes at most 550."""


RunJson: TypeAlias = dict[str, Any]
"""run.json (docs/run.schema.json), as checks read it."""


@dataclass(slots=True)
class CheckContext:
    """For one check of one submission. Close it (`with`) to end the processes."""

    box: Box
    file: str
    key: bytes
    """Derived from the assignment and, in hidden checks, the instructor's key and the student (`stream_key`)."""
    first_number: int = 0
    cpu_limit_s: float | None = None
    """Limit of processor time in a second attempt, in which steps are counted; None in the first attempt."""
    time_factor: float = 1.0
    idle_s: float = IDLE_S
    steps: list[str] = field(default_factory=list)
    """The steps so far, for the report of a failed check."""
    printed: list[str] = field(default_factory=list)
    guards: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()
    """Names that the model solution provides in this check."""
    model: Callable[[], tuple[Box, str]] | None = None
    """Gives a box with the model solution, and its text."""
    memory: dict[str, RunJson] = field(default_factory=dict)
    """Simulations of this submission, so that two checks can use one run."""
    ready: AnySession | None = None
    """A process that has loaded the file and has not been used since."""
    _sessions: list[AnySession] = field(default_factory=list)
    _model_session: AnySession | None = None
    _names: frozenset[str] = frozenset()
    raised: list[Raised] = field(default_factory=list)
    """What statements at the top level of the file raised when it was loaded."""
    cpu_s: float = 0.0
    """Processor time of all processes, once the context is closed."""
    busiest_cpu_s: float = 0.0
    """Processor time of the busiest process, once the context is closed."""
    _forgotten: int = 0
    """Steps that are no longer in `steps`."""

    def __enter__(self) -> CheckContext:
        return self

    def __exit__(self, *_: object) -> None:
        if self.ready is not None:
            self.ready.close()
        for session in self._sessions:
            session.close()
            self.cpu_s += session.cpu_s
            self.busiest_cpu_s = max(self.busiest_cpu_s, session.cpu_s)
            if session.printed:
                self.printed.append(session.printed)

    def random(self, topic: str) -> Random:
        """The random stream of this key for the topic."""
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
        names, raised = _loaded(session.request("load", doing=IMPORTING))
        self._names = frozenset(names)
        for kind, text, where in raised:
            self.raised.append(Raised({"type": kind, "kinds": "", "text": text, "where": where}, IMPORTING))
        if self.reference:
            lender = self._lender()
            session.lend(lender.parts, lender.answer)
        return session

    def _started(self, box: Box) -> AnySession:
        number = self.first_number + len(self._sessions)
        session: AnySession = LocalSession(box, self.file)
        if not box.walls.none:
            session = Session(
                box,
                self.file,
                number=number,
                cpu_limit_s=self.cpu_limit_s,
                time_factor=self.time_factor,
                idle_s=self.idle_s,
            )
        self._sessions.append(session)
        return session

    def _lender(self) -> Lender:
        """A lender for one of the student's processes."""
        assert self.model is not None
        box, text = self.model()
        if self._model_session is None:
            self._model_session = self._started(box)
            self._model_session.request("load", doing="importing the reference")
        return Lender(self._model_session, parts_of(text, self.reference))

    def load(self) -> tuple[frozenset[str], AnySession]:
        """The names that the module defines, and its process, which the caller owns and may pass on as `ready`."""
        session = self.session()
        self._sessions = [other for other in self._sessions if other is not session]
        return self._names, session

    def new(self, name: str, **keywords: Any) -> RemoteObject:
        """An object in a separate process."""
        self.step(f"{name}({call_text((), keywords)})")
        return RemoteObject(self.session(), name, keywords, note=self._noting(name))

    def objects(self, name: str, each: Sequence[Sequence[Any]]) -> list[RemoteObject]:
        """Objects in one process, one for each sequence of arguments."""
        session, made = self.session(), []
        for number, arguments in enumerate(each, 1):
            called = f"{name}#{number}" if len(each) > 1 else name
            self.step(f"{called}({call_text(arguments, {})})")
            made.append(RemoteObject(session, name, {}, arguments, note=self._noting(called)))
        return made

    def _noting(self, called: str) -> Note:
        def note(method: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
            self.step(f"{called}.{method}({call_text(arguments, keywords)})")

        return note

    def function(self, name: str) -> RemoteFunction:
        """A function of the module, in a separate process."""
        return RemoteFunction(self.session(), name, self)

    def hook(self, name: str, *, allowed: Collection[str], **keywords: Any) -> RemoteHook:
        """A hook in a separate process, like the nodes of a network, which share nothing."""
        return RemoteHook(self.session(), name, keywords, allowed=allowed)

    def drive(self, name: str, *, allowed: Collection[str], **keywords: Any) -> HookDriver:
        """A hook on a made-up clock."""
        self.step(f"{name}({call_text((), keywords)})")
        return HookDriver(self.hook(name, allowed=allowed, **keywords), self)

    def drive_in_same_process(
        self, driver: HookDriver, name: str, *, allowed: Collection[str], **keywords: Any
    ) -> HookDriver:
        """A second hook in the process of a first one: even there they must share nothing."""
        self.step(f"a second {name}({call_text((), keywords)})")
        return HookDriver(RemoteHook(driver.hook.session, name, keywords, allowed=allowed), self)

    def step(self, text: str) -> None:
        """Note a step for the report."""
        self.steps.append(text)
        if len(self.steps) > MAX_STEPS:
            self._forgotten += 1 if self._forgotten else 2
            self.steps[:2] = [f"({self._forgotten:,} earlier steps)"]

    def simulate(
        self, experiment: Experiment, point: str, name: str, *, allowed: Collection[str], **keywords: Any
    ) -> RunJson:
        """run.json of the experiment with the student's hook at every node of a hook point.

        Raises a StudentFailure if a hook fails; the simulation ends at once.
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

        empty = Scheme(name="submission", summary="a student's hook", source="", raise_failure=raise_failure)
        scheme = replace(empty, gateway=make) if point == "gateway" else replace(empty, link=make)
        self.step(f"simulate {_described(experiment)} with {name} at {point}")
        result: RunJson = {**run(experiment, scheme=scheme).run}
        invalid = sum(report["errors"] for report in result["hooks"]["points"])
        if invalid:
            raise WrongAnswer(
                "actions that name segments which the hook holds", f"{invalid} actions with an unknown handle"
            )
        self.memory[known] = result
        return result

    def simulate_trusted(self, experiment: Experiment, make: Callable[[], Any]) -> RunJson:
        """Like `simulate`, with a hook of the grader at the gateway, which asks the student's objects."""
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
        result: RunJson = {**run(experiment, scheme=scheme).run}
        self.memory[known] = result
        return result

    def baseline(self, experiment: Experiment) -> RunJson:
        """run.json of the experiment without any hook: the value to beat."""
        return _run_once(json.dumps(experiment.config(), sort_keys=True), experiment)


_runs: dict[str, RunJson] = {}
MAX_RUNS = 200


def _run_once(key: str, experiment: Experiment) -> RunJson:
    """Run each experiment once for all submissions that this process grades."""
    if key not in _runs:
        if len(_runs) >= MAX_RUNS:
            _runs.clear()
        _runs[key] = {**run(experiment).run}
    return _runs[key]


def _loaded(answer: Any) -> tuple[list[str], list[list[str]]]:
    """Names and exceptions in the answer of a process that loaded its file. Raises Malformed for anything else."""
    match answer:
        case [[*names], [*raised]] if all(isinstance(name, str) for name in names):
            if all(isinstance(item, list) and list(map(type, item)) == [str] * 3 for item in raised):
                return names, raised
    raise Malformed(f"{IMPORTING}: the sandbox sent a message of an unknown type")


class RemoteFunction:
    """A function of the student's module."""

    def __init__(self, session: AnySession, name: str, context: CheckContext) -> None:
        self._session = session
        self._name = name
        self._context = context

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """What the function returns, as JSON values. Raises a StudentFailure."""
        shown = call_text(arguments, keywords)
        self._context.step(f"{self._name}({shown})")
        return self._session.request("call", None, self._name, arguments, keywords, doing=f"{self._name}({shown})")


class Sent(NamedTuple):
    """A segment that left the hook."""

    at_ns: int
    segment: Segment
    again: bool


class HookDriver:
    """Drives one hook on a made-up clock and checks that it keeps the contract."""

    def __init__(self, hook: RemoteHook, context: CheckContext) -> None:
        self.hook = hook
        self.context = context
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
        """A pure ACK for data of the flow, in the opposite direction."""
        return Segment(next(self._handles), flow.reversed(), TCP, ACK, 0, ack, 0, HEADERS, 65_535, None)

    def see(self, point: Point, segment: Segment, path: Sequence[int] = FOUR_HOPS) -> None:
        """Hand a segment over now, and call back if the hook asks for that now."""
        what = f"ACK {segment.ack}" if segment.payload_bytes == 0 else f"data {segment.seq}"
        self._note(f"{what} of flow {segment.flow.src}->{segment.flow.dst} arrives, {point.name}")
        self.held[segment.handle] = segment
        self.hook.handle(self.now_ns, SegmentSeen(point, segment, tuple(path)))
        self._drain()
        self.run_until(self.now_ns)  # a segment whose deadline is due leaves at once

    def transmitted(self, segment: Segment, attempts: int, *, delivered: bool = True, to: int | None = 1) -> None:
        """Report the end of a frame."""
        self._note(f"frame sent, {attempts} attempts, {'delivered' if delivered else 'given up'}")
        self.hook.handle(self.now_ns, TransmitResult(segment, attempts, delivered, to))
        self._drain()

    def run_until(self, at_ns: int) -> None:
        """Let time pass, with a punctual callback at every deadline."""
        stuck = 0
        while (wanted := self.hook.deadline()) is not None and wanted[0] <= at_ns:
            stuck = stuck + 1 if wanted[0] <= self.now_ns else 0
            if stuck > MAX_STUCK:
                raise WrongAnswer(
                    "deadline() returns a later time (or None) after the deadline before has been handled",
                    f"deadline() still asks for {wanted[0] / MS:g} ms at {self.now_ns / MS:g} ms",
                )
            self.now_ns = max(self.now_ns, wanted[0])
            self.timeout()
        self.now_ns = at_ns

    def timeout(self) -> None:
        """Call back now, whether due or not."""
        self.hook.handle_timeout(self.now_ns)
        self._drain()

    def skip_to(self, at_ns: int) -> None:
        """Let time pass without a callback, as on a busy host."""
        self.now_ns = at_ns

    def times(self, flow: FlowKey = DOWN) -> list[int]:
        """When the flow's data left, without local retransmissions."""
        return [s.at_ns for s in self.sent if s.segment.flow == flow and s.segment.payload_bytes and not s.again]

    def seqs(self, flow: FlowKey = DOWN) -> list[int]:
        """Sequence numbers of the flow's data in the order in which it left."""
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
                    raise WrongAnswer("Resend of a segment that was forwarded with keep=True", f"Resend({handle})")
                self.sent.append(Sent(self.now_ns, self.kept[handle], again=True))
            case Release(handle):
                self.kept.pop(handle, None)

    def _held(self, handle: int, what: str) -> Segment:
        if handle not in self.held:
            raise WrongAnswer("every handle named once, in Forward or Drop", f"{what}({handle}), which is not held")
        return self.held.pop(handle)

    def _note(self, text: str) -> None:
        self.context.step(f"{self.now_ns / MS:10.3f} ms  {text}")


def _described(experiment: Experiment) -> str:
    options = ", ".join(f"{key} {value}" for key, value in experiment.topology_options.items())
    return f"{experiment.topology} ({options}) {experiment.direction}, {experiment.duration_s:g} s"


def call_text(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """The arguments of a call as text."""
    return ", ".join((*map(short, arguments), *(f"{key}={short(value)}" for key, value in keywords.items())))


def stream_key(assignment: str, key: str, student: str = "") -> bytes:
    """The key of the random streams of hidden checks. Without an instructor's key, it is the public one: everybody can
    compute it.
    """
    return hashlib.sha256(f"pacelab/{assignment}/{key}/{student}".encode()).digest()
