"""The file of `--network`: names of switches and addresses, and which switches may connect."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Any

from pacelab.documents import JsonObject
from pacelab_controller.errors import InputError

KEYS = ("names", "switches", "picture")
_ID = re.compile(r"(0x)?[0-9A-Fa-f]{1,16}")
_EXAMPLE = "docs/controller.md has an example"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFile:
    """The content of the file."""

    names: dict[str, str] = field(default_factory=dict)
    """Switch (16 hexadecimal digits) or address -> name."""
    switches: tuple[int, ...] | None = None
    """The switches that may connect; None: any."""
    picture: JsonObject | None = None
    """For the page."""


def read_network(path: Path | None) -> NetworkFile:
    """Read the file; without a path, an empty one. Raises InputError."""
    if path is None:
        return NetworkFile()
    try:
        return _network(json.loads(path.read_text("utf-8-sig")))
    except OSError as error:
        raise InputError(f"--network {path} cannot be read: {error.strerror}; give a JSON file") from None
    except json.JSONDecodeError as error:
        why = f"line {error.lineno}: {error.msg}"
        raise InputError(f"--network {path}: the file must be JSON ({why}); {_EXAMPLE}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"--network {path}: {error}; {_EXAMPLE}") from None


def _network(found: Any) -> NetworkFile:
    if not isinstance(found, dict):
        raise ValueError(f"it must be an object with {', '.join(KEYS)}")
    for key in found:
        if key not in KEYS:
            raise ValueError(f"unknown key {key!r}; valid keys are {', '.join(KEYS)}")
    names, switches, picture = found.get("names", {}), found.get("switches"), found.get("picture")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise ValueError("names must be an object of texts")
    if switches is not None and not isinstance(switches, list):
        raise ValueError("switches must be a list")
    if picture is not None and not isinstance(picture, dict):
        raise ValueError("picture must be an object")
    return NetworkFile(
        names={_normalized(key): name for key, name in names.items()},
        switches=None if switches is None else tuple(_switch(one) for one in switches),
        picture=picture,
    )


def _normalized(key: str) -> str:
    """A switch as the controller writes it, or an address."""
    if _ID.fullmatch(key):
        return f"{_switch(key):016x}"
    try:
        return str(IPv4Address(key))
    except AddressValueError:
        raise ValueError(f"names: {key!r} must be a switch's hexadecimal digits or an IPv4 address") from None


def _switch(text: Any) -> int:
    if not isinstance(text, str) or not _ID.fullmatch(text):
        raise ValueError(f"switches: {text!r} must be a text of up to 16 hexadecimal digits")
    return int(text, 16)
