"""Serves folders, jobs, and decisions about duplicates."""

import asyncio
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from ostinato import audit
from ostinato.apps.watchfolder import service
from ostinato.apps.watchfolder.jobs import start_watching
from ostinato.apps.watchfolder.ocr.engines import check_languages
from ostinato.apps.watchfolder.permissions import DECIDE, MANAGE, READ
from ostinato.apps.watchfolder.queries import QUERIES
from ostinato.apps.watchfolder.service import Place
from ostinato.apps.watchfolder.settings import WatchfolderSettings
from ostinato.errors import Conflict, NotFound, UniqueConflict, WrongState
from ostinato.web import IDEMPOTENT, Caller, Key, Router, Who

Name = Annotated[str, Path(pattern="^[a-z0-9][a-z0-9_-]{0,62}$", examples=["courrier"])]
JobKey = Annotated[str, Path(pattern="^[0-9a-f]{64}__[0-9a-f]{8,64}$")]
Limit = Annotated[int, Query(ge=1, le=500)]
After = Annotated[str | None, Query(max_length=200, description="The `next` of the page before.", examples=[None])]
Action = Literal["USE_EXISTING_RESULT", "DISCARD", "FORCE_REPROCESS"]

router = Router(prefix="/api/v1/watchfolder", tags=["watchfolder"])


class FolderRequest(BaseModel):
    """A folder to watch."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern="^[a-z0-9][a-z0-9_-]{0,62}$", examples=["courrier"])
    lang: str = Field(default="fra+eng", pattern=r"^[A-Za-z_]{2,20}(\+[A-Za-z_]{2,20}){0,9}$", max_length=200)


class FolderView(BaseModel):
    """A folder, and what its last tick said."""

    name: str
    path: str = Field(description="Where it is, on the machine of the worker that watches it.")
    lang: str
    active: bool
    created_at: datetime
    created_by: str
    ticked_at: datetime | None
    metrics: dict[str, Any]
    problem: str | None


class Folders(BaseModel):
    """The folders of the tenant."""

    folders: list[FolderView]


class JobView(BaseModel):
    """A file on its way."""

    job_key: str
    state: str
    seq: int
    file_name: str
    size_bytes: int | None
    attempt_prep: int
    attempt_ocr: int
    pages: int | None
    error_code: str | None
    cause: dict[str, Any] | None
    out_path: str | None
    archive_path: str | None
    result: dict[str, Any] | None
    message: str | None
    created_at: datetime
    changed_at: datetime


class Jobs(BaseModel):
    """Jobs, the last changed first."""

    jobs: list[JobView]
    next: str | None = Field(description="What `after` is for the next page; null when this is the last one.")


class DuplicateView(BaseModel):
    """Files that came again."""

    job_key: str
    state: str
    files: list[str]
    existing: str | None = Field(description="The state of the job that came first.")
    detected_at: datetime
    action: Action | None
    decided_files: list[str] | None
    decided_by: str | None
    decided_at: datetime | None
    message: str | None


class Duplicates(BaseModel):
    """Duplicates, the last first."""

    duplicates: list[DuplicateView]
    next: str | None = Field(description="What `after` is for the next page; null when this is the last one.")


class Decision(BaseModel):
    """What to do with what is held."""

    model_config = ConfigDict(extra="forbid")

    action: Action
    files: list[str] | None = Field(default=None, min_length=1, max_length=1000, description="Only these; else all.")


@router.get("/folders", needs=READ)
async def list_folders(caller: Who) -> Folders:
    """Return the folders of the tenant."""
    async with caller.transaction() as conn:
        found = await QUERIES.rows(conn, "list_folders", tenant_id=caller.tenant_id)
    return Folders(folders=[FolderView(**row) for row in found])


@router.post(
    "/folders", needs=MANAGE, status_code=201, response_model=FolderView, raises=(*IDEMPOTENT, UniqueConflict, Conflict)
)
async def make_folder(caller: Who, key: Key, body: FolderRequest) -> Response:
    """Add a folder to be watched; it is made below the root of the tenant."""
    chosen = caller.settings(WatchfolderSettings)
    if not chosen.ocr_url:  # else that service knows
        await asyncio.to_thread(check_languages, body.lang or chosen.ocr_lang)
    data_dir = caller.client.settings.data_dir
    path = chosen.folders(data_dir, caller.tenant_id, body.name).incoming.parent
    async with key.once(caller) as once:
        if once.is_new:
            made = await service.make_folder(
                once.conn,
                tenant_id=caller.tenant_id,
                name=body.name,
                path=str(path),
                lang=body.lang,
                by=caller.subject,
                most=chosen.max_folders,
            )
            if made is None:
                raise UniqueConflict(f"There is a folder {body.name!r} already.", name=body.name)
            await start_watching(once.conn, caller.tenant_id, made)
            await audit.note(once.conn, "create", "folder", body.name)
            row = await service.find_folder(once.conn, caller.tenant_id, body.name)
            once.reply(201, FolderView(**row))
    return once.response()


@router.get("/folders/{name}", needs=READ, raises=(NotFound,))
async def show_folder(caller: Who, name: Name) -> FolderView:
    """Return one folder."""
    async with caller.transaction() as conn:
        row = await service.find_folder(conn, caller.tenant_id, name)
    return FolderView(**row)


@router.post("/folders/{name}/pause", needs=MANAGE, raises=(NotFound,))
async def pause(caller: Who, name: Name) -> FolderView:
    """Stop watching a folder; what is in it stays as it is."""
    return await _set_active(caller, name, active=False)


@router.post("/folders/{name}/resume", needs=MANAGE, raises=(NotFound,))
async def resume(caller: Who, name: Name) -> FolderView:
    """Watch a folder again."""
    return await _set_active(caller, name, active=True)


@router.delete("/folders/{name}", needs=MANAGE, status_code=204, raises=(NotFound,))
async def remove_folder(caller: Who, name: Name) -> Response:
    """Stop watching a folder, and forget what was seen in it; the files stay where they are."""
    async with caller.transaction() as conn:
        row = await service.find_folder(conn, caller.tenant_id, name)
        await QUERIES.run(conn, "remove_folder", tenant_id=caller.tenant_id, id=row["id"])
        await audit.note(conn, "delete", "folder", name)
    return Response(status_code=204)


async def _set_active(caller: Caller, name: str, *, active: bool) -> FolderView:
    async with caller.transaction() as conn:
        row = await service.find_folder(conn, caller.tenant_id, name)
        await QUERIES.run(conn, "set_active", tenant_id=caller.tenant_id, id=row["id"], active=active)
        await audit.note(conn, "resume" if active else "pause", "folder", name)
        if active:
            await start_watching(conn, caller.tenant_id, row["id"])
        row = await service.find_folder(conn, caller.tenant_id, name)
    return FolderView(**row)


@router.get("/folders/{name}/jobs", needs=READ, raises=(NotFound,))
async def list_jobs(
    caller: Who,
    name: Name,
    state: Annotated[str | None, Query(pattern="^[A-Z_]{1,30}$", examples=["DONE"])] = None,
    limit: Limit = 100,
    after: After = None,
) -> Jobs:
    """Return what became of the files of a folder."""
    at, key = service.page_after(after)
    async with caller.transaction() as conn:
        row = await service.find_folder(conn, caller.tenant_id, name)
        found = await QUERIES.rows(
            conn, "list_jobs", tenant_id=caller.tenant_id, folder_id=row["id"], state=state, limit=limit, at=at, key=key
        )
    last = service.page_next(found[-1]["changed_at"], found[-1]["job_key"]) if len(found) == limit else None
    return Jobs(jobs=[JobView(**each) for each in found], next=last)


@router.get("/folders/{name}/jobs/{job_key}", needs=READ, raises=(NotFound,))
async def show_job(caller: Who, name: Name, job_key: JobKey) -> JobView:
    """Return one job."""
    async with caller.transaction() as conn:
        row = await service.find_folder(conn, caller.tenant_id, name)
        found = await QUERIES.first(conn, "show_job", tenant_id=caller.tenant_id, folder_id=row["id"], job_key=job_key)
    if found is None:
        raise NotFound(f"There is no job {job_key}.", job_key=job_key)
    return JobView(**found)


@router.get("/folders/{name}/duplicates", needs=READ, raises=(NotFound,))
async def list_duplicates(
    caller: Who,
    name: Name,
    state: Annotated[Literal["DUPLICATE_PENDING", "DECIDED", "APPLIED"] | None, Query()] = None,
    limit: Limit = 100,
    after: After = None,
) -> Duplicates:
    """Return the duplicates that are held, wait to be carried out, or were."""
    at, number = service.page_after(after)
    async with caller.transaction() as conn:
        row = await service.find_folder(conn, caller.tenant_id, name)
        found = await QUERIES.rows(
            conn,
            "list_duplicates",
            tenant_id=caller.tenant_id,
            folder_id=row["id"],
            state=state,
            limit=limit,
            at=at,
            id=int(number) if number.isdecimal() else 0,
        )
    last = service.page_next(found[-1]["detected_at"], found[-1]["id"]) if len(found) == limit else None
    return Duplicates(duplicates=[DuplicateView(**each) for each in found], next=last)


@router.post(
    "/folders/{name}/duplicates/{job_key}/decision",
    needs=DECIDE,
    status_code=202,
    response_model=DuplicateView,
    raises=(*IDEMPOTENT, NotFound, WrongState),
)
async def decide(caller: Who, key: Key, name: Name, job_key: JobKey, body: Decision) -> Response:
    """Decide about a duplicate; the worker that watches the folder carries it out."""
    async with key.once(caller) as once:
        if once.is_new:
            row = await service.find_folder(once.conn, caller.tenant_id, name)
            place = Place(caller.tenant_id, row["id"], name)
            made = await service.decide(
                once.conn, place, job_key, action=body.action, by=caller.subject, files=body.files
            )
            detail = {"folder": name, "action": body.action}
            await audit.note(once.conn, "decide", "duplicate", job_key, detail=detail)
            once.reply(202, DuplicateView(**made))
    return once.response()
