"""One setting: how it is declared, read from text, and checked. For `settings` and `sections`."""

import dataclasses
from typing import Any

from ostinato._core.base.errors import SettingsError
from ostinato._core.base.redact import redact

__all__ = ["checked", "parsed", "setting", "shown"]

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def setting(
    default: Any,  # noqa: ANN401 - the field's own annotation says the type
    description: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:  # noqa: ANN401 - as above
    """Declare a field of a frozen dataclass as a setting."""
    metadata = {"description": description, "low": low, "high": high, "choices": choices}
    return dataclasses.field(default=default, metadata=metadata)


def parsed(kind: object, text: str) -> object:
    """The text of an environment variable as the type of the field, or as it is."""
    if kind is bool and text.lower() in _TRUE + _FALSE:
        return text.lower() in _TRUE
    try:
        if kind is int:
            return int(text)
        if kind is float:
            return float(text)
    except ValueError:
        pass
    return text


def checked(field: "dataclasses.Field[Any]", kind: object, value: object, source: str) -> object:
    """The value, if it has the type and range of the field."""
    if value is None and kind == str | None:
        return None
    wanted: type = str if kind == str | None else kind  # type: ignore[assignment]
    if wanted is float and type(value) is int:
        value = float(value)
    # `type() is`, because bool is an int to Python, and nobody means concurrency = true
    if type(value) is not wanted:
        raise _invalid(source, value, f"must be {_KINDS[wanted]}")
    choices, low, high = (field.metadata[name] for name in ("choices", "low", "high"))
    if choices and value not in choices:
        raise _invalid(source, value, f"must be one of {', '.join(choices)}")
    if low is not None and not low <= value <= high:
        raise _invalid(source, value, f"must be from {low:,g} to {high:,g}")
    return value


def _invalid(source: str, value: object, rule: str) -> SettingsError:
    told = shown(value)
    return SettingsError(f"{source} {rule}, got {told}", source=source, value=told)


def shown(value: object) -> str:
    """A value as a message may show it."""
    return repr(redact(value) if isinstance(value, str) else value)
