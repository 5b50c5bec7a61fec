"""Says in the reader's language what is special about a slot on a day when clocks are moved.

The engine says it in English, with its slots; a note that is not known here stays as it is.
"""

import re
from collections.abc import Mapping

from ostinato._faces.console.text import Language
from ostinato._faces.console.words import N_

NOTES: Mapping[re.Pattern[str], str] = {
    re.compile(r"gap: (?P<time>\S+) does not exist, (?P<there>\S+) instead"): N_(
        "gap: %(time)s does not exist, %(there)s instead"
    ),
    re.compile(r"overlap: the first of two"): N_("overlap: the first of two"),
    re.compile(r"overlap: the second of two"): N_("overlap: the second of two"),
    re.compile(r"a day of (?P<hours>\S+) h"): N_("a day of %(hours)s h"),
}


def say(words: Language, note: str) -> str:
    """Return a note of a slot in the reader's language."""
    for pattern, text in NOTES.items():
        if found := pattern.fullmatch(note):
            values = found.groupdict()
            if hours := values.get("hours"):
                values["hours"] = words.number(float(hours), len(hours.partition(".")[2]))
            return words.gettext(text) % values
    return note
