"""Cells: three databases, tenants that live in one of them, and moves between them under load and kills."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ostinato import App, Worker
from ostinato._core.base.cellmap import CellMap, read_cells
from ostinato._core.base.settings import Settings
from ostinato._core.db.backup import server
from ostinato._core.db.call import call
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.engine import cell_setup, cells, moves
from ostinato._core.engine.moves import Move, Moved, Side
from ostinato._core.runtime.cells import Cells, first_to
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.worker.enrol import declare_kinds
from ostinato.errors import Conflict, DatabaseUnavailable, TenantMoved
from tests.conftest import copy_of_engine, note_called_functions
from tests.proxy import between
from tests.runtime.conftest import EMPTY
from tests.runtime.lab import QUICK, running
from tests.slow import first_only
from tests.waiting import until_async

NAMES = ("one", "two", "three")
WHO = ("acme", "globex", "initech", "umbrella")
STEPS = ("drain", "expect", "close", "dump", "load", "point", "remove")
EFFECTS = "create table public.effect (job_id bigint, tenant_id text); grant all on public.effect to public"
EMIT = (
    "ostinato.emit_event('order.paid', '{}'::json, 'k', tenant_id => 'acme',"
    " correlation_id => 'c', occurred_at => now(), producer => 'test')"
)

app = App("cells")


@app.job(open=True)
async def note(ctx: Any, n: int) -> None:  # noqa: ANN401 - a context
    async with ctx.transaction() as conn:
        await conn.execute("insert into public.effect values (%s, %s)", [ctx.job.id, ctx.job.tenant_id])


@dataclass
class World:
    """Three cells, and the means to look into each."""

    urls: dict[str, Urls]
    admins: dict[str, psycopg.AsyncConnection[Any]]
    cells: Cells
    folder: Path
    steps: list[str] = field(default_factory=list)

    async def rows(self, statement: str, *values: object) -> dict[str, list[tuple[Any, ...]]]:
        return {
            name: await (await conn.execute(statement.encode(), values or None)).fetchall()
            for name, conn in self.admins.items()
        }

    @asynccontextmanager
    async def sides(self, *names: str) -> AsyncIterator[list[Side]]:
        async with AsyncExitStack() as stack:
            yield [
                Side(name, await stack.enter_async_context(await server.connect(self.urls[name].admin)))
                for name in names
            ]

    async def move(self, tenant: str, source: str, target: str, *, wait: float = 600.0) -> Moved:
        async with self.sides(source, target, "one") as (here, there, home):
            made = Move(
                tenant, here, there, home, file=self.file, schemas=[], wait_seconds=wait, step=self.steps.append
            )
            return await made.run()

    async def killed(self, at: str, tenant: str, source: str, target: str) -> int:
        """Move it in a process that kills itself at a step; returns how that ended."""
        sides = [f"{name}={self.urls[name].admin}" for name in (source, target, "one")]
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.runtime.killed_move", at, tenant, str(self.file), *sides
        )
        return await child.wait()

    @property
    def file(self) -> Path:
        return self.folder / "acme.gz"

    @asynccontextmanager
    async def workers(self) -> AsyncIterator[None]:
        async with self.workers_of(*self.urls):
            yield

    @asynccontextmanager
    async def workers_of(self, *names: str) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for urls in map(self.urls.__getitem__, names):
                database = Database(urls.worker, urls.admin, urls.worker)
                await stack.enter_async_context(running(Worker([app], database, Settings(**QUICK))))
            yield

    async def place(self, tenant: str, cell: str) -> None:
        """As `ostinato cells place`."""
        await cells.set_place(self.admins["one"], tenant, "left", cell)
        await cells.set_place(self.admins[cell], tenant, "here", "one")

    async def native(self, tenant: str, cell: str) -> None:
        """A tenant with work in a cell that only home has named."""
        await cells.set_place(self.admins["one"], tenant, "left", cell)
        await note.options(tenant=tenant).enqueue(self.cells.client(cell), n=1)

    def found_by(self, way: Callable[[str], str]) -> CellMap:
        """The map, with another way to home."""
        home = self.cells.map.cell("one")
        settings = home.settings
        assert settings.database_url is not None
        led = replace(settings, database_url=way(settings.database_url))
        return replace(self.cells.map, cells=self.cells.map.cells | {"one": replace(home, settings=led)})

    async def effects(self) -> list[tuple[int, str]]:
        found = await self.rows("select job_id, tenant_id from public.effect")
        return sorted(row for rows in found.values() for row in rows)


@pytest.fixture(scope="module")
def cell_urls(shared_server: Server) -> dict[str, Urls]:
    made = {name: copy_of_engine(shared_server, f"cell_{name}") for name in NAMES}
    for urls in made.values():
        with psycopg.connect(urls.admin, autocommit=True) as conn:
            conn.execute("select ostinato.upkeep_partitions(14), ostinato.upkeep_logs(14)")
    return made


@pytest.fixture
async def world(cell_urls: dict[str, Urls], tmp_path: Path) -> AsyncIterator[World]:
    async with world_of(cell_urls, tmp_path) as made:
        yield made


@asynccontextmanager
async def world_of(cell_urls: dict[str, Urls], folder: Path) -> AsyncIterator[World]:
    file = folder / "cells.toml"
    lines = ['home = "one"']
    for number, (name, urls) in enumerate(cell_urls.items(), 1):
        lines += [f"[{name}]", f"number = {number}", f'database_url = "{urls.worker}"', f'admin_url = "{urls.admin}"']
    file.write_text("\n".join(lines))
    found = read_cells(Settings(cells_file=str(file)))
    async with AsyncExitStack() as stack:
        admins = {}
        for name, urls in cell_urls.items():
            conn = await psycopg.AsyncConnection.connect(urls.admin, autocommit=True)
            admins[name] = await stack.enter_async_context(conn)
            await conn.execute(EMPTY)
            await conn.execute(EFFECTS.encode())
        for name, conn in admins.items():
            await declare_kinds(conn, [app])
            await cell_setup.share_secrets(admins["one"], conn, [])
            await cell_setup.number_ids(conn, found.cell(name).number, [])
        yield World(cell_urls, admins, await stack.enter_async_context(Cells(found)), folder)
        for conn in admins.values():
            await note_called_functions(conn)


@pytest.mark.slow
async def test_a_tenant_moves_from_cell_to_cell_and_back_with_its_work(world: World) -> None:
    acme = world.cells.for_tenant("acme")
    async with world.workers():
        jobs = [await note.enqueue(acme, n=0)]
        for source, target in (("one", "two"), ("two", "three"), ("three", "one"), ("one", "three")):
            async with acme.transaction() as conn:  # what waits for its time moves too
                jobs.append(await note.options(delay=0.2).enqueue(conn, n=1))
            moved = await world.move("acme", source, target)
            assert world.steps[-7:] == list(STEPS)
            world.cells.forget("acme")
            assert await world.cells.where("acme") == target
            assert moved.rows > 0
            assert moved.callers_paused <= moved.jobs_paused
            jobs.append(await note.enqueue(acme, n=2))
        await until_async(lambda: _has(world, len(jobs)))
    assert await world.effects() == [(job, "acme") for job in sorted(jobs)]
    assert len(set(jobs)) == len(jobs)
    left = await world.rows("select count(*) from ostinato_data.job where tenant_id = 'acme'")
    assert left == {"one": [(0,)], "two": [(0,)], "three": [(len(jobs),)]}


async def test_a_cell_that_a_tenant_has_left_or_not_yet_reached_refuses_whatever_the_way(world: World) -> None:
    await note.enqueue(world.cells.for_tenant("acme"), n=1)
    await world.move("acme", "one", "two")
    one, two = world.cells.client("one"), world.cells.client("two")

    with pytest.raises(TenantMoved, match="lives in the cell two"):
        async with one.for_tenant("acme").transaction():
            pass
    for statement in (
        "select ostinato.enqueue_job('cells.note', tenant_id => 'acme')",
        "select ostinato.enqueue_jobs('{cells.note}', '{\"{}\"}', tenant_ids => '{acme}')",
        f"select {EMIT}",
    ):
        with pytest.raises(psycopg.Error) as refused:
            await world.admins["one"].execute(statement.encode())
        assert refused.value.sqlstate == "OS421"
    async with two.for_tenant("acme").transaction() as conn:
        assert (await (await conn.execute("select count(*) from ostinato_data.job")).fetchone()) == (1,)
    async with one.for_tenant("globex").transaction():
        pass


async def test_what_holds_a_move_up_is_said_and_the_tenant_goes_on_where_it_is(world: World) -> None:
    job = await note.enqueue(world.cells.for_tenant("acme"), n=1)
    async with world.cells.client("one").transaction() as conn:
        await conn.execute("select 1")
        with pytest.raises(Conflict, match="transactions of the cell that it leaves do not end"):
            await world.move("acme", "one", "two", wait=0.1)
    assert await world.rows("select tenant_id from ostinato_data.tenant_place") == {name: [] for name in NAMES}
    async with world.workers():
        await until_async(lambda: _has(world, 1))
    assert await world.effects() == [(job, "acme")]


async def test_no_job_of_a_tenant_that_drains_is_claimed_and_those_of_others_are(world: World) -> None:
    one = world.admins["one"]
    await cells.set_place(one, "acme", "draining", "two")
    waiting = [
        await note.options(tenant=tenant).enqueue(world.cells.client("one"), n=1) for tenant in ("acme", "globex")
    ]
    async with world.workers():
        await until_async(lambda: _has(world, 1))
        for _ in range(60):  # and limited queues, and those with more work than a claim takes
            waiting += [await note.options(tenant="acme").enqueue(world.cells.client("one"), n=1)]
        await one.execute("select ostinato.configure_queue('default', key_concurrency => 5)")
        waiting += [await note.options(tenant="globex", limit_key="k").enqueue(world.cells.client("one"), n=1)]
        await until_async(lambda: _has(world, 2))
        assert {tenant for _, tenant in await world.effects()} == {"globex"}
        await one.execute("delete from ostinato_data.tenant_place")
        await until_async(lambda: _has(world, len(waiting)))
    await one.execute("select ostinato.configure_queue('default', key_concurrency => null)")


async def test_cells_hash_people_with_one_secret_from_the_beginning(world: World) -> None:
    found = await world.rows("select md5(s::text) from ostinato_data.subject_secret s")
    assert len({str(rows) for rows in found.values()}) == 1
    assert len(found["two"]) == 1


@pytest.mark.slow
async def test_ids_of_cells_never_meet(world: World) -> None:
    for _ in range(2):
        found = await world.rows("select nextval('ostinato_data.job_id_seq') % 100")
        assert found == {"one": [(1,)], "two": [(2,)], "three": [(3,)]}
        await note.enqueue(world.cells.for_tenant("acme"), n=1)
        here = await world.cells.where("acme")
        await world.move("acme", here, "three" if here == "one" else "one")
        world.cells.forget("acme")


@pytest.mark.slow
@pytest.mark.parametrize("at", first_only(("load", *(step for step in STEPS if step != "load"))))
async def test_a_move_that_is_killed_is_repeated_under_load_and_nothing_is_lost_or_doubled(
    world: World, at: str
) -> None:
    await kill_and_repeat(world, at)


async def kill_and_repeat(world: World, at: str) -> None:
    added: list[int] = []
    others: list[int] = []
    enough = asyncio.Event()

    async def callers(tenant: str, to: list[int]) -> None:
        client = world.cells.for_tenant(tenant, patience=600)  # a busy machine is no move that does not end
        n = 0
        while not enough.is_set():
            async with client.transaction() as conn:
                to.append(await note.options(delay=0.3 if n % 3 else 0.0).enqueue(conn, n=n))
            n += 1

    async with world.workers(), asyncio.TaskGroup() as group:
        group.create_task(callers("acme", added))
        group.create_task(callers("globex", others))
        await until_async(lambda: len(added) > 20)
        assert await world.killed(at, "acme", "one", "two") == -9
        before = len(others)
        await until_async(lambda: len(others) > before + 10)  # nobody else waits for it
        if at != "remove":  # then all was done
            moved = await world.move("acme", "one", "two")
            assert (moved.rows > 0) is (at not in ("load", "point"))
        after = len(added)
        await until_async(lambda: len(added) > after + 10)
        enough.set()
        await until_async(lambda: _has(world, len(added) + len(others)))
    expected = sorted([(job, "acme") for job in added] + [(job, "globex") for job in others])
    assert await world.effects() == expected
    held = await world.rows("select distinct tenant_id from ostinato_data.job order by 1")
    assert held == {"one": [("globex",)], "two": [("acme",)], "three": []}
    assert not world.file.exists()


@pytest.mark.slow
async def test_an_interrupted_move_can_be_given_up_until_the_other_cell_has_the_tenant(world: World) -> None:
    job = await note.enqueue(world.cells.for_tenant("acme"), n=1)
    assert await world.killed("dump", "acme", "one", "two") == -9
    async with world.sides("one", "two", "one") as (here, there, home):
        move = Move("acme", here, there, home, file=world.file, schemas=[])
        begun = await move.under_way()
        assert begun is not None
        await move.give_up(begun)
        with pytest.raises(Conflict, match="its move was given up"):  # a load that the dead one left behind
            await _arrive(there, begun)
    assert await world.killed("load", "acme", "one", "two") == -9
    async with world.sides("one", "two", "one") as (here, there, home):
        move = Move("acme", here, there, home, file=world.file, schemas=[])
        begun = await move.under_way()
        assert begun is not None
        with pytest.raises(Conflict, match="can only go on"):
            await move.give_up(begun)
    await world.move("acme", "one", "two")
    async with world.workers():
        await until_async(lambda: _has(world, 1))
    assert await world.effects() == [(job, "acme")]
    world.cells.forget("acme")
    assert await world.cells.where("acme") == "two"


async def _arrive(side: Side, move_id: object) -> None:
    await call(side.conn, "arrive", tenant_id="acme", move_id=move_id)


async def _has(world: World, count: int) -> bool:
    return len(await world.effects()) >= count


async def test_where_a_tenant_is_may_change_while_it_is_asked(world: World) -> None:
    place = cells.Place("coming", "one", None, None)  # type: ignore[arg-type]
    answers = {"two": iter([place, None]), "one": iter([cells.Place("leaving", "two", None, None)])}  # type: ignore[arg-type]

    async def ask(name: str) -> cells.Place | None:
        return next(answers[name])

    assert await moves.where("acme", "two", ask) == "two"


@pytest.mark.parametrize(("there", "found"), [("here", "two"), ("coming", "one")])
async def test_who_was_loaded_is_found_there_although_the_old_cell_does_not_point_yet(there: str, found: str) -> None:
    """A move that died after its load, and one that is before it."""
    move_id, changed_at = uuid4(), datetime.now(UTC)
    said = {
        "one": cells.Place("closed", "two", move_id, changed_at),
        "two": cells.Place(there, "one", move_id, changed_at),
    }

    async def ask(name: str) -> cells.Place | None:
        return said[name]

    assert await moves.where("acme", "one", ask) == found


async def test_who_lives_elsewhere_is_found_while_home_is_away(world: World) -> None:
    """By what was known, however old; and by a client that has just begun, from the cells themselves."""
    await note.enqueue(world.cells.for_tenant("acme"), n=1)
    await world.move("acme", "one", "two")
    await world.place("globex", "three")
    await world.native("initech", "two")  # of an earlier release: placed, and no more than its rows says so there
    home = world.folder / "home"
    home.mkdir()
    with between(world.urls["one"].worker, home) as proxy:
        found = world.found_by(proxy.url)
        async with Cells(found, known_seconds=0.0) as known, Cells(found) as fresh:
            assert [await known.where(name) for name in WHO] == ["two", "three", "two", "one"]
            with proxy.away():
                assert [await known.where(name) for name in WHO] == ["two", "three", "two", "one"]
                assert [await fresh.where(name) for name in WHO[:3]] == ["two", "three", "two"]
                await note.enqueue(fresh.for_tenant("acme"), n=2)
                with pytest.raises(DatabaseUnavailable, match="no other cell says that umbrella lives there"):
                    await fresh.where("umbrella")
                with pytest.raises(DatabaseUnavailable):  # whom each cell has
                    await fresh.where("default")
            await until_async(lambda: _says(fresh, "umbrella", "one"))


async def _says(found: Cells, tenant: str, cell: str) -> bool:
    with suppress(DatabaseUnavailable):
        return await found.where(tenant) == cell
    return False


async def test_the_first_that_says_yes_is_waited_for_and_no_other() -> None:
    never = asyncio.Event()
    asked = []

    async def says(name: str) -> bool:
        asked.append(name)
        if name == "silent":
            await never.wait()
        if name == "away":
            raise DatabaseUnavailable("it is away")
        return name == "yes"

    assert await first_to(["yes", "away"], says) == ("yes", [])
    assert asked == ["yes"]
    assert await first_to(["silent", "no", "yes"], says) == ("yes", [])
    assert await first_to(["away", "no"], says) == (None, ["away"])
    assert await first_to([], says) == (None, [])
