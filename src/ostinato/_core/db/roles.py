"""The four roles and the three schemas that everything else needs.

    ostinato_owner    owns the schemas and migrates them
    ostinato_worker   runs jobs of all tenants, and may act as one of them
    ostinato_tenant   enqueues and sees the rows of one tenant
    ostinato_api      is what the API logs in as: it acts as one tenant at a time, and is no worker, so
                      that `reset role` inside a tenant's transaction shows nothing of another

None of them is a superuser or bypasses row-level security: the row policies are real.
"""

import asyncio
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import AsyncConnection, sql

from ostinato._core.base.errors import InvalidInput, NotConfigured, NotFound
from ostinato._core.db.sqlfile import statement
from ostinato._core.db.sqlstate import translated

FILE = ("ostinato._core.db", "sql/roles.sql")
SCHEMAS = ("ostinato", "ostinato_internal", "ostinato_data")
WEAK = frozenset({"ostinato_tenant", "ostinato_api"})
"""What separates tenants: none of them may become a worker."""


async def ensure_roles(conn: AsyncConnection[Any]) -> None:
    """Create the roles and schemas that are missing, if the connected role may.

    When none is missing this does nothing, so any role that may migrate can call it.
    """
    if not await role_problems(conn, to_migrate=True):
        return
    try:
        await _make(conn)
    except psycopg.errors.InsufficientPrivilege as error:
        raise await _refused(conn) from error
    if await role_problems(conn, to_migrate=True):
        raise await _refused(conn)


async def _make(conn: AsyncConnection[Any]) -> None:
    for last_time in (*[False] * 9, True):
        try:
            async with conn.transaction():
                for block in ("lock", "create_roles", "create_schemas"):
                    await conn.execute(statement(*FILE, block))
        except (psycopg.errors.InternalError_, psycopg.errors.UniqueViolation):
            # Roles are shared by all databases of a server; a migrator of another one is at work.
            if last_time:
                raise
            await asyncio.sleep(random.uniform(0, 0.1))  # noqa: S311 - spreads attempts
        else:
            return


async def ensure_schemas(conn: AsyncConnection[Any], names: Sequence[str]) -> None:
    """Create the schemas of an application that are missing."""
    with translated():
        cursor = await conn.execute(statement(*FILE, "missing_schemas"), {"names": list(names)})
        missing = [name for (name,) in await cursor.fetchall()]
    for name in missing:
        made = sql.SQL(statement(*FILE, "create_schema")).format(name=sql.Identifier(name))
        try:
            await conn.execute(made)
        except psycopg.errors.InsufficientPrivilege as error:
            raise NotConfigured(
                f"The connected role may not make the schema {name}.",
                hint=f"Have an administrator run this, then migrate again:\n{made.as_string(None)}",
                schema=name,
            ) from error
        except (psycopg.errors.DuplicateSchema, psycopg.errors.UniqueViolation):
            continue  # another migrator was first


async def role_problems(conn: AsyncConnection[Any], *, to_migrate: bool = False) -> list[str]:
    """Return what is wrong with the roles and schemas, one sentence each.

    `to_migrate` also checks that the connected role can act as the owner.
    """
    with translated():
        rows = await (await conn.execute(statement(*FILE, "inspect"))).fetchall()
    problems = []
    for name, there, too_strong, fits in rows:
        if not there:
            problems.append(f"{name} is missing")
        elif too_strong:
            problems.append(f"role {name} is a superuser or bypasses row-level security")
        elif to_migrate and name == "ostinato_owner" and not fits:
            problems.append("the connected role may not act as ostinato_owner")
        elif name == "ostinato_tenant" and not fits:
            problems.append("ostinato_worker or ostinato_api may not act as ostinato_tenant")
        elif name == "ostinato_api" and not fits:
            problems.append("ostinato_api is a member of ostinato_worker, so the API sees every tenant")
        elif name in SCHEMAS and not fits:
            problems.append(f"schema {name} does not belong to ostinato_owner")
    return problems


class Login(NamedTuple):
    """The role of a connection."""

    role: str
    is_worker: bool
    """Whether it sees every tenant."""


async def login(conn: AsyncConnection[Any]) -> Login:
    """Return which role is connected."""
    with translated():
        row = await (await conn.execute(statement(*FILE, "login"))).fetchone()
    return Login(*row) if row else Login("?", is_worker=False)


async def grant_role(conn: AsyncConnection[Any], role: str) -> bool:
    """Let the programs of a role call the verbs; returns whether they could not do so before."""
    if role in WEAK:
        raise InvalidInput(
            f"{role} acts for one tenant at a time: as a worker it would see all of them",
            hint="Name the role that your own application logs in as.",
        )
    granted = sql.SQL(statement(*FILE, "grant_role")).format(role=sql.Identifier(role))
    with translated():
        if await _may_work(conn, role):
            return False
    try:
        await conn.execute(granted)
    except psycopg.errors.InsufficientPrivilege as error:
        raise NotConfigured(
            f"The connected role may not grant ostinato_worker to {role}.",
            hint=f"Have an administrator run this:\n{granted.as_string(None)}",
            role=role,
        ) from error
    with translated():
        if not await _may_work(conn, role):
            raise NotConfigured(
                f"{role} is a member of ostinato_worker now, but does not inherit its rights.",
                hint=f"Have an administrator run: alter role {sql.Identifier(role).as_string(None)} inherit;"
                " from PostgreSQL 16 on the grant has to be made again after it.",
                role=role,
            )
    return True


async def _may_work(conn: AsyncConnection[Any], role: str) -> bool:
    row = await (await conn.execute(statement(*FILE, "may_work"), {"role": role})).fetchone()
    if row is None:
        raise NotFound(
            f"there is no role {role}",
            hint=f"Create it, with a password of its own: create role {sql.Identifier(role).as_string(None)} login;",
            role=role,
        )
    return bool(row[0])


async def _refused(conn: AsyncConnection[Any]) -> NotConfigured:
    problems = await role_problems(conn, to_migrate=True)
    row = await (await conn.execute(statement(*FILE, "whoami"))).fetchone()
    user, database = (row[0], row[1]) if row else ("?", "?")
    by_hand = sql.SQL(statement(*FILE, "by_hand")).format(admin=sql.Identifier(user))
    return NotConfigured(
        f"Role {user} cannot prepare database {database}: {'; '.join(problems)}.",
        hint="Have a superuser run what is missing of this in the database, then migrate again:\n"
        + by_hand.as_string(None),
        problems=problems,
        role=user,
        database=database,
    )
