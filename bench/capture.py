"""`python -m bench.capture`: how many captures a second, and what being idempotent costs.

One process, one embedded server, the defaults, each capture in a transaction of its own as a user.
"Plain insert" is the row alone; then with the check before it (fingerprint, lock, look); then the
whole intake, which also audits, adds the job and tells the event. Measured in turns, medians shown.
"""

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from statistics import median
from uuid import uuid4

from ostinato import testing
from ostinato._core.base.flow import flow
from ostinato._core.db import migrate
from ostinato._core.db.pool import connect
from ostinato._core.engine import clock, upkeep
from ostinato._core.runtime.client import Client
from ostinato.apps.capture import acquire_lock_and_check_idempotence, service
from ostinato.apps.capture.device import Kek, prepare
from ostinato.apps.capture.model import Create, Device
from ostinato.apps.capture.queries import Connection
from ostinato.apps.capture.rules import compute_canonical_fingerprint
from ostinato.apps.capture.schema import COMPONENT
from ostinato.apps.capture.service import Wanted

TENANT, USER = "bench", "ana"
ROUNDS = 5
SINGLES = 300
CALLERS = 8
FINGERPRINTS = 20_000

Work = Callable[[Wanted], Awaitable[object]]


class Bench:
    def __init__(self, client: Client, template: Wanted) -> None:
        self.client = client
        self.template = template

    @asynccontextmanager
    async def transaction(self, user: str = USER) -> AsyncIterator[Connection]:
        async with self.client.for_tenant(TENANT, user).transaction() as conn:
            yield conn

    def captures(self, count: int) -> list[Wanted]:
        fields = self.template.fields
        return [replace(self.template, fields=replace(fields, capture_id=str(uuid4()))) for _ in range(count)]

    async def insert(self, wanted: Wanted) -> None:
        """The row alone: its fingerprint is part of what the check costs."""
        made = Create("0" * 64)
        async with self.transaction() as conn:
            await service._insert(conn, USER, wanted, made, tenant_id=TENANT, skew_ms=0)  # noqa: SLF001

    async def checked_insert(self, wanted: Wanted) -> None:
        """The row, with the check before it."""
        async with self.transaction() as conn:
            made = await acquire_lock_and_check_idempotence(conn, USER, wanted.fields)
            assert isinstance(made, Create)  # noqa: S101
            await service._insert(conn, USER, wanted, made, tenant_id=TENANT, skew_ms=0)  # noqa: SLF001

    async def intake(self, wanted: Wanted) -> None:
        """Everything."""
        user = f"user-{int(wanted.fields.capture_id[:2], 16) % CALLERS}"  # a user has one chain
        await service.receive(lambda: self.transaction(user), user, wanted)


async def timed(work: Work, captures: Sequence[Wanted], callers: int = 1) -> float:
    """Seconds for each capture."""
    left = list(captures)

    async def caller() -> None:
        while left:
            await work(left.pop())

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(callers)))
    return (time.perf_counter() - started) / len(captures)


async def measure(bench: Bench, rounds: int) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        fresh = bench.captures(SINGLES)
        for name, work, captures, callers in (
            ("insert", bench.insert, bench.captures(SINGLES), 1),
            ("checked", bench.checked_insert, bench.captures(SINGLES), 1),
            ("intake", bench.intake, fresh, 1),
            ("replay", bench.intake, fresh, 1),
            ("intakes", bench.intake, bench.captures(SINGLES * 2), CALLERS),
            ("replays", bench.intake, [*fresh, *fresh], CALLERS),
        ):
            found.setdefault(name, []).append(await timed(work, captures, callers))
    return {name: median(each) for name, each in found.items()}


def fingerprint_seconds(wanted: Wanted) -> float:
    started = time.perf_counter()
    for _ in range(FINGERPRINTS):
        compute_canonical_fingerprint(wanted.fields)
    return (time.perf_counter() - started) / FINGERPRINTS


async def whole(rounds: int) -> tuple[dict[str, float], Bench]:
    """Seconds for each capture, by what was done, on a fresh engine."""
    prepared = prepare(bytes(65_536), USER, Kek("kek", bytes(32)))
    async with testing.engine() as engine:
        await migrate.migrate(engine.database.admin_url, [COMPONENT])
        async with await connect(engine.database.admin_url, role="migrate") as conn:
            await upkeep.run(conn, 14)
            now = await clock.now(conn)
        with flow(tenant=TENANT, correlation="bench"):
            bench = Bench(engine.client, Wanted(prepared.fields, Device(now)))
            await timed(bench.intake, bench.captures(50))
            return await measure(bench, rounds), bench


async def main(rounds: int) -> None:
    took, bench = await whole(rounds)
    for name, what in (
        ("insert", "plain insert, one caller"),
        ("checked", "with the check, one caller"),
        ("intake", "whole intake, one caller"),
        ("replay", "replay, one caller"),
        ("intakes", f"whole intake, {CALLERS} callers"),
        ("replays", f"replay, {CALLERS} callers"),
    ):
        print(f"{what:<32}{1 / took[name]:>10,.0f} /s{took[name] * 1e6:>12,.0f} µs")
    added = (took["checked"] - took["insert"]) * 1e6
    hashed = fingerprint_seconds(bench.template) * 1e6
    print(f"the check adds {added:,.0f} µs to a plain insert; a fingerprint takes {hashed:.0f} µs")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asyncio.run(main(parser.parse_args().rounds))
