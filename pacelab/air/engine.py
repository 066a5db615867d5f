"""Back end `sim`, and the door to its Rust engine: JSON in, JSON out, its errors turned into ours.

The engine runs in virtual time, with the scheme's hooks in this process. It joins capture files, too.

Ctrl-C during a run, and a caller's alarm, are noted when they come and raised where the run can stop: a
KeyboardInterrupt raised at any instruction could hit an algorithm in the middle of a packet and would look like its
failure. So the signal only sets a mark; the run looks at it between events. A second Ctrl-C raises at once, for an
algorithm that never returns. So it is with the timers by which callers limit a run's time: an exception of their
handler's in the midst of a long integer's product, where Python looks for signals, would end the whole process, since
compiled code takes it for a lack of memory.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from pacelab.air.own_hooks import forgetful_hooks, guard, misnamed_hooks, refuse_failed
from pacelab.errors import ConfigError, HostError, ProtocolError
from pacelab.experiment.air_config import compile_air
from pacelab.options.own_code import digest_of, misnamed
from pacelab.options.table import CONTROLS
from pacelab.results.results import Outcome, Progress
from pacelab.schemes import Attachment
from pacelab.units import ns_from_s
from pacelab_topologies.own_running import shared_draws

if TYPE_CHECKING:
    from pacelab.experiment.experiment import Experiment
    from pacelab.results.folder import PcapFile
    from pacelab.schemes import Scheme


MEND = "run `make lab` in the source tree, or install a wheel for this machine: README.md says which there are"


def run_air(
    air: dict[str, Any],
    attachments: Sequence[Attachment],
    on_progress: Progress,
    on_capture: Callable[[bytes], None] | None = None,
    make_control: Callable[[str, int, int], object] | None = None,
) -> dict[str, Any]:
    """Run one air configuration with its hooks; returns the engine's result, version 1.

    `on_capture` is given the capture file if the configuration asks for one; `make_control` makes each TCP flow's
    congestion control of one's own.
    Raises ConfigError when the engine refuses the configuration, HostError when there is no engine.
    """
    medium = load_engine()
    hooks = [(item.node, item.hook, "link" if item.point == "link" else "node") for item in attachments]
    try:
        with deferred_alarms() as stop_if_alarmed, deferred_interrupts() as stop_if_interrupted:

            def tell(fraction: float) -> None:
                stop_if_interrupted()
                stop_if_alarmed()
                on_progress(fraction)

            text: str = medium.run(json.dumps(air, allow_nan=False), hooks, tell, on_capture, make_control)
    except ValueError as error:
        raise ConfigError(f"the air engine refused the configuration: {error}") from error
    result: dict[str, Any] = json.loads(text)
    return result


def join_captures(captures: Sequence[tuple[str, bytes]]) -> bytes:
    """A pcapng file of pcap files of nanoseconds, each an interface of this name, ordered by time.

    A record that was cut off at a file's end is left out. Raises ProtocolError for what is no such file.
    """
    try:
        joined: bytes = load_engine().join_captures(captures)
    except ValueError as error:
        raise ProtocolError(f"joining what tcpdump wrote: {error}") from None
    return joined


def load_engine() -> Any:
    """The extension module `pacelab_medium`."""
    try:
        return importlib.import_module("pacelab_medium")
    except ImportError as error:
        raise HostError(f"loading the air engine: {error}; {MEND}") from None


INTERRUPTS = ("SIGINT", "SIGTERM", "SIGHUP")
TIMERS = ("SIGALRM", "SIGVTALRM", "SIGPROF")
"""Not on Windows."""


@contextlib.contextmanager
def deferred_alarms() -> Iterator[Callable[[], None]]:
    """Yields what to call where it is safe to stop: it calls the caller's handlers of the timers that have run down.

    A second time, before that, calls the handler at once. Leaves alone what nobody handles, and all of it outside the
    main thread.
    """
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (getattr(signal, name, None) for name in TIMERS):
            handler = None if number is None else signal.getsignal(number)
            if number is not None and callable(handler):
                handlers[number] = handler
    rung: dict[int, FrameType | None] = {}

    def note(number: int, frame: FrameType | None) -> None:
        if number in rung:
            handlers[number](number, frame)
        rung[number] = frame

    def check() -> None:
        while rung:
            number, frame = rung.popitem()
            handlers[number](number, frame)

    for number in handlers:
        signal.signal(number, note)
    try:
        yield check
        check()
    finally:
        for number, handler in handlers.items():
            if signal.getsignal(number) is note:  # else it was set anew meanwhile
                signal.signal(number, handler)


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[Callable[[], None]]:
    """Yields what to call where it is safe to stop: it raises KeyboardInterrupt once Ctrl-C was pressed.

    So it is with what else ends a command as Ctrl-C does. Leaves them alone outside the main thread and where somebody
    else handles them.
    """
    main = threading.current_thread() is threading.main_thread()
    known = [getattr(signal, name) for name in INTERRUPTS if hasattr(signal, name)]
    ours = [number for number in known if main and signal.getsignal(number) is signal.default_int_handler]
    if not ours:
        yield _never
        return
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    for number in ours:
        signal.signal(number, note)
    try:
        yield check
        check()
    finally:
        for number in ours:
            signal.signal(number, signal.default_int_handler)


def _never() -> None:
    """Ctrl-C is not ours to handle."""


# The back end.


class Sim:
    """The engine in virtual time, the scheme's hooks in this process. Every experiment runs here."""

    real_time = False

    def run(
        self,
        experiment: Experiment,
        scheme: Scheme,
        *,
        on_progress: Progress,
        pcap: PcapFile | None,
    ) -> Outcome:
        """See `Backend.run`."""
        air = compile_air(experiment)
        if pcap is not None:
            pcap.check()
            air["capture"] = pcap.air_key()
        return run_scheme(air, experiment, scheme, on_progress, None if pcap is None else pcap.write)


def run_scheme(
    air: dict[str, Any],
    experiment: Experiment,
    scheme: Scheme,
    on_progress: Progress = lambda _fraction: None,
    on_capture: Callable[[bytes], None] | None = None,
) -> Outcome:
    """Run an air configuration of the experiment with the hooks of this scheme.

    Raises UserCodeError, with the place, as soon as hooks of one's own have failed; else as `run_air`.
    """
    make_control = None
    misnamed_control: tuple[str, ...] = ()
    if experiment.cc not in CONTROLS:
        from pacelab.air.congestion import control_maker, load_control

        control = load_control(experiment.cc)
        digest = digest_of("--cc", experiment.cc.rpartition(":")[0])
        experiment.check_unchanged({**experiment.own_files, "cc_sha256": digest})
        make_control = control_maker(experiment.cc, control)
        misnamed_control = misnamed(control)
    with shared_draws(experiment.seed):
        attached = scheme.attach(experiment.network, experiment.hook_settings)
        attachments, raise_failure = guard(scheme, attached)
        notes = [*scheme.notes, *misnamed_hooks(scheme, attached), *misnamed_control]

        def hear(fraction: float) -> None:
            on_progress(fraction)
            raise_failure()

        result = run_air(air, attachments, hear, on_capture, make_control)
        raise_failure()
        points = tuple(attachment.point for attachment in attachments)
        if scheme.raise_failure is None:
            refuse_failed(scheme, points, result["hooks"])
        notes += forgetful_hooks(scheme, attachments, ns_from_s(result["end_s"]))
        return Outcome(air=result, points=points, notes=tuple(notes))
