"""Signing in and out: with an API key, or with the one-time link that `ostinato up` prints."""

import re

from fastapi import Request, Response

from ostinato._core.base.errors import Forbidden, TooManyRequests, Unauthenticated
from ostinato._core.engine import sessions
from ostinato._core.engine.sessions import Opened
from ostinato._core.web.caller import Caller
from ostinato._faces.api.permissions import CONSOLE_READ
from ostinato._faces.console.doorman import check_token, clear_cookie, set_cookie
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import INSTALLATION, Looking, View, zone_of

pages = Pages()

YEAR = 31_536_000
CHOICES = {"language": {"en", "fr"}, "theme": {"light", "dark", "auto"}}
# Only a path of ours, as a browser writes it: //host and /\host lead elsewhere, and browsers drop tabs.
_INSIDE = re.compile(r"/(?!/)[\x21-\x5b\x5d-\x7e]{0,2000}")


@pages.page("/sign-in", needs=None)
async def sign_in(view: Looking, next: str = "") -> Response:  # noqa: A002 - the name of the parameter
    """Show the page that asks for a key."""
    return view.page("sign_in.html", next=next[:2000], problem=None)


@pages.action("/sign-in", needs=None)
async def signed_in(view: Looking) -> Response:
    """Take a key, and open a session with its tenant and roles."""
    try:
        caller = await _caller_of(view)
        opened = await open_for(view, caller)
    except (Unauthenticated, Forbidden, TooManyRequests) as error:
        status = type(error).status or 401
        return view.page("sign_in.html", status=status, next=view.form.get("next", "")[:2000], problem=error)
    return _enter(view, opened)


@pages.page("/enter", needs=None)
async def enter(view: Looking, ticket: str = "") -> Response:
    """Show the page of a one-time link; its form enters, so that a preview of the link does not."""
    return view.page("enter.html", ticket=ticket[:200], problem=None)


@pages.action("/enter", needs=None)
async def entered(view: Looking) -> Response:
    """Make a session of a ticket."""
    async with view.site.staff.connection() as conn:
        opened = await sessions.enter(conn, view.form.get("ticket", "")[:200])
    if opened is None:
        problem = Unauthenticated("this link was used already, or is too old", hint="Sign in with an API key.")
        return view.page("sign_in.html", status=401, next="", problem=problem)
    return _enter(view, opened)


@pages.action("/sign-out", needs=None)
async def sign_out(view: Looking) -> Response:
    """End the session."""
    if view.visit is not None:
        check_token(view.visit, view.form.get("token", ""))
        async with view.site.staff.connection() as conn:
            await sessions.close(conn, view.visit.session.id)
        view.site.doorman.forget(view.visit)
    response = view.see("/sign-in", view.words.gettext("You are signed out."))
    clear_cookie(view.request, response)
    return response


@pages.action("/prefer", needs=None)
async def prefer(view: Looking) -> Response:
    """Keep a choice of the reader in a cookie: language, theme, zone, or the tenant that is looked at."""
    response = view.see("/")
    response.headers["location"] = inside(view, view.form.get("next", ""))
    for name, value in view.form.items():
        known = value in CHOICES[name] if name in CHOICES else name == "zone" and zone_of(value) is not None
        if known or (name == "tenant" and view.sees_all and len(value) <= 200):  # noqa: PLR2004 - as names
            response.set_cookie(
                f"ostinato-{name}", value, max_age=YEAR, samesite="strict", secure=view.request.url.scheme == "https"
            )
    return response


def inside(view: View, path: str) -> str:
    """Return a path of this site to go on to; anything else leads to the first page."""
    return path if _INSIDE.fullmatch(path) else view.at("/")


def _here(view: View, path: str) -> str:
    """Return the same page of this cell, for who was asked to sign in on a page of another one."""
    prefix, cell = view.request.state.prefix, view.parts.cell
    if not cell:
        return path
    elsewhere = re.compile(rf"{re.escape(prefix.removesuffix(f'/cells/{cell}'))}/cells/[a-z0-9-]+(?=/)")
    return elsewhere.sub(lambda _: prefix, path, count=1) if elsewhere.match(path) else path


async def _caller_of(view: View) -> Caller:
    """Return the caller whose key was typed, checked as the API checks it: guesses are counted together."""
    request = view.request
    key = view.form.get("key", "").strip()
    headers = [(name, value) for name, value in request.scope["headers"] if name != b"authorization"]
    headers.append((b"authorization", b"Bearer " + key.encode("ascii", "replace")))
    caller: Caller = await request.app.state.authenticate(Request({**request.scope, "headers": headers}))
    return caller


async def open_for(view: View, caller: Caller) -> Opened:
    """Open a session for somebody who was recognised; raises `Forbidden` where the roles allow nothing."""
    # The roles of a token are what some tenant's directory says: only a key, which our operators made, sees all.
    sees_all = INSTALLATION in caller.roles and caller.key_id is not None
    if not sees_all:
        CONSOLE_READ.check(caller.roles)
    async with view.site.staff.connection() as conn:
        return await sessions.open_session(
            conn,
            tenant_id=None if sees_all else caller.tenant_id,
            subject=caller.subject,
            roles=caller.roles,
            key_id=caller.key_id,
            ends_at=caller.ends_at,
        )


def _enter(view: View, opened: Opened) -> Response:
    response = view.see("/")
    response.headers["location"] = inside(view, _here(view, view.form.get("next", "")))
    set_cookie(view.request, response, opened.text)
    return response
