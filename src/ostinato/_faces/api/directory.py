"""Finds the route of a request by the start of its path, instead of trying one route after the other.

A router tries its routes in order, which for some two hundred of them costs more than the rest of a request. The
directory stands in front of them as one route: it knows which routes begin with the literal parts of a path, and tries
those, in the same order. What it does not find, the router looks for as before: it answers 404 and 405.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate

from starlette._utils import get_route_path
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

CHOSEN = "ostinato.route"


class Directory(BaseRoute):
    """A route that stands for many others."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        """Sort routes by their beginnings, up to the first without a path, as a mount: order decides there."""
        self._by_head: dict[str, list[tuple[int, Route]]] = defaultdict(list)
        for place, route in enumerate(routes):
            if not isinstance(route, Route):
                break
            self._by_head[_head(route.path)].append((place, route))

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match the request if one of the routes takes it whole: its path and its method."""
        if scope["type"] != "http":
            return Match.NONE, {}
        for _, route in self._candidates(get_route_path(scope)):
            match, found = route.matches(scope)
            if match is Match.FULL:
                return match, {**found, CHOSEN: route}
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request to the route that was found."""
        await scope[CHOSEN].handle(scope, receive, send)

    def _candidates(self, path: str) -> list[tuple[int, Route]]:
        """Return the routes whose literal beginning is one of the path, in their order."""
        heads = accumulate(path.strip("/").split("/"), lambda whole, part: f"{whole}/{part}")
        lists = [self._by_head[head] for head in ("", *heads) if head in self._by_head]
        return lists[0] if len(lists) == 1 else sorted((each for found in lists for each in found), key=_place)


def _head(path: str) -> str:
    """Return the parts of a path before the first parameter: `/jobs/{job_id}/why` begins with `jobs`."""
    literal = path.partition("{")[0]
    whole = literal if literal == path else literal.rpartition("/")[0]
    return whole.strip("/")


def _place(candidate: tuple[int, Route]) -> int:
    return candidate[0]
