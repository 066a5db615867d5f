"""How much of a cell's work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pacelab.console import progress_line

Item = TypeVar("Item")

_places: list[Callable[[str], None]] = []
"""Where the line is shown if not in the cell's output."""


def progress(items: Iterable[Item]) -> Iterator[Item]:
    """The items in their order. In a notebook, a line shows which share of them is done, and about how long the others
    take.
    """
    return _one_by_one(list(items))


def _one_by_one(items: list[Item]) -> Iterator[Item]:
    with progress_line("this cell", None, show=_places[-1] if _places else None) as tell:
        for done, item in enumerate(items):
            tell(done, len(items))
            yield item


@contextmanager
def progress_shown_by(show: Callable[[str], None]) -> Iterator[None]:
    """Within this context `show` gets the text of the line, in place of the cell's output."""
    _places.append(show)
    try:
        yield
    finally:
        _places.pop()
