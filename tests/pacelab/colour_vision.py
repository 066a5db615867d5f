"""How far apart two colours look, to most readers and to readers with colour blindness."""

from __future__ import annotations

import math
from collections.abc import Sequence

VISIONS = {
    "usual": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""Kind of vision -> matrix for linear RGB. Source: G. M. Machado et al., A Physiologically-based Model for Simulation
of Color Vision Deficiency, IEEE TVCG 15 (2009), table 1, severity 1.0."""
DISTINCT = 9.0
"""A distance in CIELAB that readers see at a glance; 2.3 is just noticeable."""


def distance(one: str, other: str) -> float:
    """The distance of two colours (`#rrggbb`) in CIELAB (1976), in the vision in which it is shortest."""
    return min(math.dist(_cielab(one, matrix), _cielab(other, matrix)) for matrix in VISIONS.values())


def _cielab(color: str, matrix: tuple[tuple[float, ...], ...]) -> tuple[float, float, float]:
    linear = [_linear(int(color[at : at + 2], 16) / 255) for at in (1, 3, 5)]
    red, green, blue = (min(1.0, max(0.0, _product(row, linear))) for row in matrix)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883
    return 116 * _root(y) - 16, 500 * (_root(x) - _root(y)), 200 * (_root(y) - _root(z))


def _product(row: Sequence[float], column: Sequence[float]) -> float:
    return sum(one * other for one, other in zip(row, column, strict=True))


def _linear(share: float) -> float:
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def _root(share: float) -> float:
    return float(share ** (1 / 3)) if share > 0.008856 else 7.787 * share + 16 / 116
