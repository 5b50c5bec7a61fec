"""Callbacks: signed, stored, applied once and in any order; STOP and unsubscribing (4.3, 6.2)."""

import asyncio
import html
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from ostinato.apps.outbound.providers import whatsapp
from ostinato.apps.outbound.providers.standin import Inbound, Sent
from ostinato.apps.outbound.tokens import unsubscribe_token
from tests.apps.outbound.conftest import NOON, PHONE_NUMBER_ID, World, set_clock
from tests.waiting import until_async

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
        await world.providers.make(world.cloud.status(PHONE_NUMBER_ID, last, each))
    await world.work()


async def test_a_wrong_or_missing_signature_is_refused_counted_and_alerted(world: World) -> None:
    body = b'{"object":"whatsapp_business_account","entry":[]}'
    wrong = {"X-Hub-Signature-256": whatsapp.signature("another secret", body)}

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
        await world.rows("select label, value from outbound.observe() where name = 'outbound_signature_failures'")
    )
    assert figures["whatsapp"] == 2.0


async def test_the_signature_is_over_the_bytes_that_came(world: World) -> None:
    body = rb'{"object":"whatsapp_business_account","entry":[],"t":"\u00e9t\u00e9"}'
    again = json.dumps(json.loads(body), ensure_ascii=False).encode()
    header = {"X-Hub-Signature-256": whatsapp.signature(world.cloud.secret, body)}

    assert (await world.http.post(HOOK, content=body, headers=header)).status_code == 200
    assert (await world.http.post(HOOK, content=again, headers=header)).status_code == 401


async def test_a_callback_of_three_megabytes_is_taken_if_it_is_signed(world: World) -> None:
    body = b'{"object":"whatsapp_business_account","entry":[]}' + b" " * 3_000_000
    header = {"X-Hub-Signature-256": whatsapp.signature(world.cloud.secret, body)}
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


ORDERS = (
    (["sent", "delivered", "read"], "DELIVERED", True),
    (["delivered", "sent"], "DELIVERED", False),
    (["read"], "DELIVERED", True),
    (["read", "delivered", "sent"], "DELIVERED", True),
    (["sent", "sent", "sent"], "SENT", False),
    (["failed:131026", "sent"], "FAILED", False),
    (["failed:131026", "delivered"], "DELIVERED", False),
    (["delivered", "failed:131026"], "DELIVERED", False),
)


async def test_callbacks_in_any_order_and_twice(world: World) -> None:
    """4.3: each message hears its own, twice; after each round of them the worker works."""
    made = []
    for number in range(len(ORDERS)):
        to = f"+3363998{5100 + number}"
        world.providers.script(to, statuses=[])
        await world.consent(to, subjectId=to)
        made.append(await world.message(to, subjectId=to, dossierId=f"D-{number}"))
    await world.work()
    taken = {each.to: each for each in world.providers.sent}

    for turn in range(max(len(told) for told, _, _ in ORDERS)):
        for number, (told, _, _) in enumerate(ORDERS):
            if turn < len(told):
                one = taken[f"+3363998{5100 + number}"]
                telling = world.cloud.status(PHONE_NUMBER_ID, one, told[turn])
                await world.providers.make(telling, telling)
        await world.work()

    for number, (told, status, is_read) in enumerate(ORDERS):
        shown = await world.show(made[number])
        assert (shown["status"], bool(shown["readAt"])) == (status, is_read), told
        timeline = await world.call("GET", "/timeline", params={"dossierId": f"D-{number}"})
        seen = [each["status"] for each in timeline]
        assert len(seen) == len(set(seen)), "each step once on the timeline"
    told_twice = sum(len(told) for told, _, _ in ORDERS)
    assert await world.value("select sum(ignored) from outbound.callback") >= told_twice


async def test_the_magic_recipients_end_delivered(world: World) -> None:
    made = []
    for to in ("+33639980001", "+33639980007", "+33639980008", "+33639980010"):
        await world.consent(to, subjectId=to)
        made.append(await world.message(to, subjectId=to))
    await world.work()
    await world.settled()

    assert [(await world.show(each))["status"] for each in made] == ["DELIVERED"] * 4


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
    attempts = [(each["status"], each["errorCode"]) for each in shown["attempts"]]
    assert attempts == [("FAILED", "131016"), ("SUCCESS", None)]
    audit = await world.call("GET", "/audit", params={"messageId": made["id"]})
    (failed,) = [each for each in audit if each["action"] == "NOTIFICATION_ATTEMPT_FAILED"]
    assert failed["details"]["error_code"] == "131016"


async def test_an_error_is_not_undone_by_the_sent_that_it_overtook(world: World) -> None:
    """4.3: a callback is about its attempt, and that one failed."""
    world.providers.script(TO, statuses=[])
    made = await sent(world)

    await tell(world, "failed:131016")
    await tell(world, "sent")
    waiting = await world.show(made)
    await world.work(move_clock=True)

    assert (waiting["status"], waiting["waitsFor"]) == ("QUEUED", "RETRY")
    assert (await world.show(made))["status"] == "SENT"
    assert len(world.providers.sent) == 2


@pytest.mark.usefixtures("impatient")
async def test_a_late_error_of_an_old_attempt_sends_nothing_again(world: World) -> None:
    """The first attempt's answer was lost, the second was taken: it stands for the message."""
    world.providers.script(TO, "lost", statuses=[])
    made = await sent(world)
    await world.work(move_clock=True)
    assert len(world.providers.sent) == 2

    await tell(world, "failed:131016", of=world.providers.sent[0])
    await world.work(move_clock=True)

    shown = await world.show(made)
    assert shown["status"] == "SENT"
    assert len(world.providers.sent) == 2


@pytest.mark.usefixtures("impatient")
async def test_an_attempt_that_fails_after_another_was_taken_changes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is under way when a callback says that the first was taken."""
    world.providers.script(TO, "lost", "held:131016", statuses=[])
    made = await sent(world)
    monkeypatch.setenv("OSTINATO_OUTBOUND_TIMEOUT_SECONDS", "30")
    await world.engine.clock.move(60)
    second = asyncio.create_task(world.work())

    async def asked_again() -> bool:
        return world.providers.asked[TO] == 2

    await until_async(asked_again)
    await tell(world, "sent", of=world.providers.sent[0])
    between = await world.show(made)
    world.providers.gate.set()
    await second
    await world.work(move_clock=True)

    shown = await world.show(made)
    assert (between["status"], shown["status"]) == ("SENT", "SENT")
    attempts = [(each["status"], each["errorCode"]) for each in shown["attempts"]]
    assert attempts == [("SUCCESS", None), ("FAILED", "131016")]
    assert len(world.providers.sent) == 1


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
        await world.providers.make(world.cloud.status(number, mine, "delivered"))
    await world.work()

    assert (await world.show(made))["status"] == "SENT"


async def test_a_batch_is_applied_line_by_line(world: World) -> None:
    made = [await sent(world, f"+3363998{5000 + n}") for n in range(3)]
    value: dict[str, Any] = {"statuses": [{"id": "odd"}]}
    for each in world.providers.sent:
        line = json.loads(world.cloud.status(PHONE_NUMBER_ID, each, "read").body)
        value["statuses"] += line["entry"][0]["changes"][0]["value"]["statuses"]

    await world.providers.make(world.cloud.signed(PHONE_NUMBER_ID, value))
    await world.work()

    assert [(await world.show(each))["status"] for each in made] == ["DELIVERED"] * 3
    assert await world.value("select max(ignored) from outbound.callback") >= 1


REFUSING = """
create function outbound.refuse_for_test() returns trigger language plpgsql as
    $$ begin raise exception using errcode = '22000', message = 'not storable'; end $$;
create trigger refuse_for_test before insert on outbound.inbound for each row
    when (new.body = 'refused') execute function outbound.refuse_for_test();
"""


async def test_one_line_that_cannot_be_stored_takes_no_other_with_it(world: World) -> None:
    made = [await sent(world, f"+3363998{5000 + n}") for n in range(2)]
    first, last = (
        json.loads(world.cloud.status(PHONE_NUMBER_ID, each, "read").body)["entry"][0]["changes"][0]["value"][
            "statuses"
        ][0]
        for each in world.providers.sent
    )
    who = {"from": "33639985000", "timestamp": "1781086000"}
    broken = {"id": "wamid.a", "type": "text", "text": {"body": "\ud800 STOP"}, **who}
    button = {"id": "wamid.b\0", "type": "button", "button": {"text": "a\0b"}, **who}
    late = {**first, "id": "x", "timestamp": "99999999999999"}

    refused = {"id": "wamid.c", "type": "text", "text": {"body": "refused"}, **who}
    value = {"messages": [refused, broken, button], "statuses": [first, late, last]}
    await world.rows(REFUSING)
    try:
        await world.providers.make(world.cloud.signed(PHONE_NUMBER_ID, value))
        await world.work()
    finally:
        await world.rows("drop function outbound.refuse_for_test cascade")

    assert [(await world.show(each))["status"] for each in made] == ["DELIVERED"] * 2
    texts = {row[0] for row in await world.rows("select body from outbound.inbound")}
    assert texts == {"? STOP", "ab"}
    assert await world.value("select count(*) from ostinato_data.dead_letter") == 0


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
    await set_clock(world.engine, datetime(2026, 6, 11, 6, 0, 1, tzinfo=UTC))
    await world.work()
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

    await world.providers.make(world.cloud.signed(PHONE_NUMBER_ID, {"user_preferences": [line]}))
    await world.work()

    assert await consents(world, other) == {"MARKETING": "REVOKED"}


@pytest.mark.parametrize(("channel", "code"), [("SMS", "21610"), ("WHATSAPP", "131050")])
async def test_an_opt_out_at_the_provider_waits_behind_no_status(world: World, channel: str, code: str) -> None:
    """Nobody works through statuses here: as many may wait before it as like."""
    world.providers.script(TO, code)
    await world.consent(TO, channel=channel, purpose="MARKETING")
    await world.message(TO, channel=channel, purpose="MARKETING", urgent=True)
    await world.rows("select ostinato.pause_queue('outbound_callbacks')")

    await world.work()

    (consent,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})
    await world.rows("select ostinato.resume_queue('outbound_callbacks')")
    assert consent["status"] == "REVOKED"


async def test_stop_to_a_number_of_a_pool_is_for_the_service_that_sends(world: World) -> None:
    """Twilio names the number of the pool and the Messaging Service; the sender is the latter."""
    service = "MG" + "a" * 32
    await world.call("PUT", "/senders", json={"channel": "SMS", "providerKey": service})
    await world.consent(TO, subjectId=f"s{TO}", channel="SMS", purpose="MARKETING")

    await write(world, "STOP", provider="twilio", provider_key="+33700000000", service=service)

    assert await consents(world) == {"MARKETING": "REVOKED"}


async def test_who_is_known_by_another_number_can_stop_and_opens_the_window(world: World) -> None:
    """6.1: wa_id can differ from the number; what comes in is from there."""
    world.providers.script(TO, "wa_id:5215512345678", statuses=[])
    world.providers.wall = NOON.timestamp
    await world.consent(TO, subjectId=f"s{TO}", purpose="MARKETING")
    await sent(world)

    await write(world, "Bonjour", to="+5215512345678")
    text: dict[str, Any] = {"templateCode": None, "variables": {}, "text": "Bonjour"}
    answer = await world.message(TO, subjectId=f"s{TO}", **text)
    await world.work()
    await write(world, "stop", to="+5215512345678")

    assert (await world.show(answer))["status"] == "SENT"
    assert await consents(world) == {"MARKETING": "REVOKED", "TRANSACTIONAL": "GRANTED"}


async def test_the_last_word_counts_in_whatever_order_words_come(world: World) -> None:
    await world.consent(TO, subjectId=f"s{TO}", purpose="MARKETING")
    for minutes, text in ((5, "STOP"), (0, "START")):
        moment = NOON - timedelta(hours=1) + timedelta(minutes=minutes)
        world.providers.wall = moment.timestamp
        await write(world, text, id=text)

    assert await consents(world) == {"MARKETING": "REVOKED"}
    audit = await world.call("GET", "/audit", params={"action": "INBOUND_START_STALE"})
    assert len(audit) == 1
    world.providers.wall = NOON.timestamp
    await write(world, "START", id="later")
    assert await consents(world) == {"MARKETING": "GRANTED"}


async def test_a_stop_that_was_on_its_way_for_long_makes_none_older(world: World) -> None:
    """A form of between the two is older than the last refusal, whichever word came first."""
    for minutes in (50, 0):
        moment = NOON - timedelta(hours=1) + timedelta(minutes=minutes)
        world.providers.wall = moment.timestamp
        await write(world, "STOP", id=f"at {minutes}")

    between = (NOON - timedelta(minutes=30)).isoformat()
    given = await world.consent(TO, subjectId="a form", purpose="MARKETING", source="FORM", occurredAt=between)

    assert given["reason"] == "OLDER_THAN_REFUSAL"


async def test_start_gives_no_more_than_there_was(world: World) -> None:
    """A consent for a time comes back for that time, and marketing alone if it is asked for."""
    until = "2026-06-30T00:00:00Z"
    await world.consent(TO, subjectId=f"s{TO}", purpose="MARKETING", expiresAt=until)
    await world.consent(TO, subjectId=f"s{TO}")
    await world.consent(TO, subjectId="never", purpose="MARKETING", status="DENIED")
    await write(world, "STOP TOUT")
    now = int((await world.engine.clock.now()).timestamp()) + 5
    line = {"wa_id": TO[1:], "category": "marketing_messages", "value": "resume"}
    telling = {"user_preferences": [{**line, "timestamp": str(now)}]}

    await world.providers.make(world.cloud.signed(PHONE_NUMBER_ID, telling))
    await world.work()

    assert await consents(world) == {"MARKETING": "GRANTED", "TRANSACTIONAL": "REVOKED"}
    shown = await world.call("GET", "/consents", params={"subjectId": f"s{TO}"})
    assert [each["expiresAt"] for each in shown] == [until, None]
    (never,) = await world.call("GET", "/consents", params={"subjectId": "never"})
    assert never["status"] == "DENIED"


async def test_who_opted_out_is_remembered_without_an_address(world: World) -> None:
    """7.2: a STOP outlives the erasure of a person, and no import undoes it; a person does."""
    await world.consent(TO, subjectId="ana")
    made = await world.message(TO, subjectId="ana")
    await world.work()
    await world.settled()
    await write(world, "STOP TOUT")

    erased = await world.call("DELETE", "/consents", params={"subjectId": "ana"})
    for statement in (
        "select c::text from outbound.consent c",
        "select s::text from outbound.suppression s",
        "select m::text from outbound.message m",
        "select i::text from outbound.inbound i",
        "select p::text from outbound.pair p",
    ):
        assert TO[1:] not in str(await world.rows(statement))
    await world.consent(TO, subjectId="anew", source="IMPORT")
    refused = await world.message(TO, subjectId="anew", status=422)

    assert erased == {"consents": 1, "messages": 1}
    assert refused["values"]["reason"] == "CONSENT_SUPPRESSED"
    shown = await world.show(made)
    assert (shown["to"], shown["payload"], shown["status"]) == ("", {}, "SENT")
    await world.consent(TO, subjectId="anew", source="FORM")
    await world.message(TO, subjectId="anew")
    await world.call("DELETE", "/consents", status=403, params={"subjectId": "x"}, roles=("ops",))


async def test_nothing_of_an_erased_person_is_left_in_the_engine(world: World) -> None:
    """Arguments, outcomes, dead letters, events and stored answers go with DELETE /consents."""
    await world.consent(TO, subjectId="ana")
    await world.message(TO, subjectId="ana", variables={"name": "Zebulon"}, key="once-ana")
    await world.work()
    await world.settled()
    told = json.dumps({"message": f"{TO}: Zebulon does not answer"})
    await world.rows(  # as a handler's error would quote it
        "update ostinato_data.outcome set error = %s where job_id in (select id from ostinato_data.job"
        " where kind = 'outbound.send')",
        told,
    )
    names = await world.rows("select table_name from information_schema.tables where table_schema = 'ostinato_data'")

    await world.call("DELETE", "/consents", params={"subjectId": "ana"})

    for (table,) in names:
        kept = str(await world.rows(f"select t::text from ostinato_data.{table} t"))  # noqa: S608 - from the catalog
        assert TO[1:] not in kept, table
        assert "Zebulon" not in kept, table
    ((actor, complete),) = await world.rows(
        "select actor, detail ->> 'complete' from ostinato_data.audit_entry where verb = 'erase'"
    )
    assert (actor, complete) == ("tester", "true")


async def test_stop_and_help_are_answered_if_there_is_a_text(world: World) -> None:
    """7.4: at most one confirmation; nothing else goes without consent."""
    replies = {"stopReply": "C'est noté.", "helpReply": "Atlas, 01 99 00 12 34."}
    await world.consent(TO, subjectId=f"s{TO}", purpose="MARKETING")
    await write(world, "HELP")
    assert world.providers.sent == [], "nothing is answered unless there is a text"

    await world.call("PUT", "/organisation", json=replies)
    for text in ("STOP", "stop", "aide"):
        await write(world, text)

    bodies = [each.document["text"]["body"] for each in world.providers.sent]
    assert bodies == ["C'est noté.", "Atlas, 01 99 00 12 34."]
    await world.message(TO, subjectId=f"s{TO}", purpose="MARKETING", status=422)
    page = await world.call("GET", "/messages")
    assert {each["status"] for each in page["items"]} <= {"SENT", "DELIVERED"}
    assert all(each["inboundId"] for each in page["items"])


@pytest.mark.parametrize(
    ("written", "own", "answer"),
    [
        ("en_GB", "fr", "Noted."),  # in the language of the message, whatever the country
        ("de", "fr", "C'est noté."),  # there is no text in German: the one for all
        ("de", "en", "Noted."),  # … or in the language of the organisation
        (None, "fr", "C'est noté."),
        (None, "en", "Noted."),
    ],
)
async def test_the_answer_is_in_the_language_of_the_last_message(
    world: World, written: str | None, own: str, answer: str
) -> None:
    replies = {"en": {"stop": "Noted.", "help": "Atlas speaking."}, "fr": {"help": "Atlas à l'appareil."}}
    chosen = {"language": own, "stopReply": "C'est noté.", "replies": replies}
    await world.call("PUT", "/organisation", json=chosen)
    await world.consent(TO, subjectId=f"s{TO}", purpose="MARKETING")
    await world.consent(TO, subjectId=f"s{TO}")
    if written is not None:
        await write(world, "Bonjour")  # opens the window, in which free text may go
        text: dict[str, Any] = {"templateCode": None, "variables": {}, "text": "Good day"}
        await world.message(TO, subjectId=f"s{TO}", language=written, **text)
        await world.work()

    await write(world, "STOP")

    bodies = [each.document["text"]["body"] for each in world.providers.sent]
    assert bodies == (["Good day"] if written else []) + [answer]


async def test_twilio_answers_stop_itself(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.call("PUT", "/organisation", json={"stopReply": "Noté", "helpReply": "Aide"})
    await world.consent(TO, channel="SMS", subjectId=f"s{TO}", purpose="MARKETING")
    by_sms = {"provider": "twilio", "provider_key": "+33639980099"}
    await write(world, "STOP", **by_sms)
    assert world.providers.sent == []

    monkeypatch.setenv("OSTINATO_OUTBOUND_TWILIO_CONFIRMS", "no")
    world.read_settings_again()
    await write(world, "HELP", **by_sms)

    assert [each.document["Body"] for each in world.providers.sent] == ["Aide"]


async def test_what_whatsapp_says_of_a_template_counts(world: World) -> None:
    """3.3: `message_template_status_update` names the account alone, and comes in any order."""
    await sent(world)  # its callback tells to which account the number belongs
    at = 1781086000

    async def told(event: str, seconds: int) -> dict[str, Any]:
        value = {"event": event, "message_template_name": "welcome", "message_template_language": "fr"}
        change = {"field": "message_template_status_update", "value": value}
        await world.providers.make(world.cloud.of_account([change], time=at + seconds))
        await world.work()
        found: dict[str, Any] = (await world.call("GET", "/templates"))[0]
        return found

    assert (await told("REJECTED", 10))["providerStatus"] == "REJECTED"
    await world.message(TO, subjectId=f"s{TO}", status=422)
    assert (await told("APPROVED", 5))["providerStatus"] == "REJECTED", "that was before"
    assert (await told("APPROVED", 20))["providerStatus"] == "APPROVED"
    paused = await told("PAUSED", 30)
    assert (paused["providerStatus"], bool(paused["heldUntil"])) == ("APPROVED", True)
    made = await world.message(TO, subjectId=f"s{TO}")
    await world.work()
    assert (await world.show(made))["waitsFor"] == "TEMPLATE_HELD"
    assert (await told("FLAGGED", 40))["heldUntil"]
    assert (await told("REINSTATED", 50))["heldUntil"] is None
    assert (await world.show(made))["status"] == "SENT", "what waited goes at once"
    audit = await world.call("GET", "/audit", params={"action": "TEMPLATE_REJECTED"})
    assert audit[0]["details"]["template_code"] == "welcome"


async def test_a_clock_that_is_ahead_opens_the_window_for_no_longer(world: World) -> None:
    world.providers.wall = (NOON + timedelta(hours=20)).timestamp

    await write(world, "Bonjour")

    (heard,) = await world.call("GET", "/inbound")
    assert datetime.fromisoformat(heard["receivedAt"]) < NOON + timedelta(hours=1)


async def test_an_inbound_message_opens_the_window(world: World) -> None:
    text: dict[str, Any] = {"templateCode": None, "variables": {}, "text": "Bonjour"}
    await world.consent(TO)
    await world.message(TO, status=422, **text)
    world.providers.wall = NOON.timestamp

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


@pytest.mark.parametrize(
    ("asks", "written", "language"),
    [
        ("", "", "fr"),
        ("fr-CA,en;q=0.8", "?l=en", "fr"),
        ("en-GB,en;q=0.9,fr;q=0.1", "", "en"),
        ("ja,de-AT;q=0.5,en;q=0.4", "?l=fr", "de"),
        ("en;q=0, xx, ;q=7x", "", "fr"),
        ("", "?l=en_GB", "en"),
        ("ja", "?l=en", "en"),
        ("", "?l=%22%3Exx", "fr"),
    ],
)
async def test_the_page_to_unsubscribe_by_is_in_the_language_of_who_reads_it(
    world: World, asks: str, written: str, language: str
) -> None:
    """The browser's; else that of the message, which the link says."""
    button, ends = {
        "fr": ("Se désabonner", "Vous êtes désabonné."),
        "en": ("Unsubscribe", "You are unsubscribed."),
        "de": ("Abbestellen", "Sie erhalten diese Nachrichten nicht mehr."),
    }[language]
    made = await world.consent("a@example.test", channel="EMAIL", purpose="MARKETING")
    path = f"/api/v1/outbound/unsubscribe/{unsubscribe_token('sandbox-token-secret', UUID(made['id']))}{written}"
    asked = {"accept-language": asks, "content-type": "application/x-www-form-urlencoded"}

    looked = await world.http.get(path, headers=asked)
    (action,) = re.findall(r'action="([^"]*)"', looked.text)
    done = await world.http.post(html.unescape(action), content=b"List-Unsubscribe=One-Click", headers=asked)

    assert looked.headers["content-language"] == language
    assert looked.headers["vary"].lower() == "accept-language"
    assert f'<html lang="{language}">' in looked.text
    assert f"<button>{button}</button>" in looked.text
    assert done.text == ends


@pytest.mark.usefixtures("impatient")
async def test_audit_timeline_and_figures_tell_the_story(world: World) -> None:
    """1.2, 6.3: whatever the order of callbacks, each step has its traces."""
    numbers = ("0001", "0007", "0010")
    world.providers.script("+33639980007", "silent")  # nothing but callbacks tells of it
    made = {}
    for number in numbers:
        to = f"+3363998{number}"
        await world.consent(to, subjectId=to)
        made[number] = await world.message(to, subjectId=to, dossierId=number)
    await world.work()
    await world.settled()

    for number in numbers:
        params = {"messageId": made[number]["id"]}
        audit = await world.call("GET", "/audit", params=params)
        actions = {each["action"] for each in audit} - {"NOTIFICATION_OUTCOME_UNKNOWN"}
        timeline = await world.call("GET", "/timeline", params={"dossierId": number})
        steps = ("CREATED", "SENDING", "SENT", "DELIVERED")
        assert actions == {f"NOTIFICATION_{step}" for step in steps}
        assert {each["activityCode"] for each in timeline} == {"MESSAGE_LOG"}
        assert [each["status"] for each in timeline] == ["DELIVERED", "SENT", "QUEUED"]
    figures = await world.call("GET", "/metrics")
    named = {(each["name"], each["label"]): each["value"] for each in figures["figures"]}
    assert named["sent", "WHATSAPP"] == 3
    assert named["delivered", "WHATSAPP"] == 3
    assert named["dead_letters", ""] == 0
    told = await world.rows("select payload ->> 'status' from ostinato.events_outbox where type like 'outbound%'")
    assert sorted(told) == [("DELIVERED",)] * 3 + [("QUEUED",)] * 3 + [("SENT",)] * 3


async def test_nothing_personal_is_told_in_events_audit_attempts_or_logs(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """7.1: errors of providers repeat the number, with a plus and without."""
    world.providers.script("+33639980001", "777777", "131016")
    await sent(world, "+33639980001")
    await world.work(move_clock=True)
    await world.settled()

    shown = [
        str(await world.rows(statement))
        for statement in (
            "select payload from ostinato.events_outbox",
            "select details from outbound.audit_event",
            "select error_message, provider_response from outbound.attempt",
            "select error_message from outbound.message",
        )
    ]
    said = capsys.readouterr()
    for text in (*shown, said.out, said.err):
        for private in ("3639980001", "6 39 98 00 01", "Camille"):
            assert private not in text


async def test_one_correlation_id_leads_from_the_request_to_the_callback(world: World) -> None:
    """7.1."""
    await world.consent(TO)
    body = {"channel": "WHATSAPP", "to": TO, "subjectId": "s-1", "templateCode": "welcome"}
    headers = {"X-Correlation-Id": "corr-7", "Idempotency-Key": "k"}
    made = await world.call("POST", "/messages", status=201, json=body | {"variables": {"name": "A"}}, headers=headers)
    await world.work()
    await world.settled()
    await tell(world, "delivered")

    shown = await world.show(made)
    audit = await world.call("GET", "/audit", params={"messageId": made["id"]})
    assert shown["status"] == "DELIVERED"
    assert {each["correlationId"] for each in audit} == {"corr-7"}
    job = "select correlation_id from ostinato_data.job where id = %s"
    assert await world.value(job, shown["jobId"]) == "corr-7"
    told = "select distinct correlation_id from ostinato.events_outbox where type like 'outbound%%'"
    assert await world.rows(told) == [("corr-7",)]
