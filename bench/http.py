"""`python -m bench.http`: what the API adds to bare FastAPI, and how fast it is.

Two servers one after the other, each one process with one uvicorn: FastAPI alone, and our API with
a router of the same two routes. A caller in this process keeps some connections busy with requests
that are bytes made before, so that the server and not the caller is measured.

    GET     answers {"ok": true}; ours is authenticated, limited, counted, traced and logged
    POST    adds a job, one commit each; ours as the tenant, under row-level security

Rounds alternate between the two; each figure is the median of its rounds.
"""

import argparse
import asyncio
import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
from fastapi import FastAPI, Response
from pydantic import BaseModel

from bench.server import running
from bench.systems import ours
from ostinato import App, Client
from ostinato._core.base import log
from ostinato._core.base.settings import Settings
from ostinato._core.engine import keys
from ostinato._core.web.caller import Who
from ostinato._core.web.idempotent import Key
from ostinato._core.web.permissions import Permission
from ostinato._core.web.routes import Router

CONNECTIONS = 8
SECONDS = 3.0
WARM_SECONDS = 1.0
ROUNDS = 3
ASK = Permission("bench.ask", ("bench",), "be measured")
APP = App("bench", http="bench.http:ROUTER")
ROUTER = Router(prefix="/bench", tags=["bench"])
NOOP = ours.app_with(None)["bench.noop"]


class Wanted(BaseModel):
    n: int


class Ok(BaseModel):
    ok: bool


@ROUTER.get("/ping", needs=ASK)
async def ping(caller: Who) -> Ok:
    """Nothing, to somebody who is known."""
    return Ok(ok=bool(caller))


@ROUTER.post("/jobs", needs=ASK, status_code=202)
async def add(caller: Who, key: Key, body: Wanted) -> Response:
    """A job of the tenant."""
    async with key.once(caller) as once:
        job_id = await NOOP.enqueue(once.conn, n=body.n)
        once.reply(202, {"job_id": job_id})
    return once.response()


def bare(dsn: str) -> FastAPI:
    """The same two routes, and nothing around them."""
    client = Client(ours.database(dsn), max_size=20)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with client:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/bench/ping")
    async def bare_ping() -> Ok:
        return Ok(ok=True)

    @app.post("/bench/jobs", status_code=202)
    async def bare_add(body: Wanted) -> dict[str, int]:
        return {"job_id": await NOOP.enqueue(client, n=body.n)}

    return app


def serve(which: str, dsn: str, fd: int) -> None:
    """Be the server, until the caller ends."""
    import uvicorn  # noqa: PLC0415 - only the servers need it

    from ostinato._faces.api.parts import Parts  # noqa: PLC0415 - as above
    from ostinato._faces.api.server import build  # noqa: PLC0415 - as above

    log.configure("json", "info", stream=Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for life
    settings = Settings(api_rate_per_minute=10_000_000)
    app = bare(dsn) if which == "bare" else build(Parts(ours.database(dsn), settings, apps=[APP]))
    config = uvicorn.Config(app, log_config=None, access_log=False, loop="uvloop")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=fd)])


@dataclass(frozen=True)
class Load:
    rate: float
    p50: float
    p99: float


async def one_caller(port: int, request: bytes, until: float, took: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (started := time.perf_counter()) < until:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None  # noqa: S101
        body = await reader.readexactly(int(length[1]))
        if not head.startswith(b"HTTP/1.1 20"):
            raise RuntimeError(f"{head!r} {body!r}")
        took.append(time.perf_counter() - started)
    writer.close()


async def load(port: int, request: bytes, seconds: float, callers: int = CONNECTIONS) -> Load:
    took: list[float] = []
    until = time.perf_counter() + seconds
    await asyncio.gather(*(one_caller(port, request, until, took) for _ in range(callers)))
    took.sort()
    count = len(took)
    return Load(count / seconds, 1000 * took[count // 2], 1000 * took[int(count * 0.99)])


def request_of(method: str, key: str) -> bytes:
    body = b'{"n": 1}' if method == "POST" else b""
    path = "/bench/jobs" if method == "POST" else "/bench/ping"
    lines = [f"{method} {path} HTTP/1.1", "Host: bench", f"Authorization: Bearer {key}"]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


@contextlib.contextmanager
def server_of(which: str, dsn: str) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        command = [sys.executable, "-m", "bench.http", "--serve", which, dsn, str(sock.fileno())]
        process = subprocess.Popen(command, pass_fds=[sock.fileno()])
    try:
        yield port
    finally:
        process.terminate()
        process.wait(30)


async def key_of(dsn: str) -> str:
    async with Client(ours.database(dsn)) as client, client.connection() as conn:
        made = await keys.create(conn, tenant_id="bench", subject="bench", roles=["bench"])
    return made.key


def measure(dsn: str, rounds: int) -> dict[tuple[str, str], list[Load]]:
    found: dict[tuple[str, str], list[Load]] = {}
    key = asyncio.run(key_of(dsn))
    for number in range(rounds):
        for which in ("bare", "ours") if number % 2 else ("ours", "bare"):
            with server_of(which, dsn) as port:
                for method in ("GET", "POST"):
                    request = request_of(method, key)
                    asyncio.run(load(port, request, WARM_SECONDS))
                    found.setdefault((which, method), []).append(asyncio.run(load(port, request, SECONDS)))
                    with psycopg.connect(dsn, autocommit=True) as conn:
                        conn.execute("truncate ostinato_data.ready, ostinato_data.job")
    return found


def show(found: dict[tuple[str, str], list[Load]]) -> None:
    def middle(key: tuple[str, str], what: str) -> float:
        return median(getattr(one, what) for one in found[key])

    print(f"{'':<28}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}")
    for method in ("GET", "POST"):
        for which, name in (("bare", "FastAPI alone"), ("ours", "Ostinato's API")):
            key = (which, method)
            print(
                f"{method:<5}{name:<23}{middle(key, 'rate'):>12,.0f}"
                f"{middle(key, 'p50'):>9.2f}{middle(key, 'p99'):>9.2f}"
            )
        alone, both = middle(("bare", method), "rate"), middle(("ours", method), "rate")
        added = 1e6 * (1 / both - 1 / alone)
        print(f"     our layers add {added:,.0f} µs to a request: {1 - both / alone:.0%} of the rate")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    given: Any = parser.parse_args()
    if given.serve:
        which, dsn, fd = given.serve
        serve(which, dsn, int(fd))
        return
    with running() as server, server.database("bench_http") as dsn:
        ours.prepare(dsn)
        show(measure(dsn, given.rounds))


if __name__ == "__main__":
    main()
