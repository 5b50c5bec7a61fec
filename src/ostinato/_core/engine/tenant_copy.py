"""Copies one tenant out of an installation into a file, and from the file into another installation.

    counts = await dump(conn, "acme", file, schemas)       # one consistent snapshot
    counts = await load(other, file, schemas)              # one transaction: all of it or nothing

Which tables: those that have a column `tenant_id`; those that only name a job; those that hang on a row of the tenant
by a foreign key; and the rows that its rows point to in tables that all tenants share (they are added only where they
are missing). Sealed secrets stay sealed: the other installation needs the same keys (`OSTINATO_SECRET_KEY`).

What may go wrong, and what then:

- Jobs are held by workers at that moment. Their places are written as ready: they run again where they are loaded. Who
  moves a tenant stops its work first, and asks for an error instead (`refuse_held`).
- Events were dispatched to one subscription and not to another. The dump is refused; the relay needs a moment.
- Events that no subscription has had are dispatched where they are loaded, in their order, and those that all have had
  are not: their positions are moved below every subscription there.
- The other installation draws ids that the tenant has already. Its sequences are moved past them. If it has drawn one
  of them for somebody else, nothing is loaded: installations that exchange tenants must draw from different numbers.
- The file passed through other hands. What it names must be the tenant's own: no row of another tenant, and no job, or
  row behind a foreign key, that is another's. Keys of an installation's operators open this one to nobody: left out.

`tenant_file.py` has the format of the file, `tenant_tables.py` knows the tables.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg import IsolationLevel, sql

from ostinato._core.base.errors import Conflict, Forbidden, InvalidInput, NotFound
from ostinato._core.db.call import Connection
from ostinato._core.engine.tenant_file import FORMAT, Reader, Writer, reading
from ostinato._core.engine.tenant_tables import (
    ENGINE_SCHEMA,
    Table,
    all_schemas,
    list_of,
    made,
    name_of,
    rows_of,
    tables_of,
    text,
)

# Tables of an installation's own with what it keys hashes with.
SECRETS = ("subject_secret", "secret")
POSITIONS = {
    "ostinato_data.event_log": ("position",),
    "ostinato_data.delivery": ("position",),
    "ostinato_data.subscription": ("position", "low"),
    "ostinato_data.webhook_endpoint": ("from_position",),
}
PENDING = "ostinato_data.event_unsequenced"
KEYS = "ostinato_data.api_key"
AUDIT = "ostinato_data.audit_entry"


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied."""

    tenant_id: str
    rows: dict[str, int]
    """Rows by table; tables without a row are left out."""
    held: int = 0
    """Jobs that workers held, and that will run again."""

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.rows.values())


async def dump(
    conn: Connection, tenant_id: str, path: Path, schemas: Sequence[str], *, refuse_held: bool = False
) -> Copied:
    """Write everything of a tenant into a file, as it was at one moment; `conn` sees every row.

    `schemas` are those of the applications. The file gets its name last.
    """
    async with _snapshot(conn):
        position, held, halfway = await _one(conn, "standing", tenant=tenant_id)
        if halfway:
            raise Conflict(
                f"events of {tenant_id} were dispatched to some subscriptions and not yet to others",
                hint="Try again in a moment; a subscription that is paused must go on first: ostinato events list",
            )
        if held and refuse_held:
            raise Conflict(
                f"workers hold {held} jobs of {tenant_id}", hint="Wait until they have ended, and try again.", held=held
            )
        header = {
            "format": FORMAT,
            "tenant": tenant_id,
            "position": position,
            "versions": await _versions(conn),
            "secrets": await fingerprints(conn, schemas),
        }
        with Writer(path) as writer:
            writer.line(header)
            for table in await tables_of(conn, schemas):
                await _dump_table(conn, table, tenant_id, writer)
            if not writer.rows:
                raise NotFound(
                    f"there is nothing of the tenant {tenant_id}", hint="`ostinato keys list` shows tenants."
                )
            writer.finish()
    return Copied(tenant_id, writer.rows, held)


async def load(conn: Connection, path: Path, schemas: Sequence[str], move: UUID | None = None) -> Copied:
    """Load a tenant from a file, in one transaction; `conn` is an administrator's.

    It is refused where the tenant has a row already, so it can be repeated: it was loaded, or it was not. `move` is the
    move between cells that it is a part of, if it is: the same transaction says that the tenant is here.
    """
    with reading(path) as reader:
        tenant_id = await _check_header(conn, reader.header, schemas)
        try:
            async with conn.transaction():
                copied = await _load_all(conn, reader, tenant_id, schemas)
                if move is not None:
                    await conn.execute(text("arrive"), {"tenant": tenant_id, "move": move})
                return copied
        except psycopg.errors.UniqueViolation as error:
            said = error.diag
            raise Conflict(
                f"{said.schema_name}.{said.table_name} has a row with the same key ({said.constraint_name})",
                hint="Nothing was loaded. The two installations have drawn the same ids: see docs/backup.md.",
            ) from error
        except (psycopg.DataError, psycopg.IntegrityError, KeyError, TypeError) as error:
            said_of_it = error.diag.message_primary if isinstance(error, psycopg.Error) else "a name in it is unknown"
            raise InvalidInput(f"the file is damaged: {said_of_it}", hint="Dump it again.") from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise Forbidden(
                f"this role may not load a tenant: {error.diag.message_primary}",
                hint="As a superuser: grant set on parameter session_replication_role to the role; or name a"
                " superuser in OSTINATO_BACKUP_URL.",
            ) from error


async def remove(conn: Connection, tenant_id: str, schemas: Sequence[str]) -> int:
    """Delete everything of a tenant that was moved elsewhere, in one transaction; return how many rows that were.

    What all tenants share stays.
    """
    tenant = sql.Literal(tenant_id)
    count = 0
    async with conn.transaction():
        await conn.execute(text("as_written"))
        tables = [table for table in await tables_of(conn, schemas) if not table.shared]
        # First what is found by way of its rows elsewhere.
        for table in sorted(tables, key=lambda each: "tenant_id" in each.columns):
            name = name_of(table.full)
            if "tenant_id" in table.columns:
                query = made("remove_rows", table=name, tenant=tenant)
            elif table.link is not None:
                other, others, ours = table.link
                parts = {"other": name_of(other), "others": list_of(others, "o"), "ours": list_of(ours, "t")}
                query = made("remove_linked", table=name, tenant=tenant, **parts)
            else:
                query = made("remove_of_jobs", table=name, tenant=tenant)
            count += (await conn.execute(query)).rowcount
        session = name_of(f"{ENGINE_SCHEMA}.session")
        await conn.execute(made("remove_rows", table=session, tenant=tenant))
    return count


async def table_with_rows(conn: Connection, tenant_id: str, tables: Iterable[Table]) -> str | None:
    """Return a table that has rows of a tenant; None: there is nothing of it, but perhaps in the audit."""
    for table in tables:
        if "tenant_id" in table.columns and not table.shared and table.full not in (PENDING, AUDIT):
            query = made("has_rows", table=name_of(table.full), tenant=sql.Literal(tenant_id))
            if (await (await conn.execute(query)).fetchone()) == (True,):
                return table.full
    return None


async def _load_all(conn: Connection, reader: Reader, tenant_id: str, schemas: Sequence[str]) -> Copied:
    await conn.execute(text("alone"))
    await conn.execute(text("as_written"))
    known = {table.full: table for table in await tables_of(conn, schemas)}
    if (full := await table_with_rows(conn, tenant_id, known.values())) is not None:
        raise Conflict(
            f"{tenant_id} has rows in {full} already: nothing is loaded over them",
            hint="If it was loaded before, all is well. Else load it where the tenant is not.",
            table=full,
        )
    floor = (await _one(conn, "floor"))[0]
    rows: dict[str, int] = {}
    stages: dict[str, str] = {}
    for count, described in enumerate(reader.tables()):
        table = known[described["table"]]
        columns = tuple(described["columns"])
        stage = stages[table.full] = f"tenant_stage_{count}"
        await _fill(conn, reader, table, stage, columns)
        for column in POSITIONS.get(table.full, ()):
            by = sql.Literal(floor - reader.header["position"])
            await conn.execute(made("shift", stage=sql.Identifier(stage), column=sql.Identifier(column), by=by))
        rows[table.full] = await _take(conn, table, stage, columns, tenant_id)
    reader.check()
    await _check_own(conn, known, stages, tenant_id, await rows_of(conn, "links", schemas))
    await conn.execute(text("pass_ids"), {"tenant": tenant_id})
    for schema, name, column in await (
        await conn.execute(text("identities"), {"schemas": all_schemas(schemas)})
    ).fetchall():
        full = f"{schema}.{name}"
        names = {"name": sql.Literal(full), "text": sql.Literal(column), "column": sql.Identifier(column)}
        await conn.execute(made("pass_identity", table=name_of(full), **names))
    return Copied(tenant_id, {name: count for name, count in rows.items() if count})


async def _fill(conn: Connection, reader: Reader, table: Table, stage: str, columns: tuple[str, ...]) -> None:
    name = sql.Identifier(stage)
    await conn.execute(made("stage", stage=name, table=name_of(table.full), columns=list_of(columns)))
    await conn.execute(made("stage_order", stage=name))
    async with conn.cursor() as cursor, cursor.copy(made("fill", stage=name, columns=list_of(columns))) as copy:
        for line in reader.rows():
            await copy.write(line)


async def _check_own(
    conn: Connection, known: dict[str, Table], stages: dict[str, str], tenant_id: str, links: list[dict[str, Any]]
) -> None:
    """Refuse rows that name a job, or a row behind a foreign key, that the tenant has not: no key is checked here."""
    asked: list[tuple[str, sql.Composed]] = []
    for name, stage in stages.items():
        if "job_id" in known[name].columns:
            strict = known[name].block in ("copy_of_jobs", "copy_ready") or name == "ostinato_data.scheduled"
            whose = {"tenant": sql.Literal(tenant_id), "strict": sql.Literal(strict)}
            asked.append((name, made("others_jobs", stage=sql.Identifier(stage), **whose)))
    for link in links:
        if link["child"] in stages and link["parent"] != KEYS:
            parent = known.get(link["parent"])
            owned = parent is not None and not parent.shared and "tenant_id" in parent.columns
            parts = {
                "stage": sql.Identifier(stages[link["child"]]),
                "other": name_of(link["parent"]),
                "ours": list_of(link["child_columns"], "t"),
                "others": list_of(link["parent_columns"], "o"),
                "whose": sql.Identifier("o", "tenant_id") if owned else sql.Literal(tenant_id),
                "tenant": sql.Literal(tenant_id),
            }
            asked.append((link["child"], made("astray", **parts)))
    for name, query in asked:
        if (await (await conn.execute(query)).fetchone()) == (True,):
            raise InvalidInput(
                f"rows in {name} name what is not of {tenant_id}",
                hint="Load only a file as `ostinato tenants dump` wrote it: dump it again.",
                table=name,
            )


async def _take(conn: Connection, table: Table, stage: str, columns: tuple[str, ...], tenant_id: str) -> int:
    name = sql.Identifier(stage)
    if "tenant_id" in table.columns:
        query = made("strangers", stage=name, tenant=sql.Literal(tenant_id))
        if (await (await conn.execute(query)).fetchone()) != (0,):
            raise InvalidInput(f"the file has rows of another tenant in {table.full}", hint="Dump it again.")
    if table.full == KEYS:
        await conn.execute(made("operators", stage=name))
    if table.full == PENDING:
        return (await conn.execute(made("take_pending", stage=name))).rowcount
    block = "take_shared" if table.shared else "take"
    return (await conn.execute(made(block, stage=name, table=name_of(table.full), columns=list_of(columns)))).rowcount


async def _dump_table(conn: Connection, table: Table, tenant_id: str, writer: Writer) -> None:
    parts: dict[str, sql.Composable] = {"columns": list_of(table.columns), "tenant": sql.Literal(tenant_id)}
    if table.block in ("copy_rows", "copy_of_jobs", "copy_linked"):
        parts["table"] = name_of(table.full)
        parts["columns"] = list_of(table.columns, "t")
    if table.link is not None:
        other, others, ours = table.link
        parts |= {"other": name_of(other), "others": list_of(others, "o"), "ours": list_of(ours, "t")}
    writer.line({"table": table.full, "columns": table.columns})
    count = 0
    async with conn.cursor() as cursor, cursor.copy(made(table.block, **parts)) as copy:
        async for data in copy:
            count += bytes(data).count(b"\n")
            writer.write(bytes(data))
    writer.end_table(table.full, count)


async def _check_header(conn: Connection, header: dict[str, Any], schemas: Sequence[str]) -> str:
    here: dict[str, dict[str, Any]] = {"versions": await _versions(conn), "secrets": await fingerprints(conn, schemas)}
    if header.get("versions") != here["versions"]:
        raise Conflict(
            "the file was written with another version of the schema",
            hint="Bring both installations to the same release (`ostinato db migrate`), and dump again.",
            there=header.get("versions"),
            here=here["versions"],
        )
    if header.get("secrets") != here["secrets"]:
        raise Conflict(
            "this installation hashes subjects or addresses with another secret: erasure would not find what is loaded",
            hint="Installations that exchange tenants share it, from before the first tenant: pg_dump --data-only"
            f" {' '.join(f'-t {name}' for name in here['secrets'])}",
        )
    return str(header.get("tenant") or "")


async def _versions(conn: Connection) -> dict[str, int]:
    return dict(await (await conn.execute(text("versions"))).fetchall())


async def fingerprints(conn: Connection, schemas: Sequence[str]) -> dict[str, str]:
    found = {}
    for row in await rows_of(conn, "tables", schemas):
        if row["name"] in SECRETS and "tenant_id" not in row["columns"]:
            full = f"{row['schema']}.{row['name']}"
            print_of = await (await conn.execute(made("fingerprint", table=name_of(full)))).fetchone()
            found[full] = print_of[0] if print_of else ""
    return found


@asynccontextmanager
async def _snapshot(conn: Connection) -> AsyncIterator[None]:
    """Open one consistent view of everything, for the length of the block."""
    await conn.set_isolation_level(IsolationLevel.REPEATABLE_READ)
    await conn.set_read_only(True)
    try:
        async with conn.transaction():
            yield
    finally:
        await conn.set_isolation_level(None)
        await conn.set_read_only(None)


async def _one(conn: Connection, block: str, **values: object) -> tuple[Any, ...]:
    row = await (await conn.execute(text(block), values or None)).fetchone()
    assert row is not None  # noqa: S101 - one row always
    return tuple(row)
