"""Transactions with the rights of this process, for what a tenant's role cannot reach; the audit records the caller.

Routes for one tenant give each verb the tenant of their caller; those for the installation ask for its role. By the
same connections people sign in and the console reads its figures: a tenant has half of them at the most.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Annotated, Any

from fastapi import Depends, Request
from psycopg import AsyncConnection

from ostinato._core.base.errors import Forbidden, NotConfigured
from ostinato._core.engine import audit
from ostinato._core.runtime.client import Client
from ostinato._core.web.caller import Caller, Who
from ostinato._faces.api.permissions import ENGINE_WRITE


class Desk:
    """The rights of this process, for one caller."""

    def __init__(self, caller: Caller, staff: Client, *, of_installation: bool = False) -> None:
        self.tenant_id = caller.tenant_id
        self._caller = caller
        self._staff = staff
        self._of_installation = of_installation

    @asynccontextmanager
    async def transaction(self, reason: str | None = None) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction that sees all tenants."""
        seat = nullcontext() if self._of_installation else self._staff.seats.taken(self.tenant_id)
        async with seat, self._staff.transaction() as conn:
            await audit.act_as(conn, reason=reason, user_id=self._caller.subject, key_id=self._caller.key_id)
            yield conn


async def desk_of(request: Request, caller: Who) -> Desk:
    """Return the desk of a caller, for its own tenant."""
    return Desk(caller, _staff_of(request))


async def installation_of(request: Request, caller: Who) -> Desk:
    """Return the desk of a caller who may act for the installation: never one with a token."""
    ENGINE_WRITE.check(caller.roles)
    if caller.key_id is None:
        raise Forbidden("a token does not act for the installation", hint="Use an API key with the role installation.")
    return Desk(caller, _staff_of(request), of_installation=True)


def _staff_of(request: Request) -> Client:
    site = getattr(request.app.state, "site", None)
    if site is None:
        raise NotConfigured("this process has no connection for it", hint="Install ostinato[console] beside the API.")
    staff: Client = site.staff
    return staff


AtDesk = Annotated[Desk, Depends(desk_of)]
"""A parameter of a route for one tenant."""
AtInstallation = Annotated[Desk, Depends(installation_of)]
"""A parameter of a route for the installation."""
