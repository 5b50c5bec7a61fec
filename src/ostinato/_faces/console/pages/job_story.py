"""Draws the story of one job: waits, attempts, steps, and what its trail did meanwhile, on one axis of time."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from markupsafe import Markup

from ostinato._core.engine import children
from ostinato._core.engine.inspect import Attempt, JobDetails, TrailLine
from ostinato._core.engine.steps import Step
from ostinato._faces.console import draw
from ostinato._faces.console.draw import Bar
from ostinato._faces.console.view import View

LOOKS = {"done": "ok", "failed": "bad", "dead": "bad", "lost": "warn", "cancelled": "soft", "running": "accent"}
MOST_DOTS = 30
FAR = timedelta(days=365)
"""A wait without an end has its time in the year 9000: it is drawn until now."""


def drawn(
    view: View, job: JobDetails, runs: Sequence[Attempt], steps: Sequence[Step], trail: Sequence[TrailLine]
) -> Markup:
    """Draw the time line of a job."""
    found = [*_waited(view, job, runs, steps), *_attempts(view, runs)]
    found += [bar for step in steps for bar in _step(view, step, found)]
    found += _meanwhile(view, job, runs, trail)
    found += _to_come(view, job, runs, found)
    return draw.timeline(view.words.gettext("Time line"), found, view.clock.tick)


def _waited(view: View, job: JobDetails, runs: Sequence[Attempt], steps: Sequence[Step]) -> Iterator[Bar]:
    """Yield the wait for its first start; of an attempt that left for a sleep or a wait only the steps are known."""
    began = [run.started_at for run in runs if run.started_at is not None]
    began += [_start(step) for step in steps if step.finished_at is not None]
    first = min(began, default=None)
    until = first or (None if job.finished_at else min(view.now, job.run_at or view.now))
    if until is not None and until > job.created_at:
        note = view.words.span(until - job.created_at)
        yield Bar(view.words.gettext("waited"), job.created_at, until, "soft", note)


def _attempts(view: View, runs: Sequence[Attempt]) -> Iterator[Bar]:
    words = view.words
    for run in runs:
        if run.started_at is None:
            continue
        end = run.finished_at or view.now
        row = words.gettext("attempt %(n)s") % {"n": run.attempt}
        if run.worker_name:
            row = f"{row} · {run.worker_name}"
        note = f"{words.gettext(run.outcome)}, {words.span(end - run.started_at)}"
        yield Bar(row, run.started_at, end, LOOKS.get(run.outcome, "soft"), note)


def _step(view: View, step: Step, before: Sequence[Bar]) -> Iterator[Bar]:
    """Yield a step that was kept, a sleep from its start to its end, a wait that has ended, or one that has not."""
    words = view.words
    name = words.gettext("children") if step.name.startswith(f"{children.EVENT}/") else step.name
    if step.finished_at is None:  # it waits now
        start = max((bar.end or bar.start for bar in before), default=view.now)
        note = words.gettext("waits since %(time)s") % {"time": view.clock.time(start)}
        yield Bar(name, min(start, view.now), view.now, "info", note, indent=True, dashed=True)
    elif step.type == "sleep":
        end = step.until or step.finished_at
        note = words.gettext("sleeps %(time)s") % {"time": words.span(end - step.finished_at)}
        yield Bar(name, step.finished_at, end, "soft", note, indent=True)
    elif step.type in {"event", "timeout"}:
        said = words.gettext("came") if step.type == "event" else words.gettext("timeout")
        yield Bar(name, step.finished_at, None, "ok" if step.type == "event" else "warn", said, indent=True)
    else:
        start = _start(step)
        note = f"{words.gettext('kept')}, {words.span(step.finished_at - start)}"
        yield Bar(name, start, step.finished_at, "ok", note, indent=True)


def _start(step: Step) -> datetime:
    """Return when a step began; the stored time of a sleep is its beginning."""
    assert step.finished_at is not None  # noqa: S101 - the callers leave out waits that are on
    lasted = timedelta(0) if step.type == "sleep" else timedelta(milliseconds=step.duration_ms or 0)
    return step.finished_at - lasted


def _meanwhile(view: View, job: JobDetails, runs: Sequence[Attempt], trail: Sequence[TrailLine]) -> list[Bar]:
    """Return the events and jobs of its trail that came while it ran; others of the trail are not of this job."""
    ran = [(run.started_at, run.finished_at or view.now) for run in runs if run.started_at is not None]

    def inside(moment: datetime) -> bool:
        return any(start <= moment <= end for start, end in ran)

    found = []
    for line in trail:
        if not inside(line.at):
            continue
        if line.source == "event":
            found.append(Bar(view.words.gettext("events meanwhile"), line.at, None, "accent", line.what))
        elif line.source == "job" and line.state == "enqueued" and _may_be_of(line, job):
            found.append(Bar(view.words.gettext("jobs added meanwhile"), line.at, None, "info", line.what))
    return found[:MOST_DOTS]


def _may_be_of(line: TrailLine, job: JobDetails) -> bool:
    """Return whether this job may have added another one: the child of another job is not its own."""
    return line.job_id != job.id and line.detail.get("parent_id") in {None, job.id}


def _to_come(view: View, job: JobDetails, runs: Sequence[Attempt], before: Sequence[Bar]) -> Iterator[Bar]:
    words, now = view.words, view.now
    if job.state != "scheduled" or job.run_at is None or not now < job.run_at < now + FAR or job.reason == "event":
        return
    start = max([bar.end or bar.start for bar in before], default=now)
    text = words.gettext("next attempt %(time)s") if runs else words.gettext("runs at %(time)s")
    note = text % {"time": view.clock.time(job.run_at)}
    yield Bar(words.gettext("waits"), max(start, job.created_at), job.run_at, "info", note, dashed=True)
