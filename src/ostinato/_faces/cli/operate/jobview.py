"""Shows a job on a terminal: its facts, attempts, steps and error."""

from datetime import datetime
from typing import Any

from rich.text import Text

from ostinato._core.engine.inspect import Attempt, JobDetails, JobSummary
from ostinato._core.engine.steps import Step
from ostinato._faces.cli.frame import words
from ostinato._faces.cli.frame.document import parsed
from ostinato._faces.cli.frame.listing import Columns

LONGEST_ERROR = 80


def latest(job: JobSummary, now: datetime) -> Text:
    """Return the news about a job, in a few words: when it runs, when it ended, what went wrong."""
    fault = (job.error or "").partition("\n")[0]
    if len(fault) > LONGEST_ERROR:
        fault = f"{fault[: LONGEST_ERROR - 1]}…"
    if job.run_at is not None:
        news = f"runs {words.age(job.run_at, now)}" if job.run_at > now else "due"
    elif job.finished_at is not None:
        news = words.age(job.finished_at, now)
    else:
        news = ""
    return Text("; ".join(part for part in (news, fault) if part))


def error(fault: dict[str, Any]) -> list[Text]:
    """Return the last error of a job, with its traceback."""
    return [
        Text(_summary(fault), style="bold red"),
        *([Text(str(fault["traceback"]).rstrip(), style="dim")] if fault.get("traceback") else []),
    ]


def facts(job: JobDetails, now: datetime) -> dict[str, object]:
    """Return what there is to know about a job."""
    most = f" of {job.max_attempts}" if job.max_attempts is not None else ""
    counts = [f"{job.failures} failed{most}" if job.failures else ""]
    counts.append(f"{job.crashes} lost its worker" if job.crashes else "")
    attempt = f"{job.attempt}  ({', '.join(c for c in counts if c)})" if any(counts) else None
    return {
        "job": job.id,
        "kind": job.kind,
        "state": _state(job),
        "queue": f"{job.queue}, priority {job.priority}",
        "tenant": job.tenant_id,
        "correlation": job.correlation_id,
        "attempt": attempt or job.attempt,
        "added": _at(job.created_at, now),
        "run at": _at(job.run_at, now),
        "finished": _at(job.finished_at, now),
        "worker": _worker(job, now),
        "progress": _progress(job, now),
        "cancel": job.cancel_requested_at
        and f"asked for {words.age(job.cancel_requested_at, now)}: {job.cancel_reason}",
        "limit key": job.limit_key,
        "unique key": job.unique_key,
        "args": job.args,
        "result": job.result,
    }


def _state(job: JobDetails) -> Text:
    reason = f" ({job.reason})" if job.reason else ""
    return words.state(job.state).append(reason, style="dim")


def _at(at: datetime | None, now: datetime) -> str | None:
    return None if at is None else f"{at:%Y-%m-%d %H:%M:%S %Z}, {words.age(at, now)}"


def _worker(job: JobDetails, now: datetime) -> str | None:
    if job.worker_id is None:
        return None
    name = job.worker_name or str(job.worker_id)
    if job.claimed_at is None:
        return name
    return f"{name}, since {words.age(job.claimed_at, now)}"


def _progress(job: JobDetails, now: datetime) -> str | None:
    if job.progress_done is None:
        return None
    done, total = job.progress_done, job.progress_total
    parts = [f"{done:g}" if not total else f"{done:g} of {total:g} ({100 * done / total:.0f} %)"]
    parts += [job.progress_note] if job.progress_note else []
    return ", ".join([*parts, words.age(job.progress_at, now)])


def _took(run: Attempt | Step, _: datetime) -> str:
    return "" if run.duration_ms is None else words.span(run.duration_ms / 1000)


def _when(step: Step, now: datetime) -> str:
    if step.until is not None and step.until > now:
        return f"until {words.age(step.until, now)}"
    return words.age(step.finished_at, now)


def _summary(fault: dict[str, Any]) -> str:
    named = [str(fault[key]) for key in ("type", "message") if fault.get(key)]
    return ": ".join(named) or str(fault.get("reason", ""))


ATTEMPTS = Columns(
    "attempt> | outcome | started=started_at | took | worker | error",
    outcome=lambda run, _: words.state(run.outcome),
    took=_took,
    worker=lambda run, _: run.worker_name or str(run.worker_id or "")[:8],
    error=lambda run, _: _summary(parsed(run.error) or {}),
)
STEPS = Columns(
    "step=position | name | type | when | took | bytes> | attempt",
    when=_when,
    took=_took,
    bytes=lambda step, _: step.bytes or None,
)
