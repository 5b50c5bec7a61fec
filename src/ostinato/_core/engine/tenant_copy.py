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

`tenant_file.py` has the format of the file.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection, IsolationLevel, sql
from psycopg.rows import dict_row

from ostinato._core.base.errors import Conflict, Forbidden, InvalidInput, NotFound
from ostinato._core.db.sqlfile import statement
from ostinato._core.engine.tenant_file import FORMAT, Reader, Writer, reading

Connection = AsyncConnection[Any]

ENGINE_SCHEMA = "ostinato_data"

# Not copied: what a worker or a person's browser holds, and what is drawn anew.
LEFT = {"claim", "death", "session", "job_watch", "job_wake", "transition_pass"}
# Declared by the applications of each installation; a row of the tenant is added only where it is missing.
DECLARED = {"alert", "subscription"}
# Tables of an installation's own with what it keys hashes with.
SECRETS = ("subject_secret", "secret")
SPECIAL = {"ready": "copy_ready", "event_log": "copy_event_log", "event_unsequenced": "copy_pending"}
POSITIONS = {
    "ostinato_data.event_log": ("position",),
    "ostinato_data.delivery": ("position",),
    "ostinato_data.subscription": ("position", "low"),
    "ostinato_data.webhook_endpoint": ("from_position",),
}
PENDING = "ostinato_data.event_unsequenced"


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
            "secrets": await _fingerprints(conn, schemas),
        }
        with Writer(path) as writer:
            writer.line(header)
            for table in await _tables(conn, schemas):
                await _dump_table(conn, table, tenant_id, writer)
            if not writer.rows:
                raise NotFound(
                    f"there is nothing of the tenant {tenant_id}", hint="`ostinato keys list` shows tenants."
                )
            writer.finish()
    return Copied(tenant_id, writer.rows, held)


async def load(conn: Connection, path: Path, schemas: Sequence[str]) -> Copied:
    """Load a tenant from a file, in one transaction; `conn` is an administrator's.

    It is refused where the tenant has a row already, so it can be repeated: it was loaded, or it was not.
    """
    with reading(path) as reader:
        tenant_id = await _check_header(conn, reader.header, schemas)
        try:
            async with conn.transaction():
                return await _load_all(conn, reader, tenant_id, schemas)
        except psycopg.errors.UniqueViolation as error:
            said = error.diag
            raise Conflict(
                f"{said.schema_name}.{said.table_name} has a row with the same key ({said.constraint_name})",
                hint="Nothing was loaded. The two installations have drawn the same ids: see docs/backup.md.",
            ) from error
        except psycopg.DataError as error:
            raise InvalidInput(f"the file is damaged: {error.diag.message_primary}", hint="Dump it again.") from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise Forbidden(
                f"this role may not load a tenant: {error.diag.message_primary}",
                hint="As a superuser: grant set on parameter session_replication_role to the role; or name a"
                " superuser in OSTINATO_BACKUP_URL.",
            ) from error


async def _load_all(conn: Connection, reader: Reader, tenant_id: str, schemas: Sequence[str]) -> Copied:
    await conn.execute(_text("alone"))
    await conn.execute(_text("as_written"))
    known = {table.full: table for table in await _tables(conn, schemas)}
    for table in known.values():
        if (
            "tenant_id" in table.columns
            and not table.shared
            and table.full not in (PENDING, "ostinato_data.audit_entry")
        ):
            query = _made("has_rows", table=_name(table.full), tenant=sql.Literal(tenant_id))
            if (await (await conn.execute(query)).fetchone()) == (True,):
                raise Conflict(
                    f"{tenant_id} has rows in {table.full} already: nothing is loaded over them",
                    hint="If it was loaded before, all is well. Else load it where the tenant is not.",
                    table=table.full,
                )
    floor = (await _one(conn, "floor"))[0]
    rows: dict[str, int] = {}
    for count, described in enumerate(reader.tables()):
        table = known[described["table"]]
        columns = tuple(described["columns"])
        stage = f"tenant_stage_{count}"
        await _fill(conn, reader, table, stage, columns)
        for column in POSITIONS.get(table.full, ()):
            by = sql.Literal(floor - reader.header["position"])
            await conn.execute(_made("shift", stage=sql.Identifier(stage), column=sql.Identifier(column), by=by))
        rows[table.full] = await _take(conn, table, stage, columns, tenant_id)
    reader.check()
    await conn.execute(_text("pass_ids"), {"tenant": tenant_id})
    for schema, name, column in await (await conn.execute(_text("identities"), {"schemas": _all(schemas)})).fetchall():
        full = f"{schema}.{name}"
        names = {"name": sql.Literal(full), "text": sql.Literal(column), "column": sql.Identifier(column)}
        await conn.execute(_made("pass_identity", table=_name(full), **names))
    return Copied(tenant_id, {name: count for name, count in rows.items() if count})


async def _fill(conn: Connection, reader: Reader, table: Table, stage: str, columns: tuple[str, ...]) -> None:
    name = sql.Identifier(stage)
    await conn.execute(_made("stage", stage=name, table=_name(table.full), columns=_list(columns)))
    await conn.execute(_made("stage_order", stage=name))
    async with conn.cursor() as cursor, cursor.copy(_made("fill", stage=name, columns=_list(columns))) as copy:
        for line in reader.rows():
            await copy.write(line)


async def _take(conn: Connection, table: Table, stage: str, columns: tuple[str, ...], tenant_id: str) -> int:
    name = sql.Identifier(stage)
    if "tenant_id" in columns:
        query = _made("strangers", stage=name, tenant=sql.Literal(tenant_id))
        if (await (await conn.execute(query)).fetchone()) != (0,):
            raise InvalidInput(f"the file has rows of another tenant in {table.full}", hint="Dump it again.")
    if table.full == PENDING:
        return (await conn.execute(_made("take_pending", stage=name))).rowcount
    block = "take_shared" if table.shared else "take"
    return (await conn.execute(_made(block, stage=name, table=_name(table.full), columns=_list(columns)))).rowcount


async def _tables(conn: Connection, schemas: Sequence[str]) -> list[Table]:
    """The tables that have something of tenants, and how it is found."""
    found, links = await _rows(conn, "tables", schemas), await _rows(conn, "links", schemas)
    of_tenant = {f"{row['schema']}.{row['name']}" for row in found if "tenant_id" in row["columns"]}
    made = [_classified(row, links, of_tenant) for row in found if not _left(row)]
    return [table for table in made if table is not None]


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


async def _dump_table(conn: Connection, table: Table, tenant_id: str, writer: Writer) -> None:
    parts: dict[str, sql.Composable] = {"columns": _list(table.columns), "tenant": sql.Literal(tenant_id)}
    if table.block in ("copy_rows", "copy_of_jobs", "copy_linked"):
        parts["table"] = _name(table.full)
        parts["columns"] = _list(table.columns, "t")
    if table.link is not None:
        other, others, ours = table.link
        parts |= {"other": _name(other), "others": _list(others, "o"), "ours": _list(ours, "t")}
    writer.line({"table": table.full, "columns": table.columns})
    count = 0
    async with conn.cursor() as cursor, cursor.copy(_made(table.block, **parts)) as copy:
        async for data in copy:
            count += bytes(data).count(b"\n")
            writer.write(bytes(data))
    writer.end_table(table.full, count)


async def _check_header(conn: Connection, header: dict[str, Any], schemas: Sequence[str]) -> str:
    here = {"versions": await _versions(conn), "secrets": await _fingerprints(conn, schemas)}
    if header["versions"] != here["versions"]:
        raise Conflict(
            "the file was written with another version of the schema",
            hint="Bring both installations to the same release (`ostinato db migrate`), and dump again.",
            there=header["versions"],
            here=here["versions"],
        )
    if header["secrets"] != here["secrets"]:
        raise Conflict(
            "this installation hashes subjects or addresses with another secret: erasure would not find what is loaded",
            hint="Installations that exchange tenants share it, from before the first tenant: pg_dump --data-only"
            f" {' '.join(f'-t {name}' for name in header['secrets'])}",
        )
    return str(header["tenant"])


async def _versions(conn: Connection) -> dict[str, int]:
    return dict(await (await conn.execute(_text("versions"))).fetchall())


async def _fingerprints(conn: Connection, schemas: Sequence[str]) -> dict[str, str]:
    found = {}
    for row in await _rows(conn, "tables", schemas):
        if row["name"] in SECRETS and "tenant_id" not in row["columns"]:
            full = f"{row['schema']}.{row['name']}"
            print_of = await (await conn.execute(_made("fingerprint", table=_name(full)))).fetchone()
            found[full] = print_of[0] if print_of else ""
    return found


@asynccontextmanager
async def _snapshot(conn: Connection) -> AsyncIterator[None]:
    """One consistent view of everything, for the length of the block."""
    await conn.set_isolation_level(IsolationLevel.REPEATABLE_READ)
    await conn.set_read_only(True)
    try:
        async with conn.transaction():
            yield
    finally:
        await conn.set_isolation_level(None)
        await conn.set_read_only(None)


async def _rows(conn: Connection, block: str, schemas: Sequence[str]) -> list[dict[str, Any]]:
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_text(block), {"schemas": _all(schemas)})
        return await cursor.fetchall()


async def _one(conn: Connection, block: str, **values: object) -> tuple[Any, ...]:
    row = await (await conn.execute(_text(block), values or None)).fetchone()
    assert row is not None  # noqa: S101 - one row always
    return tuple(row)


def _all(schemas: Sequence[str]) -> list[str]:
    return [ENGINE_SCHEMA, *(name for name in schemas if not name.startswith("ostinato"))]


def _name(full: str) -> sql.Identifier:
    return sql.Identifier(*full.split("."))


def _list(columns: Sequence[str], of: str | None = None) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(*([of] if of else []), column) for column in columns)


def _made(block: str, **parts: sql.Composable) -> sql.Composed:
    return sql.SQL(_text(block)).format(**parts)


def _text(block: str) -> Any:  # noqa: ANN401 - a literal of the package's own file
    return statement("ostinato._core.engine", "sql/tenant_copy.sql", block)
