"""Finds the caller's own transaction, whatever library it was begun with.

    in async code   psycopg's AsyncConnection; SQLAlchemy's AsyncSession and AsyncConnection, with
                    psycopg or asyncpg below; asyncpg's Connection; a `Client`, in a transaction of its own
    in sync code    psycopg's Connection; SQLAlchemy's Session and Connection, with psycopg below;
                    Django's connection

What is written there is committed, or not, with what the caller writes. Libraries are recognised by
the modules of their classes and never imported.
"""

import inspect
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import psycopg
from psycopg import AsyncConnection

from ostinato._core.base.errors import DatabaseUnavailable, InvalidInput, OstinatoError
from ostinato._core.base.vault import Vault
from ostinato._core.db.arrays import texts
from ostinato._core.db.sqlfile import statement
from ostinato._core.db.sqlstate import translate_words

if TYPE_CHECKING:
    import sqlalchemy
    from sqlalchemy import orm
    from sqlalchemy.ext import asyncio as sqlalchemy_async

ASYNC = (
    "a Client, an AsyncConnection of psycopg, an AsyncSession or AsyncConnection of SQLAlchemy, or a Connection of"
    " asyncpg"
)
SYNC = "a Connection of psycopg, a Session or Connection of SQLAlchemy (postgresql+psycopg), or Django's connection"


class Lender(Protocol):
    """Something that lends connections: a `Client`, a tenant's client, or a pool."""

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """Return a connection on which each call is committed at once."""


class Asyncpg(Protocol):
    """A connection of asyncpg, which has no types of its own."""

    def fetch(self, query: str, /, *args: Any) -> Any:  # noqa: ANN401 - a coroutine of asyncpg's records
        """Run a statement and return its rows."""

    def is_in_transaction(self) -> bool:
        """Return whether a transaction is open."""


class AsyncpgLent(Protocol):
    """A connection that a pool of asyncpg has lent: to an editor it has only what it stands for."""

    _holder: Any

    def __getattr__(self, name: str, /) -> Any:  # noqa: ANN401 - whatever a connection has
        """Return what the connection has."""


class DjangoConnection(Protocol):
    """One of `django.db.connections`."""

    connection: Any

    def ensure_connection(self) -> None:
        """Connect, unless it is connected."""


class DjangoProxy(Protocol):
    """`django.db.connection`, which stands for that of the thread: to an editor it has only what it stands for."""

    def __getattr__(self, name: str, /) -> Any:  # noqa: ANN401 - whatever a connection has
        """Return what the connection has."""

    def __contains__(self, name: Any, /) -> bool:  # noqa: ANN401 - as Django has it
        """Return whether the connection has a name."""


# One string each: pyright takes a name that is put together from two for no type, and then checks nothing.
AlchemyTarget: TypeAlias = "sqlalchemy_async.AsyncSession | sqlalchemy_async.AsyncConnection | AlchemyScoped"
AlchemyScoped: TypeAlias = "sqlalchemy_async.async_scoped_session[Any]"
Target: TypeAlias = "Lender | AsyncConnection[Any] | AlchemyTarget | Asyncpg | AsyncpgLent"
"""Where a verb writes in async code: a transaction, or a lender of a connection for this call."""
AlchemySyncTarget: TypeAlias = "sqlalchemy.Connection | orm.Session | orm.scoped_session[Any]"
SyncTarget: TypeAlias = "psycopg.Connection[Any] | AlchemySyncTarget | DjangoConnection | DjangoProxy"
"""Where a verb writes in sync code: a transaction."""


class AsyncpgConnection:
    """A connection of asyncpg, for the calls that add work."""

    vault: Vault | None = None

    def __init__(self, conn: Any) -> None:  # noqa: ANN401 - of a library that may be missing
        self._conn = conn

    async def rows(self, text: str, values: Iterable[object]) -> list[tuple[Any, ...]]:
        """Run a statement whose parameters are numbered, and return all its rows."""
        try:
            found = await self._conn.fetch(text, *values)
        except Exception as error:
            raise _of_asyncpg(error) from error
        return [tuple(row) for row in found]


def _of_asyncpg(error: Exception) -> Exception:
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        said, hint, detail = (getattr(error, name, None) for name in ("message", "hint", "detail"))
        return translate_words(state, str(said or error), hint, detail)
    said = str(error)
    if isinstance(error, OSError) or (_is_of(error, "asyncpg") and "closed" in said):
        return DatabaseUnavailable(f"The connection to the database is lost: {said}")
    if _is_of(error, "asyncpg") and "another operation" in said:
        return InvalidInput(f"The connection is busy: {said}", hint="One call at a time; await each, or take another.")
    if _is_of(error, "asyncpg"):
        return InvalidInput(f"A value cannot be sent to the database: {said}")
    return error


def _first(error: BaseException) -> Any:  # noqa: ANN401 - what asyncpg raised, below what SQLAlchemy made of it
    return error if error.__cause__ is None else _first(error.__cause__)


def texts_for(conn: object, values: list[str]) -> str | list[str]:
    """Write texts as an array for a connection: as one literal where that is cheaper."""
    return values if isinstance(conn, AsyncpgConnection) else texts(values)


def connection_of(to: Target) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
    """Return the connection of the caller's transaction, or one that is lent."""
    if isinstance(to, AsyncConnection):
        return nullcontext(to)
    if _is_of(to, "sqlalchemy"):
        return _of_sqlalchemy(to)
    if _is_of(to, "asyncpg") and hasattr(to, "is_in_transaction"):
        return nullcontext(cast("AsyncConnection[Any]", AsyncpgConnection(to)))
    if isinstance(to, psycopg.Connection) or _is_of(to, "django"):
        raise _other_world(to, "sync", "_sync")
    lend = getattr(to, "connection", None)
    lent = lend() if callable(lend) else None
    if not isinstance(lent, AbstractAsyncContextManager):  # a pool of sync code lends too
        raise _unknown(to, ASYNC)
    return lent


def sync_connection_of(to: SyncTarget) -> psycopg.Connection[Any]:
    """Return the connection of the caller's transaction."""
    if isinstance(to, psycopg.Connection):
        return to
    driver: object = None
    if _is_of(to, "sqlalchemy"):
        driver = _sync_of_sqlalchemy(to)
    elif _is_of(to, "django") and hasattr(to, "ensure_connection"):
        django = cast("DjangoConnection", to)
        django.ensure_connection()
        driver = django.connection
    elif isinstance(to, AsyncConnection) or _is_of(to, "asyncpg"):
        raise _other_world(to, "async", "")
    if not isinstance(driver, psycopg.Connection):
        raise _unknown(to if driver is None else driver, SYNC)
    return driver


@asynccontextmanager
async def _of_sqlalchemy(to: Any) -> AsyncIterator[AsyncConnection[Any]]:  # noqa: ANN401 - as above
    if not hasattr(to, "get_raw_connection"):  # a session
        found = _lent(to, ASYNC)
        if not inspect.isawaitable(found):
            raise _other_world(to, "sync", "_sync")
        to = await found
    driver = (await to.get_raw_connection()).driver_connection
    if isinstance(driver, AsyncConnection):
        yield driver
    elif _is_of(driver, "asyncpg"):
        # Past SQLAlchemy nothing is sent before it has begun its transaction.
        try:
            await to.exec_driver_sql(statement("ostinato._core.db", "sql/calls.sql", "begin"))
        except Exception as error:
            raise _of_asyncpg(_first(error)) from error
        yield cast("AsyncConnection[Any]", AsyncpgConnection(driver))
    else:
        raise _unknown(driver, ASYNC)


def _sync_of_sqlalchemy(to: Any) -> object:  # noqa: ANN401 - as above
    if hasattr(to, "get_raw_connection") or hasattr(to, "sync_session"):
        raise _other_world(to, "async", "")
    found = _lent(to, SYNC)
    if callable(to.connection):  # a session
        found = found.connection
    return found.driver_connection


def _lent(to: Any, known: str) -> Any:  # noqa: ANN401 - as above
    """Return what a session or a connection lends; an engine, or a maker of sessions, has no transaction yet."""
    found = getattr(to, "connection", None)
    if found is None:
        raise _unknown(to, known)
    return found() if callable(found) else found


def _is_of(value: object, library: str) -> bool:
    return any(base.__module__.partition(".")[0] == library for base in type(value).__mro__)


def _other_world(to: object, world: str, suffix: str) -> OstinatoError:
    return InvalidInput(f"{_name(to)} is of {world} code", hint=f"Call enqueue{suffix} or emit{suffix} with it.")


def _unknown(to: object, known: str) -> OstinatoError:
    hint = f"Give {known}, as the first argument."
    if _is_of(to, "asyncpg"):  # a pool
        hint = f"Take a connection of it: `async with pool.acquire() as conn, conn.transaction()`. {hint}"
    if _is_of(to, "contextlib"):  # what ostinato.connect() returns, not entered
        hint = f"Enter it first, as in `async with ostinato.connect() as client`. {hint}"
    return InvalidInput(f"work cannot be added through {_name(to)}", hint=hint)


def _name(to: object) -> str:
    return f"{type(to).__module__}.{type(to).__qualname__}"
