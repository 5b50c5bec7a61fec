"""Reads the JSON of requests strictly: refuses what cannot be stored or can be read in two ways.

Plain `json.loads` takes NaN, duplicate names, numbers that others round, lone surrogates and NUL
characters, and some of them break only later, in the database.
"""

from typing import Any

from fastapi import Request

from ostinato._core.base import canonical
from ostinato._core.base.errors import InvalidInput, MediaTypeRefused, RequestRefused


class StrictRequest(Request):
    """A request that reads its body as JSON that all programs read alike."""

    async def json(self) -> Any:  # noqa: ANN401 - whatever it says
        """Return the body."""
        if not hasattr(self, "_json"):
            self._json = read(await self.body())
        return self._json

    async def check_media_type(self) -> str:
        """Refuse a body whose content type is not JSON; returns that type."""
        given = self.headers.get("content-type", "")
        kind = given.split(";")[0].strip().lower()
        if (kind == "application/json" or kind.endswith("+json")) or not await self.body():
            return kind
        raise MediaTypeRefused(f"the content type is {kind[:100] or 'missing'}, not application/json")


def read(body: bytes) -> Any:  # noqa: ANN401 - whatever it says
    """Return a value from JSON; raises `RequestRefused`."""
    try:
        value = canonical.parse(body, max_bytes=max(len(body), 1))
    except InvalidInput as error:
        raise RequestRefused(error.message, hint=error.hint, **error.values) from None
    if rb"\u0000" in body and has_nul(value):
        raise RequestRefused("the body has a NUL character", hint="Leave \\u0000 out: PostgreSQL cannot hold it.")
    return value


def has_nul(value: object) -> bool:
    """Return whether a text in the value has a NUL character."""
    match value:
        case str():
            return "\0" in value
        case dict():
            return any("\0" in name or has_nul(item) for name, item in value.items())
        case list():
            return any(map(has_nul, value))
    return False
