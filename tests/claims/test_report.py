"""Tables, figures and the book of outcomes."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from pacelab.claims.book import Book, write_book
from pacelab.claims.book_html import render_html
from pacelab.claims.load import Paper, all_claims, load_paper, parse_claim, parse_file, select_claims
from pacelab.claims.model import Claim
from pacelab.claims.outcome import (
    Outcome,
    Stored,
    Verdict,
    all_outcomes,
    digest_of,
    key_of_measure,
    outcome_of,
    standings,
)
from pacelab.claims.plan import plan_claim
from pacelab.claims.report import (
    claims_document,
    claims_page,
    claims_table,
    outcomes_table,
    standing_lines,
    standing_table,
    summary,
)
from pacelab.claims.reproduce import Reproduction, reproduce
from pacelab.cli.main import main
from pacelab.errors import ConfigError

# Tables and the page, from hand-made outcomes.


def numbers(claim: Claim, digest: str, mean: float | None, half_width: float | None) -> dict[str, Any]:
    values = {key_of_measure(check.measure): [mean, half_width] for check in claim.checks}
    return {"digest": digest, "seeds": 2, "seconds": 20.0, "values": values}


def outcome(text: str, mean: float | None, half_width: float | None) -> Outcome:
    claim = parse_claim(text, "x")
    stored: Stored = {"id": claim.id, "as_stated": numbers(claim, digest_of(claim), mean, half_width)}
    was = claim.as_it_was or None
    stored["as_it_was"] = was and numbers(claim, digest_of(claim, was), mean, half_width)
    stored["why"] = [{"name": w.name, **numbers(claim, digest_of(claim, w), mean, half_width)} for w in claim.why]
    return outcome_of(claim, stored)


@pytest.mark.parametrize(
    ("mean", "half_width", "shown", "verdict"),
    [
        (2.01234, 0.0123, "2.012 ± 0.012", "reproduced"),
        (622.8, 199.1, "623 ± 199", "direction only"),
        (1.0, 0.0, "1 ± 0", "not reproduced"),
        (1.25, None, "1.25", "not reproduced"),
        (None, None, "undefined", "not reproduced"),
    ],
)
def test_page_shows_as_many_digits_as_the_interval_warrants(
    claim_text: str, mean: float | None, half_width: float | None, shown: str, verdict: str
) -> None:
    text = claim_text + "why:\n  - {name: no RTS, options: {rts: off}}\njudgement: it is so\n"
    page = claims_page([parse_claim(text, "x")], {"fu-demo": outcome(text, mean, half_width)})
    what = "goodput of one hop over that of two | headline | 2 | 1.9..2.1, stated, twice"
    assert re.search(rf"\| {re.escape(what)}(; [^|]*)? \| {shown} \| {verdict} \|", page)
    assert f"| no RTS | {shown} |" in page
    assert "Judgement: it is so" in page
    assert f"**As stated: {verdict}.**" in page


def test_table_fits_80_columns(claim_text: str) -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    claim = parse_claim(claim_text, "x")
    console.print(outcomes_table([claim], [outcome(claim_text, 2.01, 0.01)]))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert any("2 [1.9..2.1]" in line and "reproduced" in line for line in lines)


def test_summary_counts_verdicts(claim_text: str) -> None:
    made = [outcome(claim_text, mean, 0.01) for mean in (2, 0.5, 0.5)]
    assert summary(made) == "3 claims: 1 reproduced, 2 not reproduced"


AS_IT_WAS = """as_it_was:
  name: an older air
  source: the year
  options: {rts: off}
  calibration: {fitted: RTS on or off, numbers: one rate, held_out: all others}
"""


def test_both_set_ups_are_shown_side_by_side(claim_text: str) -> None:
    claim = parse_claim(claim_text + AS_IT_WAS, "x")
    page = claims_page([claim], {"fu-demo": outcome(claim_text + AS_IT_WAS, 2.01, 0.01)})
    assert "**As stated: reproduced.**" in page
    assert (
        "**As it was: an older air (rts off): reproduced.** the year Fitted: RTS on or off; on one rate; held" in page
    )
    assert page.count("| 2.010 ± 0.010 | reproduced |") == 2


def test_the_page_reports_that_a_tested_reason_changes_the_verdict(claim_text: str) -> None:
    text = claim_text + "why:\n  - {name: no RTS, options: {rts: off}}\n"
    claim = parse_claim(text, "x")
    found = outcome(text, 0.5, 0.01)
    assert "turn the verdict" not in claims_page([claim], {"fu-demo": found}), "as bad with the reason as without"
    stored = {"id": claim.id, "as_stated": numbers(claim, digest_of(claim), 0.5, 0.01), "as_it_was": None}
    stored["why"] = [{"name": "no RTS", **numbers(claim, digest_of(claim, claim.why[0]), 2.0, 0.01)}]
    page = claims_page([claim], {"fu-demo": outcome_of(claim, stored)})
    assert "Tested reasons that turn the verdict as stated (not reproduced): with no RTS: reproduced." in page


def test_a_tested_reason_of_the_second_set_up_turns_that_verdict(claim_text: str) -> None:
    text = claim_text + AS_IT_WAS + "why:\n  - {name: short run, options: {window: 8}, as_it_was: true}\n"
    claim = parse_claim(text, "x")
    (variant,), second = claim.why, claim.as_it_was
    assert second
    stored = {"id": claim.id, "as_stated": numbers(claim, digest_of(claim), 0.5, 0.01)}
    stored["as_it_was"] = numbers(claim, digest_of(claim, second), 0.5, 0.01)
    stored["why"] = [{"name": variant.name, **numbers(claim, digest_of(claim, variant), 2.0, 0.01)}]
    page = claims_page([claim], {"fu-demo": outcome_of(claim, stored)})
    assert "turn the verdict as stated" not in page
    assert "Tested reasons that turn the verdict as it was (not reproduced): with short run: reproduced." in page
    (run, *_) = plan_claim(claim, quick=False, variant=variant).cells[0].experiments
    assert (run.rts, run.window_pkts) == (False, 8)
    alone = claim.model_copy(update={"why": [variant.model_copy(update={"as_it_was": False})]})
    assert digest_of(alone, alone.why[0]) != digest_of(claim, variant)


def test_a_variant_of_a_second_set_up_needs_one(claim_text: str) -> None:
    text = claim_text + "why:\n  - {name: short run, options: {window: 8}, as_it_was: true}\n"
    with pytest.raises(ConfigError, match="changes the second set-up, and this claim has none; declare one"):
        parse_claim(text, "x")


def test_json_has_both_verdicts_with_the_numbers_of_the_headline(claim_text: str) -> None:
    detail = "  - {what: d, measure: {of: goodput_kbps, at: {hops: 1}}, band: [3, .inf], band_from: f}\nfigure:"
    text = claim_text.replace("figure:", detail) + AS_IT_WAS
    claim = parse_claim(text, "x")
    (document,) = claims_document([claim], {"fu-demo": outcome(text, 2.01, 0.01)})["claims"]
    head = {"what": claim.checks[0].what, "unit": "", "paper": 2.0, "band": [1.9, 2.1]}
    head |= {"mean": 2.01, "half_width": 0.01, "predicted": 0.0173205, "verdict": "reproduced"}  # sqrt(1 + 2)
    made = {"verdict": "reproduced", "seeds": 2, "seconds": 20.0, "headline": [head]}
    made |= {"details": {"passed": 0, "of": 1}}
    assert document["verdicts"] == {"as_stated": made, "as_it_was": made}
    bare = parse_claim(claim_text, "x")
    (document,) = claims_document([bare], {"fu-demo": outcome_of(bare, None)})["claims"]
    assert document["verdicts"]["as_it_was"] is None
    assert document["verdicts"]["as_stated"]["verdict"] == "not run"


def test_the_first_table_counts_verdicts_in_both_set_ups(claim_text: str) -> None:
    claims, outcomes = [], {}
    for number, mean in enumerate((2.0, 2.0, 1.5, 0.5)):
        text = claim_text.replace("id: fu-demo", f"id: fu-demo{number}") + (AS_IT_WAS if number == 3 else "")
        claims.append(parse_claim(text, "x"))
        outcomes[claims[-1].id] = outcome(text, mean, 0.01)
    outcomes["fu-demo3"] |= {"as_it_was": outcome(claim_text, 2.0, 0.01)}
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(standing_table(claims, outcomes))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    stated, was = (next(line for line in lines if name in line).split() for name in ("as stated", "as it was"))
    assert stated == ["fu", "as", "stated", "2", ".", "1", "1", ".", ".", ".", ".", "4"]
    assert was == ["as", "it", "was", "1", ".", ".", ".", ".", ".", ".", ".", "1"]
    assert standing_lines(standings(claims, outcomes))[2] == "| fu | as stated | 2 | 0 | 1 | 1 | 0 | 0 | 0 | 0 |"


def test_the_first_table_has_the_verdicts_by_the_rules_before(claim_text: str) -> None:
    """docs/verdicts.md, What changed: two of the 98 claims were reproduced then."""
    claims = list(all_claims().values())
    (old,) = [one for one in standings(claims, all_outcomes(claims)) if (one.paper, one.setup) == ("fu", "before")]
    assert sum(old.counts.values()) == 29
    assert {verdict for verdict, count in old.counts.items() if count} <= {
        "reproduced",
        "direction only",
        "not reproduced",
    }
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(standing_table(claims, all_outcomes(claims)))
    total = next(line for line in console.export_text().splitlines() if line.startswith(" all"))
    assert total.split() == ["all", "before", "2", ".", *total.split()[4:6], ".", ".", ".", ".", "98"]


# Figures: every shape draws from a run, the same bytes each time.


SHAPES = {
    "lines": "{shape: lines, x: hops, y: [goodput_kbps], by: [scheme]}",
    "several quantities": "{shape: lines, x: hops, y: [queue_mean_pkts, queue_max_pkts]}",
    "peaks": "{shape: lines, x: hops, y: [goodput_kbps], peak: window, flat: h/4}",
    "bars": "{shape: bars, by: [scheme], at: {hops: 2}}",
    "time": "{shape: time, by: [scheme], at: {hops: 2}}",
    "contention": "{shape: contention, x: hops, by: [scheme]}",
}


def drawn(claim_text: str, shape: str) -> Reproduction:
    text = claim_text.replace("axes: {hops: [1, 2]}", "axes: {hops: [1, 2], window: [2, 8]}")
    text = text.replace("  full:", "  schemes: [newreno, tcp-ap]\n  full:").replace("{hops: 1}", "{hops: 1, window: 8}")
    text = text.replace("against: {hops: 2}", "against: {hops: 2}, reduce: [{how: mean, over: scheme}]")
    text = text.replace("seconds: 10", "seconds: 1").replace(
        "{shape: lines, x: hops, y: [goodput_kbps], by: []}", shape
    )
    return reproduce([parse_claim(text, "x")], quick=True, jobs=1)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in ("peaks", "contention") else [pytest.mark.thorough]) for name in SHAPES],
)
def test_figure_shape(claim_text: str, name: str) -> None:
    found = drawn(claim_text, SHAPES[name])
    figures = found.figures()
    assert set(figures) == {"fu-demo.png", "fu-demo.svg"}
    assert figures["fu-demo.png"].startswith(b"\x89PNG")
    assert figures == found.figures()


# The book of claims: its content from the store, equal in both forms.


@pytest.fixture(scope="module")
def book() -> Book:
    return write_book("le")


def test_the_book_holds_every_claim_of_the_paper_with_what_is_stored(book: Book) -> None:
    (chapter,) = book.chapters
    found = all_outcomes(select_claims("le"))
    assert [entry.id for entry in chapter.entries] == ["le-fig1", "le-fig6", "le-fig7"]
    assert [entry.verdict for entry in chapter.entries] == [found[entry.id]["verdict"] for entry in chapter.entries]
    first = chapter.entries[0]
    assert len(first.rows) == len(found["le-fig1"]["checks"]) == 5
    assert first.rows[0].band == "0.45..0.55"
    assert first.rows[0].paper == "0.5"
    assert first.rows[0].ours.startswith(f"{found['le-fig1']['checks'][0]['mean']:.4f} ± ")
    assert [row.role for row in first.rows] == ["headline", "headline", "ours", "ours", "detail"]
    assert sum(chapter.stated.counts.values()) == 3


def test_the_book_shows_what_changed(book: Book) -> None:
    first = book.chapters[0].entries[0]
    assert first.before == "direction only"
    assert first.change
    page = render_html(book).decode()
    assert "by the rules before" in page
    assert page.count("By the rules before: ") == 3


def test_every_claim_has_a_verdict_an_interval_and_a_reason() -> None:
    claims = all_claims()
    for name, outcome in all_outcomes(list(claims.values())).items():
        claim = claims[name]
        told = f"{name} is new or was changed: pacelab reproduce {name} --docs build/docs/claims.md stores its numbers"
        assert outcome["verdict"] != "not run", told
        assert claim.reason, f"{name}: no reason"
        for check in outcome["checks"]:
            assert check["half_width"] is not None or check["mean"] is None, f"{name}: {check['what']}"
        if outcome["verdict"] in ("not reproduced", "contradicted"):
            assert claim.judgement, f"{name}: not reproduced, and no word of why"
        if all(check.paper is None for check in claim.checks) and claim.figure is not None:
            assert claim.shows, f"{name}: nothing to hold our figure against"


def test_every_paper_has_a_judgement() -> None:
    for name in dict.fromkeys(claim.paper for claim in all_claims().values()):
        assert len(load_paper(name).judgement) > 200


def test_an_error_in_a_paper_file_is_named() -> None:
    with pytest.raises(ConfigError, match="claim file x, line 1, key authors: the key is missing; add it"):
        parse_file("id: fu\ntitle: t\nvenue: v\njudgement: j\n", "x", Paper)


class Outline(HTMLParser):
    """Collects the properties of a page that must be self-contained."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.headings: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        assert tag != "script"
        self.ids += [said["id"] or ""] if "id" in said else []
        self.links += [said["href"] or ""] if "href" in said else []
        self.images += [said] if tag == "img" else []
        self.headings += [int(tag[1])] if re.fullmatch(r"h[1-6]", tag) else []


def test_the_page_needs_no_other_file_and_works_with_a_screen_reader(book: Book) -> None:
    page = Outline()
    page.feed(render_html(book).decode())
    assert all(link.removeprefix("#") in page.ids for link in page.links)
    assert len(page.ids) == len(set(page.ids))
    assert len(page.images) == len(book.drawings) == 3
    assert all((image["src"] or "").startswith("data:image/") and image["alt"] for image in page.images)
    assert all(later <= earlier + 1 for earlier, later in zip(page.headings, page.headings[1:], strict=False))


@pytest.mark.thorough
def test_the_book_is_the_same_bytes_each_time(book: Book) -> None:
    assert render_html(write_book("le")) == render_html(book)


def test_cli_writes_one_html_file(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "le", "--out", "book", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["report"]
    assert document["papers"]["le"]["as stated"] == dict.fromkeys(map(str, Verdict), 0) | {"direction only": 3}
    was = dict.fromkeys(map(str, Verdict), 0) | {"reproduced": 2, "direction only": 1}
    assert document["papers"]["le"]["as it was"] == was
    made = {path.name: path.read_bytes() for path in Path("book").iterdir()}
    assert set(made) == {"report.html"} == set(document["files"])
    assert main(["report", "le", "--out", "again"]) == 0
    assert Path("again/report.html").read_bytes() == made["report.html"]


@pytest.mark.parametrize("width", [80, 100, 200])
def test_the_table_of_claims_cuts_nothing_off(width: int) -> None:
    chosen = list(all_claims().values())
    console = Console(width=width, file=io.StringIO())
    console.print(claims_table(chosen, all_outcomes(chosen), width=width))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    assert {claim.id for claim in chosen} <= {line.split()[0] for line in lines if line.strip()}
    assert not any("…" in line for line in lines)
    assert len(lines) <= len(chosen) * (2 if width == 200 else 5)
