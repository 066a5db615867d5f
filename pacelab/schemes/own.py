"""A scheme of one's own, as FILE.py:NAME."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from pacelab.errors import ConfigError
from pacelab.options.own_code import digest_of, load_own, meant_instead
from pacelab.schemes.scheme import Scheme


def load_scheme(name: str) -> Scheme:
    """The `pacelab.Scheme` that FILE.py:NAME names, or what its class stands for among schemes (a `pacelab.Pacer`, a
    `pacelab.LinkLayer`); read anew when the file has changed.
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
            raise ConfigError(f"--scheme {name!r}: it is {other} {name}")
        told = f"the file has no pacelab.Scheme, Pacer or LinkLayer called {missing!r}{instead}"
        raise ConfigError(f"--scheme {name!r}: {told}")
    return found


@lru_cache(maxsize=16)
def _load(name: str, _digest: str) -> tuple[object, str]:
    """What the file has by this name; if it has nothing, what may be meant instead."""
    module, attribute = load_own("--scheme", name)
    if not hasattr(module, attribute):
        return None, meant_instead(module, attribute)
    return getattr(module, attribute), ""
