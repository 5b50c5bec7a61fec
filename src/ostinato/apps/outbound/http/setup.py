"""Routes for setting up: the organisation's choices, senders, templates."""

import zoneinfo
from typing import Annotated

import holidays
import psycopg
from fastapi import Path

from ostinato.apps.outbound import store
from ostinato.apps.outbound.accept import address, texts
from ostinato.apps.outbound.errors import TemplateRefused
from ostinato.apps.outbound.http.views_setup import (
    OrganisationView,
    SenderView,
    StoredSender,
    StoredTemplate,
    TemplateView,
)
from ostinato.apps.outbound.model import PROVIDER_OF
from ostinato.apps.outbound.permissions import OPERATE, READ, SET_UP
from ostinato.apps.outbound.send import holds as wakings
from ostinato.errors import Conflict, InvalidInput, NotFound
from ostinato.web import Router, Who

__all__ = ["router"]

router = Router(prefix="/api/v1/outbound", tags=["outbound setup"])

Code = Annotated[str, Path(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,119}$")]
Language = Annotated[str, Path(pattern=r"^[a-z]{2,3}(_[A-Z]{2})?$")]


@router.get("/organisation", needs=READ)
async def show_organisation(caller: Who) -> OrganisationView:
    """Zone, country, language, the hour of reminders, and what STOP covers."""
    async with caller.transaction() as conn:
        chosen = await store.organisation(conn, caller.tenant_id)
    return OrganisationView.model_validate(chosen)


@router.put("/organisation", needs=SET_UP)
async def set_organisation(caller: Who, body: OrganisationView) -> OrganisationView:
    """Choose them."""
    if body.zone not in zoneinfo.available_timezones():
        raise InvalidInput(f"there is no zone {body.zone!r}", hint="Such as Europe/Paris.")
    country, _, part = body.holidays.partition("-")
    if part not in ("", *holidays.list_supported_countries().get(country, [])) or (
        country not in holidays.list_supported_countries()
    ):
        raise InvalidInput(
            f"the public holidays of {body.holidays!r} are not known", hint="Such as FR or FR-57."
        )
    async with caller.transaction() as conn:
        await store.run(conn, "put_organisation", tenant_id=caller.tenant_id, **body.model_dump())
    return body


@router.put("/senders", needs=SET_UP, raises=(Conflict,))
async def set_sender(caller: Who, body: SenderView) -> StoredSender:
    """Add a number or an address to send from. A number belongs to one organisation."""
    try:
        async with caller.transaction() as conn:
            chosen = await store.organisation(conn, caller.tenant_id)
            row = await store.one(
                conn,
                "put_sender",
                tenant_id=caller.tenant_id,
                channel=body.channel,
                provider=PROVIDER_OF[body.channel],
                provider_key=address.to_sender(body.channel, body.provider_key, chosen.region),
                display=body.display,
                account_key=body.account_key,
            )
    except psycopg.errors.UniqueViolation:  # somebody else's, of whom this one sees nothing
        raise Conflict("this sender is set up already", hint="Use one of your own.") from None
    assert row is not None  # noqa: S101 - it was written
    return StoredSender(**row)


@router.get("/senders", needs=READ)
async def list_senders(caller: Who) -> list[StoredSender]:
    """The senders, and until when they are held."""
    async with caller.transaction() as conn:
        rows = await store.fetch(conn, "senders", tenant_id=caller.tenant_id)
    return [StoredSender(**row) for row in rows]


@router.post("/senders/{sender_id}/release", needs=OPERATE, status_code=200, raises=(NotFound,))
async def release_sender(
    caller: Who, sender_id: Annotated[int, Path(ge=1, le=2**53 - 1)]
) -> dict[str, int]:
    """End the hold of a sender, once its trouble at the provider is mended: what waits goes now."""
    async with caller.transaction() as conn:
        row = await store.one(conn, "release_sender", tenant_id=caller.tenant_id, id=sender_id)
        if row is None:
            raise NotFound(f"there is no sender {sender_id}", sender_id=sender_id)
        await store.note_audit(
            conn,
            caller.tenant_id,
            "SENDER_RELEASED",
            caller.subject,
            details={"sender_id": sender_id},
        )
        await wakings.wake_sender(conn, caller.tenant_id, sender_id)
    return {"released": sender_id}


@router.put("/templates/{template_code}/{language}", needs=SET_UP, raises=(TemplateRefused,))
async def set_template(
    caller: Who, template_code: Code, language: Language, body: TemplateView
) -> StoredTemplate:
    """Write a template; its text uses exactly the variables that it declares."""
    values = body.model_dump()
    variables = values["variables"]
    texts.check_declared(body.body, body.subject, variables, values["components"])
    async with caller.transaction() as conn:
        await store.run(
            conn,
            "put_template",
            tenant_id=caller.tenant_id,
            template_code=template_code,
            language=language,
            **values,
        )
        await wakings.wake_template(conn, caller.tenant_id, template_code, language)
    return StoredTemplate(
        **body.model_dump(), template_code=template_code, language=language, held_until=None
    )


@router.get("/templates", needs=READ)
async def list_templates(caller: Who) -> list[StoredTemplate]:
    """The templates, with their variables."""
    async with caller.transaction() as conn:
        rows = await store.fetch(conn, "templates", tenant_id=caller.tenant_id)
    return [StoredTemplate(variables=row.pop("variables_schema"), **row) for row in rows]
