"""Claims and outcomes as tables for the terminal, as CSV, and as a page."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pacelab.claims.model import Check, Claim, SetUp
from pacelab.claims.outcome import (
    COLUMNS,
    MET,
    RULES_BEFORE,
    STATED,
    WAS,
    Outcome,
    Standing,
    Verdict,
    change_of,
    is_place,
    passed,
    standings,
    tested_verdicts,
    total_of,
    verdict_before,
    verdicts_document,
    widest,
)
from pacelab.documents import JsonObject

if TYPE_CHECKING:
    from rich.table import Table


def standing_table(claims: Sequence[Claim], outcomes: Mapping[str, Outcome]) -> Table:
    """How many claims of each paper have which verdict, before, as stated and as it was; narrower than 80 columns."""
    table = _table("paper", "", *(_broken(name) for name in COLUMNS), "not\nrun", "own", "of")
    shown_paper = ""
    for one in _with_totals(standings(claims, outcomes)):
        counts = [one.counts[name] for name in (*COLUMNS, Verdict.NOT_RUN.value, Verdict.OWN.value)]
        shown = [str(count) if count else "." for count in counts]
        table.add_row("" if one.paper == shown_paper else one.paper, one.setup, *shown, str(sum(counts)))
        shown_paper = one.paper
        if one.setup == WAS:
            table.add_section()
    return table


ONE_LINE = 200
"""Columns in which a claim with its title fits on one line."""


def claims_table(claims: Sequence[Claim], outcomes: Mapping[str, Outcome], *, width: int = ONE_LINE) -> Table:
    """Each claim with the verdict by the rules before and both verdicts now, on one line. In less than `ONE_LINE`
    columns its place and title follow below.
    """
    from rich.console import Group
    from rich.padding import Padding

    wide = width >= ONE_LINE
    table = _table("claim", *(["where"] if wide else []), RULES_BEFORE, STATED, WAS, *(["title"] if wide else []))
    for claim in claims:
        waits = f" (needs {', '.join(claim.needs)})" if claim.needs else ""
        outcome = outcomes[claim.id]
        was = "" if outcome["as_it_was"] is None else outcome["as_it_was"]["verdict"]
        place = claim.where or f"Sec. {claim.section}"
        verdicts = (verdict_before(claim), outcome["verdict"], was)
        if wide:
            table.add_row(claim.id, place, *verdicts, claim.title + waits)
        else:
            below = Padding(f"{place}: {claim.title}{waits}", (0, 0, 0, 2))
            table.add_row(Group(claim.id, below), *verdicts)
    return table


def claims_document(claims: Sequence[Claim], outcomes: Mapping[str, Outcome]) -> JsonObject:
    """The claims for --json, in full and with the numbers of their headlines."""
    return {
        "claims": [
            _finite(claim.model_dump(mode="json", by_alias=True))
            | {"verdicts": verdicts_document(claim, outcomes[claim.id])}
            for claim in claims
        ]
    }


def outcomes_table(claims: Sequence[Claim], outcomes: Sequence[Outcome]) -> Table:
    """Each claim with its verdict; below it a line per check (* headline, - ours), as it was, and tested reasons.

    Fits 80 columns.
    """
    from rich.text import Text

    table = _table("claim and checks", "paper [band]", "ours", "verdict")
    for claim, outcome in zip(claims, outcomes, strict=True):
        waits = f"; needs {', '.join(claim.needs)}" if claim.needs else ""
        table.add_row(Text(f"{claim.id}{waits}", style="bold"), "", "", Text(outcome["verdict"], style="bold"))
        for check, found in zip(claim.checks, outcome["checks"], strict=False):
            table.add_row(*_line(check, found))
        if outcome["as_it_was"] is not None and claim.as_it_was:
            was = outcome["as_it_was"]
            table.add_row(Text(was_text(claim.as_it_was), style="bold"), "", "", Text(was["verdict"], style="bold"))
            for check, found in zip(claim.checks, was["checks"], strict=False):
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
    return f"{len(outcomes)} claim{'s' * (len(outcomes) != 1)}: " + ", ".join(
        f"{count} {verdict}" for verdict, count in counts.items() if count
    )


def outcomes_csv(claims: Sequence[Claim], outcomes: Sequence[Outcome]) -> str:
    """One line per check in each set-up and with each tested reason, all digits."""
    lines = ["claim,variant,check,role,unit,paper,band_low,band_high,mean,half_width,verdict"]
    for claim, outcome in zip(claims, outcomes, strict=True):
        setups = [{"name": "", "checks": outcome["checks"]}]
        if outcome["as_it_was"] is not None:
            setups.append({"name": WAS, "checks": outcome["as_it_was"]["checks"]})
        for variant in (*setups, *outcome["why"]):
            for check, found in zip(claim.checks, variant["checks"], strict=False):
                cells = [claim.id, _quoted(variant["name"]), _quoted(check.what), check.role, check.unit, check.paper]
                cells += [*check.band, found["mean"], found["half_width"], found["verdict"]]
                lines.append(",".join("" if cell is None else str(cell) for cell in cells))
    return "\n".join(lines) + "\n"


def figure_title(claim: Claim, outcome: Outcome) -> str:
    """The title of a figure that is shown alone."""
    return f"{claim.where}: {claim.title}".removeprefix(": ") + f" ({outcome['verdict']})"


def claims_page(
    claims: Sequence[Claim],
    outcomes: Mapping[str, Outcome],
    images: str = "",
    drawn: Container[str] = (),
    *,
    title: str = "Claims of the papers",
) -> str:
    """The Markdown page of these claims, from the claim files and the stored full runs, judged now.

    The folder `images` beside the page has ID.png for each claim in `drawn`.
    """
    lines = [
        f"# {title}",
        "",
        "Made by `pacelab claims --docs` from the claim files and the stored numbers of full runs;",
        "`pacelab reproduce all --docs` runs them again. docs/verdicts.md has the rules, written before the runs: the",
        "**headline** checks of a claim measure the quoted sentence and decide, details are counted.",
        "",
        *standing_lines(standings(claims, outcomes)),
        "",
        "| claim | where | what | as stated | as it was | before | what changed |",
        "|---|---|---|---|---|---|---|",
    ]
    for claim in claims:
        place, outcome = claim.where or f"Sec. {claim.section}", outcomes[claim.id]
        was = "" if outcome["as_it_was"] is None else outcome["as_it_was"]["verdict"]
        cells = [f"[{claim.id}](#{claim.id})", place, claim.title, _verdict(claim, outcome), was]
        cells += [verdict_before(claim), change_of(claim, outcome)]
        lines.append("| " + " | ".join(cells) + " |")
    for claim in claims:
        lines += ["", *_section(claim, outcomes[claim.id], images if claim.id in drawn else None)]
    return "\n".join(lines) + "\n"


def standing_lines(several: Sequence[Standing]) -> list[str]:
    """The table of `standing_table` as Markdown."""
    names = [*COLUMNS, Verdict.NOT_RUN.value, Verdict.OWN.value]
    lines = ["| paper | set-up | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for one in _with_totals(several):
        lines.append(f"| {one.paper} | {one.setup} | " + " | ".join(str(one.counts[name]) for name in names) + " |")
    return lines


def was_text(setup: SetUp) -> str:
    """The second set-up in a line."""
    changes = [f"{name} {_text(value)}" for name, value in setup.options.items()]
    changes += [f"{other} for {name}" for name, other in setup.schemes.items()]
    waits = f"; needs {', '.join(setup.needs)}" if setup.needs else ""
    return f"as it was: {setup.name} ({', '.join(changes)}{waits})"


def was_source(setup: SetUp) -> str:
    """The source of the second set-up; for a calibration, what was fitted and what was held out."""
    source = " ".join(setup.source.split())
    fit = setup.calibration
    if fit is None:
        return source
    return f"{source} Fitted: {fit.fitted}; on {fit.numbers}; held out: {fit.held_out}."


def ours_text(found: Mapping[str, Any]) -> str:
    """Mean and half width, to the half width's second digit."""
    mean, half = found["mean"], found["half_width"]
    if mean is None:
        return "not run" if found["verdict"] == Verdict.NOT_RUN else "undefined"
    if not half:
        return f"{mean:.4g}" + ("" if half is None else " ± 0")
    places = max(0, 1 - math.floor(math.log10(half)))
    return f"{mean:.{places}f} ± {half:.{places}f}"


def band_text(check: Check) -> str:
    """The band with its unit."""
    low, high = check.band
    unit = f" {check.unit}" if check.unit else ""
    if math.isinf(high):
        return f">= {number_text(low)}{unit}"
    if math.isinf(low):
        return f"<= {number_text(high)}{unit}"
    return f"{number_text(low)}..{number_text(high)}{unit}"


def reach_text(check: Check, found: Mapping[str, Any]) -> str:
    """How the scatter of our runs widens a number's band, or that our maximum is a plateau; empty for other
    statements.
    """
    scatter = found["predicted"]
    if is_place(check) and found["half_width"]:
        return "ours: the plateau"
    if scatter is None:
        return ""
    if found["by_scatter"]:
        return f"within the scatter of single runs (± {scatter:.2g})"
    if scatter > widest(check):
        return f"our runs scatter too widely to meet a number (± {scatter:.2g})"
    return f"with our runs' scatter {check.band[0] - scatter:.4g}..{check.band[1] + scatter:.4g}" if scatter else ""


def number_text(value: float | None) -> str:
    """Five digits, enough for the band around a value printed with four, or a dash."""
    return "-" if value is None else f"{value:.5g}"


def scenario_text(claim: Claim, *, code: bool = False) -> str:
    """Topology, options, axes, schemes and effort in a line; `code` puts the topology into backquotes."""
    scenario = claim.scenario
    options = ", ".join(f"{name} {_text(value)}" for name, value in scenario.options.items())
    axes = "; ".join(f"{name} {', '.join(map(_text, values))}" for name, values in scenario.axes.items())
    topology = f"`{scenario.topology}`" if code else scenario.topology
    parts = [topology + (f" ({options})" if options else ""), axes, ", ".join(scenario.schemes)]
    run = f"at least {scenario.full.seeds} seeds of {scenario.full.seconds:g} s"
    return "; ".join(part for part in parts if part) + f"; {run}"


def turned_text(claim: Claim, outcome: Outcome) -> str:
    """The tested reasons that change the verdict of their set-up, for better or worse; empty if there is none."""
    second = {variant.name for variant in claim.why if variant.as_it_was}
    sentences = []
    for setup, judged in ((STATED, outcome), (WAS, outcome["as_it_was"])):
        if judged is None:
            continue
        met = judged["verdict"] in MET
        turned = [
            f"with {name}: {verdict}"
            for name, verdict in tested_verdicts(claim, outcome)
            if (verdict in MET) != met and (name in second) == (setup == WAS)
        ]
        if turned:
            sentences.append(
                f"Tested reasons that turn the verdict {setup} ({judged['verdict']}): {'; '.join(turned)}."
            )
    return " ".join(sentences)


def _section(claim: Claim, outcome: Outcome, images: str | None) -> list[str]:
    place = ", ".join(part for part in (f"Sec. {claim.section}", claim.where) if part)
    lines = [f"## {claim.id}", f'{claim.title}. [{claim.paper}] {place}: "{claim.quote}"', ""]
    lines += [f"Scenario: {scenario_text(claim, code=True)}.", ""]
    if claim.notes:
        lines += [f"Notes: {claim.notes.strip()}", ""]
    if not outcome["checks"]:
        needs = f"Not run: needs {', '.join(claim.needs)}." if claim.needs else "Not yet run in full."
        return [*lines, needs, "", "| check | role | paper | band | from |", "|---|---|---|---|---|"] + [
            f"| {check.what} | {check.role} | {number_text(check.paper)} | {band_text(check)} | {check.band_from} |"
            for check in claim.checks
        ]
    lines += [f"**As stated: {outcome['verdict']}.**", "", *_check_lines(claim, outcome)]
    if claim.as_it_was and outcome["as_it_was"] is not None:
        setup, was = claim.as_it_was, outcome["as_it_was"]
        lines += ["", f"**A{was_text(setup)[1:]}: {was['verdict']}.** {was_source(setup)}"]
        lines += ["", *_check_lines(claim, was)] if was["checks"] else []
    if outcome["why"]:
        lines += ["", "| tested reason | " + " | ".join(check.what for check in claim.checks) + " |"]
        lines.append("|---" * (1 + len(claim.checks)) + "|")
        lines += [f"| {why['name']} | " + " | ".join(map(ours_text, why["checks"])) + " |" for why in outcome["why"]]
        lines += ["", turned] if (turned := turned_text(claim, outcome)) else []
    if claim.contradicted:
        lines += ["", f"The paper's own simulator, run here: {claim.contradicted.strip()}"]
    if claim.reason:
        lines += ["", f"Reason: {claim.reason.strip()}"]
    if claim.judgement:
        lines += ["", f"Judgement: {claim.judgement.strip()}"]
    lines += ["", f"Before: {verdict_before(claim) or 'none'}. {change_of(claim, outcome)}"]
    if images is None:
        lines += ["", f"Figure: `pacelab reproduce {claim.id}` draws it."] if claim.figure else []
    else:
        lines += ["", f"![{claim.title}: our measurement in the paper's shape]({images}/{claim.id}.png)"]
    return lines


def _check_lines(claim: Claim, outcome: Mapping[str, Any]) -> list[str]:
    lines = [
        f"| check | role | paper | band, from | ours (n = {outcome['seeds']} seeds) | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for check, found in zip(claim.checks, outcome["checks"], strict=True):
        band = "; ".join(part for part in (f"{band_text(check)}, {check.band_from}", reach_text(check, found)) if part)
        cells = [check.what, check.role, number_text(check.paper), band]
        lines.append("| " + " | ".join([*cells, ours_text(found), found["verdict"]]) + " |")
    return lines


def _verdict(claim: Claim, outcome: Outcome) -> str:
    if claim.needs:
        return f"not run: needs {', '.join(claim.needs)}"
    met, details = passed(outcome, "detail")
    return str(outcome["verdict"]) + (f" (details: {met} of {details})" if details else "")


def _with_totals(several: Sequence[Standing]) -> list[Standing]:
    papers, kinds = ({one.paper for one in several}, dict.fromkeys(one.setup for one in several))
    return [*several, *([total_of(several, kind) for kind in kinds] if len(papers) > 1 else [])]


def _broken(name: str) -> str:
    """A heading in two narrow lines."""
    breaks = {"reproduced": "repro-\nduced", "direction only": "direction\nonly", "not reproduced": "not re-\nproduced"}
    breaks |= {"contradicted": "contra-\ndicted", "inconsistent": "incon-\nsistent"}
    return breaks.get(name, name)


def _line(check: Check, found: Mapping[str, Any]) -> list[str]:
    paper = "" if check.paper is None else f"{number_text(check.paper)} "
    mark = {"headline": "* ", "detail": "  ", "ours": "- "}[check.role]
    return [f"{mark}{check.what}", f"{paper}[{band_text(check)}]", ours_text(found), found["verdict"]]


def _text(value: Any) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


def _finite(value: Any) -> Any:
    """Replace infinity by null, since JSON has no infinity."""
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
        right = name in ("paper [band]", "ours", "own", "of", "not\nrun") or name in map(_broken, COLUMNS)
        table.add_column(name, justify="right" if right else "left")
    return table
