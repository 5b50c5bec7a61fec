"""The record of what was applied to a database, and whether it fits this release."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import class_row

from ostinato._core.base.errors import MigrationError
from ostinato._core.db.bundle import Component, Migration
from ostinato._core.db.sqlfile import statement
from ostinato._core.db.sqlstate import translated

CODE = 0  # the version under which the code of a component is recorded


@dataclass(frozen=True, slots=True)
class Applied:
    """One row of the record: a migration of the tables, or the code of a component."""

    component: str
    version: int
    name: str
    checksum: str
    applied_at: datetime
    objects: list[str]


async def is_there(conn: AsyncConnection[Any]) -> bool:
    """Return whether the database has a record of migrations at all."""
    with translated():
        row = await (await conn.execute(sql_of("is_bootstrapped"))).fetchone()
    return bool(row and row[0])


async def read(conn: AsyncConnection[Any], component: str) -> dict[int, Applied]:
    """Return the applied migrations of a component, by version; empty when there is no record yet."""
    if not await is_there(conn):
        return {}
    with translated():
        async with conn.cursor(row_factory=class_row(Applied)) as cursor:
            rows = await (await cursor.execute(sql_of("applied"))).fetchall()
    return {row.version: row for row in rows if row.component == component}


async def note(conn: AsyncConnection[Any], component: Component, step: Migration) -> None:
    """Record that a migration of the tables was applied."""
    values = {"version": step.version, "name": step.name, "checksum": step.checksum}
    await conn.execute(sql_of("record"), {"component": component.name, "objects": [], **values})


async def note_code(conn: AsyncConnection[Any], component: Component, objects: list[str]) -> None:
    """Record the installed code of a component, and the objects that it consists of."""
    values = {"version": CODE, "name": "code", "checksum": component.checksum}
    await conn.execute(sql_of("record"), {"component": component.name, "objects": objects, **values})


def check(component: Component, record: dict[int, Applied]) -> None:
    """Raise an error when the applied migrations are not those of this release."""
    steps = {step.version: step for step in component.tables}
    for version, was in record.items():
        step = steps.get(version)
        if version == CODE:
            continue
        if step is None:
            raise MigrationError(
                f"The database has migration {version:04}_{was.name} of {component.name}, which"
                " this release does not know: the database is newer.",
                hint="Upgrade Ostinato on this machine; a schema never goes back.",
                component=component.name,
                version=version,
            )
        if step.checksum != was.checksum:
            raise MigrationError(
                f"{step.file} of {component.name} was changed after it had been applied: the"
                f" database has {was.checksum}, the file {step.checksum}.",
                hint="Restore the file, and put the change into a new migration.",
                file=step.file,
                applied_checksum=was.checksum,
                file_checksum=step.checksum,
            )
    newest = max(record, default=CODE)
    for version, step in steps.items():
        if version < newest and version not in record:
            raise MigrationError(
                f"{step.file} of {component.name} comes before {newest:04}, which is applied.",
                hint="Give it the next free number: migrations are applied in order.",
                file=step.file,
                newest_applied=newest,
            )


async def run(conn: AsyncConnection[Any], text: str, file: str) -> None:
    """Run a script; an error names the file and the line."""
    if not text.strip():
        return
    try:
        await conn.execute(text)
    except psycopg.Error as error:
        raise failed(error, text, file) from error


def failed(error: psycopg.Error, text: str, file: str) -> MigrationError:
    """Return the error for a script that PostgreSQL refuses."""
    position = error.diag.statement_position
    line = text.count("\n", 0, int(position)) + 1 if position and text else None
    where = f"{file}, line {line}" if line else file
    said = error.diag.message_primary or str(error)
    detail = f" ({error.diag.message_detail})" if error.diag.message_detail else ""
    return MigrationError(f"{where}: {said}{detail}", file=file, line=line, sqlstate=error.sqlstate)


def sql_of(name: str) -> str:
    """Return a statement of the migrator."""
    return statement("ostinato._core.db", "sql/migrate.sql", name)
