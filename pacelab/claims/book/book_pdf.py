"""The book of claims as PDF, set by Typst: tagged for screen readers (PDF/UA), the same bytes each time.

Typst comes as a wheel for every platform that holds compiler and fonts, so a laptop needs nothing else. WeasyPrint
would print the HTML as it is, but needs Pango from the system; a browser is far more, and other on every machine.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pacelab import __version__
from pacelab.claims.book.book import MARKS, Book, Chapter
from pacelab.claims.book.book_text import ABSTRACT, HOW_TO_READ, SUBTITLE, TITLE
from pacelab.claims.standing import COLUMNS
from pacelab.claims.verdict import Verdict
from pacelab.console import install
from pacelab.errors import HostError

TEMPLATE = files("pacelab.claims") / "book.typ"
EPOCH = 0
"""Time of creation in the file: none that would change it."""


def has_typst() -> bool:
    """Whether a PDF can be set here."""
    return find_spec("typst") is not None


def what_is_missing() -> str:
    """What a PDF takes."""
    return f"Typst is not installed here: {install('pacelab[report]')}"


def check_pdf() -> None:
    """HostError unless Typst is here."""
    if not has_typst():
        raise HostError(f"setting the PDF: {what_is_missing()}")


def render_pdf(book: Book) -> bytes:
    """The whole file."""
    check_pdf()
    typst: Any = import_module("typst")
    with tempfile.TemporaryDirectory(prefix="pacelab-") as folder:
        root = Path(folder)
        for name, content in book.drawings.items():
            (root / name).write_bytes(content)
        (root / "report.json").write_text(json.dumps(_document(book)), encoding="utf-8")
        (root / "book.typ").write_text(TEMPLATE.read_text(encoding="utf-8"), encoding="utf-8")
        made: bytes = typst.compile(
            str(root / "book.typ"), ignore_system_fonts=True, pdf_standards="ua-1", timestamp=EPOCH
        )
        return made


def _document(book: Book) -> dict[str, Any]:
    return {
        "title": TITLE,
        "subtitle": SUBTITLE,
        "version": __version__,
        "abstract": ABSTRACT,
        "how_to_read": HOW_TO_READ,
        "marks": MARKS,
        "verdicts": [*COLUMNS, Verdict.NOT_RUN.value, Verdict.OWN.value],
        "papers": [_chapter(chapter) for chapter in book.chapters],
    }


def _chapter(chapter: Chapter) -> dict[str, Any]:
    return {
        **chapter.paper.model_dump(),
        "standings": [{"setup": one.setup, "counts": dict(one.counts)} for one in (chapter.stated, chapter.was)],
        "claims": [asdict(entry) for entry in chapter.entries],
    }
