"""Which back ends this host has, and how to get the others."""

from __future__ import annotations

from pacelab.doctor import Feature, examine
from pacelab.lab.table import Table

_PREFIX = "back end "
_WHAT = {
    "sim": "virtual time; all of this lab but the cells on real hosts",
    "tap": "real Linux hosts on this machine, our air between them",
    "hwsim": "real Linux hosts with Linux's own Wi-Fi stack, our air between them",
}


def found_back_ends() -> dict[str, Feature]:
    """Back end -> what `pacelab doctor` says of it on this host."""
    return {feature.name.removeprefix(_PREFIX): feature for feature in examine() if feature.name.startswith(_PREFIX)}


def back_ends() -> Table:
    """A table of the back ends, whether this host has them, and the command that adds what is missing."""
    rows = [
        (name, _WHAT.get(name, ""), feature.present, feature.detail if feature.present else feature.mend)
        for name, feature in found_back_ends().items()
    ]
    return Table(("back end", "what it is", "here", "detail, or how to get it"), rows)
