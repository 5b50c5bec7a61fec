"""Secrets at rest: what seals them on a connection, and the sets that a rotation works on.

    sealed = vault_of(conn).seal(token, purpose=COLUMN.purpose("acme", "bank"))

The logic of sealing is in `base.vault`, what the database does is in `sql/functions/secrets.sql`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import class_row

from ostinato._core.base.settings import load
from ostinato._core.base.vault import SealedColumn, Vault, purpose
from ostinato._core.db.call import Connection, call, call_as, call_value


class Place(NamedTuple):
    """A value of a sealed column that is in the clear, or sealed with an older key."""

    place: str
    bound: list[str]
    value: str


@dataclass(frozen=True, slots=True)
class SecretJob:
    """A job that may have secret arguments, and the id up to which jobs were read."""

    job_id: int | None
    tenant_id: str | None
    kind: str | None
    args: str | None
    secret_args: list[str] | None
    upto: int | None


def vault_of(conn: Connection | psycopg.Connection[Any]) -> Vault:
    """Return the vault of the process that opened a connection; for one of another driver, as configured."""
    found: Vault | None = getattr(conn, "vault", None)
    return load().vault if found is None else found


def args_purpose(kind: str, name: str, tenant_id: str) -> str:
    """Return what a sealed argument is for: it opens for no other kind, argument or tenant."""
    return purpose("args", kind, name, tenant_id)


async def count(conn: Connection, column: SealedColumn) -> dict[str | None, int]:
    """Return how many values of a column were sealed with each key; None: those in the clear."""
    rows = await call(conn, "count_sealed", _read=True, entity=column.table, column=column.column)
    return {row[0]: int(row[1]) for row in rows}


async def list_to_seal(
    conn: Connection, column: SealedColumn, newest: str, most: int, skip: Sequence[str] = ()
) -> list[Place]:
    """Return some values of a column that are not sealed with the newest key; not those in places to skip."""
    rows = await call(
        conn,
        "list_to_seal",
        _read=True,
        entity=column.table,
        column=column.column,
        bound_to=list(column.bound_to),
        newest=newest,
        most=most,
        skip=list(skip),
    )
    return [Place(*row) for row in rows]


async def reseal(conn: Connection, column: SealedColumn, changes: Sequence[tuple[Place, str]]) -> int:
    """Replace values of a column that still are what was listed; returns how many were."""
    return int(
        await call_value(
            conn,
            "reseal",
            entity=column.table,
            column=column.column,
            places=[place.place for place, _ in changes],
            olds=[place.value for place, _ in changes],
            news=[new for _, new in changes],
        )
    )


async def kinds(conn: Connection) -> dict[str, list[str]]:
    """Return the kinds that have secret arguments, with the names of these."""
    return {row[0]: row[1] for row in await call(conn, "secret_kinds", _read=True)}


async def jobs_after(conn: Connection, after: int, most: int) -> list[SecretJob]:
    """Return the jobs with secret arguments among the next ones; one row at least, which says how far."""
    return await call_as(conn, class_row(SecretJob), "secret_jobs", _read=True, after=after, most=most)


async def reseal_args(conn: Connection, changes: Sequence[tuple[int, str, str]]) -> int:
    """Replace the arguments of jobs that still are what was read; returns how many were."""
    ids, olds, news = (list(column) for column in zip(*changes, strict=True))
    return int(await call_value(conn, "reseal_args", job_ids=ids, olds=olds, news=news))
