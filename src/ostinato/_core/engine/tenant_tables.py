"""Knows which tables have something of a tenant, and how its rows are found in them.

`tenant_copy.py` copies and removes them; `sql/tenant_copy.sql` has the statements of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql
from psycopg.rows import dict_row

from ostinato._core.db.call import Connection
from ostinato._core.db.sqlfile import statement

ENGINE_SCHEMA = "ostinato_data"

# Not copied: what a worker or a person's browser holds, and what is drawn anew.
LEFT = {"tenant_place", "claim", "death", "session", "job_watch", "job_wake", "transition_pass"}
# Declared by the applications of each installation; a row of the tenant is added only where it is missing.
DECLARED = {"alert", "subscription"}
SPECIAL = {"ready": "copy_ready", "event_log": "copy_event_log", "event_unsequenced": "copy_pending"}


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is copied, and how its rows are found."""

    schema: str
    name: str
    columns: tuple[str, ...]
    block: str
    shared: bool = False
    link: tuple[str, tuple[str, ...], tuple[str, ...]] | None = None
    """Another table, its columns, and ours, that are equal."""

    @property
    def full(self) -> str:
        """Its name with the schema."""
        return f"{self.schema}.{self.name}"


async def tables_of(conn: Connection, schemas: Sequence[str]) -> list[Table]:
    """Return the tables that have something of tenants, and how it is found."""
    found, links = await rows_of(conn, "tables", schemas), await rows_of(conn, "links", schemas)
    of_tenant = {f"{row['schema']}.{row['name']}" for row in found if "tenant_id" in row["columns"]}
    classified = [_classified(row, links, of_tenant) for row in found if not _left(row)]
    return [table for table in classified if table is not None]


def _left(row: dict[str, Any]) -> bool:
    return bool(row["fleeting"]) or (row["schema"] == ENGINE_SCHEMA and row["name"] in LEFT)


def _classified(row: dict[str, Any], links: list[dict[str, Any]], of_tenant: set[str]) -> Table | None:
    schema, name, columns = row["schema"], row["name"], tuple(row["columns"])
    full, engine = f"{schema}.{name}", schema == ENGINE_SCHEMA
    if engine and name in SPECIAL:
        kept = tuple(column for column in columns if (name, column) != ("event_unsequenced", "seq"))
        return Table(schema, name, kept, SPECIAL[name])
    if full in of_tenant:
        return Table(schema, name, columns, "copy_rows", shared=engine and name in DECLARED)
    if "job_id" in columns:
        return Table(schema, name, columns, "copy_of_jobs", shared=not engine)
    for link in links:
        ours, others = tuple(link["child_columns"]), tuple(link["parent_columns"])
        if link["child"] == full and link["parent"] in of_tenant:
            return Table(schema, name, columns, "copy_linked", link=(link["parent"], others, ours))
        if link["parent"] == full and link["child"] in of_tenant:
            return Table(schema, name, columns, "copy_linked", shared=True, link=(link["child"], ours, others))
    return None


async def rows_of(conn: Connection, block: str, schemas: Sequence[str]) -> list[dict[str, Any]]:
    """Return what a named statement finds in some schemas."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(text(block), {"schemas": all_schemas(schemas)})
        return await cursor.fetchall()


def all_schemas(schemas: Sequence[str]) -> list[str]:
    """Return the schema of the engine and those of applications."""
    return [ENGINE_SCHEMA, *(name for name in schemas if not name.startswith("ostinato"))]


def name_of(full: str) -> sql.Identifier:
    """Return the name of a table, for a statement."""
    return sql.Identifier(*full.split("."))


def list_of(columns: Sequence[str], of: str | None = None) -> sql.Composed:
    """Return names of columns, of a table if one is named, for a statement."""
    return sql.SQL(", ").join(sql.Identifier(*([of] if of else []), column) for column in columns)


def made(block: str, **parts: sql.Composable) -> sql.Composed:
    """Return a named statement with names and literals put in."""
    return sql.SQL(text(block)).format(**parts)


def text(block: str) -> Any:  # noqa: ANN401 - a literal of the package's own file
    """Return a named statement."""
    return statement("ostinato._core.engine", "sql/tenant_copy.sql", block)
