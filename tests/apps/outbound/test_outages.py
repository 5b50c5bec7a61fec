"""A provider that is away holds its sender: no message uses up its attempts, and all go when it is back."""

import os
from datetime import timedelta
from typing import Any

import pytest

from ostinato.apps.outbound import rules
from tests.apps.outbound.conftest import NOON, PHONE_NUMBER_ID, World, set_clock

NUMBERS = [f"+3363998{number}" for number in range(4000, 4006)]
MAILS = [f"s{number}@example.test" for number in range(6)]
NOBODY = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("in_a_row", "certain", "away"), [(1, False, False), (2, False, False), (3, False, True), (1, True, True)]
)
def test_three_in_a_row_or_nothing_written_is_a_provider_that_is_away(in_a_row: int, certain: bool, away: bool) -> None:  # noqa: FBT001 - which
    assert rules.is_away(in_a_row, certain=certain) is away


def test_a_provider_that_is_away_is_tried_ever_more_rarely() -> None:
    assert [rules.probe_delay(each) for each in (0, 1, 2, 3, 4, 5, 500)] == [5, 15, 60, 300, 900, 900, 900]


async def asked_for(world: World, *addresses: str, channel: str = "WHATSAPP") -> list[dict[str, Any]]:
    made = []
    for to in addresses:
        await world.consent(to, subjectId=f"s{to}", channel=channel)
        made.append(await world.message(to, subjectId=f"s{to}", channel=channel, urgent=True))
    return made


async def sender(world: World, channel: str = "WHATSAPP") -> dict[str, Any]:
    found = await world.call("GET", "/senders")
    return next(each for each in found if each["channel"] == channel)


async def pass_time(world: World, hours: int) -> None:
    """Let hours go by, two at a time, and do what falls due."""
    for passed in range(2, hours + 1, 2):
        await set_clock(world.engine, NOON + timedelta(hours=passed))
        await world.work()


@pytest.mark.parametrize(
    ("channel", "place", "away"),
    [
        ("WHATSAPP", "WHATSAPP_URL", NOBODY),
        pytest.param("SMS", "TWILIO_URL", NOBODY, marks=pytest.mark.proof),
        pytest.param("EMAIL", "SMTP_PORT", "9", marks=pytest.mark.proof),
    ],
)
@pytest.mark.slow
async def test_a_day_without_the_provider_leaves_no_dead_letter(
    world: World, monkeypatch: pytest.MonkeyPatch, channel: str, place: str, away: str
) -> None:
    usual = os.environ[f"OSTINATO_OUTBOUND_{place}"]
    monkeypatch.setenv(f"OSTINATO_OUTBOUND_{place}", away)
    addresses = MAILS if channel == "EMAIL" else NUMBERS
    made = await asked_for(world, *addresses, channel=channel)

    await pass_time(world, 24)
    held = await sender(world, channel)
    during = [await world.show(each) for each in made]
    monkeypatch.setenv(f"OSTINATO_OUTBOUND_{place}", usual)
    await set_clock(world.engine, NOON + timedelta(hours=25))
    await world.work()
    await world.engine.clock.move(timedelta(seconds=10))
    await world.work()

    assert held["outageSince"] is not None
    assert held["holdReason"] == "network"
    assert {each["waitsFor"] for each in during} <= {"SENDER_HELD", "HOLD"}
    assert await world.value("select count(*) from ostinato_data.dead_letter") == 0
    after = [await world.show(each) for each in made]
    assert {each["status"] for each in after} <= {"SENT", "DELIVERED"}
    assert {each["attemptsUsed"] for each in after} == {0}
    assert world.providers.asked == dict.fromkeys(addresses, 1)
    assert (await sender(world, channel))["outageSince"] is None


async def test_an_outage_of_more_than_three_days_is_none(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_OUTBOUND_WHATSAPP_URL", NOBODY)
    (made,) = await asked_for(world, NUMBERS[0])
    used = []

    for hours in (0, 71, 73):
        await set_clock(world.engine, NOON + timedelta(hours=hours))
        await world.work()
        used.append((await world.show(made))["attemptsUsed"])

    assert used == [0, 0, 1]


async def test_one_message_at_a_time_tries_a_provider_that_is_away_and_not_always_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_OUTBOUND_WHATSAPP_URL", NOBODY)
    made = await asked_for(world, *NUMBERS[:3])
    await world.work()
    before = [len((await world.show(each))["attempts"]) for each in made]

    for _ in made:
        await world.engine.clock.move(timedelta(minutes=16))
        await world.work()

    after = [len((await world.show(each))["attempts"]) for each in made]
    assert [later - earlier for earlier, later in zip(before, after, strict=True)] == [1, 1, 1]


@pytest.mark.parametrize("answer", ["http:500", "131026:500", "131000:503"])
async def test_a_server_that_fails_three_times_in_a_row_is_away(world: World, answer: str) -> None:
    """Whatever code it gives with it: a status of 5xx is the server's fault, not the message's."""
    world.providers.script(PHONE_NUMBER_ID, *[answer] * 3)
    made = await asked_for(world, *NUMBERS[:5])

    await world.work()
    held = await sender(world)
    used = sorted([(await world.show(each))["attemptsUsed"] for each in made])
    await world.engine.clock.move(timedelta(minutes=16))
    await world.work()
    await world.engine.clock.move(timedelta(seconds=10))
    await world.work()

    assert held["outageSince"] is not None
    assert used == [0, 0, 0, 1, 1]
    assert {(await world.show(each))["status"] for each in made} <= {"SENT", "DELIVERED"}


@pytest.mark.slow
async def test_a_message_that_the_provider_stumbles_over_holds_up_nobody_and_ends(world: World) -> None:
    poison = NUMBERS[0]
    world.providers.script(poison, *["http:500"] * 9)
    (odd,) = await asked_for(world, poison)
    for number in NUMBERS[1:5]:
        await world.work()
        (other,) = await asked_for(world, number)
        await world.work()
        assert (await world.show(other))["status"] in ("SENT", "DELIVERED")
        await world.engine.clock.move(timedelta(hours=2))

    await world.work()

    shown = await world.show(odd)
    assert (shown["status"], shown["errorCode"]) == ("FAILED", "HTTP_500")
    assert (await sender(world))["outageSince"] is None


async def test_an_operator_ends_an_outage_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_OUTBOUND_WHATSAPP_URL", NOBODY)
    made = await asked_for(world, *NUMBERS[:2])
    await world.work()
    monkeypatch.setenv("OSTINATO_OUTBOUND_WHATSAPP_URL", f"{world.sandbox.url}/whatsapp")

    await world.call("POST", f"/senders/{(await sender(world))['id']}/release")
    await world.work()

    assert {(await world.show(each))["status"] for each in made} <= {"SENT", "DELIVERED"}


async def test_an_outage_that_nobody_waits_for_is_over(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_OUTBOUND_WHATSAPP_URL", NOBODY)
    await asked_for(world, NUMBERS[0])
    await world.work()
    await world.consent(NUMBERS[0], subjectId=f"s{NUMBERS[0]}", status="REVOKED")

    await world.engine.clock.move(timedelta(minutes=1))
    await world.work()

    assert (await sender(world))["outageSince"] is None


@pytest.mark.usefixtures("impatient")
@pytest.mark.slow
async def test_a_message_whose_answers_are_lost_keeps_its_last_attempt_for_the_day(world: World) -> None:
    """It may have been taken each time, so it is not asked for more often than before."""
    world.providers.script(NUMBERS[0], *["hang"] * 9)
    (made,) = await asked_for(world, NUMBERS[0])

    await pass_time(world, 24)

    shown = await world.show(made)
    assert (shown["status"], shown["attemptsUsed"]) == ("QUEUED", 4)
    assert world.providers.asked == {NUMBERS[0]: 4}


@pytest.mark.usefixtures("impatient")
async def test_a_job_that_runs_early_in_doubt_waits_on(world: World) -> None:
    """F12: whatever wakes the job, the callback has its time."""
    world.providers.script(NUMBERS[0], "lost")
    (made,) = await asked_for(world, NUMBERS[0])
    await world.work()
    before = await world.show(made)
    assert (before["status"], before["waitsFor"]) == ("SENDING", "UNKNOWN_OUTCOME")

    await world.rows("select ostinato.hasten_jobs(array[%s::bigint])", before["jobId"])
    await world.work()

    after = await world.show(made)
    assert (after["status"], len(after["attempts"])) == ("SENDING", 1)
    assert len(world.providers.sent) == 1
