"""The commands by name: a command's module is loaded when it is called, and `--help` loads none.

Other parts bring commands of their own by the entry point group `pacelab.commands`: they know us, not we them.
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import TyperPath

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "run": ("pacelab.cli.commands:run", "Run one experiment and write its result folder."),
        "rerun": (
            "pacelab.cli.rerun:rerun",
            "Run once more what a result folder is of, and say whether the result is the same; exit code 1 if not.",
        ),
        "compare": (
            "pacelab.cli.commands:compare",
            "Compare schemes; every option but --seed also takes a list (A,B), whole numbers a range (1..10).",
        ),
        "lab": (
            "pacelab.cli.commands:lab",
            "Compare NewReno, TCP-GAP and Link RED on chains of 1 to 10 hops, up and down, static and AODV.",
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
            "pacelab.own.new:new",
            "Write a file of your own that runs as it stands, and a test beside it: new KIND NAME.",
        ),
        "demo": (
            "pacelab.demo.command:demo",
            "Show the air live in a browser: drag nodes, move sliders, and the engine runs again.",
        ),
        "gateway": (
            "pacelab.cli.agents:gateway",
            "Run a scheme at the gateway between the wired side and the air (root).",
        ),
        "sender": (
            "pacelab.cli.agents:sender",
            "Run a scheme at a wireless host that sends, for applications as they are (root).",
        ),
        "relay": (
            "pacelab.cli.agents:relay",
            "Run a scheme in front of a node's interface queue, for all that it sends by air (root).",
        ),
        "station": (
            "pacelab.cli.agents:station",
            "Run a scheme at a wireless host that is an end of flows, in both directions (root).",
        ),
        "agent": (
            "pacelab.cli.agents:agent",
            "Run the agent that the JSON document on standard input says (see `pacelab.hosts.agents.task.Task`).",
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
                    f"{name} is given {order.count(parameter)} times: allowed is once, with a list A,B if it takes one"
                )
            for path in _paths(parameter, value):
                if path in ("", "-"):
                    hint = "./- where it is called -" if path else "perhaps a variable is unset"
                    ctx.fail(f"{name} {path!r}: allowed is the path of a file or folder; {hint}")
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
