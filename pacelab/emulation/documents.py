"""Documents from another process: strict models, and a one-line message about an invalid document.

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

    A document contains every field, even a field that is None. A missing or unknown field is refused by its name. A
    setting with `omit_default` is absent at its default, if the document's model has the same default.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_serializer(mode="wrap")
    def _without_defaults(self, write: SerializerFunctionWrapHandler) -> JsonObject:
        values = write(self)
        needed = {name for name, field in type(self).model_fields.items() if field.is_required()}
        kept = without_defaults(values).keys() | needed
        return {name: value for name, value in values.items() if name in kept}


def _check_complete(given: Any) -> Any:
    if isinstance(given, dict):
        wanted = (item.name for item in fields(HookSettings) if item.name not in OMITTED_DEFAULTS)
        for name in wanted:
            if name not in given:
                raise ValueError(f"{name}: it is missing")
        for name, value in given.items():
            # This check comes before pydantic's own, whose message about the type is less clear.
            if name in BY_FIELD and value is not None:
                BY_FIELD[name].check(value)
    return given


def _without_defaults(settings: HookSettings, write: SerializerFunctionWrapHandler) -> JsonObject:
    return without_defaults(write(settings))


WholeHookSettings = Annotated[HookSettings, BeforeValidator(_check_complete), WrapSerializer(_without_defaults)]
"""Settings in which no field is left to a default, except those with `omit_default`."""

Model = TypeVar("Model", bound=BaseModel)


def read_document(model: type[Model], text: bytes | str, name: str) -> Model:
    """Parse the JSON `text` into a document. Raises ConfigError with one line that names the invalid field."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise ConfigError(f"{name}: {first_error(error)}") from None
    except (ConfigError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: {error}") from None


def first_error(error: ValidationError, *, given: bool = False) -> str:
    """The first error: the field (if not the whole document) and the reason; with `given` also the value."""
    first = error.errors(include_url=False, include_context=False, include_input=given)[0]
    where = ".".join(map(str, first["loc"]))
    named = first["type"] == "value_error"  # the check of a domain names the value
    shown = f"; given is {str(first['input'])[:60]}" if given and where and not named else ""
    return f"{where}: {first['msg'].removeprefix('Value error, ')}{shown}".removeprefix(": ")
