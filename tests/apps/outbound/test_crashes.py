"""Workers that die around a provider's call: never sent twice, unless the outcome is unknown."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ostinato.apps.outbound.http.hooks import MOST_HEARD_BYTES
from ostinato.lab.torture.crew import Crew
from tests.apps.outbound.conftest import NOON, PHONE_NUMBER_ID, World
from tests.waiting import until_async

TO = "+33639987777"
MAIL = "ana@example.test"
PATH = f"/whatsapp/{PHONE_NUMBER_ID}/messages"


@pytest.fixture
def crew(world: World, tmp_path: Path) -> Iterator[Crew]:
    """Real worker processes, patient enough to be caught in the middle of a call."""
    ours: dict[str, object] = {
        name.removeprefix("OSTINATO_").lower(): value
        for name, value in os.environ.items()
        if name.startswith("OSTINATO_OUTBOUND_")
    }
    patient: dict[str, object] = {"outbound_timeout_seconds": 60, "outbound_unknown_hold_seconds": 2}
    quick: dict[str, object] = {"beat_seconds": 0.25, "expiry_seconds": 1.0, "poll_seconds": 0.2}
    url = world.engine.database.url
    with Crew("ostinato.apps.outbound:APP", url, tmp_path, ours | patient | quick) as made:
        yield made


@asynccontextmanager
async def message_held(world: World) -> AsyncIterator[None]:
    """Somebody holds the row of the message: whoever wants to write it waits."""
    url = world.engine.database.admin_url
    async with await psycopg.AsyncConnection.connect(url) as conn:
        await conn.execute("set idle_in_transaction_session_timeout = 0")  # a worker may take its time to start
        await conn.execute("select from outbound.message for update")
        yield


async def blocked(world: World) -> None:
    """Wait until a worker waits for a row; upkeep may wait for a table meanwhile."""

    async def waits() -> Any:  # noqa: ANN401 - a number
        return await world.value(
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
            " and wait_event in ('transactionid', 'tuple') and datname = current_database()"
        )

    await until_async(waits)


async def ended(world: World, made: dict[str, Any]) -> dict[str, Any]:
    async def done() -> bool:
        return bool((await world.show(made))["status"] in ("SENT", "DELIVERED"))

    await until_async(done)
    return await world.show(made)


async def test_a_crash_before_the_attempt_is_noted_sends_once(world: World, crew: Crew) -> None:
    await world.consent(TO)
    made = await world.message(TO)
    async with message_held(world):
        hand = crew.start()
        await blocked(world)
        hand.kill()

    crew.start()
    shown = await ended(world, made)

    assert world.providers.asked == {TO: 1}
    assert len(shown["attempts"]) == 1


@pytest.mark.parametrize(
    ("answer", "sends"),
    [
        ("hang", 1),  # noted, called, not taken
        ("silent", 1),  # taken, and a callback tells
        ("lost", 2),  # taken, and nobody tells: the one case in which it may go twice
    ],
)
async def test_a_crash_during_the_call_waits_for_a_callback_first(
    world: World, crew: Crew, answer: str, sends: int
) -> None:
    world.providers.script(TO, answer)
    await world.consent(TO)
    made = await world.message(TO)
    hand = crew.start()
    await until_async(lambda: world.providers.asked or not hand.alive)
    hand.kill()

    crew.start()
    shown = await ended(world, made)

    assert len(world.providers.sent) == sends
    unknown = [each for each in shown["attempts"] if each["errorCode"] == "UNKNOWN_OUTCOME"]
    assert len(unknown) == (0 if answer == "silent" else 1)


@pytest.mark.parametrize(
    ("answer", "sends"),
    [
        ("held:ok", 0),  # called, not taken
        ("silent", 1),  # taken, and no answer
    ],
)
async def test_a_crash_during_the_call_leaves_a_mail_to_people(
    world: World, crew: Crew, answer: str, sends: int
) -> None:
    """No callback tells of a mail that was taken: it is not sent again by itself."""
    world.providers.script(MAIL, answer)
    await world.consent(MAIL, channel="EMAIL")
    made = await world.message(MAIL, channel="EMAIL")
    hand = crew.start()
    await until_async(lambda: (world.providers.asked and len(world.providers.sent) == sends) or not hand.alive)
    hand.kill()
    world.providers.gate.set()

    crew.start()

    async def failed() -> bool:
        return bool((await world.show(made))["status"] == "FAILED")

    await until_async(failed)
    shown = await world.show(made)
    assert (shown["errorCode"], len(shown["attempts"])) == ("UNKNOWN_OUTCOME", 1)
    assert (world.providers.asked, len(world.providers.sent)) == ({MAIL: 1}, sends)


async def test_a_crash_between_the_answer_and_its_commit_sends_once(world: World, crew: Crew) -> None:
    """The attempt is noted, the provider has it, the worker has the answer and dies with it."""
    world.sandbox.order(PATH, "ok@1")
    await world.consent(TO)
    made = await world.message(TO)
    hand = crew.start()
    await until_async(lambda: len(world.sandbox.faults.calls) > 0 or not hand.alive)
    async with message_held(world):
        await until_async(lambda: len(world.providers.sent) == 1)
        await blocked(world)
        hand.kill()

    crew.start()
    shown = await ended(world, made)

    assert len(world.providers.sent) == 1
    assert [each["status"] for each in shown["attempts"]] == ["SUCCESS"]


@pytest.mark.proof
async def test_a_worker_that_wakes_up_late_changes_nothing(world: World, crew: Crew) -> None:
    """Paused in the middle of the call until somebody else has the job."""
    world.providers.script(TO, "held:131016", statuses=[])
    await world.consent(TO)
    made = await world.message(TO)
    hand = crew.start()
    await until_async(lambda: world.providers.asked or not hand.alive)
    hand.pause()
    crew.start()
    shown = await ended(world, made)

    hand.resume()
    world.providers.gate.set()  # now it hears its answer, wants to write it, and may not
    await until_async(lambda: hand.said("fenced") or not hand.alive)

    assert hand.alive
    assert (await world.show(made))["status"] == shown["status"]
    assert len(world.providers.sent) == 1
    assert (await world.show(made))["attempts"] == shown["attempts"]


async def test_a_crash_between_the_batches_of_a_callback_loses_nothing_and_applies_nothing_twice(
    world: World, crew: Crew
) -> None:
    """A worker dies with the second batch open: the first stays, and its rows are free meanwhile."""
    await world.consent(TO)
    begin = int(NOON.timestamp()) - 250
    lines = [
        {"from": "33639985000", "id": f"w{n}", "timestamp": str(begin + n), "type": "text", "text": {"body": "Bonjour"}}
        for n in range(250)
    ]
    lines[150] |= {"from": TO[1:], "text": {"body": "STOP TOUT"}}
    value = {"messages": lines, "filled": " " * MOST_HEARD_BYTES}  # too large for the request: jobs apply all
    await world.providers.make(world.cloud.signed(PHONE_NUMBER_ID, value))
    async with await psycopg.AsyncConnection.connect(world.engine.database.admin_url) as conn:
        await conn.execute("set idle_in_transaction_session_timeout = 0")
        await conn.execute("select from outbound.consent for update")
        hand = crew.start()
        await blocked(world)
        free = await world.rows("select id from outbound.inbound for update nowait")
        hand.kill()

    crew.start()
    await until_async(lambda: world.value("select processed_at is not null from outbound.callback"))

    assert len(free) == 100
    assert await world.rows("select lines, ignored from outbound.callback") == [(250, 0)]
    assert await world.value("select count(*) from outbound.inbound") == 250
    told = "select count(*) from ostinato_data.event where type = 'outbound.message_received'"
    assert await world.value(told) == 250
    ((status,),) = await world.rows("select status from outbound.consent")
    assert status == "REVOKED"


@pytest.mark.proof
async def test_workers_that_die_in_the_middle_of_batches_ask_nobody_twice(world: World, tmp_path: Path) -> None:
    names = {
        name.removeprefix("OSTINATO_").lower(): value
        for name, value in os.environ.items()
        if name.startswith("OSTINATO_OUTBOUND_")
    }
    patient: dict[str, object] = {"outbound_timeout_seconds": 60, "outbound_unknown_hold_seconds": 20}
    quick: dict[str, object] = {"beat_seconds": 0.25, "expiry_seconds": 1.0, "poll_seconds": 0.2}
    made = []
    for number in range(60):
        to = f"+3363998{7000 + number}"
        await world.consent(to, subjectId=to)
        made.append(await world.message(to, subjectId=to))

    async def ended() -> bool:
        return bool(
            await world.value("select count(*) = %s from outbound.message where sent_at is not null", len(made))
        )

    with Crew("ostinato.apps.outbound:APP", world.engine.database.url, tmp_path, names | patient | quick) as crew:
        for asked in (5, 25):
            hand = crew.start()
            await until_async(lambda least=asked: len(world.providers.asked) >= least)  # type: ignore[misc]
            hand.kill()
        crew.start()
        await until_async(ended)

    assert list(world.providers.asked.values()) == [1] * len(made)
