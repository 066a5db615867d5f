"""The papers: what each is called, and our judgement of it as a whole (first in data/PAPER/claims.yaml)."""

from __future__ import annotations

from pacelab.claims.load import paper_documents, place_of, validate
from pacelab.claims.model import SetUp, Strict


class Paper(Strict):
    """A paper whose claims were run."""

    id: str
    title: str
    authors: str
    venue: str
    judgement: str
    """Written after the full runs, from the claims' own judgements."""
    as_it_was: SetUp | None = None
    """The second set-up of every claim that declares none of its own."""


def load_paper(name: str) -> Paper:
    """The paper whose claims stand in the folder `name`."""
    return validate(next(paper_documents(name), None), place_of(name), Paper)
