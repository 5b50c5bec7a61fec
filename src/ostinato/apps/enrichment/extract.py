"""Extracts from the answers of sources: fields, what is withheld, directors.

What a source withholds is the literal `[NON-DIFFUSIBLE]`: no value, and named as masked.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ostinato.apps.enrichment.merge import FIELDS
from ostinato.apps.enrichment.model import SourceApi
from ostinato.apps.enrichment.sources import SOURCES
from ostinato.apps.enrichment.sources.reading import COMPANY, MASK, Director, Json


class Extract(NamedTuple):
    """The fields that a source knows, and those that it withholds."""

    values: dict[str, str]
    masked: tuple[str, ...]


def extract(source: SourceApi, payload: Json) -> Extract:
    """Read the fields of an answer."""
    found = SOURCES[source].fields(payload)
    masked = tuple(name for name in FIELDS if MASK in (found.get(name) or ""))
    values = {name: value for name in FIELDS if (value := found.get(name)) and name not in masked}
    return Extract(values, masked)


def directors(payloads: Mapping[SourceApi, Json], *, hidden: bool = False) -> list[Director]:
    """Name the directors, from the first source that names some; for those who may see them.

    Registers come before an index of them. Of a company whose data is withheld the names of natural
    persons are, too, whichever source knows them: `hidden`, or as one of the answers says.
    """
    answers = [(SOURCES[api], payload) for api, payload in payloads.items()]
    hidden = hidden or any(source.withholds(payload) for source, payload in answers)
    for source in sorted(SOURCES.values(), key=lambda source: not source.is_register):
        found = list(source.directors(payloads.get(source.api)))
        if found:
            return [_unnamed(one) if hidden else one for one in found]
    return []


def _unnamed(director: Director) -> Director:
    """Remove the name of a person; the role stays, and so does a company."""
    return director if director["type_dirigeant"] == COMPANY else director | {"nom": None}
