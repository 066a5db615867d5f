"""Documents that come from another process: strict models, and what is wrong with one, in a line.

Every field stands in a document, those that are None too: one that is missing is refused by its name, as is one that
nobody knows.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from pacelab.errors import ConfigError
from pacelab.schemes import HookSettings


class Document(BaseModel):
    """A strict model: no unknown field, no conversion between types, no infinite number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def _whole(given: Any) -> Any:
    missing = [item.name for item in fields(HookSettings) if isinstance(given, dict) and item.name not in given]
    if missing:
        raise ValueError(f"{missing[0]}: it is missing")
    return given


WholeHookSettings = Annotated[HookSettings, BeforeValidator(_whole)]
"""Settings with no field left to a default."""

Model = TypeVar("Model", bound=BaseModel)


def read_document(model: type[Model], text: bytes | str, name: str) -> Model:
    """The document that `text` is, as JSON; ConfigError in one line names the field that is wrong."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise ConfigError(f"{name}: {complaint(error)}") from None
    except (ConfigError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: {error}") from None


def complaint(error: ValidationError, *, given: bool = False) -> str:
    """The first thing that is wrong: which field (of the whole document none), why, and with `given` what it was."""
    first = error.errors(include_url=False, include_context=False, include_input=given)[0]
    where = ".".join(map(str, first["loc"]))
    shown = f"; given is {str(first['input'])[:60]}" if given and where else ""
    return f"{where}: {first['msg'].removeprefix('Value error, ')}{shown}".removeprefix(": ")
