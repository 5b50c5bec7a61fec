"""Rounds and outbound in one run: what one tells in the outbox becomes the other's message."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import psycopg
import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.db import migrate
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._faces.api.parts import Parts
from ostinato.apps import outbound, rounds
from ostinato.apps.outbound.sandbox import Providers
from ostinato.apps.outbound.schema import COMPONENT as OUTBOUND
from ostinato.apps.rounds.schema import COMPONENT as ROUNDS
from ostinato.lab.sandbox.running import Running, running
from ostinato.testing import Engine
from tests.api.live import serving
from tests.apps.outbound.conftest import EMPTY, World, set_clock
from tests.apps.rounds.conftest import EMPTY_ROUNDS
from tests.conftest import copy_of_engine, note_called_functions

APPS = (rounds.APP, outbound.APP)
GROUP = {"name": "Les voisins", "drop_time": "14:30", "zone": "Europe/Paris"}
TEMPLATE = {
    "category": "UTILITY",
    "providerName": "round_opened",
    "body": "{{group}} : {{title}}",
    "variables": [{"name": "group"}, {"name": "title"}],
}
ANA = "+33639986001"
PHONES = {"acme": "100200300", "quiet": "100200301", "down": "100200302"}


@pytest.fixture(scope="module")
def chain_urls(shared_server: Server) -> Urls:
    """A database with both applications, on a clock to move."""
    found = copy_of_engine(shared_server, "chain")
    asyncio.run(migrate.migrate(found.admin, [ENGINE, ROUNDS, OUTBOUND]))
    with psycopg.connect(found.admin, autocommit=True) as conn:
        conn.execute("select ostinato.use_test_clock()")
    return found


@pytest.fixture(scope="module")
def providers() -> Iterator[Providers]:
    made = Providers(serves=True)
    yield made
    made.close()


@pytest.fixture(scope="module")
def sandbox(providers: Providers) -> Iterator[Running]:
    with running(providers) as found:
        yield found


@pytest.fixture
async def world(
    shared_server: Server, chain_urls: Urls, providers: Providers, sandbox: Running, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    """A running API with both, and providers that know where it is."""
    urls = chain_urls
    database = Database(urls.worker, urls.admin, urls.worker, server=shared_server, api_url=urls.api)
    for name, value in providers.settings(sandbox.url).items():
        monkeypatch.setenv(name, value)
    providers.reset()
    async with await psycopg.AsyncConnection.connect(urls.admin, autocommit=True) as admin, Client(database) as client:
        await admin.execute(EMPTY)
        await admin.execute(EMPTY_ROUNDS)
        engine = Engine(database, client, admin)
        with serving(Parts(database, Settings(), apps=APPS)) as url:
            monkeypatch.setenv("OSTINATO_OUTBOUND_PUBLIC_URL", url)
            providers.api = url
            async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
                yield World(engine, http, providers, sandbox, url)
        await note_called_functions(admin)


async def ask(world: World, method: str, path: str, tenant: str, body: object) -> Any:  # noqa: ANN401 - what it answers
    """A call of the API of rounds."""
    bearer = {"Authorization": f"Bearer {await world.key(tenant, 'admin')}"}
    answer = await world.http.request(method, f"/api/v1/rounds{path}", headers=bearer, json=body)
    assert answer.is_success, answer.text
    return answer.json()


async def a_group(world: World, tenant: str, *members: str, **more: object) -> int:
    """A group with a prompt and members, all over HTTP; and what outbound needs to tell them."""
    await world.set_up(tenant, phone=PHONES[tenant])
    await world.call("PUT", "/templates/ROUND_OPENED/fr", json=TEMPLATE, tenant=tenant)
    await world.consent(ANA, subjectId="ana", tenant=tenant)
    group = int((await ask(world, "POST", "/groups", tenant, GROUP | more))["id"])
    await ask(world, "POST", f"/groups/{group}/prompts", tenant, {"title": "Une photo"})
    for member in members:
        await ask(world, "PUT", f"/groups/{group}/members/{member}", tenant, {})
    return group


async def visit(world: World, *times: str) -> None:
    """Let time pass, with a look at these moments."""
    for at in times:
        await set_clock(world.engine, datetime.fromisoformat(at).astimezone(UTC))
        await world.engine.run_until_idle(*APPS, move_clock=False)


async def test_an_opening_is_told_once_to_those_who_want_it_and_allowed_it(world: World) -> None:
    await set_clock(world.engine, datetime(2026, 6, 1, 10, 0, 1, tzinfo=UTC))
    group = await a_group(world, "acme", "ana", "ben", "cleo")
    await ask(world, "PUT", f"/groups/{group}/members/ben", "acme", {"mute": True})
    await ask(world, "PUT", f"/groups/{group}/members/tester", "acme", {"mute": True})

    await visit(world, "2026-06-01T10:00:02Z", "2026-06-01T10:05:01Z")
    await visit(world, "2026-06-02T12:30:01Z", "2026-06-02T12:35:01Z")

    (taken,) = world.providers.sent
    assert taken.to == ANA
    texts = [each["text"] for each in taken.document["template"]["components"][0]["parameters"]]
    assert texts == ["Les voisins", "Une photo"]
    audit = await world.call("GET", "/audit", params={"action": "BLOCKED_BY_POLICY"})
    assert {each["subjectId"] for each in audit} == {"cleo"}
    everything = str(await world.call("GET", "/audit", params={"limit": 100}))
    assert "'ben'" not in everything
    ((message, event),) = await world.rows(
        "select m.correlation_id, e.correlation_id from outbound.message m, ostinato_data.event e"
        " where m.tenant_id = 'acme' and e.tenant_id = 'acme' and e.type = 'rounds.opened'"
    )
    assert message == event
    assert event.startswith("round-")


async def test_nobody_is_told_where_notifications_are_off_or_the_round_was_missed(world: World) -> None:
    await set_clock(world.engine, datetime(2026, 6, 11, 10, 0, 1, tzinfo=UTC))
    await a_group(world, "quiet", "ana", notifications_enabled=False)
    await a_group(world, "down", "ana", drop_time="08:00")

    await visit(world, "2026-06-11T10:00:02Z", "2026-06-11T10:05:01Z")
    await visit(world, "2026-06-13T06:00:01Z")  # when the round of the one is over

    states = await world.rows(
        "select tenant_id, status, missed from rounds.daily_rounds"
        " where scheduled_for_local_date = '2026-06-12' and tenant_id in ('quiet', 'down')"
        " order by tenant_id"
    )
    assert states == [("down", "closed", True), ("quiet", "open", False)]
    assert world.providers.sent == []
    told = await world.rows("select 1 from outbound.message where tenant_id in ('quiet', 'down')")
    assert told == []
