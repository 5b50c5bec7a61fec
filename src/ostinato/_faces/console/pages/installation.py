"""The installation: alerts, leases, machines, keys and sessions."""

from dataclasses import dataclass
from typing import Any

from fastapi import Response
from psycopg import AsyncConnection

from ostinato._core.base.machine import Machine
from ostinato._core.engine import alerts, audit, keys, leases, sessions
from ostinato._core.runtime.named import named
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_ADMIN
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking, View

pages = Pages()

MOST = 200


@pages.page("/alerts", needs=CONSOLE_READ)
async def list_alerts(view: Looking) -> Response:
    """The alerts, the worst first, and what fires now."""
    async with view.reading() as conn:
        if view.tenant is None:
            lines = await alerts.list_alerts(conn)
            firings = await alerts.firings(conn, most=MOST)
        else:
            lines = await alerts.own_alerts(conn)
            firings = await alerts.own_firings(conn, most=MOST)
    return view.page("alerts.html", alerts=lines, firings=firings)


@pages.page("/leases", needs=CONSOLE_READ)
async def list_leases(view: Looking) -> Response:
    """The leases: who holds what, with which token."""
    async with view.reading() as conn:
        found = await leases.list_leases(conn, tenant=view.tenant, most=MOST)
    return view.page("leases.html", leases=found, most=MOST)


@pages.page("/machines", needs=CONSOLE_READ)
async def list_machines(view: Looking) -> Response:
    """The state machines of the applications."""
    found = [named(place, Machine) for app in view.parts.apps for place in app.machines]
    return view.page("machines.html", machines=found)


@pages.page("/access", needs=CONSOLE_READ)
async def access(view: Looking) -> Response:
    """The keys, and who is signed in."""
    ENGINE_ADMIN.check(view.roles)
    async with view.site.staff.connection() as conn:
        found = await _access(conn, view)
    async with view.reading() as conn:
        entries = await audit.list_entries(conn, tenant_id=view.tenant, most=MOST)
    return view.page("access.html", keys=found.keys, sessions=found.sessions, entries=entries)


@pages.action("/access/keys/{key_id:digits}/revoke", needs=ENGINE_ADMIN)
async def revoke(view: Looking, key_id: int) -> Response:
    """End a key, and the sessions that it opened."""
    async with view.administering() as conn:
        found = await keys.revoke(conn, key_id, tenant_id=view.visit.session.tenant_id if view.visit else "")
    return view.see("/access", view.words.gettext("The key %(key)s is revoked.") % {"key": found.prefix})


@pages.action("/access/sessions/{session_id:digits}/close", needs=ENGINE_ADMIN)
async def close(view: Looking, session_id: int) -> Response:
    """End a session."""
    async with view.administering() as conn:
        await sessions.close(conn, session_id, tenant_id=view.visit.session.tenant_id if view.visit else "")
        await audit.note(conn, "close", "session", str(session_id), tenant_id=view.tenant)
    return view.see("/access", view.words.gettext("The session is closed."))


@dataclass(frozen=True, slots=True)
class _Access:
    keys: list[keys.Key]
    sessions: list[sessions.Session]


async def _access(conn: AsyncConnection[Any], view: View) -> _Access:
    return _Access(
        await keys.list_keys(conn, tenant_id=view.tenant, most=MOST),
        await sessions.list_sessions(conn, tenant_id=view.tenant, most=MOST),
    )
