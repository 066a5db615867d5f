"""Loads the Rust extension module `pacelab_medium`, and joins capture files with it."""

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
    """Join pcap files with nanosecond timestamps into one pcapng file, ordered by time, with one named interface per
    file.

    An incomplete record at the end of a file is left out. Raises ProtocolError for another kind of file.
    """
    try:
        joined: bytes = load_engine().join_captures(captures)
    except ValueError as error:
        raise ProtocolError(f"the capture files of tcpdump cannot be merged: {error}") from None
    return joined
