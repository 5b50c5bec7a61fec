"""An app declares the types of its events, and the subscribers that handle some.

    paid = billing.event("invoice.paid", version=1, payload=InvoicePaid)

    @billing.on("invoice.paid")
    async def send_receipt(ctx, event): ...

    await paid.emit(conn, InvoicePaid(id=7), key="invoice-7")      # in the caller's transaction

A payload is checked against its declared type when an event is emitted, and again when it arrives.
"""

import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypedDict, TypeVar

import pydantic
from psycopg import AsyncConnection

from ostinato._core.base.backoff import Retry
from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.events import Event, EventType, OnPoison, Start
from ostinato._core.base.jsonio import dump_args
from ostinato._core.db.foreign import SyncTarget, Target, connection_of, sync_connection_of
from ostinato._core.engine import outbox, subscriptions
from ostinato._core.engine.outbox import NewEvent
from ostinato._core.runtime.handlers.context import Context, SyncContext
from ostinato._core.runtime.handlers.kinds import MAX_ARGS_BYTES, Arguments, Handler
from ostinato._core.runtime.handlers.options import TEXT, TIME, refuse_other

M = TypeVar("M")

LONGEST_SUBSCRIPTION = 200


class Envelope(TypedDict, total=False):
    """The fields of an event beside its payload, as a caller may give them."""

    key: str | None
    tenant: str | None
    correlation_id: str | None
    occurred_at: datetime | None


class EventKind(Generic[M]):
    """A type of event that an app emits. Made by `App.event`."""

    def __init__(self, producer: str, declared: EventType) -> None:
        self.producer = producer
        self.type = declared
        self._adapter: pydantic.TypeAdapter[Any] | None = None
        if declared.payload is not None:
            self._adapter = pydantic.TypeAdapter(declared.payload)
            self._args = pydantic.create_model("args", payload=(declared.payload, ...))

    @property
    def name(self) -> str:
        """The name of the type."""
        return self.type.name

    async def emit(
        self,
        to: Target,
        payload: M | Mapping[str, object],
        *,
        key: str | None = None,
        tenant: str | None = None,
        correlation_id: str | None = None,
        occurred_at: datetime | None = None,
        subject: str | None = None,
    ) -> int:
        """Emit the event, in the transaction of a connection, and return its id.

        Events of a tenant with the same `key` are delivered in the order of their commits. Tenant
        and correlation id are those of the flow unless given, and so is the `subject`, whom the
        event is about (`ostinato.erasure`).
        """
        event = self.new(payload, key, tenant, correlation_id, occurred_at, subject=subject)
        async with connection_of(to) as conn:
            return await outbox.emit(conn, event)

    async def emit_many(
        self,
        to: Target,
        payloads: Iterable[tuple[M | Mapping[str, object], str | None]],
        *,
        tenant: str | None = None,
        correlation_id: str | None = None,
        occurred_at: datetime | None = None,
        subject: str | None = None,
    ) -> list[int]:
        """Emit many events, each a payload with its key, in one statement; returns the ids in order."""
        events = [
            self.new(payload, key, tenant, correlation_id, occurred_at, subject=subject) for payload, key in payloads
        ]
        async with connection_of(to) as conn:
            return await outbox.emit_many(conn, events)

    def emit_sync(
        self,
        to: SyncTarget,
        payload: M | Mapping[str, object],
        *,
        key: str | None = None,
        tenant: str | None = None,
        correlation_id: str | None = None,
        occurred_at: datetime | None = None,
        subject: str | None = None,
    ) -> int:
        """Emit the event in sync code: in the transaction of psycopg, SQLAlchemy or Django that it is given."""
        conn = sync_connection_of(to)
        return outbox.emit_now(conn, self.new(payload, key, tenant, correlation_id, occurred_at, subject=subject))

    def new(
        self,
        payload: M | Mapping[str, object],
        key: str | None,
        tenant: str | None,
        correlation_id: str | None,
        occurred_at: datetime | None,
        *,
        subject: str | None = None,
    ) -> NewEvent:
        """Make the event as the engine takes it."""
        named = {"key": key, "tenant": tenant, "correlation_id": correlation_id, "subject": subject}
        for name, value in named.items():
            refuse_other(f"the {name} of an event {self.name}", value, *TEXT)
        refuse_other(f"occurred_at of an event {self.name}", occurred_at, *TIME)
        return NewEvent(
            self.type.name,
            self.dump(payload),
            self.producer,
            key,
            self.type.version,
            tenant,
            correlation_id,
            occurred_at,
            subject,
        )

    def dump(self, payload: object) -> str:
        """Check a payload against the type, and write it as JSON text."""
        if self._adapter is None:
            return dump_args(payload, MAX_ARGS_BYTES)
        try:
            raw = self._adapter.dump_json(self._adapter.validate_python(payload), by_alias=True)
        except pydantic.ValidationError as error:
            raise self._invalid(error) from None
        except (pydantic.PydanticUserError, ValueError, TypeError):
            return dump_args(payload, MAX_ARGS_BYTES)  # names the place that cannot be stored
        if len(raw) > MAX_ARGS_BYTES or b"\\u0000" in raw or b"NaN" in raw or b"Infinity" in raw:
            dump_args(json.loads(raw), MAX_ARGS_BYTES)
        return str(raw, "utf-8")

    def load(self, args: str) -> Any:  # noqa: ANN401 - what the type says
        """Read the payload of an event's job from its args, and check it against the type."""
        if self._adapter is None:
            return json.loads(args)["payload"]
        try:
            return self._args.model_validate_json(args).payload  # type: ignore[attr-defined]
        except pydantic.ValidationError as error:
            raise self._invalid(error) from None

    def schema(self) -> str | None:
        """Return the JSON schema of the payload."""
        return None if self._adapter is None else json.dumps(self._adapter.json_schema())

    def _invalid(self, error: pydantic.ValidationError) -> InvalidInput:
        faults = [
            f"{_place(fault['loc'])}: {fault['msg']}" for fault in error.errors(include_input=False, include_url=False)
        ]
        called = getattr(self.type.payload, "__qualname__", self.type.payload)
        return InvalidInput(
            f"event {self.type.name} has a bad payload: {'; '.join(faults[:5])}",
            hint=f"Version {self.type.version} of it is as {called} says.",
            type=self.type.name,
            faults=faults[:20],
        )


@dataclass
class Subscriber:
    """A subscription and its handler, which gets a context and the event."""

    name: str
    types: tuple[str, ...]
    handler: Handler
    known: "Types" = field(default_factory=lambda: Types({}), repr=False)
    """The types whose payloads are checked on arrival."""
    retry: Retry = field(default_factory=Retry)
    timeout: float | None = None
    tenant: str | None = None
    on_poison: OnPoison = "skip"
    start: Start = "now"
    is_async: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.types:
            raise InvalidInput(
                f"the subscription {self.name!r} lists no type of event",
                hint='Name types of events: @app.on("invoice.paid"). "*" stands for all of them.',
            )
        if not 1 <= len(self.name) <= LONGEST_SUBSCRIPTION:
            raise InvalidInput(
                f"the name of a subscription has {len(self.name)} characters, not 1 to {LONGEST_SUBSCRIPTION}",
                hint='Give another: @app.on("invoice.paid", name="billing.receipts").',
            )
        if len(inspect.signature(self.handler).parameters) != 2:  # noqa: PLR2004
            raise InvalidInput(
                f"{self.name} must take two parameters, the context and the event",
                hint="Write: async def handler(ctx, event).",
            )
        self.is_async = inspect.iscoroutinefunction(inspect.unwrap(self.handler))

    @property
    def deliver(self) -> Handler:
        """The handler as a worker calls it: as that of a kind of job, with a named argument."""
        handler = self.handler

        async def deliver(ctx: Context, event: Event[Any]) -> object:
            ctx.event = event
            return await handler(ctx, event)

        def deliver_in_thread(ctx: SyncContext, event: Event[Any]) -> object:
            ctx._ctx.event = event  # noqa: SLF001 - the worker's part of it
            return handler(ctx, event)

        return deliver if self.is_async else deliver_in_thread

    def __call__(self, ctx: Any, event: Event[Any], /) -> Any:  # noqa: ANN401
        """Call the handler directly, as a test does."""
        return self.handler(ctx, event)


class Types:
    """The declared types of an app: what turns the args of a job into an event."""

    def __init__(self, declared: Mapping[tuple[str, int], EventKind[Any]]) -> None:
        self._kinds = declared

    def event(self, args: str) -> Event[Any]:
        """Return the event; a payload of a type that is not declared here is plain JSON."""
        given = json.loads(args)
        kind = self._kinds.get((given["type"], given["version"]))
        return Event(
            given["event_id"],
            given["position"],
            given["type"],
            given["version"],
            given["tenant_id"],
            given["correlation_id"],
            datetime.fromisoformat(given["occurred_at"]),
            given["producer"],
            given["ordering_key"],
            given["payload"] if kind is None else kind.load(args),
        )


class EventArguments(Arguments):
    """The arguments of an event's job: the event, as the engine wrote it into the job."""

    def __init__(self, subscriber: Subscriber) -> None:
        super().__init__(subscriber.name, subscriber.deliver)
        self._types = subscriber.known

    def load(self, text: str) -> dict[str, Any]:
        """Return the event, as the handler gets it."""
        try:
            return {"event": self._types.event(text)}
        except KeyError as error:
            raise InvalidInput(
                f"this job of {self.kind} holds no event: {error} is missing",
                hint="The engine makes the jobs of a subscription. Emit an event instead.",
                kind=self.kind,
            ) from None


def _place(path: tuple[object, ...]) -> str:
    """Say where in a payload a fault is."""
    inner = path[1:] if path[:1] == ("payload",) else path
    return ".".join(str(part) for part in inner) or "payload"


async def register(
    conn: AsyncConnection[Any], kinds: Sequence[EventKind[Any]], subscribers: Sequence[Subscriber]
) -> None:
    """Declare types and subscriptions, as a worker does when it starts."""
    rows = {(kind.type.name, kind.type.version): kind.schema() for kind in kinds}
    await outbox.register_types(conn, [(*key, schema) for key, schema in rows.items()])
    for each in subscribers:
        await subscriptions.subscribe(
            conn,
            each.name,
            types=None if "*" in each.types else each.types,
            tenant_id=each.tenant,
            kind=each.name,
            on_poison=each.on_poison,
            start=each.start,
        )
