"""How a scheme looks in figures: one fixed colour, marker and line, in every figure.

Colours are Okabe and Ito's palette, which colour-blind readers can tell apart. Its seven with four lines are all taken:
one scheme more has a darker green.
"""

from __future__ import annotations

from typing import NamedTuple


class Style(NamedTuple):
    """How a scheme looks."""

    color: str
    marker: str
    linestyle: str


OTHER = Style("#7f7f7f", "x", ":")
"""Of a scheme that names none."""
OTHERS = (
    OTHER,
    Style("#8c564b", "$a$", "-"),
    Style("#404040", "$b$", "--"),
    Style("#bcbd22", "$c$", "-."),
    Style("#7f7f7f", "$d$", "-"),
    Style("#8c564b", "$f$", "--"),
)
"""Of several of these in one figure, in their order."""
LINES = (
    *(Style("#000000", "o", "--"), Style("#0072b2", "s", "-"), Style("#d55e00", "D", "-."), Style("#009e73", "^", ":")),
    *(Style("#cc79a7", "v", "-"), Style("#56b4e9", "P", "--"), Style("#e69f00", "X", "-.")),
)
"""For lines that are not schemes; Okabe and Ito's palette."""


def look_of(place: int, looks: tuple[Style, ...] = LINES) -> Style:
    """What is drawn at this place looks so: in each further turn a colour has another marker and line."""
    turn, color = divmod(place, len(looks))
    other = looks[(color + turn) % len(looks)]
    return Style(looks[color].color, other.marker, other.linestyle)
