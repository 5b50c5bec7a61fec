"""The portal: a customer looks after the endpoints of one tenant, by a link, without a key.

Its session has the role `portal` and no other, so no page of the console opens for it. Every verb here is
given the tenant of the session, never one that the address names.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Response
from psycopg import AsyncConnection

from ostinato._core.base.errors import Conflict, Forbidden, InvalidInput, Unauthenticated
from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.engine import portals, sessions, webhook_deliveries, webhooks
from ostinato._core.engine.webhook_deliveries import DeliveryState
from ostinato._faces.api.permissions import ENGINE_WRITE, WEBHOOKS_PORTAL
from ostinato._faces.console.doorman import set_cookie
from ostinato._faces.console.names import segment
from ostinato._faces.console.pages.filters import moment, whole
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking, View

pages = Pages()

PAGE = 25
MOST_TYPES = 50
MOST_ENDPOINTS = 50
"""So many of its tenant a portal adds to: each event is sent to all that want it, at the cost of all tenants."""
MOST_RESENT = 1_000
"""One press of the button sends so many again: they are one transaction."""
SAMPLE = 1_000
"""The counts of an endpoint are of so many deliveries."""
LINK_SECONDS = 3_600.0
Name = Annotated[str, Path(max_length=200)]


@pages.action("/webhooks-portal", needs=ENGINE_WRITE)
async def open_portal(view: Looking) -> Response:
    """Make a link for the tenant that is looked at, and show it once."""
    if view.tenant is None:
        raise InvalidInput("a link is for one tenant", hint="Choose the tenant in the menu of your name first.")
    async with view.acting() as conn:
        made = await portals.open_portal(conn, tenant_id=view.tenant, seconds=LINK_SECONDS)
    address = f"{str(view.request.base_url).rstrip('/')}{view.request.state.prefix}{made.path}"
    return view.page("portal_link.html", address=address, until=made.until)


@pages.action("/webhooks-portal/close", needs=ENGINE_WRITE)
async def close_portals(view: Looking) -> Response:
    """End the links of the tenant that is looked at."""
    if view.tenant is None:
        raise InvalidInput("links are of one tenant", hint="Choose the tenant in the menu of your name first.")
    async with view.acting() as conn:
        count = await portals.close_portals(conn, tenant_id=view.tenant)
    words = view.words
    said = words.ngettext("%(n)s link is ended.", "%(n)s links are ended.", count) % {"n": words.number(count)}
    return view.see("/webhooks", said)


@pages.page("/portal/enter", needs=None)
async def enter(view: Looking, ticket: str = "") -> Response:
    """Show the page of a link; its form enters, so that a preview of the link does not."""
    return view.page("portal_enter.html", ticket=ticket[:200], over=False)


@pages.action("/portal/enter", needs=None)
async def entered(view: Looking) -> Response:
    """Make a session of a link."""
    async with view.site.staff.connection() as conn:
        opened = await sessions.enter(conn, view.form.get("ticket", "")[:200])
    if opened is None:
        return view.page("portal_enter.html", status=401, ticket="", over=True)
    response = view.see("/portal")
    set_cookie(view.request, response, opened.text)
    return response


@pages.page("/portal", needs=WEBHOOKS_PORTAL)
async def list_endpoints(view: Looking) -> Response:
    """Show the endpoints of the tenant."""
    async with _at_home(view) as (conn, tenant):
        found = await webhooks.list_endpoints(conn, tenant_id=tenant, sample=SAMPLE)
    return view.page("portal.html", endpoints=found)


@pages.page("/portal/endpoints/{name:named}", needs=WEBHOOKS_PORTAL)
async def show_endpoint(
    view: Looking, name: Name, *, before: Annotated[int | None, Query(ge=1, lt=2**63)] = None
) -> Response:
    """Show one endpoint, with its deliveries, their attempts and the answers."""
    async with _at_home(view) as (conn, tenant):
        endpoint = await webhooks.show_endpoint(conn, name, tenant_id=tenant)
        rows = await webhook_deliveries.list_deliveries(conn, name, tenant_id=tenant, before=before, most=PAGE + 1)
        attempts = await webhook_deliveries.list_attempts(conn, name, tenant_id=tenant, most=PAGE * 4)
    return view.page(
        "portal_endpoint.html",
        endpoint=endpoint,
        deliveries=rows[:PAGE],
        attempts=attempts,
        older=rows[PAGE - 1].delivery_id if len(rows) > PAGE else None,
        first=before is None,
    )


@pages.action("/portal/create", needs=WEBHOOKS_PORTAL)
async def create(view: Looking) -> Response:
    """Add an endpoint, and show its secret once."""
    name = view.form.get("name", "").strip()
    allowed = parse_allowed(view.parts.settings.webhooks_allow_private)
    async with _at_home(view) as (conn, tenant):
        if len(await webhooks.list_endpoints(conn, tenant_id=tenant, most=MOST_ENDPOINTS, sample=1)) == MOST_ENDPOINTS:
            raise Conflict(
                f"there are {MOST_ENDPOINTS} endpoints already", hint="Use one of them, or ask for another to be added."
            )
        made = await webhooks.create_endpoint(
            conn, name, view.form.get("url", "").strip(), event_types=types_of(view), tenant_id=tenant, allowed=allowed
        )
    return view.page("portal_secret.html", name=name, secret=made.secret)


@pages.action("/portal/endpoints/{name:named}/rotate", needs=WEBHOOKS_PORTAL)
async def rotate(view: Looking, name: Name) -> Response:
    """Give an endpoint a new secret, and show it once; the old one works for a day."""
    async with _at_home(view) as (conn, tenant):
        secret = await webhooks.rotate(conn, name, tenant_id=tenant)
    return view.page("portal_secret.html", name=name, secret=secret)


@pages.action("/portal/endpoints/{name:named}/{verb}", needs=WEBHOOKS_PORTAL)
async def act(view: Looking, name: Name, verb: Literal["disable", "enable", "resend"]) -> Response:
    """Stop deliveries to an endpoint, let them go on, or send one or all that were given up again."""
    async with _at_home(view) as (conn, tenant):
        said = await act_on(conn, view, tenant, name, verb, reason="disabled in the portal")
    return view.see(f"/portal/endpoints/{segment(name)}", said)


async def act_on(
    conn: AsyncConnection[Any], view: View, tenant: str, name: str, verb: str, *, reason: str | None
) -> str:
    """Stop an endpoint, let it go on, or send again what it gave up; returns what the page says then."""
    words = view.words
    match verb:
        case "disable" | "pause":
            await webhooks.pause(conn, name, tenant_id=tenant, reason=reason)
            return words.gettext("Nothing more is sent there.")
        case "enable" | "resume":
            await webhooks.resume(conn, name, tenant_id=tenant)
            return words.gettext("The endpoint goes on.")
    count = await _resend(conn, view, name, tenant)
    said = words.ngettext("%(n)s delivery is sent again.", "%(n)s deliveries are sent again.", count)
    return said % {"n": words.number(count)}


async def _resend(conn: AsyncConnection[Any], view: View, name: str, tenant: str) -> int:
    """Send one delivery again that the form names, or all that were given up, or since a time; returns how many."""
    given = view.form.get("delivery", "")
    number = whole(given)
    if given and not number:
        raise InvalidInput(f"{given[:20]!r} is no delivery", hint="Use the button beside one.")
    # `find` looks among the deliveries of this endpoint: an id of another one is not in it.
    states: list[DeliveryState] = ["dead", "delivered"] if given else ["dead"]
    ids = [number] if given else None
    since = moment(view, view.form["since"]) if view.form.get("since") else None
    found = await webhook_deliveries.find(
        conn, name, tenant_id=tenant, states=states, ids=ids, since=since, most=MOST_RESENT
    )
    return await webhook_deliveries.redeliver(conn, name, found, tenant_id=tenant)


def types_of(view: View) -> Sequence[str]:
    """Return the types of events that a form names; none means all."""
    given = [each.strip() for each in view.form.get("types", "").split(",")]
    found = [each for each in given if each] or ["*"]
    if len(found) > MOST_TYPES:
        raise InvalidInput(f"{len(found)} types are too many", hint=f"Name at most {MOST_TYPES}, or * for all.")
    return found


@asynccontextmanager
async def _at_home(view: View) -> AsyncIterator[tuple[AsyncConnection[Any], str]]:
    """Open a transaction for the tenant of the link, with that tenant."""
    if view.visit is None:
        raise Unauthenticated("this link has ended", hint="Ask for a new one.")
    tenant = view.visit.session.tenant_id
    if tenant is None:
        raise Forbidden("a portal is of one tenant", hint="Use the page Webhooks.")
    async with view.administering() as conn:
        yield conn, tenant
