"""Events: the log by key and type, subscriptions with their lag, what they gave up, and replay."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Query, Response

from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.engine import outbox, subscriptions
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_WRITE
from ostinato._faces.console.names import segment
from ostinato._faces.console.pages.filters import moment, whole
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking, View

pages = Pages()

PAGE = 50
Text = Annotated[str, Query(max_length=200)]
Before = Annotated[int | None, Query(ge=1, lt=2**63)]


@pages.page("/events", needs=CONSOLE_READ)
async def list_events(view: Looking, *, type: Text = "", key: Text = "", before: Before = None) -> Response:  # noqa: A002 - the name of the parameter
    """Show the log, newest first, and the subscriptions."""
    async with view.reading() as conn:
        rows = await outbox.list_events(
            conn,
            type=type.strip() or None,
            ordering_key=key.strip() or None,
            tenant_id=view.tenant,
            before=before,
            most=PAGE + 1,
        )
        subscribed = await subscriptions.list_subscriptions(conn) if view.tenant is None else []
    older = rows[PAGE - 1].id if len(rows) > PAGE else None
    query = {name: value for name, value in {"type": type.strip(), "key": key.strip()}.items() if value}
    return view.page(
        "events.html",
        events=rows[:PAGE],
        subscriptions=subscribed,
        query=query,
        older=older,
        first=before is None,
        may_act=view.tenant is None and view.may(ENGINE_WRITE),
    )


@pages.page("/events/{event_id:digits}", needs=CONSOLE_READ)
async def show_event(view: Looking, event_id: int) -> Response:
    """Show one event, and where it is with each subscription."""
    async with view.reading() as conn:
        event = await outbox.show_event(conn, event_id)
        # Subscriptions belong to the installation: a tenant is not told who takes its events.
        deliveries = await subscriptions.deliveries_of(conn, event_id) if view.tenant is None else None
    return view.page("event.html", event=event, deliveries=deliveries, may_act=view.may(ENGINE_WRITE))


@pages.page("/subscriptions/{name:named}", needs=CONSOLE_READ)
async def show_subscription(view: Looking, name: str, *, before: Before = None) -> Response:
    """Show one subscription, and the events that it gave up."""
    view.check_installation()
    async with view.site.staff.connection() as conn:
        found = next((each for each in await subscriptions.list_subscriptions(conn) if each.name == name), None)
        buried = await subscriptions.buried(conn, name, before=before, most=PAGE + 1)
    if found is None:
        raise NotFound(f"there is no subscription {name[:100]!r}", hint="The page Events lists them.")
    older = buried[PAGE - 1].job_id if len(buried) > PAGE else None
    return view.page(
        "subscription.html",
        subscription=found,
        buried=buried[:PAGE],
        older=older,
        first=before is None,
        may_act=view.may(ENGINE_WRITE),
    )


@pages.page("/subscriptions/{name:named}/replay", needs=CONSOLE_READ)
async def preview_replay(view: Looking, name: str, *, since: Text = "", at: Text = "") -> Response:
    """Show how many events a replay would deliver again: from a position on, or from a time of the reader."""
    ENGINE_WRITE.check(view.roles)
    view.check_installation()
    start = _since(view, at.strip() or since.strip())
    async with view.site.staff.connection() as conn:
        count = await subscriptions.replay(conn, name, start, preview=True)
    return view.page(
        "subscription_replay.html", name=name, start=start, count=count, capped=count >= subscriptions.MOST_COUNTED
    )


@pages.action("/subscriptions/{name:named}/drop", needs=ENGINE_WRITE)
async def drop(view: Looking, name: str) -> Response:
    """Remove a subscription; the form repeats its name, because this cannot be undone."""
    view.check_installation()
    check_typed(view, name)
    async with view.administering() as conn:
        await subscriptions.drop(conn, name)
    return view.see("/events", view.words.gettext("%(name)s is subscribed no more.") % {"name": name})


@pages.action("/subscriptions/{name:named}/{verb}", needs=ENGINE_WRITE)
async def act(view: Looking, name: str, verb: Literal["pause", "resume", "redeliver", "discard", "replay"]) -> Response:
    """Pause a subscription, let it go on, deliver or discard what it gave up, or replay the log."""
    view.check_installation()
    words = view.words
    async with view.administering() as conn:
        match verb:
            case "pause":
                await subscriptions.pause(conn, name)
                said = words.gettext("The subscription is paused.")
            case "resume":
                await subscriptions.resume(conn, name)
                said = words.gettext("The subscription goes on.")
            case "redeliver":
                one = [_position(view, "position")] if view.form.get("position") else None
                count = await subscriptions.redeliver(conn, name, one)
                said = words.ngettext("%(n)s event is delivered again.", "%(n)s events are delivered again.", count)
                said = said % {"n": words.number(count)}
            case "discard":
                count = await subscriptions.discard(conn, name, [_position(view, "position")])
                said = words.ngettext("%(n)s event is discarded.", "%(n)s events are discarded.", count)
                said = said % {"n": words.number(count)}
            case _:
                count = await subscriptions.replay(conn, name, _since(view, view.form.get("since", "")))
                said = words.ngettext("%(n)s event is replayed.", "%(n)s events are replayed.", count)
                least = "≥ " if count >= subscriptions.MOST_COUNTED else ""
                said = said % {"n": least + words.number(count)}
    return view.see(f"/subscriptions/{segment(name)}", said)


def check_typed(view: View, name: str) -> None:
    """Refuse what cannot be undone unless the form repeats the name of what is meant."""
    if view.form.get("typed", "").strip() != name:
        given = view.form.get("typed", "")[:100]
        raise InvalidInput(f"you typed {given!r}, and this is {name[:100]!r}", hint="Type the name to remove it.")


def _since(view: View, given: str) -> int | datetime:
    """Read where a replay begins: a position of the log, or a time."""
    if position := whole(given):
        return position
    if "-" not in given:
        raise InvalidInput(
            f"{given[:20]!r} is no position of the log", hint="Write a number, such as 1, or choose a time."
        )
    return moment(view, given)


def _position(view: View, name: str) -> int:
    given = view.form.get(name, "")
    if not (position := whole(given)):
        raise InvalidInput(f"{given[:20]!r} is no position of the log", hint="Use the button beside an event.")
    return position
