"""A folder tended by a worker: the same tick, under a lease, and everything that it says kept.

    tick (in a thread) → what changed: rows and events, in one transaction that only the owner of
    the job commits → decisions taken in the database: decision.json

A job's work folder is removed only when all its states were told, and every start tells what
`work/` holds: so no state is lost between the files and the outbox, whatever dies.
"""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, ParamSpec, Protocol, TypeVar

from psycopg import AsyncConnection
from psycopg.types.json import Json

from ostinato.apps.watchfolder import duplicates, queries, service
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.local import Local
from ostinato.apps.watchfolder.memory import Memory
from ostinato.apps.watchfolder.model import Config, Document
from ostinato.apps.watchfolder.service import Place
from ostinato.apps.watchfolder.settings import WatchfolderSettings
from ostinato.apps.watchfolder.setup import BUSY_TICK_SECONDS, Profile
from ostinato.errors import NotFound

__all__ = ["Keeper", "Tending", "stations"]

NOTE_SECONDS = 5.0
RECONCILE_SECONDS = 1.0
LEAST_BEAT_SECONDS, BEAT_SECONDS = 0.1, 5.0

P = ParamSpec("P")
T = TypeVar("T")


class Keeper(Protocol):
    """What tending needs of the context of its job; `Context` has it."""

    stopping: bool
    cancelled: bool

    def fenced(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """A transaction that only the owner of the job commits."""


class Tending:
    """One folder in the hands of one worker."""

    def __init__(
        self,
        ctx: Keeper,
        place: Place,
        folders: Folders,
        config: Config,
        *,
        renew_seconds: float | None = None,
    ) -> None:
        """With `renew_seconds`, `run` ends well after that time, so that crashes are forgotten."""
        self._ctx = ctx
        self._renew_seconds = renew_seconds
        self._halt = threading.Event()
        self._place = place
        self._folders = folders
        self._config = config
        self._untold: dict[str, Document] = {}
        self._unkept: dict[str, str] = {}
        """Jobs that the database refuses, with its reason; their work folders stay."""
        self._refused: list[Document] = []
        self._problem: str | None = None
        self._noted = self._reconciled = float("-inf")
        config["on_event"] = self._hear
        config["halt"] = self._halt
        config["settled"] = lambda job_key: (
            job_key not in self._untold and job_key not in self._unkept
        )

    async def run(self) -> str:
        """Tick until it is "paused", the worker is "stopping", or it is time to "renew"."""
        # Run as a program, `main` must not have been imported by its own package.
        from ostinato.apps.watchfolder import main  # noqa: PLC0415 - as above

        in_flight, index, index_path = await self._in_thread(main.begin, self._config)
        profile = Profile(self._config)
        memory: Memory = self._config["memory"]
        clock = asyncio.get_running_loop().time
        renew_at = clock() + (self._renew_seconds or float("inf"))
        try:
            while True:
                known = await self._in_thread(profile.get)
                done = await self._in_thread(
                    main.process_tick, in_flight, index, index_path, known, self._config
                )
                self._problem = _problem(done, known)
                active = await self._tell()
                if not active:
                    return "paused"
                if self._ctx.stopping or self._ctx.cancelled:
                    return "stopping"
                if clock() >= renew_at:
                    return "renew"
                busy = in_flight or memory.staged or self._untold
                pause = float(self._config["tick_s"])
                await asyncio.sleep(min(pause, BUSY_TICK_SECONDS) if busy else pause)
        finally:
            await asyncio.to_thread(memory.close)

    async def _in_thread(self, work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Work in a thread, waited for also when this is cancelled.

        Whoever comes next may find the folder only when nobody moves files in it any more.
        """
        task = asyncio.ensure_future(asyncio.to_thread(work, *args, **options))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._halt.set()
            while not task.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait({task})
            raise

    def _hear(self, event: Document) -> None:
        if event["kind"] == "job":
            self._untold[event["jobKey"]] = event
            self._unkept.pop(event["jobKey"], None)
        elif event["kind"] == "refused":
            self._refused.append(event)

    async def _tell(self) -> bool:
        """Keep and tell what changed; whether the folder is still to be tended."""
        now = asyncio.get_running_loop().time()
        note = now - self._noted >= NOTE_SECONDS
        look = now - self._reconciled >= RECONCILE_SECONDS
        if not (self._untold or self._refused or note or look):
            return True
        documents, files = dict(self._untold), list(self._refused)
        held = await asyncio.to_thread(duplicates.held, self._folders) if look else None
        decisions: list[dict[str, Any]] = []
        active = True
        async with self._ctx.fenced() as conn:
            unkept = await service.keep(conn, self._place, documents.values())
            await service.refuse(conn, self._place, files)
            if held is not None:
                decisions = await service.reconcile(conn, self._place, held)
                active = await self._is_active(conn)
            if note or documents:
                await self._note(conn)
        del self._refused[: len(files)]
        for job_key, document in documents.items():
            if self._untold.get(job_key) is document:
                del self._untold[job_key]
        self._unkept |= unkept
        self._noted = now if note or documents else self._noted
        self._reconciled = now if look else self._reconciled
        for row in decisions:
            await asyncio.to_thread(self._write_down, row)
        return active

    async def _is_active(self, conn: AsyncConnection[Any]) -> bool:
        found = await queries.rows(
            conn, "tended_folder", tenant_id=self._place.tenant_id, id=self._place.folder_id
        )
        return bool(found) and bool(found[0]["active"])

    async def _note(self, conn: AsyncConnection[Any]) -> None:
        await queries.run(
            conn,
            "note_tick",
            tenant_id=self._place.tenant_id,
            id=self._place.folder_id,
            metrics=Json(self._config["metrics"]),
            problem=self._problem or self._first_unkept(),
        )

    def _first_unkept(self) -> str | None:
        said = (f"job_not_kept: {job_key}: {why}" for job_key, why in self._unkept.items())
        return next(said, "")[:2000] or None

    def _write_down(self, row: dict[str, Any]) -> None:
        with contextlib.suppress(NotFound):  # carried out meanwhile
            duplicates.decide(
                self._folders,
                row["job_key"],
                row["action"],
                row["decided_by"],
                row["decided_files"],
                at=row["decided_at"].isoformat(),
            )


def _problem(done: dict[str, Any], profile: Document | None) -> str | None:
    if profile is None:
        return "PREP or OCR does not answer"
    problems = done["problems"]
    return f"{problems[-1]['what']}: {problems[-1]['error']}"[:2000] if problems else None


@contextlib.asynccontextmanager
async def stations(
    chosen: WatchfolderSettings, folders: Folders, lang: str
) -> AsyncIterator[dict[str, str]]:
    """PREP and OCR: where they run, or processes of ours as long as the block lasts.

    What ours say goes to `index/prep.log` and `index/ocr.log`.
    """
    urls = {"prep_url": chosen.prep_url.rstrip("/"), "ocr_url": chosen.ocr_url.rstrip("/")}
    ours = {}
    beat = min(BEAT_SECONDS, max(LEAST_BEAT_SECONDS, chosen.job_timeout_seconds / 4))
    if not chosen.prep_url:
        options = [f"--concurrency={chosen.prep_concurrency}", f"--beat-seconds={beat:g}"]
        ours["prep_url"] = Local("prep", folders.work, options, folders.index / "prep.log")
    if not chosen.ocr_url:
        options = [f"--engine={chosen.ocr_engine}", f"--lang={lang}", f"--beat-seconds={beat:g}"]
        options.append(f"--concurrency={chosen.ocr_concurrency}")
        ours["ocr_url"] = Local("ocr", folders.work, options, folders.index / "ocr.log")
    watching = None
    try:
        await asyncio.gather(*(asyncio.to_thread(local.start) for local in ours.values()))
        urls |= {name: local.url for name, local in ours.items()}
        watching = asyncio.create_task(_mend(list(ours.values())))
        yield urls
    finally:
        if watching is not None:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
        await asyncio.gather(*(asyncio.to_thread(local.stop) for local in ours.values()))


async def _mend(ours: list[Local]) -> None:
    while ours:
        await asyncio.sleep(1.0)
        for local in ours:
            await asyncio.to_thread(local.mend)
