"""A job is work that is committed with your data, runs at least once, and ends in a visible place.

    from ostinato import App, Context, Retry, jobs

    app = App("billing")

    @app.job(queue="mail", retry=Retry(delays=(60, 300)), timeout=30)
    async def send_invoice(ctx: Context, invoice_id: int) -> None: ...

    job_id = await send_invoice.enqueue(conn, invoice_id=7)     # checked against the handler
    await jobs.enqueue(conn, jobs.NewJob("billing.send_invoice", '{"invoice_id": 7}'))  # by name
    for reason in await jobs.why(conn, job_id):
        print(reason.message, reason.hint)
    await jobs.cancel(conn, job_id, reason="wrong customer")

Each verb takes a connection first and works in its transaction. The guide is `docs/jobs.md`.
"""

from ostinato._core.base.backoff import Retry
from ostinato._core.base.retryafter import retry_after_seconds
from ostinato._core.db.foreign import SyncTarget, Target
from ostinato._core.engine.claims import Job
from ostinato._core.engine.ends import End
from ostinato._core.engine.inspect import (
    Attempt,
    DeadLetter,
    DeadLetterFilter,
    DeadLetterGroup,
    JobDetails,
    JobFilter,
    JobSummary,
    QueueSummary,
    Reason,
    WorkerSummary,
    attempts,
    dead_letter_groups,
    list_dead_letters,
    list_jobs,
    list_queues,
    list_workers,
    show_job,
    why,
)
from ostinato._core.engine.jobs import (
    LimitScope,
    NewJob,
    Redrive,
    State,
    Unique,
    cancel,
    enqueue,
    enqueue_many,
    enqueue_sync,
    hasten,
    redrive,
    rekind,
    retry,
    wake_after_commit,
)
from ostinato._core.engine.queues import Queue, Rate, configure, pause, resume, ring
from ostinato._core.runtime.client import Client, connect, result_sync, wait_sync
from ostinato._core.runtime.ends import JobHandle
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.batches import Batch, Item
from ostinato._core.runtime.handlers.context import Context, SyncContext, Token
from ostinato._core.runtime.handlers.kinds import Given, JobKind
from ostinato._core.runtime.handlers.options import Options
from ostinato._core.runtime.handlers.outcomes import Cancel, Done, Snooze
from ostinato._core.runtime.worker.worker import Worker

__all__ = [
    "App",
    "Attempt",
    "Batch",
    "Cancel",
    "Client",
    "Context",
    "DeadLetter",
    "DeadLetterFilter",
    "DeadLetterGroup",
    "Done",
    "End",
    "Given",
    "Item",
    "Job",
    "JobDetails",
    "JobFilter",
    "JobHandle",
    "JobKind",
    "JobSummary",
    "LimitScope",
    "NewJob",
    "Options",
    "Queue",
    "QueueSummary",
    "Rate",
    "Reason",
    "Redrive",
    "Retry",
    "Snooze",
    "State",
    "SyncContext",
    "SyncTarget",
    "Target",
    "Token",
    "Unique",
    "Worker",
    "WorkerSummary",
    "attempts",
    "cancel",
    "configure",
    "connect",
    "dead_letter_groups",
    "enqueue",
    "enqueue_many",
    "enqueue_sync",
    "hasten",
    "list_dead_letters",
    "list_jobs",
    "list_queues",
    "list_workers",
    "pause",
    "redrive",
    "rekind",
    "result_sync",
    "resume",
    "retry",
    "retry_after_seconds",
    "ring",
    "show_job",
    "wait_sync",
    "wake_after_commit",
    "why",
]
