"""What the tests of enrichment speak: ask for companies, run what is to run, look at what came."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import psycopg

from ostinato import Worker
from ostinato.apps.enrichment.sandbox import Registers
from ostinato.lab.sandbox.running import Running
from tests.api.conftest import Api
from tests.apps.enrichment.turning import Deadlines
from tests.runtime.lab import Lab
from tests.waiting import until_async

ALL_FINE = "999000003"
# Made before a worker makes them beside what the test adds: who inserts then has to try again.
PARTITIONS = "select ostinato.upkeep_partitions(1000), ostinato.upkeep_logs(1000)"


@dataclass
class Place:
    """A running API, a database, and the sources."""

    api: Api
    lab: Lab
    sources: Running

    def worker(self, **settings: object) -> AbstractAsyncContextManager[Worker]:
        """A worker that runs enrichment; it is patient, because this machine may be busy."""
        chosen: dict[str, object] = {"expiry_seconds": 20.0, "beat_seconds": 1.0} | settings
        return self.lab.worker(queues=None, **chosen)

    async def post(
        self,
        siren: str | None = None,
        *,
        tenant: str = "acme",
        roles: tuple[str, ...] = ("agency_user",),
        headers: dict[str, str] | None = None,
        **body: Any,  # noqa: ANN401 - JSON
    ) -> httpx.Response:
        """Ask for a company."""
        given = ({} if siren is None else {"siren": siren}) | body
        return await self.api.call("POST", "/v1/requests", tenant=tenant, roles=roles, headers=headers, json=given)

    async def get(
        self, request_id: str, *, tenant: str = "acme", roles: tuple[str, ...] = ("agency_user",), query: str = ""
    ) -> httpx.Response:
        """Open a request."""
        path = f"/v1/requests/{request_id}{query}"
        return await self.api.call("GET", path, tenant=tenant, roles=roles)

    async def refresh(
        self,
        request_id: str,
        *,
        tenant: str = "acme",
        roles: tuple[str, ...] = ("agency_user",),
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        """Refresh the company of a request by hand."""
        path = f"/v1/requests/{request_id}:refresh-company"
        return await self.api.call("POST", path, tenant=tenant, roles=roles, headers=headers)

    async def made(
        self,
        siren: str | None = ALL_FINE,
        *,
        tenant: str = "acme",
        **body: Any,  # noqa: ANN401 - JSON
    ) -> str:
        """The id of a request that was just made."""
        answer = await self.post(siren, tenant=tenant, **body)
        assert answer.status_code in (201, 202), answer.text
        request_id: str = answer.json()["request"]["id"]
        return request_id

    async def ended(self, siren: str = ALL_FINE) -> str:
        """Wait until nobody is at a company; its state."""
        await self.lab.until("select job_id is null from enrichment.company where siren = %s", siren)
        return await self.status(siren)

    async def asleep(self, siren: str = ALL_FINE) -> None:
        """Wait until the job of a company sleeps: it is held by nobody, and costs nothing; one that ends never will."""
        sleeps = (
            "exists (select from ostinato_data.scheduled s where s.job_id = c.job_id and s.reason = 'snooze')"
            " from enrichment.company c where c.siren = %s"
        )
        await self.lab.until(f"select c.job_id is null or {sleeps}", siren)
        assert await self.lab.value(f"select {sleeps}", siren), f"{siren} has ended"

    async def enriched(self, siren: str = ALL_FINE, *, tenant: str = "acme") -> str:
        """Ask for a company and wait for it; the id of the request."""
        async with self.worker():
            request_id = await self.made(siren, tenant=tenant)
            await self.ended(siren)
        return request_id

    @asynccontextmanager
    async def gate(self, source: str = "INPI_RNE") -> AsyncIterator[None]:
        """While the block runs, no run gets its turn at a source: it stops right before that."""
        url = self.lab.engine.database.admin_url
        async with await psycopg.AsyncConnection.connect(url) as conn:
            await conn.execute("select from enrichment.source where source_api = %s for update", [source])
            yield

    @asynccontextmanager
    async def failing_once(self) -> AsyncIterator[None]:
        """The first attempt that has its lock fails before it is RUNNING; the next one comes soon.

        It is waited for at the end of the block, in which a worker runs.
        """
        await self.lab.rows("create sequence public.tries")
        await self.lab.rows("grant usage on sequence public.tries to public")
        await self.lab.rows(
            "create function public.fail_once() returns trigger language plpgsql as $$ begin"
            " if nextval('public.tries') = 1 then raise 'for once'; end if; return new; end $$"
        )
        await self.lab.rows(
            "create trigger fail_once before update of enrichment_status on enrichment.company"
            " for each row execute function public.fail_once()"
        )
        try:
            yield
            await self.lab.until("select exists (select from ostinato_data.outcome where outcome = %s)", "failed")
            await self.lab.engine.clock.move(timedelta(seconds=5))  # past the delay
        finally:
            await self.lab.rows("drop function public.fail_once() cascade")
            await self.lab.rows("drop sequence public.tries")

    async def timed_out(self, deadlines: Deadlines, path: str) -> None:
        """Wait until a call is under way that its source does not answer, and let its time be over: three times."""
        for count in (1, 2, 3):
            await until_async(lambda n=count: len(self.calls(path)) == n)  # type: ignore[misc]
            deadlines.end()

    async def running(self, siren: str = ALL_FINE) -> None:
        """Wait until a company runs."""
        await self.lab.until("select enrichment_status = 'RUNNING' from enrichment.company where siren = %s", siren)

    async def status(self, siren: str = ALL_FINE) -> str:
        found: str = await self.lab.value("select enrichment_status from enrichment.company where siren = %s", siren)
        return found

    async def company(self, siren: str = ALL_FINE) -> dict[str, Any]:
        found: dict[str, Any] = await self.lab.value(
            "select to_jsonb(c) from enrichment.company c where siren = %s", siren
        )
        return found

    async def events(self, *columns: str, siren: str | None = None) -> list[tuple[Any, ...]]:
        """What was told, in order: type and payload, or these columns."""
        shown = ", ".join(columns or ("type", "payload"))
        return await self.lab.rows(
            f"select {shown} from ostinato_data.event"  # noqa: S608 - names of columns
            " where %s::text is null or payload ->> 'company_siren' = %s order by id",
            siren,
            siren,
        )

    async def types(self, siren: str | None = None) -> list[str]:
        return [row[0].removeprefix("CompanyEnrichment") for row in await self.events(siren=siren)]

    async def jobs(self) -> int:
        found: int = await self.lab.value("select count(*) from ostinato_data.job where kind = 'enrichment.enrich'")
        return found

    async def pass_days(self, days: float) -> None:
        """Let the engine's time pass."""
        await self.lab.engine.clock.move(timedelta(days=days))
        await self.lab.rows(PARTITIONS)

    @property
    def registers(self) -> Registers:
        """The stand-in for the sources."""
        (standing,) = self.sources.sandbox.standing
        assert isinstance(standing, Registers)
        return standing

    async def completed(self) -> dict[str, int]:
        """By which number each tenant was told that a run ended; each is told once."""
        told = await self.events("tenant_id", "type", "(payload ->> 'job_id')::bigint")
        found = [(tenant, job) for tenant, kind, job in told if kind.endswith("Completed")]
        assert len(found) == len(dict(found)), found
        return dict(found)

    async def last_job(self) -> int:
        """The id of the newest run."""
        found: int = await self.lab.value("select max(id) from ostinato_data.job where kind = 'enrichment.enrich'")
        return found

    def calls(self, pattern: str = "") -> list[str]:
        """The paths that the sources were asked at."""
        return [call.path for call in list(self.sources.faults.calls) if pattern in call.path]
