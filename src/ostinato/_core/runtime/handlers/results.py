"""Results of handlers and steps are stored as JSON text."""

from collections.abc import Iterable
from types import NoneType

import pydantic_core

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.jsonio import dump_args

MAX_RESULT_BYTES = 1_048_576

_EXACT = frozenset((str, int, float, bool, NoneType))


def dump_result(result: object) -> str | None:
    """Write a result as JSON text that PostgreSQL can store, None for no result."""
    if result is None:
        return None
    try:
        plain = pydantic_core.to_jsonable_python(result, inf_nan_mode="constants")
        return dump_args(plain, MAX_RESULT_BYTES)
    except (InvalidInput, ValueError, TypeError) as error:
        message = error.message if isinstance(error, InvalidInput) else str(error)
        raise InvalidInput(
            f"the result cannot be stored: {message}",
            hint="Return JSON-like data, or store the data yourself and return its key.",
        ) from None


def dump_step(name: str, result: object) -> str | None:
    """Write the result of a step as JSON text that reads back as the same value, None for none.

    Stricter than `dump_result`: a later attempt must get what this one got.
    """
    if result is None:
        return None
    try:
        text = dump_args(result, MAX_RESULT_BYTES)
    except InvalidInput as error:
        what = error.message.replace("args", "it", 1)
        raise InvalidInput(
            f"the result of step {name!r} cannot be stored: {what}", hint=error.hint, step=name
        ) from None
    changed = _changed(result, "$")
    if changed is not None:
        raise InvalidInput(
            f"the result of step {name!r} would not come back as it is: {changed}",
            hint="Return text, numbers, booleans, None, lists and dicts; convert before or after.",
            step=name,
        )
    return text


def _changed(value: object, path: str) -> str | None:
    """Find the first place that JSON would read back as another type."""
    if type(value) in _EXACT:
        return None
    children: Iterable[tuple[object, object]]
    if type(value) is dict:
        children = value.items()
    elif type(value) is list:
        children = enumerate(value)
    else:
        return f"{path} is of type {type(value).__name__}"
    for key, child in children:
        if type(child) not in _EXACT:
            found = _changed(child, f"{path}[{key!r}]")
            if found is not None:
                return found
    return None
