"""Routers of applications: a route declares its permission and its errors.

router = Router(prefix="/v1", tags=["billing"])

@router.get("/invoices/{number}", needs=READ, raises=(NotFound,))
async def show(caller: Who, number: int) -> Invoice: ...

A route without `needs` is open to everybody, and must declare that: `public=True`.
"""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from ostinato._core.base.errors import OstinatoError
from ostinato._core.web.caller import authenticated
from ostinato._core.web.permissions import Permission
from ostinato._core.web.problems import responses
from ostinato._core.web.strict import StrictRequest

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

PERMISSION = "x-permission"
SCHEME = "key"
SCHEMES = {
    SCHEME: {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "API key or JWT",
        "description": "An API key (`ostinato keys create`), or a token of the configured issuer.",
    }
}
"""How callers authenticate, for the OpenAPI document."""


class Route(APIRoute):
    """A route that authenticates its caller, and reads JSON strictly.

    Both happen before FastAPI's own work: a caller without permission learns nothing about the
    request, and a dependency for each would cost more than all of it.
    """

    needs: Permission | None = None
    max_body_bytes: int | None = None
    """The largest body that it takes, if that is more than other routes take."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, after authentication and the check of the body."""
        handler = super().get_route_handler()
        takes_body = self.body_field is not None

        async def strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            if self.needs is not None:
                self.needs.check((await authenticated(strict)).roles)
            if takes_body:
                await strict.check_media_type()
                if await strict.body():
                    await strict.json()  # FastAPI would join all faults into one message
            return await handler(strict)

        return strictly


class Router(APIRouter):
    """An `APIRouter` whose routes have a permission, and their error answers in the document."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - as APIRouter
        super().__init__(route_class=Route, **options)

    def route_of(  # noqa: D417 - the others are those of APIRouter
        self,
        method: str,
        path: str,
        *,
        needs: Permission | None = None,
        public: bool = False,
        raises: tuple[type[OstinatoError], ...] = (),
        max_body_bytes: int | None = None,
        **options: Any,  # noqa: ANN401 - as APIRouter
    ) -> Callable[[Endpoint], Endpoint]:
        """Make a function the route of a method and a path.

        Args:
            needs: the permission that a caller must have
            public: everybody may call it
            raises: errors of its own, for the OpenAPI document
            max_body_bytes: a larger body than `api_max_body_bytes` allows others
        """
        if (needs is None) is not public:
            raise TypeError(f"{method} {path} says either which permission it needs, or public")
        if max_body_bytes is not None and "{" in f"{self.prefix}{path}":
            # The front counts before routes are looked up, so it knows paths, not patterns.
            raise TypeError(f"{method} {path} has parameters, so it takes no larger body")
        extra = options.pop("openapi_extra", {})
        if needs is not None:
            said = {"name": needs.name, "roles": list(needs.roles)}
            extra = extra | {PERMISSION: said, "security": [{SCHEME: []}]}
        known = responses(*raises, body=method in {"POST", "PUT", "PATCH"}, usual=not public)
        declare = self.api_route(
            path,
            methods=[method],
            responses=known | options.pop("responses", {}),
            openapi_extra=extra or None,
            **options,
        )

        def decorate(endpoint: Endpoint) -> Endpoint:
            declare(endpoint)
            made = self.routes[-1]
            assert isinstance(made, Route)  # noqa: S101 - the class of our routes
            made.needs = needs
            made.max_body_bytes = max_body_bytes
            return endpoint

        return decorate

    def get(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 - as route_of
        return self.route_of("GET", path, **options)

    def post(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 - as route_of
        return self.route_of("POST", path, **options)

    def put(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 - as route_of
        return self.route_of("PUT", path, **options)

    def patch(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 - as route_of
        return self.route_of("PATCH", path, **options)

    def delete(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 - as route_of
        return self.route_of("DELETE", path, **options)
