"""What stands in a list of schemes: a scheme, or a congestion control by itself, each by name or as FILE.py:NAME."""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePath

from pacelab.errors import ConfigError
from pacelab.options.own_code import digest_of, is_own, load_own
from pacelab.options.request import Request
from pacelab.options.table import CONTROLS
from pacelab.schemes import SCHEMES, find_scheme
from pacelab.show.tables import BASELINE
from pacelab.sim.congestion import CongestionControl

ALL = "all"
"""By itself in a comparison's list: all schemes that can act."""


def changes_of(entry: str) -> Request:
    """What an experiment is given for it: of a congestion control, that at the senders and no scheme."""
    return {"scheme": BASELINE, "cc": entry} if _is_control(entry) else {"scheme": entry}


def scheme_of(entry: str) -> str:
    """The scheme that is at work in it: beside a congestion control, none; in the place of all, the first."""
    return BASELINE if entry == ALL or _is_control(entry) else entry


def names_of(entries: list[str]) -> list[str]:
    """Their own names, as tables and legends have them; ConfigError where two are the same."""
    found: dict[str, str] = {}
    for entry in entries:
        name = _name(entry)
        if name in found:
            both = f"{found[name]} and {entry}"
            raise ConfigError(f"comparing {both}: both are called {name}: allowed is each name once: rename one")
        found[name] = entry
    return list(found)


def _name(entry: str) -> str:
    if not _is_control(entry):
        return find_scheme(entry).name
    path, _, name = entry.rpartition(":")
    if not path:
        return name
    return f"{name} ({PurePath(path).name})" if name in (*SCHEMES, *CONTROLS) else name


def _is_control(entry: str) -> bool:
    if entry == ALL:
        raise ConfigError("--schemes all beside others, or in a sweep: allowed is all by itself, in a comparison")
    if is_own(entry):
        path = entry.rpartition(":")[0]
        return _is_own_control(entry, digest_of(f"--schemes {entry!r}", path))
    return entry not in SCHEMES and entry in CONTROLS


@lru_cache(maxsize=16)
def _is_own_control(entry: str, _digest: str) -> bool:
    """Once for all points of a grid, unless the file changes: the file runs."""
    module, name = load_own("--schemes", entry)
    found = getattr(module, name, None)
    return isinstance(found, type) and issubclass(found, CongestionControl)
