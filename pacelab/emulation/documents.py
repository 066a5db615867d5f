"""Documents that come from another process: strict models, and what is wrong with one, in a line.

A plan and an agent's task are such documents.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    SerializerFunctionWrapHandler,
    ValidationError,
    WrapSerializer,
    model_serializer,
)

from pacelab.documents import JsonObject
from pacelab.errors import ConfigError
from pacelab.options.settings import BY_FIELD, OMITTED_DEFAULTS, without_defaults
from pacelab.schemes import HookSettings


class Document(BaseModel):
    """A strict model: no unknown field, no conversion between types, no infinite number.

    Every field stands in a document, those that are None too: one that is missing is refused by its name, as is one
    that nobody knows. Settings with `omit_default` are absent while they have their default, if the document's model
    has that default as well.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_serializer(mode="wrap")
    def _without_defaults(self, write: SerializerFunctionWrapHandler) -> JsonObject:
        values = write(self)
        needed = {name for name, field in type(self).model_fields.items() if field.is_required()}
        kept = without_defaults(values).keys() | needed
        return {name: value for name, value in values.items() if name in kept}


def _whole(given: Any) -> Any:
    if isinstance(given, dict):
        wanted = (item.name for item in fields(HookSettings) if item.name not in OMITTED_DEFAULTS)
        for name in wanted:
            if name not in given:
                raise ValueError(f"{name}: it is missing")
        for name, value in given.items():
            if name in BY_FIELD and value is not None:  # before pydantic refuses a type in its own words
                BY_FIELD[name].check(value)
    return given


def _without_defaults(settings: HookSettings, write: SerializerFunctionWrapHandler) -> JsonObject:
    return without_defaults(write(settings))


WholeHookSettings = Annotated[HookSettings, BeforeValidator(_whole), WrapSerializer(_without_defaults)]
"""Settings with no field left to a default, except those with `omit_default`."""

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
    named = first["type"] == "value_error"  # the check of a domain names the value
    shown = f"; given is {str(first['input'])[:60]}" if given and where and not named else ""
    return f"{where}: {first['msg'].removeprefix('Value error, ')}{shown}".removeprefix(": ")
