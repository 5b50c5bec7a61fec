"""Events: the log by key and type, subscriptions with their lag, and replay."""

from typing import Annotated, Literal

from fastapi import Query, Response

from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.engine import outbox, subscriptions
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_WRITE
from ostinato._faces.console.names import segment
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking

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


@pages.action("/subscriptions/{name:named}/{verb}", needs=ENGINE_WRITE)
async def act(view: Looking, name: str, verb: Literal["pause", "resume", "redeliver", "replay"]) -> Response:
    """Pause a subscription, let it go on, deliver what it gave up again, or replay the log from a position."""
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
                count = await subscriptions.redeliver(conn, name)
                said = words.gettext("%(n)s events are delivered again.") % {"n": words.number(count)}
            case _:
                given = view.form.get("since", "")
                if not given.isascii() or not given.isdigit():
                    raise InvalidInput(f"{given[:20]!r} is no position of the log", hint="Write a number, such as 1.")
                count = await subscriptions.replay(conn, name, int(given))
                said = words.gettext("%(n)s events are replayed.") % {"n": words.number(count)}
    return view.see(f"/subscriptions/{segment(name)}", said)
