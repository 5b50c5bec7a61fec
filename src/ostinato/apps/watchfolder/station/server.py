"""A service as HTTP: submit by jobKey, poll, info, cancel; health and figures.

The caller shares the folder `work/`: a request names a path in it, and never sends a file.
"""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.middleware.trustedhost import TrustedHostMiddleware

from ostinato.apps.watchfolder.station.jobs import Station
from ostinato.apps.watchfolder.station.records import JOB_KEY, Conflict, Unavailable

RETRY_SECONDS = "2"


class Submission(BaseModel):
    """A job to do."""

    model_config = ConfigDict(extra="forbid")

    jobKey: str = Field(pattern=f"^{JOB_KEY.pattern}$")  # noqa: N815 - the contract's spelling
    attempt: int = Field(default=1, ge=1, le=1_000_000)
    inputPath: str = Field(min_length=1, max_length=4096)  # noqa: N815 - as above
    inputSha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")  # noqa: N815 - as above
    lang: str = Field(default="fra+eng", pattern=r"^[A-Za-z_]{2,20}(\+[A-Za-z_]{2,20}){0,9}$")
    options: dict[str, Any] = {}


def build(station: Station, info: Callable[[], dict[str, Any]], *, drain: float = 0.0) -> FastAPI:
    """The application of a service."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await station.open()
        app.state.info = info()
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

    _add_jobs(app, station)
    _add_figures(app, station)
    return app


def _add_jobs(app: FastAPI, station: Station) -> None:
    @app.get("/info")
    async def show_info(request: Request) -> dict[str, Any]:
        found: dict[str, Any] = request.app.state.info
        return found

    @app.post("/jobs")
    async def submit(given: Submission) -> Response:
        body = given.model_dump()
        if not _inside(station.work_dir / given.jobKey, given.inputPath):
            return _refusal(400, "OUTSIDE", "inputPath is no file in the folder of the job")
        try:
            job, new = station.submit(body)
        except Conflict as error:
            return _refusal(409, error.code, f"attempt {error.attempt} is known", error.attempt)
        except Unavailable as error:
            refusal = _refusal(error.status, "BUSY", "no more is taken now")
            refusal.headers["Retry-After"] = RETRY_SECONDS
            return refusal
        return JSONResponse(station.document(job), 202 if new else 200)

    @app.get("/jobs/{job_key}")
    async def poll(job_key: str) -> Response:
        job = station.find(job_key)
        if job is None:
            return _refusal(404, "UNKNOWN_JOB", "there is no such job")
        return JSONResponse(station.document(job))

    @app.delete("/jobs/{job_key}")
    async def cancel(job_key: str, attempt: int | None = None) -> Response:
        job = station.cancel(job_key, attempt)
        return JSONResponse({} if job is None else station.document(job), 202)


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
