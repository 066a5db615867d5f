"""The baseline: what every scheme is compared with."""

from __future__ import annotations

from pacelab.schemes.scheme import Scheme
from pacelab.schemes.style import Style

SCHEMES = (
    Scheme(
        name="newreno",
        summary="the baseline: TCP NewReno alone, no hook",
        source="RFC 6582",
        style=Style("#000000", "o", "--"),
    ),
)
