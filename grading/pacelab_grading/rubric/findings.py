"""What one check found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A share of the check's points, what was expected, and what the code did."""

    share: float
    expected: str
    got: str
    picture: str = ""
    """SVG, if a picture helps."""


class WrongAnswer(Exception):
    """Ends a check without points: what was expected, and what the code did instead."""

    def __init__(self, expected: str, got: str, picture: str = "") -> None:
        super().__init__(f"expected {expected}; got {got}")
        self.finding = Finding(share=0.0, expected=expected, got=got, picture=picture)
