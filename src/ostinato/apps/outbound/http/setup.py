"""Serves what an organisation sets up: its choices, its templates."""

import zoneinfo
from datetime import datetime, time
from typing import Annotated, Literal

import holidays
import phonenumbers
from fastapi import Path
from pydantic import Discriminator, Field, StrictBool, StringConstraints, WithJsonSchema

from ostinato import audit, jobs, tenants
from ostinato.apps.outbound import store, views
from ostinato.apps.outbound.accept import texts
from ostinato.apps.outbound.errors import TemplateRefused
from ostinato.apps.outbound.model import Category
from ostinato.apps.outbound.permissions import READ, SET_UP
from ostinato.apps.outbound.send import holds
from ostinato.apps.outbound.views import NUMBER, Name, Short, Text, View, Whole
from ostinato.errors import InvalidInput
from ostinato.web import Router, Who

router = Router(prefix="/api/v1/outbound", tags=["outbound setup"])

# A time of day has no zone, which the format `time` of JSON Schema asks for.
LocalTime = Annotated[time, WithJsonSchema({"type": "string", "examples": ["10:00:00"]})]
Code = Annotated[str, Path(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,119}$")]
Language = Annotated[str, Path(pattern=r"^[a-z]{2,3}(_[A-Z]{2})?$")]


HOURS = {"zone", "holidays", "opens", "closes", "marketing_opens", "marketing_closes"}
"""What decides when a message goes that waits for its hour."""
DAYS = {"zone", "notice_time", "reminder_days"}
"""What decides when reminders are due."""
EVENTS = "outbound_events"
Day = Annotated[int, Field(ge=-60, le=365), NUMBER]
MOST_LANGUAGES = 50
Reply = Annotated[str, StringConstraints(min_length=1, max_length=1024, pattern=r"^[^\x00]+$")]


class VariableView(View):
    """One variable of a template."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")
    kind: Literal["text", "media"] = Field(
        default="text", description='Media is {"link": "https://…", "filename": "…"}.'
    )
    required: StrictBool = True
    max_length: Whole = Field(default=1024, ge=1, le=1024)


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
    index: Whole = Field(ge=0, le=9)
    variable: Variable


class TemplateView(View):
    """A template: the same text on every channel; WhatsApp knows it by its provider name."""

    category: Category
    provider_name: Name
    body: Text = Field(min_length=1, examples=["Bonjour {{name}}"])
    html: Annotated[str, StringConstraints(min_length=1, max_length=500_000, pattern=r"^[^\x00]+$")] | None = Field(
        default=None, description="Of mail: the same as HTML, in which values are escaped; the body is its text twin."
    )
    subject: Short | None = None
    variables: list[VariableView] = Field(default=[], max_length=50)
    components: list[Annotated[HeaderView | ButtonView, Discriminator("type")]] = Field(
        default=[], max_length=11, description="On WhatsApp: a header and buttons that have a variable."
    )
    parameter_format: Literal["NAMED", "POSITIONAL"] = Field(
        default="NAMED", description="How the template was made at WhatsApp: {{name}} or {{1}}."
    )
    is_active: StrictBool = True


class StoredTemplate(TemplateView):
    """A template with its code and language."""

    template_code: str
    language: str
    held_until: datetime | None
    provider_status: str | None = Field(
        default=None, description="WhatsApp's last word: APPROVED, REJECTED, DISABLED …"
    )


class RepliesView(View):
    """What answers in one language; null: the text for all languages does."""

    stop: Reply | None = None
    help: Reply | None = None
    start: Reply | None = None


class OrganisationView(View):
    """What an organisation has chosen."""

    zone: Annotated[str, StringConstraints(max_length=60)] = "Europe/Paris"
    region: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")] = Field(
        default="FR", description="The country of telephone numbers that name none."
    )
    language: views.Language = "fr"
    notice_time: LocalTime = Field(default=time(10, 0), description="When reminders are due.")
    holidays: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}(-[A-Z0-9]{1,6})?$")] = "FR"
    stop_covers_all: StrictBool = False
    stop_reply: Reply | None = Field(default=None, description="Confirms a STOP; null: nothing.")
    help_reply: Reply | None = Field(default=None, description="Answers HELP; null: nothing.")
    start_reply: Reply | None = Field(default=None, description="Confirms a START; null: nothing.")
    replies: dict[views.Language, RepliesView] = Field(
        default_factory=dict,
        max_length=MOST_LANGUAGES,
        description="The same by language: of the last message to that address, else the organisation's.",
    )
    opens: LocalTime = Field(default=time(8), description="From then to `closes` messages go, every day.")
    closes: LocalTime = time(21)
    marketing_opens: LocalTime = Field(default=time(8), description="The same for marketing, Monday to Saturday.")
    marketing_closes: LocalTime = time(20)
    reminder_days: list[Day] = Field(
        default=[-3, -1, 1, 7],
        max_length=20,
        description="When members of Coop Habitat are reminded: days from the due date, before it and after it.",
    )


def _check(body: OrganisationView) -> None:
    """Refuse what could not be used later, when nobody is there to hear it."""
    if body.zone not in zoneinfo.available_timezones():
        raise InvalidInput(f"there is no zone {body.zone!r}", hint="Such as Europe/Paris.")
    if body.region not in phonenumbers.SUPPORTED_REGIONS:
        raise InvalidInput(f"no telephone numbers are known of region {body.region!r}", hint="Such as FR or RE.")
    country, _, part = body.holidays.partition("-")
    if part not in ("", *holidays.list_supported_countries().get(country, [])) or (
        country not in holidays.list_supported_countries()
    ):
        raise InvalidInput(f"the public holidays of {body.holidays!r} are not known", hint="Such as FR or FR-57.")
    times = (body.notice_time, body.opens, body.closes, body.marketing_opens, body.marketing_closes)
    if any(each.tzinfo is not None for each in times):
        raise InvalidInput("times of the day are local, and have no offset", hint="Such as 08:00.")
    if body.opens >= body.closes or body.marketing_opens >= body.marketing_closes:
        raise InvalidInput("hours end before they begin", hint="Such as opens 08:00 and closes 21:00.")
    if 0 in body.reminder_days or len(set(body.reminder_days)) != len(body.reminder_days):
        raise InvalidInput("reminderDays are before or after the due date, each once", hint="Such as [-3, -1, 1, 7].")


@router.get("/organisation", needs=READ)
async def show_organisation(caller: Who) -> OrganisationView:
    """Return zone, country, language, hours, days of reminders, and what STOP covers."""
    async with caller.transaction() as conn:
        chosen = await store.organisation(conn, caller.tenant_id)
    return OrganisationView.model_validate(chosen)


@router.put("/organisation", needs=SET_UP, raises=(InvalidInput,))
async def set_organisation(caller: Who, body: OrganisationView) -> OrganisationView:
    """Set zone, country, language, hours and days of reminders. What waits for its hour or day is planned anew."""
    _check(body)
    body.reminder_days.sort()
    tenant_id = caller.tenant_id
    async with caller.transaction() as conn:
        before = OrganisationView.model_validate(await store.organisation(conn, tenant_id))
        await store.run(conn, "put_organisation", tenant_id=tenant_id, **body.model_dump())
        changed = {name for name in OrganisationView.model_fields if getattr(before, name) != getattr(body, name)}
        await audit.note(conn, "set", "organisation", detail={"fields": sorted(changed)})
        if changed & HOURS:
            await holds.wake_quiet(conn, tenant_id)
        if changed & DAYS:
            correlation_id = tenants.current_correlation()
            await store.run(conn, "start_replan", tenant_id=tenant_id, correlation_id=correlation_id)
            jobs.wake_after_commit(EVENTS)
    return body


@router.put("/templates/{template_code}/{language}", needs=SET_UP, raises=(TemplateRefused,))
async def set_template(caller: Who, template_code: Code, language: Language, body: TemplateView) -> StoredTemplate:
    """Write a template; its text uses exactly the variables that it declares."""
    values = body.model_dump()
    variables = values["variables"]
    texts.check_declared(body.body, body.subject, variables, values["components"], body.html)
    async with caller.transaction() as conn:
        key = {"template_code": template_code, "language": language}
        await store.put_template(conn, caller.tenant_id, **key, **values)
        await holds.wake_template(conn, caller.tenant_id, template_code, language)
        await audit.note(conn, "set", "template", f"{template_code}/{language}")
    return StoredTemplate(**body.model_dump(), template_code=template_code, language=language, held_until=None)


@router.get("/templates", needs=READ)
async def list_templates(caller: Who) -> list[StoredTemplate]:
    """Return the templates, with their variables."""
    async with caller.transaction() as conn:
        rows = await store.rows(conn, "templates", tenant_id=caller.tenant_id)
    return [StoredTemplate(variables=row.pop("variables_schema"), **row) for row in rows]
