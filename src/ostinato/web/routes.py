"""Routers of applications: a route says what it needs, and may raise; the rest is alike for all.

router = Router(prefix="/v1", tags=["billing"])

@router.get("/invoices/{number}", needs=READ, raises=(NotFound,))
async def show(caller: Who, number: int) -> Invoice: ...

A route without `needs` is open to everybody, and says so: `public=True`.
"""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer

from ostinato.base.errors import OstinatoError
from ostinato.web.caller import Who
from ostinato.web.permissions import Permission
from ostinato.web.problems import responses
from ostinato.web.strict import StrictRequest

__all__ = ["Route", "Router", "permission_of"]

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

BEARER = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    bearerFormat="API key or JWT",
    description="An API key (`ostinato keys create`), or a token of the configured issuer.",
)
PERMISSION = "x-permission"


class Route(APIRoute):
    """A route that reads JSON strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, behind the strict reading."""
        handler = super().get_route_handler()
        takes_body = self.body_field is not None

        async def strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            if takes_body:
                await strict.check_media_type()
                if await strict.body():
                    await strict.json()  # FastAPI would make one message of all that is wrong
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
        **options: Any,  # noqa: ANN401 - as APIRouter
    ) -> Callable[[Endpoint], Endpoint]:
        """Make a function the route of a method and a path.

        Args:
            needs: the permission of whoever may call it
            public: that everybody may
            raises: errors of its own, for the OpenAPI document
        """
        if (needs is None) is not public:
            raise TypeError(f"{method} {path} says either which permission it needs, or public")
        extra = options.pop("openapi_extra", {})
        dependencies = list(options.pop("dependencies", ()))
        if needs is not None:
            dependencies += [Depends(_needing(needs)), Depends(BEARER)]
            extra = extra | {PERMISSION: {"name": needs.name, "roles": list(needs.roles)}}
        known = responses(*raises, body=method in {"POST", "PUT", "PATCH"}, usual=not public)
        return self.api_route(
            path,
            methods=[method],
            dependencies=dependencies,
            responses=known | options.pop("responses", {}),
            openapi_extra=extra or None,
            **options,
        )

    def get(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401, D102 - as route_of
        return self.route_of("GET", path, **options)

    def post(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401, D102 - as route_of
        return self.route_of("POST", path, **options)

    def put(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401, D102 - as route_of
        return self.route_of("PUT", path, **options)

    def patch(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401, D102 - as route_of
        return self.route_of("PATCH", path, **options)

    def delete(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401, D102 - as route_of
        return self.route_of("DELETE", path, **options)


def permission_of(route: APIRoute) -> dict[str, Any] | None:
    """The permission that a route needs, as its document says."""
    found: dict[str, Any] | None = (route.openapi_extra or {}).get(PERMISSION)
    return found


def _needing(permission: Permission) -> Callable[[Who], Coroutine[Any, Any, None]]:
    async def check(caller: Who) -> None:
        permission.check(caller.roles)

    return check
