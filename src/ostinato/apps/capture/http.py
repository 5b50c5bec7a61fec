"""Serves captures over HTTP: send one, upload its object, see where it stands.

The capture's own id is the key of the request: the same capture again is answered 200 with what is
there, a different one under the same id 409. So the header `Idempotency-Key` is not needed here.
"""

from ipaddress import ip_address
from typing import Annotated

from fastapi import Path, Query, Request, Response
from fastapi.responses import JSONResponse

from ostinato.apps.capture import fields as checks
from ostinato.apps.capture import rules, search, service, uploads
from ostinato.apps.capture.model import State
from ostinato.apps.capture.permissions import NOTIFY, READ, TAKE
from ostinato.apps.capture.settings import CaptureSettings
from ostinato.apps.capture.views import (
    MOST_BODY,
    Announced,
    CaptureAccepted,
    CaptureConflict,
    CapturePage,
    CaptureRequest,
    CaptureView,
    StoreNotice,
    UploadView,
    Written,
)
from ostinato.errors import Conflict, IdempotencyConflict, NotFound
from ostinato.web import Answered, Router, Who

router = Router(prefix="/documents", tags=["capture"])

CaptureId = Annotated[str, Path(pattern=checks.CAPTURE_ID)]


def _source_of(request: Request) -> str | None:
    """Return the address that the request came from; None: the proxy in front gave no valid one."""
    try:
        return str(ip_address(request.client.host)) if request.client is not None else None
    except ValueError:
        return None


@router.post(
    "/capture",
    needs=TAKE,
    max_body_bytes=MOST_BODY,
    status_code=202,
    response_model=CaptureAccepted,
    responses={
        200: {"model": CaptureAccepted, "description": "The same capture was there already."},
        409: {"model": CaptureConflict, "description": "capture_id belongs to another payload."},
    },
)
async def take_capture(caller: Who, request: Request, body: CaptureRequest) -> Response:
    """Send a capture.

    202 when it is new, 200 when it came before: then with the id and the state that it has, and
    without looking at its OCR and its clock, for the first ones count.
    """
    settings = caller.settings(CaptureSettings)
    wanted = body.wanted(_source_of(request))
    skew, most = settings.skew_seconds, settings.max_object_bytes
    try:
        taken = await service.take_at_once(caller, wanted, skew_seconds=skew, max_object_bytes=most)
        if taken is None:
            taken = await service.receive(
                caller.transaction, caller.subject, wanted, skew_seconds=skew, max_object_bytes=most
            )
    except IdempotencyConflict:
        conflict = CaptureConflict(error="CONFLICT", message=rules.CONFLICT_MESSAGE)
        raise Answered(JSONResponse(conflict.model_dump(), 409), conflict.error) from None
    answer = CaptureAccepted.model_validate(taken, from_attributes=True)
    return JSONResponse(answer.model_dump(), 200 if taken.replayed else 202)


@router.get("/capture/{capture_id}", needs=READ, raises=(NotFound,))
async def show_capture(caller: Who, capture_id: CaptureId) -> CaptureView:
    """Return a capture of one's own: where it stands, and why."""
    async with caller.transaction() as conn:
        return CaptureView(**await service.show(conn, caller.subject, capture_id))


@router.get("/capture", needs=READ)
async def list_captures(
    caller: Who,
    *,
    state: State | None = None,
    mime_type: Annotated[str | None, Query(pattern=checks.MIME_TYPE)] = None,
    device_id: Annotated[str | None, Query(pattern=checks.CAPTURE_ID)] = None,
    content_hash: Annotated[str | None, Query(pattern=checks.HASH)] = None,
    changed: Annotated[bool, Query(description="Only those whose object is not what was sealed.")] = False,
    text: Annotated[
        str | None, Query(min_length=2, max_length=200, description="Part of what was read, in any letter case.")
    ] = None,
    since: Written | None = None,
    until: Written | None = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> CapturePage:
    """Return captures of one's own, newest first: all, or those that fit every filter.

    A page looks at a thousand captures at the most, so one with few items, or none, may have a next.
    """
    wanted = search.Filters(
        state=state,
        mime_type=mime_type,
        device_id=device_id and device_id.lower(),
        content_hash=content_hash and content_hash.lower(),
        changed=changed,
        text=text,
        since=since,
        until=until,
    )
    async with caller.transaction() as conn:
        found, following = await search.page(conn, caller.subject, wanted, cursor, limit)
    return CapturePage.model_validate({"items": found, "next_cursor": following})


@router.post("/capture/{capture_id}/upload", needs=TAKE, raises=(NotFound, Conflict))
async def upload_capture(caller: Who, capture_id: CaptureId) -> UploadView:
    """Return an address to which the object of a capture may be uploaded: once, in the declared size."""
    settings = caller.settings(CaptureSettings)
    async with caller.transaction() as conn:
        key, size = await service.awaited_upload(conn, caller.subject, capture_id)
    made = uploads.presigned(settings, caller.tenant_id, key, size)
    return UploadView(method="PUT", url=made.url, headers=made.headers, expires_at=made.expires_at)


@router.post("/capture/{capture_id}/uploaded", needs=TAKE, status_code=202, raises=(NotFound,))
async def announce_upload(caller: Who, capture_id: CaptureId) -> Announced:
    """Say that the object of a capture was uploaded: it is looked for now, and not only later."""
    async with caller.transaction() as conn:
        await service.show(conn, caller.subject, capture_id)
        return Announced(woken=len(await service.announce(conn, capture_id=capture_id)))


@router.post("/capture-events", needs=NOTIFY, status_code=202)
async def take_notice(caller: Who, body: StoreNotice) -> Announced:
    """Take notifications of the store (S3's own form, or EventBridge's): captures that wait are looked at now.

    What is not below the tenant's own folder, in another bucket, or no upload is passed over.
    """
    keys = uploads.announced_keys(caller.settings(CaptureSettings), caller.tenant_id, body)
    if not keys:
        return Announced(woken=0)
    async with caller.transaction() as conn:
        return Announced(woken=len(await service.announce(conn, object_keys=keys)))
