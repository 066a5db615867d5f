"""A user's scheme is reported as active if it acted, whatever its hooks count; a failure stops the run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pacelab import (
    ConfigError,
    Drop,
    EventMask,
    Experiment,
    FlowKey,
    Forward,
    Inject,
    Rewrite,
    Scheme,
    Segment,
    SegmentSeen,
    SetExtraBackoff,
    TransmitResult,
    compare,
    record_air,
    run,
)
from pacelab.air.own_hooks import guard
from pacelab.user_code.messages import UserCodeError
from pacelab_pacer.core.contract import Action
from pacelab_pacer.core.null import NullHook
from pacelab_pacer.core.segment import ACK

pytestmark = pytest.mark.usefixtures("engine")

BORROWED = """
from pacelab import Scheme
from pacelab_pacer.core.tcp_gap.gateway import TcpGapGateway

MINE = Scheme(name="mine", summary="a gateway of mine", source="me", gateway=lambda settings: TcpGapGateway())
"""
COUNTING = """
from pacelab import Scheme
from pacelab_pacer.core.contract import Drop, EventMask, Forward


class Every:
    event_mask = EventMask.SEGMENT

    def __init__(self):
        self.seen, self.actions = 0, []

    def handle(self, now_ns, event):
        self.seen += 1
        handle = event.segment.handle
        self.actions.append(Drop(handle, "mine") if self.seen % 50 == 0 else Forward(handle))

    def poll_action(self):
        return self.actions.pop(0) if self.actions else None

    def deadline(self):
        return None

    def handle_timeout(self, now_ns):
        pass

    def counters(self):
        return {"every_fiftieth": self.seen // 50}


MINE = Scheme(name="mine", summary="drops every 50th", source="me", gateway=lambda settings: Every())
"""


NO_COUNTERS = COUNTING.replace('{"every_fiftieth": self.seen // 50}', "{}")


@pytest.mark.parametrize(
    "text", [BORROWED, COUNTING, NO_COUNTERS], ids=["hooks of ours", "counters of its own", "no counters"]
)
def test_a_users_scheme_reports_that_it_acted(text: str, in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text(text)
    result = run(Experiment(topology_options={"hops": 2}, direction="down", scheme="mine.py:MINE", duration_s=5))
    assert result.run["hooks"]["failed"] == 0, result.notes
    assert result.run["hooks"]["actions"] > 0
    assert not [note for note in result.notes if "never acted" in note]


@pytest.mark.parametrize("late", [False, True])
def test_a_hook_that_counts_nothing_has_acted_when_packets_went_later_than_they_came(late: bool, in_tmp: Path) -> None:
    text = NO_COUNTERS.replace('Drop(handle, "mine") if self.seen % 50 == 0 else ', "")
    (in_tmp / "mine.py").write_text(text.replace("if self.actions else", f"if self.actions[{int(late)}:] else"))
    chain = {"topology_options": {"hops": 2}, "direction": "down", "traffic": "cbr"}
    result = run(Experiment().vary(scheme="mine.py:MINE", duration_s=5, **chain))
    assert (result.run["hooks"]["actions"] > 0) == late
    assert ("scheme mine never acted" in result.notes) != late


def test_a_hook_that_keeps_packets_is_reported(in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text(COUNTING.replace("self.actions.append", "if self.seen < 50: self.actions.append"))
    result = run(Experiment(topology_options={"hops": 2}, direction="down", scheme="mine.py:MINE", duration_s=5))
    kept = [note for note in result.notes if "neither forwarded nor dropped" in note]
    assert kept == [
        "scheme mine: the gateway hook at node 2 kept packets that it neither forwarded nor dropped, and it wants no "
        "time to do so"
    ]


@pytest.mark.parametrize("text", [BORROWED, COUNTING], ids=["by react", "by poll_action"])
def test_a_hook_that_forwards_all_packets_is_not_reported_as_keeping_some(text: str, in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text(text)
    result = run(Experiment(topology_options={"hops": 2}, direction="down", scheme="mine.py:MINE", duration_s=5))
    assert not [note for note in result.notes if "neither forwarded nor dropped" in note]


def test_packets_forwarded_twice_are_one_note_of_all_seeds(in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text(
        COUNTING.replace("else Forward(handle))", "else Forward(handle))\n        self.actions *= 2")
    )
    asked = Experiment(topology_options={"hops": 2}, direction="down", duration_s=2)
    told = compare(asked, schemes=["mine.py:MINE"], seeds=2, jobs=1).compare["notes"]
    assert [note for note in told if "does not hold" in note] == [
        "scheme mine: hook at node 2: actions that could not be carried out, as on packets that it does not hold"
    ]


def test_a_congestion_control_given_as_a_scheme_is_refused_with_its_option(in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text("import pacelab\n\nclass Mine(pacelab.CongestionControl): ...\n")
    with pytest.raises(ConfigError, match=r"and 'mine.py:Mine' is a congestion control; use --cc mine.py:Mine$"):
        Experiment(scheme="mine.py:Mine")


IN_POLL = "return self.actions.pop(0) if self.actions else None"
IN_DEADLINE = "return None"
IN_COUNTERS = 'return {"every_fiftieth": self.seen // 50}'
AT = r"^scheme mine at [\d.]+ s of simulated time"


def failing(folder: Path, place: str, put: str) -> Experiment:
    (folder / "mine.py").write_text(COUNTING.replace(place, put, 1))
    return Experiment(topology_options={"hops": 2}, direction="down", scheme="mine.py:MINE", duration_s=1)


@pytest.mark.parametrize(
    ("place", "put", "told"),
    [
        ("self.seen += 1", "raise KeyError('oops')", AT + r" failed:\n.*mine\.py\", line 13, in handle\n.*\nKeyError"),
        (
            "self.seen += 1",
            "raise SystemExit(3)",
            AT + r" failed:\n.*mine\.py\", line 13, in handle\n.*\nSystemExit: 3",
        ),
        (IN_POLL, "1 / 0", AT + r" failed:\n.*mine\.py\", line 18, in poll_action\n.*\nZeroDivisionError"),
        (
            IN_POLL,
            "return 'go'",
            AT + r" returned 'go' from poll_action\(\); it must return None, or .*\n.*mine\.py\", line 17",
        ),
        (
            IN_DEADLINE,
            "return 1e9",
            AT + r" returned 1000000000\.0 from deadline\(\); it must return .*\n.*mine\.py\", line 20",
        ),
        (IN_DEADLINE, "return -1, ''", AT + r" returned \(-1, ''\) from deadline\(\); it must return .* 0 or more"),
        (
            IN_DEADLINE,
            "return 10**30, 'never'",
            AT + r" returned \(10{30}, 'never'\) from deadline\(\); it must return None for never, or at most "
            r"18446744073709551615 ns\n.*mine\.py\", line 20",
        ),
        (
            "Forward(handle))",
            "Forward(-1))",
            AT + r" returned Forward\(handle=-1, keep=False\) from poll_action\(\); it must return an action with a ",
        ),
        (
            IN_POLL,
            "return Forward(0)",
            "gateway hook at node 2 failed: .* poll_action.* without an end: it must",
        ),
        (
            IN_DEADLINE,
            "return 0, ''",
            r"gateway hook at node 2 failed: .* deadline\(\) stays in the past: after",
        ),
        (
            IN_COUNTERS,
            "return None",
            AT + r" returned None from counters\(\); it must return a mapping .*\n.*mine\.py\", line 26",
        ),
        (
            "Forward(handle))",
            "Forward('x'))",
            AT + r" returned Forward\(handle='x', keep=False\) from poll_action\(\); it must return an action with a "
            r".*\n.*mine\.py\", line 17",
        ),
        (
            "Forward(handle))",
            "Forward(event.segment))",
            AT + r" returned Forward\(handle=Segment.*\.\.\. from poll_action\(\); .* number, for example "
            r"Forward\(packet\.handle\)",
        ),
        (
            "Forward(handle))",
            "Drop(handle, 5))",
            AT
            + r" returned Drop\(handle=0, reason=5\) from poll_action\(\); it must return an action whose reason is a "
            r"text\n.*mine\.py\", line 17",
        ),
        (
            IN_COUNTERS,
            "return {7: 1}",
            AT + r" returned \{7: 1\} from counters\(\); it must return a mapping of names to whole numbers\n",
        ),
        (
            "event_mask = EventMask.SEGMENT",
            "event_mask = 'SEGMENT'",
            r"^scheme 'mine': gateway= returned .*, whose event_mask is 'SEGMENT'; use .*\n.*mine\.py\", line 30",
        ),
    ],
)
def test_a_failure_of_a_users_scheme_stops_the_run_with_its_place(
    place: str, put: str, told: str, in_tmp: Path
) -> None:
    experiment = failing(in_tmp, place, put)
    with pytest.raises(UserCodeError, match=f"(?s){told}"):
        run(experiment)


def test_a_wrong_field_of_a_scheme_is_reported_with_the_users_lines_alone(in_tmp: Path) -> None:
    with pytest.raises(UserCodeError) as caught:
        failing(in_tmp, 'source="', 'needs="gateway", source="')
    head, place, *_, told = str(caught.value).splitlines()
    assert head == "loading 'mine.py' failed:"
    assert re.search(r'mine\.py", line \d+, in <module>', place)
    assert told.endswith("ConfigError: Scheme: needs must be a list of texts, not 'gateway'")
    assert str(caught.value).count('  File "') == 1


@pytest.mark.parametrize(
    ("action", "valid"),
    [
        (Forward(0, keep=1), "keep is True or False"),  # type: ignore[arg-type]
        (Rewrite(0, window_bytes=-5), "window_bytes is None, or a whole number from 0 to 4294967295"),
        (Rewrite(0, rtt_wired_ns=0.5), "rtt_wired_ns is None, or a whole number"),  # type: ignore[arg-type]
        (Rewrite(0, congestion_experienced=1), "congestion_experienced is None, True, or False"),  # type: ignore[arg-type]
        (Inject("an ACK"), "segment is a pacelab.Segment"),  # type: ignore[arg-type]
        (SetExtraBackoff(-1), "slots is a whole number from 0 to 4294967295"),
        (SetExtraBackoff(1, wall_clock=None), "wall_clock is True or False"),  # type: ignore[arg-type]
    ],
)
@pytest.mark.parametrize("reacts", [False, True])
def test_a_value_that_the_engine_cannot_take_is_named_with_the_valid_ones(
    action: Action, valid: str, reacts: bool
) -> None:
    class Hook(NullHook):
        def poll_action(self) -> Action | None:
            return action

    class Reacting(NullHook):
        def react(self, _now_ns: int, _event: object) -> Any:
            return [action], None

    scheme = Scheme(name="mine", summary="", source="", gateway=lambda _settings: Reacting() if reacts else Hook())
    told = rf"{AT} returned .*; it must return an action whose {re.escape(valid)}.*\n.*, line \d+, in (poll_|re)act"
    with pytest.raises(UserCodeError, match=told):
        run(Experiment(topology_options={"hops": 2}, duration_s=1), scheme=scheme)


@pytest.mark.parametrize("gave", [None, (None, None), ([1.5], None), ((0,), None), ([], "soon"), ([], -1)])
def test_an_invalid_reaction_is_reported_with_its_place(gave: object) -> None:
    class Hook(NullHook):
        def react(self, _now_ns: int, _event: object) -> Any:
            return gave

    scheme = Scheme(name="mine", summary="", source="", gateway=lambda _settings: Hook())
    told = rf"returned {re.escape(repr(gave))} from react\(\); it must return \(.*\n.*, line \d+, in react"
    with pytest.raises(UserCodeError, match=told):
        run(Experiment(topology_options={"hops": 2}, duration_s=1), scheme=scheme)


def test_an_empty_reaction_means_no_action_and_no_wake_up() -> None:
    class Hook(NullHook):
        event_mask = EventMask.SEGMENT | EventMask.TRANSMIT
        nothing: tuple[Any, ...] = ([], None)
        quiet = 0

        def react(self, _now_ns: int, event: SegmentSeen | TransmitResult) -> Any:
            if isinstance(event, SegmentSeen):
                return [event.segment.handle], None
            self.quiet += 1
            return self.nothing

        def counters(self) -> dict[str, int]:
            return {"quiet": self.quiet}

    class Empty(Hook):
        nothing = ()

    results = [
        run(Experiment(topology_options={"hops": 2}, duration_s=1), scheme=scheme).run
        for kind in (Hook, Empty)
        for scheme in [Scheme(name="mine", summary="", source="", link=lambda _settings, kind=kind: kind())]
    ]
    assert results[0] == results[1]
    assert all(point["counters"]["quiet"] for point in results[0]["hooks"]["points"])


class Acknowledging(NullHook):
    """Answers its own node's packets at once, so each ACK triggers the next segment."""

    def handle(self, now_ns: int, event: SegmentSeen | TransmitResult) -> None:
        segment = event.segment
        if not segment.payload_bytes:
            super().handle(now_ns, event)
            return
        src, dst, sport, dport = segment.flow
        ack = segment._replace(
            flow=FlowKey(dst, src, dport, sport),
            ack=(segment.seq + segment.payload_bytes) % 2**32,
            flags=ACK,
            payload_bytes=0,
            packet_bytes=40,
        )
        self._actions += [Drop(segment.handle, "mine"), Inject(ack)]


class Reacting(Acknowledging):
    def react(self, now_ns: int, event: SegmentSeen | None) -> tuple[list[Any], None]:
        if event is not None:
            self.handle(now_ns, event)
        actions = list(self._actions)
        self._actions.clear()
        return actions, None


def answered(hook: type[NullHook], **traffic: Any) -> int:
    """Packets that the hook at a wireless source dropped."""
    scheme = Scheme(name="mine", summary="", source="", sender=lambda _settings: hook())
    return run(Experiment(topology_options={"hops": 1}, duration_s=1, **traffic), scheme=scheme).run["drops"][
        "hook:mine"
    ]


def test_a_transfer_that_is_answered_where_it_begins_ends() -> None:
    assert answered(Acknowledging, traffic="file", size_bytes=10_000 * 1460) == 10_000


@pytest.mark.parametrize(
    ("hook", "method"), [(Acknowledging, "poll_action"), pytest.param(Reacting, "react", marks=pytest.mark.thorough)]
)
def test_answers_that_bring_about_the_next_without_end_stop_the_run(hook: type[NullHook], method: str) -> None:
    with pytest.raises(
        UserCodeError, match=rf"node 0 failed: .*{method}\(\) returns actions without an end: .* at once"
    ):
        answered(hook)


def test_a_scheme_from_python_and_a_picture_of_the_air_fail_alike(in_tmp: Path) -> None:
    experiment = failing(in_tmp, "self.seen += 1", "raise KeyError('oops')")
    with pytest.raises(UserCodeError, match=r"mine\.py\", line 13, in handle"):
        run(experiment.vary(scheme="newreno"), scheme=experiment.chosen_scheme)
    with pytest.raises(UserCodeError, match=r"mine\.py\", line 13, in handle"):
        record_air(experiment, until_s=1.0)


def test_a_run_after_a_failed_one_is_independent() -> None:
    """Failures belong to their run, not to the scheme."""
    fails = [True]

    class Hook(NullHook):
        def handle(self, now_ns: int, event: SegmentSeen | TransmitResult) -> None:
            if fails[0]:
                raise KeyError("oops")
            super().handle(now_ns, event)

    scheme = Scheme(name="mine", summary="", source="", gateway=lambda _settings: Hook())
    experiment = Experiment(topology_options={"hops": 2}, duration_s=1)
    with pytest.raises(UserCodeError, match=r"in handle\n"):
        run(experiment, scheme=scheme)
    fails[0] = False
    assert run(experiment, scheme=scheme).run["flows"] == run(experiment).run["flows"]


def test_a_transmission_reports_the_segment_as_it_was_sent() -> None:
    """The hook changes each third data packet between its `SegmentSeen` and its `TransmitResult`."""
    seen: dict[int, Segment] = {}
    sent: list[TransmitResult] = []

    class Hook(NullHook):
        event_mask = EventMask.SEGMENT | EventMask.TRANSMIT

        def handle(self, now_ns: int, event: SegmentSeen | TransmitResult) -> None:
            assert isinstance(event.segment, Segment)
            assert isinstance(event.segment.flow, FlowKey)
            if isinstance(event, TransmitResult):
                assert event.segment == seen.pop(event.segment.handle)
                sent.append(event)
                return
            segment = event.segment
            if segment.payload_bytes and segment.seq // segment.payload_bytes % 3 == 0:
                self._actions.append(Rewrite(segment.handle, window_bytes=5000))
                segment = segment._replace(window_bytes=5000)
            seen[segment.handle] = segment
            super().handle(now_ns, event)

    scheme = Scheme(name="mine", summary="", source="", link=lambda _settings: Hook())
    run(Experiment(topology_options={"hops": 1, "wired": False}, duration_s=1), scheme=scheme)
    windows = {told.segment.window_bytes == 5000 for told in sent if told.segment.payload_bytes}
    sizes = {told.segment.packet_bytes for told in sent}
    assert windows == {False, True}
    assert len(sizes) > 1
    assert all(told.delivered and told.attempts >= 1 and told.next_hop in (0, 1) for told in sent)


def test_a_scheme_that_keeps_its_failures_itself_is_asked_for_them() -> None:
    class Kept(Exception):
        pass

    def tell() -> None:
        raise Kept

    hook = NullHook()
    scheme = Scheme(name="mine", summary="", source="", gateway=lambda _settings: hook, raise_failure=tell)
    experiment = Experiment(topology_options={"hops": 2}, duration_s=1)
    (attachment,), _ = guard(scheme, scheme.attach(experiment.network, experiment.hook_settings))
    assert attachment.hook is hook  # unwatched: it has no time limit
    with pytest.raises(Kept):
        run(experiment, scheme=scheme)


def test_a_failure_of_a_users_scheme_in_a_guest_stops_the_run(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(in_tmp, "", "")
    report = {"node": 2, "errors": 0, "failed": "KeyError: 'oops' (own.py, line 13, in handle)", "counters": {}}
    found = {"air": {"flows": [], "hooks": [report]}, "fidelity": None, "notes": [], "host": {}}
    monkeypatch.setattr("pacelab.emulation.backend.run_plan", lambda *_given, **_named: found)
    experiment = Experiment(
        topology_options={"hops": 2}, direction="down", scheme="mine.py:MINE", backend="tap", where="uml"
    )
    with pytest.raises(UserCodeError, match=r"^scheme mine: the gateway hook at node 2 failed: KeyError: 'oops' \(own"):
        run(experiment)


SLIPS = """
import pacelab


class Early(pacelab.LinkLayer):
    def pases(self):
        return False

    def send(self):
        pass


class Mine(pacelab.CongestionControl):
    recovry = "reno"

    def acknowledged(self, now_ns, acked_pkts, rtt_ns):
        self.window = 2.0

    def lost(self, now_ns, in_use_pkts):
        pass

    def time_out(self, now_ns, in_use_pkts):
        pass


class Hooked(pacelab.Hook):
    event_mask = pacelab.EventMask.TRANSMIT

    def handle(self, now_ns, event):
        pass

    def deadlin(self):
        return None

    def counters(self):
        return {}


class Bare:
    event_mask = pacelab.EventMask.TRANSMIT

    def handel(self, now_ns, event):
        pass


HOOKED = pacelab.Scheme(name="hooked", summary="", source="", link=lambda settings: Hooked())
BARE = pacelab.Scheme(name="bare", summary="", source="", link=lambda settings: Bare())
"""


@pytest.mark.parametrize(
    ("option", "name", "told"),
    [
        ("scheme", "Early", ["Early: pases is called by nobody: did you mean passes?"]),
        ("scheme", "HOOKED", ["Hooked: deadlin is called by nobody: did you mean deadline?"]),
        (
            "cc",
            "Mine",
            [
                "Mine: recovry is called by nobody: did you mean recovery?",
                "Mine: time_out is called by nobody: did you mean timed_out?",
            ],
        ),
    ],
)
def test_a_method_that_is_nearly_one_of_ours_is_reported(option: str, name: str, told: list[str], in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text(SLIPS)
    notes = run(Experiment(topology="cell", duration_s=0.1, traffic="tcp").vary(**{option: f"mine.py:{name}"})).notes
    assert [note for note in notes if "called by nobody" in note] == told


def test_a_missing_method_of_a_hook_is_reported_with_the_similar_name(in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text(SLIPS)
    with pytest.raises(UserCodeError, match=r"Bare: handel is called by nobody: did you mean handle\?"):
        run(Experiment(topology="cell", duration_s=0.1, scheme="mine.py:BARE"))
