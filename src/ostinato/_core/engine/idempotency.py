"""The same request twice has one effect and one answer.

    PAYMENT = Declaration(include=("account", "amount"))

    async with idempotency.once(conn, "payments", key, payload, PAYMENT) as once:
        if once.is_new:
            ...                                   # write on conn: one commit with the answer
            once.answer = {"payment_id": 7}
    return once.answer                            # the first answer, however often it is asked

`once` does all in one transaction: a second caller waits for it and gets the answer. `once_outside`
is for work outside the database: the key is taken in one transaction and answered in another. A
second caller gets `RequestInFlight` meanwhile, and takes over with `attempt` 2 when the first one
died. A key that was used for another request raises `IdempotencyConflict`.

The logic is in `sql/functions/idempotency.sql`.
"""

import json
import os
import platform
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ostinato._core.base.answers import Answer, dump_answer
from ostinato._core.base.canonical import Declaration
from ostinato._core.base.errors import IdempotencyConflict, OstinatoError, RequestInFlight
from ostinato._core.base.flow import current_tenant
from ostinato._core.base.log import get_logger
from ostinato._core.db.call import Connection, call_one, call_value
from ostinato._core.db.foreign import Lender
from ostinato._core.db.pool import transaction

__all__ = [
    "Answer",
    "Decision",
    "Declaration",
    "Differs",
    "InFlight",
    "New",
    "Once",
    "Replay",
    "abandon",
    "begin",
    "finish",
    "once",
    "once_outside",
    "prune",
    "refuse",
    "refused_of",
    "renew",
    "request_of",
]


LEASE_SECONDS = 60.0
TTL_SECONDS = 86_400.0
BATCH = 5000

log = get_logger("idempotency")


@dataclass(frozen=True, slots=True)
class Request:
    """The names that identify a request."""

    scope: str
    key: str
    tenant_id: str | None


@dataclass(frozen=True, slots=True)
class New(Request):
    """The key was free and is held by the caller: do the work, then `finish` or `abandon` it."""

    token: int
    """The fencing token: no two holders of a key ever have the same, and a later one's is greater.
    """
    attempt: int
    """More than 1 means that an earlier holder did not finish: look at what it did outside."""
    until: datetime
    """When another caller may take over, unless it is renewed."""


@dataclass(frozen=True, slots=True)
class Replay(Request):
    """The request was answered before."""

    answer: Any
    """The stored answer."""
    resource: str | None
    """The resource that was stored with the answer."""
    attempt: int
    finished_at: datetime
    expires_at: datetime

    def http(self) -> Answer:
        """Return the answer as an HTTP answer, if it was stored as one."""
        return Answer.from_json(self.answer)


@dataclass(frozen=True, slots=True)
class InFlight(Request):
    """The same request is running. The details are None until its start is committed."""

    holder: str | None
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Differs(Request):
    """The key was used for another request."""

    fields: tuple[str, ...]
    """The fields that differ. Empty means that the declarations have no field in common."""
    since: datetime
    declaration_changed: bool
    """Whether the first request was fingerprinted under another declaration."""


Decision = New | Replay | InFlight | Differs
"""The result of `begin`: one of the four."""


@dataclass(slots=True)
class Once:
    """A request that was begun: new, or a replay of an answered one."""

    decision: New | Replay
    answer: Any = None
    """Set it for a new request: it is stored at the end of the block. A replay has it stored."""
    resource: str | None = None
    """A name of what the request made; stored like the answer."""
    abandoned: bool = field(default=False, init=False)

    @property
    def is_new(self) -> bool:
        """Whether the caller has to do the work."""
        return isinstance(self.decision, New)

    @property
    def attempt(self) -> int:
        """How often the request was begun. If it is new and this is above 1, an attempt broke off.

        That attempt may have had effects outside of the database: look before you repeat them.
        """
        return self.decision.attempt

    def http(self) -> Answer:
        """Return the answer as an HTTP answer, new or stored."""
        return self.answer if isinstance(self.answer, Answer) else Answer.from_json(self.answer)

    def abandon(self) -> None:
        """Declare that nothing was done: the key is free again at the end of the block."""
        self.abandoned = True


async def begin(
    conn: Connection,
    scope: str,
    key: str,
    payload: Mapping[str, object],
    declaration: Declaration,
    *,
    holder: str | None = None,
    lease_seconds: float = LEASE_SECONDS,
    ttl_seconds: float = TTL_SECONDS,
    tenant: str | None = None,
    wait: bool = True,
) -> Decision:
    """Ask for a key, in the connection's transaction; the result says what to do.

    With `wait`, the call waits for an uncommitted transaction that has the key.
    """
    found = declaration.fingerprint(payload)
    request = (scope, key, tenant or current_tenant())
    row = await call_one(
        conn,
        "begin_idempotent",
        scope=scope,
        key=key,
        fingerprint=found.value,
        fields=json.dumps(found.fields),
        declaration=found.declaration,
        holder=holder or _process(),
        lease_seconds=lease_seconds,
        ttl_seconds=ttl_seconds,
        tenant_id=request[2],
        wait=wait,
    )
    decision, token, attempt, held_by, since, until = row[:6]
    answer, resource, finished_at, expires_at, differing, changed = row[6:]
    match decision:
        case "new":
            return New(*request, token, attempt, until)
        case "replay":
            return Replay(*request, answer, resource, attempt, finished_at, expires_at)
        case "conflict":
            return Differs(*request, tuple(differing), since, bool(changed))
        case _:
            return InFlight(*request, held_by, since, until)


def request_of(
    scope: str,
    key: str,
    payload: Mapping[str, object],
    declaration: Declaration,
    *,
    lease_seconds: float = LEASE_SECONDS,
    ttl_seconds: float = TTL_SECONDS,
) -> str:
    """Return a request as SQL functions take it that are one whole request: for `ostinato.begin_request`."""
    found = declaration.fingerprint(payload)
    return json.dumps(
        {
            "scope": scope,
            "key": key,
            "fingerprint": found.value,
            "fields": found.fields,
            "declaration": found.declaration,
            "holder": _process(),
            "lease_seconds": lease_seconds,
            "ttl_seconds": ttl_seconds,
        }
    )


def refused_of(scope: str, key: str, tenant_id: str, line: Mapping[str, Any]) -> InFlight | Differs:
    """Return the decision that `ostinato.begin_request` gave as `refused`."""
    since, until = (None if line[at] is None else datetime.fromisoformat(line[at]) for at in ("since", "until"))
    if line["decision"] == "conflict" and since is not None:
        return Differs(scope, key, tenant_id, tuple(line["differing"]), since, bool(line["declaration_changed"]))
    return InFlight(scope, key, tenant_id, line["held_by"], since, until)


def refuse(decision: InFlight | Differs) -> OstinatoError:
    """Turn a decision into its error, for callers that prefer to raise."""
    if isinstance(decision, InFlight):
        whose = f" by {decision.holder}" if decision.holder else ""
        return RequestInFlight(
            f"request {decision.key!r} of {decision.scope!r} is being worked on{whose}",
            scope=decision.scope,
            key=decision.key,
            holder=decision.holder,
            since=decision.since,
            until=decision.until,
        )
    what = f"differs in {', '.join(decision.fields)}" if decision.fields else "cannot be compared"
    changed = "; fields are declared otherwise since then" if decision.declaration_changed else ""
    return IdempotencyConflict(
        f"key {decision.key!r} of {decision.scope!r} was used for another request: this one {what}{changed}",
        scope=decision.scope,
        key=decision.key,
        fields=list(decision.fields),
        since=decision.since,
        declaration_changed=decision.declaration_changed,
    )


async def renew(conn: Connection, held: New) -> datetime:
    """Extend the hold on a key; returns until when. Raises `LeaseLost` when it was taken over."""
    until: datetime = await call_value(conn, "renew_idempotent", **_held(held))
    return until


async def finish(conn: Connection, held: New, answer: object = None, resource: str | None = None) -> None:
    """Store the answer, in the connection's transaction.

    Raises `LeaseLost`, and stores nothing, when the key was taken over.
    """
    await call_value(conn, "finish_idempotent", **_held(held), answer=dump_answer(answer), resource=resource)


async def abandon(conn: Connection, held: New, *, forget: bool = True) -> bool:
    """Give a key up without an answer; False means that it was not held any more.

    Use `forget` when nothing was done: the key is free for any request. Otherwise the next caller
    with the same request takes over at once, with attempt + 1.
    """
    return bool(await call_value(conn, "abandon_idempotent", **_held(held), forget=forget))


@asynccontextmanager
async def once(
    conn: Connection,
    scope: str,
    key: str,
    payload: Mapping[str, object],
    declaration: Declaration,
    **options: Any,  # noqa: ANN401 - as `begin` takes them
) -> AsyncIterator[Once]:
    """Commit the key, the block's writes and the answer in one transaction of the connection.

    An error in the block rolls everything back, the key too. Raises `IdempotencyConflict`, or
    `RequestInFlight` when the key is held by `once_outside`.
    """
    async with transaction(conn):
        decision = await begin(conn, scope, key, payload, declaration, **options)
        if isinstance(decision, New):
            made = Once(decision)
            yield made
            if made.abandoned:
                await abandon(conn, decision)
            else:
                await finish(conn, decision, made.answer, made.resource)
            return
        if isinstance(decision, Replay):
            yield Once(decision, decision.answer, decision.resource)
            return
    # Raised after the commit: the refused request is to be recorded.
    raise refuse(decision)


@asynccontextmanager
async def once_outside(
    lender: Lender,
    scope: str,
    key: str,
    payload: Mapping[str, object],
    declaration: Declaration,
    **options: Any,  # noqa: ANN401 - as `begin` takes them
) -> AsyncIterator[Once]:
    """Take the key in one transaction, run the block without any, store the answer in another.

    For effects outside the database. An error in the block leaves the key to the next caller with
    the same request, with attempt + 1, because a part may have been done; `once.abandon()` declares
    that nothing was. Raises `LeaseLost` at the end when the block took longer than `lease_seconds`
    and another caller has taken over.
    """
    async with lender.connection() as conn:
        decision = await begin(conn, scope, key, payload, declaration, **options)
    if isinstance(decision, InFlight | Differs):
        raise refuse(decision)
    if isinstance(decision, Replay):
        yield Once(decision, decision.answer, decision.resource)
        return
    made = Once(decision)
    try:
        yield made
    except Exception:
        await _leave(lender, made, decision)
        raise
    if made.abandoned:
        await _leave(lender, made, decision)
        return
    async with lender.connection() as conn:
        await finish(conn, decision, made.answer, made.resource)


async def prune(conn: Connection) -> int:
    """Delete keys whose time to live has ended; returns how many."""
    total = 0
    while True:
        pruned = int(await call_value(conn, "prune_idempotency", most=BATCH))
        total += pruned
        if pruned < BATCH:
            return total


async def _leave(lender: Lender, made: Once, held: New) -> None:
    """Give a key up if the database can be reached; otherwise its lease ends by itself."""
    try:
        async with lender.connection() as conn:
            kept = await abandon(conn, held, forget=made.abandoned)
    except OstinatoError as error:
        log.warning("key_not_abandoned", scope=held.scope, error=error.message)
        return
    if not kept:
        log.warning("key_was_taken_over", scope=held.scope, attempt=held.attempt)


def _process() -> str:
    """Return how this process is named as the holder of a key."""
    return f"{platform.node()}-{os.getpid()}"


def _held(held: New) -> dict[str, Any]:
    return {"scope": held.scope, "key": held.key, "token": held.token, "tenant_id": held.tenant_id}
