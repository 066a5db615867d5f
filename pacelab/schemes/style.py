"""How a scheme looks in figures: one fixed colour, marker and line, in every figure.

Colours are Okabe and Ito's palette, which colour-blind readers can tell apart.
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
