"""Registers a worker in the database when it starts, and again under a new id."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from ostinato._core.base.release import own_release
from ostinato._core.db.migrate import check_contract
from ostinato._core.engine import queues as engine_queues
from ostinato._core.engine import workers
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.kinds import JobKind
from ostinato._core.runtime.handlers.merged import merged_kinds
from ostinato._core.runtime.services.services import declare


def queues_of(apps: Sequence[App]) -> tuple[str, ...]:
    """Return the queues of some apps' jobs, each once."""
    served = [kind.queue for kind in merged_kinds(apps).values()]
    limited = [queue.name for app in apps for queue in app.queues]
    # "default" is where callers in plain SQL put a kind that no worker had declared yet.
    return tuple(dict.fromkeys([*served, *limited, "default"]))


async def enrol(
    conn: AsyncConnection[Any],
    apps: Sequence[App],
    *,
    name: str,
    queues: Sequence[str],
    kinds: Sequence[str],
    expiry_seconds: float,
    places: int | None = None,
) -> UUID:
    """Declare what a worker's apps have, and register it for these queues and kinds.

    Its row is written last: the row of a worker means that it can work, and a start that was cut
    short leaves none behind.
    """
    await check_contract(conn, workers.CONTRACT)
    await declare_kinds(conn, apps)
    for queue in (queue for app in apps for queue in app.queues):
        await engine_queues.configure(conn, queue)
    await declare(conn, apps)
    return await workers.register(conn, name, queues, kinds, expiry_seconds, release=own_release(), places=places)


async def declare_kinds(conn: AsyncConnection[Any], apps: Sequence[App]) -> None:
    """Declare the kinds of some apps: their queues, their policies, and which are open to tenants."""
    await workers.register_kinds(conn, [_row(name, kind) for name, kind in merged_kinds(apps).items()])


def _row(name: str, kind: JobKind[Any]) -> workers.KindRow:
    schema, secret = kind.arguments.schema(), sorted(kind.arguments.secrets)
    return workers.KindRow(name, kind.queue, kind.priority, kind.timeout, kind.retry, schema, kind.open, secret)
