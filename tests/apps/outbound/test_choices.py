"""What an organisation chooses: hours, days of reminders, its senders; and what people decide about a message."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ostinato.apps.outbound import APP, rules
from ostinato.apps.outbound.coop import rules as coop_rules
from ostinato.apps.outbound.jobs import prune
from ostinato.apps.outbound.model import Channel
from ostinato.apps.outbound.providers.smtp import SMTP
from ostinato.apps.outbound.providers.standin import Inbound
from tests.apps.outbound.conftest import NOON, World, set_clock
from tests.payloads import EMITTED, checked

TO = "+33639981234"
MAIL = "ana@example.test"
GROUP = {"group_id": "g-1", "status_code": "BUILDING", "transition_id": "t-1"}


async def sender_of(world: World, channel: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - as the API takes it
    """The sender of a channel, with something changed."""
    rows = await world.call("GET", "/senders")
    (found,) = [each for each in rows if each["channel"] == channel]
    named = {name: found[name] for name in ("channel", "providerKey", "display")}
    shown: dict[str, Any] = await world.call("PUT", "/senders", json=named | changes)
    return shown


async def lost_mail(world: World) -> dict[str, Any]:
    """A mail of which nobody knows whether it was sent, and whose time for a report is over."""
    world.providers.script(MAIL, "lost")
    await world.consent(MAIL, channel="EMAIL")
    made = await world.message(MAIL, channel="EMAIL", urgent=True)
    await world.work()
    await world.work(move_clock=True)
    return made


async def test_a_mail_that_may_have_been_sent_is_held_for_people_to_decide(world: World) -> None:
    made = await lost_mail(world)

    held = await world.show(made)
    assert (held["status"], held["errorCode"]) == ("FAILED", "UNKNOWN_OUTCOME")
    assert held["deadReason"].startswith("nobody knows whether it was sent")
    assert len(world.providers.sent) == 1
    assert await world.value("select count(*) from ostinato_data.dead_letter") == 1
    await world.call("POST", f"/messages/{made['id']}/retry", status=202)
    await world.work()
    assert (await world.show(made))["status"] == "SENT"
    assert len(world.providers.sent) == 2


async def test_a_sender_may_send_again_what_may_have_been_sent(world: World) -> None:
    sender = await sender_of(world, "EMAIL", onUnknown="resend")
    made = await lost_mail(world)

    assert sender["onUnknown"] == "resend"
    assert (await world.show(made))["status"] == "SENT"
    assert len(world.providers.sent) == 2


@pytest.mark.usefixtures("impatient")
async def test_whatsapp_is_held_too_if_its_sender_says_so(world: World) -> None:
    await sender_of(world, "WHATSAPP", onUnknown="hold")
    world.providers.script(TO, "lost")
    await world.consent(TO)
    made = await world.message(TO, urgent=True)
    await world.work()

    await world.work(move_clock=True)

    assert (await world.show(made))["status"] == "FAILED"
    assert len(world.providers.sent) == 1


@pytest.mark.parametrize(("action", "status"), [("delivered", "DELIVERED"), ("relayed", "SENT")])
async def test_a_report_of_success_says_what_became_of_a_mail(world: World, action: str, status: str) -> None:
    """It is asked for where the server offers it, and counts for a mail that is held, too."""
    made = await lost_mail(world)
    report = (
        "To: bounce@example.test\r\nMIME-Version: 1.0\r\n"
        "Content-Type: multipart/report; report-type=delivery-status; boundary=part\r\n\r\n--part\r\n"
        f"Content-Type: message/delivery-status\r\n\r\nOriginal-Envelope-Id: {made['id']}\r\n\r\n"
        f"Final-Recipient: rfc822; {MAIL}\r\nAction: {action}\r\nStatus: 2.0.0\r\n\r\n--part--\r\n"
    )
    headers = {"x-bounce-secret": "sandbox-bounce-secret", "content-type": "message/rfc822"}

    answer = await world.http.post("/api/v1/webhooks/email/bounces", content=report, headers=headers)
    await world.work()

    assert answer.status_code == 200
    assert (await world.show(made))["status"] == status
    assert "NOTIFY=SUCCESS,FAILURE,DELAY" in world.providers.sent[0].document["rcpt"]
    assert SMTP.on_unknown == "hold"


@pytest.mark.parametrize("value", [True, [1], {"a": [1, None, True]}, [], {}])
async def test_a_variable_is_a_text_or_a_number(world: World, value: object) -> None:
    await world.consent(TO)

    refused = await world.message(TO, status=422, variables={"name": value})

    assert "neither a text nor a number" in refused["detail"]


@pytest.mark.parametrize("value", ["Camille", 12, 3.5])
async def test_texts_and_numbers_are_taken(world: World, value: object) -> None:
    await world.consent(TO)
    await world.message(TO, variables={"name": value})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"region": "ZZ"}, "region"),
        ({"zone": "Europe/Nowhere"}, "zone"),
        ({"opens": "21:00", "closes": "08:00"}, "hours"),
        ({"marketingOpens": "10:00", "marketingCloses": "10:00"}, "hours"),
        ({"opens": "08:00+02:00"}, "offset"),
        ({"reminderDays": [0]}, "reminderDays"),
        ({"reminderDays": [-3, -3]}, "reminderDays"),
        ({"reminderDays": [400]}, "less than or equal"),
    ],
)
async def test_what_cannot_be_used_is_refused_when_it_is_chosen(
    world: World, change: dict[str, object], told: str
) -> None:
    refused = await world.call("PUT", "/organisation", status=422, json=change)

    assert told in str(refused)


async def test_what_waits_for_its_hour_is_planned_anew_when_the_hours_change(world: World) -> None:
    await set_clock(world.engine, datetime(2026, 6, 10, 20, 0, tzinfo=UTC))  # 22:00 in Paris
    await world.consent(TO)
    made = await world.message(TO)
    await world.work()
    before = (await world.show(made))["nextRetryAt"]

    await world.call("PUT", "/organisation", json={"opens": "06:00", "closes": "21:00"})
    await world.work()
    between = (await world.show(made))["nextRetryAt"]
    await world.call("PUT", "/organisation", json={"zone": "America/Martinique"})  # 16:00 there
    await world.work()

    assert before.startswith("2026-06-11T06:00:00")
    assert between.startswith("2026-06-11T04:00:00")
    assert (await world.show(made))["status"] in ("SENT", "DELIVERED")


def test_steps_are_named_by_their_days() -> None:
    for days in (-60, -3, -1, 1, 7, 365):
        assert coop_rules.step_named(coop_rules.step_of(days).name) == coop_rules.step_of(days)
    assert [coop_rules.step_named(name) for name in ("CALL", "LATE_J+0", "REMINDER_J--1", "LATE_J-1")] == [None] * 4
    assert coop_rules.first_late([-3, 14, 2]) == coop_rules.step_of(2)
    assert coop_rules.first_late([-3]) is None


async def test_an_organisation_reminds_on_its_own_days_and_open_contributions_follow(world: World) -> None:
    await set_clock(world.engine, datetime(2026, 6, 1, 9, tzinfo=UTC))
    await world.call("PUT", "/coop/templates")
    member = {"groupId": "g", "subjectId": "s-1", "address": TO, "name": "Camille", "status": "ACTIVE"}
    await world.call("PUT", "/coop/members/m-1", json=member)
    due = {"memberId": "m-1", "planId": "p", "planVersion": 1, "dueDate": "2026-06-15", "amountDue": "10.00"}
    await world.call("PUT", "/coop/contributions/c-1", json=due)

    await world.call("PUT", "/organisation", json={"reminderDays": [2, -5], "noticeTime": "09:00"})
    await world.work()

    timers = await world.rows(
        "select s.name, d.slot_at from ostinato_data.schedule s"
        " join ostinato_data.schedule_due d on d.schedule_id = s.id where s.name like 'coop:%%' order by d.slot_at"
    )
    assert [(name, at.astimezone(UTC).strftime("%m-%dT%H")) for name, at in timers] == [
        ("coop:c-1:REMINDER_J-5:2026-06-15:v1", "06-10T07"),
        ("coop:c-1:LATE_J+2:2026-06-15:v1", "06-17T07"),
    ]
    await world.consent(TO)
    await set_clock(world.engine, datetime(2026, 6, 17, 7, 1, tzinfo=UTC))
    await world.work()
    events = await world.rows("select type from ostinato.events_outbox where type like 'EVT_COOP%%' order by id")
    assert events[-1] == ("EVT_COOP_CONTRIBUTION_OVERDUE",)


@pytest.mark.parametrize(
    ("channel", "rate", "turns"),
    [
        (Channel.WHATSAPP, None, False),
        (Channel.WHATSAPP, 80, False),
        (Channel.WHATSAPP, 1000, False),
        (Channel.SMS, 1, True),
        (Channel.EMAIL, 39, False),
    ],
)
def test_a_sender_that_is_slower_than_its_channel_takes_turns(
    channel: Channel,
    rate: float | None,
    turns: bool,  # noqa: FBT001 - which
) -> None:
    assert rules.takes_turns(channel, rate) is turns


async def test_a_sender_that_is_faster_than_its_channel_has_lanes(world: World) -> None:
    given = [(None, 80), (80, 80), (1000, 80), (1, 10), (39, 20)]
    found = [await world.rows("select outbound.lanes(%s, %s)", rate, channel) for rate, channel in given]
    assert [row[0] for (row,) in found] == [1, 1, 12, 1, 1]

    await sender_of(world, "WHATSAPP", rate=960)
    await world.consent()
    for _ in range(4):
        await world.message()
    keys = await world.rows("select limit_key from ostinato_data.job where kind = 'outbound.send'")
    assert all("#" in key for (key,) in keys)


@pytest.mark.parametrize(
    ("channel", "rate", "status"),
    [
        ("WHATSAPP", 81, 422),
        ("WHATSAPP", 1000, 422),
        ("WHATSAPP", 960, 200),
        ("EMAIL", 39.5, 422),
        ("EMAIL", 19.5, 200),
    ],
)
async def test_a_rate_that_a_sender_could_not_hold_is_refused(
    world: World, channel: str, rate: float, status: int
) -> None:
    """Above its channel's it goes by whole multiples: 39 would be 20."""
    (found,) = [each for each in await world.call("GET", "/senders") if each["channel"] == channel]
    named = {name: found[name] for name in ("channel", "providerKey", "display")}

    told = await world.call("PUT", "/senders", status=status, json=named | {"rate": rate})

    if status != 200:
        assert "multiple" in told["detail"]
        assert "whole multiples" in told["hint"]


async def test_a_slow_sender_sends_one_after_the_other(world: World) -> None:
    await world.rows("select ostinato.set_test_clock(%s, interval '0')", NOON)
    await sender_of(world, "WHATSAPP", rate=0.1)
    made = []
    for number in range(3):
        to = f"+3363998{5000 + number}"
        await world.consent(to, subjectId=to)
        made.append(await world.message(to, subjectId=to))
    await world.work()

    shown = [await world.show(each) for each in made]

    assert sorted(each["status"] == "QUEUED" for each in shown) == [False, True, True]
    waits = sorted(each["nextRetryAt"] for each in shown if each["waitsFor"] == "SENDER_RATE")
    assert [datetime.fromisoformat(each) - NOON for each in waits] == [timedelta(seconds=10), timedelta(seconds=20)]
    await world.work(move_clock=True)
    assert len(world.providers.sent) == 3
    await world.rows("select ostinato.set_test_clock(null, interval '0')")


@pytest.mark.parametrize(("rate", "waits"), [(0.5, [2, 4, 6]), (0.01, [100, 200, 300]), (None, [])])
async def test_what_waits_for_its_turn_is_planned_anew_when_the_rate_changes(
    world: World, rate: float | None, waits: list[float]
) -> None:
    await world.rows("select ostinato.set_test_clock(%s, interval '0')", NOON)
    await sender_of(world, "WHATSAPP", rate=0.05)
    made = []
    for number in range(4):
        to = f"+3363998{6000 + number}"
        await world.consent(to, subjectId=to)
        made.append(await world.message(to, subjectId=to))
    await world.work()
    before = [await world.show(each) for each in made]

    await sender_of(world, "WHATSAPP", rate=rate)
    await world.work()
    shown = [await world.show(each) for each in made]

    assert sum(each["waitsFor"] == "SENDER_RATE" for each in before) == 3
    left = sorted(datetime.fromisoformat(each["nextRetryAt"]) - NOON for each in shown if each["status"] == "QUEUED")
    assert left == [timedelta(seconds=each) for each in waits]
    await world.rows("select ostinato.set_test_clock(null, interval '0')")


async def test_one_sender_is_the_usual_one_and_one_can_be_deleted(world: World) -> None:
    first = await sender_of(world, "WHATSAPP")
    second = await world.call(
        "PUT", "/senders", json={"channel": "WHATSAPP", "providerKey": "555666777", "isDefault": True}
    )
    await world.consent(TO)
    await set_clock(world.engine, NOON + timedelta(hours=10))
    made = await world.message(TO)

    await world.call("DELETE", f"/senders/{second['id']}", status=409)
    await world.call("POST", f"/messages/{made['id']}/cancel")
    await world.call("DELETE", f"/senders/{second['id']}")
    other = await world.message(TO)

    senders = dict(await world.rows("select id::text, sender_id from outbound.message"))
    assert (senders[made["id"]], senders[other["id"]]) == (second["id"], first["id"])
    assert [each["id"] for each in await world.call("GET", "/senders") if each["channel"] == "WHATSAPP"] == [
        first["id"]
    ]
    await world.message(TO, status=422, senderId=second["id"])
    await world.call("DELETE", f"/senders/{second['id']}", status=404)
    again = await world.call("PUT", "/senders", json={"channel": "WHATSAPP", "providerKey": "555666777"})
    assert again["id"] == second["id"]


async def test_a_message_goes_at_the_time_that_was_asked_for(world: World) -> None:
    await world.consent(TO)
    key = world.next_key()
    at = NOON + timedelta(days=2)
    made = await world.message(TO, key=key, sendAt=at.isoformat())
    await world.work()
    before = await world.show(made)

    await world.rows("select ostinato.hasten_jobs(array[%s::bigint])", before["jobId"])
    await world.work()
    early = await world.show(made)
    again = await world.message(TO, key=key, status=200, sendAt="2026-06-12T12:00:00+02:00")
    await world.message(TO, key=key, status=409)
    await world.message(TO, status=422, sendAt="2029-01-01T00:00:00Z")
    await set_clock(world.engine, at + timedelta(seconds=1))
    await world.work()

    assert (before["waitsFor"], early["waitsFor"], early["attempts"]) == ("SEND_AT", "SEND_AT", [])
    assert again["id"] == made["id"]
    assert (await world.show(made))["status"] in ("SENT", "DELIVERED")


async def test_what_waits_can_be_cancelled_and_what_went_cannot(world: World) -> None:
    await world.consent(TO)
    waiting = await world.message(TO, sendAt=(NOON + timedelta(hours=1)).isoformat())
    gone = await world.message(TO)
    await world.work()

    cancelled = await world.call("POST", f"/messages/{waiting['id']}/cancel", roles=("agent",))
    await world.call("POST", f"/messages/{gone['id']}/cancel", status=409)
    await world.call("POST", f"/messages/{waiting['id']}/cancel", status=409)
    await world.call("POST", f"/messages/{gone['id']}/cancel", status=404, tenant="other")
    await set_clock(world.engine, NOON + timedelta(hours=2))
    await world.work()

    shown = await world.show(waiting)
    assert cancelled["status"] == "CANCELLED"
    assert (shown["cancelReason"], len(world.providers.sent)) == ("ASKED_FOR", 1)


async def test_all_events_of_a_run_are_as_declared(world: World) -> None:
    """One function of SQL writes those of a status, for sets that go out and for one that is cancelled."""
    await world.consent(TO)
    gone = await world.message(TO)
    waiting = await world.message(TO, sendAt=(NOON + timedelta(hours=1)).isoformat())
    await world.work()
    await world.call("POST", f"/messages/{waiting['id']}/cancel", roles=("agent",))

    found = await world.rows(
        "select payload, ordering_key from ostinato_data.event where type = 'outbound.message_status' order by id"
    )
    await world.settled()
    await world.providers.make(world.providers.inbound(Inbound(from_=TO, text="STOP", id="w")))
    status = {"type": "EVT_COOP_STATUS_CHANGED", "payload": {"entity_type": "COOP_GROUP", "entity_id": "g-1"} | GROUP}
    await world.call("POST", "/coop/events", status=202, json=status)
    await world.work()

    types = {"outbound.message_status", "outbound.message_received", "EVT_COOP_STATUS_CHANGED"}
    assert checked(APP, await world.rows(EMITTED)) == types
    emitted = [(key, payload["status"], payload["reason"]) for payload, key in found]
    assert (f"outbound:{gone['id']}", "SENT", None) in emitted
    assert emitted[-1] == (f"outbound:{waiting['id']}", "CANCELLED", "ASKED_FOR")


async def test_what_people_write_is_listed_and_told_as_an_event(world: World) -> None:
    for number, text in enumerate(("Bonjour", "STOP", "Aide")):
        await world.providers.make(world.providers.inbound(Inbound(from_=TO, text=text, id=f"w{number}")))

    found = await world.call("GET", "/inbound", params={"limit": 2})
    rest = await world.call("GET", "/inbound", params={"from": TO, "before": found[-1]["id"]})

    assert [(each["text"], each["asked"], each["from"]) for each in found] == [
        ("Aide", "HELP", TO),
        ("STOP", "STOP", TO),
    ]
    assert [each["text"] for each in rest] == ["Bonjour"]
    assert await world.call("GET", "/inbound", tenant="other") == []
    events = await world.rows(
        "select payload from ostinato.events_outbox where type = 'outbound.message_received' order by id"
    )
    assert [row[0]["asked"] for row in events] == [None, "STOP", "HELP"]
    assert TO[1:] not in str(events)


async def test_messages_are_kept_for_as_long_as_is_set(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.consent(TO)
    await world.message(TO)
    await world.work()
    await world.settled()
    waiting = await world.message(TO, sendAt=(NOON + timedelta(days=300)).isoformat())
    await set_clock(world.engine, NOON + timedelta(days=91))

    async def pruned() -> int:
        async with world.engine.client.transaction() as conn:
            await prune.enqueue(conn)
        await world.work()
        found: int = await world.value("select count(*) from outbound.message")
        return found

    kept = await pruned()
    monkeypatch.setenv("OSTINATO_OUTBOUND_KEEP_MESSAGE_DAYS", "90")

    assert (kept, await pruned()) == (2, 1)
    assert (await world.show(waiting))["status"] == "QUEUED"
    assert await world.value("select count(*) from outbound.attempt") == 0
