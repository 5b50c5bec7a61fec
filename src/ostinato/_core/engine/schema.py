"""The engine's part of the database schema, and its installation."""

from collections.abc import Sequence

from ostinato._core.base.alerts import ENGINE_ALERTS, ENGINE_OWNER
from ostinato._core.db.bundle import Component
from ostinato._core.db.migrate import migrate
from ostinato._core.db.pool import connect
from ostinato._core.engine import alerts, upkeep

ENGINE = Component.of("engine", "ostinato._core.engine", "ostinato", "ostinato_internal")


async def install(
    url: str, components: Sequence[Component] = (), *, retention_days: int = 14, wait_seconds: float = 60.0
) -> list[str]:
    """Bring a database up to date, partitions of the coming weeks included; returns what was done.

    `components` are the schemas of applications, on top of the engine's.

    Without the partitions, jobs that are enqueued before the first worker starts would go to the
    default partition, and many would stay there.
    """
    done = await migrate(url, [ENGINE, *components], wait_seconds=wait_seconds)
    async with await connect(url, role="migrate") as conn:
        await alerts.declare(conn, [ENGINE_OWNER], ENGINE_ALERTS)  # before any worker is there to do it
        actions = await upkeep.run(conn, retention_days)
    return [*done, *(f"{action.action} {action.target}" for action in actions)]
