"""Locks a company: `company_enrichment:{siren}`, 120 s, renewed every 30 (M3C-lock-1 to 3).

It is one lease for all tenants, because they share a company. A run that takes it over after it
expired has a greater token, and the run before can write nothing any more: every transaction of a
run guards with the lease, and ends with the fence of the job. An attempt that fails does not give
the lock back: the next attempt of the same job takes it, or the next job if that one is dead, and
until then the company is RUNNING with it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg import AsyncConnection

from ostinato import Context, leases
from ostinato.apps.enrichment.rules import lock_name
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.errors import LeaseHeld, LeaseLost, NotFound
from ostinato.leases import Lease
from ostinato.observe import FilteringBoundLogger

LOCK_TENANT = "@enrichment"
"""Whose the locks are: nobody's, so that two tenants who ask for the same company meet."""
LIVE = ("ready", "scheduled", "running")


class Lock:
    """A lock that is held."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.lost = False
        self._beat: asyncio.Task[None] | None = None

    def check(self) -> None:
        """Raise `LeaseLost` if a heartbeat found that another one has it: call nobody any more."""
        if self.lost:
            raise LeaseLost(
                f"lease {self.lease.name!r} with token {self.lease.token} was taken over",
                name=self.lease.name,
                token=self.lease.token,
            )

    async def guard(self, conn: AsyncConnection[object]) -> None:
        """Hold it until the end of the transaction, or raise `LeaseLost`."""
        await leases.guard(conn, self.lease)

    async def give_back(self, conn: AsyncConnection[object]) -> None:
        """Release it in the transaction that ends the run."""
        await self.rest()
        await leases.release(conn, self.lease)

    def beat(self, ctx: Context, seconds: float, log: FilteringBoundLogger) -> None:
        """Renew it from now on, beside the run."""
        self._beat = asyncio.create_task(self._renew(ctx, seconds, log))

    async def rest(self) -> None:
        """Renew it no more."""
        if self._beat is not None:
            self._beat.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._beat
            self._beat = None

    async def _renew(self, ctx: Context, seconds: float, log: FilteringBoundLogger) -> None:
        while not self.lost:
            await asyncio.sleep(seconds)
            try:
                async with ctx.fenced() as conn:
                    await leases.renew(conn, self.lease)
                log.debug("lock_renewed", lease=self.lease.name)
            except LeaseLost:
                self.lost = True
                log.warning("lock_lost", lease=self.lease.name)
            except Exception as error:  # noqa: BLE001 - the database is away: the next beat will show
                log.warning("lock_not_renewed", error_message=type(error).__name__)


@asynccontextmanager
async def locked(
    ctx: Context, siren: str, settings: EnrichmentSettings, log: FilteringBoundLogger
) -> AsyncIterator[Lock]:
    """Hold the lock of a company, or raise `LeaseHeld`; a run that ends well gives it back."""
    got = await _acquire(ctx, siren, settings)
    if isinstance(got, LeaseHeld) and await _take_from_the_dead(ctx, siren):
        got = await _acquire(ctx, siren, settings)
    if isinstance(got, LeaseHeld):
        raise got
    lock = Lock(got)
    lock.beat(ctx, settings.lock_heartbeat_seconds, log)
    try:
        yield lock
    finally:
        await lock.rest()


async def _acquire(ctx: Context, siren: str, settings: EnrichmentSettings) -> Lease | LeaseHeld:
    holder = f"{ctx.job.kind} {ctx.job.id} attempt {ctx.job.attempt}"
    async with ctx.fenced() as conn:
        try:
            return await leases.acquire(
                conn,
                lock_name(siren),
                holder=holder,
                ttl=settings.lock_ttl_seconds,
                job_id=ctx.job.id,
                tenant=LOCK_TENANT,
            )
        except LeaseHeld as error:  # that we asked is noted, so this transaction commits
            return error


async def _take_from_the_dead(ctx: Context, siren: str) -> bool:
    """End the lock of an earlier attempt of this very job, or of a job that is over; return whether it did.

    The engine has declared its holder gone: that one cannot commit any more, and nobody has to wait
    until its lock expires.
    """
    async with ctx.fenced() as conn:
        try:
            held = await leases.show_lease(conn, lock_name(siren), tenant=LOCK_TENANT)
        except NotFound:
            return True
        ours = held.job_id == ctx.job.id
        if held.job_id is None or (held.job_state in LIVE and not ours):
            return False
        lease = Lease(held.name, LOCK_TENANT, held.token, held.attempt, None, "time")
        return await leases.release(conn, lease)
