"""A link layer of your own: subclass `LinkLayer`, run it with `run_link_layer`, or among schemes as FILE.py:CLASS.

One object at each wireless node. It hears how many attempts each frame took, and says of each packet whether it may
pass or is dropped (or marked, where the flow uses ECN).
"""

from __future__ import annotations

from collections import deque

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.options.own_code import misnamed
from pacelab.own.bases import LinkLayer
from pacelab.pacer.core.contract import Action, Drop, Event, EventMask, Forward, SegmentSeen, TransmitResult
from pacelab.results.results import RunResult
from pacelab.running.runner import run
from pacelab.schemes import HookSettings, Scheme
from pacelab.sim.own_hooks import OwnCalls
from pacelab.topologies.domain import plain


def run_link_layer(experiment: Experiment, layer: type[LinkLayer]) -> RunResult:
    """Run an experiment (of scheme "newreno") with a link layer of your own at every wireless node.

    Raises UserCodeError, with the traceback, when your code failed or did not return.
    """
    if not (isinstance(layer, type) and issubclass(layer, LinkLayer)):
        raise ConfigError(f"running the link layer {layer!r:.60}: allowed is a subclass of pacelab.LinkLayer")
    return run(experiment, scheme=link_scheme(layer))


def link_scheme(layer: type[LinkLayer]) -> Scheme:
    """The scheme that has this link layer at every wireless node, for one run: a failure stays with it."""
    code = OwnCalls(f"link layer {layer.__name__}")
    return Scheme(
        name=layer.__name__,
        summary="a link layer of one's own",
        source=layer.__module__,
        link=lambda settings: _Hook(code, layer, settings),
        acting=frozenset({"dropped"}),
        raise_failure=code.raise_failure,
        notes=misnamed(layer),
    )


class _Hook:
    """A student's link layer as the engine wants it (see `pacelab.pacer.core.contract.Hook`)."""

    event_mask = EventMask.SEGMENT | EventMask.TRANSMIT

    def __init__(self, code: OwnCalls, made: type[LinkLayer], settings: HookSettings) -> None:
        self._code = code
        self._layer: LinkLayer = code.call(made, settings.stream("own link layer"))
        self._layer.node = settings.node
        self._actions: deque[Action] = deque()
        self._dropped = 0

    def handle(self, now_ns: int, event: Event) -> None:
        self._code.now_ns = now_ns
        if isinstance(event, TransmitResult):
            if event.next_hop is not None:  # a broadcast is never repeated
                self._code.call(self._layer.sent, event.attempts, event.delivered)
        elif isinstance(event, SegmentSeen):
            passes = plain(self._code.call(self._layer.passes))  # numpy's comparisons give its own True
            if not isinstance(passes, bool):
                raise self._code.fail(f"returned {passes!r} from passes(): allowed is True or False")
            self._dropped += not passes
            handle = event.segment.handle
            self._actions.append(Forward(handle) if passes else Drop(handle, "own"))

    def poll_action(self) -> Action | None:
        return self._actions.popleft() if self._actions else None

    def deadline(self) -> tuple[int, str] | None:
        return None

    def handle_timeout(self, now_ns: int) -> None: ...

    def counters(self) -> dict[str, int]:
        return {"dropped": self._dropped}
