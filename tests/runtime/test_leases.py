"""A lease around a block: kept alive, lost with a signal, given back; and leases of jobs."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from psycopg import AsyncConnection
from structlog.typing import EventDict

from ostinato import Client, Context, LeaseLost, Snooze, SyncContext, Unique
from ostinato._core.base.errors import InvalidInput, LeaseHeld, NotFound
from ostinato._core.base.flow import flow
from ostinato._core.engine import leases as verbs
from ostinato._core.engine.jobs import NewJob
from ostinato._core.runtime.handlers import leases
from tests.opened import OPEN, opened
from tests.runtime.lab import Lab
from tests.waiting import until_async

TTL = 0.3
ROLES = "ostinato_worker, ostinato_tenant"
STATES = "select coalesce(string_agg(state, ',' order by name), '') from ostinato.list_leases()"
RENEWED = "select renewed_at > acquired_at from ostinato_data.lease"


async def take_away(lab: Lab, holder: str = "thief") -> None:
    """What an expired lease's next holder does, without waiting for the expiry."""
    await lab.rows(
        "update ostinato_data.lease set token = nextval('ostinato_data.lease_token_seq'),"
        " attempt = attempt + 1, holder = %s, ttl_seconds = 3600, renewed_at = clock_timestamp()",
        holder,
    )


# Around a block


async def test_one_holds_it_the_next_is_told_who_and_until_when(lab: Lab) -> None:
    async with leases.hold(lab.client, "n", ttl=30, holder="first") as lease:
        with pytest.raises(LeaseHeld) as caught:
            async with leases.hold(lab.client, "n"):
                pass

    error = caught.value
    assert (error.values["holder"], error.values["name"]) == ("first", "n")
    assert error.values["until"] is not None
    assert (error.code, error.sqlstate, error.status) == ("lease_held", "OS423", 423)
    async with leases.hold(lab.client, "n") as again:
        assert again.token > lease.token
    assert await lab.value(STATES) == ""


async def test_it_is_renewed_beside_the_block(lab: Lab) -> None:
    async with leases.hold(lab.client, "n", ttl=TTL) as lease:
        await lab.until(RENEWED)
        assert not lease.lost.is_set()


async def test_an_error_in_the_block_gives_it_back_and_goes_on(lab: Lab) -> None:
    with pytest.raises(ValueError, match="mine"):
        async with leases.hold(lab.client, "n"):
            raise ValueError("mine")

    assert await lab.value(STATES) == ""


async def test_a_cancelled_block_gives_it_back(lab: Lab) -> None:
    entered = asyncio.Event()

    async def block() -> None:
        async with leases.hold(lab.client, "n"):
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(block())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await lab.value(STATES) == ""


async def test_a_lost_lease_is_signalled_and_nothing_more_is_written(lab: Lab) -> None:
    await lab.rows("create table effect (token bigint)")
    await lab.rows("grant all on effect to ostinato_worker")

    async def write_late() -> None:
        async with leases.hold(lab.client, "n", ttl=TTL) as lease:
            await take_away(lab)
            await lease.lost.wait()
            assert not lease.is_sure
            with pytest.raises(LeaseLost):
                lease.check()
            async with lab.client.transaction() as conn:
                await conn.execute("insert into effect values (%s)", [lease.token])
                await lease.guard(conn)

    with pytest.raises(LeaseLost, match="'n'"):
        await write_late()

    assert await lab.rows("select * from effect") == []
    assert await lab.value("select holder from ostinato_data.lease") == "thief"


async def test_a_guard_refuses_before_any_renewal_noticed(lab: Lab) -> None:
    noticed: list[bool] = []

    async def write_late() -> None:
        async with leases.hold(lab.client, "n", ttl=3600) as lease:
            lease.check()
            await take_away(lab)
            noticed.append(lease.lost.is_set())
            try:
                async with lab.client.transaction() as conn:
                    await lease.guard(conn)
            finally:
                noticed.append(lease.lost.is_set())

    with pytest.raises(LeaseLost):
        await write_late()

    assert noticed == [False, True]


async def test_a_block_that_did_not_notice_is_told_at_its_end(lab: Lab) -> None:
    with pytest.raises(LeaseLost):
        async with leases.hold(lab.client, "n", ttl=3600):
            await take_away(lab)


async def test_a_guarded_transaction_writes(lab: Lab) -> None:
    await lab.rows("create table effect (token bigint)")
    await lab.rows("grant all on effect to ostinato_worker")
    async with leases.hold(lab.client, "n") as lease, lab.client.transaction() as conn:
        await lease.guard(conn)
        await conn.execute("insert into effect values (%s)", [lease.token])

    assert await lab.rows("select * from effect") == [(lease.token,)]


async def test_while_the_database_is_away_the_holder_tries_on(lab: Lab, logs: list[EventDict]) -> None:
    async with Client(lab.engine.database) as client, leases.hold(client, "n", ttl=TTL) as lease:
        await lab.rows(f"revoke execute on function ostinato.renew_lease from {ROLES}")
        try:
            await until_async(lambda: any(line["event"] == "lease_not_renewed" for line in logs))
            await until_async(lambda: not lease.is_sure)
        finally:
            await lab.rows(f"grant execute on function ostinato.renew_lease to {ROLES}")
        await until_async(lambda: lease.is_sure)

        assert not lease.lost.is_set()


async def test_a_release_that_cannot_be_made_is_left_to_time(lab: Lab, logs: list[EventDict]) -> None:
    await lab.rows(f"revoke execute on function ostinato.release_lease from {ROLES}")
    try:
        async with leases.hold(lab.client, "n", holder="me"):
            pass
    finally:
        await lab.rows(f"grant execute on function ostinato.release_lease to {ROLES}")

    assert [line["event"] for line in logs] == ["lease_not_released"]
    assert await lab.value(STATES) == "held"


async def test_the_tenant_is_given_or_flows(lab: Lab) -> None:
    with flow(tenant="t1"):
        async with leases.hold(lab.client, "n"), leases.hold(lab.client, "n", tenant="t2"):
            rows = await lab.rows("select tenant_id from ostinato_data.lease order by 1")

    assert rows == [("t1",), ("t2",)]


async def test_a_tenants_client_holds_and_attaches_for_its_tenant(lab: Lab) -> None:
    acme = lab.client.for_tenant("acme")
    await lab.engine.admin.execute(OPEN, opened("lab.work"))
    async with leases.hold(acme, "n", ttl=12) as lease:
        await lab.until(RENEWED)
        async with acme.transaction() as conn:
            await lease.guard(conn)
        with pytest.raises(LeaseHeld):
            async with leases.hold(lab.client, "n", tenant="acme"):
                pass
        async with leases.hold(lab.client, "n"):
            pass
    async with acme.transaction() as conn:
        first = await verbs.enqueue_or_attach(conn, "job", "lab.work")
        again = await verbs.enqueue_or_attach(conn, "job", "lab.work")

    assert again == (first.job_id, True)
    assert await lab.rows("select tenant_id from ostinato_data.job") == [("acme",)]


# The verbs


async def test_the_verbs_do_the_same_one_by_one(lab: Lab) -> None:
    async with lab.client.connection() as conn:
        lease = await verbs.acquire(conn, "n", holder="me", ttl=30)
        until = await verbs.renew(conn, lease, ttl=60)
        assert lease.until is not None
        assert until is not None
        assert until > lease.until
        await verbs.guard(conn, lease)
        (line,) = await verbs.list_leases(conn, prefix="n")
        assert await verbs.show_lease(conn, "n") == line
        assert (line.holder, line.state, line.ttl_seconds) == ("me", "held", 60)
        with pytest.raises(LeaseHeld):
            await verbs.force_release(conn, "n")
        assert await verbs.force_release(conn, "n", force=True) is True
        assert await verbs.release(conn, lease) is False
        with pytest.raises(NotFound):
            await verbs.show_lease(conn, "n")
        with pytest.raises(LeaseLost):
            await verbs.renew(conn, lease)
        assert await verbs.prune(conn) == 0


async def test_a_held_lease_names_the_job_that_has_it(lab: Lab) -> None:
    async with lab.client.connection() as conn:
        await verbs.acquire(conn, "n", holder="me", ttl=30, job_id=7)
        with pytest.raises(LeaseHeld) as caught:
            await verbs.acquire(conn, "n", holder="you", ttl=30)

    assert caught.value.values["job_id"] == 7


# Jobs


async def test_the_lease_of_a_job_needs_no_renewal_and_ends_with_it(lab: Lab) -> None:
    go, held = asyncio.Event(), asyncio.Event()

    @lab.app.job()
    async def work(ctx: Context) -> int:
        async with leases.hold(ctx, "n") as lease:
            held.set()
            await go.wait()
            async with ctx.transaction() as conn:
                await lease.guard(conn)
                ctx.result = lease.token
        return 0

    async with lab.worker():
        job = await work.enqueue(lab.client)
        await held.wait()
        (line,) = await verbs.list_leases(lab.engine.admin)
        assert (line.job_id, line.job_attempt, line.lifetime) == (job, 1, "attempt")
        assert (line.until, line.holder) == (None, f"lab.work {job} attempt 1")
        go.set()
        outcome = await lab.becomes(job, "done")

    assert outcome.result == line.token
    assert await lab.value(STATES) == ""


async def test_a_job_may_hold_with_a_client_and_its_context(lab: Lab) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> str:
        async with leases.hold(lab.client, "n", job=ctx) as lease:
            return lease.lease.lifetime

    async with lab.worker():
        outcome = await lab.becomes(await work.enqueue(lab.client), "done")

    assert outcome.result == "attempt"


async def test_a_job_that_finds_it_held_comes_back_later(lab: Lab) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> Snooze | None:
        try:
            async with leases.hold(ctx, "n"):
                return None
        except LeaseHeld:
            return Snooze(0.05)

    async with lab.worker():
        async with leases.hold(lab.client, "n"):
            job = await work.enqueue(lab.client)
            await lab.until("select max(attempt) > 2 from ostinato.show_job(%s)", job)
        await lab.becomes(job, "done")


async def test_an_attempt_that_was_taken_away_cannot_write(lab: Lab) -> None:
    await lab.rows("create table effect (attempt integer)")
    await lab.rows("grant all on effect to ostinato_worker")
    held, go = asyncio.Event(), asyncio.Event()
    refused: list[int] = []

    async def write(ctx: Context) -> None:
        async with leases.hold(ctx, "n") as lease:
            if ctx.job.attempt == 1:
                held.set()
                await asyncio.shield(go.wait())
            async with lab.client.transaction() as conn:
                await conn.execute("insert into effect values (%s)", [ctx.job.attempt])
                await lease.guard(conn)

    @lab.app.job()
    async def work(ctx: Context) -> Snooze | None:
        try:
            await write(ctx)
        except LeaseHeld:
            return Snooze(0.05)  # the first one's refused transaction still has the row
        except LeaseLost:
            refused.append(ctx.job.attempt)
            raise
        return None

    job = await work.enqueue(lab.client)
    async with lab.worker():
        await held.wait()
        # As a rescue does; the first handler is still at it.
        await lab.rows("select ostinato_internal.rescue_claims(array[c.id], 9) from ostinato_data.claim c")
        go.set()
        await lab.becomes(job, "done")

    assert refused == [1]
    ((attempt,),) = await lab.rows("select attempt from effect")
    assert attempt > 1


async def test_a_plain_function_holds_and_guards_in_its_thread(lab: Lab) -> None:
    await lab.rows("create table effect (attempt integer)")
    await lab.rows("grant all on effect to ostinato_worker")

    told: list[object] = []

    @lab.app.job()
    def work(ctx: SyncContext) -> Snooze | None:
        try:
            with leases.hold_now(ctx, "n") as lease, ctx.transaction() as conn:
                verbs.guard_now(conn, lease)
                conn.execute("insert into effect values (%s)", [lease.attempt])
        except LeaseHeld as held:
            told.append(held.values["holder"])
            return Snooze(0.05)
        return None

    async with lab.worker():
        async with leases.hold(lab.client, "n", holder="first"):
            job = await work.enqueue(lab.client)
            await lab.until("select max(attempt) > 1 from ostinato.show_job(%s)", job)
        await lab.becomes(job, "done")

    assert set(told) == {"first"}
    assert await lab.rows("select attempt from effect") == [(1,)]
    assert await lab.value(STATES) == ""


async def test_in_a_thread_a_late_guard_is_refused_and_a_late_release_is_left(lab: Lab, logs: list[EventDict]) -> None:
    refused: list[str] = []

    @lab.app.job()
    def work(ctx: SyncContext) -> None:
        with leases.hold_now(ctx, "n") as lease:
            stolen = replace(lease, token=lease.token + 1)
            with pytest.raises(LeaseLost), ctx._ctx._services.transaction_in_thread() as conn:
                verbs.guard_now(conn, stolen)
            refused.append("guard")

    async with lab.worker():
        await lab.rows(f"revoke execute on function ostinato.release_lease from {ROLES}")
        try:
            await lab.becomes(await work.enqueue(lab.client), "done")
        finally:
            await lab.rows(f"grant execute on function ostinato.release_lease to {ROLES}")

    assert refused == ["guard"]
    assert [line["lease"] for line in logs if line["event"] == "lease_not_released"] == ["n"]
    # Nobody has it; a worker that looked after leases meanwhile has swept it away.
    assert await lab.value(STATES) in {"over", ""}


# Attach


async def test_requests_for_the_same_name_share_one_job(lab: Lab) -> None:
    go = asyncio.Event()
    tokens: list[int] = []

    @lab.app.job()
    async def enrich(ctx: Context, siren: str) -> str:
        async with leases.hold(ctx, f"enrich:{siren}") as lease:
            tokens.append(lease.token)
            await go.wait()
        return siren

    async def ask() -> verbs.Attached:
        return await leases.enqueue_or_attach(lab.client, "enrich:1", enrich, siren="1")

    async with lab.worker():
        found = await asyncio.gather(*(ask() for _ in range(8)))
        await until_async(lambda: tokens)
        found.append(await ask())
        go.set()
        await lab.becomes(found[0].job_id, "done")
        later = await ask()
        await lab.becomes(later.job_id, "done")

    assert len({answer.job_id for answer in found}) == 1
    assert sorted(answer.attached for answer in found) == [False] + 8 * [True]
    assert later.attached is False
    assert tokens == sorted(set(tokens))
    assert len(tokens) == 2


async def test_attaching_by_the_name_of_a_kind(lab: Lab) -> None:
    async with lab.client.transaction() as conn:
        first = await verbs.enqueue_or_attach(conn, "n", "lab.work", {"x": 1}, queue="q")
        again = await verbs.enqueue_or_attach(conn, "n", NewJob("lab.work"))

    assert again == (first.job_id, True)
    ((args, queue),) = await lab.rows("select args, queue from ostinato_data.job")
    assert (args, queue) == ({"x": 1}, "q")


async def test_a_lease_and_a_unique_key_are_too_much(lab: Lab) -> None:
    async with lab.client.connection() as conn:
        with pytest.raises(InvalidInput, match="unique key"):
            await verbs.enqueue_or_attach(conn, "n", NewJob("lab.work", unique=Unique("k")))


async def test_what_a_client_holds_cannot_be_joined(lab: Lab) -> None:
    async with leases.hold(lab.client, "n", holder="a script"), lab.client.connection() as conn:
        with pytest.raises(LeaseHeld) as caught:
            await verbs.enqueue_or_attach(conn, "n", "lab.work")

    assert caught.value.values["holder"] == "a script"


async def test_the_janitor_forgets_old_leases_and_keys(lab: Lab) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None:
        """Nothing."""

    async with lab.client.connection() as conn:
        await _grow_old(lab, conn)

    async with lab.worker():
        await lab.until("select not exists (select from ostinato_data.lease)")
        await lab.until("select not exists (select from ostinato_data.idempotency)")


async def _grow_old(lab: Lab, conn: AsyncConnection[Any]) -> None:
    await verbs.acquire(conn, "old", holder="me", ttl=1)
    await conn.execute("select ostinato.begin_idempotent('s', 'k', repeat('a', 64))")
    await lab.rows("update ostinato_data.lease set renewed_at = clock_timestamp() - interval '3 days'")
    await lab.rows(
        "update ostinato_data.idempotency"
        " set renewed_at = clock_timestamp() - interval '3 days', expires_at = renewed_at"
    )
