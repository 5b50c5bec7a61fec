"""Tenants behind PgBouncer in transaction mode: sessions are shared, rows are not."""

import asyncio

import psycopg
import pytest

from ostinato import Client
from ostinato._core.db.embedded import Server
from ostinato._core.engine import inspect, jobs
from ostinato._core.engine.jobs import NewJob
from ostinato._core.runtime.database import Database
from tests import bouncer
from tests.faults.site import Site
from tests.needs import lacking
from tests.opened import OPEN, opened

ROUNDS = 125
CLIENTS = 8


@pytest.mark.proof
async def test_a_thousand_interleaved_transactions_of_two_tenants_leak_nothing(server: Server, site: Site) -> None:
    if bouncer.program() is None:
        lacking("pgbouncer", "PgBouncer is not installed: tenants that share its connections are not tested")
    with psycopg.connect(site.urls.admin, autocommit=True) as admin:
        admin.execute(OPEN, opened("app.task"))
    with bouncer.own_folder() as folder, bouncer.in_front_of(server, folder) as port:
        url = bouncer.through(site.urls.worker, port)
        database = Database(url=url, admin_url=site.urls.admin, listen_url=None, pooled=True)
        async with Client(database, max_size=CLIENTS) as client:
            seen = await asyncio.gather(*(interleave(client, n) for n in range(CLIENTS)))

    leaks = [line for lines in seen for line in lines]
    assert leaks == []
    with psycopg.connect(site.urls.admin, autocommit=True) as admin:
        counts = admin.execute("select tenant_id, count(*) from ostinato_data.job group by 1 order by 1").fetchall()
    half = ROUNDS * CLIENTS // 2
    assert counts == [("t0", half), ("t1", half)]


async def interleave(client: Client, number: int) -> list[str]:
    """Transactions of two tenants in turn, one in three of the engine itself; what was wrong."""
    wrong = []
    for turn in range(ROUNDS):
        tenant = f"t{(number + turn) % 2}"
        async with client.for_tenant(tenant).transaction() as conn:
            await jobs.enqueue(conn, NewJob("app.task", correlation_id="shared"))
            cursor = await conn.execute("select distinct tenant_id, current_user::text from ostinato_data.job")
            seen = await cursor.fetchall()
            if seen != [(tenant, "ostinato_tenant")]:
                wrong.append(f"{tenant} saw {seen}")
            lines = await inspect.trail(conn, "shared", most=5)
            wrong += [f"{tenant} read {line}" for line in lines if line.tenant_id != tenant]
        if turn % 3 == 0:
            async with client.connection() as plain:
                row = await (
                    await plain.execute("select current_user::text, current_setting('app.tenant_id', true)")
                ).fetchone()
                if row not in (("ostinato_worker", ""), ("ostinato_worker", None)):
                    wrong.append(f"the engine was {row}")
    return wrong
