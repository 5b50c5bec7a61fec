"""Serves many messages in one request: each is accepted or refused by itself, in one commit."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Request
from pydantic import Field, StringConstraints

from ostinato.apps.outbound.accept import service
from ostinato.apps.outbound.accept.service import Accepted, Blocked
from ostinato.apps.outbound.http.messages import NewOutbound, asked, blocked, memory_of
from ostinato.apps.outbound.model import Status
from ostinato.apps.outbound.permissions import SEND
from ostinato.apps.outbound.views import View
from ostinato.errors import OstinatoError
from ostinato.web import Router, Who

router = Router(prefix="/api/v1/outbound", tags=["outbound"])

MOST = 500
MOST_BYTES = 4 * 2**20


class KeyedOutbound(NewOutbound):
    """A message to send, with its key."""

    idempotency_key: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")] = Field(
        description="Unique for the organisation, for good: the same key is the same message."
    )


class NewBatch(View):
    """Messages to send."""

    messages: list[KeyedOutbound] = Field(min_length=1, max_length=MOST)


class Refusal(View):
    """Why a message was refused, as a problem document of `POST /messages` says it."""

    code: str
    detail: str
    hint: str | None
    values: dict[str, Any]


class BatchItem(View):
    """What became of a message."""

    status: int = Field(
        description="As `POST /messages` would answer: 201, 200 for a key that was used before, or 4xx."
    )
    id: UUID | None = None
    message_status: Status | None = None
    problem: Refusal | None = None


class BatchAccepted(View):
    """What became of each message, in the order of the request."""

    items: list[BatchItem]


@router.post("/messages/batch", needs=SEND, status_code=200, max_body_bytes=MOST_BYTES)
async def create_messages(caller: Who, request: Request, body: NewBatch) -> BatchAccepted:
    """Ask for up to 500 messages to be sent, each once for its key, and each accepted or refused by itself."""
    news = [asked(each, each.idempotency_key) for each in body.messages]
    made = await service.accept_for(caller, news, memory_of(request))
    return BatchAccepted(items=[_item(each) for each in made])


def _item(made: Accepted | Blocked | OstinatoError) -> BatchItem:
    if isinstance(made, Accepted):
        return BatchItem(status=201 if made.is_new else 200, id=made.id, message_status=made.status)
    error = blocked(made) if isinstance(made, Blocked) else made
    why = Refusal(code=type(error).code, detail=error.message, hint=error.hint, values=dict(error.values))
    return BatchItem(status=type(error).status or 500, problem=why)
