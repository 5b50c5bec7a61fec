"""Jobs: work that is committed with your data, runs at least once, and ends in a visible place.

    from ostinato import App, Context, Retry
    from ostinato import jobs

    app = App("billing")

    @app.job(queue="mail", retry=Retry(delays=(60, 300)), timeout=30)
    async def send_invoice(ctx: Context, invoice_id: int) -> None: ...

    await send_invoice.enqueue(conn, invoice_id=7)              # checked against the handler
    await jobs.enqueue(conn, "billing.send_invoice", {"invoice_id": 7})     # by its name
    await jobs.cancel(conn, [job_id], reason="wrong customer")

Each verb takes a connection first and works in its transaction.
"""

from ostinato._core.base.backoff import Retry
from ostinato._core.db.pool import Target
from ostinato._core.engine.claims import Job
from ostinato._core.engine.inspect import (
    Attempt,
    DeadLetter,
    DeadLetterGroup,
    JobDetails,
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
    NewJob,
    Redrive,
    State,
    Unique,
    added_queues,
    cancel,
    enqueue,
    enqueue_many,
    hasten,
    redrive,
    retry,
)
from ostinato._core.engine.queues import Queue, Rate, configure, pause, resume
from ostinato._core.runtime.client import Client, connect
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.context import Context, SyncContext
from ostinato._core.runtime.handlers.kinds import JobKind
from ostinato._core.runtime.handlers.outcomes import Cancel, Done, Snooze
from ostinato._core.runtime.worker.worker import Worker

__all__ = [
    "App",
    "Attempt",
    "Cancel",
    "Client",
    "Context",
    "DeadLetter",
    "DeadLetterGroup",
    "Done",
    "Job",
    "JobDetails",
    "JobKind",
    "JobSummary",
    "NewJob",
    "Queue",
    "QueueSummary",
    "Rate",
    "Reason",
    "Redrive",
    "Retry",
    "Snooze",
    "State",
    "SyncContext",
    "Target",
    "Unique",
    "Worker",
    "WorkerSummary",
    "added_queues",
    "attempts",
    "cancel",
    "configure",
    "connect",
    "dead_letter_groups",
    "enqueue",
    "enqueue_many",
    "hasten",
    "list_dead_letters",
    "list_jobs",
    "list_queues",
    "list_workers",
    "pause",
    "redrive",
    "resume",
    "retry",
    "show_job",
    "why",
]
