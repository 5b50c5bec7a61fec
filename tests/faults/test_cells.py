"""Cells that are what they are in the field: whole PostgreSQL clusters, one of which may die."""

from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest

from tests.faults.replicas import copied, kill_server
from tests.runtime.test_cells import NAMES, kill_and_repeat, note, world_of
from tests.waiting import until_async


@pytest.mark.proof
@pytest.mark.parametrize("at", ["close", "load", "point"])
async def test_a_move_between_clusters_is_killed_and_repeated_and_each_dies_alone(
    seed: Path, tmp_path: Path, at: str
) -> None:
    with copied(seed) as one, copied(seed) as two, copied(seed) as three:
        urls = {name: server.urls() for name, server in zip(NAMES, (one, two, three), strict=True)}
        async with AsyncExitStack() as after, world_of(urls, tmp_path) as world:
            await kill_and_repeat(world, at)
            kill_server(one)  # the home, and the cell that acme has left
            acme = world.cells.for_tenant("acme")
            world.cells.forget("acme")
            job = await note.enqueue(acme, n=1)
            async with world.workers_of("two"):
                await until_async(lambda: done(two.urls().admin, job))
            one.revive()
            assert await world.cells.where("globex") == "one"
            # The administrators' connections of the test died with it.
            await world.admins["one"].close()
            again = await psycopg.AsyncConnection.connect(one.urls().admin, autocommit=True)
            world.admins["one"] = await after.enter_async_context(again)


async def done(url: str, job: int) -> bool:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        found = await conn.execute("select from public.effect where job_id = %s", [job])
        return await found.fetchone() is not None
