"""The error bodies that M3B fixes, for all that a caller can do wrong with a request."""

from typing import Any, Final, NoReturn

from fastapi.responses import JSONResponse
from psycopg import AsyncConnection

from ostinato import database, idempotency, tenants
from ostinato.apps.enrichment.views import Detail, ErrorBody
from ostinato.idempotency import Declaration, Differs, InFlight, New, Replay
from ostinato.web import MEDIA_TYPE, Answered, IdempotencyKey

__all__ = ["begun", "fixed", "missing", "refuse"]

Connection = AsyncConnection[Any]

IN_FLIGHT_SECONDS: Final = 30.0
RETRY_SECONDS: Final = "1"
SERVERS_TOO: Final = (400, 422)


def fixed(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error answers of a route, for the OpenAPI document.

    What the server itself refuses (no JSON, a key that is none) is a problem document there, too.
    """
    problem: dict[str, Any] = {
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    }
    words = {
        400: "The request cannot be read.",
        404: "The tenant has no such request.",
        409: "The company was refreshed a moment ago; or the same request is being worked on.",
        422: "SIREN and SIRET are of two companies; or the key was used for another request.",
    }
    return {
        status: {"model": ErrorBody, "description": words[status]}
        | (problem if status in SERVERS_TOO else {})
        for status in statuses
    }


async def refuse(  # noqa: PLR0917 - as the body has them
    conn: Connection,
    status: int,
    error: str,
    code: str,
    message: str,
    details: list[Detail] | None = None,
    *,
    request_id: str | None = None,
    headers: dict[str, str] | None = None,
) -> NoReturn:
    """Answer with the error body that M3B fixes."""
    body = ErrorBody(
        error=error,
        code=code,
        message=message,
        details=details or [],
        correlation_id=tenants.current_correlation(),
        request_id=request_id,
        timestamp=await database.now(conn),
    )
    raise Answered(JSONResponse(body.model_dump(mode="json"), status, headers))


async def missing(conn: Connection, request_id: str) -> NoReturn:
    """There is no such request, or it is somebody else's."""
    said = "Cette demande n'existe pas."
    await refuse(conn, 404, "not_found", "NOT_FOUND", said, request_id=request_id[:100])


async def begun(conn: Connection, key: IdempotencyKey) -> New | Replay | None:
    """What is to be done under the key of a request; None: it has none, and is new."""
    if key.value is None:
        return None
    found = await idempotency.begin(
        conn,
        key.scope,
        key.value,
        key.payload,
        Declaration(),
        lease_seconds=IN_FLIGHT_SECONDS,
        wait=False,
    )
    match found:
        case InFlight():
            await refuse(
                conn,
                409,
                "conflict",
                "IDEMPOTENCY_IN_FLIGHT",
                "La même demande est en cours de traitement.",
                headers={"Retry-After": RETRY_SECONDS},
            )
        case Differs(fields=fields):
            await refuse(
                conn,
                422,
                "business_rule_failed",
                "IDEMPOTENCY_CONFLICT",
                "Cette clé a servi à une autre demande.",
                [Detail(field=name, reason="differs_from_first_request") for name in fields],
            )
    return found
