"""The work behind the intake: each capture is checked, and those that got stuck are looked after.

Between the steps nothing is kept but states and verdicts. The key of a capture and its content live
in one function call (`sealing.examine`); a step keeps only what came of it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from psycopg import Rollback

from ostinato.apps.capture import APP, keyring, objects, sealing, service
from ostinato.apps.capture.keyring import Keyring, KeyringUnavailable
from ostinato.apps.capture.model import Material, Reason, State
from ostinato.apps.capture.objects import ObjectMissing, Objects, StoreUnavailable
from ostinato.apps.capture.queries import Connection, Row, rows
from ostinato.apps.capture.settings import CaptureSettings
from ostinato.base.backoff import Retry
from ostinato.base.errors import NotFound, UniqueConflict
from ostinato.engine import clock
from ostinato.engine.jobs import enqueue
from ostinato.runtime.context import Context
from ostinato.runtime.outcomes import Snooze

__all__ = ["reconcile", "verify"]

RETRY = Retry(delays=(5, 30, 120, 600, 3600, 3600, 3600), permanent=(NotFound,))
CHECK_SECONDS = 900.0
PAGE = 200
OPEN = frozenset({State.RECEIVED, State.UPLOADING, State.UPLOADED, State.VERIFYING})


@dataclass(frozen=True, slots=True)
class World:
    """What checks of captures need beside the database."""

    settings: CaptureSettings
    keyring: Keyring
    objects: Objects


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    """The keyring and the store that this process is set up with."""
    settings = CaptureSettings.load()
    yield World(settings, keyring.load(settings), objects.load(settings))


@APP.job(name=service.VERIFY, queue=service.QUEUE, retry=RETRY, timeout=CHECK_SECONDS)
async def verify(ctx: Context, capture_event_id: str) -> Snooze | None:
    """Wait for the object, check it, and seal or reject the capture."""
    here = await ctx.shared(world)
    async with ctx.fenced() as conn:
        material = await service.load_material(conn, ctx.job.tenant_id, capture_event_id)
        waited = await clock.now(conn) - material.received_at
    if material.state not in OPEN:
        return None
    await ctx.step_in_transaction("await_upload", service.advance, material, "await_upload")
    try:
        await ctx.step("find_object", _find, here, material)
        await ctx.step_in_transaction("arrive", service.advance, material, "arrive")
        await ctx.step_in_transaction("examine", service.advance, material, "examine")
        found = await ctx.step("check", _check, here, material)
    except ObjectMissing:
        if waited < timedelta(hours=here.settings.upload_hours):
            return Snooze(here.settings.upload_poll_seconds)
        await _settle(ctx, material, "fail", Reason.OBJECT_MISSING)
        return None
    except (KeyringUnavailable, StoreUnavailable) as error:
        if ctx.job.failures + 1 < RETRY.max_attempts:
            raise
        reason = error.reason if isinstance(error, KeyringUnavailable) else Reason.UNAVAILABLE
        await _settle(ctx, material, "fail", reason)
        return None
    if found is None:
        await _settle(ctx, material, "seal", None)
    else:
        await _settle(ctx, material, "reject", Reason(found))
    return None


@APP.job(queue=service.QUEUE)
async def reconcile(ctx: Context) -> dict[str, int]:
    """Look after captures that should be settled by now and whose job has come to its end."""
    settings = (await ctx.shared(world)).settings
    counted = {"alive": 0, "started": 0, "failed": 0}
    async with ctx.fenced() as conn:
        before = await clock.now(conn) - timedelta(minutes=settings.reconcile_after_minutes)
        found = await rows(conn, "unsettled", before=before, most=PAGE)
    for row in found:
        async with ctx.fenced() as conn:
            counted[await _reconcile(conn, row, settings.reconcile_attempts)] += 1
    if counted["started"] or counted["failed"]:
        ctx.log.warning("captures_reconciled", **counted)
    return counted


APP.schedule(reconcile, cron="*/10 * * * *", catch_up="none")


async def _find(here: World, material: Material) -> int:
    return (await here.objects.find(material.fields.upload_object_key)).size


async def _check(here: World, material: Material) -> str | None:
    bound = here.settings.content_context == "bound"
    verdict = await sealing.examine(material, here.keyring, here.objects, bound=bound)
    return None if verdict.reason is None else verdict.reason.value


async def _settle(ctx: Context, material: Material, event: str, reason: Reason | None) -> None:
    async with ctx.transaction() as conn:
        state = await service.settle(conn, material, event, reason)
    told = {"capture_id": material.fields.capture_id, "reason": reason}
    (ctx.log.info if reason is None else ctx.log.warning)(f"capture_{state.lower()}", **told)


async def _reconcile(conn: Connection, row: Row, most: int) -> str:
    named = {"tenant_id": row["tenant_id"], "id": row["capture_event_id"]}
    try:
        async with conn.transaction():
            await enqueue(conn, service.job_of(row["capture_event_id"], row["tenant_id"]))
            if row["attempts"] >= most:
                raise Rollback
    except UniqueConflict:
        await rows(conn, "note_reconciled", **named, started=0)
        return "alive"
    if row["attempts"] >= most:
        material = await service.load_material(conn, row["tenant_id"], row["capture_event_id"])
        if material.state in OPEN:
            await service.settle(conn, material, "fail", Reason.ABANDONED, by="capture.reconcile")
        return "failed"
    await rows(conn, "note_reconciled", **named, started=1)
    return "started"
