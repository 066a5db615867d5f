"""A scheme of one's own, as FILE.py:NAME."""

from __future__ import annotations

from functools import lru_cache

from pacelab.errors import ConfigError
from pacelab.options.own_code import digest_of, load_own
from pacelab.schemes.scheme import Scheme

RUNNERS = {"Pacer": "run_pacer", "LinkLayer": "run_link_layer"}
"""What runs a class that is no scheme, by the name of its base: those bases are of a layer above."""


def load_scheme(name: str) -> Scheme:
    """The `pacelab.Scheme` that FILE.py:NAME names; read anew when the file has changed."""
    return _load_scheme(name, digest_of("--scheme", name.rpartition(":")[0]))


@lru_cache(maxsize=16)
def _load_scheme(name: str, _digest: str) -> Scheme:
    module, attribute = load_own("--scheme", name)
    found = getattr(module, attribute, None)
    if not isinstance(found, Scheme):
        kinds = {base.__name__ for base in getattr(found, "__mro__", ())}
        runner = next((RUNNERS[kind] for kind in RUNNERS if kind in kinds), None)
        told = f", but a class for pacelab.{runner}, from Python (docs/own-code.md)" if runner else ""
        raise ConfigError(f"--scheme {name!r}: the file has no pacelab.Scheme called {attribute!r}{told}")
    return found
