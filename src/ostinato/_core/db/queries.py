"""Runs the named statements of a package, which stand in one of its .sql files.

    QUERIES = Queries("acme.billing", json={"lines"})             # sql/queries.sql of acme.billing

    await QUERIES.run(conn, "pay", invoice=7)                     how many rows it wrote
    await QUERIES.rows(conn, "unpaid", customer="acme")           [{"id": 7, …}, …]
    await QUERIES.rows_as(Invoice, conn, "unpaid", …)             [Invoice(id=7, …), …]
    await QUERIES.one(conn, "invoice", invoice=7)                 {"id": 7, …}, or NotFound
    await QUERIES.first(conn, "invoice", invoice=7)               {"id": 7, …}, or None
    await QUERIES.value(conn, "total", customer="acme")           Decimal("12.00"), or None

Parameters are given by name and always bound, never written into the text. What the driver raises
becomes an error of ours (`sqlstate.translate`), with the driver's own as its cause.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, LiteralString, TypeVar

from psycopg import AsyncConnection
from psycopg.rows import BaseRowFactory, class_row, dict_row, tuple_row
from psycopg.types.json import Jsonb

from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.db.sqlfile import blocks
from ostinato._core.db.sqlstate import translated

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Queries:
    """The named statements of one file; see `sqlfile` for how the file looks."""

    package: str
    path: str = "sql/queries.sql"
    json: Collection[str] = field(default=frozenset(), kw_only=True)
    """The names of parameters that are jsonb; any other is made with psycopg's `Jsonb`."""

    async def run(self, conn: AsyncConnection[Any], name: str, /, **values: object) -> int:
        """Run a statement and return how many rows it wrote, or gave."""
        with translated():
            return (await conn.execute(self.text(name), self._bound(values))).rowcount

    async def rows(self, conn: AsyncConnection[Any], name: str, /, **values: object) -> list[dict[str, Any]]:
        """Return all rows, each by the names of its columns."""
        return await self._fetched(conn, dict_row, name, values)

    async def rows_as(self, kind: type[T], conn: AsyncConnection[Any], name: str, /, **values: object) -> list[T]:
        """Return all rows, each as a value of a type that has a field for every column."""
        return await self._fetched(conn, class_row(kind), name, values)

    async def one(self, conn: AsyncConnection[Any], name: str, /, **values: object) -> dict[str, Any]:
        """Return the row of a statement that has exactly one; raise NotFound otherwise."""
        found = await self.rows(conn, name, **values)
        if len(found) != 1:
            raise NotFound(
                f"The statement {name} gave {len(found)} rows instead of one.",
                hint="Run one that may find nothing with `first`.",
                statement=name,
            )
        return found[0]

    async def first(self, conn: AsyncConnection[Any], name: str, /, **values: object) -> dict[str, Any] | None:
        """Return the first row, or None if there is none."""
        found = await self.rows(conn, name, **values)
        return found[0] if found else None

    async def value(self, conn: AsyncConnection[Any], name: str, /, **values: object) -> Any:  # noqa: ANN401 - what SQL returns is known to the caller
        """Return the first column of the first row, or None if there is no row."""
        found = await self._fetched(conn, tuple_row, name, values)
        return found[0][0] if found else None

    def text(self, name: str) -> LiteralString:
        """Return the text of a statement, for a caller with a cursor of its own."""
        known = blocks(self.package, self.path)
        if name not in known:
            near = get_close_matches(name, known, n=1)
            raise InvalidInput(
                f"{self.package} has no statement {name} in {self.path}.",
                hint=f"Did you mean {near[0]}?" if near else f"It has {', '.join(sorted(known))}.",
                statement=name,
            )
        return known[name].text

    async def _fetched(
        self, conn: AsyncConnection[Any], factory: BaseRowFactory[R], name: str, values: dict[str, object]
    ) -> list[R]:
        with translated():
            async with conn.cursor(row_factory=factory) as cursor:
                await cursor.execute(self.text(name), self._bound(values))
                return await cursor.fetchall() if cursor.description else []

    def _bound(self, values: dict[str, object]) -> dict[str, object]:
        jsonb = self.json
        return {key: Jsonb(value) if key in jsonb else value for key, value in values.items()}
