"""The Rust extension module `pacelab_medium`: loading it, and joining capture files with it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from pacelab.errors import HostError, ProtocolError

REMEDY = "run `make lab` in the source tree, or install a wheel for this machine: README.md says which there are"


def load_engine() -> Any:
    """The extension module `pacelab_medium`."""
    try:
        return importlib.import_module("pacelab_medium")
    except ImportError as error:
        raise HostError(f"loading the air engine: {error}; {REMEDY}") from None


def join_captures(captures: Sequence[tuple[str, bytes]]) -> bytes:
    """A pcapng file of pcap files of nanoseconds, each an interface of this name, ordered by time.

    A record that was cut off at a file's end is left out. Raises ProtocolError for what is no such file.
    """
    try:
        joined: bytes = load_engine().join_captures(captures)
    except ValueError as error:
        raise ProtocolError(f"joining what tcpdump wrote: {error}") from None
    return joined
