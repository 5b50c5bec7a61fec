"""Migrations: tables go forward only, functions are replaced, and workers keep running meanwhile.

Each migration of the tables is its own transaction and waits 300 ms at most for a lock, so a claim
that queues behind it never waits longer. It then rolls back and tries again.
The code of a component is replaced in one transaction when its checksum has changed. All of it
happens under one transaction-level advisory lock, so any number of migrators may start at once.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import psycopg
from psycopg import AsyncConnection

from ostinato._core.base.errors import ContractMismatch, MigrationError, NotConfigured
from ostinato._core.db import record
from ostinato._core.db.bundle import Component, Migration
from ostinato._core.db.call import call_one
from ostinato._core.db.pool import connect, transaction
from ostinato._core.db.record import CODE, Applied, sql_of
from ostinato._core.db.roles import ensure_roles, ensure_schemas, role_problems
from ostinato._core.db.routines import replace_code
from ostinato._core.db.script import sql
from ostinato._core.db.sqlstate import is_transient

__all__ = [
    "Component",
    "ComponentStatus",
    "Status",
    "apply",
    "check_contract",
    "contract",
    "ensure_roles",
    "migrate",
    "sql",
    "status",
]

LONGEST_STEP_SECONDS = 3600.0
WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ComponentStatus:
    """The migrations of a component: what a database has, and what is pending."""

    name: str
    applied: list[Applied]
    pending: list[str]
    """Files that `migrate` would apply."""
    trouble: str | None
    """Why `migrate` would refuse: a changed file, or a database that is newer."""
    code: Literal["current", "outdated", "missing"]


@dataclass(frozen=True, slots=True)
class Status:
    """The migrations of a database: what it has, and what is pending."""

    components: list[ComponentStatus]
    contract: tuple[int, int] | None
    """The contract that the schema speaks and the oldest that it serves; None: not migrated."""
    roles: list[str]
    """What is wrong with the roles and schemas."""

    @property
    def up_to_date(self) -> bool:
        """Whether `migrate` would change nothing."""
        return not self.roles and all(
            part.code == "current" and not part.pending and not part.trouble for part in self.components
        )


async def migrate(url: str, components: Sequence[Component], *, wait_seconds: float = WAIT_SECONDS) -> list[str]:
    """Bring the database of a URL up to date; returns what was done, in order."""
    async with await connect(url, role="migrate", pooled=True) as conn:
        return await apply(conn, components, wait_seconds=wait_seconds)


async def apply(
    conn: AsyncConnection[Any], components: Sequence[Component], *, wait_seconds: float = WAIT_SECONDS
) -> list[str]:
    """Migrate as `migrate` does, on a connection in autocommit."""
    await ensure_roles(conn)
    patiently = partial(_patiently, conn, time.monotonic() + wait_seconds)
    done: list[str] = []
    if not await record.is_there(conn):
        await patiently("the record of migrations", partial(_bootstrap, conn))
    for component in components:
        await ensure_schemas(conn, component.schemas)
        lines = await record.read(conn, component.name)
        record.check(component, lines)
        pending = _pending(component, lines)
        for step in pending:
            await patiently(step.file, partial(_step, conn, component, step, done))
        if pending or not _is_current(component, lines):
            await patiently("the functions", partial(_replace, conn, component, done))
    return done


async def status(conn: AsyncConnection[Any], components: Sequence[Component]) -> Status:
    """Return what is applied, what is pending, and whether the functions are those of this release."""
    parts = []
    for component in components:
        lines = await record.read(conn, component.name)
        trouble = None
        try:
            record.check(component, lines)
        except MigrationError as error:
            trouble = error.message
        code: Literal["current", "outdated", "missing"] = "outdated"
        if CODE not in lines:
            code = "missing"
        elif _is_current(component, lines):
            code = "current"
        steps = [lines[version] for version in sorted(lines) if version != CODE]
        pending = [step.file for step in _pending(component, lines)]
        parts.append(ComponentStatus(component.name, steps, pending, trouble, code))
    return Status(parts, await contract(conn), await role_problems(conn))


async def contract(conn: AsyncConnection[Any]) -> tuple[int, int] | None:
    """Return the contract that the schema speaks and the oldest that it serves; None: not migrated."""
    try:
        current, oldest = await call_one(conn, "contract", _read=True)
    except NotConfigured:
        return None
    return current, oldest


async def check_contract(conn: AsyncConnection[Any], mine: int) -> None:
    """Refuse to work with a schema that does not serve this code's contract."""
    found = await contract(conn)
    if found is None:
        raise ContractMismatch(
            "The database has no Ostinato schema, or the connected role may not use it.",
            hint="Run `ostinato db migrate` with an administrator's URL first.",
            mine=mine,
        )
    current, oldest = found
    if mine < oldest:
        raise ContractMismatch(
            f"This code speaks contract {mine}; the database serves {oldest} to {current}: the code is too old.",
            hint="Upgrade Ostinato on this machine.",
            mine=mine,
            current=current,
            oldest=oldest,
        )
    if mine > current:
        raise ContractMismatch(
            f"This code speaks contract {mine}; the database serves {oldest} to {current}: the database is too old.",
            hint="Run `ostinato db migrate` with this release first.",
            mine=mine,
            current=current,
            oldest=oldest,
        )


async def _bootstrap(conn: AsyncConnection[Any]) -> None:
    async with _as_owner(conn):
        await conn.execute(sql_of("bootstrap"))


async def _step(conn: AsyncConnection[Any], component: Component, step: Migration, done: list[str]) -> None:
    async with _as_owner(conn):
        lines = await record.read(conn, component.name)
        record.check(component, lines)
        if step.version in lines:
            return  # another migrator was first
        await record.run(conn, step.text, step.file)
        await record.note(conn, component, step)
    done.append(f"{component.name}: {step.file}")


async def _replace(conn: AsyncConnection[Any], component: Component, done: list[str]) -> None:
    async with _as_owner(conn):
        lines = await record.read(conn, component.name)
        record.check(component, lines)
        if _is_current(component, lines) or _pending(component, lines):
            return
        old = lines[CODE].objects if CODE in lines else []
        await record.note_code(conn, component, await replace_code(conn, component, old))
    done.append(f"{component.name}: functions and views")


@asynccontextmanager
async def _as_owner(conn: AsyncConnection[Any]) -> AsyncIterator[None]:
    async with transaction(conn, seconds=LONGEST_STEP_SECONDS):
        try:
            await conn.execute(sql_of("settle"))
        except psycopg.errors.InsufficientPrivilege as error:
            raise NotConfigured(
                f"The connected role may not act as ostinato_owner: {error.diag.message_primary}.",
                hint="grant ostinato_owner to <the role in the URL>; or connect as ostinato_owner.",
            ) from error
        yield


async def _patiently(
    conn: AsyncConnection[Any], give_up: float, what: str, work: Callable[[], Awaitable[None]]
) -> None:
    """Run `work`, and retry it while another session holds a lock that it needs."""
    while True:
        try:
            return await work()
        except Exception as error:
            cause = error.__cause__ if isinstance(error, MigrationError) else error
            if cause is None or not is_transient(cause):
                raise
            if time.monotonic() > give_up:
                raise await _blocked(conn, what) from error
        await asyncio.sleep(random.uniform(0.1, 0.5))  # noqa: S311 - lets others through


async def _blocked(conn: AsyncConnection[Any], what: str) -> MigrationError:
    row = await (await conn.execute(sql_of("in_the_way"))).fetchone()
    blame = ""
    if row:
        pid, application, user, state, seconds = row
        blame = (
            f" The oldest transaction is that of process {pid} ({user}, {application or 'unnamed'},"
            f" {state}), open for {seconds:.0f} s."
        )
    return MigrationError(
        f"{what} could not be applied: a lock that it needs was never free.{blame}",
        hint="End the transaction that holds it (select pg_terminate_backend(<process>)), or"
        " migrate at a quieter time.",
        what=what,
    )


def _pending(component: Component, lines: dict[int, Applied]) -> list[Migration]:
    return [step for step in component.tables if step.version not in lines]


def _is_current(component: Component, lines: dict[int, Applied]) -> bool:
    return CODE in lines and lines[CODE].checksum == component.checksum
