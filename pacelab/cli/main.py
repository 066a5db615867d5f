"""The command line: thin over the public functions.

Exit codes: 0 ok, 1 a check failed, 2 usage, 3 the host lacks something, 4 bug, 130 interrupted, by Ctrl-C, SIGTERM or
SIGHUP (`pacelab.__main__`). Errors are one line on stderr; where a user's own code failed its traceback follows.
`--json` puts one document on stdout and everything else on stderr. Rates are Mbit/s here, bit/s elsewhere.

The commands by name: a command's module is loaded when it is called, and `--help` loads none. Other parts bring
commands of their own by the entry point group `pacelab.commands`: they know us, not we them.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import io
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import TyperPath

from pacelab.console import drop, log, stdout_for_documents
from pacelab.errors import HostError, PaceLabError
from pacelab.version import __version__

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "run": ("pacelab.cli.commands:run", "Run one experiment and write its result folder."),
        "rerun": (
            "pacelab.cli.commands:rerun",
            "Run once more what a result folder is of, and say whether the result is the same; exit code 1 if not.",
        ),
        "compare": (
            "pacelab.cli.commands:compare",
            "Compare schemes; every option but --seed also takes a list (A,B), whole numbers a range (1..10).",
        ),
        "lab": (
            "pacelab.cli.commands:lab",
            "Show in three findings what pacing gains, and what it costs.",
        ),
        "schemes": ("pacelab.cli.commands:schemes", "List the schemes, where they act and what they need."),
        "topologies": ("pacelab.cli.commands:topologies", "List the topologies with their options, or show one."),
        "doctor": ("pacelab.cli.commands:doctor", "Show what this host can do, and how to get what is missing."),
        "shell": (
            "pacelab.cli.host_commands:shell",
            "Open Mininet's command line on a topology's real hosts (--backend tap or hwsim; needs root).",
        ),
        "cleanup": (
            "pacelab.cli.host_commands:cleanup",
            "Remove what killed runs on real hosts have left (needs root).",
        ),
        "helper": (
            "pacelab.cli.host_commands:helper",
            "Run plans for members of the group pacelab, so that notebooks reach real hosts without root.",
        ),
        "sweep": (
            "pacelab.cli.instruments:sweep",
            "Run every combination of options (A,B or 1..10), schemes and seeds; can be interrupted and goes on.",
        ),
        "plot": (
            "pacelab.cli.instruments:plot",
            "Draw a sweep or a comparison: means and 95 % intervals; or a run's time series.",
        ),
        "timeline": (
            "pacelab.cli.instruments:timeline",
            "Draw who is on the air when; `--rts both` draws RTS off above RTS on.",
        ),
        "claims": (
            "pacelab.claims.commands:claims",
            "Where the papers' claims stand, and the list of them; --docs writes them with the numbers of full runs.",
        ),
        "reproduce": (
            "pacelab.claims.commands:reproduce",
            "Run a paper's claims and judge them by the bands that were written before; a verdict is no failure.",
        ),
        "report": (
            "pacelab.claims.commands:report",
            "Print the book of claims from what is stored of full runs: report.html (one file) and report.pdf.",
        ),
        "new": (
            "pacelab.user_code.new:new",
            "Write a file of your own that runs as it stands, and a test beside it: new KIND NAME.",
        ),
        "demo": (
            "pacelab.demo.server:demo",
            "Show wireless networks live in a browser. Drag nodes or move sliders, and the simulation runs again.",
        ),
        "gateway": (
            "pacelab.cli.host_commands:gateway",
            "Run a scheme at the gateway between the wired side and the air (root).",
        ),
        "sender": (
            "pacelab.cli.host_commands:sender",
            "Run a scheme at a wireless host that sends, for applications as they are (root).",
        ),
        "relay": (
            "pacelab.cli.host_commands:relay",
            "Run a scheme in front of a node's interface queue, for all that it sends by air (root).",
        ),
        "station": (
            "pacelab.cli.host_commands:station",
            "Run a scheme at a wireless host that is an end of flows, in both directions (root).",
        ),
        "agent": (
            "pacelab.cli.host_commands:agent",
            "Run the agent that the JSON document on standard input says (see `pacelab.emulation.agents.task.Task`).",
        ),
    }
)
"""Name -> module:function, and what help says of it: the first line of its docstring."""
OTHERS: Mapping[str, str] = MappingProxyType(
    {
        "check": "Run the public checks on your own file before you hand it in. Exit code 1 when one fails.",
        "controller": (
            "Run the OpenFlow controller of the wired side: flows, calls, handover; REST and a page on loopback."
        ),
        "grade": "Grade submissions: a report for each, a gradebook and a summary for the class.",
        "update": "Hand out an assignment, or bring what was handed out up to date; your own work is never touched.",
    }
)
"""The same for the entry points that we bring along."""
HIDDEN = ("agent",)
SECTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Run and look": ("lab", "run", "rerun", "compare", "timeline", "demo", "topologies", "schemes", "doctor"),
        "Study": ("new", "sweep", "plot", "claims", "reproduce", "report"),
        "Teach": ("check", "grade", "update"),
        "Real Linux": ("shell", "gateway", "sender", "station", "relay", "controller", "helper", "cleanup"),
    }
)
"""The order of help; commands that others bring follow."""
NO_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "help": "a command's help is COMMAND --help",
        "version": "it is --version",
        r"labs|lab[ _-]?\d.*": "the guided labs are notebooks, which `make notebooks` opens in PaceLab's source",
    }
)
"""What is asked for like a command and is none, and where it is: a name that is like it would lead elsewhere."""


class LazyGroup(TyperGroup):
    """Knows the names of its commands, and loads the one that is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names, in the order of help."""
        return [*COMMANDS, *_brought()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """What help shows of a command: name and line."""
        if cmd_name in COMMANDS:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name][1], hidden=cmd_name in HIDDEN)
        if cmd_name in _brought():
            return TyperCommand(cmd_name, help=OTHERS.get(cmd_name) or _first_line(_brought()[cmd_name].load()))
        return None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The sections of help."""
        listed = [name for names in SECTIONS.values() for name in names]
        others = tuple(name for name in self.list_commands(ctx) if name not in listed and name not in HIDDEN)
        for title, names in {**SECTIONS, "More": others}.items():
            rows = [(name, found.help) for name in names if (found := self.get_command(ctx, name)) is not None]
            _section(formatter, title, rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, loaded; one that is not there with what it is like."""
        if args and args[0] not in COMMANDS and args[0] not in (names := self.list_commands(ctx)):
            for what, hint in NO_COMMANDS.items():
                if re.fullmatch(what, args[0], re.IGNORECASE):
                    ctx.fail(f"No such command {args[0]!r}: {hint}")
            for like in difflib.get_close_matches(args[0], names, n=1):
                ctx.fail(f"No such command {args[0]!r}: did you mean {like!r}?")
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and load_command(str(name)), rest


class PlainCommand(TyperCommand):
    """Its help has a section for each kind of option; what would be read otherwise than it was meant is refused."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option given twice, of which one would be lost, and a path without a name: a variable was unset."""
        parser: Any = self.make_parser(ctx)
        given, _, order = parser.parse_args(args=list(args))
        for parameter in dict.fromkeys(order if not given.get("help") else ()):
            name = parameter.opts[-1] if parameter.param_type_name == "option" else parameter.human_readable_name
            value = given.get(parameter.name)
            if order.count(parameter) > 1 and not parameter.multiple and not parameter.is_flag:
                ctx.fail(
                    f"{name} is given {order.count(parameter)} times; give it once, with a list A,B if the option "
                    "accepts lists"
                )
            for path in _paths(parameter, value):
                if path in ("", "-"):
                    hint = "write ./- for a file called -" if path else "perhaps a shell variable is unset"
                    ctx.fail(f"{name} must be the path of a file or folder, not {path!r}; {hint}")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Options by their panel, in the order in which they were declared."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if (row := parameter.get_help_record(ctx)) is not None:
                panels.setdefault(getattr(parameter, "rich_help_panel", None) or "Options", []).append(row)
        for title, rows in panels.items():
            _section(formatter, title, rows)


def _paths(parameter: Any, value: Any) -> list[Any]:
    """What was given for it as paths."""
    if not isinstance(parameter.type, TyperPath):
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def load_command(name: str) -> Any:
    """The whole command called `name`."""
    if name in COMMANDS:
        module, _, function = COMMANDS[name][0].partition(":")
        call = getattr(importlib.import_module(module), function)
    else:
        call = _brought()[name].load()
    one = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    one.command(name, cls=PlainCommand)(call)
    return typer.main.get_command(one)


def _section(formatter: Any, title: str, rows: list[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)


def _brought() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # a tenth of a short run's CPU, which calls none of these

    return {point.name: point for point in entry_points(group="pacelab.commands")}


def _first_line(call: Any) -> str:
    return (call.__doc__ or "").partition("\n")[0]


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
    """The message of a usage error, and the command whose help lists the options. Typer omits it for some errors."""
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
    return f"{text}{'' if text.endswith('?') else ';'} `{where} --help` lists the options"
