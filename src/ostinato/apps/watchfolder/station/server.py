"""A service as HTTP: submit by jobKey, poll, info, cancel; health and figures.

The caller shares the folder `work/`: a request names a path in it, and never sends a file.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi import Path as PathParameter
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.middleware.trustedhost import TrustedHostMiddleware

from ostinato.apps.watchfolder.station.jobs import Station
from ostinato.apps.watchfolder.station.places import Outside
from ostinato.apps.watchfolder.station.records import JOB_KEY, Conflict, Unavailable
from ostinato.errors import OstinatoError

RETRY_SECONDS = "2"
LANG = r"^[A-Za-z_]{2,20}(\+[A-Za-z_]{2,20}){0,9}$"


class Submission(BaseModel):
    """A job to do."""

    model_config = ConfigDict(extra="forbid")

    jobKey: str = Field(pattern=f"^{JOB_KEY.pattern}$")  # noqa: N815 - the contract's spelling
    attempt: int = Field(default=1, ge=1, le=1_000_000)
    inputPath: str = Field(min_length=1, max_length=4096)  # noqa: N815 - as above
    inputSha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")  # noqa: N815 - as above
    lang: str = Field(default="fra+eng", pattern=LANG)
    pages: int | None = Field(default=None, ge=0, le=1_000_000)
    options: dict[str, Any] = {}


Info = Callable[[str | None], dict[str, Any]]
"""What `/info` answers, for these languages or for those that the service was started with."""


def build(station: Station, info: Info, *, drain: float = 0.0) -> FastAPI:
    """Make the application of a service."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await station.open()
        yield
        await station.close(drain)

    app = FastAPI(title=f"Ostinato {station.plan.name.upper()}", lifespan=lifespan)
    app.state.station = station
    app.add_middleware(
        TrustedHostMiddleware,
        allowed_hosts=os.environ.get("STATION_HOSTS", "127.0.0.1,localhost,prep,ocr").split(","),
        www_redirect=False,
    )

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        fields = [".".join(map(str, each["loc"][1:])) for each in error.errors()]
        return _refusal(400, "INVALID", f"not as the contract says: {', '.join(fields)}")

    @app.exception_handler(Unavailable)
    async def unavailable(_: Request, error: Unavailable) -> Response:
        refusal = _refusal(error.status, "BUSY", "no more is taken now")
        refusal.headers["Retry-After"] = RETRY_SECONDS
        return refusal

    @app.exception_handler(Outside)
    async def outside(_: Request, error: Outside) -> Response:
        return _refusal(400, "OUTSIDE", f"this service was not started for {str(error)[:300]}")

    @app.exception_handler(OstinatoError)
    async def refused(_: Request, error: OstinatoError) -> Response:
        return _refusal(422, "INVALID", f"{error.message}. {error.hint or ''}".strip())

    _add_info(app, station, info)
    for prefix in ("", "/at/{token}/{lang}"):
        app.include_router(_jobs(station), prefix=prefix)
    _add_figures(app, station)
    return app


def _add_info(app: FastAPI, station: Station, info: Info) -> None:
    known = cache(info)

    @app.get("/info")
    async def show_info() -> dict[str, Any]:
        return await asyncio.to_thread(known, None)

    @app.get("/at/{token}/{lang}/info")
    async def show_info_at(token: str, lang: Annotated[str, PathParameter(pattern=LANG)]) -> dict[str, Any]:
        station.places.resolve(token)
        return await asyncio.to_thread(known, lang)

    @app.delete("/at/{token}")
    async def leave(token: str) -> Response:
        station.leave(station.places.resolve(token))
        return JSONResponse({}, 202)


def _jobs(station: Station) -> APIRouter:
    """Make the routes of jobs: of the folder that the address names, or that the service was started for."""
    routes = APIRouter()

    async def at(request: Request) -> Path:
        token = request.path_params.get("token")
        if token is not None:
            place = station.places.resolve(token)
            await station.enter(place)
            return place
        if station.places.default is None:
            raise Outside("this address: it names no folder (/at/…)")
        return station.places.default

    @routes.post("/jobs")
    async def submit(given: Submission, place: Annotated[Path, Depends(at)]) -> Response:
        body = given.model_dump()
        if not _inside(place / given.jobKey, given.inputPath):
            return _refusal(400, "OUTSIDE", "inputPath is no file in the folder of the job")
        try:
            job, new = station.submit(body, place)
        except Conflict as error:
            return _refusal(409, error.code, f"attempt {error.attempt} is known", error.attempt)
        return JSONResponse(station.document(job), 202 if new else 200)

    @routes.get("/jobs/{job_key}")
    async def poll(job_key: str, place: Annotated[Path, Depends(at)]) -> Response:
        job = station.find(job_key, place)
        if job is None:
            return _refusal(404, "UNKNOWN_JOB", "there is no such job")
        return JSONResponse(station.document(job))

    @routes.delete("/jobs/{job_key}")
    async def cancel(job_key: str, place: Annotated[Path, Depends(at)], attempt: int | None = None) -> Response:
        job = station.cancel(job_key, attempt, place)
        return JSONResponse({} if job is None else station.document(job), 202)

    return routes


def _add_figures(app: FastAPI, station: Station) -> None:
    @app.get("/healthz")
    async def health() -> Response:
        alive = station.alive
        return JSONResponse({"alive": alive, **station.load}, 200 if alive else 503)

    @app.get("/metrics")
    async def metrics() -> Response:
        figures = {**{f"{k}_total": v for k, v in station.counts.items()}, **station.load}
        name = f"watchfolder_{station.plan.name}"
        return PlainTextResponse("".join(f"{name}_{key} {n}\n" for key, n in figures.items()))


def _inside(folder: Path, path: str) -> bool:
    real = Path(os.path.realpath(path))
    return folder in real.parents and real.is_file()


def _refusal(status: int, code: str, message: str, attempt: int | None = None) -> Response:
    return JSONResponse({"code": code, "message": message, "attempt": attempt}, status)
