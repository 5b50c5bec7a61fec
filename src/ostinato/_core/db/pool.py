"""Connections with safe defaults, a pool of them, and transactions whose outcome is reported.

The defaults notice a dead server in seconds instead of hours (`connect_timeout`, keepalives,
`tcp_user_timeout`); what the URL sets takes precedence. The application timeout around every round
trip (`guard.py`) notices a frozen server.
"""

import contextlib
import logging
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from typing import Any, Self, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import Diagnostic
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ostinato._core.base.errors import CommitUnknown, NotConfigured
from ostinato._core.base.log import get_logger
from ostinato._core.base.vault import Vault
from ostinato._core.db.guard import CALL_SECONDS, Guard, ThreadGuard, can_only_read, is_open
from ostinato._core.db.idle import lost
from ostinato._core.db.limit import StatementLimit, limited
from ostinato._core.db.sqlstate import belongs_to_us, is_lost, translate, translated

log = get_logger("pool")

T = TypeVar("T")


DEFAULTS: dict[str, Any] = {
    "connect_timeout": 3,
    "tcp_user_timeout": 8000,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
IDLE_SECONDS = 5.0  # a connection that was idle for longer is checked before it is used
PING_SECONDS = 3.0
# The pool doubles its pauses without bound. We let it give up early instead, and reconnect it.
RECONNECT_SECONDS = 2.5
SCHEME = re.compile(r"(?P<name>[a-z][a-z0-9+.-]*)://", re.IGNORECASE)
QUOTED = re.compile(r'"[^"]*"')
EXAMPLE = "For example postgresql://user:password@host:5432/name"
MOVED = (
    "A failover. Nothing is lost if commits waited for the standby (synchronous_standby_names); otherwise the last ones"
    " before it may be."
)


class Connection(AsyncConnection[TupleRow]):
    """A connection to PostgreSQL; rows are tuples."""

    rested_since: float = 0.0
    """When it was last given back to its pool."""
    statement_seconds: float | None = None
    """The longest time that one statement may take; see `limit`."""
    vault: Vault | None = None
    """What seals the secrets that are written on it: that of the process which opened it."""
    acting: tuple[str, str | None] | None = None
    """Who acts through it and why, for the audit: each call that writes says so; see `call`."""

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as psycopg
        super().__init__(*args, **options)
        self.spare_cursors: list[AsyncCursor[Any]] = []
        """At most one cursor, kept for the next call: see `call`."""
        self.farewell: str | None = None
        """The SQLSTATE with which the server ended the session while nothing was asked."""
        self.add_notice_handler(self._hear)

    def _hear(self, notice: Diagnostic) -> None:
        if notice.severity_nonlocalized == "FATAL":
            self.farewell = notice.sqlstate

    async def wait(self, gen: PQGen[T], *args: Any, **options: Any) -> T:  # noqa: ANN401 - as psycopg
        """Run one round trip, within the limit if there is one."""
        if self.statement_seconds is None:
            return await super().wait(gen, *args, **options)
        with StatementLimit(self, self.statement_seconds):
            return await super().wait(gen, *args, **options)


def conninfo(url: str, role: str = "client") -> str:
    """Return the connection string for a URL, with our defaults for what it does not set."""
    if (scheme := SCHEME.match(url)) and scheme["name"] not in {"postgresql", "postgres"}:
        plain = scheme["name"].partition("+")[0]
        hint = "Leave the driver of SQLAlchemy out: postgresql://…" if plain.startswith("postgres") else EXAMPLE
        raise NotConfigured(f"The database URL begins with {scheme[0]} instead of postgresql://", hint=hint)
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        said = QUOTED.sub("…", str(error)).strip()  # libpq quotes what it read, a password too
        raise NotConfigured(f"The database URL cannot be read: {said}", hint=EXAMPLE) from None
    defaults = DEFAULTS | {"application_name": f"ostinato/{role}"}
    if len(_hosts(given)) > 1:
        defaults["target_session_attrs"] = "read-write"
    return make_conninfo("", **(defaults | given))


async def connect(url: str, *, role: str = "client", pooled: bool = False, autocommit: bool = True) -> Connection:
    """Open one connection. `pooled` means through a transaction pooler such as PgBouncer."""
    with translated():
        return await Connection.connect(conninfo(url, role), autocommit=autocommit, **_session(pooled=pooled))


class Pool:
    """A pool of connections to one database, or to whichever of its hosts is the primary."""

    def __init__(
        self,
        url: str,
        *,
        role: str = "client",
        pooled: bool = False,
        min_size: int = 1,
        max_size: int = 10,
        spares: int | None = None,
        patient: bool = False,
        seconds: float = CALL_SECONDS,
        vault: Vault | None = None,
        reads: bool = False,
    ) -> None:
        """`reads` says that its server may be a standby."""
        # The pool logs every failed attempt; we log only the beginning and the end of an outage.
        logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
        self.url = url
        self.seconds = seconds
        """How long to wait for a connection, and for one round trip on it."""
        self._vault = vault
        self._conninfo = conninfo(url, role)
        self._several = len(_hosts(conninfo_to_dict(self._conninfo))) > 1 and not reads
        self._reads = reads
        self._last_good: tuple[str, str] | None = None
        self._out_since: float | None = None
        self._spares: list[Connection] = []
        self._most_spares = min_size if spares is None else min(spares, max_size)
        """How many of the connections that were returned are lent again without the pool."""
        self._waiting = 0
        self._patient = patient
        """Whether to wait on while others get connections: the pool is busy, and not cut off."""
        self._lent = 0
        self._pool = AsyncConnectionPool(
            self._last_good_first,
            connection_class=Connection,
            kwargs={"autocommit": True, **_session(pooled=pooled)},
            min_size=min_size,
            max_size=max_size,
            open=False,
            configure=self._connected,
            check=self._check,
            reset=self._rest,
            timeout=seconds,
            reconnect_timeout=RECONNECT_SECONDS,
            reconnect_failed=self._failed,
        )

    async def open(self) -> Self:
        """Start connecting. Returns at once: an unreachable database is reported on first use."""
        await self._pool.open()
        return self

    async def close(self) -> None:
        """Close all connections."""
        while self._spares:
            await self._pool.putconn(self._spares.pop())
        await self._pool.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def connection(self, seconds: float | None = None) -> "Loan":
        """Lend a connection, in autocommit, waiting at most `seconds` for a free one."""
        return Loan(self, self.seconds if seconds is None else seconds)

    async def lend(self, seconds: float) -> Connection:
        """Hand out a connection, waiting at most `seconds` for a free one."""
        return await self._spare() or await self._take(seconds)

    async def _spare(self) -> Connection | None:
        """Return a connection that was returned just now, if any: cheaper than going through the pool."""
        while self._spares:
            conn = self._spares.pop()
            try:
                await self._check(conn)
            except (psycopg.Error, OSError):
                await self._pool.putconn(conn)
            else:
                return conn
        return None

    async def give_back(self, conn: Connection) -> None:
        """Take back a connection that was lent."""
        idle = conn.pgconn.transaction_status == TransactionStatus.IDLE
        if self.is_demoted(conn):
            await conn.close()
            idle = False
        if idle and not self._waiting and len(self._spares) < self._most_spares:
            await self._rest(conn)
            self._spares.append(conn)
        else:
            await self._pool.putconn(conn)

    def is_demoted(self, conn: Connection) -> bool:
        """Return whether its server can only read by now, and another host may be the primary."""
        return self._several and can_only_read(conn)

    async def _take(self, seconds: float) -> Connection:
        give_up, lent = time.monotonic() + seconds, self._lent
        self._waiting += 1
        try:
            while True:
                piece = min(RECONNECT_SECONDS, max(0.0, give_up - time.monotonic()))
                try:
                    conn = await self._pool.getconn(timeout=piece)
                except PoolTimeout as error:
                    if self._patient and self._lent > lent:
                        give_up, lent = time.monotonic() + seconds, self._lent
                    elif time.monotonic() >= give_up:
                        raise translate(error) from error
                except (psycopg.Error, OSError) as error:
                    raise translate(error) from error
                else:
                    self._lent += 1
                    return conn
        finally:
            self._waiting -= 1

    async def _connected(self, conn: Connection) -> None:
        host = (conn.info.host, str(conn.info.port))
        if self._last_good not in (None, host) and not self._reads:
            log.warning("database_moved", to=":".join(host), hint=MOVED)
        self._last_good = host
        if self._out_since is not None:
            log.warning("database_back", after_seconds=round(time.monotonic() - self._out_since, 1))
            self._out_since = None
        conn.vault = self._vault
        await self._rest(conn)

    async def _failed(self, _: AsyncConnectionPool[Connection]) -> None:
        if self._out_since is None and not self._reads:
            self._out_since = time.monotonic()
            log.warning("database_unreachable", hint="Trying on; `ostinato doctor` may know why.")

    async def _check(self, conn: Connection) -> None:
        if not is_open(conn):
            raise psycopg.OperationalError("the connection was closed while it rested")
        if time.monotonic() - conn.rested_since > IDLE_SECONDS:
            with Guard(conn, PING_SECONDS):
                await AsyncConnectionPool.check_connection(conn)

    async def _rest(self, conn: Connection) -> None:
        conn.rested_since = time.monotonic()

    def _last_good_first(self) -> str:
        """Put the host that answered last first: a dead one costs a timeout per connection."""
        given = conninfo_to_dict(self._conninfo)
        hosts = _hosts(given)
        if self._last_good not in hosts:
            return self._conninfo
        hosts.sort(key=lambda host: host != self._last_good)
        names, ports = zip(*hosts, strict=True)
        return make_conninfo("", **(given | {"host": ",".join(names), "port": ",".join(ports)}))


class Loan(AbstractAsyncContextManager[Connection]):
    """Lends a connection for a block. A class: a generator would cost a single call more."""

    __slots__ = ("_conn", "_pool", "_seconds")

    def __init__(self, pool: Pool, seconds: float) -> None:
        self._pool = pool
        self._seconds = seconds

    async def __aenter__(self) -> Connection:
        self._conn = await self._pool.lend(self._seconds)
        return self._conn

    async def __aexit__(self, *_: object) -> None:
        await self._pool.give_back(self._conn)


@asynccontextmanager
async def transaction(
    source: Pool | AsyncConnection[Any], *, seconds: float = CALL_SECONDS, statement_seconds: float | None = None
) -> AsyncIterator[AsyncConnection[Any]]:
    """Open a transaction on a connection, or on one lent by a pool.

    It is committed at the end of the block. When the block raises, it is rolled back. When the
    connection breaks or stays silent before the commit is sent, `DatabaseUnavailable`; after
    that, or when the server stopped waiting for a synchronous standby, `CommitUnknown`. Errors
    of the caller's own statements (a broken constraint, say) pass through as psycopg raised them.
    `statement_seconds` limits each statement of the block on a connection of ours (`limit`).
    """
    if isinstance(source, Pool):
        async with (
            source.connection() as conn,
            transaction(conn, seconds=source.seconds, statement_seconds=statement_seconds),
        ):
            yield conn
        return
    if source.pgconn.transaction_status == TransactionStatus.INTRANS:
        async with source.transaction():  # a savepoint: the outer transaction decides
            yield source
        return
    block = source.transaction()
    with translated(), Guard(source, seconds):
        await block.__aenter__()
    try:
        with limited(source, statement_seconds) if isinstance(source, Connection) else nullcontext():
            yield source
    except BaseException as error:
        with Guard(source, seconds):
            handled = await block.__aexit__(type(error), error, error.__traceback__)
        if isinstance(error, psycopg.Error) and belongs_to_us(error):
            raise translate(error) from error
        if not handled:  # psycopg.Rollback only ends the block
            raise
    else:
        await _commit(source, block, seconds)


async def _commit(conn: AsyncConnection[Any], block: AbstractAsyncContextManager[Any], seconds: float) -> None:
    if not is_open(conn):
        with contextlib.suppress(psycopg.Error):
            await block.__aexit__(None, None, None)
        raise lost(conn, "the commit: nothing was changed")
    with Guard(conn, seconds) as guard, reported(guard):
        await block.__aexit__(None, None, None)


@contextmanager
def reported(guard: Guard | ThreadGuard) -> Iterator[None]:
    """Report how a commit ended: as `CommitUnknown` when the server may have done it without a word of it."""
    try:
        yield
    except psycopg.Error as error:
        if guard.expired:
            raise _unknown_commit(f"no answer within {guard.seconds:g} s") from error
        if is_lost(error):
            raise _unknown_commit(str(error).strip()) from error
        if belongs_to_us(error):
            raise translate(error) from error
        raise
    if guard.unreplicated:
        raise _unknown_commit("the wait for a synchronous standby was cancelled")


def _session(*, pooled: bool) -> dict[str, Any]:
    # A prepared statement lives on a server connection, which the pooler gives to another client.
    return {"prepare_threshold": None} if pooled else {}


def _hosts(given: dict[str, Any]) -> list[tuple[str, str]]:
    names = str(given.get("host") or "").split(",")
    ports = str(given.get("port") or "5432").split(",")
    if len(ports) == 1:
        ports *= len(names)
    return list(zip(names, ports, strict=False))


def _unknown_commit(why: str) -> CommitUnknown:
    """Return the error for a commit that may or may not have taken effect."""
    return CommitUnknown(f"Whether the transaction was committed is not known: {why}.")
