"""Which submissions resemble each other, as a hint and never a verdict: two students may have had the same idea.

copydetect (MIT; winnowing after Schleimer, Wilkerson & Aiken, SIGMOD 2003, as MOSS has it) compares tokens, so that new
names and comments hide nothing. What the template gives is left out, and the model solution counts as one more
submission: the algorithms of PaceLab are public, and copying them is the likeliest copy.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from pacelab.grading.assignment import Assignment
from pacelab.grading.receive.submission import Submission

NOISE_TOKENS, GUARANTEED_TOKENS = 25, 30
"""Matches shorter than the first are never reported, those longer than the second always."""
MOST_COMPARED = 1 << 17
"""Characters of a hand-in; the models have 5,000. A megabyte takes 12 s and much memory, and it may have 32."""
SHOWN_FROM = 0.8
MODEL = "the model solution"
MISSING = "similarity was not looked at: `pip install copydetect`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two files and how much of each (0..1) is in the other."""

    first: str
    second: str
    share_first: float
    share_second: float

    def describe(self) -> str:
        """One line."""
        return f"{self.first} ({self.share_first:.0%}) and {self.second} ({self.share_second:.0%} in common)"


def available() -> bool:
    """Whether copydetect is installed."""
    return importlib.util.find_spec("copydetect") is not None


def similar(
    submissions: Sequence[Submission], assignment: Assignment, on_done: Callable[[float], None] = lambda _share: None
) -> list[Pair]:
    """Pairs that share at least `SHOWN_FROM` of the smaller file, most alike first. Needs `available()`.

    `on_done` hears how much of all pairs was compared, 0..1.
    """
    template = _fingerprint("template", assignment.template, None)
    texts = [(submission.student, whole(submission)[:MOST_COMPARED]) for submission in submissions if submission.source]
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


def whole(submission: Submission) -> str:
    """The graded file with what it imports."""
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
