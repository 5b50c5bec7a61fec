"""Every route times every role: what the declared permission says is what happens."""

import pytest

from ostinato._core.runtime.handlers.app import App
from ostinato._core.web.routes import Route
from ostinato._faces.api.server import routers_of
from tests.api import shop
from tests.api.conftest import Api

ROLES = (
    "reader",
    "ops",
    "admin",
    "customer",
    "tenant_admin",
    "agency_user",
    "consultant",
    "client_user",
    "worker",
    "system",
    "somebody",
)
PUBLIC = {"/health/live", "/health/ready", "/docs", "/docs/start.js", "/problems/{code}"}


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    return (shop.APP,)


def routes(api: Api) -> list[Route]:
    found = [route for router in routers_of(api.parts.apps) for route in router.routes]
    return [route for route in found if isinstance(route, Route)]


def address(route: Route) -> str:
    """The path with something in the place of each parameter."""
    # No key of this test: one that is revoked asks no more.
    return route.path_format.format(**dict.fromkeys(route.param_convertors, "7") | {"key_id": "999999"})


async def test_a_route_needs_a_permission_or_is_listed_here_as_public(api: Api) -> None:
    open_to_all = {route.path for route in routes(api) if route.needs is None}
    assert open_to_all == PUBLIC


async def test_every_route_asks_who_is_there(api: Api) -> None:
    for route in routes(api):
        if route.needs is not None:
            for method in route.methods or ():
                seen = await api.http.request(method, address(route))
                assert seen.status_code == 401, (method, route.path, seen.text)
                assert seen.headers["www-authenticate"] == "Bearer"


async def test_every_route_lets_its_roles_in_and_no_others(api: Api) -> None:
    shop.may_end.set()
    tried = 0
    for route in routes(api):
        needed = route.needs
        if needed is None:
            continue
        for role in ROLES:
            for method in route.methods or ():
                seen = await api.call(method, address(route), roles=(role,))
                refused = seen.status_code == 403
                assert refused is (role not in needed.roles), (method, route.path, role, seen.status_code)
                if refused:
                    assert seen.json()["values"]["permission"] == needed.name
                tried += 1
    assert tried >= 10 * len(ROLES)


async def test_one_of_several_roles_is_enough(api: Api) -> None:
    seen = await api.call("GET", "/shop/whoami", roles=("somebody", "customer"))
    assert seen.status_code == 200
