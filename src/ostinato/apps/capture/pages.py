"""Shows captures with their certificates, checks the chain on the page, and asks a person about conflicts.

Rows are a person's: a tenant's people see their own, operators of the installation all.
"""

from collections.abc import Sequence
from typing import Any

from ostinato.apps.capture import audit
from ostinato.apps.capture.model import AuditEvent
from ostinato.apps.capture.permissions import READ
from ostinato.apps.capture.queries import QUERIES, Connection, Row
from ostinato.errors import InvalidInput, NotFound
from ostinato.observe import (
    N_,
    Action,
    Block,
    Counts,
    Facts,
    Item,
    Link,
    Look,
    Note,
    Panel,
    Prose,
    State,
    Table,
    Tone,
    Verb,
)

MOST = 50
LONGEST_CHECKED = 20_000
"""Entries of a chain that are followed while somebody waits for a page."""
DECISIONS = ("KEPT_FIRST", "DEVICE_SUSPECT")
TONES: dict[str, Tone] = {"ANCHORED": "ok", "SEALED": "ok", "REJECTED": "bad", "FAILED": "bad"}
STATES = (
    *(N_("RECEIVED"), N_("UPLOADING"), N_("UPLOADED"), N_("VERIFYING"), N_("SEALED"), N_("ANCHORED")),
    *(N_("REJECTED"), N_("FAILED"), N_("SIGNED"), N_("PENDING_SIGNATURE")),
    *(N_("CAPTURE_ACCEPTED"), N_("CAPTURE_REPLAYED"), N_("CAPTURE_CONFLICT"), N_("CAPTURE_CONFLICT_SEEN")),
    *(N_("CAPTURE_REFUSED"), N_("CAPTURE_SEALED"), N_("CAPTURE_REJECTED"), N_("CAPTURE_FAILED")),
    N_("CAPTURE_ANCHORED"),
)
LISTED = (N_("received"), N_("capture"), N_("state"), N_("type"), N_("bytes"), N_("reason"), N_("whose"))
ENTRY = (N_("place in the chain"), N_("time"), N_("entry"), N_("answer"), N_("hash"))
NO_CAPTURE = N_("No capture came yet: devices send them to POST /documents/capture.")

MOST_COUNTED = 10_000


async def front(conn: Connection, look: Look) -> Sequence[Block]:
    """Show the newest captures, and how many are in which state."""
    rows = await QUERIES.rows(
        conn, "page_captures", tenant_id=look.tenant_id, before=look.moment("before"), most=MOST + 1
    )
    counts = {row["state"]: row["captures"] for row in await QUERIES.rows(conn, "page_counts", most=MOST_COUNTED)}
    last = rows[MOST - 1]["received_at"].isoformat() if len(rows) > MOST else None
    older = Link(look.words("Older"), "", {"before": last}) if last else None
    return [
        Counts("Captures of the last day, by state", counts, sum(counts.values()) >= MOST_COUNTED),
        Table("Newest captures", LISTED, [_listed(row) for row in rows[:MOST]], older, NO_CAPTURE),
    ]


async def certificate(conn: Connection, look: Look) -> Sequence[Block]:
    """Show what is proven of one capture, and check the chain that proves it."""
    tenant = look.tenant_id or look.text("tenant") or None
    key = {"tenant_id": tenant, "user_id": look.text("user"), "capture_id": look.text("id").lower()}
    row = await QUERIES.first(conn, "certificate", **key)
    if row is None:
        raise NotFound("there is no such capture", hint="Check the id, and whose it is.")
    whose = {"tenant_id": row["tenant_id"], "user_id": row["user_id"]}
    told = await QUERIES.rows(conn, "entries_of", **whose, capture_id=row["capture_id"])
    sealed = row["sealed_seq"]
    head = None if sealed is None else await QUERIES.first(conn, "covering_head", **whose, seq=sealed)
    entries = [
        [each["seq"], each["occurred_at"], State(each["event_type"], "soft"), each["http_status"], each["entry_hash"]]
        for each in told
    ]
    blocks: list[Block] = [
        await _checked(conn, row, look),
        Facts("Certificate", _certificate(row), str(row["capture_id"])),
    ]
    if head is not None:
        signed = {
            N_("signed at"): head["signed_at"],
            N_("place in the chain"): head["seq"],
            N_("hash"): head["entry_hash"],
            N_("public key"): head["public_key"],
            N_("signature"): head["signature"],
        }
        blocks.append(Facts("Signed head that covers it", signed))
    blocks.append(Table("What the chain tells of it", ENTRY, entries))
    return [*blocks, Prose("What the device read", row["ocr_text"])] if row["ocr_text"] else blocks


async def conflicts(conn: Connection, look: Look) -> Sequence[Item]:
    """Find captures that came again with another payload."""
    rows = await QUERIES.rows(conn, "conflicts", seq=None, tenant_id=None, user_id=None)
    return [_conflict(row, look) for row in rows]


async def count(conn: Connection) -> int:
    """Count the conflicts."""
    return int(await QUERIES.value(conn, "count_conflicts"))


async def settle(conn: Connection, look: Look) -> str:
    """Note in the chain what a person thinks of a conflict; the first capture stays what it is."""
    decision, user = look.text("decision"), look.text("user")
    if decision not in DECISIONS or look.tenant_id is None:
        raise InvalidInput(f"{decision[:40]!r} is no decision", hint=f"One of: {', '.join(DECISIONS)}.")
    named = {"tenant_id": look.tenant_id, "user_id": user, "seq": look.number("seq")}
    found = await QUERIES.first(conn, "conflicts", **named)
    if found is None:
        raise NotFound("this conflict is decided, or is not yours")
    await audit.append(
        conn,
        user,
        AuditEvent.CONFLICT_SEEN,
        found["capture_id"],
        tenant_id=look.tenant_id,
        conflict_seq=found["seq"],
        decision=decision,
        decided_by=look.subject,
    )
    return look.words("Noted in the chain.")


async def _checked(conn: Connection, row: Row, look: Look) -> Block:
    length = row["chain_length"] or 0
    if length > LONGEST_CHECKED:
        said = look.words("Too long for a page (%(n)s entries): run ostinato capture verify.", n=length)
        return Note("The chain was not checked", said, "warn")
    report = await audit.verify(conn, tenant_id=row["tenant_id"], user_id=row["user_id"])
    if report.breaks:
        broken = report.breaks[0]
        said = look.words("At entry %(seq)s: %(problem)s", seq=broken.seq, problem=broken.problem)
        return Note("The chain is broken", said, "bad")
    counted = {"n": report.entries, "heads": report.heads}
    said = look.words("Entries followed just now: %(n)s. Signed heads in their place: %(heads)s.", **counted)
    return Note("The chain holds", said, "ok")


def _certificate(row: Row) -> dict[str, Any]:
    return {
        N_("capture"): row["capture_id"],
        N_("whose"): row["user_id"],
        N_("state"): _state(row["state"]),
        N_("signature"): State(row["signature_status"], "ok" if row["signature_status"] == "SIGNED" else "info"),
        N_("reason"): row["reason"],
        N_("SHA3-256 of the content"): row["content_hash"],
        N_("SHA-256 of the payload"): row["payload_canonical_sha256"],
        N_("type"): row["mime_type"],
        N_("bytes"): row["size_bytes"],
        N_("key that wraps it"): row["kek_id"],
        N_("device"): row["device_id"],
        N_("time of the device"): row["timestamp_device"],
        N_("clock of the device, ms off"): row["skew_ms"],
        N_("received"): row["received_at"],
        N_("verified"): row["verified_at"],
        N_("anchored"): row["anchored_at"],
    }


def _conflict(row: Row, look: Look) -> Item:
    values = {"seq": row["seq"], "user": row["user_id"]}
    asked = {"user": row["user_id"], "id": row["capture_id"], "tenant": row["tenant_id"]}
    return Item(
        f"{row['tenant_id']}-{row['user_id']}-{row['seq']}",
        look.words("Capture %(id)s came again with other content", id=row["capture_id"]),
        look.words("The second one was refused; the first stays as it is, whatever you decide."),
        row["occurred_at"],
        (
            Action("The first one counts", "settle", values | {"decision": "KEPT_FIRST"}, row["tenant_id"], "primary"),
            Action("I suspect the device", "settle", values | {"decision": "DEVICE_SUSPECT"}, row["tenant_id"]),
        ),
        row["tenant_id"],
        facts={
            N_("whose"): row["user_id"],
            N_("payload that is kept"): row["stored"],
            N_("payload that was refused"): row["received"],
            N_("came from"): row["source_ip"],
        },
        links=(Link(look.words("Certificate"), "capture", asked),),
    )


def _listed(row: Row) -> list[Any]:
    link = Link(
        row["capture_id"], "capture", {"user": row["user_id"], "id": row["capture_id"], "tenant": row["tenant_id"]}
    )
    rest = (row["mime_type"], row["size_bytes"], row["reason"], row["user_id"])
    return [row["received_at"], link, _state(row["state"]), *rest]


def _state(state: str) -> State:
    return State(state, TONES.get(state, "info"))


FRONT = Panel("Captures", front, needs=READ)
CAPTURE = Panel("Capture", certificate, name="capture", listed=False, needs=READ)
CONFLICTS = Panel(
    "Capture conflicts",
    needs=READ,
    items=conflicts,
    count=count,
    verbs={"settle": Verb(settle, READ, by_installation=True)},
)
