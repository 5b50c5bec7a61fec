"""A tenant that signs its own callbacks: however many lines and requests, no other tenant waits for them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.runtime.database import Database
from ostinato._faces.api.parts import CONNECTIONS, Parts
from ostinato.apps.outbound import APP
from ostinato.apps.outbound.consent import inbound
from ostinato.apps.outbound.http import turns
from ostinato.apps.outbound.http.hooks import MOST_HEARD_BYTES
from ostinato.apps.outbound.http.turns import AT_ONCE, MOST_WAITING, MOST_WAITING_BYTES, Turns
from ostinato.apps.outbound.providers.lines import MOST_LINES, ComplaintLine, InboundLine, Line, StatusLine
from ostinato.apps.outbound.providers.standin import Inbound
from ostinato.apps.outbound.providers.whatsapp import signature
from ostinato.apps.outbound.send import callbacks
from ostinato.apps.outbound.send.callbacks import BATCH
from ostinato.errors import TooManyRequests
from tests.api.live import serving
from tests.apps.outbound.conftest import NOON, PHONE_NUMBER_ID, World, sent_statements
from tests.proxy import Fault, between
from tests.waiting import until_async

HOOK = "/api/v1/webhooks/whatsapp/status"
TO = "+33639981234"
SECRET = "secret-of-a-tenant"
NUMBERS = {"beta": "100200301", "gamma": "100200302"}


async def account(world: World, tenant: str = "beta") -> str:
    """A tenant sets up a number with an account of its own; the address that its provider posts to."""
    body = {
        "channel": "WHATSAPP",
        "providerKey": NUMBERS[tenant],
        "credentials": {"token": "token", "appSecret": SECRET},
    }
    made = await world.call("PUT", "/senders", json=body, tenant=tenant)
    return HOOK + str(made["callbackQuery"])


def words(count: int, text: str = "Bonjour", last: str | None = None) -> list[dict[str, Any]]:
    """What one person wrote, a second after the other."""
    begin = int(NOON.timestamp()) - count
    made: list[dict[str, Any]] = [
        {"from": TO[1:], "id": f"w{n}", "timestamp": str(begin + n), "type": "text", "text": {"body": text}}
        for n in range(count)
    ]
    made[-1]["text"]["body"] = last or text
    return made


async def post(
    world: World,
    path: str,
    messages: object,
    *,
    size: int = 0,
    tenant: str = "beta",
    http: httpx.AsyncClient | None = None,
) -> httpx.Response:
    """Post a callback that the tenant signs itself, filled up with blanks to a size."""
    body = world.cloud.signed(NUMBERS[tenant], {"messages": messages}).body
    body += b" " * (size - len(body))
    headers = {"x-hub-signature-256": signature(SECRET, body), "content-type": "application/json"}
    return await (http or world.http).post(path, content=body, headers=headers)


async def heard(world: World) -> int:
    return int(await world.value("select count(*) from outbound.inbound"))


async def results(world: World) -> list[Any]:
    """What came of the jobs of callbacks, in their order."""
    rows = await world.rows(
        "select o.result from ostinato_data.outcome o join ostinato_data.job j on j.id = o.job_id"
        " where j.kind in ('outbound.take_callback', 'outbound.take_lines') order by j.id"
    )
    return [row[0] for row in rows]


@contextmanager
def counting(world: World, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Another API, and the statements of the application that it sends."""
    real = world.engine.database
    said: list[str] = []

    def note(statement: str) -> Fault | None:
        if "outbound." in statement or "SAVEPOINT" in statement.upper():
            said.append(statement)
        return None

    assert real.api_url is not None
    with between(real.api_url, folder) as proxy:
        proxy.decide = note
        through = Database(
            real.url, real.admin_url, real.listen_url, server=real.server, api_url=proxy.url(real.api_url)
        )
        with serving(Parts(through, Settings(), apps=(APP,))) as url:
            yield url, said


async def test_a_request_does_no_more_however_many_words_it_has(world: World, tmp_path: Path) -> None:
    path = await account(world)
    said: dict[int, int] = {}
    asked: dict[int, int] = {}

    with counting(world, tmp_path) as (url, statements):
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
            for count in (BATCH, 2 * BATCH, 8 * BATCH, MOST_LINES):
                await world.rows("delete from outbound.inbound")
                statements.clear()
                answer = await post(world, path, words(count), http=http)
                assert answer.status_code == 200
                said[count] = len(statements)
                asked[count] = len([each for each in statements if "tenants_told_of" in each])
                assert await heard(world) == (0 if count == MOST_LINES else BATCH)

    # The first ends its callback too, because all of it was applied.
    assert said[2 * BATCH] == said[8 * BATCH] == said[BATCH] - 1
    assert said[MOST_LINES] < 5, "stored, and nothing else"
    assert asked == {BATCH: 1, 2 * BATCH: 1, 8 * BATCH: 1, MOST_LINES: 0}


async def test_words_beyond_a_batch_are_applied_by_jobs_of_a_batch_each(world: World) -> None:
    path = await account(world)
    await world.consent(TO, tenant="beta")

    await post(world, path, words(2 * BATCH + 50, last="STOP TOUT"))
    before = await heard(world)
    await world.work()

    assert (before, await heard(world)) == (BATCH, 2 * BATCH + 50)
    (consent,) = await world.call("GET", "/consents", params={"subjectId": "s-1"}, tenant="beta")
    assert consent["status"] == "REVOKED", "the last word counts"
    # The first batch was applied by the request.
    assert await results(world) == [
        {"applied": 0, "left": BATCH + 50},
        {"applied": BATCH, "left": 50},
        {"applied": BATCH + 50, "ignored": BATCH},
    ]
    assert await world.rows("select lines, ignored, body from outbound.callback") == [(BATCH + 50, BATCH, b"")]


def spoken_in_a_large_one(word: dict[str, Any]) -> dict[str, Any]:
    now = word["timestamp"]
    filler = [{"id": f"s{n}", "status": "sent", "timestamp": now, "recipient_id": "x" * 200} for n in range(2 * BATCH)]
    return {"statuses": filler, "messages": [word], "padding": "x" * MOST_HEARD_BYTES}


def spoken_after_many(word: dict[str, Any]) -> dict[str, Any]:
    return {
        "statuses": [{"id": "s", "status": "sent", "timestamp": word["timestamp"]}],
        "messages": [*words(150), word],
    }


@pytest.mark.parametrize("callback", [spoken_in_a_large_one, spoken_after_many])
async def test_a_stop_that_is_left_to_its_job_waits_behind_no_status(
    world: World, callback: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """Nobody works through statuses here: as many may wait before it as like."""
    await world.consent(TO)
    await world.rows("select ostinato.pause_queue('outbound_callbacks')")
    now = str(int(NOON.timestamp()))
    status = {"id": "before", "status": "sent", "timestamp": now}
    stop = {"from": TO[1:], "id": "stop", "timestamp": now, "type": "text", "text": {"body": "STOP TOUT"}}

    await world.providers.make(world.cloud.signed(PHONE_NUMBER_ID, {"statuses": [status]}))
    await world.providers.make(world.cloud.signed(PHONE_NUMBER_ID, callback(stop)))
    (before,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})
    await world.work()

    (after,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})
    assert (before["status"], after["status"]) == ("GRANTED", "REVOKED")
    assert await world.value("select count(*) from ostinato_data.ready where queue = 'outbound_callbacks'") > 0
    await world.rows("select ostinato.resume_queue('outbound_callbacks')")
    await world.work()
    assert await world.value("select count(*) from outbound.callback where processed_at is null") == 0


async def test_a_stop_that_is_left_to_its_job_passes_the_statuses_that_are_worked_through(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One queue takes turns with the other: no more than a turn of statuses is applied before a word."""
    many, left = 600, []
    await world.consent(TO)
    status = json.dumps({"statuses": [{"id": "s", "status": "sent", "timestamp": str(int(NOON.timestamp()))}]})
    await world.rows(
        "select outbound.add_callback('whatsapp', '', null, %s::text::bytea, null) from generate_series(1, %s)",
        status,
        many,
    )
    await world.providers.make(world.cloud.signed(PHONE_NUMBER_ID, spoken_in_a_large_one(words(1, "STOP TOUT")[0])))
    real = inbound.came_in

    async def seen(*given: Any) -> int:  # noqa: ANN401 - as the real one
        left.append(await world.value("select count(*) from outbound.callback where processed_at is null"))
        return await real(*given)

    monkeypatch.setattr(inbound, "came_in", seen)
    await world.work()

    (consent,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})
    assert consent["status"] == "REVOKED"
    assert left
    assert left[0] > many / 2
    assert await world.value("select count(*) from outbound.callback where processed_at is null") == 0


async def test_the_statuses_of_a_message_keep_their_order_over_batches(world: World) -> None:
    await world.consent(TO)
    world.providers.script(TO, statuses=[])
    made = await world.message(TO)
    await world.work()
    one = world.providers.sent[-1]
    told = [json.loads(world.cloud.status(PHONE_NUMBER_ID, one, each).body) for each in ("sent", "delivered", "read")]
    mine = [each["entry"][0]["changes"][0]["value"]["statuses"][0] for each in told]
    others = [{"id": f"!{n}", "status": "sent", "timestamp": mine[0]["timestamp"]} for n in range(BATCH - 1)]

    await world.providers.make(world.cloud.signed(PHONE_NUMBER_ID, {"statuses": [*mine, *others]}))
    await world.work()

    assert await results(world) == [{"applied": 1, "left": 2}, {"applied": 3, "ignored": BATCH - 1}]
    shown = await world.show(made)
    assert (shown["status"], shown["readAt"] is not None) == ("DELIVERED", True)
    timeline = await world.call("GET", "/timeline", params={"dossierId": "D-1"})
    assert [each["status"] for each in timeline] == ["DELIVERED", "SENT", "QUEUED"]


async def test_a_large_callback_is_left_to_its_jobs_and_they_to_the_turns_of_its_tenant(world: World) -> None:
    path = await account(world)

    await post(world, path, words(BATCH + 1), size=MOST_HEARD_BYTES + 1)
    before = await heard(world)
    await world.work()

    assert (before, await heard(world)) == (0, BATCH + 1)
    jobs = await world.rows(
        "select kind, tenant_id from ostinato_data.job where kind like 'outbound.take%%' order by id"
    )
    assert jobs == [("outbound.take_callback", "beta"), ("outbound.take_lines", "beta")]


@pytest.mark.parametrize(
    ("items", "count"),
    [
        ({"messages": words(MOST_LINES + 1)}, MOST_LINES + 1),
        ({"messages": [1] * 1_000_000}, 1_000_000),
        ({"statuses": [{}] * MOST_LINES, "messages": [{}]}, MOST_LINES + 1),
    ],
)
async def test_a_callback_with_too_many_lines_is_refused_as_a_whole(
    world: World, items: dict[str, Any], count: int
) -> None:
    path = await account(world)
    body = world.cloud.signed(NUMBERS["beta"], items).body
    headers = {"x-hub-signature-256": signature(SECRET, body)}

    answer = await world.http.post(path, content=body, headers=headers)
    await world.work()

    assert answer.status_code == 200
    (told,) = await results(world)
    assert told["error"] == f"a callback of whatsapp has at least {count:,} lines, more than the limit of 20,000"
    assert await world.rows("select lines, ignored, body from outbound.callback") == [(0, count, b"")]
    assert await heard(world) == 0
    assert await world.value("select count(*) from outbound.callback_line") == 0
    assert await world.value("select count(*) from ostinato_data.dead_letter") == 0


async def test_entries_and_changes_count_as_lines_do(world: World) -> None:
    path = await account(world)
    given: list[list[dict[str, Any]]] = [[{}] * (MOST_LINES + 1), [{"changes": [{}] * 201}] * 100]
    for entries in given:
        body = json.dumps({"entry": entries}).encode()
        await world.http.post(path, content=body, headers={"x-hub-signature-256": signature(SECRET, body)})
    await world.work()

    assert ["error" in told for told in await results(world)] == [True, True]


@asynccontextmanager
async def held(world: World, tenant: str) -> AsyncIterator[None]:
    """Somebody holds the consents of a tenant: whoever wants to end one waits."""
    async with await psycopg.AsyncConnection.connect(world.engine.database.admin_url) as conn:
        await conn.execute("set idle_in_transaction_session_timeout = 0")
        await conn.execute("select from outbound.consent where tenant_id = %s for update", [tenant])
        yield


async def waiting_for_rows(world: World) -> int:
    return int(
        await world.value(
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
            " and wait_event in ('transactionid', 'tuple') and datname = current_database()"
        )
    )


async def test_others_are_answered_while_a_tenant_has_all_its_turns_taken(world: World) -> None:
    """One posts more callbacks than there are connections, and each of them waits for a row."""
    path, other = await account(world), await account(world, "gamma")
    for tenant in ("acme", "beta", "gamma"):
        await world.consent(TO, tenant=tenant)

    async def has_its_turns() -> bool:
        return await waiting_for_rows(world) >= AT_ONCE

    async with held(world, "beta"):
        asked = [asyncio.create_task(post(world, path, words(1, "STOP TOUT"))) for _ in range(CONNECTIONS + 10)]
        await until_async(has_its_turns)
        mine = await post(world, other, words(1, "STOP TOUT"), tenant="gamma")
        await world.providers.make(world.providers.inbound(Inbound(from_=TO, text="STOP TOUT")))
        blocked = await waiting_for_rows(world)
        ended = [
            (await world.call("GET", "/consents", params={"subjectId": "s-1"}, tenant=tenant))[0]["status"]
            for tenant in ("acme", "beta", "gamma")
        ]
    answers = [await each for each in asked]
    await world.work()

    assert (mine.status_code, world.providers.told[-1][1]) == (200, 200)
    assert ended == ["REVOKED", "GRANTED", "REVOKED"]
    assert blocked <= AT_ONCE
    assert [each.status_code for each in answers] == [200] * (CONNECTIONS + 10), "it was only slower"
    assert await world.value("select count(*) from outbound.inbound where tenant_id = 'beta'") == 1
    assert await world.value("select count(*) from outbound.consent where status = 'REVOKED'") == 3


async def test_who_posts_more_than_may_wait_is_told_when_to_post_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "MOST_WAITING", 1)
    path = await account(world)
    await world.consent(TO, tenant="beta")

    async with held(world, "beta"):
        asked = [asyncio.create_task(post(world, path, words(1, "STOP TOUT"))) for _ in range(3 * AT_ONCE)]
        await until_async(lambda: any(each.done() for each in asked))
    answers = [await each for each in asked]

    refused = [each for each in answers if each.status_code == 429]
    taken = [each for each in answers if each.status_code == 200]
    assert refused
    assert (refused[0].headers["retry-after"], refused[0].json()["code"]) == ("5", "too_many_requests")
    assert len(taken) == len(answers) - len(refused) > AT_ONCE
    assert await world.value("select count(*) from outbound.callback") == len(taken), (
        "nothing is stored of a refused one"
    )


async def test_who_signs_nothing_takes_no_more_turns_than_one_tenant(world: World) -> None:
    """What is refused is counted, all in one row, which somebody holds here."""
    other = await account(world, "gamma")
    await world.consent(TO, tenant="gamma")
    assert (await world.http.post(HOOK, content=b"{}")).status_code == 401

    async def has_its_turns() -> bool:
        return await waiting_for_rows(world) >= AT_ONCE

    async with await psycopg.AsyncConnection.connect(world.engine.database.admin_url) as conn:
        await conn.execute("set idle_in_transaction_session_timeout = 0")
        await conn.execute("update outbound.refused_callback set times = times")
        asked = [asyncio.create_task(world.http.post(HOOK, content=b"{}")) for _ in range(CONNECTIONS + 10)]
        await until_async(has_its_turns)
        mine = await post(world, other, words(1, "STOP TOUT"), tenant="gamma")
        blocked = await waiting_for_rows(world)
    await asyncio.gather(*asked)

    assert mine.status_code == 200
    assert await world.value("select count(*) from outbound.inbound") == 1, "applied with the answer"
    assert blocked <= AT_ONCE


@pytest.mark.parametrize(
    ("waiting", "size", "more"), [(MOST_WAITING, 1, 1), (1, MOST_WAITING_BYTES - 1, 2)], ids=["number", "bytes"]
)
async def test_callbacks_that_wait_are_bounded_by_number_and_by_bytes(waiting: int, size: int, more: int) -> None:
    made, release, begun = Turns(), asyncio.Event(), asyncio.Semaphore(0)

    async def take(tenant: str | None, size: int) -> None:
        async with made.turn(tenant, size):
            begun.release()
            await release.wait()

    first = [asyncio.create_task(take("beta", MOST_WAITING_BYTES)) for _ in range(AT_ONCE)]
    for _ in first:
        await begun.acquire()
    waits = [asyncio.create_task(take("beta", size)) for _ in range(waiting)]
    await until_async(lambda: made._lines["beta"].waiting == waiting)

    too_many = asyncio.create_task(take("beta", more))
    await until_async(lambda: too_many.done() or made._lines["beta"].waiting > waiting)
    assert too_many.done(), "it waits, too"
    with pytest.raises(TooManyRequests, match=f"{waiting} callbacks of this account wait already"):
        await too_many
    others = [asyncio.create_task(take("gamma", 2)), asyncio.create_task(take(None, 2))]
    for _ in others:
        await begun.acquire()
    waits[0].cancel()
    await asyncio.gather(waits[0], return_exceptions=True)
    again = asyncio.create_task(take("beta", more))
    release.set()
    await asyncio.gather(*first, *others, *waits[1:], again)

    assert made._lines == {}, "nothing is kept of an account that has none"


def test_the_turns_of_a_tenant_leave_connections_for_others() -> None:
    assert 2 * turns.AT_ONCE + turns.INSTALLATION_AT_ONCE <= CONNECTIONS


def test_lines_are_ordered_the_same_way_however_often_they_are_read() -> None:
    """Words by their time, then statuses by their message, each message's as they came."""

    def status(number: int, reported: Any) -> StatusLine:  # noqa: ANN401 - a literal
        return StatusLine("whatsapp", PHONE_NUMBER_ID, "x", reported, NOON, UUID(int=number))

    def word(after: int) -> InboundLine:
        return InboundLine("whatsapp", (PHONE_NUMBER_ID,), f"w{after}", TO, NOON + timedelta(seconds=after), "text", "")

    complaint = ComplaintLine("whatsapp", UUID(int=1), NOON)
    given: list[Line] = [
        complaint, status(2, "read"), word(2), status(1, "failed"), status(2, "sent"), word(1), status(1, "delivered")
    ]  # fmt: skip

    assert callbacks.ordered(given) == [
        word(1), word(2), status(1, "failed"), status(1, "delivered"), status(2, "read"), status(2, "sent"), complaint
    ]  # fmt: skip


async def test_a_callback_is_stored_in_one_round_trip(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    line = {"id": "wamid.1", "status": "delivered", "timestamp": "1781510400"}
    posted = world.cloud.signed(PHONE_NUMBER_ID, {"statuses": [line]})
    sent = sent_statements(monkeypatch)

    answer = await world.http.post(HOOK, content=posted.body, headers=dict(posted.headers))

    assert answer.status_code == 200
    ours = [text for text in sent if "outbound" in text or text == "begin"]
    assert len(ours) == 1
    assert "add_callback" in ours[0]
    (correlation,) = await world.rows(
        "select correlation_id from ostinato_data.job where kind = 'outbound.take_callback'"
    )
    assert correlation == (answer.headers["x-correlation-id"],)
