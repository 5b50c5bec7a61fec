"""Steps: a job that continues where it stopped, because each finished step is stored.

    from ostinato import App, Context, steps

    app = App("shop")

    @app.job()
    async def order(ctx: Context, item: str) -> None:
        place = await ctx.step("reserve", reserve, item)        # runs once, whatever dies
        await ctx.sleep(3 * 86_400)                             # no worker holds the job meanwhile
        paid = await ctx.wait_for("order.paid", place, timeout=30 * 86_400)

    await steps.signal(conn, job_id, '{"euros": 900}')          # as if the event had come
    await steps.restart(conn, job_id, from_step="reserve")

`ctx.step`, `ctx.sleep` and `ctx.wait_for` are methods of `Context`. The functions here list the
steps of a job, end its wait, and restart it from a step. The guide is `docs/steps.md`.
"""

from ostinato._core.engine.steps import Step, of_job, restart, signal
from ostinato._core.runtime.handlers.context import Context, SyncContext

__all__ = ["Context", "Step", "SyncContext", "of_job", "restart", "signal"]
