"""Shows messages with their time lines, consents with their proof, templates and senders, to those who may."""

import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from ostinato.apps.outbound import store
from ostinato.apps.outbound.model import Status
from ostinato.apps.outbound.permissions import OPERATE, READ, SEND
from ostinato.apps.outbound.send import holds, retries
from ostinato.apps.outbound.store import Connection, Row
from ostinato.errors import InvalidInput
from ostinato.observe import (
    N_,
    Action,
    Actions,
    Block,
    Facts,
    Field,
    Form,
    Link,
    Look,
    Moment,
    Note,
    Panel,
    Prose,
    State,
    Table,
    Timeline,
    Tone,
    Verb,
)

MOST = 50
UUID_TEXT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TONES: dict[str, Tone] = {
    "QUEUED": "info",
    "SENDING": "accent",
    "SENT": "ok",
    "DELIVERED": "ok",
    "FAILED": "bad",
    "CANCELLED": "soft",
    "TRYING": "accent",
    "SUCCESS": "ok",
    "GRANTED": "ok",
    "DENIED": "bad",
    "REVOKED": "bad",
    "EXPIRED": "warn",
    "PENDING": "info",
}
STATES = (
    *(N_("QUEUED"), N_("SENDING"), N_("SENT"), N_("DELIVERED"), N_("FAILED"), N_("CANCELLED")),
    *(N_("TRYING"), N_("SUCCESS"), N_("GRANTED"), N_("DENIED"), N_("REVOKED"), N_("EXPIRED"), N_("PENDING")),
)
STORY = (
    *(N_("NOTIFICATION_CREATED"), N_("NOTIFICATION_SENDING"), N_("NOTIFICATION_SENT"), N_("NOTIFICATION_DELIVERED")),
    *(N_("NOTIFICATION_ATTEMPT_FAILED"), N_("NOTIFICATION_FAILED"), N_("NOTIFICATION_QUEUED_AGAIN")),
    *(N_("NOTIFICATION_OUTCOME_UNKNOWN"), N_("NOTIFICATION_RETRIED"), N_("NOTIFICATION_CONFIRMED")),
    *(N_("NOTIFICATION_CANCELLED"), N_("BLOCKED_BY_POLICY")),
)
LISTED = (
    N_("created"),
    N_("channel"),
    N_("to"),
    N_("template"),
    N_("state"),
    N_("waits for"),
    N_("reason"),
    N_("dossier"),
)
REASONS = (
    *(N_("CONSENT_MISSING"), N_("CONSENT_DENIED"), N_("CONSENT_REVOKED"), N_("CONSENT_EXPIRED")),
    *(N_("CONSENT_SUPPRESSED"), N_("CONSENT_OTHER_ADDRESS"), N_("CONSENT_OTHER_PURPOSE")),
    *(N_("NO_LONGER_RELEVANT"), N_("MEMBER_NOT_ACTIVE"), N_("TOO_LATE"), N_("NOT_ASKED_FOR")),
    *(N_("ASKED_FOR"), N_("JOB_CANCELLED")),
)
"""Why messages are cancelled."""
PROOF = (N_("said"), N_("what"), N_("from"), N_("to"), N_("source"), N_("by"), N_("proof"))
SENDER = (N_("tenant"), N_("channel"), N_("sender"), N_("name"), N_("state"), N_("proven by"), N_("held until"))
TEMPLATE = (N_("template"), N_("language"), N_("category"), N_("at its provider"), N_("state"), N_("text"))

NONE_MATCHES = N_("No message matches.")
NO_MESSAGE = N_("No message was asked for yet: POST /api/v1/outbound/messages asks for one.")
NO_TEMPLATE = N_("There is no template yet: PUT /api/v1/outbound/templates/CODE/LANGUAGE writes one.")
NO_SENDER = N_("There is no sender yet, so nothing goes out: PUT /api/v1/outbound/senders adds one.")


async def messages(conn: Connection, look: Look) -> Sequence[Block]:
    """Show messages, newest first, by status and dossier."""
    status, dossier = look.text("status"), look.text("dossier")
    if status and status not in set(Status):
        raise InvalidInput(f"no message is {status[:40]!r}", hint=f"One of: {', '.join(Status)}.")
    at, last = _cursor(look.text("before"))
    rows = await store.rows(
        conn,
        "page_messages",
        tenant_id=look.tenant_id,
        status=status or None,
        dossier_id=dossier or None,
        before_at=at,
        before_id=last,
        most=MOST + 1,
    )
    end = rows[MOST - 1] if len(rows) > MOST else None
    asked = {"status": status, "dossier": dossier}
    older = None
    if end is not None:
        older = Link(
            look.words("Older"), "messages", asked | {"before": f"{end['created_at'].isoformat()} {end['id']}"}
        )
    states = {"": N_("any"), **{str(each): str(each) for each in Status}}
    fields = (Field("status", "Status", status, states), Field("dossier", "Dossier", dossier))
    empty = NONE_MATCHES if status or dossier or at else NO_MESSAGE
    return [
        Form("Find", fields, "messages"),
        Table("Messages", LISTED, [_listed(row) for row in rows[:MOST]], older, empty),
    ]


async def message(conn: Connection, look: Look) -> Sequence[Block]:
    """Show one message: what happened to it, what it says, and what may be done."""
    tenant, number = _tenant(look), UUID(look.one_of("id", UUID_TEXT))
    row = await store.find_row(conn, tenant, number)
    tried = await store.rows(conn, "attempts", tenant_id=tenant, message_id=number)
    noted = await store.rows(
        conn, "audit", tenant_id=tenant, message_id=number, dossier_id=None, action=None, before=None, most=200
    )
    moments = [Moment(each["at"], each["action"], each["actor"], "info") for each in noted]
    moments += [
        Moment(
            each["created_at"],
            look.words("attempt %(n)s", n=each["attempt_no"]),
            " ".join(filter(None, (look.words(each["status"]), each["error_code"], each["error_message"]))),
            TONES.get(each["status"], "info"),
            each["ended_at"],
        )
        for each in tried
    ]
    trail = row["correlation_id"] or ""
    facts = {
        N_("state"): State(row["status"], TONES.get(row["status"], "info")),
        N_("channel"): row["channel"],
        N_("to"): row["to_address"],
        N_("person"): Link(row["subject_id"], "consents", {"subject": row["subject_id"], "tenant": tenant}),
        N_("dossier"): row["dossier_id"],
        N_("template"): row["template_code"],
        N_("waits for"): _waits(row),
        N_("not before"): row["next_retry_at"],
        N_("reason"): _reason(row),
        N_("trail"): Link(trail, "/trail", {"q": trail}) if trail else None,
        N_("job"): Link(str(row["job_id"]), f"/jobs/{row['job_id']}") if row["job_id"] else None,
    }
    values = {"id": str(number)}
    buttons = [Action("Send it again", "retry", values, tenant, "primary")] if row["status"] == "FAILED" else []
    if row["status"] == "QUEUED":
        buttons.append(Action("Cancel it", "cancel", values, tenant, "danger", "Cancel this message?"))
    return [
        Actions(buttons),
        *(
            [Note("It failed", f"{row['error_code']}: {row['error_message'] or ''}", "bad")]
            if row["error_code"]
            else []
        ),
        Timeline("Time line", sorted(moments, key=lambda each: each.at)),
        Facts("Message", facts, f"{row['channel']} · {row['subject_id']}"),
        Prose("What it says", _said(row["payload"])),
    ]


async def consents(conn: Connection, look: Look) -> Sequence[Block]:
    """Show what a person allowed, with the whole proof."""
    subject = look.text("subject")
    fields = [Field("subject", "Person", subject)]
    if look.tenant_id is None:
        fields.append(Field("tenant", "Tenant", look.text("tenant")))
    blocks: list[Block] = [Form("Find", tuple(fields), "consents")]
    if not subject:
        return [*blocks, Note("Whose consents?", look.words("Write the id of a person, as your messages name it."))]
    if not (look.tenant_id or look.text("tenant")):
        return [*blocks, Note("Whose consents?", look.words("Name the tenant that the person belongs to."))]
    tenant = _tenant(look)
    rows = await store.rows(conn, "consents", tenant_id=tenant, subject_id=subject)
    if not rows:
        return [*blocks, Note("There are none", look.words("Nobody of this id has been asked for a consent."))]
    for row in rows:
        events = await store.rows(conn, "consent_events", tenant_id=tenant, consent_id=row["id"])
        facts = {
            N_("state"): State(row["status"], TONES.get(row["status"], "info")),
            N_("address"): row["address"],
            N_("legal basis"): row["legal_basis"],
            N_("granted"): row["granted_at"],
            N_("expires"): row["expires_at"],
            N_("revoked"): row["revoked_at"],
        }
        blocks += [
            Facts(f"{row['channel']} · {row['purpose']}", facts),
            Table("Proof", PROOF, list(map(_proof, events))),
        ]
    return blocks


async def templates(conn: Connection, look: Look) -> Sequence[Block]:
    """Show the templates, and how they stand at their provider."""
    rows = await store.rows(conn, "page_templates", tenant_id=look.tenant_id)
    return [Table("Templates", TEMPLATE, [_template(row, look.now) for row in rows], empty=NO_TEMPLATE)]


async def senders(conn: Connection, look: Look) -> Sequence[Block]:
    """Show the senders, whether something goes out by them, and what holds them."""
    rows = await store.rows(conn, "page_senders", tenant_id=look.tenant_id)
    blocks: list[Block] = []
    for row in rows:
        if row["held_until"] is not None and row["held_until"] > look.now:
            why = f"{row['hold_reason'] or ''} {row['hold_code'] or ''}".strip()
            held = look.words("%(sender)s is held: %(why)s", sender=row["provider_key"], why=why)
            release = Action("Release it", "release", {"sender": row["id"]}, row["tenant_id"], "primary")
            blocks += [Note("A sender is held", held, "warn"), Actions((release,))]
    return [*blocks, Table("Senders", SENDER, [_sender(row, look.now) for row in rows], empty=NO_SENDER)]


async def retry(conn: Connection, look: Look) -> str:
    """Send a message again that failed."""
    await retries.retry(conn, _tenant(look), UUID(look.one_of("id", UUID_TEXT)), look.subject)
    return look.words("The message is queued again.")


async def cancel(conn: Connection, look: Look) -> str:
    """Cancel a message that waits."""
    await retries.cancel(conn, _tenant(look), UUID(look.one_of("id", UUID_TEXT)), look.subject)
    return look.words("The message is cancelled.")


async def release(conn: Connection, look: Look) -> str:
    """End the hold of a sender."""
    await holds.release_sender(conn, _tenant(look), look.number("sender"), look.subject)
    return look.words("The sender is released; what waits goes now.")


def _tenant(look: Look) -> str:
    """Return the tenant that is looked at; operators of the installation follow links that name it."""
    found = look.tenant_id or look.text("tenant")
    if not found:
        raise InvalidInput("no tenant is named", hint="Choose one in the menu of your name.")
    return found


def _said(payload: dict[str, Any]) -> str:
    """Return the subject and the text of a message; of one from a template what it is made of."""
    text = [payload.get(part) for part in ("subject", "text")]
    if any(text):
        return "\n\n".join(str(part) for part in text if part)
    return json.dumps({name: value for name, value in payload.items() if value}, ensure_ascii=False, indent=2)


def _listed(row: Row) -> list[Any]:
    link = Link(row["created_at"], "message", {"id": str(row["id"]), "tenant": row["tenant_id"]})
    state = State(row["status"], TONES.get(row["status"], "info"))
    rest = (row["template_code"], state, _waits(row), _reason(row), row["dossier_id"])
    return [link, row["channel"], row["to_address"], *rest]


def _waits(row: Row) -> State | None:
    """Say what a message waits for; null: nothing, or a worker."""
    return State(row["waits_for"], "soft") if row["waits_for"] else None


def _reason(row: Row) -> State | str | None:
    """Say why a message was cancelled, or failed with which error."""
    code: str | None = row["error_code"]
    return State(row["cancel_reason"], "soft") if row["cancel_reason"] else code


def _proof(row: Row) -> list[Any]:
    proof = json.dumps(row["proof"], ensure_ascii=False)
    states = [State(each, TONES.get(each, "info")) if each else None for each in (row["old_status"], row["new_status"])]
    return [row["occurred_at"], row["event_type"], *states, row["source"], row["actor"], proof]


def _sender(row: Row, now: datetime) -> list[Any]:
    held = row["held_until"] is not None and row["held_until"] > now
    state = (
        State(N_("held"), "warn")
        if held
        else State(N_("usable"), "ok")
        if row["usable"]
        else State(N_("unproven"), "bad")
    )
    if row["outage_since"] is not None:
        state = State(N_("provider away"), "bad")
    until = row["held_until"] if held else None
    return [row["tenant_id"], row["channel"], row["provider_key"], row["display"], state, row["proof"], until]


def _template(row: Row, now: datetime) -> list[Any]:
    held = row["held_until"] is not None and row["held_until"] > now
    state = (
        State(N_("held"), "warn")
        if held
        else State(N_("in use"), "ok")
        if row["is_active"]
        else State(N_("off"), "soft")
    )
    named = (row["template_code"], row["language"], row["category"], row["provider_status"])
    return [*named, state, row["body"]]


def _cursor(text: str) -> tuple[datetime | None, UUID | None]:
    if not text:
        return None, None
    at, _, last = text.partition(" ")
    try:
        return datetime.fromisoformat(at), UUID(last)
    except ValueError:
        raise InvalidInput("the page before is not one of ours", hint="Follow the link of the page.") from None


MESSAGES = Panel("Messages", messages, name="messages", needs=READ, search="dossier")
MESSAGE = Panel(
    "Message",
    message,
    name="message",
    listed=False,
    needs=READ,
    verbs={"retry": Verb(retry, OPERATE), "cancel": Verb(cancel, SEND)},
)
CONSENTS = Panel("Consents", consents, name="consents", needs=READ, search="subject")
TEMPLATES = Panel("Templates", templates, name="templates", needs=READ)
SENDERS = Panel("Senders", senders, name="senders", needs=READ, verbs={"release": Verb(release, OPERATE)})
