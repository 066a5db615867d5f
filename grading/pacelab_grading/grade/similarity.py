"""Hand-ins that resemble each other: a hint, never a verdict, because two students may have had the same idea.

copydetect (MIT; winnowing after Schleimer, Wilkerson & Aiken, SIGMOD 2003, as in MOSS) compares tokens, so new names
and comments hide nothing. The template's text is left out. The model solution counts as one more submission: PaceLab's
algorithms are public, and copying them is the most likely copy.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from pacelab_grading.receive.submission import Submission
from pacelab_grading.rubric.assignment import Assignment

NOISE_TOKENS, GUARANTEED_TOKENS = 25, 30
"""Matches shorter than the first number are never reported, matches longer than the second always."""
MOST_COMPARED = 1 << 17
"""Characters of a hand-in that are compared. A model has 5,000; a megabyte takes 12 s and much memory."""
SHOWN_FROM = 0.8
MODEL = "the model solution"
NOT_INSTALLED = "similarity was not checked: `pip install copydetect`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two files, and the share (0..1) of each that is also in the other."""

    first: str
    second: str
    share_first: float
    share_second: float

    def describe(self) -> str:
        """One line."""
        return f"{self.first} ({self.share_first:.0%}) and {self.second} ({self.share_second:.0%} in common)"


def is_installed() -> bool:
    """Whether copydetect is installed."""
    return importlib.util.find_spec("copydetect") is not None


def similar_pairs(
    submissions: Sequence[Submission], assignment: Assignment, on_done: Callable[[float], None] = lambda _share: None
) -> list[Pair]:
    """Pairs that share at least `SHOWN_FROM` of the smaller file, the most similar first. Needs `is_installed()`.

    `on_done` is called with the share of all pairs compared so far, 0..1.
    """
    template = _fingerprint("template", assignment.template, None)
    texts = [(item.student, full_text(item)[:MOST_COMPARED]) for item in submissions if item.source]
    prints = {
        name: _fingerprint(name, text, list(template.hashes)) for name, text in [*texts, (MODEL, assignment.model)]
    }
    import copydetect  # type: ignore[import-untyped,unused-ignore]

    found = []
    pairs = list(combinations(prints, 2))
    for done, (first, second) in enumerate(pairs):
        on_done(done / len(pairs))
        if min(len(prints[first].hashes), len(prints[second].hashes)) == 0:
            continue
        _, (share_first, share_second), _ = copydetect.compare_files(prints[first], prints[second])
        if max(share_first, share_second) >= SHOWN_FROM:
            pair = Pair(first=first, second=second, share_first=float(share_first), share_second=float(share_second))
            found.append(pair)
    return sorted(found, key=lambda pair: (-max(pair.share_first, pair.share_second), pair.first, pair.second))


def full_text(submission: Submission) -> str:
    """The graded file with the student's modules that it imports."""
    return "\n".join([submission.source or "", *(text for _, text in submission.helpers)])


def _fingerprint(name: str, text: str, template: Any) -> Any:
    import copydetect

    return copydetect.CodeFingerprint(
        f"{name}.py",
        NOISE_TOKENS,
        GUARANTEED_TOKENS - NOISE_TOKENS + 1,
        boilerplate=[] if template is None else template,
        language="python",
        fp=io.StringIO(text),
    )
