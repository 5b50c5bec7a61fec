"""Makes the work of `ostinato torture`: jobs of all kinds and events, from a seed."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from ostinato._core.base.errors import OstinatoError
from ostinato._core.engine import jobs
from ostinato._core.engine.jobs import Unique
from ostinato._core.runtime.client import Client
from ostinato.lab.torture import app as kinds
from ostinato.lab.torture.events import Emitter

LONGEST_PAUSE = 0.1
MOST_WAITING = 2000


class Load:
    """Enqueues until it is cancelled; remembers what was acknowledged."""

    def __init__(self, client: Client, rng: random.Random, expiry_seconds: float, most_poison: int) -> None:
        self._client = client
        self._rng = rng
        self._expiry = expiry_seconds
        self._unwanted: list[int] = []
        self._poison_left = most_poison
        self.emitter = Emitter(client, rng)
        self.acknowledged: set[int] = set()
        """Every job whose commit was confirmed."""
        self.unsure = 0
        """How often an enqueue failed: whether it took effect is not known."""
        self.waiting = 0
        """Jobs that wait, set from outside: above a number no more are added."""
        self._makers: list[tuple[float, Callable[[], Awaitable[list[int]]]]] = [
            (4, self._many_plain),
            (6, self._effects_in_a_transaction),
            (3, self._one_effect),
            (3, self._slow),
            (1, self._threaded),
            (2, self._flaky),
            (1.5, self._sleepy),
            (2, self._single),
            (1, self._one_unwanted),
            (2, self._outside),
            (8, self.emitter.emit),
            (2, self.emitter.emit_in_a_job),
            (2, self._leased),
            (2, self._narrow),
            (0.3, self._blocking),
            (0.15, self._one_poison),
        ]

    async def run(self) -> None:
        """Enqueue until cancelled."""
        weights, makers = zip(*self._makers, strict=True)
        while True:
            (make,) = self._rng.choices(makers, weights)
            pause = self._rng.uniform(0, LONGEST_PAUSE)
            try:
                if self.waiting < MOST_WAITING:
                    self.acknowledged.update(await make())
                await self.cancel_unwanted(keep=3)
            except OstinatoError:  # the database is away, or the connection was cut
                self.unsure += 1
            await asyncio.sleep(pause)

    async def cancel_unwanted(self, keep: int) -> None:
        """Cancel jobs that wait for nothing else, all but the youngest."""
        while len(self._unwanted) > keep:
            async with self._client.connection() as conn:
                await jobs.cancel(conn, self._unwanted[0], "nobody wants it")
            self._unwanted.pop(0)

    async def _many_plain(self) -> list[int]:
        numbers = [{"number": n} for n in range(self._rng.randint(1, 20))]
        return await kinds.plain.enqueue_many(self._client, numbers)

    async def _effects_in_a_transaction(self) -> list[int]:
        async with self._client.transaction() as conn:
            return [await kinds.effect.enqueue(conn) for _ in range(self._rng.randint(1, 5))]

    async def _one_effect(self) -> list[int]:
        delayed = kinds.effect.options(delay=self._rng.uniform(0, 2), priority=-1)
        return [await delayed.enqueue(self._client)]

    async def _slow(self) -> list[int]:
        seconds = self._rng.uniform(0, 2 * self._expiry)
        return [await kinds.slow.enqueue(self._client, seconds=seconds)]

    async def _threaded(self) -> list[int]:
        seconds = self._rng.uniform(0, 0.5)
        return [await kinds.threaded.enqueue(self._client, seconds=seconds)]

    async def _flaky(self) -> list[int]:
        return [await kinds.flaky.enqueue(self._client, failures=self._rng.randint(1, 3))]

    async def _sleepy(self) -> list[int]:
        return [await kinds.sleepy.enqueue(self._client, times=self._rng.randint(1, 3))]

    async def _single(self) -> list[int]:
        keyed = kinds.single.options(unique=Unique(f"key-{self._rng.randint(1, 3)}"))
        return [await keyed.enqueue(self._client)]

    async def _one_unwanted(self) -> list[int]:
        job_id = await kinds.unwanted.enqueue(self._client)
        self._unwanted.append(job_id)
        return [job_id]

    async def _outside(self) -> list[int]:
        key = f"{self._rng.getrandbits(64):x}"
        return [await kinds.outside.enqueue(self._client, key=key)]

    async def _leased(self) -> list[int]:
        return [await kinds.leased.enqueue(self._client)]

    async def _narrow(self) -> list[int]:
        key = self._rng.choice("ab")
        return [await kinds.narrow.options(limit_key=key).enqueue(self._client, key=key)]

    async def _blocking(self) -> list[int]:
        seconds = self._rng.uniform(self._expiry, 2 * self._expiry)
        return [await kinds.blocking.enqueue(self._client, seconds=seconds)]

    async def _one_poison(self) -> list[int]:
        if self._poison_left == 0:
            return []
        self._poison_left -= 1
        return [await kinds.poison.enqueue(self._client)]
