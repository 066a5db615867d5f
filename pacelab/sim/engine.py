"""The door to the Rust engine: JSON in, JSON out, its errors turned into ours. And to its joining of capture files."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from pacelab.errors import ConfigError, HostError, ProtocolError
from pacelab.results.outcome import Progress
from pacelab.schemes import Attachment
from pacelab.sim.interrupt import deferred_alarms, deferred_interrupts

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
    """The extension module `pacelab._medium`."""
    try:
        return importlib.import_module("pacelab._medium")
    except ImportError as error:
        raise HostError(f"loading the air engine: {error}; {MEND}") from None
