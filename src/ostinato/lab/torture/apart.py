"""Breaks hosts for `ostinato torture --hosts`: what `nemesis.py` breaks, the network between them, and the primary."""

import asyncio
import random

from ostinato.lab.torture.crew import Crew
from ostinato.lab.torture.nemesis import Nemesis
from ostinato.lab.torture.network import Host, Network
from ostinato.lab.torture.pair import Pair

LONGEST_CUT = 2.5
FIRST_FAILOVER = (1.0, 4.0)
SLOW_PACKETS = (20, 60)  # a second
LOST_SHARES = (0.05, 0.2, 0.4)


class Apart(Nemesis):
    """Parts hosts, one way or both, loses packets, slows links down, and fails over, beside all else."""

    def __init__(
        self, crew: Crew, *, pair: Pair, network: Network, admin_url: str, rng: random.Random, expiry_seconds: float
    ) -> None:
        super().__init__(crew, pair, admin_url, rng, expiry_seconds)
        self._pair = pair
        self._network = network
        self._deeds |= {
            "hosts parted": (3, self._part),
            "hosts parted one way": (3, self._part_one_way),
            "packets lost": (2, self._lose),
            "links slowed down": (2, self._slow),
            "failed over": (1, self._fail_over),
        }

    async def run(self) -> None:
        """Do harm until cancelled, with a failover early on: a short run has one too."""
        try:
            await asyncio.sleep(self._rng.uniform(*FIRST_FAILOVER))
            self.done["failed over"] += 1
            await self._fail_over()
            await super().run()
        finally:
            self._network.heal()

    def _two(self) -> tuple[Host, Host]:
        one, other = self._rng.sample(list(self._network.hosts.values()), 2)
        return one, other

    async def _part(self) -> None:
        one, other = self._two()
        self._network.part(one, other)
        self._heal_later(one, other)

    async def _part_one_way(self) -> None:
        source, target = self._two()
        self._network.drop(source, target)
        self._heal_later(target)

    async def _lose(self) -> None:
        one, other = self._two()
        share = self._rng.choice(LOST_SHARES)
        self._network.drop(one, other, share)
        self._network.drop(other, one, share)
        self._heal_later(one, other)

    async def _slow(self) -> None:
        one, other = self._two()
        packets = self._rng.randint(*SLOW_PACKETS)
        self._network.slow(one, other, packets)
        self._network.slow(other, one, packets)
        self._heal_later(one, other)

    async def _fail_over(self) -> None:
        # The controller promotes a server and lets the other follow: it reaches both.
        self._network.heal(*self._pair.hosts)
        going = asyncio.ensure_future(asyncio.to_thread(self._pair.fail_over))
        try:
            await asyncio.shield(going)
        finally:
            await going  # one that has begun ends, or there would be no server to calm down with

    def _heal_later(self, *hosts: Host) -> None:
        seconds = self._rng.uniform(0.2, LONGEST_CUT) * self._expiry
        self._nap(self._heal(seconds, *hosts))

    async def _heal(self, seconds: float, *hosts: Host) -> None:
        await asyncio.sleep(seconds)
        self._network.heal(*hosts)
