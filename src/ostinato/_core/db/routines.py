"""Replaces the functions and views of a component, inside the caller's transaction.

A function is replaced in place, so that it keeps its identity: a caller that planned its call a
moment ago still finds it. Only functions that the component no longer has are dropped, and those
whose return type or parameter names changed.
"""

from typing import Any

import psycopg
from psycopg import AsyncConnection, sql

from ostinato._core.base.errors import MigrationError
from ostinato._core.db.bundle import Component, function_name
from ostinato._core.db.record import failed, run, sql_of

FUNCTION, VIEW = "function ", "view "

# Maps an identity (name and argument types) to a mark that changes when the function is replaced.
Routines = dict[str, str]


async def replace_code(conn: AsyncConnection[Any], component: Component, old: list[str]) -> list[str]:
    """Replace the `old` objects by the component's code; returns the new objects."""
    await _drop_views(conn, [name.removeprefix(VIEW) for name in old if name.startswith(VIEW)])
    before = await _routines(conn, component)
    try:
        async with conn.transaction():
            await conn.execute(component.script())  # sent as one script: takes half the time
    except psycopg.Error:
        for text in component.statements():
            await _replace(conn, component, text, before)
    after = await _routines(conn, component)
    made = {name for name, state in after.items() if before.get(name) != state}
    for name in sorted(after.keys() - made):
        if f"{FUNCTION}{name}" in old:
            await _drop(conn, name)
    views = await _make_views(conn, component)
    await _check_bodies(conn, component)
    await run(conn, component.grants, "grants.sql")
    return [f"{FUNCTION}{name}" for name in sorted(made)] + [f"{VIEW}{name}" for name in views]


async def _replace(conn: AsyncConnection[Any], component: Component, text: str, before: Routines) -> None:
    name = function_name(text)
    try:
        async with conn.transaction():
            await conn.execute(text)
    except psycopg.errors.InvalidFunctionDefinition:
        # Its return type or parameter names changed: drop it first. An overload that was already
        # created in this transaction stays.
        for identity, state in (await _routines(conn, component)).items():
            if identity.startswith(f"{name}(") and before.get(identity) == state:
                await _drop(conn, identity)
        await run(conn, text, str(name))
    except psycopg.Error as error:
        raise failed(error, text, name or "functions") from error


async def _drop(conn: AsyncConnection[Any], identity: str) -> None:
    try:
        await conn.execute(sql.SQL(sql_of("drop_routine")).format(identity=sql.SQL(identity)))
    except psycopg.errors.DependentObjectsStillExist as error:
        raise MigrationError(
            f"The function {identity} is gone from this release or has another shape, but"
            f" something in the database still uses it: {error.diag.message_detail}",
            hint="Free the table or index from it in a migration first.",
            function=identity,
        ) from error


async def _drop_views(conn: AsyncConnection[Any], names: list[str]) -> None:
    if names:
        identities = sql.SQL(", ").join([sql.SQL(name) for name in names])
        await conn.execute(sql.SQL(sql_of("drop_views")).format(identities=identities))


async def _make_views(conn: AsyncConnection[Any], component: Component) -> list[str]:
    before = await _views(conn, component)
    await run(conn, component.views, "views.sql")
    return sorted(await _views(conn, component) - before)


async def _check_bodies(conn: AsyncConnection[Any], component: Component) -> None:
    # Create them again, with bodies checked: only now does everything exist that they call.
    await conn.execute(sql_of("check_bodies"))
    for text in component.statements():
        await run(conn, text, function_name(text) or "functions")


async def _routines(conn: AsyncConnection[Any], component: Component) -> Routines:
    rows = await conn.execute(sql_of("routines"), {"schemas": list(component.schemas)})
    return dict(await rows.fetchall())


async def _views(conn: AsyncConnection[Any], component: Component) -> set[str]:
    rows = await conn.execute(sql_of("views"), {"schemas": list(component.schemas)})
    return {row[0] for row in await rows.fetchall()}
