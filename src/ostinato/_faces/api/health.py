"""`/health/live`: this process answers. `/health/ready`: it can serve requests.

Ready means that the database answers and its schema fits this code. The other values (no worker
alive, events that wait) are for people and alerts; an API that refused requests because workers
are away would make it worse.
"""

import time
from typing import Literal

from fastapi import Request, Response
from pydantic import BaseModel, Field

from ostinato._core.base.errors import OstinatoError
from ostinato._core.db import migrate
from ostinato._core.db.sqlstate import translated
from ostinato._core.engine import clock, observe
from ostinato._core.engine.workers import CONTRACT
from ostinato._core.web.routes import Router
from ostinato._faces.api.parts import Parts, parts_of

LAGGING_SECONDS = 60.0

router = Router(prefix="/health", tags=["operations"])


class Check(BaseModel):
    """One thing that was checked."""

    name: Literal["database", "migrations", "workers", "outbox"]
    state: Literal["ok", "warn", "fail"]
    detail: str = Field(examples=["answered in 1.2 ms"])


class Health(BaseModel):
    """The health of this process."""

    status: Literal["ok", "warn", "fail"]
    checks: list[Check] = []


@router.get("/live", public=True, uncounted=True)
async def live() -> Health:
    """Check that this process answers. Does not use the database."""
    return Health(status="ok")


@router.get(
    "/ready",
    public=True,
    uncounted=True,
    responses={503: {"model": Health, "description": "Requests cannot be served."}},
)
async def ready(request: Request, response: Response) -> Health:
    """Check whether requests can be served: 200 or 503, with the checks."""
    checks = await _checks(parts_of(request))
    states = {check.state for check in checks}
    status = next(state for state in ("fail", "warn", "ok") if state in states)
    if status == "fail":
        response.status_code = 503
    return Health(status=status, checks=checks)


async def _checks(parts: Parts) -> list[Check]:
    started = time.perf_counter()
    try:
        with translated():
            async with parts.client.connection() as conn:
                await clock.now(conn)
                took = (time.perf_counter() - started) * 1000
                database = Check(name="database", state="ok", detail=f"answered in {took:.1f} ms")
                try:
                    await migrate.check_contract(conn, CONTRACT)
                except OstinatoError as error:
                    return [database, Check(name="migrations", state="fail", detail=error.message)]
                figures = {(f.name, f.label): f.value for f in await observe.declared(conn)}
    except OstinatoError as error:
        return [Check(name="database", state="fail", detail=error.message)]
    fits = Check(name="migrations", state="ok", detail=f"contract {CONTRACT}")
    return [database, fits, _workers(figures), _outbox(figures)]


def _workers(figures: dict[tuple[str, str], float]) -> Check:
    seen = int(figures.get(("workers", ""), 0))
    silent = int(figures.get(("expired_workers", ""), 0))
    state: Literal["ok", "warn"] = "ok" if seen and not silent else "warn"
    return Check(name="workers", state=state, detail=f"{seen} living, {silent} silent")


def _outbox(figures: dict[tuple[str, str], float]) -> Check:
    waits = [value for (name, _), value in figures.items() if name == "subscription_lag_seconds"]
    most = max(waits, default=0.0)
    state: Literal["ok", "warn"] = "ok" if most < LAGGING_SECONDS else "warn"
    return Check(name="outbox", state=state, detail=f"the oldest event has waited {most:.1f} s")
