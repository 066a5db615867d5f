"""A scheme of one's own, as FILE.py:NAME."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from pacelab.errors import ConfigError
from pacelab.options.own_code import digest_of, load_own
from pacelab.schemes.scheme import Scheme


def load_scheme(name: str) -> Scheme:
    """The `pacelab.Scheme` that FILE.py:NAME names, or what its class stands for among schemes (a `pacelab.Pacer`, a
    `pacelab.LinkLayer`); read anew when the file has changed.
    """
    found = _load(name, digest_of("--scheme", name.rpartition(":")[0]))
    maker = getattr(found, "AMONG_SCHEMES", None)
    if isinstance(found, type) and isinstance(maker, str):
        module, _, function = maker.partition(":")
        found = getattr(import_module(module), function)(found)
    if not isinstance(found, Scheme):
        missing = name.rpartition(":")[2]
        instead = getattr(found, "NO_SCHEME", None)
        if isinstance(found, type) and isinstance(instead, str):
            raise ConfigError(f"--scheme {name!r}: it is {instead} {name}")
        raise ConfigError(f"--scheme {name!r}: the file has no pacelab.Scheme, Pacer or LinkLayer called {missing!r}")
    return found


@lru_cache(maxsize=16)
def _load(name: str, _digest: str) -> object:
    module, attribute = load_own("--scheme", name)
    return getattr(module, attribute, None)
