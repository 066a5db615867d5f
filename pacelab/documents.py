"""JSON documents whose form is not a type of Python's.

Everything else that goes from one module to another is a dataclass, a pydantic model, or a TypedDict.
"""

from __future__ import annotations

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object of a free form: data of a page, a message of another program, or what an own reader checks."""
