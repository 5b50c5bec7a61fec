"""Callbacks: signed, stored, applied once and in any order; STOP and unsubscribing (4.3, 6.2)."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from ostinato.apps.outbound.sandbox import APP_SECRET, Sent
from ostinato.apps.outbound.sandbox_shapes import Inbound
from ostinato.apps.outbound.signatures import meta_signature, unsubscribe_token
from tests.apps.outbound.conftest import NOON, PHONE_NUMBER_ID, World, set_clock

HOOK = "/api/v1/webhooks/whatsapp/status"
TO = "+33639980011"  # sent for ever: nothing more is told by itself


async def sent(world: World, to: str = TO, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - as message
    await world.consent(to, subjectId=f"s{to}", **more)
    made = await world.message(to, subjectId=f"s{to}", **more)
    await world.work()
    await world.settled()
    return made


async def tell(world: World, *told: str, of: Sent | None = None) -> None:
    last = of or world.providers.sent[-1]
    for each in told:
        await world.providers.make(world.providers.status(PHONE_NUMBER_ID, last, each))
    await world.work()


async def test_a_wrong_or_missing_signature_is_refused_counted_and_alerted(world: World) -> None:
    body = b'{"object":"whatsapp_business_account","entry":[]}'
    wrong = {"X-Hub-Signature-256": meta_signature("another secret", body)}

    statuses = [
        (await world.http.post(HOOK, content=body)).status_code,
        (await world.http.post(HOOK, content=body, headers=wrong)).status_code,
        (await world.http.post("/api/v1/webhooks/twilio/status", content=b"a=1")).status_code,
        (await world.http.post("/api/v1/webhooks/email/bounces", content=b"x")).status_code,
    ]

    assert statuses == [401] * 4
    assert await world.value("select count(*) from outbound.callback") == 0
    counted = dict(await world.rows("select label, value from outbound.signature_failures(10)"))
    assert counted == {"whatsapp": 2.0, "twilio": 1.0, "smtp": 1.0}
    figures = dict(
        await world.rows(
            "select label, value from outbound.observe() where name = 'outbound_signature_failures'"
        )
    )
    assert figures["whatsapp"] == 2.0


async def test_the_signature_is_over_the_bytes_that_came(world: World) -> None:
    body = rb'{"object":"whatsapp_business_account","entry":[],"t":"\u00e9t\u00e9"}'
    again = json.dumps(json.loads(body), ensure_ascii=False).encode()
    header = {"X-Hub-Signature-256": meta_signature(APP_SECRET, body)}

    assert (await world.http.post(HOOK, content=body, headers=header)).status_code == 200
    assert (await world.http.post(HOOK, content=again, headers=header)).status_code == 401


async def test_a_callback_of_three_megabytes_is_taken_if_it_is_signed(world: World) -> None:
    body = b'{"object":"whatsapp_business_account","entry":[]}' + b" " * 3_000_000
    header = {"X-Hub-Signature-256": meta_signature(APP_SECRET, body)}
    bearer = {"Authorization": f"Bearer {await world.key('acme', 'admin')}"}

    assert (await world.http.post(HOOK, content=body, headers=header)).status_code == 200
    assert (await world.http.post(HOOK, content=body)).status_code == 401
    other = await world.http.post("/api/v1/outbound/messages", content=body, headers=bearer)
    assert other.status_code == 413
    assert await world.value("select max(octet_length(body)) from outbound.callback") == len(body)


async def test_meta_verifies_the_address(world: World) -> None:
    asked = {"hub.mode": "subscribe", "hub.verify_token": "sandbox-verify", "hub.challenge": "42"}

    right = await world.http.get(HOOK, params=asked)
    wrong = await world.http.get(HOOK, params=asked | {"hub.verify_token": "no"})

    assert (right.status_code, right.text) == (200, "42")
    assert wrong.status_code == 403


@pytest.mark.parametrize(
    ("told", "status", "is_read"),
    [
        (["sent", "delivered", "read"], "DELIVERED", True),
        (["delivered", "sent"], "DELIVERED", False),
        (["read"], "DELIVERED", True),
        (["read", "delivered", "sent"], "DELIVERED", True),
        (["sent", "sent", "sent"], "SENT", False),
        (["failed:131026", "sent"], "FAILED", False),
        (["failed:131026", "delivered"], "DELIVERED", False),
        (["delivered", "failed:131026"], "DELIVERED", False),
    ],
)
async def test_callbacks_in_any_order_and_twice(
    world: World,
    told: list[str],
    status: str,
    is_read: bool,  # noqa: FBT001 - expected
) -> None:
    made = await sent(world)

    await tell(world, *told, *told)

    shown = await world.show(made)
    assert shown["status"] == status
    assert bool(shown["readAt"]) is is_read
    timeline = await world.call("GET", "/timeline", params={"dossierId": "D-1"})
    seen = [each["status"] for each in timeline]
    assert len(seen) == len(set(seen)), "each step once on the timeline"


@pytest.mark.parametrize("to", ["0001", "0007", "0008", "0010"])
async def test_the_magic_recipients_end_delivered(world: World, to: str) -> None:
    made = await sent(world, f"+3363998{to}")

    assert (await world.show(made))["status"] == "DELIVERED"


async def test_an_error_that_comes_later_is_judged_by_the_same_table(world: World) -> None:
    """A transient one is sent again, under the budget of the message."""
    made = await sent(world)

    await tell(world, "failed:131016")
    waiting = await world.show(made)
    await world.work(move_clock=True)

    assert (waiting["status"], waiting["waitsFor"]) == ("QUEUED", "RETRY")
    shown = await world.show(made)
    assert shown["status"] == "SENT"
    assert len(world.providers.sent) == 2


async def test_an_error_that_comes_later_and_is_the_last_is_a_dead_letter(world: World) -> None:
    made = await sent(world)
    await tell(world, "failed:131000")
    await world.work(move_clock=True)
    await tell(world, "failed:131000")

    await world.work()

    shown = await world.show(made)
    assert (shown["status"], bool(shown["deadLetteredAt"])) == ("FAILED", True)
    assert await world.value("select ostinato.job_state(%s)", shown["jobId"]) == "dead"
    assert await world.rows("select label, value from outbound.dead_letters()") == [("acme", 1.0)]


async def test_a_callback_is_only_for_the_organisation_whose_number_it_is(world: World) -> None:
    await world.set_up("other", phone="100200301")
    made = await sent(world)
    mine = world.providers.sent[-1]

    for number in ("100200301", "999"):
        await world.providers.make(world.providers.status(number, mine, "delivered"))
    await world.work()

    assert (await world.show(made))["status"] == "SENT"


async def test_a_batch_is_applied_line_by_line(world: World) -> None:
    made = [await sent(world, f"+3363998{5000 + n}") for n in range(3)]
    value: dict[str, Any] = {"statuses": [{"id": "odd"}]}
    for each in world.providers.sent:
        line = json.loads(world.providers.status(PHONE_NUMBER_ID, each, "read").body)
        value["statuses"] += line["entry"][0]["changes"][0]["value"]["statuses"]

    await world.providers.make(world.providers.signed(PHONE_NUMBER_ID, value))
    await world.work()

    assert [(await world.show(each))["status"] for each in made] == ["DELIVERED"] * 3
    assert await world.value("select max(ignored) from outbound.callback") >= 1


async def write(world: World, text: str, to: str = TO, **more: Any) -> None:  # noqa: ANN401 - as Inbound
    await world.providers.make(world.providers.inbound(Inbound(from_=to, text=text, **more)))
    assert world.providers.told[-1][1] == 200
    await world.work()


async def consents(world: World, to: str = TO) -> dict[str, str]:
    found = await world.call("GET", "/consents", params={"subjectId": f"s{to}"})
    return {each["purpose"]: each["status"] for each in found}


async def test_stop_revokes_and_cancels_in_one_transaction(world: World) -> None:
    """7.4."""
    await set_clock(world.engine, datetime(2026, 6, 10, 20, 30, tzinfo=UTC))
    for purpose in ("MARKETING", "TRANSACTIONAL"):
        await world.consent(TO, subjectId=f"s{TO}", purpose=purpose)
    offer = await world.message(TO, subjectId=f"s{TO}", purpose="MARKETING")
    notice = await world.message(TO, subjectId=f"s{TO}")

    await write(world, "Stop !")

    assert await consents(world) == {"MARKETING": "REVOKED", "TRANSACTIONAL": "GRANTED"}
    assert (await world.show(offer))["cancelReason"] == "CONSENT_REVOKED"
    assert (await world.show(notice))["status"] == "QUEUED"
    await write(world, "STOP TOUT")
    assert await consents(world) == {"MARKETING": "REVOKED", "TRANSACTIONAL": "REVOKED"}
    assert (await world.show(notice))["status"] == "CANCELLED"
    await write(world, "START")
    assert await consents(world) == {"MARKETING": "GRANTED", "TRANSACTIONAL": "GRANTED"}
    await world.work(move_clock=True)
    assert world.providers.sent == []


async def test_start_restores_nothing_that_was_never_granted(world: World) -> None:
    await world.consent(TO, subjectId=f"s{TO}", status="DENIED")

    await write(world, "OUI")

    assert await consents(world) == {"TRANSACTIONAL": "DENIED"}


async def test_a_stop_that_comes_twice_is_one(world: World) -> None:
    await world.consent(TO, subjectId=f"s{TO}", purpose="MARKETING")

    await write(world, "STOP", id="same")
    await world.consent(TO, subjectId=f"s{TO}", purpose="MARKETING")
    await write(world, "STOP", id="same")

    assert await consents(world) == {"MARKETING": "GRANTED"}


async def test_stop_covers_everything_where_the_organisation_says_so(world: World) -> None:
    await world.call("PUT", "/organisation", json={"stopCoversAll": True})
    await world.consent(TO, subjectId=f"s{TO}", channel="SMS")

    await write(world, "arrêt", provider="twilio", provider_key="+33639980099")

    assert await consents(world) == {"TRANSACTIONAL": "REVOKED"}


async def test_an_opt_out_at_the_provider_revokes_too(world: World) -> None:
    """Magic recipient 0009 (131050), and the webhook user_preferences."""
    to = "+33639980009"
    await world.consent(to, subjectId=f"s{to}", purpose="MARKETING")
    await sent(world, to)
    assert await consents(world, to) == {"MARKETING": "REVOKED", "TRANSACTIONAL": "GRANTED"}
    other = "+33639985001"
    await world.consent(other, subjectId=f"s{other}", purpose="MARKETING")
    line = {
        "wa_id": other.removeprefix("+"),
        "category": "marketing_messages",
        "value": "stop",
        "timestamp": "1781510400",
    }

    await world.providers.make(
        world.providers.signed(PHONE_NUMBER_ID, {"user_preferences": [line]})
    )
    await world.work()

    assert await consents(world, other) == {"MARKETING": "REVOKED"}


async def test_an_inbound_message_opens_the_window(world: World) -> None:
    text: dict[str, Any] = {"templateCode": None, "variables": {}, "text": "Bonjour"}
    await world.consent(TO)
    await world.message(TO, status=422, **text)
    world.providers._wall = NOON.timestamp

    await write(world, "Bonjour, une question")
    made = await world.message(TO, **text)
    await world.work()

    assert (await world.show(made))["status"] == "SENT"
    await set_clock(world.engine, NOON + timedelta(hours=24))
    await world.message(TO, status=422, **text)


async def test_unsubscribing_takes_a_post_and_no_more(world: World) -> None:
    """RFC 8058: a GET ends nothing, no login, no redirect, a token that names one consent."""
    made = await world.consent("a@example.test", channel="EMAIL", purpose="MARKETING")
    secret = "sandbox-token-secret"
    path = f"/api/v1/outbound/unsubscribe/{unsubscribe_token(secret, UUID(made['id']))}"

    looked = await world.http.get(path)
    plain = await world.http.post(path, content=b"")
    before = await world.call("GET", "/consents", params={"subjectId": "s-1"})
    form = {"content-type": "application/x-www-form-urlencoded"}
    done = await world.http.post(path, content=b"List-Unsubscribe=One-Click", headers=form)
    again = await world.http.post(path, content=b"List-Unsubscribe=One-Click", headers=form)
    wrong = await world.http.post(f"{path[:-4]}AAAA", content=b"List-Unsubscribe=One-Click")

    (after,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})
    assert (looked.status_code, plain.status_code) == (200, 422)
    assert before[0]["status"] == "GRANTED"
    assert (done.status_code, again.status_code, wrong.status_code) == (200, 200, 404)
    assert (after["status"], after["events"][-1]["source"]) == ("REVOKED", "EMAIL_LINK")


async def test_audit_timeline_and_figures_tell_the_story(world: World) -> None:
    made = await sent(world, "+33639980001")

    audit = await world.call("GET", "/audit", params={"messageId": made["id"]})
    timeline = await world.call("GET", "/timeline", params={"dossierId": "D-1"})
    figures = await world.call("GET", "/metrics")

    actions = {each["action"] for each in audit}
    assert {"NOTIFICATION_CREATED", "NOTIFICATION_SENDING", "NOTIFICATION_DELIVERED"} <= actions
    assert {each["activityCode"] for each in timeline} == {"MESSAGE_LOG"}
    assert [each["status"] for each in timeline][-1] == "QUEUED"
    named = {(each["name"], each["label"]): each["value"] for each in figures["figures"]}
    assert named["sent", "WHATSAPP"] == 1
    assert named["delivered", "WHATSAPP"] == 1
    assert named["dead_letters", ""] == 0
    told = await world.rows(
        "select payload ->> 'status' from ostinato.events_outbox where type like 'outbound%'"
    )
    assert ("QUEUED",) in told
    assert ("DELIVERED",) in told


async def test_nothing_personal_is_told_in_events_or_audit(world: World) -> None:
    await sent(world, "+33639980001")

    events = str(await world.rows("select payload from ostinato.events_outbox"))
    audit = str(await world.rows("select details from outbound.audit_event"))
    for text in (events, audit):
        assert "33639980001" not in text
        assert "Camille" not in text
