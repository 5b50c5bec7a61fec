"""Plays the scenario "capture": what a device and an auditor get."""

from datetime import datetime
from typing import Any

from ostinato import database
from ostinato.apps.capture import audit
from ostinato.apps.capture.model import AuditEvent
from ostinato.testing import Scenario, System

PATH = "/documents/capture"
USER = "demo"


async def run(system: System) -> None:
    """Show a capture, a replay, a conflict, a tampered object, and the audit of all of it."""
    body = await _captured(system)
    sent = {**body, "ocr_text": "FACTURE 2026-04", "ocr_language": "fr"}
    first = (await system.call("POST", PATH, status=202, json=sent)).json()
    system.check(
        "a new capture is accepted at once (202)", (first["state"], first["replayed"]) == ("RECEIVED", False), first
    )
    await _replay(system, sent, first["capture_event_id"])
    await _conflict(system, sent)
    sealed = await _settled(system, body["capture_id"])
    system.check(
        "its object is decrypted, its tag and hash are right: it is sealed", sealed["state"] == "SEALED", sealed
    )
    tampered = await _tampered(system)
    await _audited(system, body["capture_id"], tampered)


async def _replay(system: System, sent: dict[str, Any], first_id: str) -> None:
    other = {
        **sent,
        "capture_id": sent["capture_id"].upper(),
        "hash_sha3_256": sent["hash_sha3_256"].upper(),
        "ocr_text": "another reading",
    }
    again = (await system.call("POST", PATH, status=200, json=other)).json()
    shown = (await system.call("GET", f"{PATH}/{sent['capture_id']}")).json()
    system.check(
        "the same in other letter case, with another OCR, is that capture (200); the first OCR stays",
        again["capture_event_id"] == first_id and shown["ocr_text"] == sent["ocr_text"],
        (again, shown),
    )


async def _conflict(system: System, sent: dict[str, Any]) -> None:
    other = {**sent, "size_bytes": sent["size_bytes"] + 1}
    refused = (await system.call("POST", PATH, status=409, json=other)).json()
    body = {"error": "CONFLICT", "message": "capture_id already used with different payload"}
    system.check("another payload under its id is a conflict (409)", refused == body, refused)


async def _tampered(system: System) -> str:
    body = await _captured(system, upload="tampered")
    await system.call("POST", PATH, status=202, json=body)
    found = await _settled(system, body["capture_id"])
    system.check(
        "an object that was tampered with is rejected, with the reason",
        (found["state"], found["reason"]) == ("REJECTED", "TAG_MISMATCH"),
        found,
    )
    return str(body["capture_id"])


async def _audited(system: System, captured: str, tampered: str) -> None:
    async with system.client().transaction() as conn:
        report = await audit.verify(conn, tenant_id=system.tenant_id, user_id=USER)
        body = {each: await audit.events_of(conn, system.tenant_id, USER, each) for each in (captured, tampered)}
    expected = {
        captured: [AuditEvent.ACCEPTED, AuditEvent.REPLAYED, AuditEvent.CONFLICT, AuditEvent.SEALED],
        tampered: [AuditEvent.ACCEPTED, AuditEvent.REJECTED],
    }
    # The check runs beside the requests: a seal may come before the replay.
    as_expected = all(sorted(body[each]) == sorted(expected[each]) for each in expected)
    system.check(
        f"every decision is in the audit log, whose chain holds ({report.entries} entries)",
        report.chains == 1 and not report.breaks and as_expected,
        (report, body),
    )


async def _captured(system: System, **more: str) -> dict[str, Any]:
    """Return what a device sends, after it has put the object into the store."""
    order = {
        "tenant_id": system.tenant_id,
        "user_id": USER,
        "timestamp_device": (await _now(system)).isoformat(),
        **more,
    }
    answer = await system.tell_sandbox("POST", "/_sandbox/capture/device", json=order)
    body: dict[str, Any] = answer.json()
    return body


async def _now(system: System) -> datetime:
    async with system.client().connection() as conn:
        return await database.now(conn)


async def _settled(system: System, capture_id: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        found: dict[str, Any] = (await system.call("GET", f"{PATH}/{capture_id}")).json()
        return found if found["state"] in ("SEALED", "REJECTED", "FAILED", "ANCHORED") else None

    return await system.until("the capture is settled", look)


SCENARIO = Scenario("capture", "Captures: one effect each, content checked and sealed, all on record.", run)
