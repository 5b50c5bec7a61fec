"""Makes a database a cell: ids of its own, so that tenants can move, and the secret that all cells hash with.

Both may be repeated. Ids that were drawn before stay; the secret is taken over only by a cell that has no job yet.
"""

from collections.abc import Sequence

from psycopg import sql

from ostinato._core.base.cellmap import STEP
from ostinato._core.base.errors import Conflict, SettingsError
from ostinato._core.db.call import Connection
from ostinato._core.engine import cells, tenant_copy, tenant_tables


async def check_number(conn: Connection, name: str, number: int) -> None:
    """Refuse a database that is another cell than the map says: its tenants would be looked for elsewhere."""
    found = await cells.number(conn)
    if found not in (None, number):
        raise SettingsError(
            f"the database of the cell {name} has the number {found}, and the map says {number}",
            hint="The addresses of two cells are mixed up in cells.toml, or one stands there twice.",
            cell=name,
            number=number,
        )


async def number_ids(conn: Connection, number: int, schemas: Sequence[str]) -> int:
    """Let every sequence draw numbers whose remainder is the cell's, above all before; return how many were changed."""
    made = tenant_tables.made
    rows = await (
        await conn.execute(tenant_tables.text("sequences"), {"schemas": tenant_tables.all_schemas(schemas)})
    ).fetchall()
    others = {last % STEP for _, _, step, last, _ in rows if step == STEP} - {number}
    if others:
        raise Conflict(
            f"this database is the cell with the number {others.pop()}, and was given {number}",
            hint="Its address stands at another cell in cells.toml, or at two. A number is never changed.",
            number=number,
        )
    changed = 0
    for schema, name, step, last, least in rows:
        if step == STEP:
            continue
        first = (max(last, least, 0) // STEP + 1) * STEP + number
        sequence = sql.Identifier(schema, name)
        await conn.execute(made("step", sequence=sequence, step=sql.Literal(STEP), first=sql.Literal(first)))
        changed += 1
    return changed


async def share_secrets(home: Connection, conn: Connection, schemas: Sequence[str]) -> bool:
    """Take over what the home keys its hashes with; False: the cell has it already."""
    await home.execute(tenant_tables.text("make_secret"))  # it is drawn when it is first used, which may be later
    theirs, ours = await tenant_copy.fingerprints(home, schemas), await tenant_copy.fingerprints(conn, schemas)
    if theirs == ours:
        return False
    if (await (await conn.execute(tenant_tables.text("is_used"))).fetchone()) == (True,):
        raise Conflict(
            "this cell hashes subjects or addresses with a secret of its own, and has jobs already",
            hint="Tenants cannot move into it. Make a cell of an empty database.",
        )
    made = tenant_tables.made
    async with conn.transaction():
        for full in theirs:
            table = sql.Identifier(*full.split("."))
            await conn.execute(made("clear_secret", table=table))
            async with home.cursor() as reading, reading.copy(made("read_secret", table=table)) as source:
                lines = [bytes(line) async for line in source]
            async with conn.cursor() as writing, writing.copy(made("write_secret", table=table)) as to:
                for line in lines:
                    await to.write(line)
    return True
