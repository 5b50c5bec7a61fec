"""Checks captures after their intake, and starts the check again where it got stuck.

Between the steps nothing is kept but states and verdicts. The key of a capture and its content live
in one function call (`sealing.examine`); a step keeps only what came of it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

from psycopg import Rollback

from ostinato import Context, Retry, Snooze, database
from ostinato.apps.capture import APP, heads, keyring, objects, rules, sealing, service, setup, signing
from ostinato.apps.capture.keyring import Keyring, KeyringUnavailable
from ostinato.apps.capture.model import Material, Reason, State
from ostinato.apps.capture.objects import ObjectMissing, Objects, OfTenant, StoreUnavailable
from ostinato.apps.capture.queries import QUERIES, Connection, Row
from ostinato.apps.capture.settings import CaptureSettings
from ostinato.errors import NotConfigured, NotFound, UniqueConflict
from ostinato.observe import get_logger

log = get_logger("capture")

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

    def objects_of(self, tenant_id: str) -> Objects:
        """What a tenant may name of the store."""
        return OfTenant(self.objects, tenant_id) if self.settings.object_prefix == "tenant" else self.objects


class _Unset:
    """In the place of a keyring or a store that cannot be made: captures wait until it can be."""

    def __init__(self, error: NotConfigured) -> None:
        self._why = f"{error.message}: {error.hint}"

    async def unwrap(self, *_: object, **__: object) -> NoReturn:
        raise KeyringUnavailable(Reason.UNAVAILABLE, self._why)

    async def find(self, *_: object, **__: object) -> NoReturn:
        raise StoreUnavailable(self._why)

    def read(self, *_: object, **__: object) -> NoReturn:
        raise StoreUnavailable(self._why)


@asynccontextmanager
async def world(settings: CaptureSettings) -> AsyncIterator[World]:
    """Open the keyring and the store that the settings name."""
    for trouble in await asyncio.to_thread(setup.troubles, settings):
        log.warning("capture_setup", problem=trouble.problem, hint=trouble.hint)
    ring: Keyring
    store: Objects
    try:
        ring = keyring.load(settings)
    except NotConfigured as error:
        ring = _Unset(error)
    try:
        store = objects.load(settings)
    except NotConfigured as error:
        store = _Unset(error)
    yield World(settings, ring, store)


@APP.job(name=service.VERIFY, queue=service.QUEUE, retry=RETRY, timeout=CHECK_SECONDS)
async def verify(ctx: Context, capture_event_id: str) -> Snooze | None:
    """Wait for the object, check it, and seal or reject the capture."""
    here = await ctx.shared(world, ctx.settings(CaptureSettings))
    async with ctx.fenced() as conn:
        material = await service.load_material(conn, ctx.job.tenant_id, capture_event_id)
        waited = await database.now(conn) - material.received_at
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
        # By time and not by count: what is away for a day must cost no capture.
        reason = error.reason if isinstance(error, KeyringUnavailable) else Reason.UNAVAILABLE
        if waited < timedelta(hours=here.settings.trouble_hours):
            noted = {"capture_id": material.fields.capture_id, "reason": reason}
            ctx.log.warning("capture_waits", **noted, problem=str(error))
            return Snooze(rules.trouble_delay(waited, here.settings.upload_poll_seconds))
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
    settings = ctx.settings(CaptureSettings)
    counted = {"alive": 0, "started": 0, "failed": 0}
    async with ctx.fenced() as conn:
        before = await database.now(conn) - timedelta(minutes=settings.reconcile_after_minutes)
    more = True
    while more and not ctx.stopping:
        async with ctx.fenced() as conn:
            found = await QUERIES.rows(conn, "unsettled", before=before, most=PAGE)
        for row in found:
            async with ctx.fenced() as conn:
                counted[await _reconcile(conn, row, settings.reconcile_attempts)] += 1
        more = len(found) == PAGE
    if counted["started"] or counted["failed"]:
        ctx.log.warning("captures_reconciled", **counted)
    return counted


@APP.job(queue=service.QUEUE)
async def sign_heads(ctx: Context) -> dict[str, int] | Snooze:
    """Sign the heads of all chains that went on, export them, anchor what they cover.

    Nothing happens without the setting `signing_key_file`.
    """
    settings = ctx.settings(CaptureSettings)
    counted = {"signed": 0, "anchored": 0}
    if settings.signing_key_file is None:
        return counted
    key = await asyncio.to_thread(heads.read_key, Path(settings.signing_key_file))
    folder = Path(settings.heads_folder)
    async with ctx.fenced() as conn:
        chains = await signing.chains_to_sign(conn, key)
    for tenant_id, user_id in chains:
        if ctx.stopping:
            return Snooze(0)
        _, anchored = await signing.sign_head(ctx.fenced, tenant_id, user_id, key, folder=folder)
        counted["signed"] += 1
        counted["anchored"] += anchored
    if counted["signed"]:
        ctx.log.info("capture_heads_signed", **counted)
    return counted


APP.schedule(reconcile, cron="*/10 * * * *", catch_up="none")
APP.schedule(sign_heads, cron="7 * * * *", catch_up="none")


async def _find(here: World, material: Material) -> int:
    return (await here.objects_of(material.tenant_id).find(material.fields.upload_object_key)).size


async def _check(here: World, material: Material) -> str | None:
    bound = here.settings.content_context == "bound"
    verdict = await sealing.examine(material, here.keyring, here.objects_of(material.tenant_id), bound=bound)
    return None if verdict.reason is None else verdict.reason.value


async def _settle(ctx: Context, material: Material, event: str, reason: Reason | None) -> None:
    async with ctx.transaction() as conn:
        state = await service.settle(conn, material, event, reason)
    noted = {"capture_id": material.fields.capture_id, "reason": reason}
    (ctx.log.info if reason is None else ctx.log.warning)(f"capture_{state.lower()}", **noted)


async def _reconcile(conn: Connection, row: Row, most: int) -> str:
    named = {"tenant_id": row["tenant_id"], "id": row["capture_event_id"]}
    try:
        async with conn.transaction():
            await service.start_check(conn, row["tenant_id"], row["capture_event_id"])
            if row["attempts"] >= most:
                raise Rollback
    except UniqueConflict:
        await QUERIES.run(conn, "note_reconciled", **named, started=0)
        return "alive"
    if row["attempts"] >= most:
        material = await service.load_material(conn, row["tenant_id"], row["capture_event_id"])
        if material.state in OPEN:
            await service.settle(conn, material, "fail", Reason.ABANDONED, by="capture.reconcile")
        return "failed"
    await QUERIES.run(conn, "note_reconciled", **named, started=1)
    return "started"
