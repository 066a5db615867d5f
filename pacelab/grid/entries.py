"""What stands in a list of schemes: a scheme, or a congestion control by itself, each by name or as FILE.py:NAME."""

from __future__ import annotations

from pathlib import PurePath

from pacelab.errors import ConfigError
from pacelab.options.own_code import is_own, load_own
from pacelab.options.request import Request
from pacelab.options.table import CONTROLS
from pacelab.schemes import SCHEMES, find_scheme
from pacelab.show.tables import BASELINE
from pacelab.sim.congestion import CongestionControl


def changes_of(entry: str) -> Request:
    """What an experiment is given for it: of a congestion control, that at the senders and no scheme."""
    return {"scheme": BASELINE, "cc": entry} if _is_control(entry) else {"scheme": entry}


def names_of(entries: list[str]) -> list[str]:
    """Their own names, as tables and legends have them; ConfigError where two are the same."""
    names = [_name(entry) for entry in entries]
    if len(set(names)) < len(names):
        raise ConfigError(f"comparing {', '.join(names)}: allowed is each name once")
    return names


def _name(entry: str) -> str:
    if not _is_control(entry):
        return find_scheme(entry).name
    path, _, name = entry.rpartition(":")
    if not path:
        return name
    return f"{name} ({PurePath(path).name})" if name in (*SCHEMES, *CONTROLS) else name


def _is_control(entry: str) -> bool:
    if is_own(entry):
        module, name = load_own("--schemes", entry)
        found = getattr(module, name, None)
        return isinstance(found, type) and issubclass(found, CongestionControl)
    return entry not in SCHEMES and entry in CONTROLS
