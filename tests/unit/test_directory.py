"""The directory finds the same route as trying all of them in order, and tries few."""

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Match, Mount, Route

from ostinato._core.runtime.installed import installed_apps
from ostinato._faces.api.directory import CHOSEN, Directory
from ostinato._faces.api.server import routers_of


def scope_of(path: str, method: str = "GET") -> dict[str, Any]:
    return {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}


def first_of(routes: list[BaseRoute], scope: dict[str, Any]) -> BaseRoute | None:
    return next((route for route in routes if route.matches(scope)[0] is Match.FULL), None)


def found_by(directory: Directory, scope: dict[str, Any]) -> BaseRoute | None:
    match, found = directory.matches(scope)
    assert match in {Match.FULL, Match.NONE}
    return found.get(CHOSEN)


async def answer(_: Request) -> Response:
    return PlainTextResponse("here")


def test_every_route_of_ours_is_found_as_the_router_would_find_it() -> None:
    routes: list[BaseRoute] = [route for router in routers_of(installed_apps()) for route in router.routes]
    directory = Directory(routes)
    asked = 0

    for route in routes:
        assert isinstance(route, Route)
        for value in ("7", "a-name", "x/y"):
            path = re.sub(r"{[^{}]*}", value, route.path)
            for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
                scope = scope_of(path, method)
                assert found_by(directory, scope) is first_of(routes, scope), (method, path)
                asked += 1

    assert asked > 1_000


def test_the_order_of_routes_decides_between_a_literal_and_a_parameter() -> None:
    named, literal = Route("/jobs/{name}", answer), Route("/jobs/redrive", answer)

    assert found_by(Directory([literal, named]), scope_of("/jobs/redrive")) is literal
    assert found_by(Directory([named, literal]), scope_of("/jobs/redrive")) is named


def test_what_no_route_takes_whole_is_left_to_the_router() -> None:
    directory = Directory(
        [Route("/jobs", answer), Mount("/files", routes=[Route("/x", answer)]), Route("/late", answer)]
    )

    for scope in (
        scope_of("/nothing"),
        scope_of("/jobs", "DELETE"),
        scope_of("/files/x"),
        scope_of("/late"),
        scope_of("//jobs"),
        {"type": "websocket", "path": "/jobs"},
    ):
        assert directory.matches(scope)[0] is Match.NONE


def test_a_request_tries_only_the_routes_that_begin_like_its_path() -> None:
    tried: list[str] = []

    class Watched(Route):
        def matches(self, scope: Any) -> Any:  # noqa: ANN401 - as starlette
            tried.append(self.path)
            return super().matches(scope)

    routes = [Watched(f"/part{number}/{{name}}", answer) for number in range(100)]

    assert found_by(Directory(routes), scope_of("/part99/x")) is routes[99]
    assert tried == ["/part99/{name}"]
