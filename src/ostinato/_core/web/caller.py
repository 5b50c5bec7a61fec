"""The caller of a request, and transactions that run as the caller's tenant.

@router.get("/invoices/{number}", needs=READ)
async def show(caller: Who, number: int) -> Invoice:
    async with caller.transaction() as conn:      # as the tenant: row-level security decides
        return await invoices.show(conn, number)

The server authenticates the caller (`api.auth`) and stores it in the request; a router reads it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request
from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from ostinato._core.base.errors import Unauthenticated
from ostinato._core.base.sections import Section
from ostinato._core.base.vault import Vault
from ostinato._core.runtime.client import Client

L = TypeVar("L", bound=Section)


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller, as its API key or token identifies it."""

    tenant_id: str
    subject: str
    """The person or the program, by the name that the tenant uses: `app.current_user_id`."""
    roles: frozenset[str]
    client: Client = field(repr=False, compare=False)
    key_id: int | None = None
    """The id of the API key, when the caller used one."""
    ends_at: datetime | None = None
    """The end of the token, when the caller used one."""

    def settings(self, of: type[L]) -> L:
        """Return the settings of an application, as this process has read them."""
        return self.client.settings.section(of)

    @property
    def vault(self) -> Vault:
        """What seals and opens secrets with the keys of this process."""
        return self.client.settings.vault

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction as the tenant and the subject; jobs that it adds wake idle workers.

        A tenant has three of five connections of the process at the most: others wait for none of them.
        """
        of_tenant = self.client.for_tenant(self.tenant_id, self.subject, self.key_id)
        async with self.client.seats.taken(self.tenant_id), of_tenant.transaction() as conn:
            yield conn

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction for what a GET shows: as the tenant, and from the replica if there is one.

        What is read there may be seconds old: nothing may be decided by it, and nothing written.
        """
        of_tenant = self.client.for_tenant(self.tenant_id, self.subject, self.key_id)
        async with self.client.seats.taken(self.tenant_id), of_tenant.reading() as conn:
            yield conn

    async def call(self, function: str, /, *, _read: bool = False, **params: object) -> list[TupleRow]:
        """Call one SQL function that is the whole request, as the tenant and the subject, in one statement.

        See `TenantClient.call`: `rows = await caller.call("billing.accept_as", number=7)`.
        """
        of_tenant = self.client.for_tenant(self.tenant_id, self.subject, self.key_id)
        async with self.client.seats.taken(self.tenant_id):
            return await of_tenant.call(function, _read=_read, **params)


Authenticate = Callable[[Request], Awaitable[Caller]]
"""Authenticates requests: `app.state.authenticate`. Raises `Unauthenticated`, `TooManyRequests`."""


async def authenticated(request: Request) -> Caller:
    """Return the caller of this request."""
    known = getattr(request.state, "caller", None)
    if known is None:
        authenticate = getattr(request.app.state, "authenticate", None)
        if authenticate is None:
            raise Unauthenticated("this server does not authenticate callers")
        known = await cast("Authenticate", authenticate)(request)
        request.state.caller = known
    return cast("Caller", known)


def count_stranger(request: Request) -> None:
    """Count a request that names no caller; raises `TooManyRequests`."""
    count = getattr(request.app.state, "count_stranger", None)
    if count is not None:
        count(request)


def client_of(request: Request) -> Client:
    """Return the client of the process that serves a request, for routes without a caller."""
    return cast("Client", request.app.state.client)


Who = Annotated[Caller, Depends(authenticated)]
"""A parameter of a route: the caller; without a valid key the answer is a 401."""
