"""A lease is held for the length of a block: acquired, renewed, checked before effects, released.

    async with leases.hold(client, "import:acme", ttl=30) as lease:
        async with client.transaction() as conn:
            await lease.guard(conn)              # or LeaseLost, and nothing is written
            ...

In a job, hold it with the context, and it ends with the attempt: no renewals, because the worker's
beat already shows that the attempt lives, and none that a handler could keep from happening.

    async with leases.hold(ctx, "import:acme") as lease: ...

`LeaseHeld` says who has it and until when; a job then returns `Snooze(…)`. The verbs one by one
are in `ostinato._core.engine.leases`.
"""

import asyncio
import contextlib
import os
import platform
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, ParamSpec

from psycopg import AsyncConnection

from ostinato._core.base.errors import LeaseLost, OstinatoError
from ostinato._core.base.log import get_logger
from ostinato._core.db.foreign import Lender, Target, connection_of
from ostinato._core.engine import leases
from ostinato._core.engine.leases import Attached, Lease
from ostinato._core.runtime.handlers.context import Context, Services, SyncContext
from ostinato._core.runtime.handlers.kinds import JobKind

P = ParamSpec("P")

TTL_SECONDS = 30.0
RETRY_SECONDS = 1.0

log = get_logger("leases")


class HeldLease:
    """A lease that is held. Made by `hold`."""

    def __init__(self, lender: Lender, lease: Lease, ttl: float, asked: float) -> None:
        self.lease = lease
        self.lost = asyncio.Event()
        """Set when the database said that another one has it: stop, and write nothing."""
        self._lender = lender
        self._ttl = ttl
        self._asked = asked

    @property
    def name(self) -> str:
        """Its name."""
        return self.lease.name

    @property
    def token(self) -> int:
        """The fencing token, for other systems: they refuse one that is smaller than the last."""
        return self.lease.token

    @property
    def attempt(self) -> int:
        """The attempt: 1 if the lease was free, one more for each holder in a row that did not release it."""
        return self.lease.attempt

    @property
    def is_sure(self) -> bool:
        """Whether no other holder can have it yet, by our own clock: the last renewal is recent enough."""
        margin = max(self._ttl / 10, min(1.0, self._ttl / 3))
        in_time = time.monotonic() - self._asked < self._ttl - margin
        return not self.lost.is_set() and (in_time or self.lease.lifetime != "time")

    def check(self) -> None:
        """Raise `LeaseLost` unless this process certainly holds it; for use before an effect outside the database."""
        if not self.is_sure:
            raise self._gone()

    async def guard(self, conn: AsyncConnection[Any]) -> None:
        """Hold it until the end of this connection's transaction, or raise `LeaseLost`."""
        if self.lost.is_set():
            raise self._gone()
        try:
            await leases.guard(conn, self.lease)
        except LeaseLost:
            self.lost.set()
            raise

    async def keep(self) -> None:
        """Renew it until it is lost; `hold` runs this beside the block."""
        pause = self._ttl / 3
        while not self.lost.is_set():
            await asyncio.sleep(pause)
            asked = time.monotonic()
            try:
                async with self._lender.connection() as conn:
                    await leases.renew(conn, self.lease)
            except LeaseLost as error:
                log.warning("lease_lost", lease=self.name, holder=error.values.get("holder"))
                self.lost.set()
            except Exception as error:  # noqa: BLE001 - a lease that nobody renews is lost
                # The database is away, and so is everybody else: it gives us time to come back.
                log.warning("lease_not_renewed", lease=self.name, error=str(error))
                pause = min(RETRY_SECONDS, self._ttl / 3)
            else:
                self._asked = asked
                pause = self._ttl / 3

    async def give_back(self) -> None:
        """Release it. When the database cannot be reached, it ends by itself."""
        if self.lease.lifetime == "job":
            return  # it is the job's, and ends with it
        try:
            async with self._lender.connection() as conn:
                released = await leases.release(conn, self.lease)
        except OstinatoError as error:
            log.warning("lease_not_released", lease=self.name, error=error.message)
            return
        # With an attempt that ended inside the block its lease was free, and may be another's.
        if not released and self.lease.lifetime == "time":
            self.lost.set()

    def _gone(self) -> LeaseLost:
        return LeaseLost(
            f"lease {self.name!r} with token {self.token} is not surely held any more",
            hint="Stop, and write nothing more outside; guard what you write in the database.",
            name=self.name,
            token=self.token,
        )


@asynccontextmanager
async def hold(
    source: Lender | Context,
    name: str,
    *,
    ttl: float = TTL_SECONDS,
    job: Context | None = None,
    holder: str | None = None,
    tenant: str | None = None,
) -> AsyncIterator[HeldLease]:
    """Hold a lease for a block, or raise `LeaseHeld`.

    With a client or a pool it is renewed every third of `ttl` seconds, beside the block. With the
    context of a job, as the source or as `job`, it lives as long as this attempt is held. Raises
    `LeaseLost` at the end of a block during which another one has taken it over.
    """
    if isinstance(source, Context):
        job = source
    lender = _OfJob(source._services) if isinstance(source, Context) else source  # noqa: SLF001 - as SyncContext does
    whose = holder or (f"{platform.node()}-{os.getpid()}" if job is None else _title(job))
    binding: dict[str, Any] = {"ttl": ttl, "tenant": tenant}
    if job is not None:
        await job.set_apart()  # a guard holds the job for as long as its transaction lasts
        attempt = {"job_id": job.job.id, "job_attempt": job.job.attempt}
        binding = {"tenant": tenant or job.job.tenant_id, **attempt}
    asked = time.monotonic()
    async with lender.connection() as conn:
        lease = await leases.acquire(conn, name, holder=whose, **binding)
    held = HeldLease(lender, lease, ttl, asked)
    renewing = None if job is not None else asyncio.create_task(held.keep())
    try:
        yield held
    finally:
        if renewing is not None:
            renewing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await renewing
        await held.give_back()
    if held.lost.is_set():
        raise held._gone()  # noqa: SLF001 - a sentence of our own


@contextmanager
def hold_now(ctx: SyncContext, name: str, *, holder: str | None = None) -> Iterator[Lease]:
    """Hold a lease in a plain function, as `hold` does; it ends with this attempt.

    Guard your writes with `engine.leases.guard_now(conn, lease)`.
    """
    job, services = ctx.job, ctx._ctx._services  # noqa: SLF001 - as SyncContext does
    binding = {"job_id": job.id, "job_attempt": job.attempt, "tenant": job.tenant_id}
    ctx._set_apart()  # noqa: SLF001 - as `hold` does
    with services.transaction_in_thread() as conn:
        lease = leases.acquire_now(conn, name, holder=holder or _title(ctx), **binding)
    try:
        yield lease
    finally:
        if lease.lifetime != "job":
            try:
                with services.transaction_in_thread() as conn:
                    leases.release_now(conn, lease)
            except OstinatoError as error:  # it ends with the attempt
                log.warning("lease_not_released", lease=name, error=error.message)


async def enqueue_or_attach(to: Target, name: str, kind: JobKind[P], /, *args: P.args, **kwargs: P.kwargs) -> Attached:
    """Add a job that has the lease until it ends, or join the one that has it.

    Raises `LeaseHeld` when it is held by no job.
    """
    text = kind.arguments.dump(args, kwargs)
    async with connection_of(to) as conn:
        return await leases.enqueue_or_attach(conn, name, await kind.new(conn, text))


class _OfJob:
    """Connections of a job's worker, each in a transaction of its own."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        return self._services.transaction()


def _title(job: Context | SyncContext) -> str:
    return f"{job.job.kind} {job.job.id} attempt {job.job.attempt}"[:200]
