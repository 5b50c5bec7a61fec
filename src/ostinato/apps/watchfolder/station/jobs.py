"""The jobs of a service: accepted once, queued, run by a worker process, kept until fetched.

    accepted   `<service>.job.json` is on the disk before the caller hears 202
    running    one worker process for each slot; a job that waits is heartbeated, too
    done       the process wrote `<output>.a<attempt>.part`; only the current attempt is renamed
    restarted  what has its `done.json` is DONE, what has not is ERROR SERVICE_RESTARTED

A higher attempt of a job kills the process of the one before: two never write one output.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ostinato.apps.watchfolder.station.left import left_in
from ostinato.apps.watchfolder.station.outputs import beat_of, environment, hashed, outcome_of
from ostinato.apps.watchfolder.station.places import Places
from ostinato.apps.watchfolder.station.records import Conflict, Job, Plan, Unavailable, crash, task_of
from ostinato.apps.watchfolder.station.refused import Refused, reason_of
from ostinato.apps.watchfolder.station.turns import is_long, long_slots, turn
from ostinato.apps.watchfolder.station.worker import outcome_name, tmp_name
from ostinato.apps.watchfolder.utils import atomic_write_json, fsync_dir, now_iso
from ostinato.observe import get_logger

FORKSERVER = (sys.executable, "-m", "ostinato.apps.watchfolder.station.forkserver")
PREDECESSOR_SECONDS = 20.0
ENTER_SECONDS = 2.0
"""Longest time that a request waits for the lock of a folder."""

log = get_logger("watchfolder.station")


class Station:
    """The jobs of one service in the folders that it serves: one, or all below a root."""

    def __init__(self, plan: Plan, work_dir: Path | None, root: Path | None = None) -> None:
        self.plan = plan
        self.places = Places(plan.name, work_dir, root)
        self.counts = {"accepted": 0, "done": 0, "error": 0}
        self._jobs: dict[Path, Job] = {}
        self._queue: list[Job] = []
        self._running: dict[str, Job] = {}
        self._forkserver: Process | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._listener: asyncio.Task[None] | None = None
        self._closing = False
        self._idle = asyncio.Event()
        self._entering: dict[Path, asyncio.Task[None]] = {}

    def claim(self) -> None:
        """Lock the folder that the service was started for, or raise `LeaseHeld`."""
        if self.places.default is not None:
            self.places.claim(self.places.default, patience=PREDECESSOR_SECONDS)

    async def open(self) -> None:
        """Start the fork server, and find what a process before us left."""
        await asyncio.to_thread(self.claim)
        if self.places.default is not None:
            self._take_up(self.places.default)
        await self._start_forkserver()
        self._watcher = asyncio.create_task(self._watch())

    async def enter(self, place: Path) -> None:
        """Work in a folder from now on; `Unavailable` while a service before us still has it.

        The caller is not kept waiting: it asks again.
        """
        if place in self.places.held() and place not in self._entering:
            return
        if place not in self._entering:
            self._entering[place] = asyncio.create_task(self._enter(place))
        task = self._entering[place]
        await asyncio.wait({task}, timeout=ENTER_SECONDS)
        if not task.done():
            raise Unavailable(503)
        self._entering.pop(place, None)
        if (error := task.exception()) is not None:
            log.warning("folder_not_entered", service=self.plan.name, error=str(error))
            raise Unavailable(503) from error

    async def _enter(self, place: Path) -> None:
        if await asyncio.to_thread(self.places.claim, place, patience=PREDECESSOR_SECONDS):
            if self._forkserver is not None:
                self._say({"hold": str(self._lock_file(place))})
            self._take_up(place)

    def leave(self, place: Path) -> None:
        """Work in a folder no more: what runs there ends, and another service may have it."""
        for job in [job for job in self._jobs.values() if job.folder.parent == place]:
            if job.state == "RUNNING":
                self._end(job, Refused("SERVICE_RESTARTED", "the service left the folder"))
            self._jobs.pop(job.folder, None)
        if place in self.places.held() and self._forkserver is not None:
            self._say({"drop": str(self._lock_file(place))})
        self.places.release(place)

    def _lost(self, place: Path, error: str) -> None:
        """Leave a folder whose lock the fork server cannot share; its next request tries to lock it anew."""
        log.warning("folder_not_held", service=self.plan.name, folder=str(place), error=error)
        if place != self.places.default:
            self.leave(place)

    def _lock_file(self, place: Path) -> Path:
        return place / f".{self.plan.name}.lock"

    def _take_up(self, place: Path) -> None:
        """Find the jobs that a service before us had in a folder."""
        self._jobs |= {job.folder: job for job in left_in(place, self.plan)}

    async def close(self, drain_seconds: float = 0.0) -> None:
        """Take no more; let what runs end for a while, then end it."""
        self._closing = True
        if self._running and drain_seconds > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._emptied(), drain_seconds)
        for task in (self._watcher, self._listener):
            if task is not None:
                task.cancel()
        forkserver = self._forkserver
        if forkserver is not None and forkserver.returncode is None:
            assert forkserver.stdin is not None  # noqa: S101 - a pipe was asked for
            forkserver.stdin.close()
            try:
                await asyncio.wait_for(forkserver.wait(), 5)
            except TimeoutError:
                forkserver.kill()
                await forkserver.wait()
        self.places.release_all()

    async def _emptied(self) -> None:
        while self._running:
            self._idle.clear()
            await self._idle.wait()

    def submit(self, body: dict[str, Any], place: Path | None = None) -> tuple[Job, bool]:
        """Take a job, or know it again: the job, and whether it is new."""
        folder, attempt = self._folder(body["jobKey"], place), int(body["attempt"])
        known = self._find(folder)
        if known is not None:
            if attempt < known.attempt:
                raise Conflict("OLD_ATTEMPT", known.attempt)
            if attempt == known.attempt:
                if known.body != body:
                    raise Conflict("PAYLOAD_MISMATCH", known.attempt)
                return known, False
        if self._closing:
            raise Unavailable(503)
        if len(self._queue) >= self.plan.queue_length:
            raise Unavailable(429)
        job = Job(folder, attempt, body, options=self.plan.options_for(body) if self.plan.options_for else {})
        in_the_way = self._write_down(job)
        if known is not None and known.state == "RUNNING":
            self._end(known, Refused("CANCELLED", "a later attempt came"))
        self._jobs[folder] = job
        self.counts["accepted"] += 1
        if (error := in_the_way or self._clear(folder)) is not None:
            self._fail(job, reason_of(error))
            return job, True
        self._queue.append(job)
        self._beat(job)
        self._fill()
        return job, True

    def _clear(self, folder: Path) -> OSError | None:
        """Remove what was said of the attempt before; returns what is in the way."""
        try:
            for name in (f"{self.plan.name}.done.json", f"{self.plan.name}.error.json", self._heartbeat):
                (folder / name).unlink(missing_ok=True)
        except OSError as error:
            return error
        return None

    def _write_down(self, job: Job) -> IsADirectoryError | None:
        """Write what was submitted; returns the folder that lies in the place of the file, if there is one."""
        try:
            atomic_write_json(job.folder / f"{self.plan.name}.job.json", job.body)
        except IsADirectoryError as error:
            return error
        except OSError as error:  # a full disk: what is known of the job stays as it is
            log.warning("job_not_accepted", service=self.plan.name, error=str(error))
            raise Unavailable(503) from error
        return None

    def _folder(self, job_key: str, place: Path | None) -> Path:
        top = place or self.places.default
        assert top is not None  # noqa: S101 - the address named one
        return top / job_key

    def find(self, job_key: str, place: Path | None = None) -> Job | None:
        """Return the job, if it is known and its folder is still there."""
        return self._find(self._folder(job_key, place))

    def _find(self, folder: Path) -> Job | None:
        job = self._jobs.get(folder)
        if job is None or folder.is_dir():
            return job
        self._forget(job)
        return None

    def cancel(self, job_key: str, attempt: int | None, place: Path | None = None) -> Job | None:
        """Stop a job; one that has ended, or a later attempt, is left as it is."""
        job = self.find(job_key, place)
        if job is not None and job.state == "RUNNING" and attempt in (None, job.attempt):
            self._end(job, Refused("CANCELLED", "somebody asked for it"))
        return job

    def document(self, job: Job) -> dict[str, Any]:
        """Return a job as the answer to a poll."""
        return job.document(self._last_beat(job) if job.state == "RUNNING" else {})

    @property
    def load(self) -> dict[str, int]:
        """How much there is to do."""
        return {"queued": len(self._queue), "running": len(self._running)}

    @property
    def alive(self) -> bool:
        """Whether worker processes can be started."""
        running = self._forkserver is not None and self._forkserver.returncode is None
        tasks = (self._watcher, self._listener)
        return running and all(task is not None and not task.done() for task in tasks)

    @property
    def _heartbeat(self) -> str:
        return f"{self.plan.name}.heartbeat"

    async def _start_forkserver(self) -> None:
        self._forkserver = await asyncio.create_subprocess_exec(
            *FORKSERVER, self.plan.work, stdin=PIPE, stdout=PIPE, env=environment(), start_new_session=True
        )
        assert self._forkserver.stdout is not None  # noqa: S101 - a pipe was asked for
        line = await self._forkserver.stdout.readline()
        if b"ready" not in line:
            raise RuntimeError("the fork server did not start")
        for place in self.places.held():
            self._say({"hold": str(self._lock_file(place))})
        self._listener = asyncio.create_task(self._listen(self._forkserver))

    async def _listen(self, forkserver: Process) -> None:
        assert forkserver.stdout is not None  # noqa: S101 - a pipe was asked for
        while line := await forkserver.stdout.readline():
            news = json.loads(line)
            if "unheld" in news:
                self._lost(Path(news["unheld"]).parent, news["error"])
            elif "pid" in news and news["id"] in self._running:
                self._running[news["id"]].pid = news["pid"]
            if "ended" in news:
                job = self._running.pop(news["id"], None)
                self._fill()
                if job is not None:
                    await self._settle(job, news["ended"])
        if not self._closing:
            log.error("forkserver_died", service=self.plan.name)
            self._forkserver = None  # nobody is to be ordered from the dead one
            for job in list(self._running.values()):
                del self._running[job.id]
                if job.pid is not None:  # it died with the fork server; what it started did not
                    with contextlib.suppress(OSError):
                        os.killpg(job.pid, signal.SIGKILL)
                self._fail(job, Refused("SERVICE_RESTARTED", "the fork server died"))
            await self._start_forkserver()
            self._fill()

    def _fill(self) -> None:
        """Start as many worker processes as there are slots for."""
        self._idle.set()
        self._queue = [job for job in self._queue if job.state == "RUNNING"]
        while len(self._running) < self.plan.concurrency and self.alive and not self._closing:
            job = self._next()
            if job is None:
                return
            self._queue.remove(job)
            self._order_process(job)

    def _next(self) -> Job | None:
        """Find whose turn it is: of the tenant that has least, short documents before long ones."""
        running = self._running.values()
        full = sum(is_long(job.pages) for job in running) >= long_slots(self.plan.concurrency)
        waiting = [job for job in self._queue if not (full and is_long(job.pages))]
        having = Counter(job.tenant for job in running)
        return min(waiting, key=lambda job: (having[job.tenant], turn(job.queued, job.pages)), default=None)

    def _order_process(self, job: Job) -> None:
        plan, folder = self.plan, job.folder
        try:
            for stale in folder.glob(f"{plan.output}.a*.part"):
                stale.unlink(missing_ok=True)
            (folder / outcome_name(plan.name, job.attempt)).unlink(missing_ok=True)
        except OSError as error:  # what lies in one folder must never end the service
            self._fail(job, reason_of(error))
            return
        sharing = min(plan.concurrency, len(self._running) + len(self._queue) + 1)
        job.moved = time.monotonic()
        self._running[job.id] = job
        self._say({"start": job.id, "task": task_of(plan, job, sharing), "limits": asdict(plan.limits)})

    def _say(self, order: dict[str, Any]) -> None:
        assert self._forkserver is not None  # noqa: S101 - started first
        assert self._forkserver.stdin is not None  # noqa: S101 - a pipe was asked for
        self._forkserver.stdin.write(json.dumps(order).encode() + b"\n")

    async def _settle(self, job: Job, ended: dict[str, Any]) -> None:
        """Keep what a worker process made that has ended, if it is still wanted."""
        shutil.rmtree(job.folder / tmp_name(self.plan.name, job.attempt), ignore_errors=True)
        try:
            if self._is_wanted(job):
                await self._keep(job, ended)
        except Exception as error:  # noqa: BLE001 - what a process left must never end the service
            self._fail(job, reason_of(error))

    def _is_wanted(self, job: Job) -> bool:
        return self._jobs.get(job.folder) is job and job.state == "RUNNING"

    async def _keep(self, job: Job, ended: dict[str, Any]) -> None:
        folder = job.folder
        outcome = outcome_of(folder, self.plan.name, job.attempt)
        if job.doom is not None:
            raise job.doom
        if "error" in outcome:
            raise Refused(outcome["error"]["code"], outcome["error"]["message"])
        if "result" not in outcome:
            raise crash(ended)
        part = folder / f"{self.plan.output}.a{job.attempt}.part"
        output = folder / self.plan.output
        digest, size = await asyncio.to_thread(hashed, part)  # while others are answered
        if not self._is_wanted(job):
            return
        made = {"attempt": job.attempt, "sha256": digest, "path": str(output), "bytes": size}
        done = {**outcome["result"], "sandbox": outcome.get("sandbox"), **made}
        part.replace(output)
        fsync_dir(folder)
        atomic_write_json(folder / f"{self.plan.name}.done.json", done)
        job.state, job.result = "DONE", done
        self.counts["done"] += 1

    def _fail(self, job: Job, why: Refused) -> None:
        job.state, job.error = "ERROR", why.document()
        self.counts["error"] += 1
        with contextlib.suppress(OSError):
            failed = {"attempt": job.attempt, "error": job.error}
            atomic_write_json(job.folder / f"{self.plan.name}.error.json", failed)
        log.info("job_failed", service=self.plan.name, job_key=job.job_key, code=why.code)

    def _end(self, job: Job, why: Refused) -> None:
        """End a job now, its worker process included."""
        if job.id in self._running:
            job.doom = why
            self._say({"kill": job.id})
        self._fail(job, why)

    def _forget(self, job: Job) -> None:
        if job.id in self._running:
            self._say({"kill": job.id})
        job.state = "ERROR"
        self._jobs.pop(job.folder, None)

    async def _watch(self) -> None:
        """Beat for those that wait, end those that stand still, forget those that were fetched."""
        while True:
            await asyncio.sleep(min(1.0, self.plan.beat_seconds))
            try:
                for job in self._queue:
                    self._beat(job)
                for job in list(self._running.values()):
                    self._watch_one(job)
                for folder in list(self._jobs):
                    self._find(folder)
            except Exception as error:  # noqa: BLE001 - it must go on to watch the others
                log.warning("watch_failed", service=self.plan.name, error=str(error))

    def _watch_one(self, job: Job) -> None:
        """End a job that stands still: no other page, no other step, for too long."""
        beat = self._last_beat(job)
        page, pages = beat.get("page", 0), beat.get("pages", 0)
        where = (page, pages, str(beat.get("step", "")))
        seconds = self.plan.still_seconds(page, pages)
        if where != job.page:
            job.page, job.moved = where, time.monotonic()
        elif time.monotonic() - job.moved > seconds and job.doom is None:
            why = f"no new page within {seconds:g} s, at page {page} of {pages}"
            job.doom = Refused("TIMEOUT", f"{why} (page_timeout_s)")
            self._say({"kill": job.id})

    def _beat(self, job: Job) -> None:
        said = {"attempt": job.attempt, "pid": os.getpid(), "page": 0, "pages": 0, "at": now_iso()}
        with contextlib.suppress(OSError):
            atomic_write_json(job.folder / self._heartbeat, said, durable=False)

    def _last_beat(self, job: Job) -> dict[str, Any]:
        return beat_of(job.folder / self._heartbeat, job.attempt)
