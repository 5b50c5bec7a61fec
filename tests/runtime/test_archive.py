"""Archive: what is past retention is in a file before it is dropped, whatever is killed in between."""

import errno
import gzip
import json
import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ostinato._core.db.backup.shelf import Shelf
from ostinato._core.engine import archive, upkeep
from ostinato.errors import BackupFailed, NotConfigured, NotFound
from ostinato.testing import Engine

DAYS = 14


class Killed(BaseException):
    """The process is gone: nothing of it cleans up."""


async def done_long_ago(engine: Engine, count: int = 3, args: str = '{"text": "tab\\t \\\\ \\"quote\\""}') -> list[int]:
    """Jobs that ended in a week that is past retention now."""
    await upkeep.run(engine.admin, DAYS)
    jobs = [
        (await (await engine.admin.execute("select ostinato.enqueue_job('app.task', %s::json)", [args])).fetchone())[0]  # type: ignore[index]
        for _ in range(count)
    ]
    worker = await one(engine, "select ostinato.register_worker('w', '{default}', '{app.task}')")
    claims = await rows(engine, "select claim_id, job_id, attempt from ostinato.claim_jobs(%s, 'default', 100)", worker)
    columns = [list(column) for column in zip(*claims, strict=True)]
    await engine.admin.execute("select ostinato.complete_jobs(%s, %s, %s)", columns)
    await engine.clock.move(timedelta(days=40))
    await upkeep.run(engine.admin, DAYS)  # the weeks of now, and nothing else: what was made is dropped by the next
    return jobs


async def rows(engine: Engine, statement: str, *values: object) -> list[Any]:
    return await (await engine.admin.execute(statement.encode(), values or None)).fetchall()


async def one(engine: Engine, statement: str, *values: object) -> Any:  # noqa: ANN401 - whatever SQL says
    return (await rows(engine, statement, *values))[0][0]


async def settled(engine: Engine) -> list[upkeep.Action]:
    """Call upkeep until nothing changes; returns what it left."""
    while True:
        actions = await upkeep.run(engine.admin, DAYS)
        if not {action.action for action in actions} & {"created", "dropped", "pruned"}:
            return actions


def lines(folder: Path, name: str) -> list[Any]:
    (file,) = folder.glob(f"{name}.*.jsonl.gz")
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


async def test_nothing_is_dropped_before_it_is_archived_and_what_is_archived_is_read_back(
    engine: Engine, tmp_path: Path
) -> None:
    shelf = Shelf(str(tmp_path / "archive"))
    with pytest.raises(NotConfigured):
        await archive.run(engine.admin, shelf, DAYS)
    await archive.require(engine.admin, shelf.place)
    jobs = await done_long_ago(engine)

    left = await settled(engine)
    assert any("not archived" in (action.detail or "") for action in left)
    assert await one(engine, "select count(*) from ostinato_data.job") == 3
    assert [name for name in await archive.waiting(engine.admin, DAYS) if name.startswith("job_")]

    made = await archive.run(engine.admin, shelf, DAYS)
    assert await archive.run(engine.admin, shelf, DAYS) == []  # repeated, it does nothing
    week = next(each.name for each in made if each.name.startswith("job_") and each.rows)
    assert [line["id"] for line in lines(tmp_path / "archive", week)] == jobs
    assert lines(tmp_path / "archive", week)[0]["args"] == {"text": 'tab\t \\ "quote"'}
    read = [json.loads(line) async for line in archive.read(engine.admin, week)]
    assert read == lines(tmp_path / "archive", week)
    assert len(lines(tmp_path / "archive", week.replace("job", "outcome"))) == 3

    assert await archive.waiting(engine.admin, DAYS) == []
    assert all("not archived" not in (action.detail or "") for action in await settled(engine))
    assert await one(engine, "select count(*) from ostinato_data.job") == 0
    assert {each.name for each in await archive.list_archived(engine.admin)} == {each.name for each in made}
    with pytest.raises(NotFound):
        async for _ in archive.read(engine.admin, "job_20200101"):
            pass


async def test_a_place_that_takes_nothing_is_said_and_nothing_is_dropped(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "archive"
    await archive.require(engine.admin, str(folder))
    await done_long_ago(engine)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfileobj", full)
        with pytest.raises(BackupFailed, match="No space left") as refused:
            await archive.run(engine.admin, Shelf(str(folder)), DAYS)
    assert "Nothing of it is dropped" in str(refused.value.hint)
    assert list(folder.iterdir()) == []

    (tmp_path / "file").touch()
    with pytest.raises(BackupFailed, match="was not archived"):
        await archive.run(engine.admin, Shelf(str(tmp_path / "file")), DAYS)
    await settled(engine)
    assert await one(engine, "select count(*) from ostinato_data.job") == 3
    assert await archive.run(engine.admin, Shelf(str(folder)), DAYS) != []


@pytest.mark.parametrize("at", ["written", "stored", "recorded"])
async def test_an_archive_that_is_killed_is_repeated_and_nothing_is_dropped_meanwhile(
    engine: Engine, tmp_path: Path, at: str
) -> None:
    shelf = Shelf((tmp_path / "archive").as_uri())  # as an object store
    await archive.require(engine.admin, shelf.place)
    jobs = await done_long_ago(engine, args='{\n"a": 1}')

    def step(name: str) -> None:
        if name == at:
            raise Killed

    for _ in range(3):
        with pytest.raises(Killed):
            await archive.run(engine.admin, shelf, DAYS, step=step)
        await settled(engine)
    if at != "recorded":
        assert await one(engine, "select count(*) from ostinato_data.job") == 3
    await archive.run(engine.admin, shelf, DAYS)
    await settled(engine)

    assert await one(engine, "select count(*) from ostinato_data.job") == 0
    (week,) = [each for each in await archive.list_archived(engine.admin) if each.name.startswith("job_") and each.rows]
    assert [line["id"] for line in lines(tmp_path / "archive", week.name)] == jobs  # one file: its bytes are the same
    for each in await archive.list_archived(engine.admin):
        await archive.check(each)


async def test_a_week_that_got_rows_since_is_archived_again_and_late_rows_are_too(
    engine: Engine, tmp_path: Path
) -> None:
    shelf = Shelf(str(tmp_path / "archive"))
    await archive.require(engine.admin, shelf.place)
    jobs = await done_long_ago(engine)
    await archive.run(engine.admin, shelf, DAYS)
    await engine.admin.execute(
        "insert into ostinato_data.outcome select * from (select (o).* from (select jsonb_populate_record(o,"
        " '{\"attempt\": 2}') as o from ostinato_data.outcome o where job_id = %s) x) y",
        [jobs[0]],
    )
    assert any("not archived" in (action.detail or "") for action in await settled(engine))
    again = await archive.run(engine.admin, shelf, DAYS)
    assert [each.rows for each in again] == [4]
    await settled(engine)
    assert await one(engine, "select count(*) from ostinato_data.outcome") == 0

    # What no week covers is deleted one by one: kept until it is archived.
    await engine.admin.execute("delete from ostinato_data.archive_late")
    old = 70_000_000_000 - 5
    await engine.admin.execute(
        "insert into ostinato_data.job_default (id, created_at, priority, kind, queue, tenant_id, args)"
        " values (%s, '2026-01-01', 0, 'app.task', 'default', 'acme', '{}')",
        [old],
    )
    await engine.admin.execute(
        "insert into ostinato_data.outcome_default select (jsonb_populate_record(null::ostinato_data.outcome,"
        " jsonb_build_object('job_id', %s::bigint, 'attempt', 1, 'outcome', 'done', 'finished_at', '2026-01-01',"
        " 'claimed_at', '2026-01-01', 'worker_id', gen_random_uuid(), 'duration_ms', 1))).*",
        [old],
    )
    await settled(engine)
    assert await one(engine, "select count(*) from ostinato_data.archive_late") == 2
    (name, *_), *_ = await rows(engine, "select * from ostinato.take_late()")
    (late,) = await archive.run(engine.admin, shelf, DAYS)  # the range that was begun
    assert (late.name, late.rows) == (name, 2)
    assert {line["table"] for line in lines(tmp_path / "archive", name)} == {"job", "outcome"}
    assert await one(engine, "select count(*) from ostinato_data.archive_late") == 0


async def test_a_damaged_file_is_found(engine: Engine, tmp_path: Path) -> None:
    shelf = Shelf(str(tmp_path / "archive"))
    await archive.require(engine.admin, shelf.place)
    await done_long_ago(engine)
    await archive.run(engine.admin, shelf, DAYS)
    (week,) = [each for each in await archive.list_archived(engine.admin) if each.name.startswith("job_") and each.rows]
    (tmp_path / "archive" / week.file).write_bytes(b"no")
    with pytest.raises(BackupFailed, match="is damaged"):
        await archive.check(week)
    (tmp_path / "archive" / week.file).unlink()
    with pytest.raises(BackupFailed, match="has no file"):
        await archive.check(week)
    await archive.require(engine.admin, None)
    await settled(engine)
    assert await one(engine, "select count(*) from ostinato_data.job") == 0
