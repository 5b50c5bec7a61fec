"""Jobs, attempts, steps, reasons, dead letters as the engine's routes show and take them."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AwareDatetime, BeforeValidator, ConfigDict, Field, model_validator

from ostinato._core.engine.jobs import State
from ostinato._faces.api.event_views import EventItem, TrailItem
from ostinato._faces.api.views import MAX_NAME, Checked, Json, Page, View, read_json

__all__ = [
    "AttemptView",
    "CancelRequest",
    "Cancelled",
    "DeadLetterGroupView",
    "DeadLetterGroups",
    "DeadLetterItem",
    "DeadLetterPage",
    "Effect",
    "EnqueueRequest",
    "Enqueued",
    "JobItem",
    "JobPage",
    "JobView",
    "ReasonView",
    "RedriveAnswer",
    "RedriveRequest",
    "Retried",
    "StepView",
    "Why",
]

JOB = 3190000000042
KIND = "billing.send_invoice"
Effect = Literal["cancelled", "requested", "none"]
TEN_YEARS = 315_360_000.0
MOST_REDRIVEN = 10_000
# What Python can read back, whatever the zone.
EARLIEST = datetime(2, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 1, 1, tzinfo=UTC)
# Two times at once, as the document says that they are not taken.
BOTH_TIMES: dict[str, Any] = {
    "properties": {"run_at": {"type": "string"}, "delay": {"type": "number"}},
    "required": ["run_at", "delay"],
}
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d.*")


class JobItem(View):
    """One job in a list."""

    id: int = Field(examples=[JOB])
    state: State
    kind: str = Field(examples=[KIND])
    queue: str = Field(examples=["mail"])
    correlation_id: str | None = Field(examples=["request-42"])
    """What it is part of."""
    priority: int = Field(examples=[0])
    """Lower runs first."""
    attempt: int = Field(examples=[1])
    """The run that is on or comes next; of a finished job the last one."""
    failures: int = Field(examples=[0])
    created_at: datetime
    run_at: datetime | None
    """When a scheduled job runs next."""
    finished_at: datetime | None
    error: str | None = Field(examples=["ConnectionError: the mail server is away"])
    """The last error, in one line."""


class JobPage(Page[JobItem]):
    """Jobs, newest first."""


class AttemptView(View):
    """One run of a job."""

    attempt: int = Field(examples=[1])
    outcome: Literal["done", "failed", "lost", "cancelled", "dead", "running"]
    started_at: datetime | None
    finished_at: datetime | None
    duration_ms: int | None
    worker_id: UUID | None
    worker_name: str | None = Field(examples=["host-1"])
    result: Json = None
    """What it returned; null also when that is longer than 16 KiB."""
    error: Json = None
    """What it raised; its summary when that is longer than 16 KiB."""


class StepView(View):
    """One step of a job, or the wait that it is in."""

    position: int = Field(examples=[1])
    name: str = Field(examples=["charge"])
    type: Literal["call", "sleep", "event", "timeout", "waiting"]
    attempt: int = Field(examples=[1])
    """The attempt that made it."""
    finished_at: datetime | None
    duration_ms: int | None
    bytes: int = Field(examples=[17])
    """The size of the result as JSON."""
    until: datetime | None
    """The end of a sleep, the deadline of a wait."""
    result: Json = None
    """Null also when it is longer than 16 KiB."""


class JobFacts(View):
    """A job by itself."""

    id: int = Field(examples=[JOB])
    kind: str = Field(examples=[KIND])
    queue: str = Field(examples=["mail"])
    correlation_id: str | None = Field(examples=["request-42"])
    """What it is part of; without one, what it does belongs to `job-<id>`."""
    priority: int = Field(examples=[0])
    state: State
    reason: str | None
    """Why it waits (later, retry, snooze, sleep, event), died, or was cancelled."""
    attempt: int = Field(examples=[1])
    failures: int = Field(examples=[0])
    crashes: int = Field(examples=[0])
    """How often its worker died with it."""
    max_attempts: int | None
    """Null: as its kind says."""
    created_at: datetime
    asked_run_at: datetime | None
    """The time it was enqueued for."""
    run_at: datetime | None
    """When it runs next, while it is scheduled."""
    finished_at: datetime | None
    duration_ms: int | None
    args: Json = Field(examples=[{"invoice_id": 7}])
    result: Json = None
    error: Json = None
    """What the last attempt raised."""
    limit_key: str | None
    unique_key: str | None
    unique_states: list[str] | None
    """The states in which it holds its unique key; null when it does not hold it now."""
    worker_id: UUID | None
    """Who holds it, or ran it last."""
    worker_name: str | None
    claimed_at: datetime | None
    lease_until: datetime | None
    """When it is taken back from its worker, unless that beats."""
    cancel_requested_at: datetime | None
    cancel_reason: str | None
    progress_done: float | None
    progress_total: float | None
    progress_note: str | None
    progress_at: datetime | None


class JobView(JobFacts):
    """Everything about one job."""

    attempts: list[AttemptView]
    """The last 100 runs, first to last."""
    steps: list[StepView]
    """The last 100 steps, first to last."""
    events: list[EventItem]
    """The last 50 events with its correlation id, newest first."""
    trail: list[TrailItem]
    """What happened for its correlation id, first to last, 200 lines at the most."""


class ReasonView(View):
    """One answer to why a job is not running, or what became of it."""

    code: str = Field(examples=["queue_paused"])
    """Stable, for programs."""
    message: str = Field(examples=["Queue 'mail' is paused: nothing is claimed from it."])
    detail: Annotated[dict[str, Any], BeforeValidator(read_json)] = Field(
        examples=[{"queue": "mail"}]
    )
    """The values in the message."""
    hint: str = Field(examples=["Let it go on with: ostinato queues resume mail"])


class Why(View):
    """Why a job is not running, the most important first."""

    job_id: int = Field(examples=[JOB])
    reasons: list[ReasonView]


class DeadLetterItem(View):
    """A job that gave up."""

    job_id: int = Field(examples=[JOB])
    kind: str = Field(examples=[KIND])
    queue: str = Field(examples=["mail"])
    signature: str = Field(examples=["ConnectionError: the mail server is away"])
    """What killed it, without what differs from one to the next."""
    attempt: int = Field(examples=[8])
    died_at: datetime
    reason: str = Field(examples=["attempts_used_up"])
    error: str | None


class DeadLetterPage(Page[DeadLetterItem]):
    """Dead letters, newest job first."""


class DeadLetterGroupView(View):
    """Dead letters of one kind that died of the same."""

    signature: str = Field(examples=["ConnectionError: the mail server is away"])
    kind: str = Field(examples=[KIND])
    reason: str = Field(examples=["attempts_used_up"])
    count: int = Field(examples=[12])
    first: datetime
    last: datetime
    example_job_id: int = Field(examples=[JOB])
    example_error: str | None


class DeadLetterGroups(View):
    """Dead letters by what killed them, the largest group first."""

    items: list[DeadLetterGroupView]


# What callers send, and what they get for it.


def _as_text(value: object) -> object:
    """Only text is a time: a number would be read as seconds since 1970."""
    if value is not None and not (isinstance(value, str) and _INSTANT.fullmatch(value)):
        raise ValueError("must be a time with a zone, such as 2026-03-02T08:30:00Z")
    return value


def _whole(value: object) -> object:
    """In JSON 7.0 is an integer too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Priority = Annotated[int, Field(ge=0, le=32_767), BeforeValidator(_whole)]
Attempts = Annotated[int, Field(ge=1, le=32_767), BeforeValidator(_whole)]
Redriven = Annotated[int, Field(ge=1, le=MOST_REDRIVEN), BeforeValidator(_whole)]
Instant = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_as_text)]


class EnqueueRequest(Checked):
    """A job to be added. What is left out is as the kind says."""

    model_config = ConfigDict(json_schema_extra={"not": BOTH_TIMES})

    kind: Text = Field(examples=[KIND])
    args: dict[str, Any] = Field(default_factory=dict, examples=[{"invoice_id": 7}])
    """The named arguments of its handler: 262,144 bytes of JSON at the most."""
    queue: Text | None = Field(default=None, examples=[None])
    priority: Priority | None = Field(default=None, examples=[None])
    """Lower runs first; 0 is usual. What is more urgent is for the application to say."""
    run_at: Instant | None = Field(default=None, examples=[None])
    """Not before this time; with a zone."""
    delay: float | None = Field(default=None, ge=0, le=TEN_YEARS, examples=[None])
    """Seconds from now; instead of `run_at`."""
    unique_key: Text | None = Field(default=None, examples=[None])
    """While a job with this key waits or runs, no second one is added: its id is the answer."""
    limit_key: Text | None = Field(default=None, examples=[None])
    """What the limits per key of its queue count it by."""
    max_attempts: Attempts | None = Field(default=None, examples=[None])

    @model_validator(mode="after")
    def _one_time(self) -> Self:
        if self.run_at is not None and self.delay is not None:
            raise ValueError("give run_at or delay, not both")
        if self.run_at is not None and not EARLIEST <= self.run_at <= LATEST:
            raise ValueError("run_at must be between the years 2 and 9999")
        return self


class Enqueued(View):
    """A job that was added, or that holds the unique key."""

    job_id: int = Field(examples=[JOB])


class Retried(View):
    """A job that runs again."""

    job_id: int = Field(examples=[JOB])
    was: State = Field(examples=["dead"])
    """The state it was in."""


class CancelRequest(Checked):
    """Why a job is to be cancelled."""

    reason: Text = Field(default="cancelled by an operator", examples=["the order was withdrawn"])
    """Kept with the job."""


class Cancelled(View):
    """What became of the wish to cancel a job."""

    job_id: int = Field(examples=[JOB])
    was: State = Field(examples=["ready"])
    """The state it was in."""
    effect: Effect
    """`requested`: it runs, and its worker is asked to end it; `none`: it had ended already."""


class RedriveRequest(Checked):
    """Which dead letters are to run again: those that match all that is given."""

    kind: Text | None = Field(default=None, examples=[KIND])
    queue: Text | None = Field(default=None, examples=[None])
    signature: str | None = Field(default=None, min_length=1, max_length=1_000, examples=[None])
    """Of a group, as `GET /dead-letters/groups` tells it."""
    limit: Redriven = 1_000
    """So many at the most, oldest first."""
    preview: bool = True
    """Only count. Say false to run them."""


class RedriveAnswer(View):
    """What a redrive found and did."""

    matching: int = Field(examples=[12])
    redriven: int = Field(examples=[0])
    conflicts: int = Field(examples=[0])
    """Those whose unique key another job holds by now: they stay dead."""
    preview: bool
    """Whether it only counted."""
