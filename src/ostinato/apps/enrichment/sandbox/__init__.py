"""Plays the three official sources in the sandbox, with faults by SIREN.

    /registers/search                       API Recherche d'entreprises, 7 calls a second
    /registers/api/sso/login, /companies    INPI, five logins in 30 seconds, then a ban
    /registers/v3/infogreffe/rcs/…          API Entreprise, 250 calls a minute

| SIREN | What it shows |
|---|---|
| 999000003, 999000011, any other 998…, 999… | all three answer |
| 999000029 | RCS answers 429 with Retry-After: 30 |
| 999000037 | INPI does not answer in time |
| 999000045 | INPI 503 twice, then 200 |
| 999000052 | the search answers 503 three times, then 200 |
| 999000060, 999000078 | a masked person, a masked company |
| 999000086 | an association: not in the RCS |
| 999000094 | INPI 401, then 200 with a new token |
| 999000102 | a company that ceased |
| 999000110 | the search answers with another company |
| 999000128 | slow: 25 s in all |
| 999000136 | no connection: it is cut as soon as it is made |
| 999000144 | a company abroad |

A port listens or it does not, whatever the SIREN: the last one resets the connection instead of
refusing it, which a caller meets in the same way. Every other SIREN is unknown. A company has three
establishments, with the NIC 0001x, 0002x and 0003x; the search knows no other SIRET of it.
"""

import time
from collections.abc import Callable
from typing import Final

from fastapi import APIRouter

from ostinato.apps.enrichment.sandbox.inpi import Inpi
from ostinato.apps.enrichment.sandbox.rcs import Rcs
from ostinato.apps.enrichment.sandbox.search import Search
from ostinato.apps.enrichment.sandbox.world import World

PREFIX: Final = "/registers"


class Registers:
    """The stand-ins of all sources."""

    name = "registers"

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,  # the clock of machines that are not ours
        *,
        scale: float = 1.0,
        limits: tuple[int, int] = (7, 250),
    ) -> None:
        self._world = World(clock, wall, scale)  # `scale`: tests need not wait for 25 s
        per_second, per_minute = limits
        self._services = (Search(self._world, per_second), Inpi(self._world), Rcs(self._world, per_minute))
        self.router = APIRouter(prefix=PREFIX, tags=["registers"])
        self.router.get("/health")(_health)
        for service in self._services:
            self.router.include_router(service.router)

    @property
    def masked(self) -> set[str]:
        """Companies that asked for their data to be withheld, since the sandbox began."""
        return self._world.masked

    def reset(self) -> None:
        """Forget who called."""
        self._world.reset()
        for service in self._services:
            service.reset()

    def settings(self, url: str) -> dict[str, str]:
        """Return what makes enrichment call these instead of the real ones."""
        base = f"{url.rstrip('/')}{PREFIX}"
        return {
            f"OSTINATO_ENRICHMENT_{name}": value
            for service in self._services
            for name, value in service.settings(base).items()
        }


async def _health() -> dict[str, str]:
    return {"status": "ok"}
