"""Masks secrets and personal data in text and named values before they are logged or shown.

The text is foreign, and this code runs in the worker's event loop, so every pattern takes a time
that grows with the length and no faster: none begins in the middle of what it has just read. A
house test (`tests/house/test_patterns.py`) holds all patterns of the package to that.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

MASK = "***"
"""The text that replaces a secret."""

_SECRET_NAME = re.compile(
    r"passw(or)?d|passphrase|secret|token|api_?key|private_?key|authorization|cookie|credential", re.IGNORECASE
)

_PERSONAL_NAME = re.compile(
    r"(?:.*_)?(e_?mail|phone|telephone|mobile|msisdn|recipient|(first|last|family|given|full|birth)_?name"
    r"|nom|noms|prenom|prenoms|nom_usage|birth_?date|date_?of_?birth|date_?de_?naissance"
    r"|adresse_?domicile|home_?address)",
    re.IGNORECASE,
)

# Each pattern keeps its first group, so that a reader still sees what was hidden.
_SECRET_TEXT = (
    # postgresql://user:password@host: everything between the colon and the last @ of the authority
    re.compile(r"(://[^\s:/?#@\"']*:)[^\s/?#\"']+(?=@)"),
    # password=… in a connection string, a query string, or a message; a quote may be cut off
    re.compile(
        r"((?:password|passwd|secret|token|api[_-]?key)[\"']?\s*[=:]\s*)"
        r"(?:\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^\s&,;\"']+)",
        re.IGNORECASE,
    ),
    # a link that opens something: one-time links of the console and of portals, presigned uploads
    re.compile(r"([?&](?:ticket|x-amz-signature)=)[^\s&\"'<>]+", re.IGNORECASE),
    # Authorization: Bearer …
    re.compile(r"(\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    # keys whose issuers gave them a recognisable prefix
    re.compile(r"(\b(?:[sr]k_(?:live|test)_|gh[pousr]_|xox[abprs]-|AKIA))[\w-]{8,}"),
    re.compile(r"(\bwhsec_)[\w+/=-]{8,}"),
    re.compile(r"(\bost_\d{1,19}_)[\w-]{8,}"),
    re.compile(r"(\bostk_)[\w-]{8,}"),
    re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    # a mail address: its first letter and the host stay; user@host in a URL is not one
    re.compile(r"((?<![\w.+%/:-])[\w])[\w.+%-]*(?=@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b)", re.IGNORECASE),
    # a telephone number as the world writes it
    re.compile(r"((?<![\w+])\+\d{2})[ .-]?\d(?:[ .-]?\d){6,12}(?!\d)"),
)


# A quick check that nearly every text passes: only the others are searched by each pattern.
_SUSPECT = re.compile(
    r"@|passw|secret|token|api[_-]?key|bearer|basic|whsec_|[sr]k_|gh[pousr]_|xox|akia|ost_|ostk_|private|ticket=|amz-sig|\+\d",
    re.IGNORECASE,
)


LONGEST_BROKEN_WORD = 512
LONGEST_ERROR = 2000
"""The characters of somebody else's error that are kept."""


def opening(text: str, most: int) -> str:
    """Return the start of a text that is still to be redacted, so that a long one costs no more.

    A secret that the cut splits could not be recognised: the word that it splits is left out.
    """
    if len(text) <= most:
        return text
    blank = max(text.rfind(" ", 0, most), text.rfind("\n", 0, most))
    return text[: max(blank, most - LONGEST_BROKEN_WORD, 0)]


def ending(text: str, most: int) -> str:
    """Return the end of a text that is still to be redacted, without the word that the cut splits."""
    if len(text) <= most:
        return text
    cut = len(text) - most
    last = min(cut + LONGEST_BROKEN_WORD, len(text))
    blanks = (text.find(" ", cut, last), text.find("\n", cut, last))
    return text[min((place for place in blanks if place >= 0), default=last) :]


def both_ends(text: str, most: int) -> str:
    """Return the start and the end of a text that is still to be redacted; the end says what broke, and gets more."""
    if len(text) <= most:
        return text
    head = most // 3
    return f"{opening(text, head)}\n… {len(text) - most} characters left out …\n{ending(text, most - head)}"


def redact(text: str, most: int | None = None) -> str:
    """Return the text with passwords, tokens, keys, mail addresses and telephone numbers masked.

    With `most`, only so much of its start. It is shortened before it is searched, for what others sent
    may be long; a word that begins in what is kept is searched to its end.
    """
    if most is not None:
        shown = redact(opening(text, most + LONGEST_BROKEN_WORD))
        return shown[:most]
    if not _SUSPECT.search(text):
        return text
    for pattern in _SECRET_TEXT:
        text = pattern.sub(rf"\1{MASK}", text)
    return text


def redact_value(name: str, value: object, most: int | None = None) -> object:
    """Return the value as it may be shown under this name; containers are searched as well.

    Numbers stay even under a secret's name: a fencing `token` is no secret. With `most`, only both
    ends of a text that is longer.
    """
    if isinstance(value, str):
        return MASK if value and _is_private(name) else redact(value if most is None else both_ends(value, most))
    if isinstance(value, bytes):
        return redact_value(name, value.decode("utf-8", "replace"), most)
    if isinstance(value, Mapping):
        return {key: redact_value(str(key), item, most) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [redact_value(name, item, most) for item in value]
    return value


def is_secret_name(name: str) -> bool:
    """Return whether what has this name is a secret, whatever it says."""
    return _SECRET_NAME.search(name.replace("-", "_")) is not None


@lru_cache(maxsize=1024)  # nearly all names are those of our own lines
def _is_private(name: str) -> bool:
    return bool(_SECRET_NAME.search(name) or _PERSONAL_NAME.fullmatch(name))
