"""Validation of settings: one helper, so that every message has the same form."""

from __future__ import annotations


def require(ok: bool, name: str, value: object, valid: str) -> None:
    """Raise ValueError unless `ok`: setting `name` must be `valid`, not `value`."""
    if not ok:
        raise ValueError(f"{name} must be {valid}, not {value!r}")
