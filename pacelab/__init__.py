"""PaceLab: TCP over multihop 802.11, and what pacing does for it.

The names below are the public API; they are loaded when first used, so that importing a leaf such as
`pacelab.units` or `pacelab.pacer.core` pulls in nothing else.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_PUBLIC: dict[str, str] = {}
"""Public name -> module that defines it."""

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'pacelab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
