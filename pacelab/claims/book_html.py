"""The book of claims as one HTML file.

Styles and figures are inside the file, and it has no script, so it can be read, printed and mailed anywhere.
"""

from __future__ import annotations

import base64
from html import escape
from importlib.resources import files

from pacelab.claims.book import ABSTRACT, HOW_TO_READ, MARKS, SUBTITLE, TITLE, Book, Chapter, Entry, Row
from pacelab.claims.outcome import COLUMNS, Standing, Verdict
from pacelab.version import __version__


def render_html(book: Book) -> bytes:
    """The whole HTML file."""
    papers = "".join(_chapter(chapter, book) for chapter in book.chapters)
    contents = "".join(
        f'<li><a href="#{chapter.paper.id}">{escape(chapter.paper.title)}</a></li>' for chapter in book.chapters
    )
    text = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(TITLE)}</title>
<style>{_style()}</style>
</head>
<body>
<header><h1>{escape(TITLE)}</h1><p>{escape(SUBTITLE)} PaceLab {__version__}.</p></header>
<main>
<section><p>{escape(ABSTRACT)}</p>{_overview(book)}<nav aria-label="Papers"><ol>{contents}</ol></nav></section>
<section><h2>How to read this</h2>{"".join(f"<p>{escape(text)}</p>" for text in HOW_TO_READ)}</section>
{papers}</main>
</body>
</html>
"""
    return text.encode()


def _style() -> str:
    return files("pacelab.claims").joinpath("book.css").read_text("utf-8")


def _overview(book: Book) -> str:
    names = [*COLUMNS, Verdict.NOT_RUN.value, Verdict.OWN.value]
    rows = []
    for chapter in book.chapters:
        name = f'<a href="#{chapter.paper.id}" title="{escape(chapter.paper.authors)}">[{chapter.paper.id}]</a>'
        several = [one for one in (chapter.before, chapter.stated, chapter.was) if one is not None]
        rows += [_standing_row("" if row else name, one, names) for row, one in enumerate(several)]
    head = "".join(f'<th scope="col" class="n">{MARKS[name]} {name}</th>' for name in names)
    return _table("Claims by verdict", f'<th scope="col">paper</th><th scope="col">set-up</th>{head}', rows)


def _standing_row(name: str, standing: Standing, names: list[str]) -> str:
    cells = "".join(f'<td class="n">{standing.counts[verdict]}</td>' for verdict in names)
    first = f'<th scope="row" class="v">{name}</th>' if name else "<td></td>"
    return f'<tr>{first}<td class="v">{standing.setup}</td>{cells}</tr>'


def _chapter(chapter: Chapter, book: Book) -> str:
    paper = chapter.paper
    rows = [_summary_row(entry) for entry in chapter.entries]
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("claim", "deciding check", "paper", "ours", "as stated", "as it was", "reason")
    )
    return (
        f'<section id="{paper.id}"><h2>{escape(paper.title)}</h2>'
        f'<p class="meta">{escape(paper.authors)}. {escape(paper.venue)}.</p><p>{escape(paper.judgement)}</p>'
        + _table(f"The {len(rows)} claims of [{paper.id}]", head, rows)
        + _changes(chapter)
        + "".join(_entry(entry, book) for entry in chapter.entries)
        + "</section>"
    )


def _changes(chapter: Chapter) -> str:
    """Old and new verdicts side by side."""
    rows = [
        f'<tr><th scope="row"><a href="#{entry.id}">{escape(entry.where)}</a></th>'
        f'<td class="v">{_verdict(entry.before)}</td><td class="v">{_verdict(entry.verdict)}</td>'
        f'<td class="v">{_verdict(entry.was_verdict)}</td>'
        f"<td>{escape(entry.change)}</td></tr>"
        for entry in chapter.entries
    ]
    names = ("claim", "before", "as stated, now", "as it was, now", "what changed")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return _table("Verdicts by the rules before and now", head, rows)


def _summary_row(entry: Entry) -> str:
    row = entry.telling
    what, paper, ours = (escape(row.what), _paper(row), escape(row.ours)) if row else ("", "", "")
    name = f'<a href="#{entry.id}">{escape(entry.where)}</a><br><small>{escape(entry.title)}</small>'
    met, details = entry.details
    count = f"<br><small>details: {met} of {details}</small>" if details else ""
    verdicts = f"<td>{_verdict(entry.verdict)}{count}</td><td>{_verdict(entry.was_verdict)}</td>"
    cells = f'<td>{what}</td><td>{paper}</td><td class="n">{ours}</td>{verdicts}'
    return f'<tr><th scope="row">{name}</th>{cells}<td>{escape(entry.reason)}</td></tr>'


def _entry(entry: Entry, book: Book) -> str:
    parts = [
        f'<article id="{entry.id}"><h3>{escape(entry.where)}: {escape(entry.title)}</h3>',
        f'<p class="meta">{_verdict(entry.verdict)} · <code>{entry.id}</code></p>',
        f"<blockquote>{escape(entry.quote)}</blockquote>",
        f'<p class="meta">{escape(entry.scenario)}.</p>',
    ]
    if entry.was:
        parts.append(f'<p class="meta">{escape(entry.was)} {_verdict(entry.was_verdict)}</p>')
    if entry.rows:
        both = any(row.was for row in entry.rows)
        columns = [("check", ""), ("paper [band], and why so", ""), ("as stated", ' class="n"'), ("verdict", "")]
        columns += [("as it was", ' class="n"'), ("verdict", "")] if both else []
        head = '<th scope="col" class="n">no.</th>' + "".join(
            f'<th scope="col"{kind}>{name}</th>' for name, kind in columns
        )
        seeds = f"Checks, n = {entry.seeds} seeds" + (f", as it was {entry.was_seeds}" if both else "")
        parts.append(_table(seeds, head, [_check_row(row, both=both) for row in entry.rows]))
    if entry.reasons:
        head = '<th scope="col">check</th>' + "".join(
            f'<th scope="col" class="n">{escape(name)}</th>' for name in entry.reasons
        )
        parts.append(_table("The same with one thing changed", head, [_reason_row(row) for row in entry.rows]))
    parts += [f"<p>{escape(entry.turned)}</p>"] if entry.turned else []
    parts += [f"<p>{escape(entry.judgement)}</p>"] if entry.judgement else []
    parts.append(f'<p class="meta">By the rules before: {_verdict(entry.before)}. {escape(entry.change)}</p>')
    parts += [f'<p class="meta">Notes: {escape(entry.notes)}</p>'] if entry.notes else []
    if entry.drawing:
        parts.append(_figure(entry, book))
    return "".join(parts) + "</article>\n"


def _check_row(row: Row, *, both: bool) -> str:
    what = f"<b>{escape(row.what)}</b>" if row.role == "headline" else f"{escape(row.what)} <small>({row.role})</small>"
    second = f'<td class="n">{escape(row.was)}</td><td class="v">{_verdict(row.was_verdict)}</td>' if both else ""
    return (
        f'<tr><td class="n">{row.number}</td><th scope="row" class="check">{what}</th>'
        f"<td>{_paper(row)} <small>{escape(row.band_from)}</small></td>"
        f'<td class="n">{escape(row.ours)}</td><td class="v">{_verdict(row.verdict)}</td>{second}</tr>'
    )


def _reason_row(row: Row) -> str:
    cells = "".join(f'<td class="n">{escape(text)}{" ✓" if passes else ""}</td>' for text, passes in row.reasons)
    return f'<tr><th scope="row">{row.number}. {escape(row.what)}</th>{cells}</tr>'


def _figure(entry: Entry, book: Book) -> str:
    source = f"data:image/svg+xml;base64,{base64.b64encode(book.drawings[entry.drawing]).decode()}"
    alternative = escape(f"Our measurement for {entry.where}: {entry.title}. The numbers are in the table above.")
    shows = f"<p><b>The paper's figure:</b> {escape(entry.shows)}</p>" if entry.shows else ""
    return (
        f'<figure><img src="{source}" alt="{alternative}">'
        f"<figcaption><p><b>Ours:</b> {escape(entry.caption)}</p>{shows}</figcaption></figure>"
    )


def _table(caption: str, head: str, rows: list[str]) -> str:
    body = "".join(rows)
    return (
        f'<div class="scroll" role="group" aria-label="{escape(caption)}" tabindex="0"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _paper(row: Row) -> str:
    return f"{escape(row.paper)} [{escape(row.band)}]" if row.paper != "-" else f"[{escape(row.band)}]"


def _verdict(verdict: str) -> str:
    return f"{MARKS[verdict]} {verdict}" if verdict else ""
