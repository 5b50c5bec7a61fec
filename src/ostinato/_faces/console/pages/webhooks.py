"""Webhooks: endpoints that are made, changed, tried and removed; their deliveries, each attempt with its answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from fastapi import Query, Response
from psycopg import AsyncConnection

from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.engine import audit, webhook_deliveries, webhooks
from ostinato._core.engine.secrets import vault_of
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_WRITE
from ostinato._faces.api.views import MAX_NAME
from ostinato._faces.console.names import segment
from ostinato._faces.console.pages.events import check_typed
from ostinato._faces.console.pages.portal import act_on, types_of
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking, View

pages = Pages()

PAGE = 50
SAMPLE = 1_000
"""The counts of an endpoint are of so many deliveries, so that a page of many endpoints is fast."""


@asynccontextmanager
async def _reading(view: View, tenant: str | None) -> AsyncIterator[AsyncConnection[Any]]:
    """Open a connection that may read endpoints: tenants cannot, because of the secrets beside them."""
    if not view.sees_all and tenant != view.tenant:
        raise NotFound("there is no such endpoint", hint="The page Webhooks lists them.")
    async with view.administering() as conn:
        yield conn


@pages.page("/webhooks", needs=CONSOLE_READ)
async def list_endpoints(
    view: Looking,
    *,
    after: Annotated[str, Query(max_length=MAX_NAME)] = "",
    of: Annotated[str, Query(max_length=MAX_NAME)] = "",
    name: Annotated[str, Query(max_length=MAX_NAME)] = "",
    failing: bool = False,
) -> Response:
    """Show the endpoints, by tenant and name; `after` names the last one of the page before, `of` its tenant."""
    async with _reading(view, view.tenant) as conn:
        found = await webhooks.list_endpoints(
            conn,
            tenant_id=view.tenant,
            name=name.strip() or None,
            failing=failing,
            after=(of, after) if after else None,
            most=PAGE + 1,
            sample=SAMPLE,
        )
    query = {"name": name.strip(), "failing": "true" if failing else ""}
    end = found[PAGE - 1] if len(found) > PAGE else None
    return view.page(
        "webhooks.html",
        endpoints=found[:PAGE],
        query=query,
        more={**query, "after": end.name, "of": end.tenant_id} if end else None,
        sample=SAMPLE,
        may_act=view.may(ENGINE_WRITE),
    )


@pages.action("/webhooks-create", needs=ENGINE_WRITE)
async def create(view: Looking) -> Response:
    """Add an endpoint, and show its secret once."""
    name, tenant = view.form.get("name", "").strip(), view.form.get("tenant", "").strip() or view.tenant or ""
    if not tenant:
        raise InvalidInput("the form does not say whose endpoint it is", hint="Name the tenant.")
    allowed = parse_allowed(view.parts.settings.webhooks_allow_private)
    async with _reading(view, tenant) as conn:
        url = view.form.get("url", "").strip()
        made = await webhooks.create_endpoint(
            conn, name, url, event_types=types_of(view), tenant_id=tenant, allowed=allowed
        )
    return _secret(view, tenant, name, made.secret)


@pages.action("/webhooks/{tenant:named}/{name:named}/rotate", needs=ENGINE_WRITE)
async def rotate(view: Looking, tenant: str, name: str) -> Response:
    """Give an endpoint a new secret, and show it once; the old one works for a day."""
    async with _reading(view, tenant) as conn:
        secret = await webhooks.rotate(conn, name, tenant_id=tenant)
    return _secret(view, tenant, name, secret)


def _secret(view: View, tenant: str, name: str, secret: str) -> Response:
    return view.page("webhook_secret.html", name=name, secret=secret, path=_path(tenant, name))


@pages.page("/webhooks/{tenant:named}/{name:named}", needs=CONSOLE_READ)
async def show_endpoint(
    view: Looking, tenant: str, name: str, *, before: Annotated[int | None, Query(ge=1, lt=2**63)] = None
) -> Response:
    """Show one endpoint, with its deliveries and the last attempts."""
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


@pages.action("/webhooks/{tenant:named}/{name:named}/change", needs=ENGINE_WRITE)
async def change(view: Looking, tenant: str, name: str) -> Response:
    """Change the address, the types, the note or the time limit of an endpoint; deliveries under way go there too."""
    allowed = parse_allowed(view.parts.settings.webhooks_allow_private)
    async with _reading(view, tenant) as conn:
        await webhooks.change_endpoint(
            conn,
            name,
            tenant_id=tenant,
            url=view.form.get("url", "").strip(),
            event_types=types_of(view),
            description=view.form.get("description", "").strip(),
            timeout_seconds=_seconds(view, "timeout"),
            allowed=allowed,
        )
    return view.see(_path(tenant, name), view.words.gettext("The endpoint is changed."))


@pages.action("/webhooks/{tenant:named}/{name:named}/test", needs=ENGINE_WRITE)
async def test(view: Looking, tenant: str, name: str) -> Response:
    """Send a test message from here and say what came back; no connection is held meanwhile."""
    async with _reading(view, tenant) as conn:
        sending = await webhook_deliveries.probe(conn, name, tenant_id=tenant)
        await audit.note(conn, "test", "webhook_endpoint", name, tenant_id=tenant)
        vault = vault_of(conn)
    met = await view.parts.trials.send(sending, vault)
    words = view.words
    told = {"status": met.status, "time": words.span(met.milliseconds / 1000), "error": met.error}
    if met.outcome == "delivered":
        return view.see(_path(tenant, name), words.gettext("The test was taken: answer %(status)s, %(time)s.") % told)
    said = words.gettext("The test was not taken (%(time)s): %(error)s") % told
    return view.see(_path(tenant, name), said, bad=True)


@pages.action("/webhooks/{tenant:named}/{name:named}/remove", needs=ENGINE_WRITE)
async def remove(view: Looking, tenant: str, name: str) -> Response:
    """Remove an endpoint with its deliveries; the form repeats its name, because this cannot be undone."""
    async with _reading(view, tenant) as conn:
        check_typed(view, name)
        await webhooks.remove_endpoint(conn, name, tenant_id=tenant)
    return view.see("/webhooks", view.words.gettext("The endpoint %(name)s is removed.") % {"name": name})


@pages.action("/webhooks/{tenant:named}/{name:named}/{verb}", needs=ENGINE_WRITE)
async def act(view: Looking, tenant: str, name: str, verb: Literal["pause", "resume", "redeliver"]) -> Response:
    """Pause an endpoint, let it go on, or send again what it gave up, or one delivery."""
    async with _reading(view, tenant) as conn:
        said = await act_on(conn, view, tenant, name, verb, reason=view.reason)
    return view.see(_path(tenant, name), said)


def _path(tenant: str, name: str) -> str:
    return f"/webhooks/{segment(tenant)}/{segment(name)}"


def _seconds(view: View, name: str) -> float:
    given = view.form.get(name, "").strip().replace(",", ".")
    try:
        return float(given)
    except ValueError:
        raise InvalidInput(f"{given[:20]!r} is no number of seconds", hint="Write one such as 5 or 2.5.") from None
