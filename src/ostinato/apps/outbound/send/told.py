"""Applies what providers report of messages in sets: that they have them, that they arrived, that they were read.

Two calls for as many lines as there are: one finds and locks the messages, one writes what the lines mean; what they
mean is decided here, by the same rule as of a line that is applied alone. The lines of a message keep their order: each
counts from where the one before it left the message. What is not usual, an error, is for `callbacks` to apply alone,
with all other lines of its message.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from ostinato import jobs
from ostinato.apps.outbound import rules, store
from ostinato.apps.outbound.events import RELAY
from ostinato.apps.outbound.model import AttemptStatus, Status
from ostinato.apps.outbound.providers.lines import NO_TIME, StatusLine
from ostinato.apps.outbound.rules import Attempted
from ostinato.apps.outbound.send.moves import ACTOR
from ostinato.apps.outbound.send.settle import CALLBACK
from ostinato.apps.outbound.store import Connection, Row
from ostinato.observe import get_logger

log = get_logger("outbound")


class Told(NamedTuple):
    """A line, whose it is, and the request that it is a part of."""

    tenant_id: str
    line: StatusLine
    correlation_id: str | None


@dataclass(slots=True)
class Standing:
    """How a message stands, after the lines that were looked at."""

    status: Status
    attempt: Attempted


async def apply(conn: Connection, told: Sequence[Told]) -> list[int | None]:
    """Apply lines in their order: 1 had an effect, 0 had none; None: to be applied alone, after these."""
    found = await _found(conn, told)
    odd = {row["id"] for number, row in found.items() if told[number].line.reported == "failed"}
    usual = [number for number, row in sorted(found.items()) if row["id"] not in odd]
    done: list[int | None] = [None if number in found else 0 for number in range(len(told))]
    for number in sorted(set(range(len(told))) - found.keys()):
        log.info("callback_of_nobody", tenant_id=told[number].tenant_id, provider=told[number].line.provider)
    standing: dict[tuple[UUID, int], Standing] = {}
    moved: dict[UUID, Status] = {}
    seen: set[tuple[object, ...]] = set()
    written: list[dict[str, Any]] = []
    for number in usual:
        row, (tenant_id, line, _) = found[number], told[number]
        name = (tenant_id, line.provider, line.provider_message_id, line.reported, _time(line))
        done[number] = int(not row["is_known"] and name not in seen)
        seen.add(name)
        if done[number]:
            here = standing.setdefault((row["id"], row["attempt_no"]), _standing(row))
            here.status = moved.get(row["id"], here.status)
            written.append(_written(number, told[number], row, here))
            moved[row["id"]] = here.status
    if written:
        await store.run(conn, "note_told", told=written, actor=ACTOR, told_by=CALLBACK)
        jobs.wake_after_commit(RELAY)
    return done


async def _found(conn: Connection, told: Sequence[Told]) -> dict[int, Row]:
    """Find and lock what the lines speak of, each by its number; one of nobody's message is not there."""
    rows = await store.rows(
        conn,
        "find_told",
        tenant_ids=[each.tenant_id for each in told],
        ids=[each.line.message_id for each in told],
        provider_ids=[each.line.provider_message_id for each in told],
        numbers=[each.line.attempt_no for each in told],
        providers=[each.line.provider for each in told],
        reported=[each.line.reported for each in told],
        ats=[_time(each.line) for each in told],
        codes=[each.line.error_code for each in told],
    )
    return {row["n"] - 1: row for row in rows}


def _standing(row: Row) -> Standing:
    attempt = Attempted(AttemptStatus(row["attempt_status"]), row["error_code"], row["is_alone"])
    return Standing(Status(row["status"]), attempt)


def _written(number: int, told: Told, row: Row, here: Standing) -> dict[str, Any]:
    """Decide what a line means, and let its message stand so for the next line."""
    line, before = told.line, here.status
    event = rules.callback_event(before, line.reported, here.attempt)
    if event is not None:
        here.status = Status.SENT if event == "accept" else Status.DELIVERED
        if here.attempt.is_open:
            here.attempt = Attempted(AttemptStatus.SUCCESS, None, here.attempt.alone)
    return {
        "n": number,
        "tenant_id": told.tenant_id,
        "id": str(row["id"]),
        "attempt_no": row["attempt_no"],
        "event": event,
        "response": {"callback": "delivered" if event == "deliver" else line.reported},
        "provider": line.provider,
        "provider_message_id": line.provider_message_id,
        "status": line.reported,
        "wa_id": line.wa_id,
        "at": line.at.isoformat(),
        "line_at": _time(line).isoformat(),
        "correlation_id": told.correlation_id,
        "is_read": line.reported == "read" and before is not Status.CANCELLED,
    }


def _time(line: StatusLine) -> datetime:
    return line.at if line.timed else NO_TIME
