"""Checks of settings, so that every message has the same form.

A limit of one setting is a domain. A relation of several settings is a condition with its words.
"""

from __future__ import annotations

from pacelab.domains import Domain, Real, Whole

AT_LEAST_1 = Whole(1)
"""A number of things, or a duration in ns, of which there is at least one."""
AT_LEAST_0 = Whole(0)
ABOVE_0 = Real(0, above=True)
NOT_NEGATIVE = Real(0)
SHARE = Real(0, 1)
SHARE_BELOW_1 = Real(0, 1, below=True)
SHARE_ABOVE_0 = Real(0, 1, above=True)


def check(name: str, value: object, domain: Domain) -> None:
    """Raise ValueError unless setting `name` has a value of this domain."""
    try:
        domain.check(value)
    except ValueError:
        raise ValueError(f"{name} must be {domain.allowed}, not {value!r}") from None


def check_fields(made: object, **domains: Domain) -> None:
    """Check the fields of these names, in `__post_init__` of a dataclass."""
    for name, domain in domains.items():
        check(name, getattr(made, name), domain)


def require(ok: bool, name: str, value: object, valid: str) -> None:
    """Raise ValueError unless `ok`: setting `name` must be `valid`, not `value`."""
    if not ok:
        raise ValueError(f"{name} must be {valid}, not {value!r}")
