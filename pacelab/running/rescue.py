"""What was computed is not lost for want of a place, nor by a Ctrl-C while it is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pacelab.console import log
from pacelab.errors import PaceLabError
from pacelab.sim.interrupt import deferred_interrupts


def write_safely(write: Callable[[Path | None], Path], out: Path | None) -> Path:
    """`write(out)`, for which Ctrl-C waits; then a line says where the results are. Where `out` takes them no more,
    they go to a fresh folder under runs/, and the error says so.
    """
    folder: Path | None = None
    try:
        with deferred_interrupts():
            folder = _write_somewhere(write, out)
    except KeyboardInterrupt:
        if folder is not None:
            log(f"results in {folder}")
        raise
    return folder


def _write_somewhere(write: Callable[[Path | None], Path], out: Path | None) -> Path:
    try:
        return write(out)
    except PaceLabError as error:
        if out is None:
            raise
        try:
            folder = write(None)
        except PaceLabError:
            raise error from None
        raise type(error)(f"{error}; the results are in {folder}") from None
