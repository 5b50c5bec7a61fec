"""The janitor: each chore in its time, and one that fails keeps no other waiting."""

import random
from typing import Any

import pytest
from psycopg import AsyncConnection
from structlog.typing import EventDict

from ostinato._core.base.errors import DatabaseUnavailable, NotFound
from ostinato._core.engine import keys, observe, upkeep
from ostinato._core.runtime.services.janitor import Janitor
from tests.runtime.lab import Lab

AHEAD = "select count(*) from {} week where week >= ostinato.week_of(ostinato.now())"
WEEKS = AHEAD.format("ostinato.existing_weeks()")
LOGS = AHEAD.format("ostinato_internal.log_weeks('metric_sample')")


@pytest.fixture
def janitor() -> Janitor:
    return Janitor(retention_days=14, rng=random.Random(7))


async def test_a_round_makes_partitions_and_notes_the_figures(lab: Lab, janitor: Janitor) -> None:
    async with lab.client.connection() as conn:
        pause = await janitor.tick(conn)

    weeks = await lab.value(WEEKS)
    logs = await lab.value(LOGS)
    assert (weeks, logs) == (5, 5)
    assert await lab.value("select count(*) from ostinato_data.metric_sample") > 0
    assert pause > 0


async def test_a_round_forgets_keys_that_ended_long_ago(lab: Lab, janitor: Janitor) -> None:
    async with lab.client.connection() as conn:
        old, new = [await keys.create(conn, tenant_id="acme", subject="me", roles=["ops"]) for _ in range(2)]
        await keys.revoke(conn, old.record.id)
        await keys.revoke(conn, new.record.id)
        await lab.engine.admin.execute(
            "update ostinato_data.api_key set revoked_at = revoked_at - interval '91 days' where id = %s",
            [old.record.id],
        )

        await janitor.tick(conn)

        assert [key.id for key in await keys.list_keys(conn)] == [new.record.id]


async def test_what_was_done_is_not_due_again(lab: Lab, janitor: Janitor, monkeypatch: pytest.MonkeyPatch) -> None:
    async with lab.client.connection() as conn:
        await janitor.tick(conn)
        monkeypatch.setattr(upkeep, "run", None)
        monkeypatch.setattr(observe, "sample", None)

        assert await janitor.tick(conn) > 0


async def test_a_chore_that_fails_is_said_and_the_others_are_done(
    lab: Lab, janitor: Janitor, monkeypatch: pytest.MonkeyPatch, logs: list[EventDict]
) -> None:
    async def fails(conn: AsyncConnection[Any], *days: int | None) -> None:
        raise NotFound("no such week")

    monkeypatch.setattr(upkeep, "run", fails)

    async with lab.client.connection() as conn:
        await janitor.tick(conn)

    assert [line["chore"] for line in logs if line["event"] == "chore_failed"] == ["partitions"]
    assert await lab.value("select count(*) from ostinato_data.metric_sample") > 0


async def test_an_outage_is_the_loops_to_say_and_the_chore_stays_due(
    lab: Lab, janitor: Janitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(conn: AsyncConnection[Any], *days: int | None) -> None:
        raise DatabaseUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(upkeep, "run", away)
        async with lab.client.connection() as conn:
            with pytest.raises(DatabaseUnavailable):
                await janitor.tick(conn)

    async with lab.client.connection() as conn:
        await janitor.tick(conn)

    assert await lab.value(WEEKS) == 5
