"""Webhooks: endpoints, their deliveries, and each attempt with its answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from fastapi import Query, Response
from psycopg import AsyncConnection

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import webhook_deliveries, webhooks
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_WRITE
from ostinato._faces.console.names import segment
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking, View

pages = Pages()

PAGE = 50


@asynccontextmanager
async def _reading(view: View, tenant: str | None) -> AsyncIterator[AsyncConnection[Any]]:
    """A connection that may read endpoints: tenants cannot, because of the secrets beside them."""
    if not view.sees_all and tenant != view.tenant:
        raise NotFound("there is no such endpoint", hint="The page Webhooks lists them.")
    async with view.administering() as conn:
        yield conn


@pages.page("/webhooks", needs=CONSOLE_READ)
async def list_endpoints(view: Looking) -> Response:
    """The endpoints."""
    async with _reading(view, view.tenant) as conn:
        found = await webhooks.list_endpoints(conn, tenant_id=view.tenant)
    return view.page("webhooks.html", endpoints=found, may_act=view.may(ENGINE_WRITE))


@pages.page("/webhooks/{tenant:named}/{name:named}", needs=CONSOLE_READ)
async def show_endpoint(
    view: Looking, tenant: str, name: str, *, before: Annotated[int | None, Query(ge=1, lt=2**63)] = None
) -> Response:
    """One endpoint, with its deliveries and the last attempts."""
    async with _reading(view, tenant) as conn:
        endpoint = await webhooks.show_endpoint(conn, name, tenant_id=tenant)
        rows = await webhook_deliveries.list_deliveries(conn, name, tenant_id=tenant, before=before, most=PAGE + 1)
        attempts = await webhook_deliveries.list_attempts(conn, name, tenant_id=tenant, most=10)
    older = rows[PAGE - 1].delivery_id if len(rows) > PAGE else None
    return view.page(
        "webhook.html",
        endpoint=endpoint,
        deliveries=rows[:PAGE],
        attempts=attempts,
        older=older,
        first=before is None,
        may_act=view.may(ENGINE_WRITE),
    )


@pages.action("/webhooks/{tenant:named}/{name:named}/{verb}", needs=ENGINE_WRITE)
async def act(view: Looking, tenant: str, name: str, verb: Literal["pause", "resume", "redeliver"]) -> Response:
    """Pause an endpoint, let it go on, or send again what it gave up."""
    words = view.words
    async with _reading(view, tenant) as conn:
        match verb:
            case "pause":
                await webhooks.pause(conn, name, tenant_id=tenant, reason=view.form.get("reason") or None)
                said = words.gettext("Nothing more is sent there.")
            case "resume":
                await webhooks.resume(conn, name, tenant_id=tenant)
                said = words.gettext("The endpoint goes on.")
            case _:
                found = await webhook_deliveries.find(conn, name, tenant_id=tenant)
                count = await webhook_deliveries.redeliver(conn, name, found, tenant_id=tenant)
                said = words.gettext("%(n)s deliveries are sent again.") % {"n": words.number(count)}
    return view.see(f"/webhooks/{segment(tenant)}/{segment(name)}", said)
