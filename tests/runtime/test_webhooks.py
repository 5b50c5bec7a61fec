"""Webhooks over real HTTP: signed, retried by the clock, in order, and stopped in time."""

import asyncio
import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import psycopg
import pytest
from structlog.typing import EventDict

from ostinato import App, Client, Context, Retry
from ostinato._core.base.errors import InvalidInput, SignatureMismatch, UnsafeAddress, WebhookReplayed
from ostinato._core.base.metrics import WEBHOOK_ATTEMPTS, WEBHOOK_SECONDS
from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.base.settings import Settings
from ostinato._core.base.vault import is_sealed
from ostinato._core.base.webhooks import signed_headers, verify
from ostinato._core.db import migrate
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.engine import webhook_deliveries, webhooks
from ostinato._core.engine.schema import ENGINE
from ostinato._core.engine.webhooks import Created
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.services import webhooks as runtime_webhooks
from ostinato._core.runtime.services.safehttp import Answer
from ostinato._core.runtime.services.webhooks import judge
from ostinato._core.runtime.testing import KEY
from ostinato.testing import Engine, Report
from ostinato.web import Together
from tests.conftest import note_called_functions
from tests.runtime.conftest import EMPTY
from tests.runtime.lab import Lab, counted
from tests.runtime.receiver import Receiver, Reply, bomb, dribble, flood, nonsense, reset, silence

ALLOWED = "127.0.0.1:*"
SETTINGS = Settings(webhooks_allow_private=ALLOWED)
BUSY = Reply(500, b"sorry")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as started:
        yield started


@dataclass
class Site:
    """An engine whose clock can be moved, and a receiver."""

    engine: Engine
    receiver: Receiver

    async def endpoint(self, name: str = "orders", **options: Any) -> Created:  # noqa: ANN401
        async with self.engine.client.transaction() as conn:
            return await webhooks.create_endpoint(
                conn, name, options.pop("url", self.receiver.url), allowed=parse_allowed(ALLOWED), **options
            )

    async def emit(self, *keys: str | None, type_: str = "order.paid") -> list[str]:
        return [await emit(self.engine.admin, key, type_) for key in keys or (None,)]

    async def run(self, settings: Settings = SETTINGS, *, move_clock: bool = True) -> Report:
        app = runtime_webhooks.app(settings)
        return await self.engine.run_until_idle(app, move_clock=move_clock)

    async def deliveries(self) -> list[webhook_deliveries.Delivery]:
        async with self.engine.client.connection() as conn:
            return (await webhook_deliveries.list_deliveries(conn, "orders"))[::-1]

    async def states(self) -> list[str]:
        return [delivery.state for delivery in await self.deliveries()]

    async def attempts(self) -> list[webhook_deliveries.Attempt]:
        async with self.engine.client.connection() as conn:
            return (await webhook_deliveries.list_attempts(conn, "orders"))[::-1]

    async def outcomes(self) -> list[str]:
        return [attempt.outcome for attempt in await self.attempts()]

    async def show(self) -> webhooks.Endpoint:
        async with self.engine.client.connection() as conn:
            return await webhooks.show_endpoint(conn, "orders")


@pytest.fixture(scope="module")
def clocked(shared_server: Server) -> Urls:
    """The addresses of a migrated database whose clock can be moved."""
    found = shared_server.create_database("webhooks")
    asyncio.run(migrate.migrate(found.admin, [ENGINE]))
    with psycopg.connect(found.admin, autocommit=True) as conn:
        conn.execute("select ostinato.use_test_clock()")
    return found


@pytest.fixture
async def engine(shared_server: Server, clocked: Urls) -> AsyncIterator[Engine]:
    """An empty engine at a known time; a new database for each test would take its time."""
    database = Database(clocked.worker, clocked.admin, clocked.worker, server=shared_server)
    async with (
        await psycopg.AsyncConnection.connect(clocked.admin, autocommit=True) as admin,
        Client(database, Settings(secret_key=KEY)) as client,
    ):
        await admin.execute(EMPTY)
        fresh = Engine(database, client, admin)
        await fresh.clock.freeze(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
        yield fresh
        await note_called_functions(admin)


@pytest.fixture
async def site(engine: Engine, receiver: Receiver) -> Site:
    return Site(engine, receiver)


async def emit(conn: psycopg.AsyncConnection[Any], key: str | None = None, type_: str = "order.paid") -> str:
    cursor = await conn.execute(
        "select ostinato.emit_event(type => %s, payload => '{\"n\": 1.10}', ordering_key => %s,"
        " tenant_id => 'default', correlation_id => 'request-1', occurred_at => ostinato.now(),"
        " producer => 'shop')",
        [type_, key],
    )
    (row,) = await cursor.fetchall()
    return str(row[0])


# Through a real worker.


async def test_what_begins_or_was_taken_at_the_same_moment_goes_together(
    lab: Lab, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ordered endpoint is locked until the commit: ten commits one after the other would be the rate of all."""
    came = Counter[type]()
    all_came = defaultdict[type, asyncio.Event](asyncio.Event)
    began: list[int] = []
    add, start = Together.add, webhook_deliveries.start

    async def together(self: Together[Any, Any], key: Any, item: Any, work: Any) -> Any:  # noqa: ANN401 - as add
        came[type(item)] += 1
        if came[type(item)] == 8:
            all_came[type(item)].set()
        await all_came[type(item)].wait()
        return await add(self, key, item, work)

    async def started(conn: Any, wanted: Sequence[tuple[int, int]]) -> Any:  # noqa: ANN401 - as start
        began.append(len(wanted))
        return await start(conn, wanted)

    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    monkeypatch.setattr(Together, "add", together)
    monkeypatch.setattr(webhook_deliveries, "start", started)
    async with lab.client.transaction() as conn:
        await webhooks.create_endpoint(conn, "orders", receiver.url, allowed=parse_allowed(ALLOWED), ordered=True)
    for n in range(8):
        await emit(lab.engine.admin, f"k{n}")
    async with lab.worker(webhooks_allow_private=ALLOWED):
        await lab.until("select count(*) = 8 from ostinato_data.webhook_attempt")

    assert began == [1, 7]
    assert await lab.value("select count(distinct xmin::text) from ostinato_data.webhook_attempt") == 2
    assert await lab.value("select count(*) from ostinato_data.webhook_delivery where state <> 'delivered'") == 0
    assert len(receiver.requests) == 8


async def test_a_worker_delivers_an_event_to_who_wants_it(lab: Lab, receiver: Receiver) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    async with lab.client.transaction() as conn:
        made = await webhooks.create_endpoint(
            conn, "orders", receiver.url, allowed=parse_allowed(ALLOWED), event_types=["order.*"]
        )
    async with lab.worker(webhooks_allow_private=ALLOWED) as worker:
        event_id = await emit(lab.engine.admin)
        await emit(lab.engine.admin, type_="user.new")
        await lab.until("select exists (select from ostinato_data.webhook_attempt)")

    (request,) = receiver.requests
    now = await lab.value("select extract(epoch from ostinato.now())::float")
    verified = verify(request.headers, request.body, [made.secret], now=now)
    body = json.loads(request.body)
    assert verified.id == event_id == body["id"]
    assert (body["type"], body["correlationid"], body["data"]) == ("order.paid", "request-1", {"n": 1.1})
    assert request.headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert counted(worker, WEBHOOK_ATTEMPTS, "delivered") == 1
    assert counted(worker, WEBHOOK_SECONDS) == 1


async def test_events_of_a_key_follow_each_other_without_waiting_for_a_poll(lab: Lab, receiver: Receiver) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    async with lab.client.transaction() as conn:
        await webhooks.create_endpoint(conn, "orders", receiver.url, allowed=parse_allowed(ALLOWED))
        sent = [await emit(conn, "k") for _ in range(20)]
    # A poll that never comes: whatever is delivered was woken by what came before it.
    async with lab.worker(webhooks_allow_private=ALLOWED, poll_seconds=3600.0):
        await lab.until("select count(*) = 20 from ostinato_data.webhook_delivery where state = 'delivered'")

    assert receiver.ids == sent


async def test_the_limits_of_the_queue_hold_for_each_endpoint(lab: Lab, receiver: Receiver) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    running: list[int] = []
    now = 0

    def count(handler: Any) -> None:  # noqa: ANN401
        nonlocal now
        now += 1
        running.append(now)
        handler.send_response(200)
        handler.send_header("content-length", "0")
        now -= 1
        handler.end_headers()

    receiver.default = Reply(fault=count)
    async with lab.client.transaction() as conn:
        await lab.engine.admin.execute("select ostinato.configure_queue('webhooks', key_concurrency => 1)")
        await webhooks.create_endpoint(conn, "orders", receiver.url, allowed=parse_allowed(ALLOWED), ordered=False)
        for _ in range(10):
            await emit(conn)
    async with lab.worker(webhooks_allow_private=ALLOWED):
        await lab.until("select count(*) = 10 from ostinato_data.webhook_delivery where state = 'delivered'")

    assert running == [1] * 10


# Retries, by the clock.


async def test_an_attempt_after_a_failure_sends_the_same_bytes_under_the_same_id(site: Site) -> None:
    made = await site.endpoint()
    site.receiver.script.append(BUSY)
    (event_id,) = await site.emit()

    await site.run()

    first, second = site.receiver.requests
    assert site.receiver.ids == [event_id, event_id]
    assert first.body == second.body
    assert first.headers["webhook-timestamp"] < second.headers["webhook-timestamp"]
    for request in (first, second):
        at = int(request.headers["webhook-timestamp"])
        assert verify(request.headers, request.body, [made.secret], now=at).id == event_id
    assert await site.outcomes() == ["failed", "delivered"]
    assert await site.states() == ["delivered"]


async def test_the_default_policy_takes_three_days_and_ends_in_a_dead_letter(site: Site) -> None:
    await site.endpoint()
    site.receiver.default = BUSY
    await site.emit()

    await site.run()

    attempts = await site.attempts()
    passed = [(after.at - before.at).total_seconds() for before, after in itertools.pairwise(attempts)]
    policy = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]
    assert len(attempts) == 10
    for seconds, planned in zip(passed, policy, strict=True):
        assert 0.9 * planned <= seconds <= 1.1 * planned + 60  # the machine may be busy
    assert await site.states() == ["dead"]
    letters = await site.engine.admin.execute(
        "select d.reason, d.kind, d.error ->> 'message' from ostinato_data.dead_letter d"
    )
    assert await letters.fetchall() == [
        ("attempts_used_up", "webhooks.deliver", "webhook endpoint orders of default: answered 500")
    ]


async def test_a_policy_is_data_of_the_endpoint(site: Site) -> None:
    await site.endpoint(retry=Retry(delays=(60, 60), jitter=0))
    site.receiver.default = BUSY
    await site.emit()

    await site.run()

    attempts = await site.attempts()
    assert [attempt.at - attempts[0].at for attempt in attempts[1:]] == [
        pytest.approx(timedelta(seconds=n), abs=timedelta(seconds=1)) for n in (60, 120)
    ]
    assert attempts[0].next_at == attempts[0].at + timedelta(seconds=60)


@pytest.mark.parametrize("retry", ['{"max_attempts": 3, "delays": "often"}', '{"max_attempts": 3, "x": 1}'])
async def test_a_policy_that_cannot_be_read_stops_nothing(site: Site, retry: str) -> None:
    await site.endpoint()
    await site.engine.admin.execute("update ostinato_data.webhook_endpoint set retry = %s", [retry])
    site.receiver.default = BUSY
    await site.emit()

    await site.run()

    assert await site.outcomes() == ["failed"] * 3
    assert await site.states() == ["dead"]


async def test_dead_ones_are_sent_again_one_as_a_canary_then_the_rest(site: Site) -> None:
    await site.endpoint(retry=Retry(max_attempts=1))
    site.receiver.default = BUSY
    ids = await site.emit(None, None, None)
    await site.run()
    assert await site.states() == ["dead"] * 3
    site.receiver.default = Reply()
    site.receiver.requests.clear()

    async with site.engine.client.connection() as conn:
        found = await webhook_deliveries.find(conn, "orders")
        assert await webhook_deliveries.redeliver(conn, "orders", found[:1]) == 1
    await site.run()
    assert await site.states() == ["delivered", "dead", "dead"]
    async with site.engine.client.connection() as conn:
        rest = await webhook_deliveries.find(conn, "orders", since=datetime(2026, 1, 1, tzinfo=UTC))
        assert await webhook_deliveries.redeliver(conn, "orders", rest) == 2
    await site.run()

    assert await site.states() == ["delivered"] * 3
    assert site.receiver.ids == ids
    left = await site.engine.admin.execute("select from ostinato_data.dead_letter")
    assert await left.fetchall() == []


async def test_jobs_redrive_works_as_well(site: Site) -> None:
    await site.endpoint(retry=Retry(max_attempts=1))
    site.receiver.script.append(BUSY)
    await site.emit()
    await site.run()

    await site.engine.admin.execute("select ostinato.redrive_jobs(queue => 'webhooks')")
    await site.run()

    assert await site.states() == ["delivered"]


@pytest.mark.parametrize(
    ("status", "asked", "waited"),
    [
        (429, "7200", 7200),
        (503, format_datetime(datetime(2026, 3, 2, 11, 0, tzinfo=UTC), usegmt=True), 7200),
        (503, "999999999999", 86_400),
        (429, "1", 5),
        (429, "soon", 5),
        (500, "7200", 5),
    ],
)
async def test_a_receiver_may_ask_for_time_within_bounds(site: Site, status: int, asked: str, waited: float) -> None:
    await site.endpoint(retry=Retry(delays=(5, 5), jitter=0))
    site.receiver.script.append(Reply(status, b"", {"retry-after": asked}))
    await site.emit()

    await site.run()

    first, second = await site.attempts()
    assert first.next_at is not None
    assert (first.next_at - first.at).total_seconds() == pytest.approx(waited, abs=1)
    assert (second.at - first.at).total_seconds() == pytest.approx(waited, abs=1)


async def test_a_worker_that_lost_its_job_while_it_sent_writes_nothing_and_the_next_sends_again(site: Site) -> None:
    await site.endpoint()
    (event_id,) = await site.emit()

    def taken_over(handler: Any) -> None:  # noqa: ANN401
        with psycopg.connect(site.engine.database.admin_url, autocommit=True) as conn:
            conn.execute("delete from ostinato_data.worker")
            conn.execute("update ostinato_data.tick set grace_until = '-infinity'")
            assert conn.execute("select ostinato.rescue_jobs()").fetchone() == (1,)
        handler.send_response(200)
        handler.send_header("content-length", "0")
        handler.end_headers()

    site.receiver.script.append(Reply(fault=taken_over))
    await site.run()

    assert site.receiver.ids == [event_id, event_id]
    assert await site.outcomes() == ["delivered"]
    assert await site.states() == ["delivered"]


# Answers.


@pytest.mark.parametrize(
    ("reply", "outcome", "error"),
    [
        (Reply(204, b""), "delivered", None),
        (Reply(299), "delivered", None),
        (Reply(400), "failed", "answered 400"),
        (Reply(404), "failed", "answered 404"),
        (Reply(302, b"", {"location": "/x"}), "failed", "answered 302: redirects are not followed"),
        (Reply(fault=flood), "delivered", None),
        (bomb(50), "delivered", None),
        (Reply(fault=reset), "reset", "the connection broke: ReadError"),
        (Reply(fault=nonsense), "protocol", "the answer was no HTTP, or ended early"),
        (Reply(fault=silence), "timeout", "no answer within 0.3 s"),
        (Reply(fault=dribble), "timeout", "no answer within 0.3 s"),
    ],
)
async def test_what_an_answer_means(site: Site, reply: Reply, outcome: str, error: str | None) -> None:
    slow = outcome == "timeout"
    await site.endpoint(retry=Retry(max_attempts=1), timeout_seconds=0.3 if slow else 20)
    site.receiver.script.append(reply)
    await site.emit()

    await site.run()

    (attempt,) = await site.attempts()
    assert (attempt.outcome, attempt.error) == (outcome, error)
    assert len(attempt.answer or "") <= 500


async def test_a_redirect_to_loopback_reaches_nobody(site: Site) -> None:
    with Receiver() as canary:
        await site.endpoint(retry=Retry(max_attempts=1))
        site.receiver.script.append(Reply(307, b"", {"location": canary.url}))
        await site.emit()

        await site.run()

        assert await site.states() == ["dead"]
        assert canary.visit() == 0


async def test_a_receiver_that_is_gone_is_not_asked_again(site: Site) -> None:
    await site.endpoint()
    site.receiver.script.append(Reply(410))
    await site.emit("a", "a", "b")

    await site.run()

    shown = await site.show()
    assert (shown.state, shown.reason) == ("disabled", "the receiver answered 410 Gone")
    assert len(site.receiver.requests) == 1
    assert sorted(await site.states()) == ["dead", "held", "held"]


async def test_an_endpoint_that_fails_for_days_is_disabled_and_gets_it_all_when_it_resumes(site: Site) -> None:
    await site.endpoint(disable_after_seconds=86_400.0)
    site.receiver.default = BUSY
    ids = await site.emit("a", "b")
    await site.run()
    shown = await site.show()
    assert shown.state == "disabled"
    assert shown.reason == "nothing was delivered since 2026-03-02 09:00:00 UTC"
    assert await site.states() == ["held", "held"]

    site.receiver.default = Reply()
    site.receiver.requests.clear()
    async with site.engine.client.connection() as conn:
        assert await webhooks.resume(conn, "orders") == 2
    await site.run()

    assert site.receiver.ids == ids
    assert (await site.show()).failing_since is None


async def test_a_paused_endpoint_is_left_alone(site: Site) -> None:
    await site.endpoint()
    async with site.engine.client.connection() as conn:
        await webhooks.pause(conn, "orders", reason="maintenance")
    await site.emit("a", None)
    await site.run()

    assert site.receiver.visit() == 0
    assert await site.states() == ["held", "held"]


# Order.


async def test_a_key_waits_for_its_first_and_other_keys_do_not(site: Site) -> None:
    await site.endpoint(retry=Retry(delays=(60,), jitter=0))
    site.receiver.script.append(BUSY)
    first, second, third = await site.emit("a", "a", "b")

    await site.run()

    assert site.receiver.ids == [first, third, first, second]


async def test_without_order_the_second_overtakes_the_first(site: Site) -> None:
    await site.endpoint(ordered=False)
    site.receiver.script.append(BUSY)
    first, second = await site.emit("a", "a")

    await site.run()

    assert site.receiver.ids == [first, second, first]


# Secrets and addresses.


async def test_during_a_rotation_old_and_new_receivers_both_verify(site: Site) -> None:
    made = await site.endpoint()
    async with site.engine.client.connection() as conn:
        new = await webhooks.rotate(conn, "orders", overlap_seconds=3600)
    await site.emit()
    await site.run()
    await site.engine.clock.move(3600)
    await site.emit()
    await site.run()

    during, after = site.receiver.requests
    at = int(during.headers["webhook-timestamp"])
    for secret in (made.secret, new):
        assert verify(during.headers, during.body, [secret], now=at)
    newest = during.headers["webhook-signature"].split(" ")[0]
    assert verify(during.headers | {"webhook-signature": newest}, during.body, [new], now=at)
    at = int(after.headers["webhook-timestamp"])
    assert verify(after.headers, after.body, [new], now=at)
    with pytest.raises(SignatureMismatch):
        verify(after.headers, after.body, [made.secret], now=at)


async def test_an_inner_address_is_refused_when_it_is_made_and_when_it_is_called(site: Site) -> None:
    with pytest.raises(UnsafeAddress):
        async with site.engine.client.transaction() as conn:
            await webhooks.create_endpoint(conn, "orders", site.receiver.url)
    # From plain SQL, which does not know what an address is.
    sealed = site.engine.settings.vault.seal("whsec_" + "A" * 32, purpose=webhooks.SECRET.purpose(7))
    await site.engine.admin.execute(
        "select ostinato.create_webhook_endpoint('orders', %s, retry => '{\"max_attempts\": 1}', endpoint_id => 7,"
        " secret => %s, secret_hint => 'AAAA')",
        [site.receiver.url, sealed],
    )
    await site.emit()

    await site.run(Settings())

    assert await site.outcomes() == ["refused"]
    assert site.receiver.visit() == 0


async def test_static_headers_are_sent_and_what_comes_back_of_them_is_masked(site: Site) -> None:
    made = await site.endpoint(headers={"Authorization": "Key hunter2", "X-Shop": "seven"})
    cursor = await site.engine.admin.execute("select header_values, e::text from ostinato_data.webhook_endpoint e")
    ((values, row),) = await cursor.fetchall()
    assert is_sealed(values)
    assert not {"hunter2", "seven"} & set(re.findall(r"\w+", row))
    echo = f"you sent Key hunter2 and {made.secret}\x1b[31m\x00".encode()
    site.receiver.script.append(Reply(500, echo))
    await site.emit()

    await site.run()

    request = site.receiver.requests[0]
    assert request.headers["authorization"] == "Key hunter2"
    assert request.headers["x-shop"] == "seven"
    answer = (await site.attempts())[0].answer
    assert answer == "you sent *** and whsec_***\ufffd[31m\ufffd"


@pytest.mark.parametrize("value", ["line\nbreak", "\u00e9", "x" * 1001, 4711])
async def test_a_header_value_that_cannot_be_sent_is_refused_by_its_name(site: Site, value: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidInput, match="cannot be sent: x-key") as caught:
        await site.endpoint(headers={"x-shop": "seven", "x-key": value})

    assert str(value) not in str(caught.value)


async def test_no_log_line_and_no_error_tells_a_secret(
    site: Site, logs: list[EventDict], caplog: pytest.LogCaptureFixture
) -> None:
    made = await site.endpoint(
        headers={"Authorization": "Key hunter2"}, retry=Retry(max_attempts=2), url=f"{site.receiver.url}?token=hunter2"
    )
    site.receiver.default = BUSY
    caplog.set_level(0)
    await site.emit()

    await site.run()

    stored = await site.engine.admin.execute(
        "select d.error::text from ostinato_data.dead_letter d"
        " union all select o.error::text from ostinato_data.outcome o"
        " union all select a.error || a.answer from ostinato_data.webhook_attempt a"
        " union all select j.args::text from ostinato_data.job j"
    )
    told = f"{logs} {caplog.text} {await stored.fetchall()} {await site.show()} {made!r}"
    assert any(line["event"] == "webhook_not_delivered" for line in logs)
    assert made.secret.removeprefix("whsec_") not in told
    assert "Key hunter2" not in told
    assert "hunter2" not in f"{logs} {caplog.text}"
    signatures = [request.headers["webhook-signature"] for request in site.receiver.requests]
    assert not any(signature in told for signature in signatures)


async def test_a_probe_is_sent_from_here_and_now(site: Site) -> None:
    made = await site.endpoint()
    async with site.engine.client.connection() as conn:
        met = await runtime_webhooks.probe(conn, "orders", settings=SETTINGS)
        refused = await runtime_webhooks.probe(conn, "orders")

    (request,) = site.receiver.requests
    at = int(request.headers["webhook-timestamp"])
    assert (met.outcome, met.status, met.answer) == ("delivered", 200, "thanks")
    assert refused.outcome == "refused"
    assert verify(request.headers, request.body, [made.secret], now=at).id.startswith("test-")
    assert await site.deliveries() == []


async def test_an_endpoint_is_changed_and_removed(site: Site) -> None:
    await site.endpoint(url="http://127.0.0.1:1/nobody")
    async with site.engine.client.connection() as conn:
        await webhooks.change_endpoint(
            conn,
            "orders",
            url=site.receiver.url,
            headers={"x-a": "b"},
            retry=Retry(max_attempts=3),
            allowed=parse_allowed(ALLOWED),
        )
    await site.emit()
    await site.run()
    async with site.engine.client.connection() as conn:
        await webhook_deliveries.heal(conn)
        await webhook_deliveries.prune(conn, 14)
        await webhooks.remove_endpoint(conn, "orders")
        assert await webhooks.list_endpoints(conn) == []

    assert site.receiver.requests[0].headers["x-a"] == "b"


async def test_headers_are_taken_away_and_left_alone(site: Site) -> None:
    await site.endpoint(headers={"x-a": "b"})
    async with site.engine.client.connection() as conn:
        await webhooks.change_endpoint(conn, "orders", description="new")
        (kept,) = await webhooks.list_endpoints(conn)
        await webhooks.change_endpoint(conn, "orders", headers={})
        (gone,) = await webhooks.list_endpoints(conn)
    await site.emit()
    await site.run()

    assert (kept.header_names, gone.header_names) == (["x-a"], [])
    assert "x-a" not in site.receiver.requests[0].headers


# Receiving.


async def test_a_message_is_received_once_with_its_effects(engine: Engine) -> None:
    secret = "whsec_" + "A" * 32
    body = b'{"paid": true}'
    now = int((await engine.clock.freeze()).timestamp())
    headers = signed_headers("m1", now, body, [secret])

    async def receive(sent: dict[str, str] = headers) -> str:
        async with engine.client.transaction() as conn:
            return (await webhooks.receive(conn, "bank", sent, body, [secret])).id

    assert await receive() == "m1"
    with pytest.raises(WebhookReplayed):
        await receive()
    with pytest.raises(SignatureMismatch):
        await receive(headers | {"webhook-id": "m2"})
    # A transaction that is rolled back has received nothing.
    headers = signed_headers("m3", now, body, [secret])
    async with await psycopg.AsyncConnection.connect(engine.database.url) as conn:
        await webhooks.receive(conn, "bank", headers, body, [secret])
        await conn.rollback()
    assert await receive(headers) == "m3"


def test_an_app_named_webhooks_is_the_users_own() -> None:
    own = App("webhooks")
    settings = Settings()

    assert runtime_webhooks.with_app([own], settings, None, None) == [own]  # type: ignore[arg-type]


def test_an_answer_that_is_no_text_is_shown_as_far_as_it_can_be() -> None:
    answer = Answer(500, httpx.Headers(), b"\xff\xfe\x00abc", cut=False, milliseconds=1)

    met = judge(answer, datetime(2026, 1, 1, tzinfo=UTC))

    assert met.answer == "\ufffd\ufffd\ufffdabc"
