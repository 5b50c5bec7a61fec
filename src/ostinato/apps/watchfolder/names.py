"""Checks and makes names of files: ignored, safe everywhere, free."""

import base64
import itertools
import os
import re
import unicodedata
from collections.abc import Iterator

LONGEST = 255  # bytes, on Linux and macOS
FORCED = re.compile(r"__force-([0-9a-f]{8})(?=\.[^.]*$|$)")
_RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{n}{i}" for n in ("COM", "LPT") for i in range(1, 10))}
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')
_MOVING = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that move the cursor, begin a line, or turn the direction of what follows."""
_IGNORED_NAMES = {"thumbs.db", "desktop.ini", "@eadir"}
_IGNORED_PREFIXES = (".", "~$", "~syncthing~")
_IGNORED_SUFFIXES = (".part", ".partial", ".filepart", ".tmp", ".crdownload", ".download", ".swp", ".lock")


def is_ignored(name: str) -> bool:
    """Return whether a name is of something hidden, temporary, or still on its way."""
    low = name.lower()
    return low in _IGNORED_NAMES or low.startswith(_IGNORED_PREFIXES) or low.endswith(_IGNORED_SUFFIXES)


def split_name(name: str) -> tuple[str, str]:
    """Return stem and extension; an extension is short and plain, or it is part of the stem."""
    stem, dot, extension = name.rpartition(".")
    if not dot or not stem or not re.fullmatch(r"[A-Za-z0-9]{1,10}", extension):
        return name, ""
    return stem, f".{extension}"


def fit(name: str, longest: int = LONGEST) -> str:
    """Cut the stem of a name so that all of it fits into so many bytes."""
    stem, extension = split_name(name)
    room = longest - len(os.fsencode(extension))
    raw = os.fsencode(stem)
    if len(raw) <= room:
        return name
    cut = raw[:room]
    while cut and len(cut) < len(raw) and (raw[len(cut)] & 0xC0) == 0x80:  # noqa: PLR2004 - inside a UTF-8 character
        cut = cut[:-1]
    return os.fsdecode(cut) + extension


def safe_name(name: str, longest: int = LONGEST) -> str:
    """Return the name as any system can hold it: NFC, no control or reserved characters or words."""
    plain = unicodedata.normalize("NFC", shown_name(name))
    plain = _UNSAFE.sub("_", plain).rstrip(". ") or "_"
    if plain.partition(".")[0].upper() in _RESERVED:
        plain = f"_{plain}"
    if plain.startswith("."):
        plain = f"_{plain}"
    return fit(plain, longest)


def shown_name(name: str) -> str:
    """Return the name as text that can be stored: bytes that are no UTF-8 are replaced."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def one_line(name: str) -> str:
    """Return the name as a person reads it: in one line, without what moves the cursor of a terminal."""
    return _MOVING.sub("�", shown_name(name))


def raw_name(name: str) -> str | None:
    """Return the bytes of a name that is no UTF-8, in base64; None for every other one."""
    raw = name.encode("utf-8", "surrogateescape")
    return None if raw.decode("utf-8", "replace") == name else base64.b64encode(raw).decode()


def candidates(name: str) -> Iterator[str]:
    """Yield the name, then `stem-1.ext`, `stem-2.ext` and so on."""
    yield fit(name)
    stem, extension = split_name(name)
    for number in itertools.count(1):
        suffix = f"-{number}{extension}"
        yield fit(stem, LONGEST - len(os.fsencode(suffix))) + suffix


def forced_name(name: str, nonce: str) -> str:
    """Return the name under which a file comes back to be processed again, in spite of its twin."""
    stem, extension = split_name(FORCED.sub("", name))
    suffix = f"__force-{nonce[:8]}{extension}"
    return fit(stem, LONGEST - len(os.fsencode(suffix))) + suffix


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts `page 2` before `page 10`."""
    return [
        (0, int(piece), "") if piece.isdecimal() else (1, 0, piece.casefold())
        for piece in re.split(r"(\d+)", name)
        if piece
    ]
