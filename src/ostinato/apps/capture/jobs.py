"""Checks captures after their intake, and starts the check again where it got stuck.

Between the steps nothing is kept but states and verdicts. The key of a capture and its content live
in one function call (`sealing.examine`); a step keeps only what came of it.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

from ostinato import Context, Retry, Snooze, database
from ostinato.apps.capture import APP, heads, keyring, objects, rechecks, rules, sealing, service, setup, signing
from ostinato.apps.capture.events import UPLOADED
from ostinato.apps.capture.keyring import Keyring, KeyringUnavailable
from ostinato.apps.capture.model import Material, Reason, State, Verdict
from ostinato.apps.capture.objects import ObjectMissing, Objects, OfTenant, StoreUnavailable
from ostinato.apps.capture.queries import QUERIES, Connection, Row
from ostinato.apps.capture.settings import CaptureSettings
from ostinato.errors import NotConfigured, NotFound
from ostinato.jobs import wake_after_commit
from ostinato.observe import get_logger

log = get_logger("capture")

RETRY = Retry(delays=(5, 30, 120, 600, 3600, 3600, 3600), permanent=(NotFound,))
CHECK_SECONDS, RECHECK_SECONDS = 900.0, 3600.0
TOO_LATE = -1
PAGE = 200
OPEN = frozenset({State.RECEIVED, State.UPLOADING, State.UPLOADED, State.VERIFYING})


@dataclass(frozen=True, slots=True)
class World:
    """What checks of captures need beside the database."""

    settings: CaptureSettings
    keyring: Keyring
    objects: Objects

    def objects_of(self, tenant_id: str) -> Objects:
        """Return what a tenant may name of the store."""
        return OfTenant(self.objects, tenant_id) if self.settings.object_prefix == "tenant" else self.objects

    async def examine(self, material: Material) -> Verdict:
        """Check whether the object of a capture is what was declared; raises as `sealing.examine`."""
        bound = self.settings.content_context == "bound"
        return await sealing.examine(material, self.keyring, self.objects_of(material.tenant_id), bound=bound)


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
    waited = material.now - material.received_at
    if material.state not in OPEN:
        return None
    await ctx.step_in_transaction("await_upload", service.advance, material, "await_upload")
    try:
        while (size := await ctx.step("find_object", _look, here, material)) is None:
            await _await_upload(ctx, here, material)
        if size == TOO_LATE:
            raise ObjectMissing  # noqa: TRY301 - as below
        await ctx.step_in_transaction("arrive", service.advance, material, "arrive")
        await ctx.step_in_transaction("examine", service.advance, material, "examine")
        found = await ctx.step("check", _check, here, material)
    except ObjectMissing:
        if _left(here, material) > 0:  # it was there, and is gone
            return Snooze(rules.look_delay(waited, here.settings.upload_poll_seconds))
        await _settle(ctx, material, "fail", Verdict(Reason.OBJECT_MISSING))
        return None
    except (KeyringUnavailable, StoreUnavailable) as error:
        # By time and not by count: what is away for a day must cost no capture.
        reason = error.reason if isinstance(error, KeyringUnavailable) else Reason.UNAVAILABLE
        if waited < timedelta(hours=here.settings.trouble_hours):
            noted = {"capture_id": material.fields.capture_id, "reason": reason}
            ctx.log.warning("capture_waits", **noted, problem=str(error))
            return Snooze(rules.trouble_delay(waited, here.settings.upload_poll_seconds))
        await _settle(ctx, material, "fail", Verdict(reason))
        return None
    verdict = _verdict(found)
    await _settle(ctx, material, "seal" if verdict.reason is None else "reject", verdict)
    return None


@APP.job(queue=service.QUEUE, timeout=RECHECK_SECONDS)
async def recheck(ctx: Context) -> dict[str, int]:
    """Check the objects of sealed captures again, some of those that were not looked at for the longest.

    What changed is told by an event, an entry of the audit log and the alert `capture.changed`. A
    store that does not answer ends the run: the next one begins with the same captures.
    """
    settings = ctx.settings(CaptureSettings)
    here = await ctx.shared(world, settings)
    if not settings.recheck_days:
        return {}
    async with ctx.fenced() as conn:
        before = await database.now(conn) - timedelta(days=settings.recheck_days)
        found = await QUERIES.rows(conn, "to_recheck", before=before, most=settings.recheck_batch)
    counted = Counter[str]()
    for row in found:
        if ctx.stopping:
            break
        try:
            counted[await rechecks.recheck(ctx, here, row["tenant_id"], row["capture_event_id"])] += 1
        except StoreUnavailable as error:
            ctx.log.warning("captures_not_rechecked", problem=str(error))
            break
    if counted:
        ctx.log.info("captures_rechecked", **counted)
    return dict(counted)


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
        async with ctx.fenced() as conn:
            failed, started = await _reconcile(conn, found, settings.reconcile_attempts)
        counted["alive"] += len(found) - failed - started
        counted["started"] += started
        counted["failed"] += failed
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
APP.schedule(recheck, cron="37 * * * *", catch_up="none")


async def _look(here: World, material: Material) -> int | None:
    """Return the size of the object; None: it is still waited for; `TOO_LATE`: no longer."""
    try:
        return (await here.objects_of(material.tenant_id).find(material.fields.upload_object_key)).size
    except ObjectMissing:
        return None if _left(here, material) > 0 else TOO_LATE


async def _await_upload(ctx: Context, here: World, material: Material) -> None:
    """Leave the worker until somebody announces the object, or it is time for another look."""
    delay = rules.look_delay(material.now - material.received_at, here.settings.upload_poll_seconds)
    # No less than the least, for a replay that comes by long after the wait was over.
    left = max(_left(here, material), here.settings.upload_poll_seconds)
    with contextlib.suppress(TimeoutError):
        await ctx.wait_for(UPLOADED.name, material.capture_event_id, timeout=min(delay, left))


def _left(here: World, material: Material) -> float:
    """Return how many seconds an object is still waited for."""
    ends = material.received_at + timedelta(hours=here.settings.upload_hours)
    return (ends - material.now).total_seconds()


async def _check(here: World, material: Material) -> dict[str, str | None]:
    verdict = await here.examine(material)
    return {"reason": None if verdict.reason is None else verdict.reason.value, "version": verdict.object_version}


def _verdict(found: dict[str, str | None] | str | None) -> Verdict:
    """Return what a check found; before 0.2 that was its reason alone."""
    if not isinstance(found, dict):
        return Verdict(None if found is None else Reason(found))
    reason = found["reason"]
    return Verdict(None if reason is None else Reason(reason), found["version"])


async def _settle(ctx: Context, material: Material, event: str, verdict: Verdict) -> None:
    reason = verdict.reason
    async with ctx.transaction() as conn:
        state = await service.settle(conn, material, event, reason, object_version=verdict.object_version)
    noted = {"capture_id": material.fields.capture_id, "reason": reason}
    (ctx.log.info if reason is None else ctx.log.warning)(f"capture_{state.lower()}", **noted)


async def _reconcile(conn: Connection, found: Sequence[Row], most: int) -> tuple[int, int]:
    """Start what has no live check, or settle it; return how many of them failed, and were started."""
    if not found:
        return 0, 0
    tenants_, ids = [row["tenant_id"] for row in found], [row["capture_event_id"] for row in found]
    dead = await QUERIES.rows(conn, "restart_checks", tenant_ids=tenants_, ids=ids, most=most)
    given_up = [row for row in dead if not row["started"]]
    for row in given_up:
        material = await service.load_material(conn, row["tenant_id"], row["capture_event_id"])
        await service.settle(conn, material, "fail", Reason.ABANDONED, by="capture.reconcile")
    if len(dead) > len(given_up):
        wake_after_commit(service.QUEUE)
    return len(given_up), len(dead) - len(given_up)
