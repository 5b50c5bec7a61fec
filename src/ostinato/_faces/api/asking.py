"""As whom a route asks: the caller, or for an operator of the installation the tenant that the address names.

@router.get("/jobs", needs=ENGINE_READ)
async def list_jobs(caller: AsTenant) -> JobPage: ...     # GET /jobs?tenant=acme, with a key of the installation
"""

from dataclasses import replace
from typing import Annotated

from fastapi import Depends, Query

from ostinato._core.base.errors import Forbidden
from ostinato._core.web.caller import Caller, Who
from ostinato._faces.api.permissions import ENGINE_LOOK, INSTALLATION
from ostinato._faces.api.views import MAX_NAME


async def as_tenant(
    caller: Who,
    tenant: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=MAX_NAME,
            description="Another tenant than the key's own; for keys with the role `installation`.",
            examples=[None],
        ),
    ] = None,
) -> Caller:
    """Return the caller, for the tenant that it asks about; only a key of the installation asks about another."""
    if tenant is None or tenant == caller.tenant_id:
        return caller
    if caller.key_id is None or not INSTALLATION.allows(caller.roles):
        raise Forbidden(
            f"the tenant {tenant!r} is not yours",
            hint="Ask with a key of that tenant, or with one that has the role installation: ostinato keys create.",
            permission=INSTALLATION.name,
        )
    return replace(caller, tenant_id=tenant)


AsTenant = Annotated[Caller, Depends(as_tenant)]
"""A parameter of a route: the caller, acting for its tenant, or for the one in the address."""


def may_look(caller: Caller) -> bool:
    """Return whether a caller may see arguments, results and payloads; readers get null instead."""
    return ENGINE_LOOK.allows(caller.roles)


def check_may_search(caller: Caller, *given: object) -> None:
    """Refuse a search by arguments to readers: who may not see them must not guess them either."""
    if not may_look(caller) and any(each is not None for each in given):
        raise Forbidden(
            "a key with the role reader does not search by arguments",
            hint="Leave args and text out, or ask with a key that has the role ops.",
            permission=ENGINE_LOOK.name,
        )
