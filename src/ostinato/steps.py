"""Steps: a job that continues where it stopped, because each finished step is stored.

    @app.job()
    async def onboard(ctx: Context, customer: int) -> None:
        account = await ctx.step("account", open_account, customer)     # never run twice
        await ctx.sleep("cool down", 3600)                              # holds no worker
        signed = await ctx.wait_for("signed", timeout=86_400)           # until somebody signals

    await steps.signal(conn, job_id, "signed", {"by": "ana"})

`ctx.step`, `ctx.sleep` and `ctx.wait_for` are methods of `Context`; this module is for those who
look at the steps of a job from outside, signal one that waits, or restart it from a step.
"""

from ostinato._core.engine.steps import StoredStep, of_job, restart, signal
from ostinato._core.runtime.handlers.context import Context, SyncContext

__all__ = ["Context", "StoredStep", "SyncContext", "of_job", "restart", "signal"]
