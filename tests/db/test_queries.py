from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ostinato._core.db.embedded import Urls
from ostinato._core.db.pool import Connection, connect
from ostinato.database import Queries
from ostinato.errors import InvalidInput, NotFound, OstinatoError

STATEMENTS = """
-- name: make
-- The table of these tests, for this connection alone.
create temporary table note (id int primary key, extra jsonb not null);

-- name: add
-- Writes a note.
insert into note values (%(id)s, %(extra)s);

-- name: notes
-- Notes from an id on.
select id, extra from note where id >= %(since)s order by id;

-- name: forget
-- Deletes notes from an id on.
delete from note where id >= %(since)s;
"""


@dataclass(frozen=True)
class Note:
    id: int
    extra: dict[str, object]


@pytest.fixture
def queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Queries:
    """The statements of a package that is made for this test."""
    package = tmp_path / f"notes_{tmp_path.name}"
    (package / "sql").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "sql" / "queries.sql").write_text(STATEMENTS)
    monkeypatch.syspath_prepend(tmp_path)
    return Queries(package.name, json={"extra"})


@pytest.fixture
async def conn(urls: Urls, queries: Queries) -> AsyncIterator[Connection]:
    async with await connect(urls.worker) as opened:
        await queries.run(opened, "make")
        for number in (1, 2, 3):
            await queries.run(opened, "add", id=number, extra={"n": number})
        yield opened


async def test_a_statement_that_writes_says_how_many_rows(queries: Queries, conn: Connection) -> None:
    assert await queries.run(conn, "forget", since=2) == 2
    assert await queries.run(conn, "forget", since=2) == 0


async def test_rows_come_by_the_names_of_their_columns_or_as_values_of_a_type(
    queries: Queries, conn: Connection
) -> None:
    rows = await queries.rows(conn, "notes", since=2)
    notes = await queries.rows_as(Note, conn, "notes", since=2)

    assert rows == [{"id": 2, "extra": {"n": 2}}, {"id": 3, "extra": {"n": 3}}]
    assert notes == [Note(2, {"n": 2}), Note(3, {"n": 3})]
    assert await queries.rows(conn, "add", id=4, extra={}) == []


async def test_one_is_exactly_one_and_first_may_be_none(queries: Queries, conn: Connection) -> None:
    assert (await queries.one(conn, "notes", since=3))["id"] == 3
    assert (await queries.first(conn, "notes", since=1) or {})["id"] == 1
    assert await queries.first(conn, "notes", since=9) is None

    with pytest.raises(NotFound, match="notes gave 3 rows instead of one"):
        await queries.one(conn, "notes", since=1)
    with pytest.raises(NotFound, match="notes gave 0 rows"):
        await queries.one(conn, "notes", since=9)


async def test_a_value_is_the_first_column_of_the_first_row(queries: Queries, conn: Connection) -> None:
    assert await queries.value(conn, "notes", since=2) == 2
    assert await queries.value(conn, "notes", since=9) is None


async def test_jsonb_is_made_for_declared_names_and_taken_as_given_for_others(
    queries: Queries, conn: Connection
) -> None:
    plain = Queries(queries.package)

    await plain.run(conn, "add", id=4, extra=Jsonb([1]))
    with pytest.raises(OstinatoError):
        await plain.run(conn, "add", id=5, extra={"n": 5})

    assert await queries.rows(conn, "notes", since=4) == [{"id": 4, "extra": [1]}]


async def test_what_the_driver_raises_becomes_an_error_of_ours(queries: Queries, conn: Connection) -> None:
    with pytest.raises(OstinatoError) as caught:
        await queries.run(conn, "add", id=1, extra={})

    assert caught.value.values["sqlstate"] == "23505"
    assert isinstance(caught.value.__cause__, psycopg.errors.UniqueViolation)


async def test_a_name_that_no_statement_has_is_answered_with_the_nearest(queries: Queries, conn: Connection) -> None:
    with pytest.raises(InvalidInput, match="has no statement note in") as caught:
        await queries.rows(conn, "note")

    assert caught.value.hint == "Did you mean notes?"
