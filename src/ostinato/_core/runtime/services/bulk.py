"""Runs bulk actions: a job for each, which does one batch after the other (`sql/functions/bulk.sql`).

Every worker has the kind. A batch is a transaction that is fenced by the job: when its worker is lost, the next one
goes on where the last commit left it.
"""

from collections.abc import Sequence

from ostinato._core.base.backoff import Retry
from ostinato._core.engine import bulk
from ostinato._core.engine.jobs import ANY_QUEUE, wake_after_commit
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.context import Context
from ostinato._core.runtime.handlers.outcomes import Snooze

APP_NAME = "ostinato"
CANARY_SECONDS = 1.0
"""How often a canary looks after the jobs that it runs again."""


def app() -> App:
    """Return the app whose one kind of job runs bulk actions. Every worker has it."""
    made = App(APP_NAME)

    @made.job(name=bulk.KIND, queue=bulk.QUEUE, retry=Retry(max_attempts=20))
    async def run(ctx: Context) -> Snooze | dict[str, object]:
        while True:
            async with ctx.fenced() as conn:
                batch = await bulk.run(conn, ctx.job.id)
                wake_after_commit(ANY_QUEUE)
            ctx.progress(batch.done + batch.refused, None if batch.capped else batch.matching)
            if batch.waiting:
                return Snooze(CANARY_SECONDS)
            if batch.state != "running":
                return {"state": batch.state, "done": batch.done, "refused": batch.refused}

    return made


def with_app(apps: Sequence[App]) -> list[App]:
    """Return some apps and the one that runs bulk actions, unless it is among them."""
    return list(apps) if any(given.name == APP_NAME for given in apps) else [*apps, app()]
