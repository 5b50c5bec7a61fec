"""How one reader is told about one job: in its language, in its zone, with numbers as it writes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from ostinato._core.engine.inspect import JobDetails
from ostinato._faces.console.text import Clock, Language

LONGEST_ERROR = 200
CAP = 1_000
"""Where the engine stops to count a line."""

Values = Mapping[str, Any]


class Said(NamedTuple):
    """An answer as its reader sees it."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Saying:
    """How one reader is told about one job."""

    words: Language
    clock: Clock
    job: JobDetails
    alone: bool = True
    """Whether nothing but its turn is in the way of the job."""

    def gettext(self, text: str, **values: object) -> str:
        """Translate a text with its values."""
        return self.words.gettext(text) % {"job": self.job.id, **values}

    def ngettext(self, one: str, many: str, n: int, **values: object) -> str:
        """Translate a text that depends on a number, with its values."""
        return self.words.ngettext(one, many, n) % {"job": self.job.id, "n": self.words.number(n), **values}

    def at(self, value: object) -> str:
        """Format a moment of a detail."""
        return self.clock.time(_moment(value))

    def ago(self, value: object) -> str:
        """Say how long ago a moment of a detail was."""
        return self.clock.ago(_moment(value))

    def ahead(self, value: object) -> str:
        """Say how far away a moment of a detail is."""
        return self.clock.until(_moment(value))

    def count(self, n: int) -> str:
        """Format a count; at the cap there may be more."""
        return f"≥ {self.words.number(n)}" if n >= CAP else self.words.number(n)

    def states(self, names: Sequence[str]) -> str:
        """Name states, as the language does."""
        return ", ".join(self.words.gettext(name).replace("_", " ") for name in names)


def summary(error: object) -> str:
    """Format an error in one line, as the engine writes it."""
    if not isinstance(error, Mapping):
        return "" if error is None else str(error)[:LONGEST_ERROR]
    told = ": ".join(str(error[name]) for name in ("type", "message") if error.get(name))
    return (told or str(error.get("reason") or ""))[:LONGEST_ERROR]


def _moment(value: object) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else None
