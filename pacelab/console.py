"""What goes where: results to stdout, everything else to stderr; how far it is only on a terminal and in a notebook."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TextIO

from pacelab.documents import JsonObject
from pacelab.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

REDIRECTED_WIDTH = 200
"""Columns for tables in files and pipes: enough never to fold a cell."""
USUAL_WIDTH = 80
"""Of a terminal."""
NUMBERS_WIDTH = len(" 100% 0:00:00")
"""Of how much is done and what is left: a narrow terminal does without words rather than without these."""
LEAST_BAR, MOST_BAR = 8, 40
PATIENCE_S, EACH_S = 2.0, 0.5
"""In a notebook: how long one waits without a word, and how often the line changes."""
SET_UP = 0.001
"""Up to this share it is set up, as real hosts are: how long that took says nothing of what is left."""


def log(text: str) -> None:
    """One line on stderr. What a file or a hand-in may have put into it moves no cursor."""
    shown = "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode() for char in text
    )
    if sys.stderr is None:  # it is closed; `print` would take stdout
        return
    try:
        print(f"pacelab: {shown}", file=sys.stderr)
    except OSError:
        drop(2)  # what was done is not undone because nobody can be told


def word(text: object) -> str:
    """It as one word of a command to type, of a shell or of Windows: a path may have spaces."""
    import subprocess

    return subprocess.list2cmdline([str(text)])


def install(package: str) -> str:
    """The command that brings `package` to the Python that runs this, by uv where that has no pip, as in uv's tools."""
    python = word(sys.executable)
    way = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f'{way} "{package}"'


def drop(descriptor: int) -> None:
    """Point it nowhere, so that what waits to be written there does not fail again at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


_documents: TextIO | None = None
"""Where documents go; None: to stdout."""


@contextlib.contextmanager
def stdout_for_documents() -> Iterator[None]:
    """Meanwhile stdout has what `print_json` prints and nothing else: what a user's own code prints is on stderr."""
    global _documents
    if sys.stdout is None:  # it is closed
        yield
        return
    _documents, sys.stdout = sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdout, _documents = _documents, None


def print_json(document: JsonObject) -> None:
    """The one document of `--json` on stdout. Numbers and arrays of numpy's are Python's own there, a path is its text.

    Raises ConfigError for what JSON has no form of.
    """
    try:
        text = json.dumps(document, indent=2, allow_nan=False, default=_as_json)
    except (TypeError, ValueError) as error:  # not finite; a key that is no text, or a circle
        raise ConfigError(f"print_json: {error}; use texts, finite numbers, lists, and mappings") from None
    print(text, file=_documents)


def _as_json(value: Any) -> Any:
    """What the encoder does not know by itself."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{value!r:.60} has no form in JSON")


def print_table(table: Table, *, title: str = "") -> None:
    """A table on stdout below its title, as wide as it needs where stdout is no terminal. A narrow one folds the lines
    rather than that words and numbers are cut off.
    """
    from rich.console import Console, ConsoleDimensions

    on_terminal = sys.stdout is not None and sys.stdout.isatty()  # None: it is closed
    console = Console(markup=False, highlight=False, width=None if on_terminal else REDIRECTED_WIDTH)
    if title:
        console.print(title, soft_wrap=True)
    if console.width < USUAL_WIDTH:
        console.size = ConsoleDimensions(USUAL_WIDTH, console.height)
    console.print(table)


@contextlib.contextmanager
def progress_bar(text: str, *, quiet: bool) -> Iterator[Callable[[float], None]]:
    """A bar on stderr; yields what to tell the fraction done, 0..1. Nothing is shown when quiet or redirected."""
    if quiet or not (sys.stderr and sys.stderr.isatty()):
        yield lambda _fraction: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    room = console.width - NUMBERS_WIDTH
    words = TextColumn("{task.description}", markup=False)  # a file's name may have braces and brackets
    shown = [words] if len(text) < room - LEAST_BAR else []
    columns = (*shown, BarColumn(min(MOST_BAR, room - len(shown) * (len(text) + 1))))
    with Progress(*columns, TaskProgressColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(text, total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)


@contextlib.contextmanager
def waited_for(what: str, told: Callable[..., None] | None) -> Iterator[Callable[..., None]]:
    """Yields what is `told` how much is done, as (fraction) or (done, total). Where that is None and this a notebook,
    it writes a line there, as "compare: 40 %, about 12 s left", once it has taken a while; it is gone at the end.
    """
    if told is not None or not _in_notebook():
        yield told or (lambda *_: None)
        return
    line = _Line(what)
    try:
        yield line.tell
    except KeyboardInterrupt:
        raise Interrupted(what) from None
    finally:
        line.clear()


class Interrupted(KeyboardInterrupt):
    """The stop button of a notebook: what was waited for has no end, and where in our code it was says nothing."""

    def _render_traceback_(self) -> list[str]:
        return [f"Interrupted: {self} was stopped before its end and gives no result; run the cell again."]


def _in_notebook() -> bool:
    """Whether what is displayed now appears in a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None and threading.current_thread() is threading.main_thread()


class _Line:
    """How far it is, in a notebook."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began_s = self._told_s = time.monotonic()
        self._begun = self._began_s, 0.0
        self._shown: Any = None

    def tell(self, done: float, total: float = 1.0) -> None:
        """So much is done."""
        now_s = time.monotonic()
        if done < SET_UP * total:
            self._begun = now_s, done
        soon = now_s - self._began_s < PATIENCE_S or now_s - self._told_s < EACH_S
        if soon or not 0 < done < total:
            return
        self._told_s = now_s
        begun_s, begun = self._begun
        text = f"{self._what}: {100 * done / total:.0f} %"
        if done > begun:
            text += f", about {_span((now_s - begun_s) * (total - done) / (done - begun))} left"
        self._show(text)

    def clear(self) -> None:
        """It is over, or was stopped."""
        if self._shown is not None:
            self._show("")

    def _show(self, text: str) -> None:
        display = importlib.import_module("IPython.display")
        if self._shown is None:
            self._shown = display.display(display.HTML(text), display_id=True)
        else:
            self._shown.update(display.HTML(text))


def _span(seconds: float) -> str:
    """So long, in words."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


@contextlib.contextmanager
def runs_bar(text: str, *, folder: Path, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar for many runs; yields what hears runs done and their number. Interrupted, it says where they are kept."""
    reached = (0, 0)

    def note(done: int, total: int) -> None:
        nonlocal reached
        reached = (done, total)
        show(done / total)

    try:
        with progress_bar(text, quiet=quiet) as show:
            yield note
    except BaseException:
        if reached[0] and not quiet:
            log(f"{reached[0]} of {reached[1]} runs are kept in {folder}; repeat the command to continue")
        raise
