"""Merges by the matrix (M3C-merge-1): the order of sources per field; nothing is lost.

For each field the first source in its order of priority that says something is taken. Nothing empty
ever replaces something. A value of a source that did not answer this time stands where that source
stands in the order: it gives way to a better source, and not to a worse one. What a source
withholds (`[NON-DIFFUSIBLE]`) is absent, also if it was known before, and no other source fills it.
A label is told by who told its code: one of an earlier code does not stand beside a new one.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from ostinato.apps.enrichment.model import Fetched, SourceApi

A, I, R = SourceApi.SEARCH, SourceApi.INPI, SourceApi.RCS  # noqa: E741 - as the matrix names them

MATRIX: Final[Mapping[str, tuple[SourceApi, ...]]] = {
    "legal_name": (A, I, R),
    "trade_name": (A, I),
    "brand_name": (A, I),
    "legal_form_code": (I, A),
    "legal_form": (I, A, R),
    "creation_date": (I, A, R),
    "active_status": (A, I, R),
    "address_line1": (A, I, R),
    "address_line2": (A, I),
    "postal_code": (A, I, R),
    "city": (A, I, R),
    "country_code": (I, A),
    "naf_code": (A, I),
    "naf_label": (A,),
    "headcount_range": (A,),
    "rcs_city": (R, I),
    "registry_name": (R, I),
}
FIELDS: Final = tuple(MATRIX)
CODES: Final[Mapping[str, str]] = {"legal_form": "legal_form_code", "naf_label": "naf_code"}
"""The fields that are labels, each with its code, which stands before it in the matrix."""
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
FIELD_DAYS: Final[Mapping[str, int]] = dict.fromkeys(FIELDS, 30) | {"active_status": 7}
"""How long each field is good for; the 30 days of the snapshot decide about STALE."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A field as it is kept: its value, and who said so."""

    value: str
    source_api: SourceApi


@dataclass(frozen=True, slots=True)
class Merged:
    """A company after a run."""

    values: Mapping[str, str | None]
    """Every field."""
    sources: Mapping[str, SourceApi]
    """Who said so, of the fields that a source of this run decided."""
    masked: tuple[str, ...]


def merge(stored: Mapping[str, Stored], fetched: Collection[Fetched]) -> Merged:
    """Return what is known after a run, from what was known before and what the sources said."""
    answered = {one.source_api: one for one in fetched if one.error is None}
    masked = {name for one in answered.values() for name in one.masked}
    values: dict[str, str | None] = {}
    sources: dict[str, SourceApi] = {}
    for field in FIELDS:
        if field in masked:
            values[field] = None
            continue
        told = sources.get(CODES.get(field, ""))
        before = stored.get(field) if told is None else None
        values[field] = before.value if before else None
        for source in _order(field, told):
            if before is not None and before.source_api is source and source not in answered:
                break  # it could not be asked: what it said still stands
            found = _value(field, answered[source]) if source in answered else None
            if found is not None:
                values[field], sources[field] = found, source
                break
    return Merged(values, sources, tuple(sorted(masked)))


def _order(field: str, told: SourceApi | None) -> Iterator[SourceApi]:
    """Yield the sources of a field; of a label whose code one told: that one, and those without codes."""
    others = MATRIX[CODES[field]] if told is not None else ()
    return (source for source in MATRIX[field] if source is told or source not in others)


def _value(field: str, one: Fetched) -> str | None:
    text = (one.values.get(field) or "").strip()
    if not text or (field == "creation_date" and not _is_date(text)):
        return None
    return text


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):  # Python takes weeks, too
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
