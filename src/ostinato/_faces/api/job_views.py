"""Defines the models that show jobs, and the bodies that requests about them send."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, ConfigDict, Field, model_validator

from ostinato._core.base.flow import HASHED
from ostinato._core.engine.inspect import Attempt, JobDetails, JobSummary, Reason
from ostinato._core.engine.jobs import Redrive, State
from ostinato._core.engine.steps import Step
from ostinato._faces.api.event_views import EventItem, TrailItem
from ostinato._faces.api.views import JOB, KIND, MAX_NAME, Checked, Page, View, read_json, shows

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


@shows(JobSummary, id=JOB, error="ConnectionError: the mail server is away")
class JobItem(View):
    """One job in a list."""


class JobPage(Page[JobItem]):
    """Jobs, newest first."""


@shows(Attempt)
class AttemptView(View):
    """One attempt of a job. A result above 16 KiB is left out, such an error is summarised."""


@shows(Step, name="charge", bytes=17)
class StepView(View):
    """One step of a job, or its present wait. A result above 16 KiB is left out."""


@shows(JobDetails, id=JOB, args={"invoice_id": 7})
class JobView(View):
    """Everything about one job."""

    attempts: list[AttemptView]
    """The last 100 runs, first to last."""
    steps: list[StepView]
    """The last 100 steps, first to last."""
    events: list[EventItem]
    """The last 50 events with its correlation id, newest first."""
    trail: list[TrailItem]
    """The trail tells what happened for its correlation id, first to last, in 200 lines at the most."""


def view_of(
    job: dict[str, Any],
    attempts: list[dict[str, Any]] | None,
    steps: list[dict[str, Any]] | None,
    events: list[dict[str, Any]] | None,
    trail: list[dict[str, Any]] | None,
    *,
    hidden: bool = False,
) -> JobView:
    """Make the model from what `ostinato.show_job_as` returned, where JSON from outside is text.

    `hidden`: without arguments and results, as readers see it.
    """
    if hidden:
        job["args"] = None
        for row in (job, *(attempts or ()), *(steps or ())):
            row["result"] = None
    for row, names in (
        (job, ("args", "result", "error")),
        *((row, ("result", "error")) for row in attempts or ()),
        *((row, ("result",)) for row in steps or ()),
        *((row, ("detail",)) for row in trail or ()),
    ):
        for name in names:
            row[name] = read_json(row[name])
    return JobView.of(**job, attempts=attempts or [], steps=steps or [], events=events or [], trail=trail or [])


@shows(
    Reason,
    code="queue_paused",
    message="Queue 'mail' is paused: nothing is claimed from it.",
    detail={"queue": "mail"},
    hint="Let it go on with: ostinato queues resume mail",
)
class ReasonView(View):
    """One answer to why a job is not running, or what became of it."""


class Why(View):
    """These reasons keep a job from running, the most important first."""

    job_id: int = Field(examples=[JOB])
    reasons: list[ReasonView]


# The bodies of requests, and of their answers.


def _as_text(value: object) -> object:
    """Accept a time as text only: a number would be read as seconds since 1970."""
    if value is not None and not (isinstance(value, str) and _INSTANT.fullmatch(value)):
        raise ValueError("must be a time with a zone, such as 2026-03-02T08:30:00Z")
    return value


def _whole(value: object) -> object:
    """Accept 7.0 as an integer, as JSON does."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _named(value: str) -> str:
    """Refuse a hash: a caller names the person, and cannot stand for another one by a hash."""
    if value.startswith(HASHED):
        raise ValueError(f'begins with "{HASHED}" and so is a hash; name the person as your application does')
    return value


Text = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Because = Annotated[str, Field(min_length=1, max_length=1_000)]
Subject = Annotated[
    str,
    Field(min_length=1, max_length=1_000, json_schema_extra={"not": {"pattern": f"^{HASHED}"}}),
    AfterValidator(_named),
]
Priority = Annotated[int, Field(ge=0, le=32_767), BeforeValidator(_whole)]
Attempts = Annotated[int, Field(ge=1, le=32_767), BeforeValidator(_whole)]
Redriven = Annotated[int, Field(ge=1, le=MOST_REDRIVEN), BeforeValidator(_whole)]
Instant = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_as_text)]


class EnqueueRequest(Checked):
    """A job to be added. Fields that are left out have the defaults of the kind."""

    model_config = ConfigDict(json_schema_extra={"not": BOTH_TIMES})

    kind: Text = Field(examples=[KIND])
    args: dict[str, Any] = Field(default_factory=dict, examples=[{"invoice_id": 7}])
    """The named arguments of its handler: 262,144 bytes of JSON at the most."""
    queue: Text | None = Field(default=None, examples=[None])
    priority: Priority | None = Field(default=None, examples=[None])
    """A lower one runs first; 0 is the default."""
    run_at: Instant | None = Field(default=None, examples=[None])
    """Not before this time; with a zone."""
    delay: float | None = Field(default=None, ge=0, le=TEN_YEARS, examples=[None])
    """Seconds from now; instead of `run_at`."""
    unique_key: Text | None = Field(default=None, examples=[None])
    """While a job with this key waits or runs, no second one is added; the answer has its id."""
    limit_key: Text | None = Field(default=None, examples=[None])
    """Jobs with the same value share the limits per key of the queue."""
    max_attempts: Attempts | None = Field(default=None, examples=[None])
    subject: Subject | None = Field(default=None, examples=[None])
    """Whom it is about, by name and not as a hash (`hmac:…`); `POST /erasures` finds it by this."""

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


class RetryRequest(Checked):
    """The caller says why a job is to run again."""

    reason: Because | None = Field(default=None, examples=["the mail server is back"])
    """Kept in the audit."""


class ReasonRequest(Checked):
    """The caller says why something is done."""

    reason: Because | None = Field(default=None, examples=["maintenance"])
    """For the audit."""


def reason_of(body: ReasonRequest | None) -> str | None:
    """Return the reason of a request, if it has one."""
    return None if body is None else body.reason


class CancelRequest(Checked):
    """The caller says why a job is to be cancelled."""

    reason: Text = Field(default="cancelled by an operator", examples=["the order was withdrawn"])
    """Kept with the job."""


class Cancelled(View):
    """The effect of a request to cancel a job."""

    job_id: int = Field(examples=[JOB])
    was: State = Field(examples=["ready"])
    """The state it was in."""
    effect: Effect
    """`requested`: it runs, and its worker is asked to stop it; `none`: it had ended already."""


class RedriveRequest(Checked):
    """Dead letters that match every given field are retried."""

    kind: Text | None = Field(default=None, examples=[KIND])
    queue: Text | None = Field(default=None, examples=[None])
    signature: str | None = Field(default=None, min_length=1, max_length=1_000, examples=[None])
    """The signature of a group, from `GET /dead-letters/groups`."""
    limit: Redriven = 1_000
    """The most that are retried, oldest first."""
    preview: bool = True
    """Only count them; send false to retry them."""
    reason: Because | None = Field(default=None, examples=["the mail server is back"])
    """The audit tells why."""


@shows(Redrive, matching=12)
class RedriveAnswer(View):
    """The result of a redrive."""

    preview: bool
    """True says that it only counted."""
