"""Texts of the console in the reader's language: catalogues, numbers, times and durations.

    words = language("fr")
    words.gettext("Dead letters")          "Lettres mortes"
    words.number(12408)                    "12 408"
    words.span(178.4)                      "2 min 58 s"

English is what the templates say; `locale/<language>.po` and its parts (`fr.engine.po`) have the
other languages, and an application adds the catalogue of its own texts. A text without a translation
is shown in English.
"""

import gettext
import io
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from importlib import resources
from itertools import pairwise
from types import MappingProxyType
from zoneinfo import ZoneInfo

import polib

LANGUAGES = ("en", "fr")
HERE = "ostinato._faces.console"

NARROW_SPACE, SPACE = "\N{NARROW NO-BREAK SPACE}", "\N{NO-BREAK SPACE}"
DASH = "\N{EN DASH}"
MINUTE, HOUR, DAY = 60, 3_600, 86_400
# Below ten a second digit is worth its place; from there on it is noise.
FEW = 10

_MONTHS = MappingProxyType(
    {
        "en": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
        "fr": ("janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."),
    }
)
_LONG_MONTHS = MappingProxyType(
    {
        "en": (
            *("January", "February", "March", "April", "May", "June"),
            *("July", "August", "September", "October", "November", "December"),
        ),
        "fr": (
            *("janvier", "février", "mars", "avril", "mai", "juin"),
            *("juillet", "août", "septembre", "octobre", "novembre", "décembre"),
        ),
    }
)
_WEEKDAYS = MappingProxyType(
    {
        "en": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
        "fr": ("lun.", "mar.", "mer.", "jeu.", "ven.", "sam.", "dim."),
    }
)
_LOOSE = re.compile(r" (?=[:;?!»])|(?<=«) ")
_UNITS = MappingProxyType({"en": ("d", "h", "min", "s"), "fr": ("j", "h", "min", "s")})


@dataclass(frozen=True)
class Language:
    """How one language writes texts, numbers and times."""

    code: str
    catalogue: gettext.NullTranslations = field(repr=False)

    @property
    def gettext(self) -> Callable[[str], str]:
        """Translate a text."""
        return self.catalogue.gettext

    @property
    def ngettext(self) -> Callable[[str, str, int], str]:
        """Translate a text that has a number in it."""
        return self.catalogue.ngettext

    def number(self, value: float | None, digits: int | None = None) -> str:
        """Write a number; without `digits`, with more after the point the smaller it is."""
        if value is None:
            return DASH
        text = f"{value:,.{_digits(value) if digits is None else digits}f}"
        if digits is None and "." in text and abs(value) < 1:
            text = text.rstrip("0").rstrip(".")
        if self.code == "fr":
            text = text.replace(",", NARROW_SPACE).replace(".", ",")
        return text

    def span(self, seconds: float | timedelta | None) -> str:
        """Write a length of time in its two largest units: "2 min 58 s", "3.2 s", "40 ms"."""
        if seconds is None:
            return DASH
        value = seconds.total_seconds() if isinstance(seconds, timedelta) else float(seconds)
        value = max(0.0, value)
        day, hour, minute, second = _UNITS[self.code]
        if value < 1:
            return f"{self.number(value * 1000, 1 if 0 < value < FEW / 1000 else 0)}{SPACE}ms"
        if value < MINUTE:
            return f"{self.number(value, 1 if value < FEW and value != int(value) else 0)}{SPACE}{second}"
        sizes = ((DAY, day), (HOUR, hour), (MINUTE, minute), (1, second))
        for (size, name), (next_size, next_name) in pairwise(sizes):
            if value >= size:
                rest = int(value % size) // next_size
                first = f"{self.number(int(value) // size, 0)}{SPACE}{name}"
                return f"{first} {rest}{SPACE}{next_name}" if rest else first
        raise AssertionError(value)

    def bytes(self, size: float | None) -> str:
        """Write a size in bytes: "1.2 MB"."""
        if size is None:
            return DASH
        names = ("o", "ko", "Mo", "Go", "To") if self.code == "fr" else ("B", "kB", "MB", "GB", "TB")
        value, at = float(size), 0
        while value >= 1000 and at < len(names) - 1:  # noqa: PLR2004 - the step of the units
            value, at = value / 1000, at + 1
        return f"{self.number(value, 1 if at and value < FEW else 0)}{SPACE}{names[at]}"

    def date(self, moment: datetime) -> str:
        """Write a day: "17 Nov 2026", "17 nov. 2026"."""
        return f"{moment.day}{SPACE}{_MONTHS[self.code][moment.month - 1]}{SPACE}{moment.year}"

    def month(self, moment: datetime) -> str:
        """Write a month: "November 2026"."""
        return f"{_LONG_MONTHS[self.code][moment.month - 1]}{SPACE}{moment.year}"

    def weekday(self, number: int) -> str:
        """Name a day of the week, Monday being 0."""
        return _WEEKDAYS[self.code][number]


def _digits(value: float) -> int:
    """Return how many digits after the point a number is worth: axes of small rates must not repeat a label."""
    if value == int(value) or abs(value) >= FEW:
        return 0
    return 3 if abs(value) < 0.1 else 2 if abs(value) < 1 else 1  # noqa: PLR2004 - tenths, and units


@dataclass(frozen=True, slots=True)
class Clock:
    """How a reader sees moments: in its zone, and whether they are of today."""

    words: Language
    zone: ZoneInfo
    now: datetime

    def local(self, moment: datetime) -> datetime:
        """Return a moment in the zone of the reader."""
        return moment.astimezone(self.zone)

    def time(self, moment: datetime | None) -> str:
        """Write a moment to the second; with its day when that is not today."""
        if moment is None:
            return DASH
        local = self.local(moment)
        text = f"{local:%H:%M:%S}"
        return text if local.date() == self.local(self.now).date() else f"{self.words.date(local)} {text}"

    def fine(self, moment: datetime) -> str:
        """Write a moment to the millisecond; with its day when that is not today."""
        return f"{self.time(moment)}.{self.local(moment):%f}"[:-3]

    def tick(self, moment: datetime, length: timedelta) -> str:
        """Write a moment below an axis that is so long: as fine as its parts differ, with days where it has several."""
        local = self.local(moment)
        if length < timedelta(seconds=FEW):
            return f"{local:%H:%M:%S}.{local.microsecond // 1000:03d}"
        if length < timedelta(days=1) and self.local(self.now).date() == local.date():
            return f"{local:%H:%M:%S}"
        day = f"{local.day}{SPACE}{_MONTHS[self.words.code][local.month - 1]}"
        return f"{day} {local:%H:%M}" if length < timedelta(days=100) else f"{day}{SPACE}{local.year}"

    def exact(self, moment: datetime | None) -> str:
        """Write a moment with its day, to the millisecond, and its offset: what a hint shows."""
        if moment is None:
            return DASH
        local = self.local(moment)
        return f"{self.words.date(local)} {local:%H:%M:%S}.{local.microsecond // 1000:03d} {local:%z}"

    def ago(self, moment: datetime | None) -> str:
        """Write how long ago a moment was."""
        return DASH if moment is None else self.words.span(self.now - moment)

    def until(self, moment: datetime | None) -> str:
        """Write how far away a moment is."""
        return DASH if moment is None else self.words.span(moment - self.now)


@cache
def language(code: str, extra: tuple[str, ...] = (), first: str | None = None) -> Language:
    """Load a language by its code; `extra` are the packages of applications that have catalogues.

    The console's catalogue is asked before those, and before it that of the package `first`: on the pages of
    an application a word means what the application means by it.
    """
    catalogue: gettext.NullTranslations = gettext.NullTranslations()
    if code != "en":
        for package in (*extra, HERE, *([] if first is None else [first])):  # the last one added is asked first
            catalogue = _with(catalogue, package, code)
    return Language(code, catalogue)


def _with(fallback: gettext.NullTranslations, package: str, code: str) -> gettext.NullTranslations:
    folder = resources.files(package) / "locale"
    if not folder.is_dir():
        return fallback
    for file in sorted((each for each in folder.iterdir() if fits(each.name, code)), key=lambda each: each.name):
        made = gettext.GNUTranslations(io.BytesIO(_bound(polib.pofile(file.read_text("utf-8"))).to_binary()))
        made.add_fallback(fallback)
        fallback = made
    return fallback


def _bound(catalogue: polib.POFile) -> polib.POFile:
    """Bind a mark to its word where the catalogue has a space before it, as French does: no line begins with ":"."""
    for entry in catalogue:
        entry.msgstr = _LOOSE.sub(SPACE, entry.msgstr)
        entry.msgstr_plural = {form: _LOOSE.sub(SPACE, text) for form, text in entry.msgstr_plural.items()}
    return catalogue


def fits(name: str, code: str) -> bool:
    """Return whether a file is a catalogue of a language: `fr.po`, or a part of it such as `fr.engine.po`."""
    return name.startswith(f"{code}.") and name.endswith(".po")


def preferred(header: str, known: Iterable[str] = LANGUAGES) -> str:
    """Return the language of a header `Accept-Language` that we have, by its weights; else English."""
    choices: Mapping[str, float] = dict(filter(None, map(_weighed, header[:500].split(","))))
    best = sorted(((weight, code) for code, weight in choices.items() if code in set(known)), reverse=True)
    return best[0][1] if best and best[0][0] > 0 else "en"


def _weighed(part: str) -> tuple[str, float] | None:
    name, _, weight = part.partition(";")
    try:
        return name.strip().lower()[:2], float(weight.strip().removeprefix("q=") or 1)
    except ValueError:
        return None
