"""A failed hook of a user's own scheme ends the run with the hook's message and its place in the user's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pacelab.schemes.registry import SCHEMES
from pacelab.schemes.scheme import Scheme
from pacelab.user_code.messages import UserCodeError, place_of


def is_user_scheme(scheme: Scheme) -> bool:
    """Whether this scheme is not one of the registered ones."""
    return SCHEMES.get(scheme.name) is not scheme


def raise_failed_hook(scheme: Scheme, points: Sequence[str], reports: Sequence[Mapping[str, Any]]) -> None:
    """Raise UserCodeError for the first hook of a user's scheme that a back end reports as failed.

    The hook may have failed in another process, or by an action that the back end could not read. `points` and
    `reports` have one entry for each hook, in the same order.
    """
    for point, report in zip(points, reports, strict=True):
        if is_user_scheme(scheme) and report["failed"] is not None:
            said = f"scheme {scheme.name}: the {point} hook at node {report['node']} failed: {report['failed']}"
            raise UserCodeError(f"{said}\n{place_of(getattr(scheme, point))}".rstrip())
