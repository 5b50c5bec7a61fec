"""A replica serves what is only shown: a page, a list, a figure; never a decision.

    shown, lag = await showing(work)            # lag: seconds behind; None: it was read from the primary

`work` reads through `client.reading()`, which lends a connection of the replica while `showing` runs it. What may go
wrong, and what then:

- The replica is away, or too far behind (`read_lag_seconds`): the primary is read, which the log says once.
- It was promoted: it is a replica no longer, and not read. What follows the primary is `database_url`, with both hosts.
- It is a copy of another server: not read either.
- A query fails there, or finds nothing (what was written a moment ago is still on its way): `work` is done again on the
  primary. So `work` can be repeated; it is, at most, once.

Its connections only read (`default_transaction_read_only`), also once it has been promoted.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Self, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ostinato._core.base.errors import DatabaseUnavailable, OstinatoError
from ostinato._core.base.log import get_logger
from ostinato._core.base.settings import Settings
from ostinato._core.db.pool import Loan, Pool, conninfo
from ostinato._core.engine import observe

log = get_logger("replica")

T = TypeVar("T")

CHECK_SECONDS = 1.0
ANSWER_SECONDS = 1.0  # the primary is asked then
READ_ONLY = "-c default_transaction_read_only=on"
# What says where a server is; the rest of a URL (role, password, database, certificates) stays the primary's.
PLACE = ("host", "hostaddr", "port", "target_session_attrs", "load_balance_hosts")
HINT = "Pages, lists and figures are read from the primary meanwhile."


class Reading:
    """One piece of work that may be shown from a replica."""

    __slots__ = ("lag", "replica")

    def __init__(self) -> None:
        self.replica: Replica | None = None
        """The one that was read from."""
        self.lag: float | None = None
        """How many seconds it was behind."""


_current: ContextVar[Reading | None] = ContextVar("ostinato_reading", default=None)


class Replica:
    """A pool of connections to a standby, and whether it may be read."""

    def __init__(self, url: str, primary: Pool, settings: Settings, *, role: str, most: int, pooled: bool) -> None:
        """`url` is the primary's; what `read_url` names takes its place."""
        self.most_behind = settings.read_lag_seconds
        self._primary = primary
        self._system: str | None = None
        self._said = ""
        self._watching: asyncio.Task[None] | None = None
        self.lag: float | None = None
        """How many seconds it is behind; None: it is not read."""
        self.pool = Pool(
            read_url(url, settings.read_url or "", pooled=pooled),
            role=role,
            pooled=pooled,
            max_size=most,
            seconds=settings.call_timeout_seconds,
            vault=settings.vault,
            reads=True,
        )

    async def __aenter__(self) -> Self:
        await self.pool.open()
        self._watching = asyncio.create_task(self._watch(), name="replica")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await self.pool.close()

    async def check(self) -> None:
        """Ask whether it may be read, and how far it is behind."""
        try:
            if self._system is None:
                async with self._primary.connection(ANSWER_SECONDS) as conn:
                    self._system = (await observe.replication(conn)).system
            async with self.pool.connection(ANSWER_SECONDS) as conn:
                found = await observe.replication(conn)
        except (OstinatoError, psycopg.Error, OSError) as error:
            self._leave("replica_away", error=str(error).partition("\n")[0])
            return
        if found.system != self._system:
            self._leave("replica_of_another_server")
        elif not found.is_replica:
            self._leave("replica_promoted")
        elif found.lag > self.most_behind:
            self._leave("replica_lags", seconds=round(found.lag, 1))
        else:
            self.lag = found.lag
            if self._said:
                log.warning("replica_back", behind_seconds=round(found.lag, 1))
                self._said = ""

    def doubt(self, error: BaseException) -> None:
        """Note what went wrong there: one that does not answer is not read until it was asked again."""
        if isinstance(error, DatabaseUnavailable):
            self._leave("replica_away", error=error.message)

    def _leave(self, why: str, **more: object) -> None:
        self.lag = None
        if self._said != why:
            self._said = why
            log.warning(why, hint=HINT, **more)

    async def _watch(self) -> None:
        while True:
            await self.check()
            await asyncio.sleep(CHECK_SECONDS)


def read_url(primary: str, replica: str, *, pooled: bool = False) -> str:
    """Return how the replica is reached: the primary's URL, with what the replica's says in its place."""
    given = conninfo_to_dict(conninfo(replica))
    named = conninfo_to_dict(replica)
    base: dict[str, Any] = {name: value for name, value in conninfo_to_dict(primary).items() if name not in PLACE}
    if "," in str(given.get("host", "")):
        base["target_session_attrs"] = "prefer-standby"
    if not pooled:  # a pooler takes no options; a standby refuses writes by itself
        base["options"] = f"{base.get('options', '')} {READ_ONLY}".strip()
    return make_conninfo("", **(base | named))


def to_read(replica: Replica | None, primary: Pool) -> Loan:
    """Lend a connection to read from: the replica's, where the work may be behind and the replica is well."""
    reading = _current.get()
    if reading is None or replica is None or replica.lag is None:
        return primary.connection()
    reading.replica = replica
    reading.lag = max(replica.lag, reading.lag or 0.0)
    return replica.pool.connection(ANSWER_SECONDS)


def current_lag() -> float | None:
    """Return how many seconds behind what was read so far is; None: it is the primary's."""
    reading = _current.get()
    return None if reading is None else reading.lag


def lacks_for(replica: Replica | None) -> float:
    """Return for how many seconds after it was done something may be missing in what is shown."""
    return 0.0 if replica is None else replica.most_behind + CHECK_SECONDS


async def from_primary(work: Callable[[], Awaitable[T]]) -> T:
    """Do work that must show what was just done, also within work that may be shown from the replica."""
    token = _current.set(None)
    try:
        return await work()
    finally:
        _current.reset(token)


async def showing(work: Callable[[], Awaitable[T]]) -> tuple[T, float | None]:
    """Do work that only reads, from the replica if it is well; return how far that was behind too."""
    reading = Reading()
    token = _current.set(reading)
    try:
        return await work(), reading.lag
    except (OstinatoError, psycopg.Error) as error:
        if reading.replica is None:
            raise
        reading.replica.doubt(error)
    finally:
        _current.reset(token)
    return await work(), None
