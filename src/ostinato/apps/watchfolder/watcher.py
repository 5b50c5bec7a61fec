"""Watches one folder for a job of the engine: ticks, and records what each tick emitted.

    tick (in a thread) → what changed: rows and events, in one transaction that only the owner of
    the job commits → decisions taken in the database: decision.json

A job's work folder is removed only when all its states were recorded, and every start emits what
`work/` holds: so no state is lost between the files and the outbox, whatever dies.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, ParamSpec, Protocol, TypeVar

from psycopg import AsyncConnection

from ostinato.apps.watchfolder import failed, readings, service
from ostinato.apps.watchfolder.model import FINAL, Document
from ostinato.apps.watchfolder.queries import QUERIES
from ostinato.apps.watchfolder.service import Place
from ostinato.apps.watchfolder.tick import duplicates
from ostinato.apps.watchfolder.tick.again import send_again
from ostinato.apps.watchfolder.tick.context import Hooks
from ostinato.apps.watchfolder.tick.decisions import NotYet
from ostinato.apps.watchfolder.tick.duplicates import Undecidable
from ostinato.apps.watchfolder.tick.orchestrator import BUSY_TICK_SECONDS, LOOK_SECONDS, Orchestrator
from ostinato.apps.watchfolder.tick.profile import Profile
from ostinato.apps.watchfolder.tick.sights import blocked_sentence, last_problem

NOTE_SECONDS = 5.0
RECONCILE_SECONDS = 1.0

P = ParamSpec("P")
T = TypeVar("T")


class Owner(Protocol):
    """What a watcher needs of the context of its job; `Context` has it."""

    stopping: bool
    cancelled: bool

    def fenced(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """Open a transaction that only the owner of the job commits."""


class Watcher:
    """One folder that one worker watches."""

    def __init__(
        self,
        ctx: Owner,
        place: Place,
        orchestrator: Orchestrator,
        *,
        renew_seconds: float | None = None,
        keeps: bool = True,
    ) -> None:
        """Watch a folder; with `renew_seconds`, `run` ends well after that time, so that crashes are forgotten.

        `keeps` says whether what was read goes into the database.
        """
        self._ctx = ctx
        self._keeps = keeps
        self._renew_seconds = renew_seconds
        self._place = place
        self._orchestrator = orchestrator
        self._pending: dict[str, Document] = {}
        """The last state of each job that is not recorded yet."""
        self._rejected: dict[str, str] = {}
        """Jobs that the database refuses, with its reason; their work folders stay."""
        self._unwritten: dict[str, str] = {}
        """Decisions that could not be written down, with the reason."""
        self._refused: list[Document] = []
        self._problem: str | None = None
        self._noted = self._reconciled = float("-inf")
        orchestrator.hooks = Hooks(on_event=self._hear, is_recorded=self._is_recorded)

    async def run(self) -> str:
        """Tick until it is "paused", the worker is "stopping", or it is time to "renew"."""
        watched = self._orchestrator
        await self._in_thread(watched.begin)
        profile = Profile(watched.options)
        clock = asyncio.get_running_loop().time
        renew_at = clock() + (self._renew_seconds or float("inf"))
        try:
            while True:
                known = await self._in_thread(profile.get)
                done = await self._in_thread(watched.tick, known)
                self._problem = _problem(done, known, profile.trouble)
                active = await self._record()
                if not active:
                    return "paused"
                if self._ctx.stopping or self._ctx.cancelled:
                    return "stopping"
                if clock() >= renew_at:
                    return "renew"
                await self._rest(watched)
        finally:
            await asyncio.to_thread(watched.memory.close)

    async def _rest(self, watched: Orchestrator) -> None:
        """Wait for the next tick, or until a job has ended."""
        clock = asyncio.get_running_loop().time
        end = clock() + (min(watched.pause, BUSY_TICK_SECONDS) if self._pending else watched.pause)
        while (left := end - clock()) > 0:
            if not watched.in_flight:
                await asyncio.sleep(left)
            elif await self._in_thread(watched.has_news):
                return
            else:
                await asyncio.sleep(min(left, LOOK_SECONDS))

    async def _in_thread(self, work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Work in a thread, waited for also when this is cancelled.

        The next watcher may get the folder only when nobody moves files in it any more.
        """
        task = asyncio.ensure_future(asyncio.to_thread(work, *args, **options))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._orchestrator.hooks.halt.set()
            while not task.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait({task})
            raise

    def _hear(self, event: Document) -> None:
        if event["kind"] == "job":
            self._pending[event["jobKey"]] = event
            self._rejected.pop(event["jobKey"], None)
        elif event["kind"] == "refused":
            self._refused.append(event)

    def _is_recorded(self, job_key: str) -> bool:
        return job_key not in self._pending and job_key not in self._rejected

    async def _record(self) -> bool:
        """Record what changed and emit it; returns whether the folder is still to be watched."""
        now = asyncio.get_running_loop().time()
        note = now - self._noted >= NOTE_SECONDS
        look = now - self._reconciled >= RECONCILE_SECONDS
        if not (self._pending or self._refused or note or look):
            return True
        documents, files = dict(self._pending), list(self._refused)
        folders = self._orchestrator.folders
        held = await asyncio.to_thread(duplicates.held, folders) if look else None
        ended = [key for key, each in documents.items() if each.get("state") in FINAL] if self._keeps else []
        read = {key: await asyncio.to_thread(readings.read, folders.job(key)) for key in ended}
        decisions: list[dict[str, Any]] = []
        again: Sequence[dict[str, Any]] = ()
        active = True
        async with self._ctx.fenced() as conn:
            rejected = await service.record(conn, self._place, documents.values())
            await service.keep_readings(conn, self._place, read, skip=rejected)
            await service.emit_refused(conn, self._place, files)
            if held is not None:
                decisions = await service.reconcile(conn, self._place, held)
                again = await failed.to_send(conn, self._place)
                active = await self._is_active(conn)
            if note or documents:
                await self._note(conn)
        del self._refused[: len(files)]
        for job_key, document in documents.items():
            if self._pending.get(job_key) is document:
                del self._pending[job_key]
        self._rejected |= rejected
        self._noted = now if note or documents else self._noted
        self._reconciled = now if look else self._reconciled
        if look:
            self._unwritten = {}
        for row in decisions:
            await asyncio.to_thread(self._write_down, row)
        for row in again:
            await self._send_again(row)
        return active

    async def _send_again(self, row: dict[str, Any]) -> None:
        """Send a failed file through again; what cannot be done is told, or tried again when it is only in the way."""
        why = None
        tick = self._orchestrator.new_tick(None)
        try:
            await self._in_thread(send_again, tick, row["job_key"], row["file_name"], row["decided_by"])
        except NotYet:
            return
        except Undecidable as error:
            why = str(error)
        except OSError as error:  # a full disk, or somebody writes to it
            self._unwritten[row["job_key"]] = f"{type(error).__name__}: {error}"
            return
        async with self._ctx.fenced() as conn:
            await failed.note_sent(conn, self._place, row["job_key"], why)

    async def _is_active(self, conn: AsyncConnection[Any]) -> bool:
        place = self._place
        found = await QUERIES.first(conn, "watched_folder", tenant_id=place.tenant_id, id=place.folder_id)
        return found is not None and bool(found["active"])

    async def _note(self, conn: AsyncConnection[Any]) -> None:
        await QUERIES.run(
            conn,
            "note_tick",
            tenant_id=self._place.tenant_id,
            id=self._place.folder_id,
            metrics=self._orchestrator.metrics,
            problem=self._problem or self._first_kept_back(),
        )

    def _first_kept_back(self) -> str | None:
        about = {"job_not_kept": self._rejected, "decision_not_written": self._unwritten}
        said = (f"{what}: {job_key}: {why}" for what, found in about.items() for job_key, why in found.items())
        return next(said, "")[:2000] or None

    def _write_down(self, row: dict[str, Any]) -> None:
        """Write a decision for the next tick, also one about a file that was taken away since: the tick refuses it.

        What is in the way of one is told, and keeps no other waiting.
        """
        job_key = str(row["job_key"])
        place = self._orchestrator.folders.hold / job_key
        if not place.is_dir():  # carried out meanwhile
            return
        decided = {"action": row["action"], "decidedBy": row["decided_by"], "files": row["decided_files"]}
        try:
            duplicates.write_down(place, {**decided, "decidedAt": row["decided_at"].isoformat()})
        except OSError as error:  # a folder in the place of decision.json, or a full disk: tried again
            self._unwritten[job_key] = f"{type(error).__name__}: {error}"


def _problem(done: dict[str, Any], profile: Document | None, trouble: str | None) -> str | None:
    if profile is None:
        return f"PREP or OCR does not answer: {trouble or 'not yet'}"[:2000]
    if (last := last_problem(done)) is not None:
        return f"{last['what']}: {last['error']}"[:2000]
    return blocked_sentence(done["blocked"])
