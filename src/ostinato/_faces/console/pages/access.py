"""Access: tenants, keys and sessions, and who did what; and what operators may look at, each look noted."""

from datetime import UTC, date, datetime, time
from typing import Annotated

from fastapi import Query, Response

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import audit, inspect, keys, outbox, sessions, tenants
from ostinato._faces.api.key_rights import beyond_giving, check_revocation
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_ADMIN, ENGINE_WRITE, READERS
from ostinato._faces.api.views import JobId, read_json
from ostinato._faces.console.pages.filters import whole
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking, View

pages = Pages()

PAGE = 50
LONGEST_DAYS = 3_650
Text = Annotated[str, Query(max_length=200)]
Before = Annotated[int | None, Query(ge=1, lt=2**63)]


@pages.page("/access", needs=CONSOLE_READ)
async def access(
    view: Looking, *, after: Text = "", key_before: Before = None, session_before: Before = None
) -> Response:
    """Show the tenants, the keys, who is signed in, and the last actions; each list goes on by a page of its own."""
    ENGINE_ADMIN.check(view.roles)
    async with view.looking() as conn:
        found = await keys.list_keys(conn, tenant_id=view.tenant, before=key_before, most=PAGE + 1)
        signed_in = await sessions.list_sessions(conn, tenant_id=view.tenant, before=session_before, most=PAGE + 1)
        known = await tenants.list_tenants(conn, after=after, most=PAGE + 1) if view.tenant is None else []
    async with view.reading() as conn:
        entries = await audit.list_entries(conn, tenant_id=view.tenant, most=10)
    return view.page(
        "access.html",
        keys=found[:PAGE],
        older_key=found[PAGE - 1].id if len(found) > PAGE else None,
        sessions=signed_in[:PAGE],
        older_session=signed_in[PAGE - 1].id if len(signed_in) > PAGE else None,
        tenants=known[:PAGE],
        later_tenant=known[PAGE - 1].tenant_id if len(known) > PAGE else None,
        given={"after": after, "key_before": key_before, "session_before": session_before},
        entries=entries,
        roles=READERS,
    )


@pages.page("/access/audit", needs=CONSOLE_READ)
async def who_did_what(
    view: Looking,
    *,
    actor: Text = "",
    verb: Text = "",
    target: Annotated[str, Query(max_length=1_000)] = "",
    since: Annotated[str, Query(max_length=20)] = "",
    before: Before = None,
) -> Response:
    """Show every action of an operator that matches: by whom, when, to what, and why."""
    ENGINE_ADMIN.check(view.roles)
    given = {"actor": actor.strip(), "verb": verb.strip(), "target": target.strip(), "since": since.strip()}
    async with view.reading() as conn:
        found = await audit.list_entries(
            conn,
            actor=given["actor"] or None,
            verb=given["verb"] or None,
            target=given["target"] or None,
            since=_day(view, given["since"]),
            tenant_id=view.tenant,
            before=before,
            most=PAGE + 1,
            loads=read_json,
        )
    return view.page(
        "audit.html",
        entries=found[:PAGE],
        given=given,
        query={name: value for name, value in given.items() if value},
        older=found[PAGE - 1].id if len(found) > PAGE else None,
        first=before is None,
    )


@pages.action("/access/keys/{key_id:digits}/revoke", needs=ENGINE_ADMIN)
async def revoke(view: Looking, key_id: int) -> Response:
    """End a key, and the sessions that it opened."""
    async with view.administering() as conn:
        if (own := _own(view)) is not None:
            await check_revocation(conn, key_id, own)
        found = await keys.revoke(conn, key_id, tenant_id=own)
    return view.see("/access", view.words.gettext("The key %(key)s is revoked.") % {"key": found.prefix})


@pages.action("/access/keys", needs=ENGINE_ADMIN)
async def make_key(view: Looking) -> Response:
    """Make a key with roles that the viewer may give, and show it once."""
    tenant = view.tenant or view.form.get("tenant", "").strip()
    given = f"{view.form.get('role', '')},{view.form.get('roles', '')}".split(",")
    roles = list(dict.fromkeys(filter(None, map(str.strip, given))))
    if not tenant or not roles:
        raise InvalidInput("a key needs a tenant and a role", hint="Fill in the form.")
    if beyond := beyond_giving(roles, view.roles):
        said = f"the roles {', '.join(beyond)[:200]} are not yours to give"
        raise InvalidInput(said, hint=f"Roles: {', '.join(READERS)}, and your own.")
    async with view.administering() as conn:
        subject = view.form.get("subject", "").strip()
        made = await keys.create(conn, tenant_id=tenant, subject=subject, roles=roles, expires_in=_lasting(view))
    return view.page("access_key.html", key=made.key, record=made.record)


@pages.action("/access/sessions/{session_id:digits}/close", needs=ENGINE_ADMIN)
async def close(view: Looking, session_id: int) -> Response:
    """End a session."""
    async with view.administering() as conn:
        await sessions.close(conn, session_id, tenant_id=_own(view))
        await audit.note(conn, "close", "session", str(session_id), tenant_id=view.tenant)
    return view.see("/access", view.words.gettext("The session is closed."))


@pages.action("/jobs/{job_id:digits}/arguments", needs=ENGINE_WRITE)
async def look_at_job(view: Looking, job_id: JobId) -> Response:
    """Show the arguments and the result of a job; the look is recorded."""
    async with view.acting() as conn:
        job = await inspect.show_job(conn, job_id, loads=read_json)
        await audit.note(conn, "look", "job", str(job_id), tenant_id=job.tenant_id, job_ids=[job_id])
    shown = {"Arguments": job.args} | ({} if job.result is None else {"Result": job.result})
    return view.page("look.html", title=job.kind, back=f"/jobs/{job_id}", shown=shown)


@pages.action("/events/{event_id:digits}/payload", needs=ENGINE_WRITE)
async def look_at_event(view: Looking, event_id: int) -> Response:
    """Show the payload of an event; the look is recorded."""
    async with view.acting() as conn:
        event = await outbox.show_event(conn, event_id)
        await audit.note(conn, "look", "event", str(event_id), tenant_id=event.tenant_id)
    return view.page("look.html", title=event.type, back=f"/events/{event_id}", shown={"Payload": event.payload})


def _lasting(view: View) -> float | None:
    """Return the seconds after which a key ends; None means never."""
    given = view.form.get("days", "").strip()
    if not given:
        return None
    if not 1 <= (days := whole(given)) <= LONGEST_DAYS:
        raise InvalidInput(f"{given[:20]!r} is no number of days", hint=f"Write 1 to {LONGEST_DAYS:,}, or nothing.")
    return days * 86_400.0


def _own(view: View) -> str | None:
    """Return the tenant that the viewer is bound to; None for the installation."""
    return view.visit.session.tenant_id if view.visit else ""


def _day(view: View, given: str) -> datetime | None:
    """Return the beginning of a day, in the zone of the reader."""
    if not given:
        return None
    try:
        day = date.fromisoformat(given)
        return datetime.combine(day, time(), view.prefs.zone).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(f"{given!r} is no day", hint="Write it as 2026-03-01.") from None
