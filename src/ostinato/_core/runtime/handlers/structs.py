"""Type hints of arguments that pydantic does not know by itself: the structs of msgspec, where that is used."""

import sys
import types
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema


def storable_hint(hint: Any) -> Any:  # noqa: ANN401 - a type hint is anything
    """Return the hint with each struct replaced by what checks it, writes it and reads it back."""
    msgspec = sys.modules.get("msgspec")  # a signature with a struct has imported it
    if msgspec is None:
        return hint
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return Annotated[
            Any,
            BeforeValidator(lambda value: value if isinstance(value, hint) else msgspec.convert(value, hint)),
            PlainSerializer(msgspec.to_builtins),
            WithJsonSchema({"type": "object", "title": hint.__name__}),
        ]
    parts = get_args(hint)
    changed = tuple(storable_hint(each) for each in parts)
    if get_origin(hint) is Annotated or all(a is b for a, b in zip(parts, changed, strict=True)):
        return hint
    origin = get_origin(hint)
    return Union[changed] if origin in (Union, types.UnionType) else origin[changed]  # noqa: UP007 - made of values
