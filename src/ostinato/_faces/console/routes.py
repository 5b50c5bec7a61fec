"""Routers of pages: a page declares its permission, and its errors are pages too.

pages = Pages()

@pages.page("/queues", needs=CONSOLE_READ)
async def queues(view: Looking) -> Response: ...

@pages.action("/queues/{name}/pause", needs=ENGINE_WRITE)       # a form that was sent
async def pause(view: Looking, name: str) -> Response: ...
"""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute

from ostinato._core.base import flow
from ostinato._core.base.errors import InvalidInput, OstinatoError, Unauthenticated
from ostinato._core.engine.alerts import Firing
from ostinato._core.runtime.replica import showing
from ostinato._core.web.caller import count_stranger
from ostinato._core.web.permissions import Permission
from ostinato._core.web.problems import field_errors, title_of
from ostinato._core.web.routes import note_lag_of
from ostinato._faces.api.auth import bucket_of
from ostinato._faces.console import error_texts
from ostinato._faces.console.doorman import Visit, check_origin, check_token
from ostinato._faces.console.site import site_of
from ostinato._faces.console.view import FLASH, HOME, Prefs, View, read_form

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

TOKEN = "token"  # noqa: S105 - the name of a field
LONGEST_NEXT = 2_000


class PageRoute(APIRoute):
    """A route that knows its viewer, and draws its errors."""

    needs: Permission | None = None
    reads_form: bool = False

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler: it finds the session, checks the permission and the form, and draws errors."""
        handler = super().get_route_handler()

        async def looking(request: Request) -> Response:
            view = await view_for(request)
            request.state.view = view
            response = await answered(request, view)
            view.protect(response)
            return response

        async def answered(request: Request, view: View) -> Response:
            try:
                await self._let_in(request, view)
                if view.visit is not None:
                    _count(view, view.visit)
                    await _look_around(view)
                return await self._answer(handler, view)
            except RequestValidationError as error:
                told = error_texts.tell_faults(view.words, field_errors(error.errors()))
                return error_page(view, InvalidInput(told.what), told=told)
            except Unauthenticated:
                return _to_sign_in(view)
            except OstinatoError as error:
                return error_page(view, error)

        return looking

    async def _answer(self, handler: Callable[[Request], Coroutine[Any, Any, Response]], view: View) -> Response:
        """Draw the page, from a replica if there is one; who has just done something sees it at once."""
        if self.reads_form:
            answer = await handler(view.request)
            if self.needs is not None:
                view.mark_action(answer)
            return answer
        if view.acted is not None or FLASH in view.request.cookies:
            return await handler(view.request)
        answer, lag = await showing(lambda: handler(view.request))
        note_lag_of(view.request, view.snapshot_lag if lag is None else lag)
        return answer

    async def _let_in(self, request: Request, view: View) -> None:
        """Check who asks, and the form; raises `Unauthenticated`, `Forbidden` or `TooManyRequests`."""
        if view.visit is None:  # a stranger: by the address, as on every public route
            count_stranger(request)
        if self.reads_form:
            check_origin(request)
            view.form = await read_form(request)
        if self.needs is None:
            return
        if view.visit is None:
            raise Unauthenticated("nobody is signed in")
        self.needs.check(view.roles)
        if self.reads_form:
            check_token(view.visit, view.form.get(TOKEN, ""))


class Pages(APIRouter):
    """A router of pages, below `/console`."""

    def __init__(self, prefix: str = "") -> None:
        super().__init__(prefix=f"{HOME}{prefix}", route_class=PageRoute, include_in_schema=False)

    def page(self, path: str, *, needs: Permission | None) -> Callable[[Endpoint], Endpoint]:
        """Make a function the page at a path; without a permission everybody may see it."""
        return self._declare("GET", path, needs)

    def action(self, path: str, *, needs: Permission | None) -> Callable[[Endpoint], Endpoint]:
        """Make a function the answer to a form that is sent to a path."""
        return self._declare("POST", path, needs)

    def _declare(self, method: str, path: str, needs: Permission | None) -> Callable[[Endpoint], Endpoint]:
        declare = self.api_route(path, methods=[method], response_model=None)

        def decorate(endpoint: Endpoint) -> Endpoint:
            declare(endpoint)
            made = self.routes[-1]
            assert isinstance(made, PageRoute)  # noqa: S101 - the class of our routes
            made.needs, made.reads_form = needs, method == "POST"
            return endpoint

        return decorate


async def view_for(request: Request) -> View:
    """Make the view of a request: its session, and what its reader prefers."""
    site, prefs = site_of(request), Prefs.of(request)
    visit = await site.doorman.find(request)
    return View(request, visit, prefs, site.language(prefs.language))


def _count(view: View, visit: Visit) -> None:
    """Count a page as a request of its key, or of its person: a browser may ask as often as a program."""
    session = visit.session
    bucket = bucket_of(session.key_id, session.tenant_id, session.subject)
    view.request.app.state.authenticate.count(view.request, bucket)


async def _look_around(view: View) -> None:
    """Set what every page shows: the database's time, and the figures behind the lines of the menu."""
    found = await view.site.live.of(view.tenant).now(view.acted)
    view.now, view.snapshot_lag = found.at, found.lag
    view.badges = {
        "dead": found.dead_letters,
        "alerts": sum(map(_wants_somebody, found.firings)),
        "inbox": sum(count for key, count in found.waits.items() if view.may(view.site.inboxes[key].needs)),
    }


def _wants_somebody(firing: Firing) -> bool:
    """Return whether an alert fires that nobody has seen, and nobody silenced."""
    return firing.state == "firing" and firing.acknowledged_at is None and firing.silenced_until is None


def error_page(
    view: View, error: OstinatoError, status: int | None = None, *, told: error_texts.Told | None = None
) -> Response:
    """Draw an error: what, and what to do; `told` is what the reader is told if that is more than the error knows."""
    view.request.state.error_code = type(error).code
    response = view.page(
        "error.html",
        status=status or type(error).status or 500,
        title=title_of(type(error)),
        told=told or error_texts.tell(view.words, error),
        correlation_id=flow.current_correlation(),
    )
    if error.retryable and "retry_after" in error.values:
        response.headers["Retry-After"] = str(error.values["retry_after"])
    return response


def _to_sign_in(view: View) -> Response:
    if view.request.url.path.startswith(f"{HOME}/portal"):  # customers come by a link, and have no key
        return view.page("portal_enter.html", status=401, ticket="", over=True)
    here = view.here if view.request.method == "GET" and len(view.here) <= LONGEST_NEXT else view.at("/")
    return RedirectResponse(f"{view.at('/sign-in')}?next={quote(here, safe='')}", 303)
