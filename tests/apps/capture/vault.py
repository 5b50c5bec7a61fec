"""What the tests of captures speak: a database of its own, callers, devices, and threads."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo

from ostinato._core.db.pool import connect, transaction
from ostinato._core.engine import clock, tenants
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato.apps.capture import APP, audit, service
from ostinato.apps.capture.device import Kek, Prepared, prepare
from ostinato.apps.capture.model import CanonicalPayloadFields, Device, Ocr
from ostinato.apps.capture.queries import Connection
from ostinato.apps.capture.service import Taken, Wanted
from ostinato.testing import Engine

T = TypeVar("T")

TENANT, USER = "acme", "ana"
KEK = Kek("kek-2026-04-01", bytes(range(32)))

SEED = CanonicalPayloadFields(
    capture_id="a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d",
    content_hash="abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789",
    aes_gcm_nonce_b64="dGVzdG5vbmNlMTIz",
    aes_gcm_tag_b64="dGVzdHRhZzEyMzQ1Njc4OQ==",
    dek_wrapped_b64="ZGVrd3JhcHBlZGI2NA==",
    kek_id="kek-2026-04-01",
    mime_type="image/png",
    size_bytes=524288,
    upload_object_key="captures/a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d.enc",
)
"""`baseFields` of the specification."""


@dataclass
class Vault:
    """Captures on a database of its own."""

    engine: Engine
    database: Database
    _count: int = field(default=0)

    @property
    def client(self) -> Client:
        return self.engine.client

    @property
    def admin(self) -> psycopg.AsyncConnection[Any]:
        return self.engine.admin

    async def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """What the superuser sees."""
        cursor = await self.admin.execute(statement.encode(), values or None)
        return await cursor.fetchall() if cursor.description else []

    async def value(self, statement: str, *values: object) -> Any:  # noqa: ANN401 - whatever SQL says
        ((value,),) = await self.rows(statement, *values)
        return value

    @asynccontextmanager
    async def transaction(self, user: str = USER, tenant: str = TENANT) -> AsyncIterator[Connection]:
        """A transaction as a user, as the API opens it."""
        async with self.client.for_tenant(tenant, user).transaction() as conn:
            yield conn

    async def now(self) -> datetime:
        async with self.client.connection() as conn:
            return await clock.now(conn)

    async def wanted(self, fields: CanonicalPayloadFields = SEED, ocr: Ocr | None = None) -> Wanted:
        return Wanted(fields, Device(await self.now()), ocr or Ocr(), "192.0.2.7")

    async def receive(
        self, fields: CanonicalPayloadFields = SEED, *, user: str = USER, tenant: str = TENANT, ocr: Ocr | None = None
    ) -> Taken:
        """Send a capture, as the API does."""
        wanted = await self.wanted(fields, ocr)
        return await service.receive(lambda: self.transaction(user, tenant), user, wanted)

    async def state(self, taken: Taken) -> tuple[str, str | None]:
        """The state of a capture, and the reason."""
        (row,) = await self.rows(
            "select state, reason from vault_secure.capture_events where id = %s::uuid", taken.capture_event_id
        )
        return row[0], row[1]

    async def audited(self, user: str = USER) -> list[str]:
        """The events of the audit log of a user, in order."""
        rows = await self.rows(
            "select event_type from vault_secure.capture_audit_log where user_id = %s order by seq", user
        )
        return [row[0] for row in rows]

    async def verified(self, **options: Any) -> audit.Report:  # noqa: ANN401 - as audit.verify
        async with self.client.connection() as conn:
            return await audit.verify(conn, **options)

    async def run(self, *, move_clock: bool = False) -> None:
        """Run the jobs that are due; if the clock moves, waits run out too."""
        await self.engine.run_until_idle(APP, move_clock=move_clock, pass_timeouts=move_clock)

    async def at_once(
        self, count: int, work: Callable[[Connection, int], Awaitable[T]], user: str = USER
    ) -> list[T | Exception]:
        """Do something in that many threads at the same time, each on a connection of its own."""
        ready = threading.Barrier(count)
        # So many on so few cores take their time, one behind the other.
        options = {"connect_timeout": "300", "options": "-c lock_timeout=300s"}
        patient = make_conninfo(self.database.url, **options)

        async def one(number: int) -> T:
            async with await connect(patient) as conn:
                ready.wait(300)
                async with transaction(conn, seconds=300):
                    await tenants.enter(conn, TENANT, user_id=user)
                    return await work(conn, number)

        def thread(number: int) -> T | Exception:
            try:
                return asyncio.run(one(number))
            except Exception as error:  # noqa: BLE001 - given back, and looked at by the test
                return error

        return await _threads(count, thread)


async def _threads(count: int, work: Callable[[int], T]) -> list[T]:
    found: dict[int, T] = {}

    def run(number: int) -> None:
        found[number] = work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        await asyncio.to_thread(each.join)
    return [found[number] for number in range(count)]


def captured(content: bytes = b"what was seen", user: str = USER, **options: Any) -> Prepared:  # noqa: ANN401 - as prepare
    return prepare(content, user, options.pop("kek", KEK), **options)


def tampered(blob: bytes) -> bytes:
    """Return it with one bit changed: a byte that is put in its place is the same one of 256 times."""
    return bytes([blob[0] ^ 1]) + blob[1:]


def changed(fields: CanonicalPayloadFields, **values: Any) -> CanonicalPayloadFields:  # noqa: ANN401 - of its fields
    return replace(fields, **values)


def counted(found: Sequence[object], kind: type[object]) -> int:
    return sum(isinstance(each, kind) for each in found)
