"""Writes our errors as problem documents (RFC 9457): one JSON shape, with the remedy.

    {"type": "/problems/not_found", "title": "Not found", "status": 404,
     "detail": "There is no job 7.", "code": "not_found", "hint": "Check the id …",
     "values": {"job_id": 7}, "errors": [], "correlation_id": "…", "instance": "/api/v1/…"}

`code` is stable and for programs; `detail` and `hint` are for people. Where a contract fixes
another body, the router of that application raises `Answered` with its own.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastapi import Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from ostinato._core.base import flow
from ostinato._core.base.errors import (
    BodyTooLarge,
    DatabaseUnavailable,
    Forbidden,
    InvalidInput,
    MediaTypeRefused,
    NoAnswer,
    OstinatoError,
    RequestRefused,
    TooManyRequests,
    Unauthenticated,
)
from ostinato._core.base.redact import redact_value

MEDIA_TYPE = "application/problem+json"
"""The content type of a problem document."""
RETRY_SECONDS = 1

Raised = type[OstinatoError]


class FieldError(BaseModel):
    """What is wrong with one field of a request."""

    field: str = Field(examples=["body.kind"], description="Where it stands, by dots.")
    reason: str = Field(examples=["missing"], description="Stable, for programs.")
    message: str = Field(examples=["Field required"], description="For people.")


class Problem(BaseModel):
    """What went wrong, with which values, and what to do."""

    type: str = Field(examples=["/problems/not_found"], description="A page about this code.")
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no job 7."])
    code: str = Field(examples=["not_found"], description="Stable, for programs.")
    hint: str | None = Field(default=None, examples=["Check the id or name."])
    retryable: bool = Field(default=False, description="The same request may succeed later.")
    values: dict[str, Any] = Field(default_factory=dict, examples=[{"job_id": 7}])
    errors: list[FieldError] = Field(default_factory=list)
    instance: str | None = Field(default=None, examples=["/api/v1/engine/jobs/7"])
    correlation_id: str | None = Field(default=None, examples=["5f0c1e2a9b7d4c3f"])


class Answered(Exception):
    """Raised to answer with another body, where a contract fixes the error body; the log line has the code."""

    def __init__(self, response: Response, code: str | None = None) -> None:
        super().__init__(response.status_code)
        self.response = response
        self.code = code


def problem(
    error: OstinatoError,
    *,
    status: int | None = None,
    instance: str | None = None,
    errors: Sequence[FieldError] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return an error as an HTTP answer."""
    code = status or type(error).status or 500
    document = Problem(
        type=f"/problems/{type(error).code}",
        title=title_of(type(error)),
        status=code,
        detail=error.message,
        code=type(error).code,
        hint=error.hint,
        retryable=type(error).retryable,
        values=_plain(error.values),
        errors=list(errors),
        instance=instance,
        correlation_id=flow.current_correlation(),
    )
    sent = dict(headers or {})
    if type(error).retryable:
        # An error that knows when to retry has it among its values.
        sent.setdefault("Retry-After", str(error.values.get("retry_after", RETRY_SECONDS)))
    if isinstance(error, Unauthenticated):
        sent.setdefault("WWW-Authenticate", "Bearer")
    return JSONResponse(document.model_dump(), code, sent, MEDIA_TYPE)


def title_of(kind: Raised) -> str:
    """Return the title of a code: its words."""
    return kind.code.replace("_", " ").capitalize()


def field_errors(faults: Iterable[Mapping[str, Any]]) -> list[FieldError]:
    """Return the faults of a validation, without the values sent, which may be secret."""
    return [
        FieldError(
            field=".".join(str(part) for part in fault["loc"]), reason=str(fault["type"]), message=str(fault["msg"])
        )
        for fault in faults
    ]


# The errors that any route may answer with; a route adds its own.
_USUAL: tuple[Raised, ...] = (
    RequestRefused,
    Unauthenticated,
    Forbidden,
    InvalidInput,
    TooManyRequests,
    NoAnswer,
    DatabaseUnavailable,
)
_WITH_BODY: tuple[Raised, ...] = (BodyTooLarge, MediaTypeRefused)


def responses(*more: Raised, body: bool = False, usual: bool = True) -> dict[int | str, dict[str, Any]]:
    """Return the error answers of a route, for the OpenAPI document."""
    found: dict[int | str, dict[str, Any]] = {}
    kinds = (*(_USUAL if usual else ()), *(_WITH_BODY if body else ()), *more)
    for kind in kinds:
        found[kind.status or 500] = {
            "model": Problem,
            "description": (kind.__doc__ or "").split("\n")[0],
            "content": {MEDIA_TYPE: {"example": _example(kind)}},
        }
    return found


def _example(kind: Raised) -> dict[str, Any]:
    return {
        "type": f"/problems/{kind.code}",
        "title": title_of(kind),
        "status": kind.status or 500,
        "detail": (kind.__doc__ or "").split("\n")[0],
        "code": kind.code,
        "hint": kind.hint,
        "retryable": kind.retryable,
        "values": {},
        "errors": [],
        "instance": "/api/v1/engine/jobs/7",
        "correlation_id": "5f0c1e2a9b7d4c3f",
    }


def _plain(values: Mapping[str, object]) -> dict[str, Any]:
    """Return the values of an error as JSON, without secrets."""
    shown = {name: redact_value(name, value) for name, value in values.items()}
    loaded: dict[str, Any] = json.loads(json.dumps(shown, default=str))
    return loaded
