"""A little application with routes, as the tests of the API need one."""

import asyncio
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field

from ostinato._core.base.canonical import Declaration
from ostinato._core.base.errors import NotFound
from ostinato._core.engine.jobs import NewJob, enqueue
from ostinato._core.runtime.handlers.app import App
from ostinato._core.web.caller import Who
from ostinato._core.web.idempotent import IDEMPOTENT, Key
from ostinato._core.web.permissions import Permission
from ostinato._core.web.routes import Router

BUY = Permission("shop.buy", ("customer", "admin"), "order things")

ORDERS = Declaration(exclude=("note",))
APP = App("shop", http="tests.api.shop:router")
router = Router(prefix="/shop", tags=["shop"])

started = asyncio.Event()
may_end = asyncio.Event()


class Order(BaseModel):
    """What is wanted."""

    model_config = ConfigDict(extra="forbid")

    item: str = Field(min_length=1, max_length=100)
    count: int = Field(1, ge=1, le=1000)
    note: str | None = None


class Ordered(BaseModel):
    """What was ordered."""

    job_id: int
    item: str


@router.post("/orders", needs=BUY, status_code=202, raises=IDEMPOTENT, responses={202: {"model": Ordered}})
async def order(caller: Who, key: Key, body: Order) -> Response:
    """Order something, once for each key."""
    async with key.once(caller, declaration=ORDERS) as once:
        if once.is_new:
            job_id = await enqueue(once.conn, NewJob("shop.ship", body.model_dump_json()))
            once.reply(202, Ordered(job_id=job_id, item=body.item), {"X-Shop": "open"})
    return once.response()


@router.post("/shared-orders", needs=BUY, status_code=202, raises=IDEMPOTENT, include_in_schema=False)
async def order_for_all(caller: Who, key: Key, body: Order) -> Response:
    """Order something; whoever of the tenant asks again gets the answer."""
    async with key.once(caller, shared=True) as once:
        if once.is_new:
            once.reply(202, {"item": body.item})
    return once.response()


@router.post("/loose-orders", needs=BUY, status_code=202, raises=IDEMPOTENT, include_in_schema=False)
async def order_anything(caller: Who, key: Key, body: dict[str, Any]) -> Response:
    """Order something, in words of one's own."""
    async with key.once(caller) as once:
        if once.is_new:
            once.reply(202, {"item": str(body.get("item"))})
    return once.response()


@router.post("/slow-orders", needs=BUY, status_code=202, raises=IDEMPOTENT, include_in_schema=False)
async def order_slowly(caller: Who, key: Key, body: Order) -> Response:
    """Order something, and wait inside the transaction until the test says."""
    async with key.once(caller, conflict_status=409) as once:
        if once.is_new:
            started.set()
            await may_end.wait()
            once.reply(202, {"item": body.item})
    return once.response()


@router.post("/counted-orders", needs=BUY, status_code=202, raises=IDEMPOTENT, include_in_schema=False)
async def order_and_count(caller: Who, key: Key, body: Order) -> Response:
    """Order something, wait outside of a transaction until the test says, then answer."""
    async with key.begin(caller) as once:
        if once.is_new:
            await enqueue(once.conn, NewJob("shop.ship", body.model_dump_json()))
    if once.is_new:
        started.set()
        await may_end.wait()
        async with once.finish(caller) as conn:
            await enqueue(conn, NewJob("shop.count", body.model_dump_json()))
            once.reply(202, {"item": body.item, "attempt": once.attempt})
    return once.response()


@router.post("/broken-orders", needs=BUY, status_code=202, include_in_schema=False)
async def order_and_fail(caller: Who, key: Key, body: Order) -> Response:
    """Add a job, then break: nothing may stay."""
    async with key.once(caller) as once:
        await enqueue(once.conn, NewJob("shop.ship", body.model_dump_json()))
        raise ZeroDivisionError("planted-secret-4711")


@router.post("/catalogues", needs=BUY, status_code=202, max_body_bytes=8192, include_in_schema=False)
async def send_catalogue(request: Request) -> int:
    """Send more than an order may have."""
    return len(await request.body())


@router.get("/whoami", needs=BUY)
async def whoami(caller: Who) -> dict[str, Any]:
    """Who the database thinks is asking."""
    async with caller.transaction() as conn:
        found = await (
            await conn.execute(
                "select current_user::text, current_setting('app.tenant_id', true),"
                " current_setting('app.current_user_id', true),"
                " current_setting('app.correlation_id', true)"
            )
        ).fetchone()
    assert found is not None
    return dict(zip(("role", "tenant", "user", "correlation"), found, strict=True))


@router.get("/forgetful", needs=BUY)
async def forget_the_tenant(caller: Who) -> int:
    """Count jobs as the tenant role without saying which tenant: nothing may be seen."""
    async with caller.client.transaction() as conn:
        await conn.execute("set local role ostinato_tenant")
        found = await (await conn.execute("select count(*) from ostinato_data.job")).fetchone()
    assert found is not None
    return int(found[0])


@router.get("/missing", needs=BUY, raises=(NotFound,))
async def missing() -> None:
    """Nothing is ever found here."""
    raise NotFound("there is no such thing", password="hunter2", thing=7)
