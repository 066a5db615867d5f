"""The command line: thin over the public functions.

Exit codes: 0 ok, 1 a check failed, 2 usage, 3 the host lacks something, 4 bug, 130 interrupted, by Ctrl-C, SIGTERM or
SIGHUP (`pacelab.__main__`). Errors are one line on stderr; where a user's own code failed its traceback follows.
`--json` puts one document on stdout and everything else on stderr. Rates are Mbit/s here, bit/s elsewhere.
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated

import typer

from pacelab import __version__
from pacelab.cli.lazy import COMMANDS, OTHERS, LazyGroup
from pacelab.console import drop, log, stdout_for_documents
from pacelab.errors import HostError, PaceLabError

RUN_OWN = ("run", "rerun", "compare", "sweep", "timeline", "topologies", "reproduce")
"""Commands that run files of a user's own, which may print."""
DASHES = "-\N{EN DASH}\N{EM DASH}"
"""Also those that a word processor makes of --."""
ONE_DASH = re.compile(rf"(-|[{DASHES[1:]}]+)[a-z]{{2}}")
"""A long option as it is written elsewhere."""
OK, BUG, INTERRUPTED = 0, PaceLabError.exit_code, 130

app = typer.Typer(
    cls=LazyGroup,
    help="TCP over multihop 802.11, and what pacing does for it.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the rich one takes longer to load than a run takes
)

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""Typer's base of all complaints about a command line; typer itself does not export it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± still gets its table
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        apart = "--json" in words and "--help" not in words and words[0] in RUN_OWN
        with stdout_for_documents() if apart else nullcontext():
            code: int | None = app(words, prog_name="pacelab", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        return _fail("interrupted", INTERRUPTED) if code == INTERRUPTED else code or OK
    except PaceLabError as error:
        return _fail(str(error), error.exit_code, one_line=error.one_line)
    except UsageError as error:
        return _fail(_usage_line(error, words), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", INTERRUPTED)
    except OSError as error:
        drop(1)
        if error.errno == errno.EPIPE:
            return OK  # the reader, say `head`, has had enough
        return _fail(_system_line(error), HostError.exit_code)
    except Exception as error:
        traceback.print_exc()
        if isinstance(error, ImportError) and (others := os.environ.get("PYTHONPATH")):
            told = f"{error}: modules in PYTHONPATH ({others}) come before those that were installed with it"
            return _fail(f"{told}: try again after `unset PYTHONPATH`", HostError.exit_code)
        return _fail(f"this is a bug ({type(error).__name__}: {error}): please report it with the lines above", BUG)


@app.callback(invoke_without_command=True)
def common(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="print the version")] = False
) -> None:
    """TCP over multihop 802.11, and what pacing does for it."""
    if version:
        print(f"pacelab {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:  # Typer's `no_args_is_help` raises the help as an error
        print(context.get_help())


def _fail(said: str, code: int, *, one_line: bool = True) -> int:
    log(" ".join(said.split()) if one_line else said)
    return code


def _system_line(error: OSError) -> str:
    """What the system refused that nobody foresaw."""
    if error.filename is not None:
        return f"{error.filename!r}: {error.strerror or error}"
    if error.errno == errno.ENOENT:  # of the current folder alone nobody says a name
        return "the current folder is not there any more: change into another one"
    return f"writing the output: {error.strerror or error}"


def _usage_line(error: Exception, words: Sequence[str]) -> str:
    """The complaint, and whose help has what is allowed; of some, Typer does not say of which command they are."""
    format_message = getattr(error, "format_message", None)
    text = format_message() if format_message else str(error)
    text = text.rstrip(".")
    if text.startswith("No such option") and any(word.endswith(".py") for word in words):
        text += "; those of your own topology are set by --set NAME=VALUE"
    elif one_dash := next((word for word in words if ONE_DASH.match(word) and word[:2] in text), None):
        text += f": did you mean --{one_dash.lstrip(DASHES)}?"
    context = getattr(error, "ctx", None)
    known = words[:1] if words[:1] and words[0] in (*COMMANDS, *OTHERS) else []
    where = context.command_path if context else " ".join(["pacelab", *known])
    return f"{text}{'' if text.endswith('?') else ';'} `{where} --help` lists what is allowed"
