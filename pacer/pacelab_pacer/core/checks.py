"""Validation of configurations: one helper, so that every message names the field, the value and what is allowed."""

from __future__ import annotations


def require(ok: bool, name: str, value: object, allowed: str) -> None:
    """Raise ValueError unless `ok`, saying what `name` was and what is `allowed`."""
    if not ok:
        raise ValueError(f"{name} is {value!r}: allowed is {allowed}")
