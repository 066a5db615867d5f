"""The command line: a thin layer over the public functions.

Exit codes: 0 ok, 1 a check failed, 2 usage, 3 the host lacks something, 4 bug, 130 interrupted, by Ctrl-C, SIGTERM or
SIGHUP (`pacelab.__main__`). An error is one line on stderr; the traceback of failed user code follows the line.
`--json` puts one document on stdout and everything else on stderr. Rates are Mbit/s here, bit/s elsewhere.

A command's module is loaded only when the command is called, so `--help` is fast. Other packages add commands through
the entry point group `pacelab.commands`: they import pacelab, and pacelab does not import them.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import inspect
import io
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from pacelab.console import drop, log, stdout_for_documents
from pacelab.errors import HostError, PaceLabError
from pacelab.parameters import callback_of, parameters_of
from pacelab.version import __version__

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "run": ("pacelab.cli.commands:run", "Run one experiment and write its result folder."),
        "rerun": (
            "pacelab.cli.commands:rerun",
            "Repeat a stored run and report whether the result is identical. The exit code is 1 if it differs.",
        ),
        "compare": (
            "pacelab.cli.commands:compare",
            "Compare schemes with several seeds. Every option except --seed accepts a list (A,B) or a range (1..10).",
        ),
        "lab": (
            "pacelab.cli.commands:lab",
            "Show in three findings what pacing gains, and what it costs.",
        ),
        "schemes": ("pacelab.cli.commands:schemes", "List the schemes with their hook points and requirements."),
        "topologies": (
            "pacelab.cli.commands:topologies",
            "List the topologies with their options, or show one topology.",
        ),
        "doctor": (
            "pacelab.cli.commands:doctor",
            "Show which features work on this host, and how to install the missing ones.",
        ),
        "shell": (
            "pacelab.cli.host_commands:shell",
            "Open Mininet's command line on a topology's real hosts (--backend tap or hwsim; needs root).",
        ),
        "cleanup": (
            "pacelab.cli.host_commands:cleanup",
            "Clean up after killed runs on real hosts (needs root).",
        ),
        "helper": (
            "pacelab.cli.host_commands:helper",
            "Serve the members of the group pacelab, so that notebooks use real hosts without root.",
        ),
        "sweep": (
            "pacelab.cli.instruments:sweep",
            "Run every combination of options (A,B or 1..10), schemes, and seeds. Repeat the command to continue a "
            "sweep.",
        ),
        "plot": (
            "pacelab.cli.instruments:plot",
            "Draw the means and 95 % intervals of a sweep or comparison, or the time series of a run.",
        ),
        "timeline": (
            "pacelab.cli.instruments:timeline",
            "Draw which station sends when. `--rts both` draws RTS off above RTS on.",
        ),
        "claims": (
            "pacelab.claims.commands:claims",
            "List the papers' claims and their verdicts. --docs writes a page with the numbers of full runs.",
        ),
        "reproduce": (
            "pacelab.claims.commands:reproduce",
            "Run a paper's claims and judge them against bands fixed in advance. The exit code is 0 whatever the "
            "verdict.",
        ),
        "report": (
            "pacelab.claims.commands:report",
            "Write the book of claims from the stored results of full runs: report.html.",
        ),
        "new": (
            "pacelab.cli.new:new",
            "Write a working example of a KIND of code (cc, pacer, ...) that you can edit, and a test of it.",
        ),
        "demo": (
            "pacelab.cli.demo_command:demo",
            "Show wireless networks live in a browser. Drag nodes or move sliders, and the simulation runs again.",
        ),
        "gateway": (
            "pacelab.cli.host_commands:gateway",
            "Run a scheme at the gateway between the wired side and the air (needs root).",
        ),
        "sender": (
            "pacelab.cli.host_commands:sender",
            "Run a scheme at a sending wireless host, for unchanged applications (needs root).",
        ),
        "relay": (
            "pacelab.cli.host_commands:relay",
            "Run a scheme in front of a node's wireless interface queue (needs root).",
        ),
        "station": (
            "pacelab.cli.host_commands:station",
            "Run a scheme at a wireless host, in both directions of its flows (needs root).",
        ),
        "agent": (
            "pacelab.cli.host_commands:agent",
            "Run the agent that a JSON document on standard input describes (see "
            "`pacelab.emulation.agents.task.Task`).",
        ),
    }
)
"""Name -> module:function, and the first line of its docstring, which is its help."""
OTHERS: Mapping[str, str] = MappingProxyType(
    {
        "check": "Run the public checks on your own file before you hand it in. Exit code 1 if one fails.",
        "controller": (
            "Run the OpenFlow controller of the wired side. It serves a REST API and a web page on 127.0.0.1."
        ),
        "grade": "Grade submissions: a report for each, a gradebook and a summary for the class.",
        "update": "Hand out an assignment, or update what was handed out. Your own work is never changed.",
    }
)
"""The help of the commands of our own products, which are found through entry points."""
HIDDEN = ("agent",)
SECTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Run and look": ("lab", "run", "rerun", "compare", "timeline", "demo", "topologies", "schemes", "doctor"),
        "Study": ("new", "sweep", "plot", "claims", "reproduce", "report"),
        "Teach": ("check", "grade", "update"),
        "Real Linux": ("shell", "gateway", "sender", "station", "relay", "controller", "helper", "cleanup"),
    }
)
"""The commands in the order of help. Commands of other packages follow."""
NO_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "help": "use COMMAND --help",
        "version": "use --version",
        r"labs|lab[ _-]?\d.*": "the guided labs are notebooks; run `make notebooks` in the source folder",
    }
)
"""Words that users try as commands, and where to find what they want. A similar command name would mislead."""

SYNONYMS: Mapping[str, str] = MappingProxyType({"--duration": "--seconds", "--time": "--seconds"})
"""Flags of iperf3 and other programs -> our flag."""


TOPOLOGY_PANEL = "Topology"
"""The section of help with the options of topologies."""
WORDS = "pacelab.words"
"""The words of the command line, in the context of a command."""


class LazyGroup(click.Group):
    """A group that knows the names of its commands and loads only the command that is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order of help."""
        return [*COMMANDS, *_brought()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A stand-in with the name and the help line of a command."""
        if cmd_name in COMMANDS:
            return click.Command(cmd_name, help=COMMANDS[cmd_name][1], hidden=cmd_name in HIDDEN)
        if cmd_name in _brought():
            return click.Command(cmd_name, help=OTHERS.get(cmd_name) or _first_line(_brought()[cmd_name].load()))
        return None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The sections of help."""
        listed = [name for names in SECTIONS.values() for name in names]
        others = tuple(name for name in self.list_commands(ctx) if name not in listed and name not in HIDDEN)
        for title, names in {**SECTIONS, "More": others}.items():
            rows = [(name, found.help) for name in names if (found := self.get_command(ctx, name)) is not None]
            _section(formatter, title, rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command that is called. The error about an unknown command names the most similar one."""
        if args and args[0] not in COMMANDS and args[0] not in (names := self.list_commands(ctx)):
            for what, hint in NO_COMMANDS.items():
                if re.fullmatch(what, args[0], re.IGNORECASE):
                    ctx.fail(f"No such command {args[0]!r}: {hint}")
            for like in difflib.get_close_matches(args[0], names, n=1):
                ctx.fail(f"No such command {args[0]!r}: did you mean {like!r}?")
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and load_command(str(name)), rest


class PlainCommand(click.Command):
    """A command whose help has sections, and which refuses ambiguous arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that is given twice, and an empty path, which comes from an unset shell variable."""
        args = [self._standard_name(word) for word in args]
        ctx.meta[WORDS] = tuple(args)
        parser: Any = self.make_parser(ctx)
        given, _, order = parser.parse_args(args=list(args))
        asked_for_help = any(given.get(option.name) for option in [self.get_help_option(ctx)] if option is not None)
        for parameter in dict.fromkeys(() if asked_for_help else order):
            name = parameter.opts[-1] if parameter.param_type_name == "option" else parameter.human_readable_name
            value = given.get(parameter.name)
            if order.count(parameter) > 1 and not parameter.multiple and not parameter.is_flag:
                form = "as NAME=VALUE,NAME=VALUE" if name == "--set" else "with a list A,B if the option accepts lists"
                ctx.fail(f"{name} is given {order.count(parameter)} times; give it once, {form}")
            for path in _paths(parameter, value):
                if path in ("", "-"):
                    hint = "write ./- for a file called -" if path else "perhaps a shell variable is unset"
                    ctx.fail(f"{name} must be the path of a file or folder, not {path!r}; {hint}")
        return super().parse_args(ctx, args)

    def _standard_name(self, word: str) -> str:
        """The option's own flag for a synonym of it (see `SYNONYMS`)."""
        flag, equals, value = word.partition("=")
        flags = [name for parameter in self.params for name in parameter.opts]
        wanted = SYNONYMS.get(flag)
        return f"{wanted}{equals}{value}" if wanted in flags and flag not in flags else word

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options by panel, in the order of their declaration; with a topology, only those that it has."""
        panels: dict[str, list[tuple[str, str]]] = {}
        known = self._options_of_topology(ctx)
        for parameter in self.get_params(ctx):
            if not isinstance(parameter, click.Option):
                continue
            panel = getattr(parameter, "panel", "Options")
            if known is not None and panel == TOPOLOGY_PANEL:
                text = known.get(parameter.name or "")
                if text is None:
                    continue
                parameter.help = text
            if (row := parameter.get_help_record(ctx)) is not None:
                panels.setdefault(panel, []).append(row)
        for title, rows in panels.items():
            _section(formatter, title, rows)

    def _options_of_topology(self, ctx: Any) -> Mapping[str, str] | None:
        """Name and help of the options of the topology that the command line names; None if it names none."""
        words = ctx.meta.get(WORDS, ())
        if not any(getattr(parameter, "panel", None) == TOPOLOGY_PANEL for parameter in self.params):
            return None
        from pacelab.cli.options import of_topology
        from pacelab_topologies.registry import KINDS

        named = next((word for word in words if word in KINDS), None)
        return None if named is None else of_topology(named)


def _paths(parameter: Any, value: Any) -> list[Any]:
    """The values of a parameter that is a path."""
    if not isinstance(parameter.type, click.Path):
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def load_command(name: str) -> Any:
    """The complete command called `name`."""
    if name in COMMANDS:
        module, _, function = COMMANDS[name][0].partition(":")
        call = getattr(importlib.import_module(module), function)
    else:
        call = _brought()[name].load()
    return PlainCommand(
        name,
        callback=callback_of(call),
        params=parameters_of(call),
        help=inspect.getdoc(call),
        context_settings=HELP,
    )


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
"""Commands that run user code, which may print."""
DASHES = "-\N{EN DASH}\N{EM DASH}"
"""Dashes, including those that a word processor makes of --."""
ONE_DASH = re.compile(rf"(-|[{DASHES[1:]}]+)[a-z]{{2}}")
"""A long option with one dash, as other programs write it."""
OK, BUG, INTERRUPTED = 0, PaceLabError.exit_code, 130
HELP = {"help_option_names": ["--help", "-h"]}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± still gets its table
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        apart = "--json" in words and not {"--help", "-h"} & set(words) and words[0] in RUN_OWN
        with stdout_for_documents() if apart else nullcontext():
            code = _call(words)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except PaceLabError as error:
        return _fail(str(error), error.exit_code, one_line=error.one_line)
    except click.UsageError as error:
        return _fail(_usage_line(error, words), 2)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", INTERRUPTED)
    except OSError as error:
        drop(1)
        if error.errno == errno.EPIPE:
            return OK  # the reader, for example `head`, has closed the pipe
        return _fail(_system_line(error), HostError.exit_code)
    except Exception as error:
        traceback.print_exc()
        if isinstance(error, ImportError) and (others := os.environ.get("PYTHONPATH")):
            told = f"{error}: modules in PYTHONPATH ({others}) hide the installed ones"
            return _fail(f"{told}; try again after `unset PYTHONPATH`", HostError.exit_code)
        return _fail(f"this is a bug ({type(error).__name__}: {error}); please report it with the lines above", BUG)


def _call(words: list[str]) -> int:
    """Call the command. `Command.main` would write an empty line when it is interrupted."""
    try:
        with app.make_context("pacelab", list(words)) as context:
            app.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return OK


@click.group(
    cls=LazyGroup,
    help="TCP over multihop 802.11, and what pacing does for it.",
    invoke_without_command=True,
    context_settings=HELP,
)
@click.option("--version", is_flag=True, help="print the version")
@click.pass_context
def app(context: click.Context, version: bool) -> None:
    """All commands. Without one, the help."""
    if version:
        print(f"pacelab {__version__}")
        context.exit()
    if context.invoked_subcommand is None:  # `no_args_is_help` raises the help as an error
        print(context.get_help())


def _fail(said: str, code: int, *, one_line: bool = True) -> int:
    log(" ".join(said.split()) if one_line else said)
    return code


def _system_line(error: OSError) -> str:
    """The message of an unexpected system error."""
    if error.filename is not None:
        return f"{error.filename!r}: {error.strerror or error}"
    if error.errno == errno.ENOENT:  # the error about a removed current folder has no file name
        return "the current folder no longer exists; change to another one"
    return f"writing the output: {error.strerror or error}"


def _is_about(text: str, word: str) -> bool:
    """Whether an error is about `word`. The parser reads `-hops` as `-h -o -p -s`, and its error names `-o`."""
    return word[:2] in text or (
        text.startswith("No such option") and text[-2:] in {f"-{letter}" for letter in word[2:]}
    )


def _closest(name: str, possibilities: Sequence[str]) -> Sequence[str]:
    """The options that may be meant: if some of them begin with what was typed, only these."""
    return [each for each in possibilities if each.startswith(name)] or possibilities


def _to_add(parameter: click.Parameter) -> str:
    """The end of the message about a missing parameter."""
    if isinstance(parameter, click.Option):
        return f"; add {parameter.opts[-1]} {parameter.make_metavar(click.Context(app))}"
    if parameter.human_readable_name == "TOPOLOGY":
        return "; give a name that `pacelab topologies` lists, or a file"
    said = (getattr(parameter, "help", None) or "").partition(";")[0]
    return f"; {'' if said.startswith('see ') else 'give '}{said}"


def _range_line(option: click.Option, said: str) -> str:
    """What a number must be. Empty if the error is about something else."""
    value = re.match(r"('.*'|\S+) is not (?:in the range|a valid (?:integer|float))", said)
    if value is None:
        return ""
    what = "a number" if option.type is click.FLOAT else "a whole number"
    if isinstance(option.type, click.IntRange):
        what += f" from {option.type.min} to {option.type.max}"
    return f"{option.opts[-1]} must be {what}, not {value[1]}"


def _form_of(text: str) -> str:
    """A message of Click's in the form of ours: what is wrong; what to do."""
    for pattern, form in CLICK_MESSAGES.items():
        text = re.sub(pattern, form, text)
    return text


CLICK_MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        r"^Got unexpected extra arguments? \((.*)\)$": r"Unexpected argument '\1'; remove it",
        r"^Option '(.*)' requires an argument$": r"\1 needs a value; add it after \1",
        r"^Option '(.*)' does not take a value$": r"\1 takes no value; write \1 alone",
    }
)


def _usage_line(error: Exception, words: Sequence[str]) -> str:
    """The message of a usage error, and the command whose help lists the options. Click omits it for some errors."""
    format_message = getattr(error, "format_message", None)
    text = format_message() if format_message else str(error)
    text = text.rstrip(".")
    if isinstance(error, click.NoSuchOption):
        text = f"No such option: {error.option_name}"
        if any(word.endswith(".py") for word in words):
            text += "; use --set NAME=VALUE for an option of your own topology"
        elif meant := _closest(error.option_name, error.possibilities or ()):
            text += f"; did you mean {' or '.join(meant)}?"
    elif isinstance(error, click.MissingParameter) and error.param is not None:
        text += _to_add(error.param)
    elif isinstance(error, click.BadParameter) and isinstance(error.param, click.Option):
        text = _range_line(error.param, error.message) or text
    else:
        text = _form_of(text)
    if one_dash := next((word for word in words if ONE_DASH.match(word) and _is_about(text, word)), None):
        text += f"; did you mean --{one_dash.lstrip(DASHES)}?"
    context = getattr(error, "ctx", None)
    known = words[:1] if words[:1] and words[0] in (*COMMANDS, *OTHERS) else []
    where = context.command_path if context else " ".join(["pacelab", *known])
    what = "commands" if where == "pacelab" else "options"
    return f"{text}{'' if text.endswith('?') else ';'} `{where} --help` lists the {what}"
