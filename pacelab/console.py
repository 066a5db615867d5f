"""Output: results to stdout, everything else to stderr. Progress appears only on a terminal and in a notebook."""

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
"""Columns for tables in files and pipes: enough that no cell is wrapped."""
USUAL_WIDTH = 80
"""The usual width of a terminal."""
NUMBERS_WIDTH = len(" 100% 0:00:00")
"""Width of the percentage and the remaining time. A narrow terminal shows these without the description."""
LEAST_BAR, MOST_BAR = 8, 40
QUIET_S, UPDATE_S = 2.0, 0.5
"""In a notebook: the time before the first progress line, and the time between updates."""
SETUP_SHARE = 0.001
"""Up to this share of the work, time counts as setup (as of real hosts) and not for the remaining time."""


def log(text: str) -> None:
    """Print one line on stderr. Control characters, which a file or a hand-in may have, are escaped."""
    shown = "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode() for char in text
    )
    if sys.stderr is None:  # stderr is closed; `print` would write to stdout
        return
    try:
        print(f"pacelab: {shown}", file=sys.stderr)
    except OSError:
        drop(2)  # a message that cannot be written must not fail the command


def word(text: object) -> str:
    """The text, quoted as one word of a command for a shell or Windows: a path may have spaces."""
    import subprocess

    return subprocess.list2cmdline([str(text)])


def install(package: str) -> str:
    """The command that installs `package` for this Python. It uses uv where Python has no pip, as in tools of uv."""
    python = word(sys.executable)
    way = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f'{way} "{package}"'


def drop(descriptor: int) -> None:
    """Redirect the descriptor to the null device, so that buffered output does not fail again at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


_documents: TextIO | None = None
"""The stream for documents; None: stdout."""


@contextlib.contextmanager
def stdout_for_documents() -> Iterator[None]:
    """Within this context stdout gets only what `print_json` prints; output of user code goes to stderr."""
    global _documents
    if sys.stdout is None:  # stdout is closed
        yield
        return
    _documents, sys.stdout = sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdout, _documents = _documents, None


def print_json(document: JsonObject) -> None:
    """Print the document of `--json` on stdout. NumPy's numbers and arrays become Python's, and a path becomes text.

    Raises ConfigError for a value that JSON cannot represent.
    """
    try:
        text = json.dumps(document, indent=2, allow_nan=False, default=_as_json)
    except (TypeError, ValueError) as error:  # not finite; a key that is not text; a circular reference
        raise ConfigError(f"print_json: {error}; use texts, finite numbers, lists, and mappings") from None
    print(text, file=_documents)


def _as_json(value: Any) -> Any:
    """Convert values that the encoder does not support."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{value!r:.60} has no form in JSON")


def table_width() -> int:
    """The width that `print_table` uses."""
    from rich.console import Console

    on_terminal = sys.stdout is not None and sys.stdout.isatty()  # None: stdout is closed
    return max(USUAL_WIDTH, Console().width) if on_terminal else REDIRECTED_WIDTH


def print_table(table: Table, *, title: str = "") -> None:
    """Print a table with its title on stdout. It has its full width unless stdout is a terminal. On a narrow terminal
    lines wrap, so that no word or number is cut off.
    """
    from rich.console import Console, ConsoleDimensions

    console = Console(markup=False, highlight=False)
    if title:
        console.print(title, soft_wrap=True)
    console.size = ConsoleDimensions(table_width(), console.height)
    console.print(table)


@contextlib.contextmanager
def progress_bar(text: str, *, quiet: bool) -> Iterator[Callable[[float], None]]:
    """A bar on stderr. Yields a function that takes the finished share, 0 to 1. Shows nothing if quiet or
    redirected.
    """
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
def progress_line(
    what: str, told: Callable[..., None] | None, *, show: Callable[[str], None] | None = None
) -> Iterator[Callable[..., None]]:
    """Yields `told`, or a function with the same arguments: (fraction) or (done, total). Without `told`, in a notebook,
    that function shows a line such as "compare: 40 %, about 12 s left" after a while. The line is removed at the end.
    `show` gets the line's text, if a place of the notebook other than the cell's output shows it.
    """
    if told is not None or not _in_notebook():
        yield told or (lambda *_: None)
        return
    line = _Line(what, show)
    try:
        yield line.tell
    except KeyboardInterrupt:
        raise Interrupted(what) from None
    finally:
        line.clear()


class Interrupted(KeyboardInterrupt):
    """Raised by the stop button of a notebook: no result exists, and a traceback through our code would not help."""

    def _render_traceback_(self) -> list[str]:
        return [f"Interrupted: {self} was stopped before its end and gives no result; run the cell again."]


def _in_notebook() -> bool:
    """Whether displayed objects appear in a notebook now."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None and threading.current_thread() is threading.main_thread()


class _Line:
    """The progress line of a notebook."""

    def __init__(self, what: str, show: Callable[[str], None] | None = None) -> None:
        self._what, self._show_elsewhere = what, show
        self._began_s = self._told_s = time.monotonic()
        self._begun = self._began_s, 0.0
        self._shown: Any = None

    def tell(self, done: float, total: float = 1.0) -> None:
        """Show the progress: `done` of `total`."""
        now_s = time.monotonic()
        if done < SETUP_SHARE * total:
            self._begun = now_s, done
        soon = now_s - self._began_s < QUIET_S or now_s - self._told_s < UPDATE_S
        if soon or not 0 < done < total:
            return
        self._told_s = now_s
        begun_s, begun = self._begun
        text = f"{self._what}: {100 * done / total:.0f} %"
        if done > begun:
            text += f", about {_span((now_s - begun_s) * (total - done) / (done - begun))} left"
        self._show(text)

    def clear(self) -> None:
        """Remove the line, at the end or after an interrupt."""
        if self._shown is not None:
            self._show("")

    def _show(self, text: str) -> None:
        if self._show_elsewhere is not None:
            self._shown = text
            self._show_elsewhere(text)
            return
        display = importlib.import_module("IPython.display")
        if self._shown is None:
            self._shown = display.display(display.HTML(text), display_id=True)
        else:
            self._shown.update(display.HTML(text))


def _span(seconds: float) -> str:
    """The duration as text."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


@contextlib.contextmanager
def runs_bar(text: str, *, folder: Path, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar for many runs. Yields a function that takes the finished and the total runs. Interrupted, it says where
    they are.
    """
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
