"""Seals everything that is stored with the newest key: webhook secrets, columns, arguments of jobs.

    for each in await survey(conn, vault, apps): …      # how many, sealed with which key
    for each in await rotate(conn, vault, apps): …      # what was done, and what does not open

A rotation works in sets of one statement, and a value is replaced only if it still is what was
read. Killed at any point it leaves values that open, and the next one goes on.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

from ostinato._core.base.errors import InvalidInput, SecretRefused
from ostinato._core.base.vault import SealedColumn, Vault, is_sealed, key_id_of
from ostinato._core.db.call import Connection
from ostinato._core.engine import audit, secrets
from ostinato._core.engine.secrets import Place, SecretJob, args_purpose
from ostinato._core.engine.webhooks import HEADERS, SECRET
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.named import named

SET = 200
"""Values that one statement replaces."""
JOBS = 2000
"""Jobs that one statement reads."""
MOST_REFUSED = 1000
"""So many values of one column may not open before a rotation leaves the rest of it alone."""
IDLE_ROUNDS = 3
ARGUMENTS = "arguments of jobs"


@dataclass
class Standing:
    """How the values of one place are sealed, or were by a rotation."""

    place: str
    """A column, or the arguments of jobs."""
    newest: int = 0
    older: int = 0
    clear: int = 0
    unknown: int = 0
    """Sealed with a key that is not configured."""
    keys: list[str] = field(default_factory=list)
    """The ids of the keys that sealed them."""

    @property
    def total(self) -> int:
        """How many values there are."""
        return self.newest + self.older + self.clear + self.unknown


@dataclass
class Rotated:
    """What a rotation did in one place."""

    place: str
    sealed: int = 0
    refused: int = 0
    """Values that do not open: they stay as they are."""
    why: str | None = None


def columns(apps: Iterable[App]) -> list[SealedColumn]:
    """Return the engine's own sealed columns, and those that the applications declare."""
    found: list[SealedColumn] = [SECRET, HEADERS]
    for app in apps:
        for each in named(app.secrets, tuple) if app.secrets is not None else ():
            if not isinstance(each, SealedColumn):
                raise InvalidInput(f"{app.secrets} of {app.name} holds {each!r}", hint="It is a tuple of SealedColumn.")
            found.append(each)
    return found


async def survey(conn: Connection, vault: Vault, apps: Iterable[App]) -> list[Standing]:
    """Return how many values there are in each place, and which keys sealed them."""
    found = []
    for column in columns(apps):
        counted = await secrets.count(conn, column)
        found.append(_standing(f"{column.table}.{column.column}", Counter(counted), vault))
    counts: Counter[str | None] = Counter()
    async for job in _jobs(conn):
        for value in _secret_values(job).values():
            counts[key_id_of(value) if is_sealed(value) else None] += 1
    return [*found, _standing(ARGUMENTS, counts, vault)]


async def rotate(conn: Connection, vault: Vault, apps: Iterable[App]) -> list[Rotated]:
    """Seal every value with the newest key; those that do not open are counted and left alone."""
    if not vault.key_ids:
        vault.seal("", purpose="")  # says which key is missing
    found = [await _rotate_column(conn, vault, column) for column in columns(apps)]
    found.append(await _rotate_arguments(conn, vault))
    sealed = sum(each.sealed for each in found)
    await audit.note(conn, "rotate", "secrets", vault.key_ids[0], count=sealed)
    return found


async def _rotate_column(conn: Connection, vault: Vault, column: SealedColumn) -> Rotated:
    done = Rotated(f"{column.table}.{column.column}")
    refused: list[str] = []
    idle = 0
    while idle < IDLE_ROUNDS and len(refused) < MOST_REFUSED:
        places = await secrets.list_to_seal(conn, column, vault.key_ids[0], SET, refused)
        if not places:
            break
        changes: list[tuple[Place, str]] = []
        for place in places:
            try:
                changes.append((place, _sealed_anew(vault, place.value, column.purpose(*place.bound))))
            except SecretRefused as error:
                refused.append(place.place)
                done.refused, done.why = done.refused + 1, error.message
        changed = await secrets.reseal(conn, column, changes) if changes else 0
        done.sealed += changed
        # Others may change a row between the two statements, but not for ever.
        idle = 0 if changed or len(changes) < len(places) else idle + 1
    return done


async def _rotate_arguments(conn: Connection, vault: Vault) -> Rotated:
    done = Rotated(ARGUMENTS)
    changes: list[tuple[int, str, str]] = []
    async for job in _jobs(conn):
        assert job.job_id is not None  # noqa: S101 - so are the other fields
        assert job.args is not None  # noqa: S101 - as above
        args = json.loads(job.args)
        for name, value in _secret_values(job).items():
            if vault.is_newest(value):
                continue
            try:
                args[name] = _sealed_anew(vault, value, args_purpose(str(job.kind), name, str(job.tenant_id)))
            except SecretRefused as error:
                done.refused, done.why = done.refused + 1, error.message
            else:
                done.sealed += 1
        if args != json.loads(job.args):
            changes.append((job.job_id, job.args, json.dumps(args)))
        if len(changes) == SET:
            await secrets.reseal_args(conn, changes)
            changes.clear()
    if changes:
        await secrets.reseal_args(conn, changes)
    return done


async def _jobs(conn: Connection) -> AsyncIterator[SecretJob]:
    """Yield the jobs that have secret arguments, by their ids."""
    if not await secrets.kinds(conn):
        return
    after = 0
    while True:
        rows = await secrets.jobs_after(conn, after, JOBS)
        for row in rows:
            if row.job_id is not None:
                yield row
        if not rows or rows[0].upto is None:
            return
        after = rows[0].upto


def _secret_values(job: SecretJob) -> dict[str, str]:
    args = json.loads(job.args or "{}")
    return {name: args[name] for name in job.secret_args or () if isinstance(args.get(name), str)}


def _sealed_anew(vault: Vault, value: str, purpose: str) -> str:
    clear = vault.open(value, purpose=purpose) if is_sealed(value) else value
    return vault.seal(clear, purpose=purpose)


def _standing(place: str, counts: "Counter[str | None]", vault: Vault) -> Standing:
    keys = vault.key_ids
    found = Standing(place, keys=sorted(key for key in counts if key is not None))
    for key, count in counts.items():
        if key is None:
            found.clear += count
        elif key not in keys:
            found.unknown += count
        elif key == keys[0]:
            found.newest += count
        else:
            found.older += count
    return found
