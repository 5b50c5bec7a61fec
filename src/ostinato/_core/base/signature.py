"""The stored form of an exception: a bounded copy, and a signature to group it by.

Both always succeed, whatever the exception is: this code runs while a job is failing, and the
place where failures are recorded must not add one.
"""

import re
import traceback
from typing import TypedDict

from ostinato._core.base.errors import OstinatoError
from ostinato._core.base.redact import ending, opening, redact

SIGNATURE_LENGTH = 200
_READ_LENGTH = 4 * SIGNATURE_LENGTH  # more of the message cannot show in the signature

# Patterns of what differs between two occurrences of the same error, in the order in which it is
# removed: a uuid is full of numbers, so it comes before them.
_VARIABLE_PARTS = (
    (re.compile(r"\b[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b", re.IGNORECASE), "<uuid>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<address>"),
    (re.compile(r"(?<!\w)(?:'[^']*'|\"[^\"]*\"|`[^`]*`)(?!\w)"), "<text>"),
    (re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), "<email>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<host>"),
    (re.compile(r"\[?(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{1,4}\b\]?(?::\d+)?", re.IGNORECASE), "<host>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}\b", re.IGNORECASE), "<hex>"),
    (re.compile(r"[-+]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?", re.IGNORECASE), "<n>"),
)


class BoundedError(TypedDict):
    """An exception as it is stored with the outcome of an attempt."""

    type: str
    message: str
    traceback: str


def error_signature(type_name: str, message: str) -> str:
    """Return one line that is the same for every occurrence of the same error.

    >>> error_signature("KeyError", "no row 4711 in 'invoices'")
    'KeyError: no row <n> in <text>'
    """
    text = storable(message[:_READ_LENGTH])
    for pattern, placeholder in _VARIABLE_PARTS:
        text = pattern.sub(placeholder, text)
    line = " ".join(f"{storable(type_name)}: {text}".split())
    return _shorten(line.removesuffix(":"), SIGNATURE_LENGTH)


def bounded_error(exc: BaseException, limit: int = 8192) -> BoundedError:
    """Return the exception as plain text of at most `limit` characters in all, fit to be stored.

    The traceback keeps its head (where it was called from) and its tail (where it broke);
    secrets that are recognisable as such are masked.
    """
    message_limit = limit // 4
    trace_limit = max(limit - message_limit - SIGNATURE_LENGTH, 0)
    return {
        "type": _shorten(storable(type(exc).__qualname__), SIGNATURE_LENGTH),
        "message": _kept_start(_text_of(exc), message_limit),
        "traceback": _kept_ends(_traceback_of(exc), trace_limit),
    }


def storable(text: str) -> str:
    """Return the text with NUL and lone surrogates escaped, which PostgreSQL cannot store."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def _clean(text: str) -> str:
    return redact(storable(text))


def _text_of(exc: BaseException) -> str:
    if isinstance(exc, OstinatoError):
        return exc.message  # without the hint, which is advice and not part of what happened
    try:
        return str(exc)
    except Exception as unprintable:  # noqa: BLE001 - a broken __str__ must not hide the failure
        return f"<{type(exc).__qualname__}.__str__ raised {type(unprintable).__qualname__}>"


def _traceback_of(exc: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(exc))
    except Exception as unprintable:  # noqa: BLE001 - as above
        return f"<no traceback: formatting it raised {type(unprintable).__qualname__}>"


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else (text[: max(length - 1, 0)] + "…")[:length]


def _kept_start(text: str, length: int) -> str:
    # Shortened before it is redacted: what a caller sent may be long, and must not cost more.
    kept = _clean(opening(text, length))
    return _shorten(kept if len(text) <= length else f"{kept}…", length)


def _kept_ends(text: str, length: int) -> str:
    if len(text) <= length:
        return _shorten(_clean(text), length)
    gap = f"\n… {len(text) - length} characters left out …\n"
    room = max(length - len(gap), 0)
    # the end says what broke: it gets two thirds
    head = room // 3
    tail = room - head
    start, end = _clean(opening(text, head))[:head], _clean(ending(text, tail))
    return (start + gap + end[max(len(end) - tail, 0) :])[:length]
