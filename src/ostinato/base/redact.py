"""Removing secrets from text and from named values before anyone can read them."""

import re
from collections.abc import Mapping

MASK = "***"

_SECRET_NAME = re.compile(
    r"passw(or)?d|passphrase|secret|token|api_?key|private_?key|authorization|cookie|credential",
    re.IGNORECASE,
)

# Each pattern keeps its first group, so that a reader still sees what was hidden.
_SECRET_TEXT = (
    # postgresql://user:password@host: everything between the colon and the last @ of the authority
    re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s:/?#@\"']*:)[^\s/?#\"']+(?=@)", re.IGNORECASE),
    # password=… in a connection string, a query string, or a message
    re.compile(
        r"(\b(?:[\w-]*(?:password|passwd|secret|token|api[_-]?key))[\"']?\s*[=:]\s*)"
        r"(?:\"[^\"]*\"|'[^']*'|[^\s&,;\"']+)",
        re.IGNORECASE,
    ),
    # Authorization: Bearer …
    re.compile(r"(\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    # keys whose issuers gave them a recognisable prefix
    re.compile(r"(\b(?:[sr]k_(?:live|test)_|gh[pousr]_|xox[abprs]-|AKIA))[\w-]{8,}"),
    re.compile(r"(\bwhsec_)[\w+/=-]{8,}"),
    re.compile(
        r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        re.DOTALL,
    ),
)


def redact(text: str) -> str:
    """The text with passwords, bearer tokens and keys masked."""
    for pattern in _SECRET_TEXT:
        text = pattern.sub(rf"\1{MASK}", text)
    return text


def redact_value(name: str, value: object) -> object:
    """The value as it may be shown under this name; containers are searched as well.

    Numbers stay even under a secret's name: a fencing `token` is no secret.
    """
    if isinstance(value, str):
        return MASK if value and _SECRET_NAME.search(name) else redact(value)
    if isinstance(value, bytes):
        return redact_value(name, value.decode("utf-8", "replace"))
    if isinstance(value, Mapping):
        return {key: redact_value(str(key), item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [redact_value(name, item) for item in value]
    return value
