"""The page that `pacelab demo` serves without a name. It lists demonstrations, design problems, and a small network."""

from __future__ import annotations

import html
from collections.abc import Iterable

from pacelab.demo.catalog import DEMOS
from pacelab.demo.editor import NEW, QUESTION
from pacelab.demo.page import html_page
from pacelab.demo.problems import PROBLEMS


def listing(query: str = "") -> str:
    """The page. `query` is appended to each link."""
    demos = [(name, demo.title, demo.question) for name, demo in DEMOS.items()]
    problems = [(name, problem.title, problem.question) for name, problem in PROBLEMS.items()]
    own = [(NEW, "Draw a network", QUESTION)]
    lists = (
        f"<h1>Demonstrations</h1>{_links(demos, query)}<h2>Design problems</h2>{_links(problems, query)}"
        f"<h2>A network of your own</h2>{_links(own, query)}"
    )
    return html_page("PaceLab: demonstrations", f'<main class="pacelab-list">{lists}</main>')


def _links(entries: Iterable[tuple[str, str, str]], query: str) -> str:
    rows = "".join(
        f'<li><a href="/{name}{html.escape(query)}">{html.escape(title)}</a>: {html.escape(question)}</li>\n'
        for name, title, question in entries
    )
    return f"<ul>\n{rows}</ul>"
