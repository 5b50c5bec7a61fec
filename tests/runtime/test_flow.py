"""Tenant and correlation id travel from the caller to the job, and on to what the job adds."""

import asyncio
import contextvars
import threading

import pytest

from ostinato import Context, SyncContext
from ostinato._core.base.flow import current, current_correlation, current_tenant, enter, flow, leave
from ostinato._core.engine import erasure, jobs
from ostinato._core.engine.jobs import NewJob
from tests.runtime.lab import Lab


async def origin(lab: Lab, *job_ids: int) -> list[tuple[str, str | None]]:
    """The tenant and the correlation id of jobs."""
    rows = await lab.rows(
        "select tenant_id, correlation_id from ostinato_data.job where id = any (%s) order by id", list(job_ids)
    )
    return [(row[0], row[1]) for row in rows]


def test_a_flow_ends_with_its_block_and_keeps_what_is_not_given() -> None:
    with flow(tenant="acme", correlation="req-1"):
        with flow(correlation="req-2") as inside:
            assert (current_tenant(), current_correlation()) == ("acme", "req-2") == inside[:2]
        with pytest.raises(KeyError), flow(tenant="other"):
            raise KeyError
        assert (current_tenant(), current_correlation()) == ("acme", "req-1")

    assert current() == (None, None, None)


async def test_a_flow_holds_across_awaits_in_tasks_and_in_copied_contexts() -> None:
    async def seen() -> tuple[str | None, str | None]:
        await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        return current_tenant(), current_correlation()

    found: list[object] = []
    with flow(tenant="acme", correlation="req-1"):
        task = asyncio.create_task(seen())
        in_thread = await asyncio.to_thread(current)
        context = contextvars.copy_context()
    thread = threading.Thread(target=lambda: found.append(context.run(current)))
    thread.start()
    thread.join()

    assert await task == in_thread[:2] == ("acme", "req-1")
    assert in_thread == found[0]
    assert await seen() == (None, None)


async def test_flows_of_tasks_at_the_same_time_do_not_mix() -> None:
    both = asyncio.Barrier(2)

    async def one(tenant: str) -> str | None:
        with flow(tenant=tenant):
            await both.wait()
            return current_tenant()

    first, second = await asyncio.gather(one("t1"), one("t2"))

    assert (first, second) == ("t1", "t2")


def test_a_flow_that_is_closed_from_elsewhere_disturbs_nobody() -> None:
    token = contextvars.copy_context().run(enter, current())

    leave(token)

    assert current() == (None, None, None)


async def test_what_is_enqueued_in_a_flow_belongs_to_it_unless_the_caller_says_otherwise(lab: Lab) -> None:
    @lab.app.job()
    async def task(ctx: Context) -> None: ...

    with flow(tenant="acme", correlation="req-1"):
        one = await task.enqueue(lab.client)
        other = await task.options(tenant="t2", correlation_id="req-2").enqueue(lab.client)
        by_name = await lab.client.enqueue("lab.task")
        many = await task.enqueue_many(lab.client, [{}, {}])
        async with lab.client.transaction() as conn:
            mixed = await jobs.enqueue_many(conn, [NewJob("lab.task"), NewJob("lab.task", tenant_id="t3")])
    outside = await task.enqueue(lab.client)

    ours = ("acme", "req-1")
    assert await origin(lab, one, by_name, *many) == [ours] * 4
    assert await origin(lab, other, *mixed) == [("t2", "req-2"), ours, ("t3", "req-1")]
    assert await origin(lab, outside) == [("default", None)]


async def test_jobs_of_jobs_belong_to_the_first_request(lab: Lab) -> None:
    @lab.app.job()
    async def parent(ctx: Context) -> None:
        await child.enqueue(lab.client)

    @lab.app.job()
    async def child(ctx: Context) -> None:
        async with lab.client.transaction() as conn:
            await grandchild.enqueue(conn)

    @lab.app.job()
    def grandchild(ctx: SyncContext) -> list[str | None]:
        return [current_tenant(), current_correlation(), ctx.correlation_id]

    async with lab.worker():
        await parent.options(tenant="acme", correlation_id="req-1").enqueue(lab.client)
        await lab.until("select count(*) = 3 from ostinato_data.outcome o where o.outcome = 'done'")

    rows = await lab.rows("select tenant_id, correlation_id from ostinato_data.job")
    assert rows == [("acme", "req-1")] * 3
    result = await lab.value("select result from ostinato_data.outcome where result is not null")
    assert result == ["acme", "req-1", "req-1"]


async def test_jobs_and_events_of_jobs_are_about_the_same_person(lab: Lab) -> None:
    told = lab.app.event("lab.told")

    @lab.app.job()
    async def parent(ctx: Context) -> None:
        await child.enqueue(lab.client)
        await child.options(subject="somebody else").enqueue(lab.client)

    @lab.app.job()
    async def child(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await told.emit(conn, {"name": "Zebulon"})

    @lab.app.on("lab.told")
    async def listen(ctx: Context, event: object) -> None: ...

    async with lab.worker():
        await parent.options(subject="customer-7").enqueue(lab.client)
        await lab.until("select count(*) = 5 from ostinato_data.outcome o where o.outcome = 'done'")

    async with lab.client.transaction() as conn:
        certificate = await erasure.erase(conn, "customer-7")

    assert certificate.complete
    assert (certificate.erased["job"], certificate.erased["event"]) == (3, 1)
    left = "select count(*) from ostinato_data.job where erased_at is null and subject is not null"
    assert await lab.value(left) == 2


async def test_a_handler_that_acts_as_a_tenant_hands_on_the_subject_of_that_tenant_only(lab: Lab) -> None:
    """A hash is that of one tenant's person: with another tenant nobody would erase by it."""
    told = lab.app.event("lab.told")

    @lab.app.job()
    async def parent(ctx: Context) -> None:
        for tenant in ("acme", "other"):
            async with lab.client.for_tenant(tenant).transaction() as conn:
                await child.enqueue(conn)
                await told.emit(conn, {})

    @lab.app.job(open=True)
    async def child(ctx: Context) -> None: ...

    async with lab.worker():
        job_id = await parent.options(tenant="acme", subject="customer-7").enqueue(lab.client)
        await lab.becomes(job_id, "done", "dead")

    whose = "select tenant_id, count(*), count(subject), count(distinct subject) from ostinato_data."
    by_tenant = whose + "{} group by 1 order by 1"
    assert await lab.rows(by_tenant.format("job")) == [("acme", 2, 2, 1), ("other", 1, 0, 0)]
    assert await lab.rows(by_tenant.format("event")) == [("acme", 1, 1, 1), ("other", 1, 0, 0)]


async def test_a_running_handler_is_asked_to_stop_and_what_it_wrote_is_erased(lab: Lab) -> None:
    async def dial(phone: str) -> str:
        return phone

    @lab.app.job()
    async def call(ctx: Context, phone: str) -> str:
        await ctx.step("dial", dial, phone)
        await asyncio.Event().wait()
        return phone

    async with lab.worker(cancel_grace_seconds=0.0):
        job_id = await call.options(subject="+33639980001").enqueue(lab.client, "+33639980001")
        await lab.until("select count(*) = 1 from ostinato_data.step")
        async with lab.client.transaction() as conn:
            first = await erasure.erase(conn, "+33639980001")
        await lab.becomes(job_id, "cancelled")

    async with lab.client.transaction() as conn:
        second = await erasure.erase(conn, "+33639980001")

    assert (first.complete, first.running) == (False, 1)
    assert (second.complete, second.erased["job"], second.erased["step"]) == (True, 1, 1)


async def test_a_job_without_a_correlation_id_gives_what_it_adds_its_own_name(lab: Lab) -> None:
    @lab.app.job()
    async def parent(ctx: Context) -> str:
        assert current_correlation() == ctx.correlation_id
        await child.enqueue(lab.client)
        return ctx.correlation_id

    @lab.app.job()
    async def child(ctx: Context) -> None: ...

    async with lab.worker():
        first = await parent.enqueue(lab.client)
        ended = await lab.becomes(first, "done", "dead")

    assert ended.result == f"job-{first}"
    second = await lab.value("select id from ostinato_data.job where id <> %s", first)
    assert await origin(lab, first, second) == [("default", None), ("default", f"job-{first}")]


async def test_a_lane_forgets_the_flow_of_the_job_before(lab: Lab) -> None:
    seen: list[tuple[str | None, ...]] = []

    @lab.app.job()
    async def task(ctx: Context, fails: bool = False) -> None:  # noqa: FBT001, FBT002
        seen.append(current()[:2])
        if fails:
            raise KeyError

    async with lab.worker(concurrency=1):
        for tenant, fails in (("t1", True), ("t2", False)):
            chosen = task.options(tenant=tenant, correlation_id=f"of {tenant}", max_attempts=1)
            job_id = await chosen.enqueue(lab.client, fails=fails)
            await lab.becomes(job_id, "done", "dead")

    assert seen == [("t1", "of t1"), ("t2", "of t2")]
    report = await lab.engine.run_until_idle(lab.app)
    assert (report.done, current()) == (0, (None, None, None))


async def test_plain_sql_takes_them_from_the_settings_of_its_transaction(lab: Lab) -> None:
    calls = (
        "select ostinato.enqueue_job('lab.task')",
        "select ostinato.enqueue_job('lab.task', tenant_id => 't2', correlation_id => 'req-2')",
        "select ostinato.enqueue_jobs('{lab.task}', '{\"{}\",\"{}\"}')",
        "select ostinato.enqueue_jobs('{lab.task}', '{\"{}\"}', unique_keys => '{k}')",
    )
    async with lab.client.transaction() as conn:
        await conn.execute("select set_config('app.tenant_id', 'acme', true)")
        await conn.execute("select set_config('app.correlation_id', 'req-1', true)")
        found = [await (await conn.execute(call.encode())).fetchall() for call in calls]
    outside = await lab.rows(calls[0])

    (one,), (other,), many, (keyed,) = found
    ours = ("acme", "req-1")
    assert await origin(lab, one[0], keyed[0], *(row[0] for row in many)) == [ours] * 4
    assert await origin(lab, other[0]) == [("t2", "req-2")]
    assert await origin(lab, outside[0][0]) == [("default", None)]
