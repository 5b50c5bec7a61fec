"""Children: spawned once whatever dies, joined without a lane, counted exactly, cancelled with their parent."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from ostinato import App, Context, Done, Retry, SyncContext
from ostinato._core.engine import upkeep
from ostinato.errors import ChildFailed, InvalidInput
from ostinato.steps import Children, Joined, OnFailure, groups
from ostinato.testing import Engine
from tests.runtime.lab import Lab

NOW = Retry(delays=(0, 0, 0))
ONCE = Retry(max_attempts=1)
TAKE_ALL = "select ostinato_internal.rescue_claims(array[c.id], 9) from ostinato_data.claim c"
EXACT = """
select count(*) from ostinato_data.job_group g
cross join lateral ostinato.job_groups(g.parent_id) c
cross join lateral (
    select count(*) filter (where s = 'done') as done, count(*) filter (where s = 'dead') as failed,
           count(*) filter (where s = 'cancelled') as cancelled, count(*) as total
    from (select ostinato.job_state(j.id) as s from ostinato_data.job j where j.group_id = g.id) x) r
where c.group_id = g.id
  and (c.total, c.done, c.failed, c.cancelled) is distinct from (r.total, r.done, r.failed, r.cancelled)
"""


@pytest.fixture
def app() -> App:
    return App("tree")


async def job_children(engine: Engine, job_id: int) -> list[tuple[int, str]]:
    rows = await engine.admin.execute(
        "select id, ostinato.job_state(id) from ostinato_data.job where parent_id = %s order by id", (job_id,)
    )
    return await rows.fetchall()


async def result_of(engine: Engine, job_id: int) -> Any:  # noqa: ANN401 - whatever it returned
    return await engine.client.result(job_id, timeout=0)


async def counted_exactly(engine: Engine) -> bool:
    rows = await engine.admin.execute(EXACT.encode())
    return await rows.fetchone() == (0,)


async def test_a_parent_joins_its_children_and_reads_their_results_in_order(engine: Engine, app: App) -> None:
    @app.job()
    async def square(ctx: Context, n: int) -> Done:
        return Done(n * n)

    @app.job()
    async def total(ctx: Context) -> Done:
        one = await ctx.spawn(square, 7)
        many = await ctx.spawn_many(square, ({"n": n} for n in range(1, 6)))
        joined = await ctx.join(one, many)
        return Done({"results": await joined.results(), "counts": [joined.total, joined.done]})

    job_id = await total.enqueue(engine.client)
    report = await engine.run_until_idle(app)

    assert await result_of(engine, job_id) == {"results": [49, 1, 4, 9, 16, 25], "counts": [6, 6]}
    assert Counter(kind for kind, _ in report.runs) == {"tree.total": 2, "tree.square": 6}
    assert await counted_exactly(engine)


async def test_a_plain_function_spawns_and_joins_too(engine: Engine, app: App) -> None:
    @app.job()
    def double(ctx: SyncContext, n: int) -> Done:
        return Done(2 * n)

    @app.job()
    def parent(ctx: SyncContext) -> Done:
        children = [ctx.spawn(double, n=n) for n in range(3)]
        joined = ctx.join(children, on_failure="collect")
        return Done([joined.results(), joined.total, [child.state for child in joined]])

    job_id = await parent.enqueue(engine.client)
    await engine.run_until_idle(app)

    assert await result_of(engine, job_id) == [[0, 2, 4], 3, ["done"] * 3]


async def test_a_run_that_dies_after_its_spawn_spawns_no_second_set(lab: Lab) -> None:
    runs: list[Children] = []

    @lab.app.job(retry=NOW)
    async def leaf(ctx: Context, n: int) -> None: ...

    @lab.app.job(retry=NOW)
    async def parent(ctx: Context) -> Done:
        children = await ctx.spawn_many(leaf, [{"n": n} for n in range(10)])
        runs.append(children)
        if len(runs) == 1:  # as if the process had died: the job is taken from it
            await lab.rows(TAKE_ALL)
            await ctx.step("late", int)
        joined = await ctx.join(children)
        return Done(joined.done)

    job_id = await parent.enqueue(lab.client)
    async with lab.worker():
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.result == 10
    assert len(set(runs)) == 1
    assert await lab.value("select count(*) from ostinato_data.job where parent_id = %s", job_id) == 10


async def test_a_spawn_of_an_attempt_that_lost_its_job_leaves_nothing(lab: Lab) -> None:
    started: list[int] = []

    @lab.app.job(retry=NOW)
    async def leaf(ctx: Context, n: int) -> None: ...

    def taken(ctx: Context) -> Iterator[dict[str, object]]:
        yield {"n": 1}
        yield {"n": 2}

    @lab.app.job(retry=NOW)
    async def parent(ctx: Context) -> None:
        started.append(ctx.job.attempt)
        if len(started) == 1:
            await lab.rows(TAKE_ALL)
        children = await ctx.spawn_many(leaf, taken(ctx))
        await ctx.join(children)

    job_id = await parent.enqueue(lab.client)
    async with lab.worker():
        await lab.becomes(job_id, "done", "dead")

    assert await lab.value("select count(*) from ostinato_data.job where parent_id = %s", job_id) == 2
    assert await lab.value("select count(*) from ostinato_data.job_group") == 1


async def test_a_parent_holds_no_lane_and_no_connection_while_it_waits(lab: Lab) -> None:
    @lab.app.job()
    async def leaf(ctx: Context) -> None: ...

    @lab.app.job()
    async def parent(ctx: Context) -> None:
        await ctx.join(await ctx.spawn(leaf.options(queue="elsewhere")))

    job_id = await parent.enqueue(lab.client)
    async with lab.worker(queues=["default"]):
        await lab.becomes(job_id, "scheduled")
        assert await lab.value("select count(*) from ostinato_data.claim") == 0
        (reason,) = await lab.rows("select code, message from ostinato.why(%s) where code = 'joining'", job_id)
        async with lab.worker(queues=["elsewhere"]):
            await lab.becomes(job_id, "done")

    assert "0 of 1 have ended" in reason[1]


async def test_the_first_failure_ends_the_join_and_cancels_the_rest(engine: Engine, app: App) -> None:
    @app.job(retry=ONCE)
    async def leaf(ctx: Context, n: int) -> None:
        if n == 0:
            raise ValueError("bad page")

    @app.job()
    async def parent(ctx: Context) -> None:
        first = await ctx.spawn(leaf, n=0)
        rest = await ctx.spawn_many(leaf.options(delay=3600), [{"n": n} for n in range(1, 20)])
        await ctx.join(first, rest)

    job_id = await parent.enqueue(engine.client)
    report = await engine.run_until_idle(app, move_clock=False)

    states = Counter(state for _, state in await job_children(engine, job_id))
    (reason,) = await (
        await engine.admin.execute(
            "select reason, error ->> 'type' from ostinato_data.dead_letter d where job_id = %s", (job_id,)
        )
    ).fetchall()
    assert states == {"dead": 1, "cancelled": 19}
    assert reason == ("permanent_error", "ChildFailed"), "each later attempt would find the same"
    assert report.runs.count(("tree.parent", 3)) == 0
    assert await counted_exactly(engine)


@pytest.mark.proof
async def test_of_a_hundred_thousand_children_the_rest_is_cancelled_with_the_first_failure(
    engine: Engine, app: App
) -> None:
    """They are spawned in one step and counted without being read, and none of the rest runs."""
    many = 100_000

    @app.job(retry=ONCE)
    async def leaf(ctx: Context, n: int) -> None:
        raise ValueError("bad page")

    @app.job()
    async def parent(ctx: Context) -> None:
        rest = await ctx.spawn_many(leaf.options(delay=3600), ({"n": n} for n in range(1, many)))
        await ctx.join(await ctx.spawn(leaf, n=0), rest)

    job_id = await parent.enqueue(engine.client)
    report = await engine.run_until_idle(app, move_clock=False)

    async with engine.client.connection() as conn:
        counted = await groups(conn, job_id)
    assert sorted((each.total, each.failed, each.cancelled) for each in counted) == [(1, 1, 0), (many - 1, 0, many - 1)]
    assert [kind for kind, _ in report.runs].count("tree.leaf") == 1
    assert await counted_exactly(engine)


@pytest.mark.parametrize(("on_failure", "states"), [("collect", ["done", "dead", "cancelled"]), ("ignore", ["done"])])
async def test_a_join_may_wait_for_all_of_them(
    engine: Engine, app: App, on_failure: OnFailure, states: list[str]
) -> None:
    @app.job(retry=ONCE)
    async def leaf(ctx: Context, how: str) -> Done:
        if how == "dead":
            raise ValueError("bad")
        return Done(how)

    seen: list[Joined] = []

    @app.job()
    async def parent(ctx: Context) -> Done:
        well = await ctx.spawn_many(leaf, [{"how": "done"}, {"how": "dead"}])
        late = await ctx.spawn(leaf.options(delay=60), how="late")
        joined = await ctx.join(well, late, on_failure=on_failure)
        seen.append(joined)
        return Done([child.state async for child in joined])

    job_id = await parent.enqueue(engine.client)
    await engine.run_until_idle(app, move_clock=False)
    late = (await job_children(engine, job_id))[-1][0]
    async with engine.client.transaction() as conn:
        await conn.execute("select ostinato.cancel_job(%s)", (late,))
    await engine.run_until_idle(app)

    assert await result_of(engine, job_id) == states
    assert (seen[0].done, seen[0].failed, seen[0].cancelled) == (1, 1, 1)
    assert await counted_exactly(engine)


async def test_a_dead_child_that_is_redriven_counts_once(engine: Engine, app: App) -> None:
    broken = True

    @app.job(retry=ONCE)
    async def leaf(ctx: Context) -> None:
        if broken:
            raise ValueError("down")

    @app.job()
    async def other(ctx: Context) -> None: ...

    @app.job()
    async def parent(ctx: Context) -> Done:
        joined = await ctx.join(await ctx.spawn(leaf), await ctx.spawn(other.options(delay=3600)), on_failure="collect")
        return Done([joined.done, joined.failed])

    job_id = await parent.enqueue(engine.client)
    await engine.run_until_idle(app, move_clock=False)
    async with engine.client.transaction() as conn:
        (first, _) = await groups(conn, job_id)
        broken = False
        await conn.execute("select ostinato.redrive_jobs()")
    await engine.run_until_idle(app)

    assert (first.total, first.failed, first.pending) == (1, 1, 0)
    assert await result_of(engine, job_id) == [2, 0]
    assert await counted_exactly(engine)


async def test_cancelling_a_parent_cancels_the_whole_tree(engine: Engine, app: App) -> None:
    @app.job()
    async def leaf(ctx: Context) -> None: ...

    @app.job()
    async def branch(ctx: Context) -> None:
        await ctx.join(await ctx.spawn_many(leaf.options(delay=3600), [{}] * 5))

    @app.job()
    async def root(ctx: Context) -> None:
        await ctx.join(await ctx.spawn_many(branch, [{}] * 3))

    job_id = await root.enqueue(engine.client)
    await engine.run_until_idle(app, move_clock=False)
    async with engine.client.transaction() as conn:
        await conn.execute("select ostinato.cancel_job(%s)", (job_id,))
    report = await engine.run_until_idle(app, move_clock=False)
    report = await engine.run_until_idle(app, move_clock=False)

    states = await (
        await engine.admin.execute("select ostinato.job_state(id), count(*) from ostinato_data.job group by 1")
    ).fetchall()
    assert states == [("cancelled", 19)]
    assert report.waiting == []
    assert await counted_exactly(engine)


async def test_a_tree_has_one_trail_with_the_parents_in_it(engine: Engine, app: App) -> None:
    @app.job()
    async def leaf(ctx: Context) -> None: ...

    @app.job()
    async def parent(ctx: Context) -> None:
        await ctx.join(await ctx.spawn_many(leaf, [{}] * 2))

    job_id = await parent.enqueue(engine.client)
    await engine.run_until_idle(app)

    lines = await (
        await engine.admin.execute(
            "select what, (detail ->> 'parent_id')::bigint from ostinato.trail(%s) where source = 'job'",
            (f"job-{job_id}",),
        )
    ).fetchall()
    assert Counter(lines) == {("tree.parent", None): 1, ("tree.leaf", job_id): 2}


async def test_a_restart_before_the_spawn_makes_a_new_set_and_cancels_the_old(engine: Engine, app: App) -> None:
    @app.job()
    async def leaf(ctx: Context) -> None: ...

    @app.job()
    async def parent(ctx: Context) -> Done:
        children = await ctx.spawn_many(leaf.options(delay=3600), [{}] * 3)
        return Done((await ctx.join(children)).done)

    job_id = await parent.enqueue(engine.client)
    await engine.run_until_idle(app, move_clock=False)
    async with engine.client.transaction() as conn:
        await conn.execute("select ostinato.restart_job(%s)", (job_id,))
    await engine.run_until_idle(app)

    assert Counter(state for _, state in await job_children(engine, job_id)) == {"cancelled": 3, "done": 3}
    assert await result_of(engine, job_id) == 3


async def test_retention_spares_results_that_a_parent_may_still_read(engine: Engine, app: App) -> None:
    @app.job()
    async def leaf(ctx: Context, n: int) -> Done:
        return Done(n)

    @app.job()
    async def parent(ctx: Context) -> Done:
        children = await ctx.spawn_many(leaf, [{"n": n} for n in range(3)])
        await ctx.sleep(60 * 86_400)
        return Done(await (await ctx.join(children)).results())

    job_id = await parent.enqueue(engine.client)
    await engine.run_until_idle(app, move_clock=False)
    await engine.clock.move(timedelta(days=40))
    for _ in range(8):
        await upkeep.run(engine.admin, 7)
    await engine.run_until_idle(app)

    assert await result_of(engine, job_id) == [0, 1, 2]
    await engine.clock.move(timedelta(days=40))
    for _ in range(8):
        await upkeep.run(engine.admin, 7)
    left = await (await engine.admin.execute("select count(*) from ostinato_data.job_group")).fetchone()
    assert left == (0,)


async def test_a_join_may_time_out_and_the_children_go_on(engine: Engine, app: App) -> None:
    @app.job()
    async def leaf(ctx: Context) -> None: ...

    @app.job()
    async def parent(ctx: Context) -> Done:
        children = await ctx.spawn(leaf.options(delay=7200))
        try:
            await ctx.join(children, timeout=60)
        except TimeoutError:
            return Done("late")
        return Done("in time")

    job_id = await parent.enqueue(engine.client)
    await engine.run_until_idle(app, pass_timeouts=True)

    assert await result_of(engine, job_id) == "late"
    assert [state for _, state in await job_children(engine, job_id)] == ["done"]


async def test_an_event_of_that_name_ends_no_join(engine: Engine, app: App) -> None:
    @app.job()
    async def leaf(ctx: Context) -> None: ...

    @app.job()
    async def parent(ctx: Context) -> None:
        await ctx.join(await ctx.spawn(leaf.options(delay=3600)))

    job_id = await parent.enqueue(engine.client)
    await engine.run_until_idle(app, move_clock=False)
    await engine.admin.execute(
        "select ostinato.emit_event(type => 'ostinato.children', ordering_key => '1', payload => '{}', tenant_id =>"
        " 'default', correlation_id => 'c', producer => 'test', occurred_at => ostinato.now())"
    )
    report = await engine.run_until_idle(app, move_clock=False)

    assert [each.job_id for each in report.waiting] == [job_id]


async def test_no_children_and_odd_options_are_refused(engine: Engine, app: App) -> None:
    @app.job()
    async def leaf(ctx: Context) -> None: ...

    refused: list[str] = []

    @app.job()
    async def parent(ctx: Context) -> Done:
        with pytest.raises(InvalidInput, match="no children"):
            await ctx.join()
        with pytest.raises(InvalidInput, match="another tenant"):
            await ctx.spawn(leaf.options(tenant="acme"))
        nobody = await ctx.spawn_many(leaf, [])
        refused.append("both")
        return Done((await ctx.join(nobody)).total)

    job_id = await parent.enqueue(engine.client)
    await engine.run_until_idle(app)

    assert await result_of(engine, job_id) == 0
    assert refused == ["both", "both"]


async def test_a_caught_failure_lets_the_parent_go_on(engine: Engine, app: App) -> None:
    @app.job(retry=ONCE)
    async def leaf(ctx: Context) -> None:
        raise ValueError("bad")

    @app.job()
    async def parent(ctx: Context) -> Done:
        try:
            await ctx.join(await ctx.spawn(leaf))
        except ChildFailed as failed:
            return Done(failed.values["child_id"])
        return Done(None)

    job_id = await parent.enqueue(engine.client)
    await engine.run_until_idle(app)

    ((child, _),) = await job_children(engine, job_id)
    assert await result_of(engine, job_id) == child
