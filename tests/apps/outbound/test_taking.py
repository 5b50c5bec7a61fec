"""Callbacks that wait at the same moment are applied in sets, and each as if it were alone."""

import itertools
import random
from typing import Any

import pytest

from ostinato.apps.outbound.send.callbacks import BATCH
from ostinato.apps.outbound.send.taking import FEW, Taking, _chunks
from tests.apps.outbound.conftest import NOON, PHONE_NUMBER_ID, World, sent_statements

QUEUE = "outbound_callbacks"


async def sent(world: World, count: int) -> list[dict[str, Any]]:
    """Messages that the provider took, and said nothing more of; each to a number of its own."""
    made = []
    for number in range(count):
        to = f"+3363998{7000 + number}"
        world.providers.script(to, statuses=[])
        await world.consent(to, subjectId=to)
        made.append(await world.message(to, subjectId=to, dossierId=f"D-{number}"))
    await world.work()
    await world.rows("select ostinato.pause_queue(%s)", QUEUE)
    return made


async def post(world: World, number: int, *reported: str) -> None:
    """A callback for each status of a message that was sent."""
    one = next(each for each in world.providers.sent if each.to == f"+3363998{7000 + number}")
    for each in reported:
        await world.providers.make(world.cloud.status(PHONE_NUMBER_ID, one, each))


async def apply(world: World) -> None:
    await world.rows("select ostinato.resume_queue(%s)", QUEUE)
    await world.work()


async def statuses(world: World, made: list[dict[str, Any]]) -> list[str]:
    return [(await world.show(each))["status"] for each in made]


async def outcomes(world: World) -> dict[str, int]:
    """How the jobs of callbacks ended."""
    return dict(
        await world.rows(
            "select o.outcome, count(*) from ostinato_data.outcome o join ostinato_data.job j on j.id = o.job_id"
            " where j.kind = 'outbound.take_callback' group by 1"
        )
    )


async def calls_of(world: World, monkeypatch: pytest.MonkeyPatch, count: int) -> list[str]:
    """The calls about messages that it takes to apply so many callbacks."""
    made = await sent(world, count)
    for number in range(count):
        await post(world, number, "delivered")
    with monkeypatch.context() as patched:
        told = sent_statements(patched)
        await apply(world)
    assert set(await statuses(world, made)) == {"DELIVERED"}
    return [text for text in told if "outbound." in text or "savepoint" in text.lower()]


@pytest.mark.parametrize("count", [2, 10])
async def test_what_a_set_of_callbacks_takes_does_not_grow_with_it(
    world: World, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    calls = await calls_of(world, monkeypatch, count)

    assert sum("find_told" in text for text in calls) == 1
    assert sum("note_told" in text for text in calls) == 1
    assert len(calls) <= 6


async def test_each_of_a_set_counts_once_in_whatever_order_it_comes_and_however_often(world: World) -> None:
    made = await sent(world, 6)
    world.providers.wall = NOON.timestamp  # of each two callbacks the same
    told = [(number, each) for number in range(6) for each in ("sent", "delivered", "read", "delivered")]
    random.Random(7).shuffle(told)
    for number, each in told:
        await post(world, number, each)

    await apply(world)

    shown = [await world.show(each) for each in made]
    assert [(each["status"], each["readAt"] is not None) for each in shown] == [("DELIVERED", True)] * 6
    for number in range(6):
        timeline = await world.call("GET", "/timeline", params={"dossierId": f"D-{number}"})
        assert [each["status"] for each in timeline] == ["DELIVERED", "SENT", "QUEUED"]
    events = await world.value(
        "select count(*) from ostinato_data.transition where event = 'deliver' and entity = 'outbound.message'"
    )
    assert events == 6
    assert await world.value("select count(*) from outbound.callback where processed_at is null") == 0
    assert await world.rows("select sum(lines), sum(ignored) from outbound.callback") == [(18, 6)]


async def test_sent_before_delivered_of_one_message_keep_their_order_in_a_set(world: World) -> None:
    """Its answer was lost, so both its statuses are news."""
    (made,) = await sent(world, 1)
    await world.rows("set session_replication_role = replica")
    await world.rows("update outbound.message set status = 'SENDING', sent_at = null, provider_message_id = null")
    await world.rows("update outbound.attempt set status = 'TRYING', ended_at = null")
    await world.rows("set session_replication_role = origin")
    await world.rows("select ostinato.resume_queue(%s)", QUEUE)
    await world.rows("select ostinato.pause_queue(%s)", QUEUE)
    await post(world, 0, "sent", "delivered", "read")

    await apply(world)

    assert await statuses(world, [made]) == ["DELIVERED"]
    log = await world.rows(
        "select event from ostinato_data.transition where entity_id = %s and event <> 'send' order by id", made["id"]
    )
    assert [event for (event,) in log] == ["accept", "accept", "deliver"]


@pytest.mark.parametrize(
    ("code", "left"),
    [pytest.param("22000", {"done": 5}, id="odd"), pytest.param("P0001", {"done": 4, "failed": 1}, id="fault")],
)
async def test_one_bad_one_takes_no_other_of_its_set_with_it(world: World, code: str, left: dict[str, int]) -> None:
    """One that cannot be stored is left out; one that our own fault stops is tried again by its own job."""
    made = await sent(world, 5)
    await world.rows(
        "create function outbound.refuse_one() returns trigger language plpgsql security definer as $$ begin"
        f" if new.dossier_id = 'D-2' then raise exception using errcode = '{code}', message = 'no'; end if;"
        " return new; end $$"
    )
    await world.rows(
        "create trigger refuse_one before update on outbound.message for each row"
        " execute function outbound.refuse_one()"
    )
    for number in range(5):
        await post(world, number, "delivered")
    try:
        await apply(world)
    finally:
        await world.rows("drop function outbound.refuse_one cascade")

    found = await statuses(world, made)
    assert found.pop(2) == "SENT"
    assert found == ["DELIVERED"] * 4
    assert await outcomes(world) == left


async def test_an_error_and_what_nobody_sent_go_beside_a_set(world: World) -> None:
    made = await sent(world, 4)
    for number, reported in enumerate(("delivered", "failed:131026", "delivered", "read")):
        await post(world, number, reported)
    line = {"id": "wamid.nobody", "status": "delivered", "timestamp": "1781086000"}
    await world.providers.make(world.cloud.signed(PHONE_NUMBER_ID, {"statuses": [line]}))

    await apply(world)

    assert await statuses(world, made) == ["DELIVERED", "FAILED", "DELIVERED", "DELIVERED"]
    assert await world.rows("select sum(lines), sum(ignored) from outbound.callback") == [(4, 1)]


async def test_the_statuses_of_other_organisations_go_in_the_same_set(world: World) -> None:
    """Whose a line is, is said by the number that it names: a line about another's message does nothing."""
    await world.set_up("beta", phone="100200301")
    mine = await sent(world, 2)
    one = world.providers.sent[0]
    await world.providers.make(world.cloud.status("100200301", one, "delivered"))
    await post(world, 1, "delivered")

    await apply(world)

    assert sorted(await statuses(world, mine)) == ["DELIVERED", "SENT"]


def test_a_transaction_applies_no_more_lines_than_of_a_large_callback() -> None:
    found = [Taking(None, [None] * FEW, 0) for _ in range(2 * BATCH // FEW + 1)]  # type: ignore[arg-type,list-item]

    assert [sum(len(each.reports) for each in some) for some in _chunks(found)] == [BATCH, BATCH, FEW]
    assert list(itertools.chain(*_chunks([]))) == []
