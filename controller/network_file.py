"""The file of `--network`: who is who, and which switches may connect."""

from __future__ import annotations

import json
import re
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Any

from pacelab.controller.errors import InputError

KEYS = ("names", "switches", "picture")
_ID = re.compile(r"(0x)?[0-9A-Fa-f]{1,16}")
_EXAMPLE = "docs/controller.md has an example"


def read_network(path: Path | None) -> dict[str, Any]:
    """`names`, `switches` (None: any may connect) and `picture` of a file."""
    if path is None:
        return {"names": {}, "switches": None, "picture": None}
    try:
        found = json.loads(path.read_text("utf-8"))
        return _checked(found)
    except OSError as error:
        raise InputError(f"--network {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"--network {path}: {error}; {_EXAMPLE}") from None


def _checked(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"allowed is an object with {', '.join(KEYS)}")
    for key in found:
        if key not in KEYS:
            raise ValueError(f"{key!r}: allowed is one of {', '.join(KEYS)}")
    names, switches, picture = found.get("names", {}), found.get("switches"), found.get("picture")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise ValueError("names: allowed is an object of texts")
    if switches is not None and not isinstance(switches, list):
        raise ValueError("switches: allowed is a list")
    if picture is not None and not isinstance(picture, dict):
        raise ValueError("picture: allowed is an object")
    return {
        "names": {_named(key): name for key, name in names.items()},
        "switches": None if switches is None else [_switch(one) for one in switches],
        "picture": picture,
    }


def _named(key: str) -> str:
    """A switch as the controller writes it, or an address."""
    if _ID.fullmatch(key):
        return f"{_switch(key):016x}"
    try:
        return str(IPv4Address(key))
    except AddressValueError:
        raise ValueError(f"names: {key!r}: allowed is a switch's hexadecimal digits or an IPv4 address") from None


def _switch(text: Any) -> int:
    if not isinstance(text, str) or not _ID.fullmatch(text):
        raise ValueError(f"switches: {text!r}: allowed are a switch's up to 16 hexadecimal digits, as a text")
    return int(text, 16)
