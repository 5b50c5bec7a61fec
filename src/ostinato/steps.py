"""A job with steps continues where it stopped, because each finished step is stored.

    from ostinato import App, Context, steps

    app = App("shop")

    @app.job()
    async def order(ctx: Context, item: str) -> None:
        place = await ctx.step("reserve", reserve, item)        # runs once, whatever dies
        await ctx.sleep(3 * 86_400)                             # no worker holds the job meanwhile
        paid = await ctx.wait_for("order.paid", place, timeout=30 * 86_400)
        parcels = await ctx.spawn_many(pack, [{"line": n} for n in range(3)])   # jobs of their own
        await ctx.join(parcels, on_failure="collect")           # goes on when all three have ended

    await steps.signal(conn, job_id, '{"euros": 900}')          # as if the event had come
    await steps.restart(conn, job_id, from_step="reserve")

`ctx.step`, `ctx.sleep`, `ctx.wait_for`, `ctx.spawn`, `ctx.spawn_many` and `ctx.join` are methods of
`Context`. The functions here list the steps and children of a job, end its wait, and restart it from
a step. The guide is `docs/steps.md`.
"""

from ostinato._core.engine.children import Child, Group, OnFailure, groups
from ostinato._core.engine.children import page as children
from ostinato._core.engine.steps import Step, of_job, restart, signal
from ostinato._core.runtime.handlers.children import Children, Joined, SyncJoined
from ostinato._core.runtime.handlers.context import Context, SyncContext

__all__ = [
    "Child",
    "Children",
    "Context",
    "Group",
    "Joined",
    "OnFailure",
    "Step",
    "SyncContext",
    "SyncJoined",
    "children",
    "groups",
    "of_job",
    "restart",
    "signal",
]
