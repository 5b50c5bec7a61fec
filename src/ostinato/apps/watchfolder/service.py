"""Records folders, jobs and duplicates, one transaction each, on the connection given.

As a tenant: `make_folder`, `decide`. As the worker that watches a folder: `record`, which emits
every state that was not emitted yet, and `reconcile`, which compares what is held with the rows.
"""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg.types.json import Json

from ostinato import database, machines
from ostinato.apps.watchfolder.events import (
    DUPLICATE_CHANGED,
    FILE_REFUSED,
    JOB_CHANGED,
    DuplicateChanged,
    FileRefused,
    JobChanged,
)
from ostinato.apps.watchfolder.machine import DUPLICATE, ENTITY
from ostinato.apps.watchfolder.model import Document
from ostinato.apps.watchfolder.queries import QUERIES, Connection
from ostinato.apps.watchfolder.readings import Reading
from ostinato.apps.watchfolder.tick.duplicates import Held
from ostinato.database import is_transient
from ostinato.errors import Conflict, DatabaseUnavailable, InvalidInput, NotFound, WrongState
from ostinato.observe import get_logger

log = get_logger("watchfolder")

ACTOR = "watchfolder"
LONGEST_MESSAGE = 2000


@dataclass(frozen=True)
class Place:
    """The row of a folder: whose it is, and its name."""

    tenant_id: str
    folder_id: int
    name: str


async def make_folder(
    conn: Connection, *, tenant_id: str, name: str, path: str, lang: str, by: str, most: int
) -> int | None:
    """Add a folder; None when the tenant has one of that name, `Conflict` when it has too many."""
    there = await QUERIES.rows(conn, "list_folders", tenant_id=tenant_id)
    if len(there) >= most and name not in {row["name"] for row in there}:
        raise Conflict(f"There are {len(there)} folders, and {most} are allowed (max_folders).", most=most)
    made: int | None = await QUERIES.value(
        conn, "add_folder", tenant_id=tenant_id, name=name, path=path, lang=lang, created_by=by
    )
    return made


def page_next(moment: datetime, key: object) -> str:
    """Return what `after` is for the page behind a row."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat()}Z~{key}"


def page_after(after: str | None) -> tuple[datetime | None, str]:
    """Return the moment and key behind which the next page begins; `InvalidInput` when it is no `next` of ours."""
    if after is None:
        return None, ""
    moment, _, key = after.partition("~")
    try:
        return datetime.fromisoformat(moment), key
    except ValueError:
        raise InvalidInput(f"{after!r} is not the `next` of a page", hint="Take it from the page before.") from None


async def find_folder(conn: Connection, tenant_id: str, name: str) -> dict[str, Any]:
    """Return a folder of the tenant, or raise `NotFound`."""
    found = await QUERIES.first(conn, "show_folder", tenant_id=tenant_id, name=name)
    if found is None:
        raise NotFound(f"There is no folder {name!r}.", folder=name)
    return found


async def decide(
    conn: Connection, place: Place, job_key: str, *, action: str, by: str, files: Sequence[str] | None
) -> dict[str, Any]:
    """Decide about what is held under a jobKey; the worker that watches the folder does it."""
    key = {"tenant_id": place.tenant_id, "folder_id": place.folder_id, "job_key": job_key}
    row = await QUERIES.first(conn, "show_duplicate", **key)
    if row is None or row["state"] == "APPLIED":
        raise NotFound(f"No duplicate of {job_key} is held.", job_key=job_key)
    if row["state"] != "DUPLICATE_PENDING":
        raise WrongState(f"It was decided already, by {row['decided_by']}: {row['action']}.", job_key=job_key)
    wanted = list(files or row["files"])
    unknown = set(wanted) - set(row["files"])
    if unknown:
        raise NotFound(f"{', '.join(sorted(unknown))} is not held.", files=sorted(unknown))
    await machines.transition(
        conn,
        DUPLICATE,
        ENTITY,
        row["id"],
        "decide",
        by=by,
        changes={
            "action": action,
            "decided_files": wanted,
            "decided_by": by,
            "decided_at": (await database.now(conn)).isoformat(),
            "message": None,
        },
    )
    return await QUERIES.one(conn, "show_duplicate", **key)


async def record(conn: Connection, place: Place, documents: Iterable[Document]) -> dict[str, str]:
    """Record what jobs came to, and emit every state of theirs that was not emitted.

    Returns the jobs that the database refuses, with its reason: one of them stops no other.
    """
    latest = {document["jobKey"]: _storable(document) for document in documents}
    if not latest:
        return {}
    rows = await QUERIES.rows(
        conn, "recorded_states", tenant_id=place.tenant_id, folder_id=place.folder_id, job_keys=list(latest)
    )
    known = {row["job_key"]: row["seq"] for row in rows}
    rejected = {}
    for job_key, document in latest.items():
        async with _alone(conn) as why:
            await _record_one(conn, place, document, known.get(job_key, 0))
        if why:
            rejected[job_key] = why[0]
    return rejected


@asynccontextmanager
async def _alone(conn: Connection) -> AsyncIterator[list[str]]:
    """Set a savepoint: what the database refuses in the block is undone; yields its reason."""
    why: list[str] = []
    try:
        async with conn.transaction():
            yield why
    except Exception as error:
        lost = conn.broken or isinstance(error, DatabaseUnavailable | psycopg.OperationalError)
        if lost or is_transient(error):
            raise
        log.warning("row_not_kept", error=f"{type(error).__name__}: {error}")
        why.append(f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE])


async def _record_one(conn: Connection, place: Place, document: Document, last: int) -> None:
    job_key = document["jobKey"]
    news = [
        (
            JobChanged(
                folder=place.name,
                job_key=job_key,
                seq=entry["seq"],
                state=entry["state"],
                at=entry["at"],
                file_name=document.get("fileName") or "",
                message=_short(entry.get("message")),
                notes=(document.get("result") or {}).get("notes") if entry["state"] == "DONE" else None,
            ),
            job_key,
        )
        for entry in document.get("history", [])
        if entry["seq"] > last
    ]
    await _write_row(conn, place, document)
    if news:
        await JOB_CHANGED.emit_many(conn, news, tenant=place.tenant_id)


async def keep_readings(
    conn: Connection, place: Place, read: Mapping[str, Reading | None], *, skip: Collection[str]
) -> None:
    """Keep what was read in files, and the pictures of their first pages; one that is refused stops no other."""
    for job_key, found in read.items():
        if found is None or job_key in skip:
            continue
        async with _alone(conn):
            await QUERIES.run(
                conn,
                "keep_reading",
                tenant_id=place.tenant_id,
                folder_id=place.folder_id,
                job_key=job_key,
                body=found.body,
                first_page=found.first_page,
                result_page=found.result_page,
            )


async def emit_refused(conn: Connection, place: Place, files: Iterable[Document]) -> None:
    """Emit an event for each file that could be no job, such as an empty one."""
    for report in map(_storable, files):
        async with _alone(conn):
            refused = FileRefused(
                folder=place.name,
                file_name=report["fileName"],
                code=report["cause"]["code"],
                message=report["cause"]["message"],
                at=report["at"],
            )
            await FILE_REFUSED.emit(conn, refused, tenant=place.tenant_id)


def _storable(value: Any) -> Any:  # noqa: ANN401 - a JSON value
    """Return the value without what no database takes: NUL, and halves of characters."""
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_storable(name): _storable(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_storable(each) for each in value]
    return value


async def _write_row(conn: Connection, place: Place, document: Document) -> None:
    cause, result = document.get("cause"), document.get("result")
    await QUERIES.run(
        conn,
        "record_job",
        tenant_id=place.tenant_id,
        folder_id=place.folder_id,
        job_key=document["jobKey"],
        seq=document["seq"],
        state=document["state"],
        file_name=document.get("fileName") or "",
        size_bytes=document.get("sizeBytes"),
        attempt_prep=document.get("attemptPrep") or 0,
        attempt_ocr=document.get("attemptOcr") or 0,
        pages=document.get("pages"),
        error_code=document.get("errorCode"),
        cause=None if cause is None else Json(cause),
        out_path=document.get("outPath"),
        archive_path=document.get("archivePath"),
        result=None if result is None else Json(result),
        message=_short(document.get("message")),
        created_at=document.get("createdAt") or document["updatedAt"],
    )


async def reconcile(conn: Connection, place: Place, held: Sequence[Held]) -> list[dict[str, Any]]:
    """Update the rows to what is held; returns the decisions that are still to be written."""
    open_rows = await QUERIES.rows(conn, "open_duplicates", tenant_id=place.tenant_id, folder_id=place.folder_id)
    rows = {row["job_key"]: row for row in open_rows}
    here = {each.job_key: each for each in held}
    for job_key, each in here.items():
        async with _alone(conn):
            await _seen(conn, place, each, rows.get(job_key))
    for job_key, row in rows.items():
        if job_key not in here:
            async with _alone(conn):
                await _move(conn, row["id"], "apply", "its files are gone from hold/")
                files = list(row["decided_files"] or row["files"])
                await _emit(conn, place, row, "APPLIED", files)
    return [
        row
        for job_key, row in rows.items()
        if row["state"] == "DECIDED"
        and job_key in here
        and _is_to_be_written(here[job_key], row)
        and set(row["decided_files"] or ()) & set(here[job_key].files)
    ]


FAILED = ("DECISION_INVALID", "DECISION_FAILED")


def _is_to_be_written(each: Held, row: dict[str, Any]) -> bool:
    """Return whether decision.json is not there, or is one that failed before this was decided."""
    return not each.decided or (each.state in FAILED and not _is_of(each, row))


def _is_of(each: Held, row: dict[str, Any]) -> bool:
    """Return whether decision.json is the decision that the row has."""
    try:
        written = datetime.fromisoformat(each.decided_at or "")
    except ValueError:
        return False
    return bool(written == row["decided_at"])


async def _seen(conn: Connection, place: Place, each: Held, row: dict[str, Any] | None) -> None:
    key = {"tenant_id": place.tenant_id, "folder_id": place.folder_id, "job_key": each.job_key}
    message = _short(each.message)
    if row is None:
        found = await QUERIES.first(conn, "show_duplicate", **key)
        if found is not None:  # it was applied, and came again
            await _move(conn, found["id"], "hold", "it came again")
            await _refresh(conn, place, found["id"], each)
        else:
            await QUERIES.run(
                conn, "add_duplicate", **key, files=each.files, existing=each.existing_state, message=message
            )
        await _emit(conn, place, {"job_key": each.job_key}, "DUPLICATE_PENDING", each.files)
        return
    changed = row["files"] != each.files or row["message"] != message
    if changed or row["existing"] != each.existing_state:
        await _refresh(conn, place, row["id"], each)
    if row["state"] == "DECIDED" and each.state in FAILED and _is_of(each, row):
        await _move(conn, row["id"], "refuse", message or each.state)
        await _emit(conn, place, row, each.state, each.files, message=message)
    elif row["state"] == "DECIDED" and not set(row["decided_files"] or ()) & set(each.files):
        await _move(conn, row["id"], "hold", "others are still held")
        await _emit(conn, place, row, "APPLIED", list(row["decided_files"] or ()))
    elif row["state"] == "DUPLICATE_PENDING" and row["files"] != each.files:
        await _emit(conn, place, row, "DUPLICATE_PENDING", each.files)


async def _refresh(conn: Connection, place: Place, row_id: int, each: Held) -> None:
    await QUERIES.run(
        conn,
        "refresh_duplicate",
        tenant_id=place.tenant_id,
        id=row_id,
        files=each.files,
        existing=each.existing_state,
        message=_short(each.message),
    )


async def _move(conn: Connection, row_id: int, event: str, why: str) -> None:
    await machines.transition(conn, DUPLICATE, ENTITY, row_id, event, by=ACTOR, why=why)


async def _emit(
    conn: Connection, place: Place, row: dict[str, Any], state: str, files: list[str], *, message: str | None = None
) -> None:
    event = DuplicateChanged(
        folder=place.name,
        job_key=row["job_key"],
        state=state,
        files=files,
        action=row.get("action"),
        decided_by=row.get("decided_by"),
        message=message,
    )
    await DUPLICATE_CHANGED.emit(conn, event, key=row["job_key"], tenant=place.tenant_id)


def _short(text: object) -> str | None:
    said = str(text).replace("\0", "") if text else ""
    return said[:LONGEST_MESSAGE] or None
