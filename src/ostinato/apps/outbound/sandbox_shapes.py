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
    id: str | None = None


@dataclass
class Telling:
    """A callback that is to be made."""

    path: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def error_of(code: int, status: int = 400) -> Response:
    """An error as WhatsApp tells it."""
    told = {
        "message": f"(#{code}) a sandbox's error for +33639980001",
        "type": "OAuthException",
        "code": code,
        "error_data": {"messaging_product": "whatsapp", "details": f"sandbox {code}"},
        "fbtrace_id": "A0",
    }
    return JSONResponse({"error": told}, status)


def http_error(answer: str) -> Response:
    """Such as "131016", "131016:429" for another status, or "http:503:30" with Retry-After."""
    first, _, rest = answer.partition(":")
    if first != "http":
        return error_of(int(first), int(rest or 400))
    status, _, after = rest.partition(":")
    headers = {"retry-after": after} if after else {}
    return JSONResponse({"oops": True}, int(status), headers)


async def never(request: Request) -> Response:
    """No answer: until the caller gives up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    return Response(status_code=499)
