"""All schemes by name, in the order of the papers, and user schemes, given as FILE.py:NAME."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from pacelab.domains import like_which
from pacelab.errors import ConfigError
from pacelab.options.congestion_controls import TABLE
from pacelab.schemes import ack_suppression, candidates, expect, link_red, tcp_ap, tcp_gap, vagp
from pacelab.schemes.scheme import Scheme
from pacelab.schemes.style import Style
from pacelab.user_code.loading import did_you_mean, digest_of, is_user_code, load_user_code

_NEWRENO = Scheme(
    name="newreno",
    summary="the baseline: TCP NewReno alone, no hook",
    source="RFC 6582",
    style=Style("#000000", "o", "--"),
)
"""The scheme that all others are compared with."""
_PAPERS = (tcp_gap, tcp_ap, expect, ack_suppression, vagp, candidates, link_red)
_JOINED = {scheme.name: scheme for scheme in (_NEWRENO, *(own for paper in _PAPERS for own in paper.SCHEMES))}
_FIRST = (
    *("newreno", "tcp-gap", "tcp-gap-nogc", "tcp-ap", "tcp-gap-code", "tcp-gap-eval"),
    *("tcp-gap-eval-nogc", "tcp-gap+codel", "tcp-gap-eval+codel", "tcp-ap-oid", "delayed-ack"),
    *("tcp-ap+delayed-ack", "tcp-expect", "ack-suppression", "priority", "edca", "fixed-rate", "vagp"),
    *("vagp-choke", "vagp-noqm", "window-control", "data-pacing", "ack-pacing", "lred", "lred-ecn"),
    *("link-pacing", "lred+pacing", "lred-ecn+pacing"),
)
"""The order in which schemes are listed; the others follow."""

SCHEMES: Mapping[str, Scheme] = MappingProxyType({name: _JOINED[name] for name in (*_FIRST, *_JOINED)})
"""Name -> scheme."""


def find_scheme(name: str, *, flag: str = "--scheme") -> Scheme:
    """The scheme called `name`, or a user scheme given as FILE.py:NAME. Raises ConfigError, which names the known
    schemes.
    """
    if is_user_code(name):
        return load_scheme(name)
    if name.endswith(".py"):
        nameless = f"{name}:"
        is_there = Path(name).is_file()
        instead = did_you_mean(load_user_code(flag, nameless)[0], nameless, _is_scheme) if is_there else ""
        raise ConfigError(f"{flag} must be FILE.py:NAME with a name of that file, not {name!r}{instead}")
    if name not in SCHEMES:
        if name in TABLE:
            raise ConfigError(f"{flag} {name!r} is a congestion control; use --cc {name}")
        like = like_which(name, (*SCHEMES, *TABLE))
        raise ConfigError(f"{flag} must be one of {', '.join(SCHEMES)}, or FILE.py:NAME, not {name!r}{like}")
    return SCHEMES[name]


def load_scheme(name: str) -> Scheme:
    """The `pacelab.Scheme` called NAME in FILE.py, or the scheme of a class (a `pacelab.Pacer` or `pacelab.LinkLayer`).
    Loaded again if the file has changed.
    """
    found, instead = _load(name, digest_of("--scheme", name.rpartition(":")[0]))
    maker = getattr(found, "AMONG_SCHEMES", None)
    if isinstance(found, type) and isinstance(maker, str):
        module, _, function = maker.partition(":")
        found = getattr(import_module(module), function)(found)
    if not isinstance(found, Scheme):
        missing = name.rpartition(":")[2]
        other = getattr(found, "NO_SCHEME", None)
        if isinstance(found, type) and isinstance(other, str):
            raise ConfigError(f"--scheme must be a scheme, and {name!r} is {other} {name}")
        told = f"the file has no pacelab.Scheme, Pacer or LinkLayer called {missing!r}"
        raise ConfigError(f"--scheme {name!r}: {told}{instead or '; `pacelab new scheme NAME` writes an example'}")
    return found


def _is_scheme(found: object) -> bool:
    return isinstance(found, Scheme) or (isinstance(found, type) and hasattr(found, "AMONG_SCHEMES"))


@lru_cache(maxsize=16)
def _load(name: str, _digest: str) -> tuple[object, str]:
    """The object of this name in the file, and what to write instead if it is no scheme."""
    module, attribute = load_user_code("--scheme", name)
    return getattr(module, attribute, None), did_you_mean(module, name, _is_scheme)
