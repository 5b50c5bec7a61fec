"""Draws the story of one job: waits, attempts, steps and events on one axis of time."""

from collections.abc import Sequence
from datetime import timedelta

from markupsafe import Markup

from ostinato._core.engine.inspect import Attempt, JobDetails
from ostinato._core.engine.outbox import EventSummary
from ostinato._core.engine.steps import Step
from ostinato._faces.console import draw
from ostinato._faces.console.draw import Bar
from ostinato._faces.console.view import View

LOOKS = {"done": "ok", "failed": "bad", "dead": "bad", "lost": "warn", "cancelled": "soft", "running": "accent"}
MOST_EVENTS = 10


def bars(
    view: View, job: JobDetails, runs: Sequence[Attempt], steps: Sequence[Step], events: Sequence[EventSummary]
) -> Markup:
    """The time line of a job."""
    words, now = view.words, view.now
    found: list[Bar] = []
    began = [run.started_at for run in runs if run.started_at is not None]
    first = min(began, default=None)
    waited_until = first or (None if job.finished_at else min(now, job.run_at or now))
    if waited_until is not None and waited_until > job.created_at:
        note = words.span(waited_until - job.created_at)
        found.append(Bar(words.gettext("waited"), job.created_at, waited_until, "soft", note))
    for run in runs:
        if run.started_at is None:
            continue
        end = run.finished_at or now
        row = words.gettext("attempt %(n)s") % {"n": run.attempt}
        if run.worker_name:
            row = f"{row} · {run.worker_name}"
        note = f"{words.gettext(run.outcome)}, {words.span(end - run.started_at)}"
        found.append(Bar(row, run.started_at, end, LOOKS.get(run.outcome, "soft"), note))
    found += [_step(view, step) for step in steps if step.finished_at is not None]
    found += [
        Bar(words.gettext("events"), event.occurred_at, None, "accent", event.type) for event in events[:MOST_EVENTS]
    ]
    if job.run_at is not None and job.state == "scheduled" and job.run_at > now:
        start = max([bar.end or bar.start for bar in found], default=now)
        text = words.gettext("next attempt %(time)s") if runs else words.gettext("runs at %(time)s")
        note = text % {"time": view.clock.time(job.run_at)}
        found.append(Bar(words.gettext("waits"), max(start, job.created_at), job.run_at, "info", note, dashed=True))
    return draw.timeline(words.gettext("Time line"), found, view.clock.tick)


def _step(view: View, step: Step) -> Bar:
    assert step.finished_at is not None  # noqa: S101 - the caller leaves out the others
    start = step.finished_at - timedelta(milliseconds=step.duration_ms or 0)
    note = f"{view.words.gettext('kept')}, {view.words.span(step.finished_at - start)}"
    return Bar(step.name, start, step.finished_at, "ok", note, indent=True)
