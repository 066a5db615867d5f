"""The papers: what each is called, and our judgement of it as a whole (data/PAPER/paper.yaml)."""

from __future__ import annotations

from pacelab.claims.load import DATA, PAPER, parse_file
from pacelab.claims.model import Strict


class Paper(Strict):
    """A paper whose claims were run."""

    id: str
    title: str
    authors: str
    venue: str
    judgement: str
    """Written after the full runs, from the claims' own judgements."""


def load_paper(name: str) -> Paper:
    """The paper whose claims stand in the folder `name`."""
    file = DATA / name / PAPER
    return parse_file(file.read_text(encoding="utf-8"), f"{name}/{PAPER}", Paper)
