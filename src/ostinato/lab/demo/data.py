"""Prepares `up --demo`: a tenant with a key, some sample data, and a note of where it runs.

The key is in `<data-dir>/demo-key` for this user only, and stays as long as it works. The data is
written once. Where the API and the sandbox are is in `<data-dir>/demo.json` while they run.
"""

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from psycopg import AsyncConnection

from ostinato._core.base import flow
from ostinato._core.base.canonical import Declaration
from ostinato._core.base.errors import Unauthenticated
from ostinato._core.base.settings import Settings
from ostinato._core.engine import clock, idempotency, jobs, keys, outbox, schedules
from ostinato._core.engine.jobs import NewJob
from ostinato._core.engine.outbox import NewEvent
from ostinato._core.engine.schedules import Schedule
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.worker.enrol import declare_kinds
from ostinato._faces.cli.serve.lab import DemoKey
from ostinato.lab.tour import app as tour

TENANT = "demo"
SUBJECT = "demo"
ROLES = ("admin", "ops")
KEY_FILE = "demo-key"
PLACE_FILE = "demo.json"
FOR_A_YEAR = 365 * 86_400.0
WELCOME = "demo-welcome"
ORDERS = ((1, "placed"), (1, "paid"), (2, "placed"))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a demo runs."""

    url: str
    sandbox: str | None
    pid: int


def key_path(folder: Path) -> Path:
    """Return where the key of the demo is."""
    return folder / KEY_FILE


async def prepare(database: Database, settings: Settings, folder: Path) -> DemoKey:
    """Make the key and the data, unless they are there."""
    async with Client(database, settings, max_size=2) as client:
        key = await _key(client, key_path(folder))
        async with client.connection() as conn:
            await declare_kinds(conn, [tour])  # before a worker does: tenants start what is declared open
        await _seed(client)
    return key


def remember(folder: Path, place: Place) -> None:
    """Note where the demo runs."""
    _write(folder / PLACE_FILE, json.dumps(asdict(place)))


def recall(folder: Path) -> Place | None:
    """Return where a demo runs, as it noted itself."""
    try:
        noted = json.loads((folder / PLACE_FILE).read_text(encoding="utf-8"))
        return Place(str(noted["url"]), noted["sandbox"], int(noted["pid"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def forget(folder: Path) -> None:
    """Delete the note of this demo; the note of another one stays."""
    place = recall(folder)
    if place is not None and place.pid == os.getpid():
        (folder / PLACE_FILE).unlink(missing_ok=True)


async def _key(client: Client, path: Path) -> DemoKey:
    text = _read(path)
    async with client.connection() as conn:
        with contextlib.suppress(Unauthenticated):
            record = await keys.authenticate(conn, text)
            if record.tenant_id == TENANT and set(ROLES) <= set(record.roles):
                return DemoKey(path, text, is_new=False)
        made = await keys.create(conn, tenant_id=TENANT, subject=SUBJECT, roles=ROLES, name="the demo")
    _write(path, made.key)
    return DemoKey(path, made.key, is_new=True)


def _read(path: Path) -> str:
    """Return the key of an earlier run, made private to this user again; None if there is none."""
    try:
        path.chmod(0o600)
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeError):
        return ""


def _write(path: Path, text: str) -> None:
    """Put a text into a file that only this user may read, all of it or nothing."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:  # noqa: PTH123 - the mode is given when it is made
        file.write(f"{text}\n")
    draft.replace(path)


async def _seed(client: Client) -> None:
    """Write the sample data, once for a database, in one transaction."""
    async with client.for_tenant(TENANT).transaction() as conn:
        asked = await idempotency.begin(
            conn, "demo", "sample-data", {"edition": 1}, Declaration(), ttl_seconds=FOR_A_YEAR
        )
        if not isinstance(asked, idempotency.New):
            return
        withdrawn = await _seed_jobs(conn)
        await schedules.upsert(
            conn,
            Schedule("demo-morning", "tour.greet", {"name": "everybody"}, cron="0 8 * * MON-FRI", zone="Europe/Paris"),
        )
        await outbox.emit_many(conn, _events())
        await idempotency.finish(conn, asked, None)
    async with client.connection() as conn:
        await jobs.cancel(conn, withdrawn, "withdrawn, so that there is one to look at")


async def _seed_jobs(conn: AsyncConnection[Any]) -> int:
    """Add jobs that end in several states; returns one to cancel."""
    tomorrow = await clock.now(conn) + timedelta(days=1)
    with flow.flow(correlation=WELCOME):
        await jobs.enqueue(conn, NewJob("tour.greet", '{"name": "Ada"}'))
        await jobs.enqueue(conn, NewJob("tour.flaky", '{"failures": 1}'))
        await jobs.enqueue(conn, NewJob("tour.poison"))
        await jobs.enqueue(conn, NewJob("tour.count", '{"to": 25}'))
        await jobs.enqueue(conn, NewJob("tour.greet", '{"name": "tomorrow"}', run_at=tomorrow))
        return await jobs.enqueue(conn, NewJob("tour.slow", run_at=tomorrow))


def _events() -> list[NewEvent]:
    return [
        NewEvent(
            f"demo.order_{what}",
            json.dumps({"order": number}),
            producer="demo",
            ordering_key=f"order-{number}",
            correlation_id=WELCOME,
        )
        for number, what in ORDERS
    ]
