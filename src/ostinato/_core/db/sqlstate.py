"""Translates errors of the driver into errors of ours.

The SQL functions raise our own errors by SQLSTATE (`OSxxx`), with the values as JSON in the detail
and the remedy as the hint. Everything else is sorted by what the caller can do about it: retry,
wait for the database, fix the set-up, or fix the input.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from ostinato._core.base.errors import (
    CommitUnknown,
    DatabaseUnavailable,
    InvalidInput,
    NotConfigured,
    OstinatoError,
    TransactionIdle,
)
from ostinato._core.base.errortree import by_sqlstate

# The same statement, sent again, may well succeed: serialization, deadlock, lock not available.
TRANSIENT = {"40001", "40P01", "55P03"}
# The function, the result shape or the partitions changed under a statement that was planned before.
STALE_PLAN = {"0A000": "cached plan", "XX000": "cache lookup failed", "40001": "was moved to another partition"}

# The server is stopping, starting, full, or a standby. Class 08 (the connection) belongs here too.
UNAVAILABLE = {
    "25006": "the server is read-only (a standby, or a failover under way)",
    "25P04": "the transaction took too long and the server ended it",
    "53100": "the server's disk is full",
    "53200": "the server is out of memory",
    "53300": "the server has no connection left",
    "57014": "the statement was cancelled on the server",
    "57P01": "the server is shutting down",
    "57P02": "the server crashed",
    "57P03": "the server is starting up or shutting down",
    "57P05": "the connection was idle for too long and the server ended it",
    "58030": "the server has an input or output error",
}
IDLE = "25P03"
"""A session is ended with it when its transaction waited for too long."""
ABORTED = "25P02"
"""An earlier statement of the transaction failed, and the caller went on."""
# After one of these during a commit it is unknown whether it took effect. A backend can be
# terminated between writing the commit and answering, so its last message proves nothing.
LOST = {"57P01", "57P02", "58030"}

# The caller was too slow: it was idle in its transaction, or its statement took too long.
TOO_SLOW = {"25P03", "25P04", "57014"}

# A row cannot be read: corrupt pages, bytes that are no text, text that is no JSON; or a job's row
# is missing (40001 of ostinato.refuse_moved, which may also be a conflict that passes).
DAMAGED = {"40001", "22021", "22P02", "22P05"}

NOT_MIGRATED = {"3F000", "42883", "42P01"}
FORBIDDEN = {"42501"}
# Cardinality, data, program limits, and types that do not fit.
REFUSED_VALUES = {"21", "22", "54", "42804", "42P18"}

# Refusals while connecting come without a SQLSTATE; only the text tells them from an outage.
REFUSALS = ("authentication failed", "no pg_hba.conf entry", " does not exist", "no password")


def sqlstate_of(error: BaseException) -> str | None:
    """Return the SQLSTATE that an error came with, before or after translation."""
    if isinstance(error, psycopg.Error):
        return error.sqlstate
    if isinstance(error, OstinatoError):
        found = error.values.get("sqlstate")
        return found if isinstance(found, str) else None
    return None


def is_transient(error: BaseException) -> bool:
    """Return whether the same transaction, run again, may succeed: it conflicted with another one."""
    return sqlstate_of(error) in TRANSIENT or is_stale_plan(error)


def is_stale_plan(error: BaseException) -> bool:
    """Return whether a migration replaced a function, or upkeep a partition, during this statement."""
    if isinstance(error, psycopg.errors.CheckViolation):
        # The bounds of a partition are the only rule without a name: the row was on its way into
        # the default partition when the right one was added.
        return error.diag.schema_name == "ostinato_data" and not error.diag.constraint_name
    expected = STALE_PLAN.get(sqlstate_of(error) or "")
    return expected is not None and expected in str(error)


def is_lost(error: BaseException) -> bool:
    """Return whether the connection was lost and the effect of the last statement is unknown."""
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    state = error.sqlstate
    return state is None or state.startswith("08") or state in LOST


def belongs_to_us(error: psycopg.Error) -> bool:
    """Return whether an error raised inside a caller's transaction is ours to translate.

    A violated constraint of the caller's own tables is not: the caller knows what it means.
    """
    state = error.sqlstate
    ours = state in UNAVAILABLE or state == IDLE or by_sqlstate(state) is not None
    return ours or is_lost(error) or is_transient(error)


def is_damage(error: BaseException) -> bool:
    """Return whether a row that cannot be read may be the cause: it is worth looking for one."""
    state = sqlstate_of(error) or ""
    return isinstance(error, UnicodeDecodeError) or state.startswith("XX") or state in DAMAGED


def is_databases_fault(error: BaseException) -> bool:
    """Return whether an attempt ended because of the database's trouble, and not by its own doing.

    Only errors of ours count: those of a handler's other databases are the handler's. Of several
    at once all have to.
    """
    if isinstance(error, BaseExceptionGroup):
        return all(is_databases_fault(each) for each in error.exceptions)
    ours = isinstance(error, DatabaseUnavailable | CommitUnknown)
    return ours and sqlstate_of(error) not in TOO_SLOW


def translate(error: BaseException) -> OstinatoError:
    """Return our error for an error of the driver, the pool or the network."""
    if isinstance(error, OstinatoError):
        return error
    if isinstance(error, PoolTimeout | TooManyRequests):
        return DatabaseUnavailable(
            f"No database connection became free: {error}.",
            hint="The database is down or all connections are busy; see `ostinato doctor`.",
        )
    if isinstance(error, PoolClosed):
        return DatabaseUnavailable(f"The connections were closed: {error}.", hint="Open them.")
    if isinstance(error, psycopg.Error):
        return _from_server(error)
    if isinstance(error, OSError | TimeoutError):
        return DatabaseUnavailable(f"The database cannot be reached: {error!r}.")
    return OstinatoError(f"{type(error).__name__}: {error}")


def left_idle(seconds: float | None = None) -> TransactionIdle:
    """Return the error of a transaction that the server ended because it was idle; None: its role sets the limit."""
    if seconds is None:
        return TransactionIdle(
            "The transaction was left without a statement for longer than the server allows its role"
            " (idle_in_transaction_session_timeout), and was ended: nothing was changed.",
            sqlstate=IDLE,
        )
    return TransactionIdle(
        f"The transaction was left without a statement for longer than {seconds:g} s"
        " (transaction_idle_seconds), and was ended: nothing was changed.",
        hint=f"Wait for others before the transaction, or raise `transaction_idle_seconds` ({seconds:g} s).",
        sqlstate=IDLE,
        seconds=seconds,
    )


@contextmanager
def translated() -> Iterator[None]:
    """Translate what the driver, the pool or the network raises inside the block."""
    try:
        yield
    except (psycopg.Error, OSError) as error:  # a timeout and a pool's errors are among them
        raise translate(error) from error


def _from_server(error: psycopg.Error) -> OstinatoError:
    state, said = error.sqlstate, _sentence(error)
    if by_sqlstate(state) is None and (state is None or is_lost(error)):
        return _without_word(error, said, state)
    if is_stale_plan(error) and state not in TRANSIENT:
        return _in_the_way(said, state)
    return translate_words(state, said, error.diag.message_hint, error.diag.message_detail)


def translate_words(state: str | None, said: str, hint: str | None, detail: str | None) -> OstinatoError:
    """Return our error for what a server said, whichever driver heard it."""
    if ours := by_sqlstate(state):
        return ours(said, hint=hint or None, **_values(detail), sqlstate=state)
    if state == IDLE:
        return left_idle()
    if state in TRANSIENT:
        return _in_the_way(said, state, job_id=_values(detail).get("job_id"))
    return _by_state(state or "", said)


def _in_the_way(said: str, state: str | None, job_id: object = None) -> OstinatoError:
    named = {} if job_id is None else {"job_id": job_id}
    return DatabaseUnavailable(
        f"Another transaction was in the way: {said}", hint="Run the whole transaction again.", **named, sqlstate=state
    )


def _by_state(state: str, said: str) -> OstinatoError:
    kind: type[OstinatoError] = OstinatoError
    hint = None
    if state in UNAVAILABLE:
        kind, what = DatabaseUnavailable, f"The database cannot serve this: {UNAVAILABLE[state]}"
        if state in TOO_SLOW:
            hint = "Make it shorter, or raise its limit; `ostinato doctor` says if the server is well."
    elif state in NOT_MIGRATED:
        kind, what = NotConfigured, "The database does not have what this release needs"
        hint = "Run `ostinato db migrate`; `ostinato db status` shows what is missing."
    elif state in FORBIDDEN:
        kind, what = NotConfigured, "The connected role may not do this"
        hint = (
            "An administrator lets your program's own role add jobs by `ostinato db grant ROLE`. Workers and"
            " commands connect as ostinato_worker, which `ostinato db migrate` makes and gives its rights."
        )
    elif state == ABORTED:
        what = "The transaction is lost, because one of its statements failed before"
        hint = "Roll it back, and do all of it again in a new one; the first error says what was wrong."
    elif state[:2] in REFUSED_VALUES or state in REFUSED_VALUES:
        kind, what = InvalidInput, "The database refuses a value"
    else:
        what = f"The database reports an error ({state})"
    return kind(f"{what}: {said}", hint=hint, sqlstate=state)


def _without_word(error: psycopg.Error, said: str, state: str | None) -> OstinatoError:
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        if state is None and any(refusal in said for refusal in REFUSALS):
            return NotConfigured(
                f"The database refuses the connection: {said}",
                hint="Check the user, the password and the database name in the URL.",
            )
        return DatabaseUnavailable(f"The connection to the database is lost: {said}", sqlstate=state)
    if isinstance(error, psycopg.DataError | psycopg.ProgrammingError):
        return InvalidInput(f"A value cannot be sent to the database: {said}")
    return OstinatoError(f"The driver reports an error: {said}")


def _sentence(error: psycopg.Error) -> str:
    return (error.diag.message_primary or str(error)).strip()


def _values(detail: str | None) -> dict[str, object]:
    if not detail:
        return {}
    try:
        values = json.loads(detail)
    except ValueError:
        return {"detail": detail}
    if not isinstance(values, dict):
        return {"detail": values}
    return {str(key): value for key, value in values.items() if key not in ("hint", "sqlstate")}
