"""A scheme of one's own, as FILE.py:NAME."""

from __future__ import annotations

from functools import lru_cache

from pacelab.errors import ConfigError
from pacelab.options.own_code import digest_of, load_own
from pacelab.schemes.scheme import Scheme


def load_scheme(name: str) -> Scheme:
    """The `pacelab.Scheme` that FILE.py:NAME names; read anew when the file has changed."""
    return _load_scheme(name, digest_of("--scheme", name.rpartition(":")[0]))


@lru_cache(maxsize=16)
def _load_scheme(name: str, _digest: str) -> Scheme:
    module, attribute = load_own("--scheme", name)
    found = getattr(module, attribute, None)
    if not isinstance(found, Scheme):
        raise ConfigError(f"--scheme {name!r}: the file has no pacelab.Scheme called {attribute!r}")
    return found
