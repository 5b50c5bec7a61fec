"""Makes a database a cell: ids of its own, so that tenants can move, and the secret that all cells hash with.

Both may be repeated. Ids that were drawn before stay; the secret is taken over only by a cell that has no job yet.
"""

from collections.abc import Sequence

from psycopg import sql

from ostinato._core.base.cellmap import STEP
from ostinato._core.base.errors import Conflict
from ostinato._core.db.call import Connection
from ostinato._core.engine import tenant_copy, tenant_tables


async def number_ids(conn: Connection, number: int, schemas: Sequence[str]) -> int:
    """Let every sequence draw numbers whose remainder is the cell's, above all before; return how many were changed."""
    made = tenant_tables.made
    rows = await (
        await conn.execute(tenant_tables.text("sequences"), {"schemas": tenant_tables.all_schemas(schemas)})
    ).fetchall()
    changed = 0
    for schema, name, step, last, least in rows:
        if step == STEP and last % STEP == number:
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
