"""Plays the scenario "outbound": a dossier's journey by WhatsApp, and what may come in its way."""

from typing import Any

from ostinato.testing import Scenario, System

API = "/api/v1/outbound"
SANDBOX = "/_sandbox/outbound"
PHONE_NUMBER_ID = "100200300"
DIGITS = 10_000
TEMPLATE = {
    "category": "UTILITY",
    "providerName": "dossier_update",
    "body": "Bonjour {{name}}, votre dossier avance.",
    "variables": [{"name": "name", "maxLength": 60}],
}


async def run(system: System) -> None:
    """Send, be refused, retry, redrive, stop."""
    await _set_up(system)
    await _journey(system)
    await _refused(system)
    await _retried(system)
    await _redriven(system)
    await _stopped(system)


async def _set_up(system: System) -> None:
    where = {"api": str(system.http.base_url).rstrip("/")}
    await system.tell_sandbox("PUT", SANDBOX, status=204, json=where)
    sender = {"channel": "WHATSAPP", "providerKey": PHONE_NUMBER_ID, "display": "Atlas"}
    await system.call("PUT", f"{API}/senders", json=sender)
    await system.call("PUT", f"{API}/templates/dossier_update/fr", json=TEMPLATE)
    offer = TEMPLATE | {"category": "MARKETING", "providerName": "dossier_offer"}
    await system.call("PUT", f"{API}/templates/dossier_offer/fr", json=offer)


def _number(system: System, offset: int) -> str:
    """Return a number of the fictional range that is this run's own, none of the magic ones."""
    own = sum(ord(letter) * 31**place for place, letter in enumerate(system.run))
    return f"+3363998{1000 + (own + offset) % (DIGITS - 1000):04}"


async def _consent(system: System, to: str, purpose: str = "TRANSACTIONAL") -> None:
    given = {
        "subjectId": f"contact-{system.run}-{to[-4:]}",
        "channel": "WHATSAPP",
        "purpose": purpose,
        "status": "GRANTED",
        "address": to,
        "source": "FORM",
        "proof": {"wording": "J'accepte d'être contacté par WhatsApp", "version": "3"},
    }
    await system.call("PUT", f"{API}/consents", json=given)


async def _message(system: System, to: str, what: str, status: int = 201) -> dict[str, Any]:
    body = {
        "channel": "WHATSAPP",
        "to": to,
        "subjectId": f"contact-{system.run}-{to[-4:]}",
        "dossierId": f"D-{system.run}",
        "templateCode": "dossier_offer" if what == "offer" else "dossier_update",
        "variables": {"name": "Camille"},
        "urgent": True,
    }
    key = {"Idempotency-Key": f"demo-{system.run}-{what}-{to[-4:]}"}
    answer = await system.call("POST", f"{API}/messages", status=status, json=body, headers=key)
    found: dict[str, Any] = answer.json()
    return found


async def _until(system: System, message: dict[str, Any], what: str, **wanted: object) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        shown: dict[str, Any] = (await system.call("GET", f"{API}/messages/{message['id']}")).json()
        return shown if all(shown[name] == value for name, value in wanted.items()) else None

    return await system.until(what, look)


async def _journey(system: System) -> None:
    to = _number(system, 1)
    await system.tell_sandbox(
        "PUT",
        f"{SANDBOX}/script",
        status=204,
        json={"to": to, "answers": [], "statuses": ["delivered", "sent", "sent", "read"]},
    )
    await _consent(system, to)
    made = await _message(system, to, "journey")
    again = await _same(system, to)
    system.check("the same key is the same message", again == made["id"], again)
    await _until(system, made, "the message is delivered", status="DELIVERED")
    timeline = await system.call("GET", f"{API}/timeline", params={"dossierId": f"D-{system.run}"})
    steps = [each["status"] for each in reversed(timeline.json())]
    system.check(
        "callbacks that come twice and in the wrong order leave one story on the timeline",
        steps[0] == "QUEUED" and steps[-1] == "DELIVERED" and len(steps) <= 3,  # noqa: PLR2004 - queued, sent, delivered
        steps,
    )


async def _same(system: System, to: str) -> str:
    return str((await _message(system, to, "journey", status=200))["id"])


async def _refused(system: System) -> None:
    refused = await _message(system, _number(system, 2), "refused", status=422)
    system.check("without a granted consent nothing is queued", refused["code"] == "consent_required", refused)
    audit = await system.call("GET", f"{API}/audit", params={"dossierId": f"D-{system.run}"})
    blocked = [each for each in audit.json() if each["action"] == "BLOCKED_BY_POLICY"]
    system.check("and the audit says BLOCKED_BY_POLICY", blocked, audit.text)


async def _retried(system: System) -> None:
    to = _number(system, 3)
    script = {"to": to, "answers": ["130429"]}
    await system.tell_sandbox("PUT", f"{SANDBOX}/script", status=204, json=script)
    await _consent(system, to)
    made = await _message(system, to, "retried")
    shown = await _until(system, made, "the retry was delivered", status="DELIVERED")
    attempts = [(each["status"], each["errorCode"]) for each in shown["attempts"]]
    system.check(
        "a provider that is too busy is asked again, and takes it",
        attempts == [("FAILED", "130429"), ("SUCCESS", None)],
        attempts,
    )


async def _redriven(system: System) -> None:
    to = _number(system, 4)
    script = {"to": to, "answers": ["131000", "131000"]}
    await system.tell_sandbox("PUT", f"{SANDBOX}/script", status=204, json=script)
    await _consent(system, to)
    made = await _message(system, to, "redriven")
    first = await _until(system, made, "the first attempt failed", errorCode="131000")
    await _run_now(system, first)  # an operator does not wait for the minute
    dead = await _until(system, made, "its attempts are used up", status="FAILED")
    system.check("what is used up is a dead letter with its reason", dead["deadLetteredAt"], dead)
    await _dead(system, dead["jobId"])
    await _run_now(system, dead)
    shown = await _until(system, made, "the redriven one was delivered", status="DELIVERED")
    system.check(
        "a dead letter that is redriven begins anew, and keeps its history",
        [each["status"] for each in shown["attempts"]] == ["FAILED", "FAILED", "SUCCESS"],
        shown["attempts"],
    )


async def _run_now(system: System, message: dict[str, Any]) -> None:
    async def look() -> bool | None:
        job = (await system.call("GET", f"/api/v1/engine/jobs/{message['jobId']}")).json()
        return True if job["state"] in ("scheduled", "dead") else None

    await system.until("the job waits", look)
    await system.call("POST", f"/api/v1/engine/jobs/{message['jobId']}/retry")


async def _dead(system: System, job_id: int) -> None:
    async def look() -> bool | None:
        job = (await system.call("GET", f"/api/v1/engine/jobs/{job_id}")).json()
        return True if job["state"] == "dead" else None

    await system.until("the job is among the dead letters", look)
    system.proved("its job is among the dead letters of the engine")


async def _stopped(system: System) -> None:
    to = _number(system, 5)
    # Paused for this recipient, so that something waits when the STOP comes.
    script = {"to": to, "answers": ["131056"] * 3}
    await system.tell_sandbox("PUT", f"{SANDBOX}/script", status=204, json=script)
    await _consent(system, to, "MARKETING")
    made = await _message(system, to, "offer")
    inbound = {"from_": to, "text": "Stop !", "provider_key": PHONE_NUMBER_ID}

    async def waits() -> bool | None:
        shown = (await system.call("GET", f"{API}/messages/{made['id']}")).json()
        return True if shown["waitsFor"] else None

    await system.until("the offer waits", waits)
    taken = (await system.tell_sandbox("POST", f"{SANDBOX}/inbound", json=inbound)).json()
    system.check("a signed STOP is taken", taken["status"] == 200, taken)  # noqa: PLR2004 - OK
    shown = await _until(system, made, "the offer is cancelled", status="CANCELLED")
    system.check("STOP cancels what waits", shown["cancelReason"] == "CONSENT_REVOKED", shown)
    params = {"subjectId": f"contact-{system.run}-{to[-4:]}"}
    (consent,) = (await system.call("GET", f"{API}/consents", params=params)).json()
    system.check(
        "and the consent is revoked, with the inbound message as its proof",
        consent["status"] == "REVOKED" and "provider_message_id" in consent["events"][-1]["proof"],
        consent,
    )


SCENARIO = Scenario(
    "outbound", "Consented messages by WhatsApp: delivered once, refused, retried, redriven, stopped.", run
)
