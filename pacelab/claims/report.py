"""Claims and outcomes as tables for the terminal, as CSV and as a page."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pacelab.claims.model import Check, Claim
from pacelab.claims.outcome import Outcome, digest_of
from pacelab.claims.verdict import Verdict

if TYPE_CHECKING:
    from rich.table import Table

STALE = "changed since it was run: run it again"


def claims_table(claims: Sequence[Claim]) -> Table:
    """One line per claim."""
    table = _table("claim", "where", "kind", "title")
    for claim in claims:
        waits = f" (needs {', '.join(claim.needs)})" if claim.needs else ""
        table.add_row(claim.id, claim.where or f"Sec. {claim.section}", claim.kind, claim.title + waits)
    return table


def claims_document(claims: Sequence[Claim]) -> dict[str, Any]:
    """The same for --json, with the claims in full."""
    return {"claims": [_finite(claim.model_dump(mode="json", by_alias=True)) for claim in claims]}


def outcomes_table(claims: Sequence[Claim], outcomes: Sequence[Outcome]) -> Table:
    """Each claim with its verdict, below it one line per check, then the tested reasons. Fits 80 columns."""
    from rich.text import Text

    table = _table("claim and checks", "paper [band]", "ours", "verdict")
    for claim, outcome in zip(claims, outcomes, strict=True):
        waits = f"; needs {', '.join(claim.needs)}" if claim.needs else ""
        table.add_row(Text(f"{claim.id}{waits}", style="bold"), "", "", Text(outcome["verdict"], style="bold"))
        for check, found in zip(claim.checks, outcome["checks"], strict=False):
            table.add_row(*_line(check, found))
        for variant in outcome["why"]:
            table.add_row(f"if {variant['name']}", "", "", "")
            for check, found in zip(claim.checks, variant["checks"], strict=True):
                table.add_row(*_line(check, found))
        table.add_section()
    return table


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many claims got which verdict."""
    counts = {verdict: sum(outcome["verdict"] == verdict.value for outcome in outcomes) for verdict in Verdict}
    return f"{len(outcomes)} claims: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)


def outcomes_csv(claims: Sequence[Claim], outcomes: Sequence[Outcome]) -> str:
    """One line per check and per tested reason's check, all digits."""
    lines = ["claim,variant,check,unit,paper,band_low,band_high,mean,half_width,verdict"]
    for claim, outcome in zip(claims, outcomes, strict=True):
        for variant in ({"name": "", "checks": outcome["checks"]}, *outcome["why"]):
            for check, found in zip(claim.checks, variant["checks"], strict=False):
                cells = [claim.id, _quoted(variant["name"]), _quoted(check.what), check.unit, check.paper]
                cells += [*check.band, found["mean"], found["half_width"], found["verdict"]]
                lines.append(",".join("" if cell is None else str(cell) for cell in cells))
    return "\n".join(lines) + "\n"


def figure_title(claim: Claim, outcome: Outcome) -> str:
    """What stands above a figure that is seen alone."""
    return f"{claim.where}: {claim.title}".removeprefix(": ") + f" ({outcome['verdict']})"


def claims_page(
    claims: Sequence[Claim], stored: Mapping[str, Outcome], images: str = "", drawn: Container[str] = ()
) -> str:
    """The page of all claims, Markdown, from the claim files and the stored outcomes.

    The folder `images` beside the page has ID.png of the claims that are `drawn`.
    """
    outcomes = [stored[claim.id] for claim in claims if claim.id in stored]
    lines = [
        "# Claims of the papers",
        "",
        "Made by `pacelab claims --docs` from the claim files and the stored outcomes of full runs;",
        "`pacelab reproduce all --docs` runs them anew. Bands were written before the runs, from what the paper",
        "prints.",
        "",
        "    reproduced        our mean lies in the band, or our 95 % interval overlaps it and is narrow",
        "    direction only    outside of the band, but the whole interval goes the paper's way; the best verdict for",
        "                      what is known only from a figure or a sentence without a number",
        "    not reproduced    neither; the runs below it test why",
        "",
        *([f"{summary(outcomes)}.", ""] if outcomes else []),
        "| claim | where | what | verdict |",
        "|---|---|---|---|",
    ]
    for claim in claims:
        place = claim.where or f"Sec. {claim.section}"
        lines.append(f"| [{claim.id}](#{claim.id}) | {place} | {claim.title} | {_verdict(claim, stored)} |")
    for claim in claims:
        lines += ["", *_section(claim, stored.get(claim.id), images if claim.id in drawn else None)]
    return "\n".join(lines) + "\n"


def ours_text(found: Mapping[str, Any]) -> str:
    """Mean and half width to the half width's second digit."""
    mean, half = found["mean"], found["half_width"]
    if mean is None:
        return "undefined"
    if not half:
        return f"{mean:.4g}" + ("" if half is None else " ± 0")
    places = max(0, 1 - math.floor(math.log10(half)))
    return f"{mean:.{places}f} ± {half:.{places}f}"


def band_text(check: Check) -> str:
    """What would count as reproducing it, with its unit."""
    low, high = check.band
    unit = f" {check.unit}" if check.unit else ""
    if math.isinf(high):
        return f">= {number_text(low)}{unit}"
    if math.isinf(low):
        return f"<= {number_text(high)}{unit}"
    return f"{number_text(low)}..{number_text(high)}{unit}"


def number_text(value: float | None) -> str:
    """Five digits, enough for the band around four that are printed, or a dash."""
    return "-" if value is None else f"{value:.5g}"


def scenario_text(claim: Claim, *, code: bool = False) -> str:
    """Topology, options, axes, schemes and effort in a line; `code` puts the topology into backquotes."""
    scenario = claim.scenario
    options = ", ".join(f"{name} {_text(value)}" for name, value in scenario.options.items())
    axes = "; ".join(f"{name} {', '.join(map(_text, values))}" for name, values in scenario.axes.items())
    topology = f"`{scenario.topology}`" if code else scenario.topology
    parts = [topology + (f" ({options})" if options else ""), axes, ", ".join(scenario.schemes)]
    run = f"{scenario.full.seeds} seeds of {scenario.full.seconds:g} s"
    return "; ".join(part for part in parts if part) + f"; {run}"


def _section(claim: Claim, outcome: Outcome | None, images: str | None) -> list[str]:
    place = ", ".join(part for part in (f"Sec. {claim.section}", claim.where) if part)
    lines = [f"## {claim.id}", f'{claim.title}. [{claim.paper}] {place}: "{claim.quote}"', ""]
    lines += [f"Scenario: {scenario_text(claim, code=True)}.", ""]
    if claim.notes:
        lines += [f"Notes: {claim.notes.strip()}", ""]
    if outcome is None or not outcome["checks"]:
        needs = f"Not run: needs {', '.join(claim.needs)}." if claim.needs else "Not run yet."
        return [*lines, needs, "", "| check | paper | band | from |", "|---|---|---|---|"] + [
            f"| {check.what} | {number_text(check.paper)} | {band_text(check)} | {check.band_from} |"
            for check in claim.checks
        ]
    if outcome["digest"] != digest_of(claim):
        lines += [f"**{STALE}.**", ""]
    lines += [
        f"| check | paper | band, from | ours (n = {outcome['seeds']} seeds) | verdict |",
        "|---|---|---|---|---|",
    ]
    for check, found in zip(claim.checks, outcome["checks"], strict=False):
        band = f"{band_text(check)}, {check.band_from}"
        lines.append(
            f"| {check.what} | {number_text(check.paper)} | {band} | {ours_text(found)} | {found['verdict']} |"
        )
    if outcome["why"]:
        lines += ["", "| tested reason | " + " | ".join(check.what for check in claim.checks) + " |"]
        lines.append("|---" * (1 + len(claim.checks)) + "|")
        lines += [f"| {why['name']} | " + " | ".join(map(ours_text, why["checks"])) + " |" for why in outcome["why"]]
    if claim.reason:
        lines += ["", f"Reason: {claim.reason.strip()}"]
    if claim.judgement:
        lines += ["", f"Judgement: {claim.judgement.strip()}"]
    if images is None:
        lines += ["", f"Figure: `pacelab reproduce {claim.id}` draws it."] if claim.figure else []
    else:
        lines += ["", f"![{claim.title}: our measurement in the paper's shape]({images}/{claim.id}.png)"]
    return lines


def _verdict(claim: Claim, stored: Mapping[str, Outcome]) -> str:
    outcome = stored.get(claim.id)
    if claim.needs:
        return f"not run: needs {', '.join(claim.needs)}"
    if outcome is None:
        return "not run yet"
    passed = sum(check["verdict"] != Verdict.NOT.value for check in outcome["checks"])
    count = f" ({passed} of {len(outcome['checks'])} checks pass)" if outcome["verdict"] == Verdict.NOT.value else ""
    return str(outcome["verdict"]) + count + ("" if outcome["digest"] == digest_of(claim) else f" ({STALE})")


def _line(check: Check, found: Mapping[str, Any]) -> list[str]:
    paper = "" if check.paper is None else f"{number_text(check.paper)} "
    return [f"  {check.what}", f"{paper}[{band_text(check)}]", ours_text(found), found["verdict"]]


def _text(value: Any) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


def _finite(value: Any) -> Any:
    """JSON has no infinity: null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _table(*columns: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 0), pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right" if name in ("paper [band]", "ours") else "left")
    return table
