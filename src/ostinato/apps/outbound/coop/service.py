"""Keeps members and contributions of Coop Habitat, and makes messages of their events and timers.

An event is one row of the outbox; what it becomes is one message for each recipient, under a key
that names the recipient. Timers are schedules of the engine: a changed date deletes the old ones
and writes new ones, in the transaction of the change.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from ostinato import jobs, schedules
from ostinato.apps.outbound.coop import rules
from ostinato.apps.outbound.coop.rules import CALL, CONTRIBUTION, EVENTS, OPEN, Step
from ostinato.apps.outbound.surface import (
    Accepted,
    Blocked,
    Channel,
    Connection,
    NewMessage,
    Organisation,
    OutboundSettings,
    Purpose,
    Row,
    Status,
    accept,
    composed_key,
    normalised,
    note_audit,
    organisation,
    withdraw,
)
from ostinato.database import Queries
from ostinato.errors import NotFound, OstinatoError

QUERIES: Final = Queries("ostinato.apps.outbound.coop")
ACTOR = "outbound.coop"
NO_LONGER = "no longer relevant"
WITHDRAWN = "NO_LONGER_RELEVANT"
PAGE = 200
MOST_TURNS = 20
"""A date that is moved to and fro makes another message each time, but not for ever."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group, as notifications need to know."""

    id: str
    group_id: str
    subject_id: str
    address: str
    status: str = "ACTIVE"
    channel: Channel = Channel.WHATSAPP
    name: str = ""
    language: str = "fr"
    dossier_id: str | None = None


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a member owes, and until when."""

    id: str
    member_id: str
    plan_id: str
    plan_version: int
    due_date: date
    amount_due: Decimal
    currency: str = "EUR"
    penalty: Decimal = Decimal(0)
    status: str = "PENDING"
    paid_date: date | None = None


async def put_member(conn: Connection, tenant_id: str, member: Member, settings: OutboundSettings) -> None:
    """Write a member; the address as it is compared with that of a consent."""
    chosen = await organisation(conn, tenant_id)
    to = normalised(
        member.channel, member.address, region=chosen.region, validation=settings.validation, field="address"
    )
    await QUERIES.run(conn, "put_member", tenant_id=tenant_id, **{**asdict(member), "address": to})


async def check_member(conn: Connection, tenant_id: str, member_id: str) -> None:
    """Raise `NotFound` where an organisation has no such member."""
    if await QUERIES.first(conn, "member", tenant_id=tenant_id, id=member_id) is None:
        raise NotFound(f"there is no member {member_id}", hint="PUT /coop/members/{id} first.", member_id=member_id)


async def put_contribution(conn: Connection, tenant_id: str, new: Contribution) -> bool:
    """Write a contribution; returns whether its call for funds is to be emitted.

    Another date, version or member cancels what waits and writes the timers anew, as does one that
    is open again; one that is paid or waived has none.
    """
    await check_member(conn, tenant_id, new.member_id)
    old = await QUERIES.first(conn, "contribution", tenant_id=tenant_id, id=new.id)
    await QUERIES.run(conn, "put_contribution", tenant_id=tenant_id, **asdict(new))
    is_open = new.status in OPEN and new.paid_date is None
    names = ("due_date", "plan_version", "member_id")
    changed = old is None or any(old[name] != getattr(new, name) for name in names)
    # A payment bounced: its timers were cancelled when it was paid.
    changed |= old is not None and not _is_open(old)
    if is_open and not changed:
        return False
    await _cancel(conn, tenant_id, new.id)
    if is_open:
        await _write_timers(conn, tenant_id, new)
    return is_open


async def replan(conn: Connection, tenant_id: str, after: str) -> str | None:
    """Write the timers of a page of open contributions anew; the last of them, None: it was the last page."""
    rows = await QUERIES.rows(conn, "open_contributions", tenant_id=tenant_id, after=after, most=PAGE)
    for row in rows:
        names = [each.name for each in fields(Contribution)]
        await _forget_timers(conn, tenant_id, row["id"])
        await _write_timers(conn, tenant_id, Contribution(**{name: row[name] for name in names}))
    return str(rows[-1]["id"]) if len(rows) == PAGE else None


async def _forget_timers(conn: Connection, tenant_id: str, contribution_id: str) -> None:
    for each in await schedules.list_(conn, key=_key(contribution_id), tenant_id=tenant_id):
        await schedules.delete(conn, each.name, tenant_id=tenant_id)


async def _cancel(conn: Connection, tenant_id: str, contribution_id: str) -> None:
    await _forget_timers(conn, tenant_id, contribution_id)
    about = (CONTRIBUTION, contribution_id)
    await withdraw(conn, tenant_id, about, reason=WITHDRAWN, actor=ACTOR)


async def _write_timers(conn: Connection, tenant_id: str, new: Contribution) -> None:
    """Write the steps that are still to come: late creation makes no burst of reminders."""
    chosen = await organisation(conn, tenant_id)
    due: dict[str, datetime] = {}
    for step in map(rules.step_of, chosen.reminder_days):
        local = rules.local_time(step, new.due_date, chosen.notice_time)
        at, now = await _instant(conn, local, chosen)
        if at > now:
            due[step.name] = local
    if due:
        what: dict[str, Any] = {"steps": list(due), "times": list(due.values()), "zone": chosen.zone}
        await QUERIES.run(conn, "start_timers", tenant_id=tenant_id, contribution_id=new.id, **what)
        jobs.wake_after_commit(schedules.RING)


async def take_step(
    conn: Connection,
    tenant_id: str,
    contribution_id: str,
    step: Step,
    *,
    due: date,
    plan_version: int,
    settings: OutboundSettings,
) -> str:
    """Make the message of a timer that fired, or say why not; "overdue" is to be emitted."""
    row = await QUERIES.first(conn, "contribution", tenant_id=tenant_id, id=contribution_id)
    chosen = await organisation(conn, tenant_id)
    if row is None or not _is_current(row, due, plan_version) or step.days not in chosen.reminder_days:
        return NO_LONGER
    if not step.reminds:
        await QUERIES.run(conn, "set_late", tenant_id=tenant_id, id=contribution_id)
    if step == rules.first_late(chosen.reminder_days):
        return "overdue"
    return await about_contribution(conn, tenant_id, row, step, settings)


async def about_contribution(conn: Connection, tenant_id: str, row: Row, step: Step, settings: OutboundSettings) -> str:
    """Write the message of a step about a contribution, to its member."""
    member = await QUERIES.first(conn, "member", tenant_id=tenant_id, id=row["member_id"])
    if member is None or member["status"] != "ACTIVE":
        return "the member is not active"
    language = member["language"]
    variables: dict[str, Any] = {
        "name": member["name"] or member["id"],
        "amount": rules.amount_text(row["amount_due"], row["currency"], language),
        "due_date": rules.date_text(row["due_date"], language),
        "plan_id": row["plan_id"],
        "plan_version": str(row["plan_version"]),
    }
    if step.template_code == "EVT_COOP_PAYMENT_LATE":
        variables["penalty"] = rules.amount_text(row["penalty"], row["currency"], language)
    last = None
    if step.reminds:  # never past the due date, whatever holds it up
        chosen = await organisation(conn, tenant_id)
        midnight = datetime.combine(row["due_date"] + timedelta(days=1), time())
        last, _ = await _instant(conn, midnight, chosen)
    meta = {"plan_version": row["plan_version"], "due_date": row["due_date"].isoformat()}
    logical = rules.logical_id(step.name, row["due_date"], row["plan_version"])
    about = (CONTRIBUTION, row["id"], logical)
    return await _send(
        conn,
        tenant_id,
        member,
        step.template_code,
        about,
        variables=variables,
        settings=settings,
        meta=meta,
        not_after=last,
    )


async def notify(
    conn: Connection, tenant_id: str, event_type: str, payload: Mapping[str, Any], settings: OutboundSettings
) -> list[str]:
    """Write the messages of an event: one for each recipient."""
    if event_type in ("EVT_COOP_CONTRIBUTION_DUE_CREATED", "EVT_COOP_CONTRIBUTION_OVERDUE"):
        row = await QUERIES.first(conn, "contribution", tenant_id=tenant_id, id=payload["contribution_id"])
        due = date.fromisoformat(payload["due_date"])
        if row is None or not _is_current(row, due, int(payload["plan_version"])):
            return [NO_LONGER]  # the event waited, and something newer was emitted since
        step = CALL
        if event_type == "EVT_COOP_CONTRIBUTION_OVERDUE":
            days = (await organisation(conn, tenant_id)).reminder_days
            step = rules.first_late(days) or rules.step_of(1)
        return [await about_contribution(conn, tenant_id, row, step, settings)]
    template = EVENTS[event_type]
    about, variables = _about(event_type, payload)
    if "member_id" in payload:
        found = await QUERIES.first(conn, "member", tenant_id=tenant_id, id=payload["member_id"])
        members = [found] if found is not None and found["status"] == "ACTIVE" else []
    else:
        members = await QUERIES.rows(conn, "active_members", tenant_id=tenant_id, group_id=payload["group_id"])
    sent = []
    for member in members:
        named = {"name": member["name"] or member["id"], **variables}
        sent.append(await _send(conn, tenant_id, member, template, about, variables=named, settings=settings))
    return sent


def _about(event_type: str, payload: Mapping[str, Any]) -> tuple[tuple[str, str, str], Row]:
    """Return what an event is about (entity and logical id), and what its template says."""
    match event_type:
        case "EVT_COOP_DOCUMENT_PUBLISHED":
            about = ("COOP_GROUP", payload["group_id"], f"PV:{payload['document_id']}")
            return about, {name: payload[name] for name in ("title", "document_id")}
        case "EVT_COOP_ALLOCATION_PROPOSED":
            logical = f"PROPOSED:{payload['allocation_version']}"
            names = ("rank", "lot", "contest_until")
            values = {name: str(payload[name]) for name in names}
            return ("COOP_ALLOCATION", payload["allocation_id"], logical), values
        case "EVT_COOP_ALLOCATION_VALIDATED":
            logical = f"ASSIGNED:{payload['allocation_version']}"
            return ("COOP_ALLOCATION", payload["allocation_id"], logical), {"lot": payload["lot"]}
        case "EVT_COOP_PROJECT_MILESTONE_UPDATED":
            logical = f"MILESTONE:{payload['status_code']}:{payload['transition_id']}"
            values = {"project_id": payload["project_id"], "milestone": payload["status_code"]}
            return ("COOP_PROJECT", payload["project_id"], logical), values
    about = (payload["entity_type"], payload["entity_id"], f"STATUS:{payload['transition_id']}")
    return about, {"entity": payload["entity_id"], "status": payload["status_code"]}


async def _send(
    conn: Connection,
    tenant_id: str,
    member: Row,
    template_code: str,
    about: tuple[str, str, str],
    *,
    variables: Mapping[str, Any],
    settings: OutboundSettings,
    meta: Mapping[str, Any] | None = None,
    not_after: datetime | None = None,
) -> str:
    channel = Channel(member["channel"])
    parts = (tenant_id, template_code, *about, channel)
    new = NewMessage(
        idempotency_key=composed_key(*parts, member["id"]),
        subject_id=member["subject_id"],
        channel=channel,
        to=member["address"],
        template_code=template_code,
        variables={name: rules.fitted(str(value)) for name, value in variables.items()},
        language=member["language"],
        purpose=Purpose.TRANSACTIONAL,
        dossier_id=member["dossier_id"],
        meta=meta or {},
        entity_type=about[0],
        entity_id=about[1],
        logical_event_id=about[2],
        recipient_ref=member["id"],
        not_after=not_after,
    )
    try:
        async with conn.transaction():  # one member's trouble is not that of the others
            made = await accept(conn, tenant_id, ACTOR, new, settings, lenient=True)
            for turn in range(2, MOST_TURNS):
                if not _was_withdrawn(made):
                    break
                key = composed_key(*parts, f"{member['id']}#{turn}")
                again = replace(new, idempotency_key=key)
                made = await accept(conn, tenant_id, ACTOR, again, settings, lenient=True)
    except OstinatoError as error:
        await note_audit(
            conn,
            tenant_id,
            "NOTIFICATION_FAILED",
            ACTOR,
            dossier_id=member["dossier_id"],
            subject_id=member["subject_id"],
            details={"error_code": type(error).code, "reason": error.message, "template_code": template_code},
            status=Status.FAILED,
            channel=channel,
            template_code=template_code,
            note=type(error).code,
        )
        return type(error).code
    return made.reason if isinstance(made, Blocked) else str(made.id)


def _was_withdrawn(made: Accepted | Blocked) -> bool:
    """Return whether the message of a key was cancelled because the date moved, which is back now."""
    if isinstance(made, Blocked) or made.is_new:
        return False
    return made.cancel_reason == WITHDRAWN


def _is_open(row: Row) -> bool:
    return row["status"] in OPEN and row["paid_date"] is None


def _is_current(row: Row, due: date, plan_version: int) -> bool:
    """Return whether a contribution is open, with the date and the version of the event."""
    return _is_open(row) and (row["due_date"], row["plan_version"]) == (due, plan_version)


async def _instant(conn: Connection, local: datetime, chosen: Organisation) -> tuple[datetime, datetime]:
    row = await QUERIES.one(conn, "local_instant", local=local, zone=chosen.zone)
    return row["at"], row["now"]


def _key(contribution_id: str) -> str:
    return f"coop-contribution:{contribution_id}"
