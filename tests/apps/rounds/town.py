"""What the tests of rounds speak: groups, runs of the jobs at a time, and a look at what became."""

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, cast

import httpx
from psycopg import AsyncConnection

from ostinato._core.base.flow import flow
from ostinato._core.base.log import FilteringBoundLogger, get_logger
from ostinato._core.base.settings import Settings
from ostinato._core.db.embedded import Urls
from ostinato._core.db.pool import transaction
from ostinato._core.engine import claims, keys, workers
from ostinato._core.engine.claims import Job
from ostinato._core.runtime.handlers.context import Context, Services
from ostinato._faces.api.parts import Parts
from ostinato.apps.rounds import APP
from ostinato.apps.rounds.batches import Run, work_through
from ostinato.apps.rounds.model import JobName
from ostinato.apps.rounds.settings import RoundsSettings
from ostinato.testing import Engine

TENANT = "acme"
GROUP = """
    with g as (insert into rounds.groups (tenant_id, name) values (%s, 'one') returning *),
    s as (insert into rounds.group_settings (tenant_id, group_id, drop_time, zone,
        notifications_enabled) select tenant_id, id, %s, %s, %s from g),
    p as (insert into rounds.group_prompts (tenant_id, group_id, type, title)
        select tenant_id, id, 'question', 'prompt ' || n
        from g, generate_series(0, %s::integer - 1) n),
    m as (insert into rounds.members (tenant_id, group_id, user_id)
        select tenant_id, id, member from g, unnest(%s::text[]) member)
    select id from g
"""
MANY = """
    with g as (insert into rounds.groups (tenant_id, name)
        select 'acme', 'group ' || n from generate_series(1, %s) n returning *),
    s as (insert into rounds.group_settings (tenant_id, group_id, drop_time, zone)
        select tenant_id, id, '14:30', 'Europe/Paris' from g),
    p as (insert into rounds.group_prompts (tenant_id, group_id, type, title)
        select tenant_id, id, 'question', 'one' from g)
    select id from g order by id
"""
REFUSE = """
    create function public.refuse() returns trigger language plpgsql as $$
    begin
        if new.group_id = any ('{groups}'::bigint[]) or '{groups}' = '{{}}' then
            raise exception using errcode = '{code}', message = 'planted for ' || new.group_id;
        end if;
        return new;
    end $$;
    create trigger refuse before insert or update on rounds.daily_rounds
        for each row execute function public.refuse();
"""
REFUSE_NONE = "drop trigger refuse on rounds.daily_rounds; drop function public.refuse()"


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@dataclass
class Lending:
    """What a worker lends to its jobs: transactions, on a connection of its own if it has one."""

    engine: Engine
    conn: AsyncConnection[Any] | None = None
    settings: Settings = field(default_factory=Settings)

    @asynccontextmanager
    async def transaction(self, _seconds: float | None = None) -> AsyncIterator[AsyncConnection[Any]]:
        if self.conn is not None:
            async with transaction(self.conn) as conn:
                yield conn
            return
        async with self.engine.client.transaction() as conn:
            yield conn

    async def set_apart(self, job: Job) -> None:
        """Do nothing: a run is alone here."""


class Bare(Lending):
    """The context of a run without a job: plain transactions."""

    @property
    def log(self) -> FilteringBoundLogger:
        return get_logger("test")

    def fenced(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        return self.transaction()


@dataclass
class Town:
    """Groups of a tenant, jobs to run, and a clock."""

    engine: Engine
    urls: Urls
    settings: RoundsSettings = field(default_factory=lambda: RoundsSettings(set_size=50))

    async def at(self, text: str) -> None:
        """Stop the clock at a time."""
        await self.engine.clock.freeze(moment(text))

    async def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        cursor = await self.engine.admin.execute(statement.encode(), values or None)
        return await cursor.fetchall() if cursor.description else []

    async def value(self, statement: str, *values: object) -> Any:  # noqa: ANN401 - whatever SQL says
        ((value,),) = await self.rows(statement, *values)
        return value

    async def group(
        self,
        *,
        drop_time: str | None = "14:30",
        zone: str | None = "Europe/Paris",
        prompts: int = 10,
        members: Sequence[str] = ("ana", "ben"),
        tenant: str = TENANT,
        notifications: bool = True,
    ) -> int:
        """A group with its prompts and members."""
        return int(await self.value(GROUP, tenant, drop_time, zone, notifications, prompts, list(members)))

    async def many(self, count: int) -> list[int]:
        """Groups with one prompt each, and nobody in them."""
        return [row[0] for row in await self.rows(MANY, count)]

    @asynccontextmanager
    async def refusing(self, *groups: int, code: str = "P0001") -> AsyncIterator[None]:
        """Meanwhile the database writes no round of these groups; of any, if none is named."""
        ids = "{" + ",".join(map(str, groups)) + "}"
        await self.rows(REFUSE.format(groups=ids, code=code))
        try:
            yield
        finally:
            await self.rows(REFUSE_NONE)

    async def prompt(self, group: int, title: str, *, tenant: str = TENANT) -> int:
        return int(
            await self.value(
                "insert into rounds.group_prompts (tenant_id, group_id, type, title)"
                " values (%s, %s, 'question', %s) returning id",
                tenant,
                group,
                title,
            )
        )

    async def run(self, *jobs: str, seed: int = 0) -> list[Run]:
        """Runs of jobs, without the engine around them."""
        runs = []
        for job in jobs:
            run = Run(JobName(job), Bare(self.engine), self.settings, random.Random(seed))
            with flow(correlation=f"run-{job}"):
                await work_through(run)
            runs.append(run)
        return runs

    async def attempt(self, job: str, conn: AsyncConnection[Any] | None = None) -> None:
        """One attempt of a job, claimed and fenced as a worker's, to its end."""
        kind, admin = APP[f"rounds.{job}"], self.engine.admin
        await kind.enqueue(admin)
        worker = await workers.register(admin, "test", [kind.queue], [kind.name], 3600)
        (claimed,) = await claims.claim(admin, worker, kind.queue, 1, kinds=[kind.name])
        lent = Lending(self.engine, conn)
        await kind.handler(Context(claimed, cast("Services", lent)))

    async def create(self, **options: Any) -> Run:  # noqa: ANN401 - as run
        return (await self.run("create", **options))[0]

    async def open(self, **options: Any) -> Run:  # noqa: ANN401 - as run
        return (await self.run("open", **options))[0]

    async def close(self, **options: Any) -> Run:  # noqa: ANN401 - as run
        return (await self.run("close", **options))[0]

    async def rounds(self, group: int) -> dict[date, str]:
        found = await self.rows(
            "select scheduled_for_local_date, status from rounds.daily_rounds where group_id = %s order by 1", group
        )
        return dict(found)

    async def round_id(self, group: int, day: str) -> int:
        return int(
            await self.value(
                "select id from rounds.daily_rounds where group_id = %s and scheduled_for_local_date = %s", group, day
            )
        )

    async def events(self, type_: str = "rounds.opened") -> list[dict[str, Any]]:
        """The payloads of the events of a type, in order."""
        found = await self.rows("select payload from ostinato_data.event where type = %s order by id", type_)
        return [payload for (payload,) in found]

    async def opened_round(self, **options: Any) -> tuple[int, int]:  # noqa: ANN401 - as group
        """A group whose round of 2 June is open; the clock stands at its opening."""
        await self.at("2026-06-01T10:00:00Z")
        group = await self.group(**options)
        await self.create()
        await self.at("2026-06-02T12:30:00Z")
        await self.open()
        return group, await self.round_id(group, "2026-06-02")


@dataclass
class Api:
    """A running API, and the means to call it as anybody."""

    town: Town
    parts: Parts
    http: httpx.AsyncClient
    _keys: dict[tuple[str, str, str], str] = field(default_factory=dict)

    async def call(
        self,
        method: str,
        path: str,
        *,
        status: int = 200,
        tenant: str = TENANT,
        user: str = "olga",
        role: str = "organizer",
        headers: dict[str, str] | None = None,
        **options: Any,  # noqa: ANN401 - as httpx
    ) -> Any:  # noqa: ANN401 - the document of the answer
        """Ask as somebody; the answer must have this status."""
        known = (tenant, user, role)
        if known not in self._keys:
            async with self.town.engine.client.connection() as conn:
                made = await keys.create(conn, tenant_id=tenant, subject=user, roles=[role])
            self._keys[known] = made.key
        bearer = {"Authorization": f"Bearer {self._keys[known]}"} | (headers or {})
        path = f"/api/v1/rounds{path}"
        answer = await self.http.request(method, path, headers=bearer, **options)
        assert answer.status_code == status, answer.text
        is_json = answer.content and "json" in answer.headers["content-type"]
        return answer.json() if is_json else answer.text

    async def member(self, method: str, path: str, **options: Any) -> Any:  # noqa: ANN401 - as call
        return await self.call(method, path, **({"user": "ana", "role": "member"} | options))
