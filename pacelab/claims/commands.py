"""The commands `pacelab claims`, `reproduce` and `report`: thin layers over `load`, `reproduce` and the book."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pacelab.console import log, print_json, print_table, runs_bar, table_width
from pacelab.errors import ConfigError
from pacelab.experiment.from_text import parse_one
from pacelab.options.limits import JOBS, SEEDS
from pacelab.parameters import Argument, Option
from pacelab.results.folder import RUNS, check_destination, check_writable

Json = Annotated[bool, Option("--json", help="one JSON document on stdout")]
Docs = Annotated[Path | None, Option("--docs", metavar="FILE", help="write a page of all claims to FILE.md")]

UNFINISHED = RUNS / "unfinished-claims"
"""Finished runs of interrupted reproductions. They are stored without details, so comparisons do not use them."""


def claims(
    *,
    paper: Annotated[str, Option("--paper", metavar="NAME", help="only the claims of this paper")] = "all",
    docs: Docs = None,
    json: Json = False,
) -> None:
    """List the papers' claims and their verdicts. --docs writes a page with the numbers of full runs."""
    from pacelab.claims.load import select_claims
    from pacelab.claims.outcome import all_outcomes
    from pacelab.claims.report import claims_document, claims_table, standing_table

    chosen = select_claims(paper)
    if docs is not None:
        _write_page(docs)
    if json:
        print_json(claims_document(chosen, all_outcomes(chosen)))
    elif docs is None:
        found = all_outcomes(chosen)
        print_table(standing_table(chosen, found), title="Claims by verdict (docs/verdicts.md)")
        print_table(claims_table(chosen, found, width=table_width()))


def reproduce(  # noqa: PLR0913 - the command line turns the parameters into options
    claim: Annotated[str, Argument(metavar="ID|PAPER|all|FILE.yaml", help="see `pacelab claims`")],
    *,
    quick: Annotated[bool, Option("--quick", help="run shorter, with fewer seeds and without variants")] = False,
    seeds: Annotated[
        str | None, Option("--seeds", metavar="N", help="seeds per cell (default: as the claim says)")
    ] = None,
    jobs: Annotated[str | None, Option("--jobs", metavar="N", help="worker processes (one per core)")] = None,
    scheduler: Annotated[
        str | None, Option("--scheduler", metavar="ADDRESS", help="a Dask scheduler, tcp://HOST:PORT")
    ] = None,
    cache: Annotated[Path | None, Option("--cache", metavar="DIR", help="keep finished runs here")] = None,
    out: Annotated[Path | None, Option("--out", metavar="DIR", help="new or empty folder")] = None,
    docs: Docs = None,
    json: Json = False,
    quiet: Annotated[bool, Option("--quiet", help="no table, progress or notes")] = False,
) -> None:
    """Run a paper's claims and judge them against bands fixed in advance. The exit code is 0 whatever the verdict."""
    from pacelab.claims.load import OWN, find_claims
    from pacelab.claims.outcome import store_path
    from pacelab.claims.report import outcomes_table, summary
    from pacelab.claims.reproduce import reproduce as run_claims
    from pacelab.figures.figures import require_matplotlib
    from pacelab.running.runner import write_safely

    if docs is not None and (quick or seeds is not None):
        raise ConfigError("--docs stores the outcomes of full runs; leave --quick and --seeds out")
    if docs is not None and claim.endswith(OWN):
        raise ConfigError(f"--docs stores outcomes of the papers' claims, not of {claim}; leave --docs out")
    chosen = find_claims(claim)
    count = None if seeds is None else parse_one("--seeds", seeds, SEEDS)
    workers = None if jobs is None else parse_one("--jobs", jobs, JOBS)
    check_destination(out)
    if docs is not None:  # write the page: a full run takes long, and its result would be lost
        require_matplotlib()
        for file in dict.fromkeys((docs, *(store_path(one.paper) for one in chosen))):
            check_writable(file, "--docs")
    with runs_bar(f"claims: {claim}", folder=cache or UNFINISHED, quiet=quiet) as on_done:
        found = run_claims(
            chosen,
            quick=quick,
            seeds=count,
            jobs=workers,
            scheduler=scheduler,
            cache=cache,
            unfinished=UNFINISHED,
            on_done=on_done,
        )
    folder = write_safely(found.write, out)
    if json:
        print_json({"reproduce": found.document(), "host": found.host})
    elif not quiet:
        print_table(outcomes_table(found.claims, found.outcomes), title=summary(found.outcomes))
    if docs is not None:
        found.store()
        _write_page(docs)
    if not quiet:
        for line in found.notes() if claim.endswith(OWN) else ():
            log(f"note: {line}")
        if any((count or (one.scenario.quick if quick else one.scenario.full).seeds) == 1 for one in chosen):
            log("note: one seed has no interval, and without one no check is met: --seeds 2 or more has one")
        log(f"results and figures in {folder}; {found.host['wall_s']:.0f} s of wall time")


def report(
    claim: Annotated[str, Argument(metavar="ID|PAPER|all", help="see `pacelab claims`")] = "all",
    *,
    out: Annotated[Path | None, Option("--out", metavar="DIR", help="new or empty folder")] = None,
    json: Json = False,
) -> None:
    """Write the book of claims from the stored results of full runs: report.html."""
    from pacelab.claims.book import write_book
    from pacelab.claims.book_html import render_html
    from pacelab.figures.figures import require_matplotlib
    from pacelab.results.folder import write_folder

    check_destination(out)
    require_matplotlib()
    book = write_book(claim)
    files = {"report.html": render_html(book)}
    folder = write_folder(out, files, name="report")
    if json:
        papers = {
            chapter.paper.id: {one.setup: dict(one.counts) for one in (chapter.stated, chapter.was)}
            for chapter in book.chapters
        }
        print_json({"report": {"folder": str(folder), "files": list(files), "papers": papers}})
    log(f"report.html in {folder}")


def _write_page(docs: Path) -> None:
    """Write the page and, in a folder of the same name, its figures, all from stored results."""
    from pacelab.claims.figures import render_png
    from pacelab.claims.load import select_claims
    from pacelab.claims.outcome import all_outcomes, load_pictures
    from pacelab.claims.report import claims_page, figure_title
    from pacelab.results.folder import write_file

    everything = select_claims("all")
    papers = dict.fromkeys(claim.paper for claim in everything)
    found = all_outcomes(everything)
    pictures = {name: one for paper in papers for name, one in load_pictures(paper).items()}
    images = docs.with_suffix("")
    for claim in everything:
        if claim.id in pictures:
            image = render_png(pictures[claim.id], figure_title(claim, found[claim.id]))
            write_file(images / f"{claim.id}.png", image)
    write_file(docs, claims_page(everything, found, images.name, pictures).encode())
    log(f"written: {docs}")
