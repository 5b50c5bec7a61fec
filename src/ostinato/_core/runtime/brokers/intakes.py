"""An intake takes messages from a broker: each becomes a job, and is acknowledged after the commit that added it.

    fetch            some messages, which the broker keeps until they are acknowledged
    one transaction  for each message its key (source and id of the CloudEvent) and its job; a known key has one
    acknowledge      the broker forgets them

What may go wrong, and then:
- the worker dies, or the connection breaks, before the acknowledgement: the broker sends the message again, its key
  is known, and it is acknowledged without a second job;
- the database is away: the messages are kept, and nothing more is fetched, until the commit has succeeded;
- a message cannot be read (no CloudEvent, no JSON, too large for a job): it is a job too, whose arguments say what
  is wrong and hold what came; it fails at once and is a dead letter, seen and alerted like any other;
- the broker is away: the loop tries again with growing pauses, and notes the fault for `doctor` and the alert.
"""

import asyncio
import base64
import inspect
import json
import math
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pydantic
from psycopg import AsyncConnection

from ostinato._core.base import cloudevents
from ostinato._core.base.canonical import Declaration
from ostinato._core.base.cloudevents import Message
from ostinato._core.base.errors import CommitUnknown, DatabaseUnavailable, InvalidInput, NoAnswer, OstinatoError
from ostinato._core.base.flow import flow
from ostinato._core.base.jsonio import dump_args
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import MESSAGES_TAKEN, Recorder
from ostinato._core.base.settings import Settings
from ostinato._core.base.signature import storable
from ostinato._core.engine import idempotency, jobs, workers
from ostinato._core.engine.idempotency import New
from ostinato._core.engine.jobs import MAX_ARGS_BYTES, NewJob
from ostinato._core.runtime.brokers.broker import CONNECT_SECONDS, Received, Source, Sourced, close_quietly
from ostinato._core.runtime.handlers.context import Context, SyncContext
from ostinato._core.runtime.handlers.kinds import Arguments, Handler, JobKind

Transaction = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]

BATCH = 100
WAIT_SECONDS = 1.0
NOTE_SECONDS = 60.0
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 10.0
KEPT_BYTES = 65_536
"""Of a message that cannot be read so many bytes are kept."""
LONGEST_MEMORY = 31_622_400.0
"""A key is remembered for a leap year at most (`idempotency.sql`)."""
LARGEST_READ = 6 * MAX_ARGS_BYTES
"""A larger message fits into no job, however its letters are escaped: it is not even read."""
NOBODY = "default"
"""The tenant of a message that does not say whose it is, and cannot be read."""

_ONCE = Declaration(include=("key",))
_CORRELATION = re.compile(r"[\w.:/-]{1,200}", re.ASCII)

log = get_logger("brokers")


@dataclass(frozen=True)
class Intake:
    """Where messages come from, and the kind of job that each becomes."""

    name: str
    source: Sourced
    kind: JobKind[Any]
    tenant: str | None
    """Whose the messages are; None: each says so itself, by its attribute `tenantid`."""


class MessageArguments(Arguments):
    """The arguments of a message's job: the message, as the intake wrote it."""

    def __init__(self, kind: str, handler: Handler, payload: type[Any] | None) -> None:
        super().__init__(kind, handler)
        self._payload = None if payload is None else pydantic.TypeAdapter(payload)

    def load(self, text: str) -> dict[str, Any]:
        """Return the message, as the handler gets it."""
        given = json.loads(text)
        if "refused" in given:
            raise InvalidInput(
                f"{given['refused']} ({given['bytes']:,} bytes)",
                hint="Fix what sends it. Its bytes are in the arguments; `ostinato jobs cancel` removes it.",
                kind=self.kind,
            )
        message: Message[Any] = Message(**given["message"])
        if self._payload is None:
            return {"message": message}
        try:
            return {"message": replace(message, data=self._payload.validate_python(message.data))}
        except pydantic.ValidationError as error:
            faults = [
                f"{'.'.join(map(str, f['loc'])) or 'data'}: {f['msg']}" for f in error.errors(include_input=False)
            ]
            raise InvalidInput(
                f"{self.kind} got a message with bad data: {'; '.join(faults[:5])}",
                hint="Its type is what the handler's `payload` says.",
                kind=self.kind,
            ) from None


def delivering(handler: Handler) -> Handler:
    """Return the handler as a worker calls it: as that of a kind of job, with a named argument."""

    async def deliver(ctx: Context, message: Message[Any]) -> object:
        return await handler(ctx, message)

    def deliver_in_thread(ctx: SyncContext, message: Message[Any]) -> object:
        return handler(ctx, message)

    return deliver if inspect.iscoroutinefunction(inspect.unwrap(handler)) else deliver_in_thread


class Taking:
    """Takes the messages of one intake: the part of a worker that does so."""

    def __init__(self, intake: Intake, settings: Settings, recorder: Recorder, transaction: Transaction) -> None:
        self.name = f"intake {intake.name}"
        self._intake = intake
        self._settings = settings
        self._recorder = recorder
        self._transaction = transaction
        self._source: Source | None = None
        self._held: list[Received] = []
        """Messages that were fetched, and whose jobs are not committed yet."""
        self._failures = 0
        self._noted = -math.inf

    async def tick(self) -> float:
        """Do one round; returns the seconds until the next."""
        try:
            if self._source is None:
                async with asyncio.timeout(CONNECT_SECONDS):
                    self._source = await self._intake.source.source(self._settings, self._intake.name)
            if not self._held:
                self._held = await self._source.fetch(BATCH, WAIT_SECONDS)
            if self._held:
                await self._add(self._held)
            done, self._held = self._held, []
            for each in done:
                await _acknowledged(each)
        except (NoAnswer, TimeoutError) as error:
            return await self._broken(error)
        if self._failures:
            log.info("broker_back", intake=self._intake.name, after_failures=self._failures)
            self._failures = 0
        return 0.0

    async def close(self) -> None:
        """Close the connection; what was not acknowledged comes again."""
        source, self._source, self._held = self._source, None, []
        if source is not None:
            await close_quietly(source.close())

    async def _broken(self, error: Exception) -> float:
        await self.close()
        self._failures += 1
        text = error.message if isinstance(error, NoAnswer) else f"{self._intake.source.kind} did not answer in time"
        if self._failures == 1:
            log.warning("broker_away", intake=self._intake.name, error=text)
        now = asyncio.get_running_loop().time()
        if now >= self._noted + NOTE_SECONDS:
            async with self._transaction() as conn:
                await workers.note_fault(conn, f"broker {self._intake.source.kind}", text)
            self._noted = now
        return float(min(FIRST_PAUSE * 2.0 ** min(self._failures, 10), LONGEST_PAUSE))

    async def _add(self, received: Sequence[Received]) -> None:
        """Commit the jobs of some messages: all at once, or one by one if one of them does not fit."""
        read = [self._read(each) for each in received]
        try:
            await self._commit(read)
        except (DatabaseUnavailable, CommitUnknown):
            raise
        except OstinatoError:
            for raw, each in zip(received, read, strict=True):
                await self._commit_one(raw, each)

    async def _commit_one(self, raw: Received, read: "_Read") -> None:
        try:
            await self._commit([read])
        except (DatabaseUnavailable, CommitUnknown):
            raise
        except OstinatoError as error:
            await self._commit([self._poison(raw, error.message)])

    async def _commit(self, read: Sequence["_Read"]) -> None:
        counted: list[str] = []
        async with self._transaction() as conn:
            counted += [await self._once(conn, each) for each in read]
        for outcome in counted:
            self._recorder.add(MESSAGES_TAKEN, self._intake.name, outcome)

    async def _once(self, conn: AsyncConnection[Any], read: "_Read") -> str:
        """Add the job of a message, unless its key is known; what became of it."""
        decision = await idempotency.begin(
            conn,
            f"intake:{self._intake.name}",
            read.key,
            {"key": read.key},
            _ONCE,
            ttl_seconds=min(86_400.0 * self._settings.retention_days, LONGEST_MEMORY),
            tenant=read.tenant,
        )
        if not isinstance(decision, New):
            return "repeated"
        kind = self._intake.kind
        with flow(tenant=read.tenant, correlation=read.correlation):
            job = await jobs.enqueue(conn, NewJob(kind.name, read.args, kind.queue, kind.priority))
        await idempotency.finish(conn, decision, None, str(job))
        return read.outcome

    def _read(self, raw: Received) -> "_Read":
        if len(raw.body) > LARGEST_READ:
            return self._poison(raw, "the message is larger than what a job can hold")
        try:
            message = cloudevents.parse(raw.body, raw.headers, raw.content_type, encoded=raw.encoded)
            args = dump_args({"message": _plain(message)}, MAX_ARGS_BYTES)
            tenant = self._intake.tenant or message.extensions.get("tenantid")
        except InvalidInput as error:
            return self._poison(raw, error.message)
        if not tenant:
            return self._poison(raw, "the message has no tenantid, and the intake takes the tenant from it")
        return _Read(message.key, args, tenant, _correlation(message), "new")

    def _poison(self, raw: Received, why: str) -> "_Read":
        """Return the job of a message that cannot be read: it says why, and holds the beginning of what came."""
        kept = base64.b64encode(raw.body[:KEPT_BYTES]).decode()
        said = {"refused": storable(why)[:500], "bytes": len(raw.body), "body_base64": kept}
        key = f"refused:{cloudevents.message_key('', storable(raw.fallback))}"
        log.warning("message_refused", intake=self._intake.name, bytes=len(raw.body), error=why)
        return _Read(key, json.dumps(said), self._intake.tenant or NOBODY, None, "refused")


@dataclass(frozen=True, slots=True)
class _Read:
    """A message that was read, or could not be."""

    key: str
    args: str
    tenant: str
    correlation: str | None
    outcome: str


@asynccontextmanager
async def closed_at_the_end(taking: Sequence[Taking]) -> AsyncIterator[None]:
    """Close the connections of the intakes at the end."""
    try:
        yield
    finally:
        for each in taking:
            await each.close()


async def _acknowledged(received: Received) -> None:
    try:
        await received.acknowledge()
    except Exception as error:  # noqa: BLE001 - the libraries have many
        raise NoAnswer(f"a message could not be acknowledged: {error!r}", outcome="away") from None


def _plain(message: Message[Any]) -> dict[str, Any]:
    names = ("id", "source", "type", "data", "subject", "time", "extensions")
    return {name: getattr(message, name) for name in names}


def _correlation(message: Message[Any]) -> str | None:
    given = message.extensions.get("correlationid", "")
    return given if _CORRELATION.fullmatch(given) else None
