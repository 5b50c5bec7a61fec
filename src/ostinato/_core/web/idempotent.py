"""Implements the header `Idempotency-Key`: a POST that is repeated has one effect and one answer.

    @router.post("/payments", needs=PAY, status_code=201, raises=IDEMPOTENT)
    async def pay(caller: Who, key: Key, body: Payment) -> Response:
        async with key.once(caller) as once:           # one transaction, as the tenant
            if once.is_new:
                number = await payments.add(once.conn, body)
                once.reply(201, Paid(number=number))   # stored with the writes
        return once.response()

The first answer is stored in the transaction of the effect, so there is never one without the
other. The same request with the same key gets that answer, byte by byte, with
`Idempotency-Replayed: true`; while the first one runs, it gets a 409 with Retry-After. Another
request under the key gets a conflict that names the fields that differ. Without the header nothing
is stored, and every request is new.

The subject of the caller is one of those fields (`caller.subject`): an answer is replayed only to
whom it was given, and another subject of the tenant gets a conflict. A route whose answers are for
all of the tenant says `shared=True`.

A route that has to commit before it knows its answer, because it waits for a worker, takes two
transactions:

        async with key.begin(caller) as once:          # the key, and the writes under it
            if once.is_new:
                number = await payments.add(once.conn, body)
        if once.is_new:
            await settled(number)
            async with once.finish(caller) as conn:    # the answer
                once.reply(201, await payments.show(conn, number))
        return once.response()

Until it is answered the key is in flight, until its lease ends; then the next call takes over with
`once.attempt` 2, and looks for what the first one made.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NoReturn

from fastapi import Depends, Header, Request, Response
from psycopg import AsyncConnection
from pydantic import BaseModel

from ostinato._core.base.answers import Answer
from ostinato._core.base.canonical import Declaration
from ostinato._core.base.errors import IdempotencyConflict, LeaseLost, RequestInFlight
from ostinato._core.engine import idempotency
from ostinato._core.engine.idempotency import Differs, InFlight, New, Replay
from ostinato._core.web.caller import Caller
from ostinato._core.web.problems import Answered, problem

IDEMPOTENT = (IdempotencyConflict, RequestInFlight)
"""The errors of a route with an `Idempotency-Key`: `@router.post(…, raises=IDEMPOTENT)`."""
CONFLICT_STATUS = 422  # as the draft of the IETF says; a contract may say another
REPLAYED = "Idempotency-Replayed"
SUBJECT = "caller.subject"
MAX_KEY = 200

Refuse = Callable[[AsyncConnection[Any], InFlight | Differs], Awaitable[NoReturn]]
"""Answers a key that is in flight or taken, with the error body of a contract."""


@dataclass(slots=True)
class OnceHere:
    """A request in a transaction: new, or answered before."""

    conn: AsyncConnection[Any]
    answer: Answer | None = None
    replayed: bool = False
    held: New | None = None
    """The key, while this request holds it; None means answered before, or no key."""

    @property
    def is_new(self) -> bool:
        """Whether this request has to do the work."""
        return not self.replayed

    @property
    def attempt(self) -> int:
        """More than 1 means that an earlier request did not answer: look at what it made."""
        return 1 if self.held is None else self.held.attempt

    @asynccontextmanager
    async def finish(self, caller: Caller) -> AsyncIterator[AsyncConnection[Any]]:
        """Open the transaction in which a request that `begin` left open is answered.

        If another request took the key over meanwhile, its answer is stored and this one only sent.
        """
        async with caller.transaction() as conn:
            yield conn
            if self.held is not None:
                with suppress(LeaseLost):
                    async with conn.transaction():  # a savepoint: earlier writes stay
                        await idempotency.finish(conn, self.held, self.answer)

    def reply(
        self, status: int, body: BaseModel | Mapping[str, object], headers: Mapping[str, str] | None = None
    ) -> None:
        """Set the answer, which is stored under the key in this transaction."""
        text = (
            body.model_dump_json(by_alias=True)
            if isinstance(body, BaseModel)
            else json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        )
        self.answer = Answer(status, text.encode(), tuple((headers or {}).items()))

    def response(self) -> Response:
        """Return the answer as the route returns it."""
        if self.answer is None:
            raise RuntimeError("the request was not answered: call once.reply(…)")
        return _response(self.answer, replayed=self.replayed)


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """The key of a request, if it has one, and the fields that identify the request."""

    value: str | None
    scope: str
    payload: Mapping[str, object] = field(repr=False)

    async def answer(
        self,
        caller: Caller,
        function: str,
        /,
        *,
        declaration: Declaration | None = None,
        conflict_status: int = CONFLICT_STATUS,
        ttl_seconds: float = idempotency.TTL_SECONDS,
        shared: bool = False,
        **params: object,
    ) -> Response:
        """Answer by one SQL function, which does the work and stores the answer in one statement (`Caller.call`).

        It takes the key as `request`, and returns `answer`, `replayed` and `refused`; `docs/api.md` has one.
        """
        request = self._request(caller, declaration, ttl_seconds, shared=shared)
        ((answer, replayed, refused, *_),) = await caller.call(function, _read=False, **params, request=request)
        if refused is not None and self.value is not None:
            raise _refusal(idempotency.refused_of(self.scope, self.value, caller.tenant_id, refused), conflict_status)
        return _response(Answer.from_json(answer), replayed=replayed)

    async def try_answer(
        self, caller: Caller, function: str, /, *, declaration: Declaration | None = None, **params: object
    ) -> Response | None:
        """Answer as `answer` does where the function knows the answer; None: it has done nothing.

        The route then takes a transaction (`once`, `begin`), which refuses a key that is in flight or taken.
        """
        request = self._request(caller, declaration, idempotency.TTL_SECONDS, shared=False)
        ((answer, replayed, *_),) = await caller.call(function, _read=False, **params, request=request)
        return None if answer is None else _response(Answer.from_json(answer), replayed=replayed)

    def _request(
        self, caller: Caller, declaration: Declaration | None, ttl_seconds: float, *, shared: bool
    ) -> str | None:
        """Return the key as `ostinato.begin_request` takes it; None without one."""
        if self.value is None:
            return None
        payload, rule = self._identity(caller, declaration, shared=shared)
        return idempotency.request_of(self.scope, self.value, payload, rule, ttl_seconds=ttl_seconds)

    def _identity(
        self, caller: Caller, declaration: Declaration | None, *, shared: bool
    ) -> tuple[Mapping[str, object], Declaration]:
        """Return the fields that identify the request, and the rule for them."""
        rule = declaration or Declaration()
        return (self.payload, rule) if shared else ({**self.payload, SUBJECT: caller.subject}, _with_subject(rule))

    @asynccontextmanager
    async def once(
        self,
        caller: Caller,
        *,
        declaration: Declaration | None = None,
        conflict_status: int = CONFLICT_STATUS,
        ttl_seconds: float = idempotency.TTL_SECONDS,
        refuse: Refuse | None = None,
        shared: bool = False,
    ) -> AsyncIterator[OnceHere]:
        """Open a transaction as the caller, in which the request is new or answered before."""
        async with self.begin(
            caller,
            declaration=declaration,
            conflict_status=conflict_status,
            ttl_seconds=ttl_seconds,
            refuse=refuse,
            shared=shared,
        ) as made:
            yield made
            if made.held is not None:
                await idempotency.finish(made.conn, made.held, made.answer)

    @asynccontextmanager
    async def begin(
        self,
        caller: Caller,
        *,
        declaration: Declaration | None = None,
        conflict_status: int = CONFLICT_STATUS,
        lease_seconds: float = idempotency.LEASE_SECONDS,
        ttl_seconds: float = idempotency.TTL_SECONDS,
        refuse: Refuse | None = None,
        shared: bool = False,
    ) -> AsyncIterator[OnceHere]:
        """Open a transaction as the caller; the key stays held after it, until `once.finish`.

        `refuse` raises the answer for a key that is in flight or belongs to another request, where
        a contract fixes its body; by default the answer is a problem document. With `shared` every
        subject of the tenant gets the first answer.
        """
        payload, rule = self._identity(caller, declaration, shared=shared)
        async with caller.transaction() as conn:
            if self.value is None:
                yield OnceHere(conn)
                return
            decision = await idempotency.begin(
                conn,
                self.scope,
                self.value,
                payload,
                rule,
                lease_seconds=lease_seconds,
                ttl_seconds=ttl_seconds,
                wait=False,
            )
            match decision:
                case Replay():
                    yield OnceHere(conn, decision.http(), replayed=True)
                case New():
                    yield OnceHere(conn, held=decision)
                case _ if refuse is not None:
                    await refuse(conn, decision)
                case _:
                    raise _refusal(decision, conflict_status)


def _refusal(decision: InFlight | Differs, conflict_status: int) -> Exception:
    """Return what to raise for a key that is in flight, or belongs to another request."""
    refused = idempotency.refuse(decision)
    if isinstance(decision, Differs):
        return Answered(problem(refused, status=conflict_status), type(refused).code)
    return refused


def _response(answer: Answer, *, replayed: bool) -> Response:
    headers = dict(answer.headers) | ({REPLAYED: "true"} if replayed else {})
    return Response(answer.body, answer.status, headers, "application/json")


def _with_subject(declaration: Declaration) -> Declaration:
    """Return the declaration of a request of one subject.

    Another version, so that a key that was answered before there were subjects is compared by the
    fields that both have, and still replayed.
    """
    include = None if declaration.include is None else (*declaration.include, SUBJECT)
    return replace(declaration, include=include, version=-declaration.version)


async def _key(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(
            max_length=MAX_KEY,
            pattern=r"^[\x21-\x7e]+$",
            description="The same key and request again get the first answer (24 hours).",
            examples=["3d2f0b6e-8c3a-4f5e-9d1b-7a6c5e4d3f2b"],
        ),
    ] = None,
) -> IdempotencyKey:
    route = request.scope["route"].path
    scope = f"{request.method} {route}"
    if idempotency_key is None:
        return IdempotencyKey(None, scope, {})
    sent = await request.json() if await request.body() else None
    body = sent if isinstance(sent, dict) else {"body": sent}
    place = {f"path.{name}": value for name, value in request.path_params.items()}
    query = {f"query.{name}": value for name, value in request.query_params.items()}
    return IdempotencyKey(idempotency_key, scope, {**place, **query, **body})


Key = Annotated[IdempotencyKey, Depends(_key)]
"""A parameter of a route: the idempotency key of the request."""
