"""`python -m bench.rounds [groups]`: how many groups a minute are opened at the same drop time.

A real worker, its own schedules and clock: 100,000 groups have a round at 14:30 in Paris, the clock
stands a few seconds before it, and the schedule fires. Prints groups a second for each of the three
jobs, and how late the last group's round was opened and closed. Ends with 1 if, at the full size,
fewer than 100,000 groups a minute were opened, or one of them more than 5 s late.
"""

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from bench import loop
from ostinato import Worker, testing
from ostinato._core.base.settings import Settings
from ostinato._core.db import migrate
from ostinato._core.db.call import call
from ostinato._core.db.pool import connect
from ostinato._core.engine import clock, upkeep
from ostinato._core.engine.schema import ENGINE
from ostinato.apps.rounds import APP
from ostinato.apps.rounds.schema import COMPONENT

GROUPS = 100_000
WANTED = 100_000
"""Groups a minute, on two cores."""
LATEST_SECONDS = 5.0
"""How late the last of them may be opened."""
PROMPTS, MEMBERS, TENANTS = 3, 3, 100
CREATES = datetime(2026, 6, 1, 10, 0, tzinfo=UTC)
OPENS = datetime(2026, 6, 2, 12, 30, tzinfo=UTC)
WARNING = timedelta(seconds=3)

SEED = """
    insert into rounds.groups (tenant_id, name)
    select 'tenant-' || n % {tenants}, 'group ' || n from generate_series(1, {groups}) n;
    insert into rounds.group_settings (tenant_id, group_id, drop_time, zone)
    select tenant_id, id, '14:30', 'Europe/Paris' from rounds.groups;
    insert into rounds.members (tenant_id, group_id, user_id)
    select tenant_id, id, 'user-' || m from rounds.groups, generate_series(1, {members}) m;
    insert into rounds.group_prompts (tenant_id, group_id, type, title)
    select tenant_id, id, 'question', 'prompt ' || p
    from rounds.groups, generate_series(1, {prompts}) p;
    analyze rounds.groups, rounds.group_settings, rounds.members, rounds.group_prompts;
"""
# Several runs may share the work: one that makes up for slots in the past, and one on time.
RUNS = """
    select sum(r.groups), extract(epoch from max(r.ended_at) - min(r.started_at)),
           max(r.worst_lateness), sum(r.failed)
    from rounds.runs r where r.job = %s and r.ended_at > %s and r.groups > 0
"""


async def go_to(admin: AsyncConnection[Any], at: datetime) -> None:
    """Let the engine's clock run on from a time."""
    await call(admin, "set_test_clock", frozen=None, shift=timedelta(0))
    now = await clock.now(admin)
    await call(admin, "set_test_clock", frozen=None, shift=at - now)


class Run(NamedTuple):
    """Groups a minute, and how late the last one was, in seconds."""

    rate: float
    late: float


async def ended(admin: AsyncConnection[Any], job: str, since: datetime, count: int) -> Run:
    """Wait for the run, and print what it did."""
    while True:
        found = await (await admin.execute(RUNS, [job, since])).fetchone()
        if found is not None and (found[0] or 0) >= count:
            break
        await asyncio.sleep(0.1)
    groups, seconds, late, failed = found
    rate = float(groups / seconds)
    print(
        f"{job:<7} {groups:>8,} groups in {seconds:>6.1f} s {rate:>8,.0f}/s {60 * rate:>10,.0f}/min"
        f"   worst lateness {late:.1f} s   failed {failed}",
        flush=True,
    )
    return Run(60 * rate, float(late))


async def measure(engine: testing.Engine, groups: int, warning: timedelta = WARNING) -> dict[str, Run]:
    """Create, open and close the rounds of so many groups; what each job did."""
    await migrate.migrate(engine.database.admin_url, [ENGINE, COMPONENT])
    admin, runs = engine.admin, dict[str, Run]()
    await go_to(admin, CREATES - timedelta(minutes=1))
    await engine.run_until_idle(APP, move_clock=False)  # the schedules are there before their slots
    sizes = {"groups": groups, "tenants": TENANTS, "members": MEMBERS, "prompts": PROMPTS}
    await admin.execute(SEED.format(**sizes).encode())
    # Rounds are created at local midnight; each night's are there before the day's drop time.
    for job, at in (
        ("create", CREATES - warning),
        ("create", CREATES + timedelta(hours=12, minutes=5) - warning),
        ("open", OPENS - warning),
        ("close", OPENS + timedelta(days=1) - warning),
    ):
        await go_to(admin, at)
        async with await connect(engine.database.admin_url, role="migrate") as conn:
            await upkeep.run(conn, 14)
        worker = Worker([APP], engine.database, Settings())
        running = asyncio.create_task(worker.run())
        await worker.started.wait()
        runs[job] = await ended(admin, job, at, groups)
        worker.stop()
        await running
    return runs


def verdict(groups: int, runs: dict[str, Run]) -> int:
    """0 if it is fast enough, or too small to say; 1 if not."""
    rate, late = runs["open"]
    if groups < GROUPS or (rate >= WANTED and late <= LATEST_SECONDS):
        return 0
    print(
        f"too slow: {rate:,.0f} groups a minute were opened, the last {late:.1f} s late;"
        f" {WANTED:,} are promised, within {LATEST_SECONDS:g} s"
    )
    return 1


async def main(groups: int) -> int:
    async with testing.engine() as engine:
        return verdict(groups, await measure(engine, groups))


if __name__ == "__main__":
    sys.exit(loop.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else GROUPS)))
