"""What a page gets: who looks, in which language and zone, and how to answer.

@pages.page("/queues", needs=CONSOLE_READ)
async def queues(view: Looking) -> Response:
    async with view.reading() as conn:
        rows = await inspect.list_queues(conn)
    return view.page("queues.html", queues=rows)

A page reads in a transaction of the viewer's tenant; the installation's operators may read all
tenants. A form comes with the token of its session, and is answered by a redirect.
"""

import base64
import binascii
import json
import math
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, cast
from urllib.parse import parse_qsl, quote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fastapi import Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from psycopg import AsyncConnection

from ostinato._core.base.errors import Forbidden, InvalidInput
from ostinato._core.engine import audit
from ostinato._core.runtime.replica import current_lag, lacks_for
from ostinato._core.web.caller import Caller
from ostinato._core.web.permissions import Permission
from ostinato._faces.api.parts import Parts, parts_of
from ostinato._faces.console.doorman import Visit, is_secure
from ostinato._faces.console.live import SLOWEST_SECONDS
from ostinato._faces.console.site import Site, site_of
from ostinato._faces.console.text import LANGUAGES, Clock, Language, preferred

HOME = "/console"
INSTALLATION = "installation"
"""The role of operators who see all tenants."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; object-src 'self'; frame-src 'self'; form-action 'self'; frame-ancestors 'none';"
    " base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
PLAIN = "/:@!$&'()*+,;="
"""What a path may hold as it is, beside letters and digits."""
HSTS = "max-age=31536000"
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
FLASH = "ostinato-said"
ACTED = "ostinato-acted"
LONGEST_MARK = 32
LONGEST_FLASH = 1_000
LARGEST_FORM = 65_536
MOST_FIELDS = 500


@dataclass(frozen=True, slots=True)
class Prefs:
    """What a reader prefers, from cookies that hold nothing secret."""

    language: str
    zone: ZoneInfo
    theme: str
    """light, dark, or auto: as the system wishes."""
    tenant: str | None
    """The tenant that an operator of the installation looks at; None means all."""

    @classmethod
    def of(cls, request: Request) -> "Prefs":
        """Read them; what is missing or unknown is as the browser says, or a default."""
        given = request.cookies
        code = given.get("ostinato-language", "")
        theme = given.get("ostinato-theme", "")
        return cls(
            code if code in LANGUAGES else preferred(request.headers.get("accept-language", "")),
            zone_of(given.get("ostinato-zone", "")) or ZoneInfo("UTC"),
            theme if theme in {"light", "dark"} else "auto",
            given.get("ostinato-tenant") or None,
        )


@dataclass
class View:
    """One request for a page."""

    request: Request
    visit: Visit | None
    prefs: Prefs
    words: Language
    form: Mapping[str, str] = field(default_factory=dict)
    """The fields of the form that was sent, the last of each name."""
    badges: Mapping[str, int] = field(default_factory=dict)
    """The figures behind the lines of the menu."""
    now: datetime = LONG_AGO
    """The database's time, known once somebody is signed in."""
    snapshot_lag: float | None = None
    """How far behind the figures of the menu are."""

    @property
    def here(self) -> str:
        """The address of this page, to come back to."""
        url = self.request.url
        path = self.request.state.prefix + quote(url.path, safe=PLAIN)
        return f"{path}?{url.query}" if url.query else path

    @property
    def parts(self) -> Parts:
        """The parts of this process."""
        return parts_of(self.request)

    @property
    def site(self) -> Site:
        """The pages that there are."""
        return site_of(self.request)

    @property
    def sees_all(self) -> bool:
        """Whether the viewer is an operator of the installation."""
        return self.visit is not None and self.visit.session.tenant_id is None

    @property
    def tenant(self) -> str | None:
        """The tenant that is looked at; None means all of them."""
        if self.visit is None:
            return None
        return self.visit.session.tenant_id or self.prefs.tenant

    @property
    def roles(self) -> frozenset[str]:
        """The roles of the viewer."""
        return frozenset() if self.visit is None else frozenset(self.visit.session.roles)

    def words_of(self, app: str) -> Language:
        """Return the reader's language, as an application speaks it."""
        return self.site.language(self.prefs.language, app)

    @property
    def clock(self) -> Clock:
        """How the viewer sees times."""
        return Clock(self.words, self.prefs.zone, self.now)

    def may(self, permission: Permission) -> bool:
        """Return whether the viewer has a permission."""
        return not self.roles.isdisjoint(permission.roles)

    def check_installation(self) -> None:
        """Refuse what concerns all tenants to the operators of one."""
        if not self.sees_all:
            raise Forbidden(
                "this concerns every tenant of the installation",
                hint=f"Sign in with a key that has the role {INSTALLATION!r}.",
            )

    def caller(self, tenant: str) -> Caller:
        """Return the viewer as a caller of the API, for one tenant."""
        assert self.visit is not None  # noqa: S101 - only pages for signed-in people ask
        session = self.visit.session
        return Caller(tenant, session.subject, self.roles, self.parts.client, session.key_id)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a connection that shows what the viewer may see, a tenant or the installation; of a replica, if any."""
        if self.tenant is None:
            async with self.site.staff.reading() as conn:
                yield conn
        else:
            async with self.caller(self.tenant).reading() as conn:
                yield conn

    @asynccontextmanager
    async def acting(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction in which the viewer acts; the audit records who, and the reason of the form."""
        if self.tenant is not None:
            async with self.caller(self.tenant).transaction() as conn:
                await audit.act_as(conn, reason=self.reason)
                yield conn
            return
        async with self.administering() as conn:
            yield conn

    @asynccontextmanager
    async def administering(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction with the rights of this process, for what a tenant's role cannot reach.

        Each verb in it has to be given the tenant that the viewer may act for.
        """
        assert self.visit is not None  # noqa: S101 - only pages for signed-in people ask
        session = self.visit.session
        async with self._seat(), self.site.staff.transaction() as conn:
            await audit.act_as(conn, reason=self.reason, user_id=session.subject, key_id=session.key_id)
            yield conn

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a connection with the rights of this process, for single questions about the viewer's tenant."""
        async with self._seat(), self.site.staff.connection() as conn:
            yield conn

    def _seat(self) -> AbstractAsyncContextManager[None]:
        """Return a seat of the viewer's tenant: it has half of these connections, with which all others sign in."""
        tenant = None if self.visit is None else self.visit.session.tenant_id
        return nullcontext() if tenant is None else self.site.staff.seats.taken(tenant)

    @property
    def lag(self) -> float | None:
        """How many seconds the replica is behind that this page was read from; None: it is the primary's."""
        found = [lag for lag in (current_lag(), self.snapshot_lag) if lag is not None]
        return max(found, default=None)

    @property
    def acted(self) -> str | None:
        """A mark of what the viewer did a moment ago: pages show it, so nothing older is shown."""
        return self.request.cookies.get(ACTED, "")[:LONGEST_MARK] or None

    def mark_action(self, response: Response) -> None:
        """Have the next pages of this browser show what was done, whichever process draws them.

        They are read from the primary for as long as a replica may lack it.
        """
        seconds = math.ceil(max(lacks_for(self.site.staff.replica), SLOWEST_SECONDS))
        response.set_cookie(ACTED, secrets.token_hex(8), max_age=seconds, httponly=True, samesite="strict")

    @property
    def reason(self) -> str | None:
        """Why the viewer acts, as the form says."""
        return self.form.get("reason", "").strip()[:LONGEST_FLASH] or None

    def at(self, path: str = "", **query: object) -> str:
        """Return the address of a page, below the prefix that a proxy may have put in front."""
        given = {name: value for name, value in query.items() if value not in {None, ""}}
        asked = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in given.items())
        return f"{self.request.state.prefix}{HOME}{path}" + (f"?{asked}" if asked else "")

    def page(self, template: str, *, status: int = 200, **context: object) -> Response:
        """Answer with a page."""
        # What was done is said on the page that it led to, and not on one that says why that cannot be shown now.
        said = _read_flash(self.request) if status < HTTPStatus.INTERNAL_SERVER_ERROR else None
        text = self.site.render(template, view=self, said=said, **context)
        response = HTMLResponse(text, status)
        self.protect(response)
        if said is not None:
            response.delete_cookie(FLASH, path="/")
        return response

    def see(self, path: str, said: str | None = None, *, bad: bool = False, **query: object) -> Response:
        """Answer a form: go to a page, which shows `said` once."""
        response = RedirectResponse(self.at(path, **query), 303)
        if said is not None:
            text = json.dumps([said[:LONGEST_FLASH], bad])
            value = base64.urlsafe_b64encode(text.encode()).decode()
            response.set_cookie(FLASH, value, max_age=60, httponly=True, samesite="strict")
        return response

    def protect(self, response: Response) -> None:
        """Add what tells the browser to be careful; a file of an application has a policy of its own."""
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if is_secure(self.request):
            response.headers["Strict-Transport-Security"] = HSTS


def view_of(request: Request) -> View:
    """Return the view of the request that a page serves."""
    return cast("View", request.state.view)


Looking = Annotated[View, Depends(view_of)]
"""A parameter of a page: who looks, and how to answer."""


async def read_form(request: Request) -> dict[str, str]:
    """Read the fields of a form. Only the encoding that plain forms use is taken."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise InvalidInput(f"a form of the type {kind[:100]!r} is not taken", hint="Send it from its page.")
    body = await request.body()
    if len(body) > LARGEST_FORM:
        raise InvalidInput(f"the form has {len(body):,} bytes, more than {LARGEST_FORM:,}", hint="Send less at once.")
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        raise InvalidInput("the form cannot be read", hint="Send it from its page.") from None
    return {name: value.replace("\0", "") for name, value in fields}


def zone_of(name: str) -> ZoneInfo | None:
    """Return the zone of that name, if there is one."""
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return None


def _read_flash(request: Request) -> tuple[str, bool] | None:
    try:
        text, bad = json.loads(base64.urlsafe_b64decode(request.cookies[FLASH]))
        return str(text)[:LONGEST_FLASH].encode("utf-8", "replace").decode(), bool(bad)
    except (KeyError, ValueError, TypeError, RecursionError, binascii.Error):
        return None
