"""Calls the SQL functions. This is the one place where the text of a call is built.

    jobs = await call(conn, "claim_jobs", worker_id=worker, queues=["default"], n=100)

Arguments are passed by name and always bound, never written into the text. Every call has an
application timeout; a call whose time is up, or whose connection breaks, raises

    CommitUnknown         when it was its own transaction and may have been committed
    DatabaseUnavailable   when it only read, or when the caller's transaction is lost with it

and the connection is closed, because its state is unknown.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncCursor, sql
from psycopg.pq import TransactionStatus
from psycopg.rows import BaseRowFactory, TupleRow, tuple_row
from psycopg.types.json import set_json_loads

from ostinato._core.base.errors import CommitUnknown, DatabaseUnavailable, InvalidInput, NotFound
from ostinato._core.db.foreign import AsyncpgConnection
from ostinato._core.db.guard import CALL_SECONDS, Guard, ThreadGuard, is_open
from ostinato._core.db.idle import lost
from ostinato._core.db.pool import transaction
from ostinato._core.db.sqlfile import statement
from ostinato._core.db.sqlstate import is_lost, is_stale_plan, translate

R = TypeVar("R")
Connection = AsyncConnection[Any]
"""A connection of any sort of rows: the verbs choose their own."""
Loads = Callable[[str | bytes], Any]
"""A function that reads JSON, such as a stricter one for JSON from outside."""

KEPT_ROWS = 16
IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,62}")


async def call(
    conn: AsyncConnection[Any],
    function: str,
    /,
    *,
    _read: bool = False,
    _seconds: float = CALL_SECONDS,
    **params: object,
) -> list[TupleRow]:
    """Call `ostinato.<function>` and return all its rows.

    `_read` promises that it changes nothing, so a broken connection raises no `CommitUnknown`.
    """
    if isinstance(conn, AsyncpgConnection):
        return await conn.rows(numbered_text_of(function, tuple(params)), params.values())
    return await call_as(conn, tuple_row, function, _read=_read, _seconds=_seconds, _loads=None, **params)


async def call_as(
    conn: AsyncConnection[Any],
    rows: BaseRowFactory[R],
    function: str,
    /,
    *,
    _read: bool = False,
    _seconds: float = CALL_SECONDS,
    _loads: Loads | None = None,
    **params: object,
) -> list[R]:
    """Call a function as `call` does, with each row made by a row factory of psycopg, such as `class_row(Job)`.

    `_loads` reads the JSON in them; None means the connection's own loader.
    """
    if not _read and getattr(conn, "acting", None) is not None:
        return await _acted(conn, rows, function, params, seconds=_seconds, loads=_loads)
    text = text_of(function, tuple(params))
    alone = conn.pgconn.transaction_status == TransactionStatus.IDLE and conn.autocommit
    if not is_open(conn):
        raise lost(conn, f"ostinato.{function} was called")
    for last_time in (False, True):
        with Guard(conn, _seconds) as guard:
            try:
                found = await _executed(conn, rows, text, params, _loads)
            except psycopg.Error as error:
                if not alone or last_time or not is_stale_plan(error):
                    raise _meaning(error, function, guard, unsure=alone and not _read) from error
            else:
                if guard.unreplicated:
                    raise _unknown(function, "the wait for a synchronous standby was cancelled")
                return found
        # A migration replaced the function just now, and nothing was done: plan it afresh.
        await conn.execute(statement("ostinato._core.db", "sql/calls.sql", "forget_plans"))
    raise AssertionError("unreachable")


async def _acted(
    conn: AsyncConnection[Any],
    rows: BaseRowFactory[R],
    function: str,
    params: dict[str, object],
    *,
    seconds: float,
    loads: Loads | None,
) -> list[R]:
    """Call a function in a transaction that names who acts, and why (`engine.audit`).

    In each transaction anew, because a pooler gives the session to somebody else after it.
    """
    actor, reason = conn.acting  # type: ignore[attr-defined]  # the caller has seen it
    said: dict[str, object] = {"actor": actor, "reason": reason}
    async with transaction(conn, seconds=seconds):
        with Guard(conn, seconds) as guard:
            try:
                await _executed(conn, tuple_row, text_of("act_as", tuple(said)), said, None)
                return await _executed(conn, rows, text_of(function, tuple(params)), params, loads)
            except psycopg.Error as error:
                raise _meaning(error, function, guard, unsure=False) from error


async def _executed(
    conn: AsyncConnection[Any], rows: BaseRowFactory[R], text: bytes, params: dict[str, object], loads: Loads | None
) -> list[R]:
    """Run a statement. A cursor caches how it writes parameters, so our connections keep one.

    Two calls at once on one connection have a cursor each. A cursor that failed, holds a large
    result, or has a JSON loader of its own is not kept.
    """
    spare: list[AsyncCursor[Any]] = getattr(conn, "spare_cursors", [])
    if loads is not None:
        spare = []
        cursor = conn.cursor(binary=True, row_factory=rows)
        set_json_loads(loads, cursor)
    elif spare:
        cursor = spare.pop()
        cursor.row_factory = rows
    else:
        cursor = conn.cursor(binary=True, row_factory=rows)
    await cursor.execute(text, params)
    found: list[R] = await cursor.fetchall()
    if not spare and len(found) <= KEPT_ROWS:
        spare.append(cursor)
    return found


async def call_one(
    conn: AsyncConnection[Any],
    function: str,
    /,
    *,
    _read: bool = False,
    _seconds: float = CALL_SECONDS,
    **params: object,
) -> TupleRow:
    """Call a function that returns exactly one row."""
    found = await call(conn, function, _read=_read, _seconds=_seconds, **params)
    if len(found) != 1:
        raise NotFound(f"ostinato.{function} returned {len(found)} rows instead of one.", function=function)
    return found[0]


async def call_value(
    conn: AsyncConnection[Any],
    function: str,
    /,
    *,
    _read: bool = False,
    _seconds: float = CALL_SECONDS,
    **params: object,
) -> Any:  # noqa: ANN401 - what SQL returns is known to the caller
    """Call a function that returns one value."""
    return (await call_one(conn, function, _read=_read, _seconds=_seconds, **params))[0]


def call_now(conn: psycopg.Connection[Any], function: str, /, **params: object) -> list[TupleRow]:
    """Call a function on a synchronous connection, in a thread.

    When the server does not answer in time, the connection is closed and its transaction lost.
    """
    # Not `conn.cursor`: the one of Django's connections writes parameters into the text.
    with ThreadGuard(conn), psycopg.Cursor(conn, row_factory=tuple_row) as cursor:
        return cursor.execute(text_of(function, tuple(params)), params, binary=True).fetchall()


@lru_cache(maxsize=1024)
def text_of(function: str, names: tuple[str, ...]) -> bytes:
    """Return the text of a call: `select * from ostinato.f(a => %(a)s, b => %(b)s)`.

    A function of an application has its schema in its name, `billing.accept`.
    """
    schema, _, name_of = function.rpartition(".")
    _check(schema or "ostinato", name_of, *names)
    arguments = [sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name)) for name in names]
    composed = sql.SQL("select * from {}({})").format(
        sql.Identifier(schema or "ostinato", name_of), sql.SQL(", ").join(arguments)
    )
    return composed.as_bytes(None)


@lru_cache(maxsize=64)
def numbered_text_of(function: str, names: tuple[str, ...]) -> str:
    """Return the same with numbered parameters, as asyncpg takes them: `select * from ostinato.f(a => $1, b => $2)`."""
    _check(function, *names)
    arguments = [sql.SQL("{} => ${}").format(sql.Identifier(name), sql.Literal(n)) for n, name in enumerate(names, 1)]
    composed = sql.SQL("select * from {}({})").format(
        sql.Identifier("ostinato", function), sql.SQL(", ").join(arguments)
    )
    return composed.as_string(None)


def _check(*names: str) -> None:
    for name in names:
        if not IDENTIFIER.fullmatch(name):
            raise InvalidInput(
                f"{name!r} cannot be the name of a function or parameter.",
                hint="Names are lower-case letters, digits and underscores, at most 63.",
                name=name,
            )


def _meaning(error: psycopg.Error, function: str, guard: Guard, *, unsure: bool) -> Exception:
    if unsure and (guard.expired or is_lost(error)):
        why = f"no answer within {guard.seconds:g} s" if guard.expired else str(error).strip()
        return _unknown(function, why)
    if guard.expired:
        return DatabaseUnavailable(
            f"ostinato.{function} gave no answer within {guard.seconds:g} s.",
            hint="The server is frozen or overloaded: `ostinato doctor`.",
            function=function,
            seconds=guard.seconds,
        )
    return translate(error)


def _unknown(function: str, why: str) -> CommitUnknown:
    return CommitUnknown(f"Whether ostinato.{function} took effect is not known: {why}.", function=function)
