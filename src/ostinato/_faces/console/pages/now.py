"""Now: what a person on call wants to see in five seconds."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

from fastapi import Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ostinato._core.engine.inspect import QueueSummary
from ostinato._faces.api.permissions import CONSOLE_READ
from ostinato._faces.console import draw
from ostinato._faces.console.live import Snapshot, event
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.site import Inbox
from ostinato._faces.console.text import LANGUAGES, Language
from ostinato._faces.console.view import HEADERS, Looking, View

pages = Pages()

MINUTES = 60
BUSY = 0.95
LATE_SECONDS = 60
"""A queue whose oldest job waits longer than this is behind."""


@pages.page("/", needs=CONSOLE_READ)
async def now(view: Looking) -> Response:
    """Show the first page."""
    found = await view.site.live.of(view.tenant).now(view.acted)
    return view.page(
        "now.html",
        now=found,
        queues=by_trouble(found),
        chart=chart(view, found),
        chart_title=of_chart(found)[0],
        figures=figures(view.words, found),
        state_of=state_of,
        waits=waits_of(view, found),
        usual={"done": found.usually(lambda step: step.done), "failed": found.usually(lambda step: step.failed)},
    )


@pages.page("/live", needs=CONSOLE_READ)
async def live(view: Looking) -> Response:
    """Stream the figures of the first page as they change, for a script."""
    assert view.visit is not None  # noqa: S101 - the page needs a permission
    session = view.visit.session
    view.site.live.check_streams(session.tenant_id, session.id)
    return _Stream(view, session.tenant_id, session.id)


class _Stream(StreamingResponse):
    """A stream of events, counted for its session from the first byte to the last."""

    def __init__(self, view: View, tenant: str | None, session_id: int) -> None:
        headers = {**HEADERS, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(_events(view), headers=headers, media_type="text/event-stream")
        self._counted = view.site.live.stream(tenant, session_id)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._counted:
            await super().__call__(scope, receive, send)


async def _events(view: View) -> AsyncIterator[bytes]:
    """Yield the events of a stream; it ends with the session, as pages do."""
    shape: object = None
    languages = [view.site.language(code) for code in LANGUAGES]
    async for found in view.site.live.following(view.tenant):
        if await view.site.doorman.find(view.request) is None:
            return
        seen = found.shape = found.shape or _shape(found)
        if shape is not None and seen != shape:
            yield event("changed", {})
        shape = seen
        if found.sent is None:
            told = {words.code: figures(words, found) for words in languages}
            found.sent = event("figures", {**told, "paths": _running(found), "at": found.at.isoformat()})
        yield found.sent


def _shape(found: Snapshot) -> object:
    """Return what a page has to be drawn anew for: rows that come and go, and lines of the chart."""
    return (
        [(queue.name, queue.paused) for queue in by_trouble(found)],
        [(firing.id, firing.acknowledged_at, firing.silenced_until) for firing in found.firings],
        [(group.signature, group.kind) for group in found.dead],
        [(each.tenant_id, each.name, each.next_at) for each in found.upcoming],
        [(each.tenant_id, each.name, each.state) for each in found.failing],
        [(each.id, each.expired, each.draining) for each in found.workers],
        found.at.replace(second=0, microsecond=0) if found.hour else None,
        of_chart(found)[0],
        draw.nice_top(_highest(found)),
        found.waits,
    )


def figures(words: Language, found: Snapshot) -> dict[str, str]:
    """Return the figures of the page as texts, by the name that its places have."""
    last, running = found.last_minute, found.this_minute
    about = "≥ " if found.about else ""
    texts = {
        "waiting": about + words.number(found.waiting),
        "oldest": words.span(found.oldest),
        "running": words.number(found.running),
        "done": words.number(last.done if last else 0),
        "p99": f"≤ {words.span(last.p99)}" if last and last.p99 is not None else words.span(None),
        "done-now": words.number(running.done if running else 0),
        "failing": words.number(last.failed if last else 0),
        "failing-now": words.number(running.failed if running else 0),
        "dead": about + words.number(found.dead_letters),
        "scheduled": about + words.number(found.scheduled),
        "behind": words.number(sum(each.behind for each in found.subscriptions)),
        "lag": words.span(max((each.lag_seconds for each in found.subscriptions), default=None)),
        "beat": words.span(max((each.beat_age for each in found.workers if not each.expired), default=None)),
    }
    for queue in found.queues:
        texts |= {
            f"{queue.name}:ready": words.number(queue.ready),
            f"{queue.name}:oldest": words.span(queue.oldest_wait),
            f"{queue.name}:running": words.number(queue.running),
            f"{queue.name}:rate": words.number(rate_of(found, queue)),
        }
    return texts


def waits_of(view: View, found: Snapshot) -> list[tuple[str, Inbox, int]]:
    """Return what waits for a person by panel, as far as the viewer may see it; panels without any are left out."""
    seen = ((key, view.site.inboxes[key], count) for key, count in found.waits.items() if count)
    return [each for each in seen if view.may(each[1].needs)]


def rate_of(found: Snapshot, queue: QueueSummary) -> float | None:
    """Return the jobs of a queue that were done a minute, over the last minutes."""
    rate = found.rates.get(queue.name)
    return None if rate is None else rate.done / 5


def state_of(queue: QueueSummary) -> tuple[str, str]:
    """Return how a queue stands, as a word and its colour."""
    if queue.paused:
        return "paused", "info"
    if not queue.workers:
        return "nobody serves it", "bad" if queue.ready else "soft"
    if queue.concurrency is not None and queue.ready and queue.running >= BUSY * queue.concurrency:
        return "at its limit", "warn"
    if queue.ready and (queue.oldest_wait or 0) > LATE_SECONDS:
        return "behind", "warn"
    if queue.ready or queue.running:
        return "flowing", "accent"
    return "quiet", "soft"


def by_trouble(found: Snapshot) -> list[QueueSummary]:
    """Return the queues by name, those first that want somebody: they may be many, and nobody scrolls at night."""
    ranks = {"bad": 0, "warn": 1, "info": 2}
    return sorted(found.queues, key=lambda queue: (ranks.get(state_of(queue)[1], len(ranks)), queue.name))


def chart(view: View, found: Snapshot) -> object:
    """Draw what came in and what was done a second, over the last hour, and the minute that runs so far."""
    first = found.at.replace(second=0, microsecond=0) - timedelta(minutes=MINUTES)
    title, _ = of_chart(found)
    words = view.words

    def at(moment: datetime) -> str:
        return f"{view.clock.local(moment):%H:%M}"

    return draw.chart(words.gettext(title), _lines(found), draw.ticks_of(first, found.at, 3, at), words.number)


def _lines(found: Snapshot) -> list[draw.Line]:
    """Return the lines of the chart; the last value of each is of the minute that runs, and grows."""
    first = found.at.replace(second=0, microsecond=0) - timedelta(minutes=MINUTES)
    steps = {step.at: step for step in found.hour}
    _, part = of_chart(found)

    def values(of: str) -> list[float | None]:
        found_steps = (steps.get(first + timedelta(minutes=i)) for i in range(MINUTES + 1))
        return [0.0 if step is None else getattr(step, of) / part for step in found_steps]

    return [
        draw.Line("started", values("first"), "a", filled=True, running=True),
        draw.Line("done", values("done"), "b", running=True),
        draw.Line("failed", values("failed"), "c", running=True),
    ]


def _running(found: Snapshot) -> dict[str, str]:
    """Return the last column of each line, by the name of its place: what grows while the minute runs."""
    lines = _lines(found)
    top = draw.nice_top(_highest(found))
    return {f"running-{line.look}": draw.last_column(line, top) for line in lines}


def _highest(found: Snapshot) -> float:
    return max(value or 0.0 for line in _lines(found) for value in line.values)


def of_chart(found: Snapshot) -> tuple[str, int]:
    """Return the chart's title, and what a minute is divided by: by the second where at least one a second runs."""
    busiest = max((max(step.first, step.done, step.failed) for step in found.hour), default=0)
    if busiest < MINUTES:
        return "Started and done a minute, last hour", 1
    return "Started and done a second, last hour", 60
