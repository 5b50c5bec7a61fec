"""Live figures: shared by those who look, and gone with those who leave."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import ExitStack
from typing import Any

import anyio
import httpx
import pytest
from psycopg import AsyncConnection, AsyncCursor

from ostinato._core.base.errors import DatabaseUnavailable, TooManyRequests
from ostinato._core.base.settings import Settings
from ostinato._core.engine import keys, sessions, webhooks
from ostinato._core.runtime.testing import KEY
from ostinato._faces.api.ratelimit import RateLimit
from ostinato._faces.api.server import end_streams
from ostinato._faces.cli.frame.loading import INSTALLED, load_apps
from ostinato._faces.console import live
from ostinato._faces.console.doorman import Doorman
from ostinato._faces.console.live import Live
from ostinato._faces.console.pages import inbox
from tests.api.conftest import Api
from tests.console.conftest import Console, Visitor
from tests.waiting import until_async

TABS = 40


@pytest.fixture
def api_settings() -> Settings:
    """The secrets of endpoints are sealed."""
    return Settings(secret_key=KEY)


@pytest.fixture
async def watching(api: Api) -> AsyncIterator[Live]:
    made = Live(api.worker)
    yield made
    made.stop()


async def streaming(api: Api, visitor: Visitor) -> "asyncio.Task[httpx.Response]":
    """A stream that is open: its answer is there when it has ended."""
    task = asyncio.create_task(visitor.get("/live"))

    async def is_open() -> bool:
        return task.done() or api.app.state.site.live._streams.total() > 0

    await until_async(is_open)
    assert not task.done()
    return task


async def test_tabs_that_are_closed_together_leave_the_figures_to_others(
    watching: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "EVERY_SECONDS", 0.001)

    async def look(seen: asyncio.Event) -> None:
        async for _ in watching.following(None):
            seen.set()

    for _ in range(10):
        seen = [asyncio.Event() for _ in range(TABS)]
        async with anyio.create_task_group() as tabs:
            for each in seen:
                tabs.start_soon(look, each)
            for each in seen:
                await each.wait()
            await watching.of(None).news()
            tabs.cancel_scope.cancel()

        assert (await watching.of(None).now()).queues is not None


async def test_a_scope_beyond_the_most_is_read_for_the_one_who_asks(
    watching: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_SCOPES", 2)
    await watching.of("a").now()
    await watching.of("b").now()

    first = await watching.of("c").now()
    second = await watching.of("c").now()
    followed = [found async for found in watching.following("c")]

    assert watching.of("a").is_read
    assert watching.of("c").is_alone
    assert second.at > first.at
    assert len(followed) == 1


async def test_a_scope_that_nobody_looks_at_makes_room(watching: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_SCOPES", 1)
    await watching.of("a").now()
    watching.of("a").stop()

    async def is_over() -> bool:
        return not watching.of("a").is_read

    await until_async(is_over)

    assert not watching.of("b").is_alone


async def test_who_acted_sees_figures_from_after_it_and_they_are_read_once_for_that(
    console: Console, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "SLOWEST_SECONDS", 3600.0)
    read: list[str | None] = []

    async def listed(conn: AsyncConnection[Any], *, tenant_id: str | None, **options: Any) -> object:  # noqa: ANN401
        read.append(tenant_id)
        return await list_endpoints(conn, tenant_id=tenant_id, **options)

    list_endpoints = webhooks.list_endpoints
    async with api.worker.connection() as conn:
        await webhooks.create_endpoint(conn, "partner", "https://example.com/hook", tenant_id="doers")
    visitor = await console.visitor("doers", "ops")
    monkeypatch.setattr(webhooks, "list_endpoints", listed)
    before = await visitor.text("/")

    assert (await visitor.send("/webhooks/doers/partner/pause")).status_code == 303
    after = [await visitor.text("/") for _ in range(3)]

    assert "none refuses" in before
    assert ["1 unhealthy" in page for page in after] == [True] * 3
    assert read == ["doers"] * 2
    other = await (await console.visitor("doers", "ops")).text("/")
    assert "1 unhealthy" in other


async def test_a_stream_ends_with_the_key_that_signed_in(console: Console, api: Api) -> None:
    visitor = await console.visitor("acme", "ops")
    stream = await streaming(api, visitor)
    async with api.worker.connection() as conn:
        for key in await keys.list_keys(conn, tenant_id="acme"):
            await keys.revoke(conn, key.id)

    answer = await stream

    assert "event: figures" in answer.text
    assert not api.app.state.site.live._streams


async def test_streams_end_when_the_server_is_asked_to_stop(console: Console, api: Api) -> None:
    stream = await streaming(api, await console.visitor("acme", "ops"))

    end_streams(api.app)

    assert (await stream).status_code == 200


async def test_a_session_has_no_more_streams_than_it_may(console: Console, api: Api) -> None:
    visitor = await console.visitor("acme", "ops")
    async with api.worker.connection() as conn:
        (session,) = await sessions.list_sessions(conn)
    with ExitStack() as tabs:
        for _ in range(live.MOST_STREAMS_OF_SESSION):
            tabs.enter_context(api.app.state.site.live.stream("acme", session.id))

        answer = await visitor.get("/live")

    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0


async def test_a_tenant_that_signs_in_often_takes_the_streams_of_no_other(console: Console, api: Api) -> None:
    visitor = await console.visitor("acme", "ops")
    other = await console.visitor("globex", "ops")
    figures = api.app.state.site.live
    with ExitStack() as tabs:
        # As many sessions as it likes, each within what a session may have.
        for number in range(live.MOST_STREAMS):
            try:
                figures.check_streams("acme", number)
            except TooManyRequests:
                break
            tabs.enter_context(figures.stream("acme", number))

        refused = await visitor.get("/live")
        stream = await streaming(api, other)
        end_streams(api.app)
        let_in = await stream

    assert refused.status_code == 429
    assert let_in.status_code == 200


async def test_strangers_are_counted_by_their_address(console: Console, api: Api) -> None:
    """The sign-in, links and portals are open to everybody, and ask the database."""
    api.app.state.authenticate._public = RateLimit("public", 3, clock=lambda: 0.0)
    visitor = await console.visitor("acme", "ops")
    stranger = console.stranger()

    entered = [(await stranger.http.post("/console/enter", data={"ticket": "x" * 43})).status_code for _ in range(3)]
    portal = await stranger.http.post("/console/portal/enter", data={"ticket": "x" * 43})

    assert entered == [401, 401, 429]
    assert portal.status_code == 429
    assert int(portal.headers["retry-after"]) > 0
    assert (await visitor.get("/jobs")).status_code == 200


async def test_pages_count_as_requests_of_their_key(console: Console, api: Api) -> None:
    visitor = await console.visitor("acme", "ops")
    other = await console.visitor("globex", "ops")
    api.app.state.authenticate._rate = RateLimit("default", 3, clock=lambda: 0.0)

    answers = [(await visitor.get("/jobs")).status_code for _ in range(4)]

    assert answers == [200, 200, 200, 429]
    assert (await api.call("GET", "/api/v1/engine/jobs", roles=("ops",))).status_code == 429
    assert (await other.get("/jobs")).status_code == 200


async def test_pages_that_ask_for_their_sessions_at_once_cost_one_query_or_two(
    console: Console, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streams ask each time that the figures change, all of them in the same moment."""
    asked: list[int] = []

    async def counted(conn: AsyncConnection[Any], texts: Collection[str]) -> dict[str, sessions.Session]:
        asked.append(len(texts))
        return await found(conn, texts)

    found = sessions.find
    texts = [(await console.visitor("acme", "ops")).http.cookies["ostinato"] for _ in range(3)]
    monkeypatch.setattr(sessions, "find", counted)
    doorman = Doorman(api.worker)

    answers = await asyncio.gather(*(doorman._look_up(text) for text in [*texts, "x" * 43] * 20))

    assert [answer is None for answer in answers] == [False, False, False, True] * 20
    assert sum(asked) <= 2 * 4
    assert len(asked) <= 2


async def test_an_error_reaches_everybody_who_asked_and_the_next_one_is_answered(
    console: Console, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (await console.visitor("acme", "ops")).http.cookies["ostinato"]
    doorman = Doorman(api.worker)

    async def broken(*_: object) -> dict[str, sessions.Session]:
        raise DatabaseUnavailable("The database is away.")

    with monkeypatch.context() as patch:
        patch.setattr(sessions, "find", broken)
        failed = await asyncio.gather(*(doorman._look_up(text) for _ in range(5)), return_exceptions=True)

    assert {type(each) for each in failed} == {DatabaseUnavailable}
    assert await doorman._look_up(text) is not None


class Seconds:
    """A clock that goes on by a second with each snapshot."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


async def test_two_hundred_tabs_cost_at_most_five_statements_a_second(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted over 20 snapshots, a second each; sessions of all streams take two statements a second at most."""

    async def count(conn: AsyncConnection[Any]) -> int:
        found = await (await conn.execute("select 7")).fetchone()
        return int(found[0]) if found else 0

    clock, sent, snapshots = Seconds(), Counter[bool](), 20
    execute, told = AsyncCursor.execute, live.Watched._tell
    counting, over = [False], asyncio.Event()

    async def counted(cursor: AsyncCursor[Any], *args: Any, **options: Any) -> AsyncCursor[Any]:  # noqa: ANN401
        sent[counting[0]] += 1
        return await execute(cursor, *args, **options)

    def moved(watched: live.Watched) -> None:
        clock.now += 1.0
        counting[0] = 1_010.0 <= clock.now < 1_010.0 + snapshots
        if clock.now >= 1_010.0 + snapshots:
            over.set()
        told(watched)

    async def look() -> None:
        async for _ in figures.following(None):
            pass

    monkeypatch.setattr(AsyncCursor, "execute", counted)
    monkeypatch.setattr(live, "time", clock)
    monkeypatch.setattr(live.Watched, "_tell", moved)
    monkeypatch.setattr(live, "EVERY_SECONDS", 0.001)
    asked = inbox.waiting(load_apps([INSTALLED]))
    figures = Live(api.worker, dict.fromkeys(asked, count))
    async with anyio.create_task_group() as tabs:
        for _ in range(200):
            tabs.start_soon(look)
        await over.wait()
        tabs.cancel_scope.cancel()
    figures.stop()

    assert len(asked) >= 4
    assert 0 < sent[True] / snapshots <= 5 - 2
