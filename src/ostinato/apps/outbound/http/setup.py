"""Serves what an organisation sets up: its choices, its senders, its templates."""

import zoneinfo
from datetime import datetime, time
from typing import Annotated, Literal

import holidays
from fastapi import Path
from pydantic import Discriminator, Field, StringConstraints, WithJsonSchema

from ostinato.apps.outbound import store, views
from ostinato.apps.outbound.accept import address, texts
from ostinato.apps.outbound.errors import TemplateRefused
from ostinato.apps.outbound.model import Category, Channel
from ostinato.apps.outbound.permissions import OPERATE, READ, SET_UP
from ostinato.apps.outbound.providers import provider_of
from ostinato.apps.outbound.send import holds
from ostinato.apps.outbound.views import Name, Short, Text, View
from ostinato.errors import Conflict, InvalidInput, NotFound, OstinatoError
from ostinato.web import Router, Who

router = Router(prefix="/api/v1/outbound", tags=["outbound setup"])

# A time of day has no zone, which the format `time` of JSON Schema asks for.
LocalTime = Annotated[time, WithJsonSchema({"type": "string", "examples": ["10:00:00"]})]

TAKEN = "23505"  # unique_violation
Code = Annotated[str, Path(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,119}$")]
Language = Annotated[str, Path(pattern=r"^[a-z]{2,3}(_[A-Z]{2})?$")]


Reply = Annotated[str, StringConstraints(min_length=1, max_length=1024, pattern=r"^[^\x00]+$")]


class VariableView(View):
    """One variable of a template."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")
    kind: Literal["text", "media"] = Field(
        default="text", description='Media is {"link": "https://…", "filename": "…"}.'
    )
    required: bool = True
    max_length: int = Field(default=1024, ge=1, le=1024)


Variable = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]


class HeaderView(View):
    """The header of a WhatsApp template, if it has a variable."""

    type: Literal["header"]
    format: Literal["TEXT", "IMAGE", "VIDEO", "DOCUMENT"]
    variable: Variable


class ButtonView(View):
    """A button of a WhatsApp template, if it has a variable."""

    type: Literal["button"]
    sub_type: Literal["url", "quick_reply", "copy_code"]
    index: int = Field(ge=0, le=9)
    variable: Variable


class TemplateView(View):
    """A template: the same text on every channel; WhatsApp knows it by its provider name."""

    category: Category
    provider_name: Name
    body: Text = Field(min_length=1, examples=["Bonjour {{name}}"])
    subject: Short | None = None
    variables: list[VariableView] = Field(default=[], max_length=50)
    components: list[Annotated[HeaderView | ButtonView, Discriminator("type")]] = Field(
        default=[], max_length=11, description="On WhatsApp: a header and buttons that have a variable."
    )
    parameter_format: Literal["NAMED", "POSITIONAL"] = Field(
        default="NAMED", description="How the template was made at WhatsApp: {{name}} or {{1}}."
    )
    is_active: bool = True


class StoredTemplate(TemplateView):
    """A template with its code and language."""

    template_code: str
    language: str
    held_until: datetime | None
    provider_status: str | None = Field(
        default=None, description="WhatsApp's last word: APPROVED, REJECTED, DISABLED …"
    )


class SenderView(View):
    """A number or an address to send from."""

    channel: Channel
    provider_key: Short = Field(
        min_length=1,
        examples=["100200300"],
        description="The phone_number_id of WhatsApp; for SMS a number, a short number, a name or"
        " a Messaging Service; or the mail address.",
    )
    display: Annotated[str, StringConstraints(max_length=100, pattern=r"^[^\x00\r\n]*$")] = ""
    account_key: Short | None = Field(default=None, description="The WhatsApp account; without one, callbacks name it.")


class StoredSender(SenderView):
    """A sender with its id, and until when it is held."""

    id: int
    provider: str
    held_until: datetime | None
    hold_reason: str | None


class OrganisationView(View):
    """What an organisation has chosen."""

    zone: Annotated[str, StringConstraints(max_length=60)] = "Europe/Paris"
    region: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")] = "FR"
    language: views.Language = "fr"
    notice_time: LocalTime = time(10, 0)
    holidays: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}(-[A-Z0-9]{1,6})?$")] = "FR"
    stop_covers_all: bool = False
    stop_reply: Reply | None = Field(default=None, description="Confirms a STOP; null: nothing.")
    help_reply: Reply | None = Field(default=None, description="Answers HELP; null: nothing.")
    start_reply: Reply | None = Field(default=None, description="Confirms a START; null: nothing.")


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
        raise InvalidInput(f"the public holidays of {body.holidays!r} are not known", hint="Such as FR or FR-57.")
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
                provider=provider_of(body.channel).name,
                provider_key=address.to_sender(body.channel, body.provider_key, chosen.region),
                display=body.display,
                account_key=body.account_key,
            )
    except OstinatoError as error:
        if error.values.get("sqlstate") != TAKEN:  # somebody else's, of whom this one sees nothing
            raise
        raise Conflict("this sender is set up already", hint="Use one of your own.") from None
    return StoredSender(**row)


@router.get("/senders", needs=READ)
async def list_senders(caller: Who) -> list[StoredSender]:
    """The senders, and until when they are held."""
    async with caller.transaction() as conn:
        rows = await store.rows(conn, "senders", tenant_id=caller.tenant_id)
    return [StoredSender(**row) for row in rows]


@router.post("/senders/{sender_id}/release", needs=OPERATE, status_code=200, raises=(NotFound,))
async def release_sender(caller: Who, sender_id: Annotated[int, Path(ge=1, le=2**53 - 1)]) -> dict[str, int]:
    """End the hold of a sender, once its trouble at the provider is fixed: what waits goes now."""
    async with caller.transaction() as conn:
        row = await store.first(conn, "release_sender", tenant_id=caller.tenant_id, id=sender_id)
        if row is None:
            raise NotFound(f"there is no sender {sender_id}", sender_id=sender_id)
        await store.note_audit(
            conn, caller.tenant_id, "SENDER_RELEASED", caller.subject, details={"sender_id": sender_id}
        )
        await holds.wake_sender(conn, caller.tenant_id, sender_id)
    return {"released": sender_id}


@router.put("/templates/{template_code}/{language}", needs=SET_UP, raises=(TemplateRefused,))
async def set_template(caller: Who, template_code: Code, language: Language, body: TemplateView) -> StoredTemplate:
    """Write a template; its text uses exactly the variables that it declares."""
    values = body.model_dump()
    variables = values["variables"]
    texts.check_declared(body.body, body.subject, variables, values["components"])
    async with caller.transaction() as conn:
        key = {"template_code": template_code, "language": language}
        await store.put_template(conn, caller.tenant_id, **key, **values)
        await holds.wake_template(conn, caller.tenant_id, template_code, language)
    return StoredTemplate(**body.model_dump(), template_code=template_code, language=language, held_until=None)


@router.get("/templates", needs=READ)
async def list_templates(caller: Who) -> list[StoredTemplate]:
    """The templates, with their variables."""
    async with caller.transaction() as conn:
        rows = await store.rows(conn, "templates", tenant_id=caller.tenant_id)
    return [StoredTemplate(variables=row.pop("variables_schema"), **row) for row in rows]
