"""Answers errors of callers with the bodies that the specification fixes (M3C-api-1)."""

from typing import Any, Final, NoReturn

from fastapi.responses import JSONResponse

from ostinato import database, tenants
from ostinato.apps.enrichment.queries import Connection
from ostinato.apps.enrichment.views import Detail, ErrorBody
from ostinato.idempotency import Differs, InFlight
from ostinato.web import MEDIA_TYPE, Answered

RETRY_SECONDS: Final = "1"
SERVERS_TOO: Final = (400, 422)


def fixed(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the error answers of a route, for the OpenAPI document.

    What the server itself refuses (no JSON, a key that is none) is a problem document there, too.
    """
    problem: dict[str, Any] = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    words = {
        400: "The request cannot be read.",
        404: "The tenant has no such request.",
        409: "The company was refreshed a moment ago; or the same request is being worked on.",
        422: "SIREN and SIRET are of two companies; or the key was used for another request.",
    }
    return {
        status: {"model": ErrorBody, "description": words[status]} | (problem if status in SERVERS_TOO else {})
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
    """Answer with the error body that the specification fixes."""
    body = ErrorBody(
        error=error,
        code=code,
        message=message,
        details=details or [],
        correlation_id=tenants.current_correlation(),
        request_id=request_id,
        timestamp=await database.now(conn),
    )
    raise Answered(JSONResponse(body.model_dump(mode="json"), status, headers), code)


async def missing(conn: Connection, request_id: str) -> NoReturn:
    """Answer that there is no such request, or that it is somebody else's."""
    said = "Cette demande n'existe pas."
    await refuse(conn, 404, "not_found", "NOT_FOUND", said, request_id=request_id[:100])


async def refuse_key(conn: Connection, decision: InFlight | Differs) -> NoReturn:
    """Answer a key that is in flight, or that was used for another request (M3C-api-2)."""
    if isinstance(decision, InFlight):
        await refuse(
            conn,
            409,
            "conflict",
            "IDEMPOTENCY_IN_FLIGHT",
            "La même demande est en cours de traitement.",
            headers={"Retry-After": RETRY_SECONDS},
        )
    await refuse(
        conn,
        422,
        "business_rule_failed",
        "IDEMPOTENCY_CONFLICT",
        "Cette clé a servi à une autre demande.",
        [Detail(field=name, reason="differs_from_first_request") for name in decision.fields],
    )
