"""A client for one tenant: what it lends sees and adds that tenant's rows only.

acme = client.for_tenant("acme")
async with acme.transaction() as conn:      # row-level security shows rows of acme, no others
    await conn.execute(...)
    await send_invoice.enqueue(conn, invoice_id=7)

The tenant is a matter of each transaction, not of a connection: any number of tenants share the
connections of one client, and of one pooler behind it.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Unpack

from psycopg import AsyncConnection
from psycopg.rows import RowMaker, TupleRow

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.flow import current_correlation, flow
from ostinato._core.base.jsonio import dump_args
from ostinato._core.db.call import call_as
from ostinato._core.db.foreign import Lender
from ostinato._core.db.pool import transaction
from ostinato._core.engine import jobs, tenants
from ostinato._core.engine.ends import End
from ostinato._core.engine.jobs import NewJob
from ostinato._core.runtime.ends import JobHandle
from ostinato._core.runtime.handlers.kinds import MAX_ARGS_BYTES
from ostinato._core.runtime.handlers.options import Options, new_job, refuse_unknown

if TYPE_CHECKING:
    from psycopg._cursor_base import BaseCursor

    from ostinato._core.runtime.client import Client


class TenantClient:
    """A client that acts as one tenant. Made by `Client.for_tenant`."""

    def __init__(self, client: "Client", tenant_id: str, user_id: str | None = None, key_id: int | None = None) -> None:
        self.tenant_id = tenant_id
        self.user_id = user_id
        """Who acts for the tenant, if somebody: `app.current_user_id`."""
        self.key_id = key_id
        """The API key by which that is known, if one was used."""
        self._client = client

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction of the tenant; jobs that it adds wake idle workers when it committed."""
        with flow(tenant=self.tenant_id):
            async with self._client.transaction() as conn:
                await tenants.enter(conn, self.tenant_id, user_id=self.user_id, key_id=self.key_id)
                yield conn

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction of the tenant for what is only shown: on the replica, if there is one."""
        with flow(tenant=self.tenant_id):
            async with self._client.reading() as lent, transaction(lent) as conn:
                await tenants.enter(conn, self.tenant_id, user_id=self.user_id, key_id=self.key_id)
                yield conn

    async def call(self, function: str, /, *, _read: bool = False, **params: object) -> list[TupleRow]:
        """Call one SQL function that is a whole request, as the tenant, in one statement; return its rows.

        One round trip and its own commit, where `transaction` takes four. Such a function begins by entering the
        tenant (`docs/tenants.md`): it gets `as_tenant`, `as_correlation`, `as_user` and `as_key` beside `params`.
        If its last column is called `queues`, it has added jobs there, and idle workers wake. `_read` promises that
        it changes nothing, so a broken connection raises no `CommitUnknown`.
        """
        async with self._client.reading() if _read else self._client.connection() as conn:
            return await call_as(
                conn,
                _ringing_row,
                function,
                _read=_read,
                _seconds=self._client.settings.call_timeout_seconds,
                _loads=None,
                as_tenant=self.tenant_id,
                as_correlation=current_correlation(),
                as_user=self.user_id,
                as_key=self.key_id,
                **params,
            )

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """Return the same: there is no acting as a tenant outside of a transaction."""
        return self.transaction()

    async def enqueue(self, kind: str, args: Mapping[str, object] | None = None, **options: Unpack[Options]) -> int:
        """Add a job of the tenant by the name of its kind."""
        return await enqueue_named(self, kind, args, options)

    def job(self, job_id: int) -> JobHandle:
        """Return a job of the tenant, to be waited for."""
        return JobHandle(job_id, self)

    async def wait(self, job_id: int, timeout: float | None = None) -> End:  # noqa: ASYNC109 - as callers know it
        """Wait until a job of the tenant has ended, as `Client.wait` does."""
        return await self._client.ends.wait(self, job_id, timeout)

    async def result(self, job_id: int, timeout: float | None = None) -> Any:  # noqa: ANN401, ASYNC109 - as above
        """Wait for the result of a job of the tenant, as `Client.result` does."""
        return (await self.wait(job_id, timeout)).value()


def _ringing_row(cursor: "BaseCursor[Any, Any]") -> RowMaker[TupleRow]:
    """Make tuples, and note the queues that a last column `queues` names for the ring after the commit."""
    found = cursor.pgresult
    if found is None or found.fname(found.nfields - 1) != b"queues":
        return tuple

    def noted(values: Sequence[Any]) -> TupleRow:
        jobs.wake_after_commit(*(values[-1] or ()))
        return tuple(values)

    return noted


async def enqueue_named(to: Lender, kind: str, args: Mapping[str, object] | None, options: Options) -> int:
    """Add a job by the name of its kind; arguments that the kind has declared as secret are sealed."""
    refuse_unknown(kind, options)
    job = NewJob(kind, dump_args(dict(args or {}), MAX_ARGS_BYTES))
    try:
        async with to.connection() as conn:
            return await jobs.enqueue(conn, await new_job(conn, job, options))
    except InvalidInput as error:
        job = jobs.naming_secrets(job, error)
    async with to.connection() as conn:
        return await jobs.enqueue(conn, await new_job(conn, job, options))
