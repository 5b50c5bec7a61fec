"""Adds the console to the API's application: pages, static files, and error pages for browsers."""

from collections.abc import Sequence
from importlib import resources

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from ostinato._core.base.errors import NotFound, OstinatoError
from ostinato._core.runtime.client import Client
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.permissions import CONSOLE_READ
from ostinato._faces.api.tokens import Tokens
from ostinato._faces.console import issuer, signing
from ostinato._faces.console.doorman import Doorman
from ostinato._faces.console.issuer import door_of
from ostinato._faces.console.live import Live
from ostinato._faces.console.pages import (
    access,
    alerts,
    apps,
    bulk,
    cells,
    dead_letters,
    engine_actions,
    events,
    inbox,
    installation,
    job_actions,
    job_tree,
    jobs,
    machines,
    now,
    portal,
    queues,
    schedule_forms,
    schedules,
    shares,
    story,
    webhooks,
)
from ostinato._faces.console.routes import error_page, view_for
from ostinato._faces.console.site import STATIC, Entry, Inbox, Site
from ostinato._faces.console.text import HERE
from ostinato._faces.console.view import HOME

TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
KEEP = "public, max-age=31536000, immutable"
STAFF_CONNECTIONS = 6
DOOR_CONNECTIONS = 2

MENU = (
    Entry("Now", "/"),
    Entry("Jobs", "/jobs"),
    Entry("Dead letters", "/dead-letters", counts="dead"),
    Entry("Queues", "/queues"),
    Entry("Workers", "/workers"),
    Entry("Schedules", "/schedules"),
    Entry("Events", "/events"),
    Entry("Webhooks", "/webhooks"),
    Entry("Trail", "/trail"),
    Entry("Alerts", "/alerts", "Installation", "alerts"),
    Entry("Leases", "/leases", "Installation"),
    Entry("Machines", "/machines", "Installation"),
    Entry("Access", "/access", "Installation"),
)
PAGES = (
    now,
    cells,
    access,
    job_actions,
    engine_actions,
    job_tree,
    jobs,
    bulk,
    dead_letters,
    queues,
    schedule_forms,
    schedules,
    events,
    webhooks,
    story,
    apps,
    inbox,
    alerts,
    machines,
    portal,
    shares,
    installation,
)

router = APIRouter(include_in_schema=False)


@router.get("/")
async def front_door(request: Request) -> Response:
    """Lead to the console."""
    return RedirectResponse(f"{request.state.prefix}{HOME}/", 307)


@router.get(f"{HOME}/static/{{version}}/{{name}}")
async def static(name: str) -> Response:
    """Serve a static file; its address has the version, so that a browser keeps it."""
    if name not in STATIC:
        raise NotFound(f"there is no file {name[:100]!r}")
    content = (resources.files(HERE) / "static" / name).read_bytes()
    headers = {"Cache-Control": KEEP, "Cross-Origin-Resource-Policy": "same-origin"}
    return Response(content, headers=headers, media_type=TYPES[name.rpartition(".")[2]])


def mount(app: FastAPI, parts: Parts, tokens: Tokens | None) -> Site:
    """Add the console to an application; the site it returns is opened while the application runs."""
    routers: Sequence[APIRouter] = (router, signing.pages, issuer.pages, *(module.pages for module in PAGES))
    # As a worker, in connections of their own: for sessions, and for operators of the installation,
    # who see all tenants. What a tenant's people do runs in the API's connections, as their tenant.
    staff = Client(parts.database, parts.settings, max_size=STAFF_CONNECTIONS, role="console", shows=True)
    # Sessions are looked up in connections that no page can take, however long its queries are.
    door = Client(parts.database, parts.settings, max_size=DOOR_CONNECTIONS, role="console")
    waiting = inbox.waiting(parts.apps)
    live = Live(staff, {key: panel.count for key, (_, panel) in waiting.items() if panel.count is not None})
    brought = [Entry(app.name.capitalize(), f"/apps/{app.name}", "Applications") for app in parts.apps if app.panels]
    inboxes = [Entry("Inbox", "/inbox", "Applications", "inbox")] if waiting else []
    locales = {app.name: app.locale for app in parts.apps if app.locale is not None}
    several = [] if parts.cells is None else [Entry("Cells", "/cells", "Installation")]
    menu = (*MENU, *several, *inboxes, *brought)
    seen_by = {key: Inbox(app, panel.title, panel.needs or CONSOLE_READ) for key, (app, panel) in waiting.items()}
    site = Site(menu, staff, door, Doorman(door), live, door_of(parts.settings, tokens), seen_by, locales)
    app.state.site = site
    for each in routers:
        app.router.routes.extend(each.routes)
    app.state.lost_page = lost_page
    return site


async def lost_page(request: Request, error: OstinatoError, status: int) -> Response | None:
    """Return the page of an error that no page met; None where no browser asks for a page.

    Such as an address that leads nowhere, or a request that is refused in front of all routes.
    """
    if not request.url.path.startswith(HOME) or "text/html" not in request.headers.get("accept", ""):
        return None
    return error_page(await view_for(request), error, status)
