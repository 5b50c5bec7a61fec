"""What goes in and out of the stand-in of the providers: shapes, and answers that are errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

__all__ = [
    "BOUNCE_SECRET",
    "Inbound",
    "Script",
    "Sent",
    "Telling",
    "Where",
    "error_of",
    "http_error",
    "never",
]

BOUNCE_SECRET: Final = "sandbox-bounce-secret"  # noqa: S105 - opens nothing but this


@dataclass
class Sent:
    """A message that a provider took."""

    number: int
    provider: str
    to: str
    id: str
    opaque: str | None
    document: dict[str, Any]


class Where(BaseModel):
    """Where callbacks go."""

    api: str


class Script(BaseModel):
    """What the next messages to a recipient meet, one after the other."""

    to: str
    answers: list[str]
    statuses: list[str] | None = None


class Inbound(BaseModel):
    """Somebody writes."""

    from_: str
    text: str
    provider: str = "whatsapp"
    provider_key: str = "100200300"
    service: str | None = None
    """The Messaging Service that an SMS came in by; provider_key is a number of its pool then."""
    id: str | None = None


@dataclass
class Telling:
    """A callback that is to be made."""

    path: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def error_of(code: int, status: int = 400, to: str = "33639980001") -> Response:
    """An error as WhatsApp tells it: it writes numbers without a plus."""
    told = {
        "message": f"(#{code}) a sandbox's error for {to.removeprefix('+')}",
        "type": "OAuthException",
        "code": code,
        "error_data": {
            "messaging_product": "whatsapp",
            "details": f"sandbox {code} for {_spaced(to)}",
        },
        "fbtrace_id": "A0",
    }
    return JSONResponse({"error": told}, status)


def _spaced(to: str) -> str:
    digits = to.removeprefix("+")
    return f"0{digits[2:3]} {digits[3:5]} {digits[5:7]} {digits[7:9]} {digits[9:]}"


def http_error(answer: str, to: str = "33639980001") -> Response:
    """Such as "131016", "131016:429" for another status, or "http:503:30" with Retry-After."""
    first, _, rest = answer.partition(":")
    if first != "http":
        return error_of(int(first), int(rest or 400), to)
    status, _, after = rest.partition(":")
    headers = {"retry-after": after} if after else {}
    return JSONResponse({"oops": True}, int(status), headers)


async def never(request: Request) -> Response:
    """No answer: until the caller gives up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    return Response(status_code=499)
