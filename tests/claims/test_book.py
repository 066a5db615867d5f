"""The book of claims: what it takes from the store, and that both forms hold it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pacelab.claims import book_files
from pacelab.claims.book import Book, write_book
from pacelab.claims.book_files import render_html
from pacelab.claims.load import Paper, all_claims, load_paper, parse_file, select_claims
from pacelab.claims.outcome import Verdict, all_outcomes
from pacelab.cli.main import main
from pacelab.errors import ConfigError


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


def test_a_paper_file_says_what_is_wrong_with_it() -> None:
    with pytest.raises(ConfigError, match=r"file x, line 1, key authors: missing"):
        parse_file("id: fu\ntitle: t\nvenue: v\njudgement: j\n", "x", Paper)


class Outline(HTMLParser):
    """Collects what must hold in a page that stands alone."""

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


def test_the_page_stands_alone_and_can_be_read_aloud(book: Book) -> None:
    page = Outline()
    page.feed(render_html(book).decode())
    assert all(link.removeprefix("#") in page.ids for link in page.links)
    assert len(page.ids) == len(set(page.ids))
    assert len(page.images) == len(book.drawings) == 3
    assert all((image["src"] or "").startswith("data:image/") and image["alt"] for image in page.images)
    assert all(later <= earlier + 1 for earlier, later in zip(page.headings, page.headings[1:], strict=False))


def test_the_book_is_the_same_bytes_each_time(book: Book) -> None:
    assert render_html(write_book("le")) == render_html(book)


def test_cli_writes_both_forms(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("typst", reason="Typst is not installed: pip install pacelab[report]")
    assert main(["report", "le", "--out", "book", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["report"]
    assert document["papers"]["le"]["as stated"] == dict.fromkeys(map(str, Verdict), 0) | {"direction only": 3}
    assert set(document["papers"]["le"]["as it was"].values()) == {0}
    made = {path.name: path.read_bytes() for path in Path("book").iterdir()}
    assert set(made) == {"report.html", "report.pdf"} == set(document["files"])
    assert made["report.pdf"].startswith(b"%PDF-")
    assert main(["report", "le", "--out", "again"]) == 0
    assert Path("again/report.pdf").read_bytes() == made["report.pdf"]


@pytest.mark.parametrize(
    ("pip", "command"), [("there", "{python} -m pip install"), (None, "uv pip install --python {python}")]
)
def test_cli_does_without_typst_and_says_what_the_pdf_needs(
    pip: str | None, command: str, in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pacelab.console.find_spec", lambda _name: pip)
    monkeypatch.setattr(book_files, "has_typst", lambda: False)
    monkeypatch.setattr("pacelab.console.sys.executable", "/my tools/python")
    assert main(["report", "le", "--out", "book", "--pdf"]) == 3
    told = command.format(python='"/my tools/python"')
    assert f' {told} "pacelab[report]"' in capsys.readouterr().err
    assert not Path("book").exists()
    assert main(["report", "le", "--out", "book"]) == 0
    assert "no report.pdf; Typst is not installed here: " in capsys.readouterr().err
    assert [path.name for path in Path("book").iterdir()] == ["report.html"]
