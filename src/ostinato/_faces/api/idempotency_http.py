"""`/api/v1/engine/idempotency` lists the keys of the tenant's requests that may come twice."""

from typing import Annotated

from fastapi import Query
from pydantic import Field

from ostinato._core.engine import idempotency_keys
from ostinato._core.engine.idempotency_keys import KeyLine
from ostinato._core.web.routes import Router
from ostinato._faces.api.asking import AsTenant
from ostinato._faces.api.permissions import ENGINE_READ
from ostinato._faces.api.views import MAX_NAME, PREFIX, Limit, Name, View, shows

router = Router(prefix=PREFIX, tags=["records"])

LONGEST_KEY = 1_000
Text = Annotated[str, Query(max_length=LONGEST_KEY, examples=[""])]


@shows(KeyLine, without=["tenant"], scope="payments", key="order-7", state="done", attempt=1, holder="billing")
class IdempotencyKey(View):
    """A key that is kept, and how far its request is."""


class Place(View):
    """The next page begins at this place."""

    scope: str = Field(examples=["payments"])
    """Its `after_scope`."""
    key: str = Field(examples=["order-7"])
    """Its `after_key`."""


class IdempotencyKeys(View):
    """Keys by scope and key."""

    items: list[IdempotencyKey]
    next: Place | None
    """Null means that this is the last page."""


@router.get("/idempotency", needs=ENGINE_READ)
async def list_idempotency(
    caller: AsTenant,
    *,
    scope: Name = None,
    prefix: Annotated[str, Query(max_length=MAX_NAME, description="Only keys that begin so.", examples=[""])] = "",
    after_scope: Text = "",
    after_key: Text = "",
    limit: Limit = 50,
) -> IdempotencyKeys:
    """Return the idempotency keys of the tenant that are kept, by scope and key."""
    async with caller.reading() as conn:
        rows = await idempotency_keys.list_keys(
            conn,
            scope=scope,
            prefix=prefix,
            tenant_id=caller.tenant_id,
            after=(caller.tenant_id, after_scope, after_key),
            most=limit + 1,
        )
    following = rows[limit - 1] if len(rows) > limit else None
    return IdempotencyKeys.of(items=rows[:limit], next=following)
