"""Turns a job's arguments into JSON that PostgreSQL stores and every client reads back.

Strict on purpose: what `json.dumps` lets through or silently changes (NaN, NUL, lone surrogates,
keys that are not strings) would fail later, far from the caller that could fix it.

The good case costs one `json.dumps` and a quick look; only when something is wrong is the value
walked slowly, to name the place.
"""

import json
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ostinato._core.base.errors import InvalidInput

MAX_DEPTH = 64
MAX_DIGITS = 4000  # Python refuses to read back integers of more than 4,300 digits
_TOO_LONG = 10**MAX_DIGITS
_EXCERPT = 40
_LONGEST_PATH = 120

_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode

_REMEDIES = {
    "bytes": "Encode it as text first, for example base64.b64encode(value).decode().",
    "bytearray": "Encode it as text first, for example base64.b64encode(value).decode().",
    "datetime": "Pass value.isoformat() and parse it in the handler.",
    "date": "Pass value.isoformat() and parse it in the handler.",
    "time": "Pass value.isoformat() and parse it in the handler.",
    "timedelta": "Pass value.total_seconds().",
    "Decimal": "Pass str(value), which keeps every digit.",
    "UUID": "Pass str(value).",
    "set": "Pass sorted(value) or list(value).",
    "frozenset": "Pass sorted(value) or list(value).",
}


def dump_args(value: object, max_bytes: int) -> str:
    """Return the value as compact, strict JSON of at most `max_bytes` bytes in UTF-8.

    Raises InvalidInput, naming the place (`$.lines[3].price`), the value and the remedy.
    """
    try:
        text = _encode(value)
        size = len(text) if text.isascii() else len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise _STORED.fault(value) or InvalidInput(f"args are not JSON: {error}") from None
    # NUL is always escaped in the text; an escaped backslash before u0000 looks the same,
    # which the walk then distinguishes
    if (not _fits(value, MAX_DEPTH) or "\\u0000" in text) and (fault := _STORED.fault(value)):
        raise fault
    if size > max_bytes:
        raise InvalidInput(
            f"args are {size:,} bytes of JSON, more than the limit of {max_bytes:,}",
            hint="Store the data in a table or file and pass its id.",
            size=size,
            max_bytes=max_bytes,
        )
    return text


def _fits(value: object, levels: int) -> bool:
    """Return whether JSON stores a value unchanged; `json.dumps` would change some others silently."""
    children: Iterable[object]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                return False
        children = value.values()
    elif isinstance(value, (list, tuple)):
        children = value
    else:
        return not isinstance(value, int) or -_TOO_LONG < value < _TOO_LONG
    if levels == 0:
        return False
    # a loop, not all(): this runs for every job, and the generator would double its cost
    for child in children:  # noqa: SIM110
        if not isinstance(child, str) and not _fits(child, levels - 1):
            return False
    return True


class Walk(NamedTuple):
    """A slow walk through a value, which finds what cannot be written as JSON, with its place."""

    begins: str
    """The beginning of the error."""
    most_integer: int
    too_large: tuple[str, str]
    """The fault of an integer beyond that, and the remedy."""
    takes_nul: bool

    def fault(self, value: object) -> InvalidInput | None:
        """Return the error for the first fault, or None if there is none."""
        return next(self._faults(value, "$", MAX_DEPTH), None)

    def _faults(self, value: object, path: str, levels: int) -> Iterator[InvalidInput]:
        match value:
            case dict() | list() | tuple() if levels == 0:
                what = f"is nested deeper than {MAX_DEPTH} levels"
                hint = "Flatten it, or pass the id of a stored document. Does it contain itself?"
                yield self._fault(path, what, hint)
            case dict():
                for key, item in value.items():
                    yield from self._key_faults(key, path)
                    yield from self._faults(item, _under(path, key), levels - 1)
            case list() | tuple():
                for index, item in enumerate(value):
                    yield from self._faults(item, f"{path}[{index}]", levels - 1)
            case str():
                yield from self._text_faults(value, path, "is text with")
            case int() if abs(value) > self.most_integer:
                yield self._fault(path, *self.too_large)
            case float() if not math.isfinite(value):
                what = f"is {value}, which JSON does not have"
                yield self._fault(path, what, "Pass None instead.")
            case int() | float() | None:
                return
            case _:
                kind = type(value).__name__
                what = f"is {_excerpt(value)} of type {kind}, which JSON does not have"
                usual = "Pass text, numbers, booleans, None, lists and dicts only."
                yield self._fault(path, what, _REMEDIES.get(kind, usual))

    def _key_faults(self, key: object, path: str) -> Iterator[InvalidInput]:
        if isinstance(key, str):
            yield from self._text_faults(key, path, "has a key with")
        else:
            what = f"has the key {_excerpt(key)} of type {type(key).__name__}"
            hint = "JSON keys are strings: write str(key) where the dict is built."
            yield self._fault(path, what, hint)

    def _text_faults(self, text: str, path: str, what: str) -> Iterator[InvalidInput]:
        if "\0" in text and not self.takes_nul:
            hint = "PostgreSQL cannot store it: remove it, or pass the bytes in base64."
            yield self._fault(path, f"{what} a NUL character ({_excerpt(text)})", hint)
        elif not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            hint = "It is not valid Unicode: decode the source with the right encoding."
            yield self._fault(path, f"{what} a lone surrogate ({_excerpt(text)})", hint)

    def _fault(self, path: str, what: str, hint: str) -> InvalidInput:
        place = path if len(path) <= _LONGEST_PATH else f"{path[:_LONGEST_PATH]}…"
        return InvalidInput(f"{self.begins}{place} {what}", hint=hint, path=place)


_STORED = Walk(
    "args cannot be stored as JSON: ",
    _TOO_LONG - 1,
    (f"is an integer of more than {MAX_DIGITS} digits", "Pass it as a string."),
    takes_nul=False,
)


def _under(path: str, key: object) -> str:
    return f"{path}.{key}" if str(key).isidentifier() else f"{path}[{_excerpt(key)}]"


def _excerpt(value: object) -> str:
    try:
        # ascii(), because a lone surrogate could not even be printed
        text = ascii(value[:_EXCERPT] if isinstance(value, str) else value)
    except Exception:  # noqa: BLE001 - a broken __repr__ must not hide the fault
        return "<unprintable>"
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"
