"""Coop Habitat (rules 6 bis): events become messages, timers keep their local time."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

from ostinato._core.base.flow import flow
from ostinato._core.engine import outbox
from ostinato._core.engine.outbox import NewEvent
from ostinato.apps.outbound import APP
from ostinato.apps.outbound.coop import rules as coop_rules
from ostinato.apps.outbound.coop.texts import TEMPLATES
from ostinato.apps.outbound.round_notices import OPENED
from tests.apps.outbound.conftest import World, set_clock

SENT = "select logical_event_id, sent_at from outbound.message order by sent_at, logical_event_id"


async def member(world: World, number: int, *, consents: bool = True, **more: Any) -> str:  # noqa: ANN401 - as the API
    to = f"+3363998{6000 + number}"
    body = {"groupId": "g-1", "subjectId": f"s-{number}", "address": to, "name": f"M{number}"}
    await world.call("PUT", f"/coop/members/m-{number}", json=body | {"dossierId": "D-9"} | more)
    if consents:
        await world.consent(to, subjectId=f"s-{number}")
    return f"m-{number}"


async def contribution(world: World, name: str = "c-1", **more: Any) -> dict[str, Any]:  # noqa: ANN401 - as the API
    body = {"memberId": "m-1", "planId": "plan-12", "planVersion": 2, "dueDate": "2026-06-15", "amountDue": "1250.00"}
    found: dict[str, Any] = await world.call("PUT", f"/coop/contributions/{name}", json=body | more)
    return found


async def coop(world: World, at: str) -> None:
    await set_clock(world.engine, datetime.fromisoformat(at))
    await world.call("PUT", "/coop/templates")


async def visit(world: World, *dates: str) -> None:
    """Let time pass, with a look at one minute past ten in Paris on these days."""
    for day in dates:
        await set_clock(world.engine, datetime.fromisoformat(f"2026-{day}T08:01:00Z"))
        await world.work()


async def told(world: World) -> list[tuple[str, str]]:
    rows = await world.rows(SENT)
    return [(name, f"{at.astimezone(UTC):%m-%dT%H}" if at else "") for name, at in rows]


async def test_thirty_days_of_a_contribution_that_nobody_pays(world: World) -> None:
    """CALL at once, J-3, J-1, J+1, J+7 at 10:00 in Paris, each once, with plan and version."""
    await coop(world, "2026-06-01T09:00:00Z")
    await member(world, 1)
    await contribution(world)
    await world.work()

    # The days that matter, one before each, one after, and the rest of the month at once.
    await visit(world, "06-11", "06-12", "06-13", "06-14", "06-15", "06-16", "06-22", "06-23")
    await visit(world, "07-01")

    assert await told(world) == [
        ("CALL:2026-06-15:v2", "06-01T09"),
        ("REMINDER_J-3:2026-06-15:v2", "06-12T08"),
        ("REMINDER_J-1:2026-06-15:v2", "06-14T08"),
        ("LATE_J+1:2026-06-15:v2", "06-16T08"),
        ("LATE_J+7:2026-06-15:v2", "06-22T08"),
    ]
    texts = [str(each.document) for each in world.providers.sent]
    assert all("plan-12" in text and "'text': '2'" in text for text in texts)
    assert await world.value("select status from outbound.coop_contribution") == "LATE"
    overdue = await world.rows("select type from ostinato.events_outbox where type like 'EVT_COOP%%' order by id")
    assert overdue == [("EVT_COOP_CONTRIBUTION_DUE_CREATED",), ("EVT_COOP_CONTRIBUTION_OVERDUE",)]
    timeline = await world.call("GET", "/timeline", params={"dossierId": "D-9"})
    assert [each["activityCode"] for each in timeline] == ["MESSAGE_LOG"] * len(timeline)


async def test_what_is_paid_is_not_reminded_of(world: World) -> None:
    await coop(world, "2026-06-01T09:00:00Z")
    await member(world, 1)
    await contribution(world)
    await world.work()
    await visit(world, "06-12")

    await contribution(world, status="CONFIRMED", paidDate="2026-06-13")
    await visit(world, "06-14", "06-16", "06-22")

    assert [name for name, _ in await told(world)] == ["CALL:2026-06-15:v2", "REMINDER_J-3:2026-06-15:v2"]


async def test_what_was_paid_while_it_waited_is_stopped_at_the_send(world: World) -> None:
    """Whoever wrote it, and however: nothing was cancelled."""
    await coop(world, "2026-06-01T20:00:00Z")  # quiet: the call waits
    await member(world, 1)
    await contribution(world)
    await world.work()
    await world.rows("update outbound.coop_contribution set paid_date = '2026-06-01'")

    await visit(world, "06-02")

    rows = await world.rows("select status, cancel_reason from outbound.message")
    assert (rows, world.providers.sent) == ([("CANCELLED", "NO_LONGER_RELEVANT")], [])


async def test_another_due_date_cancels_and_replaces(world: World) -> None:
    await coop(world, "2026-06-01T20:00:00Z")  # quiet: the call waits
    await member(world, 1)
    await contribution(world)
    await world.work()

    await contribution(world, dueDate="2026-06-20", planVersion=3)
    at_once = await world.rows("select status, cancel_reason from outbound.message")
    await visit(world, "06-02", "06-12", "06-14", "06-17", "06-19", "06-21")

    assert at_once == [("CANCELLED", "NO_LONGER_RELEVANT")]
    assert await told(world) == [
        ("CALL:2026-06-20:v3", "06-02T08"),
        ("REMINDER_J-3:2026-06-20:v3", "06-17T08"),
        ("REMINDER_J-1:2026-06-20:v3", "06-19T08"),
        ("LATE_J+1:2026-06-20:v3", "06-21T08"),
        ("CALL:2026-06-15:v2", ""),
    ]
    reasons = await world.rows("select cancel_reason from outbound.message where sent_at is null")
    assert reasons == [("NO_LONGER_RELEVANT",)]


async def test_an_event_that_waited_is_not_told_of_a_newer_date(world: World) -> None:
    """Nobody is told that he is late because he was, before the date was moved."""
    await coop(world, "2026-06-01T09:00:00Z")
    await member(world, 1)
    await contribution(world)
    await world.work()
    payload = '{"contribution_id": "c-1", "due_date": "2026-06-15", "plan_version": 2}'
    overdue = NewEvent("EVT_COOP_CONTRIBUTION_OVERDUE", payload, "outbound", "coop")
    await set_clock(world.engine, datetime(2026, 6, 16, 9, tzinfo=UTC))

    await contribution(world, dueDate="2026-07-20", planVersion=3)
    with flow(tenant="acme", correlation="late"):
        async with world.engine.client.transaction() as conn:
            await outbox.emit(conn, overdue)
    await world.work()

    names = [name for name, _ in await told(world)]
    assert names == ["CALL:2026-06-15:v2", "CALL:2026-07-20:v3"]


async def test_a_payment_that_bounced_is_reminded_of_again(world: World) -> None:
    await coop(world, "2026-06-01T09:00:00Z")
    await member(world, 1)
    await contribution(world)
    await contribution(world, status="CONFIRMED", paidDate="2026-06-02")
    assert await world.value("select count(*) from ostinato_data.schedule where key is not null") == 0

    await contribution(world)

    assert await world.value("select count(*) from ostinato_data.schedule where key is not null") == 4


async def test_a_date_that_is_moved_to_and_fro_is_told_again(world: World) -> None:
    await coop(world, "2026-06-01T20:00:00Z")  # quiet: the calls wait, and are cancelled
    await member(world, 1)
    for day in ("15", "20", "15"):
        await contribution(world, dueDate=f"2026-06-{day}")
        await world.work()

    await visit(world, "06-02")

    rows = await world.rows("select logical_event_id, status from outbound.message order by created_at")
    assert [(name[:15], status in ("SENT", "DELIVERED")) for name, status in rows] == [
        ("CALL:2026-06-15", False),
        ("CALL:2026-06-20", False),
        ("CALL:2026-06-15", True),
    ]


async def test_members_are_told_by_the_channel_that_they_have(world: World) -> None:
    await coop(world, "2026-06-01T09:00:00Z")
    for number, channel, to in ((1, "EMAIL", "ok@example.test"), (2, "SMS", "+33639986002")):
        await member(world, number, consents=False, channel=channel, address=to)
        await world.consent(to, subjectId=f"s-{number}", channel=channel)
        await contribution(world, f"c-{number}", memberId=f"m-{number}")

    await world.work()

    assert sorted(each.provider for each in world.providers.sent) == ["smtp", "twilio"]
    mail = next(each for each in world.providers.sent if each.provider == "smtp")
    assert "Subject: Appel de fonds" in mail.document["text"]


async def test_what_cannot_be_made_is_on_the_timeline_as_failed(world: World) -> None:
    await set_clock(world.engine, datetime(2026, 6, 1, 9, tzinfo=UTC))
    await member(world, 1)  # and no template
    await contribution(world)

    await world.work()

    (entry,) = await world.call("GET", "/timeline", params={"dossierId": "D-9"})
    assert (entry["status"], entry["note"]) == ("FAILED", "template_refused")
    (noted,) = await world.call("GET", "/audit", params={"action": "NOTIFICATION_FAILED"})
    assert noted["details"]["reason"] == "there is no active template EVT_COOP_CALL_FOR_FUNDS in fr"


async def test_a_long_title_or_a_name_of_two_lines_keeps_nobody_from_being_told(world: World) -> None:
    await coop(world, "2026-06-01T09:00:00Z")
    await member(world, 1, name="Zoé\n  Dupont")
    payload = {"group_id": "g-1", "document_id": "PV-1", "title": "Procès-verbal\n" * 20}

    await world.call(
        "POST", "/coop/events", status=202, json={"type": "EVT_COOP_DOCUMENT_PUBLISHED", "payload": payload}
    )
    await world.work()

    ((variables, status),) = await world.rows("select payload -> 'variables', status from outbound.message")
    assert variables["name"] == "Zoé Dupont"
    assert variables["title"] == f"{('Procès-verbal ' * 20)[:199]}…"
    assert status in ("SENT", "DELIVERED")


def test_amounts_keep_the_spaces_that_do_not_break() -> None:
    assert coop_rules.fitted("1\u202f250,00 EUR") == "1\u202f250,00 EUR"
    assert len(coop_rules.fitted("é" * 300)) == coop_rules.LONGEST_VALUE


async def test_an_event_about_somebody_who_is_no_member_is_refused(world: World) -> None:
    payload = {"allocation_id": "a-1", "allocation_version": 1, "member_id": "m-9", "lot": "B12"}
    event = {"type": "EVT_COOP_ALLOCATION_VALIDATED", "payload": payload}

    refused = await world.call("POST", "/coop/events", status=404, json=event)

    assert refused["values"] == {"member_id": "m-9"}


async def test_late_creation_makes_no_burst(world: World) -> None:
    await coop(world, "2026-06-12T08:30:00Z")
    await member(world, 1)
    for number, (created, steps) in enumerate(
        (
            ("2026-06-12T08:30:00Z", ["REMINDER_J-1", "LATE_J+1", "LATE_J+7"]),
            ("2026-06-14T08:30:00Z", ["LATE_J+1", "LATE_J+7"]),
            ("2026-06-17T08:30:00Z", ["LATE_J+7"]),
            ("2026-07-17T08:30:00Z", []),
        )
    ):
        await set_clock(world.engine, datetime.fromisoformat(created))
        await contribution(world, f"c-{number}")

        rows = await world.rows(
            "select args ->> 'step' from ostinato_data.schedule where key = %s", f"coop-contribution:c-{number}"
        )

        assert sorted(row[0] for row in rows) == sorted(steps)


async def test_timers_keep_their_local_hour_when_clocks_are_moved(world: World) -> None:
    """10.2, Europe/Paris."""
    await coop(world, "2026-01-02T09:00:00Z")
    await member(world, 1)
    for due, instants in (
        ("2026-03-31", ["03-28T09:00", "03-30T08:00", "04-01T08:00", "04-07T08:00"]),
        ("2026-10-27", ["10-24T08:00", "10-26T09:00", "10-28T09:00", "11-03T09:00"]),
    ):
        await contribution(world, due, dueDate=due)

        rows = await world.rows(
            "select d.next_at from ostinato_data.schedule_due d join ostinato_data.schedule s"
            " on s.id = d.schedule_id where s.key = %s order by d.next_at",
            f"coop-contribution:{due}",
        )

        assert [f"{row[0].astimezone(UTC):%m-%dT%H:%M}" for row in rows] == instants


async def test_a_published_document_is_one_message_for_each_active_member(world: World) -> None:
    """The key that was specified has no recipient: 40 members would get one message (rule 6.2)."""
    await coop(world, "2026-06-01T09:00:00Z")
    for number in range(1, 9):
        await member(world, number, consents=number != 8)
    await member(world, 9, status="EXITED")
    event = {
        "type": "EVT_COOP_DOCUMENT_PUBLISHED",
        "payload": {"group_id": "g-1", "document_id": "doc-7", "title": "PV du 1er juin"},
    }

    for _ in range(2):  # told twice: the keys are the same
        await world.call("POST", "/coop/events", status=202, json=event)
    await world.work()

    assert len(world.providers.sent) == 7
    assert await world.value("select count(distinct idempotency_key) from outbound.message") == 7
    blocked = await world.call("GET", "/audit", params={"action": "BLOCKED_BY_POLICY"})
    assert {each["subjectId"] for each in blocked} == {"s-8"}


async def test_every_event_has_its_message(world: World) -> None:
    await coop(world, "2026-06-01T09:00:00Z")
    await member(world, 1)
    group = {"group_id": "g-1", "status_code": "BUILDING", "transition_id": "t-1"}
    lot = {"allocation_id": "a-1", "allocation_version": 1, "member_id": "m-1", "lot": "B12"}
    events = {
        "EVT_COOP_DOCUMENT_PUBLISHED": {"group_id": "g-1", "document_id": "d", "title": "PV"},
        "EVT_COOP_ALLOCATION_PROPOSED": lot | {"rank": 3, "contest_until": "30/06/2026"},
        "EVT_COOP_ALLOCATION_VALIDATED": lot,
        "EVT_COOP_PROJECT_MILESTONE_UPDATED": group | {"project_id": "p-1"},
        "EVT_COOP_STATUS_CHANGED": group | {"entity_type": "COOP_GROUP", "entity_id": "g-1"},
    }

    for name, payload in events.items():
        body = {"type": name, "payload": payload}
        await world.call("POST", "/coop/events", status=202, json=body)
    await world.work()

    names = {each.document["template"]["name"] for each in world.providers.sent}
    assert names == {coop_rules.EVENTS[name].removeprefix("EVT_").lower() for name in events}
    logical = {row[0] for row in await world.rows("select logical_event_id from outbound.message")}
    assert logical == {"PV:d", "PROPOSED:1", "ASSIGNED:1", "MILESTONE:BUILDING:t-1", "STATUS:t-1"}
    wrong = {"type": "EVT_COOP_STATUS_CHANGED", "payload": {"group_id": "g-1"}}
    await world.call("POST", "/coop/events", status=422, json=wrong)
    other = group | {"entity_type": "COOP_CONTRIBUTION", "entity_id": "c-1"}
    await world.call("POST", "/coop/events", status=422, json=wrong | {"payload": other})


def test_each_template_has_the_same_variables_in_every_language() -> None:
    said: dict[str, list[set[str]]] = {}
    for each in TEMPLATES:
        names = {variable["name"] for variable in each["variables"]}
        assert set(re.findall(r"{{(\w+)}}", each["body"])) == names
        assert set(re.findall(r"{{(\w+)}}", each["subject"])) <= names
        said.setdefault(each["template_code"], []).append(names)

    assert len(said) == 8
    assert all(french == english for french, english in said.values())


async def test_a_member_is_told_in_the_member_s_language(world: World) -> None:
    await coop(world, "2026-06-01T09:00:00Z")
    for number, language in ((1, "fr"), (2, "en")):
        await member(world, number, consents=False, language=language, channel="SMS")
        await world.consent(f"+3363998{6000 + number}", subjectId=f"s-{number}", channel="SMS")
        await contribution(world, f"c-{number}", memberId=f"m-{number}")
    await world.work()

    assert sorted(each.document["Body"] for each in world.providers.sent) == [
        "Bonjour M1, appel de fonds de 1\u202f250,00 EUR à régler avant le 15/06/2026 (plan plan-12, version 2)",
        "Hello M2, a call for funds of EUR\u00a01,250.00 is due by 15 Jun 2026 (plan plan-12, version 2)",
    ]


async def test_a_member_who_left_or_a_consent_that_ended_stops_it_at_the_send(world: World) -> None:
    await coop(world, "2026-06-01T20:00:00Z")  # quiet
    await member(world, 1)
    await contribution(world)
    await world.work()

    await member(world, 1, consents=False, status="SUSPENDED")
    await visit(world, "06-02")

    ((status, reason),) = await world.rows("select status, cancel_reason from outbound.message")
    assert (status, reason) == ("CANCELLED", "MEMBER_NOT_ACTIVE")


async def test_a_reminder_that_is_held_up_past_its_date_is_not_sent(world: World) -> None:
    await coop(world, "2026-06-10T09:00:00Z")
    await member(world, 1)
    await contribution(world)
    await world.work()
    await set_clock(world.engine, datetime(2026, 6, 14, 8, 1, tzinfo=UTC))
    hold = timedelta(days=3)
    await world.rows("update outbound.sender set held_until = ostinato.now() + %s", hold)

    await world.work()

    rows = dict(await world.rows("select logical_event_id, cancel_reason from outbound.message"))
    assert rows["REMINDER_J-1:2026-06-15:v2"] == "TOO_LATE"


async def test_a_round_that_opens_is_told_to_those_who_want_it(world: World) -> None:
    """Rounds and outbound know each other by the event alone."""
    template = {
        "category": "UTILITY",
        "providerName": "round_opened",
        "body": "{{group}} : {{title}}",
        "variables": [{"name": "group"}, {"name": "title"}],
    }
    await world.call("PUT", "/templates/ROUND_OPENED/fr", json=template)
    await world.consent("+33639986001", subjectId="ana")
    payload = (
        '{"round_id": 7, "group_id": 1, "group": "Les voisins", "local_date": "2026-06-10",'
        ' "zone": "Europe/Paris", "open_at": "2026-06-10T10:00:00Z",'
        ' "close_at": "2026-06-11T10:00:00Z", "type": "photo", "title": "Une photo", "body": "",'
        ' "recipients": ["ana", "bob"]}'
    )
    await world.work()
    for _ in range(2):
        with flow(tenant="acme", correlation="round-7"):
            async with world.engine.client.transaction() as conn:
                await outbox.emit(conn, NewEvent(OPENED, payload, "rounds", "group-1"))
    await world.work()

    (taken,) = world.providers.sent
    assert taken.to == "+33639986001"
    assert taken.document["template"]["components"][0]["parameters"][0]["text"] == "Les voisins"
    blocked = await world.call("GET", "/audit", params={"action": "BLOCKED_BY_POLICY"})
    assert {each["subjectId"] for each in blocked} == {"bob"}


def test_the_days_of_the_steps_are_days_of_the_calendar() -> None:
    step = coop_rules.step_of(-1)
    noon = coop_rules.local_time(step, date(2027, 1, 1), datetime(2027, 1, 1, 10).time())  # noqa: DTZ001 - local

    assert noon.isoformat() == "2026-12-31T10:00:00"
    assert set(APP.subscribers) == {"outbound.coop_notify", "outbound.round_opened"}
