"""Writes values as JSON documents, with every digit kept.

JSON that PostgreSQL stores is written unchanged, digit by digit: a `Raw` is copied, never parsed
and written again.
"""

import dataclasses
import json
import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection
from psycopg.types.json import set_json_loads


class Raw(str):
    """JSON text that is copied into a document unchanged."""

    __slots__ = ()


def keep_json_raw(conn: AsyncConnection[Any]) -> None:
    """Make a connection return JSON columns as `Raw` text."""
    set_json_loads(_raw, conn)


def parsed(value: object) -> Any:  # noqa: ANN401 - whatever the JSON holds
    """Return a value for people to read: raw text is parsed."""
    return json.loads(value) if isinstance(value, Raw) else value


def fields_of(value: object) -> Mapping[Any, object]:
    """Return the fields of a row, by name."""
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return dict(zip(value._fields, value, strict=True))  # type: ignore[attr-defined,call-overload]


def to_json(value: object, *, indent: int | None = None) -> str:
    """Return the value as one JSON document."""
    mark = secrets.token_hex(8)  # no text in the document can look like it
    kept: list[Raw] = []
    text = json.dumps(_plain(value, mark, kept), ensure_ascii=False, indent=indent)
    return re.sub(f'"{mark}-([0-9]+)"', lambda found: kept[int(found[1])], text)


def _plain(value: object, mark: str, kept: list[Raw]) -> object:
    """Return the value as json.dumps takes it; raw text leaves a mark that is replaced afterwards."""
    if isinstance(value, Raw):
        kept.append(value)
        return f"{mark}-{len(kept) - 1}"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple) and not hasattr(value, "_asdict"):
        return [_plain(item, mark, kept) for item in value]
    if isinstance(value, Mapping) or dataclasses.is_dataclass(value) or isinstance(value, tuple):
        return {str(key): _plain(item, mark, kept) for key, item in fields_of(value).items()}
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _raw(data: str | bytes) -> Raw:
    return Raw(data.decode() if isinstance(data, bytes) else data)
