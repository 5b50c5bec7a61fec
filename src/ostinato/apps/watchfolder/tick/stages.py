"""Gives jobs to PREP and to OCR, polls them, and judges the answer (steps 3 to 7).

Both services are asked alike; `Step` says what differs. An attempt is written down before it is
sent. What is not the file's fault (a service that is away, restarts, or is busy) is tried again
with growing pauses and counts no attempt, up to a limit, because a file may be what takes it down.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostinato.apps.watchfolder.core import is_heartbeat_stale
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.model import INFRASTRUCTURE, PERMANENT, Document, InFlight
from ostinato.apps.watchfolder.station import client
from ostinato.apps.watchfolder.station.refused import of_system
from ostinato.apps.watchfolder.station.turns import is_long, long_slots, turn
from ostinato.apps.watchfolder.tick.context import Tick, log
from ostinato.apps.watchfolder.tick.finishing import fail, finalize
from ostinato.apps.watchfolder.tick.options import Options, Service
from ostinato.apps.watchfolder.utils import update_state

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
MOST_NOTES, LONGEST_NOTE = 50, 600_000
"""A note may name every member of the largest archive (`members` of the limits, 80 letters each and what they are)."""


@dataclass(frozen=True)
class Step:
    """PREP or OCR."""

    name: str
    ready: tuple[str, ...]
    """Stages in which a job can be handed to it."""
    attempts: str
    submits: str
    """Names in the state of a job."""
    output: str
    submit: Callable[..., dict[str, Any]]

    def service(self, options: Options) -> Service:
        """Return what the options say about its service."""
        return options.prep if self.name == "PREP" else options.ocr

    @property
    def running(self) -> str:
        """The stage of a job that the service has."""
        return f"{self.name}_RUNNING"

    @property
    def retry(self) -> str:
        """The stage of a job that is to be handed over again."""
        return f"{self.name}_RETRY"

    @property
    def heartbeat(self) -> str:
        """The file that the service touches while it works."""
        return f"{self.name.lower()}.heartbeat"


PREP = Step("PREP", ("DISCOVERED", "PREP_RETRY"), "attemptPrep", "submitPrep", "raw.pdf", client.submit_prep)
OCR = Step("OCR", ("PREP_DONE", "OCR_RETRY"), "attemptOcr", "submitOcr", "final.pdf", client.submit_ocr)


def schedule(tick: Tick, step: Step) -> None:
    """Hand over as many jobs as the service may have at once."""
    having = [meta for meta in tick.in_flight.values() if meta["stage"] == step.running]
    running, most = len(having), step.service(tick.options).concurrency
    long = sum(is_long(meta.get("pages")) for meta in having)
    for job_key, meta in _in_turn(tick, step):
        if running >= most or step.name in tick.away or tick.halted:
            return
        if is_long(meta.get("pages")) and long >= long_slots(most):
            continue  # a slot is left for short documents
        before = running
        with tick.guarded("job_not_submitted", job_key=job_key):
            try:
                running += _try_to_hand_over(tick, step, job_key, meta)
            except IsADirectoryError as error:  # it stays there, however often it is tried
                fail(tick, job_key, step.name, of_system(error).document())
            except OSError:  # ours, such as a full disk: the job is as it was, and can wait
                meta["nextAttemptAt"] = tick.now() + _pause(tick, 1)
                raise
        long += (running - before) * is_long(meta.get("pages"))


def _in_turn(tick: Tick, step: Step) -> list[tuple[str, Document]]:
    """Return the jobs that can be handed over now: short documents pass long ones."""
    now, ready = tick.now(), []
    for job_key, meta in tick.in_flight.items():
        if meta["stage"] in step.ready:
            meta.setdefault(f"ready{step.name}", now)
            if meta.get("nextAttemptAt", float("-inf")) <= now:
                ready.append((job_key, meta))
    return sorted(ready, key=lambda each: turn(each[1][f"ready{step.name}"], each[1].get("pages")))


def _try_to_hand_over(tick: Tick, step: Step, job_key: str, meta: Document) -> bool:
    """Submit one job, or end it when no attempt is left; return whether the service has it."""
    most = step.service(tick.options).max_attempts
    if (meta.get(step.attempts) or 0) >= most and not meta.get("again"):
        cause = meta.get("cause") or {"code": "ATTEMPTS", "message": "no attempt is left"}
        fail(tick, job_key, step.name, cause)
        return False
    return _hand_over(tick, step, job_key, meta)


def _hand_over(tick: Tick, step: Step, job_key: str, meta: Document) -> bool:
    """Submit one job, and return whether the service has it. Its state is written first, so a crash loses nothing."""
    counted, sent = int(meta.get(step.attempts) or 0), int(meta.get(step.submits) or 0)
    anew = not meta.get("again")
    if anew:
        counted, sent = counted + 1, sent + 1
    numbers = {step.attempts: counted, step.submits: sent}
    tick.state(job_key, state=f"{step.name}_SUBMITTED", message="", **numbers)
    if anew:
        _forget_heartbeat(tick, step, job_key)
    meta |= numbers
    more: dict[str, object] = {"attempt": sent}
    if step is PREP:
        path = str(tick.folders.found("inputPath", meta["inputPath"]))
        more["inputSha256"] = meta.get("fileHash")
    else:
        path = str(tick.folders.job(job_key) / "raw.pdf")
        more["lang"], more["pages"] = tick.options.ocr_lang, meta.get("pages")
    try:
        step.submit(step.service(tick.options).url, job_key, path, **more)
    except client.OldAttempt as error:
        meta[step.submits] = error.attempt
        meta.pop("again", None)
        meta[step.attempts] = counted - 1
        _set_back(tick, step, job_key, meta, error)
        return False
    except client.Unreachable as error:
        if isinstance(error, client.Away):
            tick.away.add(step.name)
        meta["again"] = True
        _set_back(tick, step, job_key, meta, error)
        return False
    for name in ("again", "beat"):
        meta.pop(name, None)
    meta |= {"stage": step.running, "stageStartedAt": tick.now()}
    meta["pollAt"] = tick.now() + tick.options.poll_s
    tick.state(job_key, state=step.running)
    tick.summary["submitted"] += 1
    return True


def _set_back(tick: Tick, step: Step, job_key: str, meta: Document, error: client.Unreachable) -> None:
    """Wait after a service was no help, and try the same again, until it has been too often."""
    meta["infra"] = int(meta.get("infra") or 0) + 1
    cause = {"code": error.code, "message": str(error), "retryable": True}
    if meta["infra"] >= tick.options.infra_max:
        fail(tick, job_key, step.name, cause)
        return
    meta["stage"] = step.retry
    meta["nextAttemptAt"] = tick.now() + _pause(tick, meta["infra"])
    tick.problem("service_unreachable", error, once=True, service=step.name)
    numbers = {name: meta.get(name) for name in (step.attempts, step.submits, "infra")}
    update_state(tick.folders.work, job_key, {**numbers, "message": str(error)})


def _pause(tick: Tick, count: int) -> float:
    return min(LONGEST_PAUSE, tick.options.retry_s * 2.0 ** min(count - 1, 10))


def _forget_heartbeat(tick: Tick, step: Step, job_key: str) -> None:
    """Remove the heartbeat of the attempt before: it must not speak for the next one."""
    (tick.folders.job(job_key) / step.heartbeat).unlink(missing_ok=True)


def poll(tick: Tick, step: Step) -> None:
    """Ask the service about every job that it has, those first that were not asked about longest.

    With `poll_s` a job whose service has not written how it ended is asked about that rarely.
    """
    running = [(key, meta) for key, meta in tick.in_flight.items() if meta["stage"] == step.running]
    for job_key, meta in sorted(running, key=lambda each: each[1].get("pollAt", float("-inf"))):
        if step.name in tick.away or tick.halted:
            return
        with tick.guarded("job_not_polled", job_key=job_key):
            meta.setdefault("stageStartedAt", tick.now())
            if _is_due(tick, step, job_key, meta):
                meta["pollAt"] = tick.now() + tick.options.poll_s
                _poll_one(tick, step, job_key, meta)


def _is_due(tick: Tick, step: Step, job_key: str, meta: Document) -> bool:
    return tick.now() >= meta.get("pollAt", float("-inf")) or _has_ended(tick.folders, step, job_key)


def ended(folders: Folders, in_flight: InFlight) -> set[tuple[str, str]]:
    """Return the jobs of which a service has written how they ended, with the stage that they are in."""
    running = {step.running: step for step in (PREP, OCR)}
    return {
        (job_key, meta["stage"])
        for job_key, meta in in_flight.items()
        if meta["stage"] in running and _has_ended(folders, running[meta["stage"]], job_key)
    }


def _has_ended(folders: Folders, step: Step, job_key: str) -> bool:
    folder, name = folders.job(job_key), step.name.lower()
    return any((folder / f"{name}.{how}.json").exists() for how in ("done", "error"))


def _poll_one(tick: Tick, step: Step, job_key: str, meta: Document) -> None:
    try:
        answer = client.poll_job(step.service(tick.options).url, job_key)
    except client.Unreachable as error:
        if error.code == "UNKNOWN_JOB":
            meta["again"] = True
            _set_back(tick, step, job_key, meta, error)
            meta["nextAttemptAt"] = tick.now()
        else:
            if isinstance(error, client.Away):
                tick.away.add(step.name)
            tick.problem("service_unreachable", error, once=True, service=step.name)
        return
    if int(answer.get("attempt") or meta.get(step.submits) or 0) < int(meta.get(step.submits) or 0):
        meta |= {"stage": step.retry, "again": True}  # it knows an attempt before ours only
        return
    match answer.get("state"):
        case "DONE":
            _done(tick, step, job_key, meta, answer.get("result") or {})
        case "ERROR":
            _error(tick, step, job_key, meta, answer.get("error") or {})
        case _:
            _note_progress(tick, step, job_key, meta, answer.get("progress") or {})


def _note_progress(tick: Tick, step: Step, job_key: str, meta: Document, progress: Document) -> None:
    if progress and meta.get("progress") != progress:
        meta["progress"] = progress
        tick.emit({"kind": "progress", "jobKey": job_key, "step": step.name, **progress})


def _done(tick: Tick, step: Step, job_key: str, meta: Document, result: Document) -> None:
    output = tick.folders.job(job_key) / step.output
    if not output.is_file():
        cause = {"code": "NO_OUTPUT", "message": f"the service said DONE, but made no {step.output}"}
        _error(tick, step, job_key, meta, cause)
        return
    if step is PREP:
        tick.state(job_key, state="PREP_DONE", pages=result.get("pages"), infra=0, notes=_notes(result))
        meta |= {"stage": "PREP_DONE", "infra": 0, "progress": None, "pages": result.get("pages")}
        meta.pop("nextAttemptAt", None)
        meta.pop("cause", None)
    else:  # handed out by `finish_pending`, once the slot that came free has the next document
        meta |= {"stage": "FINALIZING", "result": result}
        meta.pop("nextAttemptAt", None)


def _notes(result: Document) -> list[str]:
    """Return what a service says is worth knowing, as far as it is text; all names of an archive find room."""
    found = result.get("notes")
    return [str(each)[:LONGEST_NOTE] for each in found[:MOST_NOTES]] if isinstance(found, list) else []


def _error(tick: Tick, step: Step, job_key: str, meta: Document, cause: Document) -> None:
    code = str(cause.get("code", "UNKNOWN"))
    if code in INFRASTRUCTURE:
        meta[step.attempts] = max(0, int(meta.get(step.attempts) or 0) - 1)
        meta.pop("again", None)
        _set_back(tick, step, job_key, meta, client.Unreachable(code, str(cause.get("message"))))
        return
    tick.state(job_key, state=f"{step.name}_ERROR", cause=cause, message=str(cause.get("message")))
    meta["cause"] = cause
    if code in PERMANENT or cause.get("retryable") is False:
        fail(tick, job_key, step.name, cause)
        return
    meta["stage"] = step.retry
    meta["nextAttemptAt"] = tick.now() + _pause(tick, int(meta.get(step.attempts) or 1))


def finish_pending(tick: Tick) -> None:
    """Finish the jobs whose results are there, those that could not be finished before included."""
    for job_key, meta in list(tick.in_flight.items()):
        if meta["stage"] == "FINALIZING" and meta.get("nextAttemptAt", 0.0) <= tick.now():
            meta["nextAttemptAt"] = tick.now() + FIRST_PAUSE
            with tick.guarded("job_not_finalized", job_key=job_key):
                finalize(tick, job_key, meta.get("result"))


def check_stale(
    in_flight: InFlight,
    timeout_s: float,
    work_dir: str | os.PathLike[str],
    *,
    now: float | None = None,
    write: Callable[[str, Document], object] | None = None,
) -> list[str]:
    """Take jobs back whose service no longer shows that it works; returns their keys."""
    moment = time.monotonic() if now is None else now
    write = write or (lambda key, patch: update_state(work_dir, key, patch))
    found = []
    for job_key, meta in list(in_flight.items()):
        step = {PREP.running: PREP, OCR.running: OCR}.get(meta["stage"])
        if step is None or not _is_stale(Path(work_dir) / job_key, step, meta, timeout_s, moment):
            continue
        message = f"heartbeat stale after {timeout_s}s"
        try:
            write(job_key, {"state": f"{step.name}_TIMEOUT", "message": message})
        except OSError as error:  # looked at again by the next tick
            log.warning("state_not_written", job_key=job_key, error=str(error))
            continue
        log.warning("job_stale", job_key=job_key, service=step.name, seconds=timeout_s)
        meta |= {"stage": step.retry, "cause": {"code": "TIMEOUT", "message": message}}
        found.append(job_key)
    return found


def _is_stale(folder: Path, step: Step, meta: Document, timeout_s: float, now: float) -> bool:
    path = folder / step.heartbeat
    started = meta.get("stageStartedAt")
    grace = None if started is None else max(0.0, 2 * timeout_s - (now - started))
    if is_heartbeat_stale(path, timeout_s, grace):
        return True
    # The clock of the file system may be wrong: count also from when we saw it change.
    try:
        beat = path.stat().st_mtime_ns
    except OSError:
        return False
    known = meta.get("beat")
    if known is None or known[0] != beat:
        meta["beat"] = (beat, now)
        return False
    return bool(now - known[1] > 2 * timeout_s)
