"""Says what alerts say in the reader's language.

An alert is declared with English texts, which are the messages of a catalogue: the engine's are in the
console's, an application's in its own (`App(locale=…)`). Values are filled in here, in the reader's way.
"""

import json
import re
from collections.abc import Collection, Mapping

from ostinato._core.engine.alerts import AlertLine, Firing
from ostinato._faces.console.text import Language

PAGES = {
    "ostinato.dead_letters": "/dead-letters",
    "ostinato.no_workers": "/workers",
    "ostinato.silent_workers": "/workers",
    "ostinato.faults": "/workers",
    "ostinato.queue_age": "/queues",
    "ostinato.outbox_lag": "/events",
}
"""The pages that show what an alert of the engine is about."""
_PLACE = re.compile(r"\{([a-z_][a-z0-9_]{0,62})\}")
_SECONDS = re.compile(r"\{([a-z_][a-z0-9_]{0,62})\} s(?![a-z])")
"""A place for a length of time, which people read as "35 min 47 s"."""


def message(words: Language, firing: Firing) -> str:
    """Say what is wrong: with the value of now, or with the worst one when it is over."""
    if firing.template is None:
        return firing.message
    value = firing.value if firing.resolved_at is None else firing.worst
    places = json.loads(firing.places or "{}")
    return _filled(words, _chosen(words, firing.template, firing.template_one, value), firing.label, value, places)


def subject(words: Language, line: AlertLine) -> str:
    """Say what an alert watches for: its message, with the names of what is not known yet."""
    places = {**json.loads(line.parameters), "threshold": line.threshold}
    text = _PLACE.sub(
        lambda place: place[0] if place[1] in places else "…", _chosen(words, line.message, line.message_one, 2)
    )
    return _filled(words, text, "…", None, places)


def remedy(words: Language, line: AlertLine) -> str:
    """Say what to do about it."""
    return words.gettext(line.remedy)


def page(firing: Firing, known: Collection[str]) -> tuple[str, dict[str, str]]:
    """Return the path and query of the page that shows what an alert is about; `known` are the pages of the menu."""
    if firing.alert == "ostinato.unrun_kinds":
        return "/jobs", {"kind": firing.label}
    own = f"/apps/{firing.alert.partition('.')[0]}"
    return PAGES.get(firing.alert) or (own if own in known else "/alerts"), {}


def _chosen(words: Language, many: str, one: str | None, value: float) -> str:
    """Choose the message for a value. A language decides itself which numbers are one; English does so for 1 alone."""
    if one is None:
        return words.gettext(many)
    return words.ngettext(one, many, int(value) if value == int(value) else 2)


def _filled(words: Language, text: str, label: str, value: float | None, places: Mapping[str, object]) -> str:
    known = {"label": label, "value": words.number(value)} | {
        name: words.number(given) if isinstance(given, int | float) else words.gettext(str(given))
        for name, given in places.items()
    }
    numbers = {"value": value, **places}

    def span(place: re.Match[str]) -> str:
        given = numbers.get(place[1])
        return words.span(given) if isinstance(given, int | float) else place[0]

    return _PLACE.sub(lambda place: known.get(place[1], place[0]), _SECONDS.sub(span, text))
