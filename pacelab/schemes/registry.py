"""All schemes by name, in the order of the papers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pacelab.errors import ConfigError
from pacelab.options.own_code import is_own
from pacelab.options.table import CONTROLS
from pacelab.schemes import ack_suppression, baseline, candidates, expect, link_red, tcp_ap, tcp_gap, vagp
from pacelab.schemes.own import load_scheme
from pacelab.schemes.scheme import Scheme
from pacelab.topologies.domain import like_which

_PAPERS = (baseline, tcp_gap, tcp_ap, expect, ack_suppression, vagp, candidates, link_red)
_JOINED = {scheme.name: scheme for paper in _PAPERS for scheme in paper.SCHEMES}
_FIRST = (
    *("newreno", "tcp-gap", "tcp-gap-nogc", "tcp-ap", "tcp-gap-code", "tcp-gap-eval"),
    *("tcp-gap-eval-nogc", "tcp-ap-oid", "delayed-ack"),
    *("tcp-ap+delayed-ack", "tcp-expect", "ack-suppression", "priority", "edca", "fixed-rate", "vagp"),
    *("vagp-choke", "vagp-noqm", "window-control", "data-pacing", "ack-pacing", "lred", "lred-ecn"),
    *("link-pacing", "lred+pacing", "lred-ecn+pacing"),
)
"""The order in which schemes are listed; those not named here follow."""

SCHEMES: Mapping[str, Scheme] = MappingProxyType({name: _JOINED[name] for name in (*_FIRST, *_JOINED)})
"""Name -> scheme."""


def find_scheme(name: str) -> Scheme:
    """The scheme called `name`, or one's own as FILE.py:NAME; ConfigError names the known ones."""
    if is_own(name):
        return load_scheme(name)
    if name.endswith(".py"):
        raise ConfigError(f"--scheme {name!r}: allowed is FILE.py:NAME, with a name that stands in the file")
    if name not in SCHEMES:
        if name in CONTROLS:
            raise ConfigError(f"--scheme {name!r}: it is a congestion control: --cc {name}")
        allowed = f"allowed is one of {', '.join(SCHEMES)}, or FILE.py:NAME"
        raise ConfigError(f"--scheme {name!r}: {like_which(name, (*SCHEMES, *CONTROLS))}{allowed}")
    return SCHEMES[name]
