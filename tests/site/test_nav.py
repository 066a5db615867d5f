"""Every page in docs/, and every lab, is named in the site's navigation: MkDocs refuses to build it otherwise."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_page_is_in_the_navigation() -> None:
    told = (ROOT / "tools" / "site" / "mkdocs.yml").read_text("utf-8")
    pages = [f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")]
    pages += [f"labs/{path.stem}.md" for path in (ROOT / "labs").glob("lab[0-9]*.py")]
    assert len(pages) > 20
    assert [page for page in sorted(pages) if page not in told] == [], "name it in tools/site/mkdocs.yml"


def test_every_page_is_listed_among_the_documents() -> None:
    told = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert [page for page in sorted(pages) if f"]({page})" not in told] == [], "list it in docs/README.md"


def test_what_is_told_to_users_of_mininet_wifi_was_measured() -> None:
    """Its tables quote docs/hwsim.md, which says how each number was had."""
    page, source = ((ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("mininet-wifi", "hwsim"))
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("|---")]
    assert len(rows) > 15
    assert [row for row in rows if row not in source.splitlines()] == []
