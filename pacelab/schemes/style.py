"""How figures draw schemes."""

from __future__ import annotations

from typing import NamedTuple


class Style(NamedTuple):
    """How figures draw a scheme: one fixed colour, marker, and line.

    Colour-blind readers can tell the colours of registered schemes apart, in files and on light and dark pages. They
    are Okabe and Ito's palette with a darker green, wine red, and brick red. (A page darkens the palette's orange,
    which then looks like its vermilion without green cones.) Schemes of one colour have different lines.
    """

    color: str
    marker: str
    linestyle: str


OTHER = Style("#7f7f7f", "x", ":")
"""The style of a scheme that sets none."""
OTHERS = (
    OTHER,
    Style("#8c564b", "$a$", "-"),
    Style("#404040", "$b$", "--"),
    Style("#bcbd22", "$c$", "-."),
    Style("#7f7f7f", "$d$", "-"),
    Style("#8c564b", "$f$", "--"),
)
"""The styles of several such schemes in one figure, in their order."""
LINES = (
    *(Style("#000000", "o", "--"), Style("#0072b2", "s", "-"), Style("#d55e00", "D", "-."), Style("#009e73", "^", ":")),
    *(Style("#cc79a7", "v", "-"), Style("#56b4e9", "P", "--"), Style("#e69f00", "X", "-.")),
)
"""Styles of lines that are not schemes, in Okabe and Ito's palette."""


def look_of(place: int, looks: tuple[Style, ...] = LINES) -> Style:
    """The style of line number `place`. When the colours repeat, marker and line change."""
    turn, color = divmod(place, len(looks))
    other = looks[(color + turn) % len(looks)]
    return Style(looks[color].color, other.marker, other.linestyle)
