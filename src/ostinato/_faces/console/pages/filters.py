"""The filter of jobs, as addresses and forms have it: the same for the list and for bulk actions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, cast, get_args

from fastapi import Depends, Request

from ostinato._core.base.errors import Forbidden, InvalidInput
from ostinato._core.engine.inspect import Search
from ostinato._core.engine.jobs import State
from ostinato._faces.api.permissions import ENGINE_WRITE
from ostinato._faces.console.view import View

STATES = get_args(State)
LONGEST = 200
LONGEST_NUMBER = 18
"""Digits of an id, a position or a count."""
LONGEST_OF = {"args": 2_000, "signature": 1_000}


@dataclass(frozen=True, slots=True)
class Filter:
    """What jobs are narrowed to; an empty text matches any."""

    state: str = ""
    kind: str = ""
    queue: str = ""
    tenant: str = ""
    correlation: str = ""
    signature: str = ""
    since: str = ""
    """A local time of the reader, as a browser sends it."""
    until: str = ""
    args: str = ""
    """A JSON object that the arguments contain, or a part of their text."""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> "Filter":
        """Read a filter from an address or a form."""
        found = {name: given.get(name, "").strip() for name in cls.__slots__}
        for name, value in found.items():
            if len(value) > LONGEST_OF.get(name, LONGEST):
                raise InvalidInput(
                    f"{name} has {len(value):,} characters, more than {LONGEST_OF.get(name, LONGEST):,}",
                    hint="Write less.",
                )
        if found["state"] and found["state"] not in STATES:
            raise InvalidInput(f"no job is {found['state']!r}", hint=f"Its state is one of: {', '.join(STATES)}.")
        return cls(**found)

    @property
    def query(self) -> dict[str, str]:
        """The fields that are set, for addresses and forms."""
        return {name: value for name in Filter.__slots__ if (value := getattr(self, name))}

    @property
    def asked_state(self) -> State | None:
        """The state, if one is asked for."""
        return cast("State | None", self.state or None)

    def search(self, view: View) -> Search:
        """Return the filter as the engine takes it, for what the viewer may see."""
        if self.args and not view.may(ENGINE_WRITE):  # who may not see arguments must not guess them either
            raise Forbidden("the arguments of jobs are for operators", hint="Leave the text of arguments out.")
        if view.tenant is not None and self.tenant not in {"", view.tenant}:
            raise InvalidInput(f"you look at the tenant {view.tenant!r}", hint="Leave the tenant out.")
        found: dict[str, Any] = {
            "kind": self.kind,
            "queue": self.queue,
            "tenant_id": view.tenant or self.tenant,
            "correlation_id": self.correlation,
            "signature": self.signature,
            "since": self.since and moment(view, self.since).isoformat(),
            "until": self.until and moment(view, self.until).isoformat(),
        }
        if self.args.startswith("{"):
            found["args"] = arguments(self.args)
        else:
            found["text"] = self.args
        return cast("Search", {name: value for name, value in found.items() if value})


def filter_of(request: Request) -> Filter:
    """Read the filter of an address."""
    return Filter.of(request.query_params)


Chosen = Annotated[Filter, Depends(filter_of)]
"""A parameter of a page: the filter in its address."""


def moment(view: View, text: str) -> datetime:
    """Parse a time that a form sent, in the zone of the reader unless it names its own."""
    try:
        found = datetime.fromisoformat(text)
        return found if found.tzinfo else found.replace(tzinfo=view.prefs.zone)
    except ValueError:
        raise InvalidInput(f"{text[:40]!r} is no time", hint="Write it as 2026-03-02T08:30.") from None


def whole(text: str) -> int:
    """Parse a whole number that a form sent; 0 if it is none. Python refuses to read thousands of digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER else 0


def arguments(text: str) -> dict[str, Any]:
    """Parse a JSON object that somebody typed."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput(f"{text[:100]!r} is no JSON object", hint='Write one, such as {"invoice_id": 7}.')
    return found
