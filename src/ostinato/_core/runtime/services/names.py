"""Looks up the addresses of hosts in threads of their own, a few for each tenant.

The system's resolver keeps a thread for as long as a name server is silent, and nothing ends it. In the threads of
the event loop, of which there is a handful, a tenant whose name server never answers held up the names of all
others, and whatever else works in those threads.
"""

import asyncio
import socket
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ostinato._core.runtime.worker.threads import Threads

if TYPE_CHECKING:
    from ostinato._core.runtime.services.safehttp import Resolver

AT_ONCE = 8
"""Look-ups of one tenant; who comes later waits for its own, within the time of its request."""


@dataclass(slots=True)
class _Line:
    """The look-ups of one tenant: those under way, by host, and how many are here."""

    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    asked: dict[tuple[str, int], "asyncio.Future[list[str]]"] = field(default_factory=dict)
    here: int = 0


class Names:
    """The look-ups of one process."""

    def __init__(self) -> None:
        self._threads = Threads("names")
        self._lines: dict[str, _Line] = {}
        weakref.finalize(self, self._threads.shutdown)

    def of(self, tenant_id: str) -> "Resolver":
        """Return the resolver of a tenant."""
        return partial(self._find, tenant_id)

    async def _find(self, tenant_id: str, host: str, port: int) -> Sequence[str]:
        line = self._lines.setdefault(tenant_id, _Line())
        line.here += 1
        try:
            # It goes on when the one who waits gives up: its thread is not free before it has ended.
            return await asyncio.shield(await self._asked(tenant_id, line, (host, port)))
        finally:
            line.here -= 1
            self._tidy(tenant_id, line)

    async def _asked(self, tenant_id: str, line: _Line, place: tuple[str, int]) -> "asyncio.Future[list[str]]":
        """Return the look-up of a host, one for all who ask at the same time."""
        if place not in line.asked:
            await line.turns.acquire()
            if place in line.asked:
                line.turns.release()
            else:
                self._begin(tenant_id, line, place)
        return line.asked[place]

    def _begin(self, tenant_id: str, line: _Line, place: tuple[str, int]) -> None:
        host, port = place
        try:
            asked = self._threads.run(partial(_addresses, host, port))
        except BaseException:
            line.turns.release()
            raise

        def ended(done: "asyncio.Future[list[str]]") -> None:
            del line.asked[place]
            line.turns.release()
            self._tidy(tenant_id, line)
            if not done.cancelled():
                done.exception()  # read it here: nobody may wait for it any more

        line.asked[place] = asked
        asked.add_done_callback(ended)

    def _tidy(self, tenant_id: str, line: _Line) -> None:
        """Forget a tenant that looks nothing up; its turns are all free then."""
        if not line.here and not line.asked and self._lines.get(tenant_id) is line:
            del self._lines[tenant_id]


def _addresses(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))
