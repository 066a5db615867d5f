"""`pacelab rerun`: a stored result made once more, and held against what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacelab.cli.commands import Json, Out, Quiet, exit_on_failed_hooks, hand_over
from pacelab.console import log, progress_bar
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment, request_of
from pacelab.experiment.settings import parse_one
from pacelab.options.table import BY_FIELD
from pacelab.results.folder import check_destination
from pacelab.results.results import load_result

if TYPE_CHECKING:
    from pacelab.results.results import RunResult

OWN = "a file of your own that took part"
MADE_BY = ("pacelab", "python", "machine")
"""Of host.json: what can make another result of the same configuration and seed."""


def rerun(  # noqa: PLR0913  Typer makes options of them
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="result folder of a run")],
    *,
    seed: Annotated[str | None, typer.Option("--seed", metavar="N", help="another seed than the run's")] = None,
    topology: Annotated[str | None, typer.Option("--topology", metavar="FILE", help=OWN)] = None,
    traffic: Annotated[str | None, typer.Option("--traffic", metavar="FILE", help=OWN)] = None,
    scheme: Annotated[str | None, typer.Option("--scheme", metavar="FILE.py:NAME", help=OWN)] = None,
    cc: Annotated[str | None, typer.Option("--cc", metavar="FILE.py:NAME", help=OWN)] = None,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run once more what a result folder is of, and say whether the result is the same; exit code 1 if not."""
    from pacelab.running.runner import run

    before = load_result(folder)
    config = before.run["config"]
    own = {"topology": topology, "traffic": traffic, "scheme": scheme, "cc": cc}
    try:
        request = request_of(config, {name: file for name, file in own.items() if file is not None})
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"result {str(folder)!r}: its config was changed or is damaged ({error!r})") from None
    if seed is not None:
        request["seed"] = parse_one("--seed", seed, BY_FIELD["seed"].domain)
    experiment = Experiment(**request)
    check_destination(out)
    with progress_bar(f"{config['topology']}, {config['scheme']}", quiet=quiet) as on_progress:
        after = run(experiment, on_progress=on_progress)
    hand_over(after, out, json=json, quiet=quiet)
    if experiment.backend == "sim" and experiment.seed == config["seed"] and not _is_same(before, after, folder):
        raise typer.Exit(1)
    exit_on_failed_hooks(after.run["hooks"]["failed"])


def _is_same(before: RunResult, after: RunResult, folder: Path) -> bool:
    """Whether both are the same, said in a line."""
    old, new = before.files(), after.files()
    settings = [f"config's {name}" for name in _differing(before.run["config"], after.run["config"])]
    parts = [f"run.json's {name}" for name in _differing(before.run, after.run) if name != "config"]
    tables = [name for name in _differing(old, new) if name.endswith(".csv")]
    if differ := settings or [*parts, *tables]:
        makers = [
            f"{name} was {before.host.get(name)}" for name in MADE_BY if name in _differing(before.host, after.host)
        ]
        log("; ".join([f"not the same result as {folder}: {', '.join(differ)}", *makers]))
    else:
        log(f"the same result as {folder}, to the byte")
    return not differ


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [name for name in {**before, **after} if before.get(name) != after.get(name)]
