"""`python -m bench.http`: what the API adds to bare FastAPI, and how fast it is.

Two servers one after the other, each one process with one uvicorn: FastAPI alone, and our API with its
real routes. A caller in this process keeps some connections busy with requests that are bytes made
before, so that the server and not the caller is measured.

    ping        answers {"ok": true}; ours is authenticated, limited, counted, traced and logged
    GET         GET /api/v1/engine/jobs/{id}; alone: the same query and model, and nothing around them
    POST        POST /api/v1/engine/jobs, one commit each; ours as the tenant, under row-level security, audited;
                alone: the same insert in autocommit
    POST key    the same with an Idempotency-Key of its own; alone: as POST

Rounds alternate between the two; each figure is the median of its rounds. The processor time of the server's process
for each request depends little on what else the machine does.
"""

import argparse
import asyncio
import contextlib
import itertools
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import psutil  # type: ignore[import-untyped]
import psycopg
from fastapi import FastAPI, Response
from pydantic import BaseModel

from bench.server import running
from bench.systems import ours
from ostinato import App, Client
from ostinato._core.base import log
from ostinato._core.base.settings import Settings
from ostinato._core.engine import keys
from ostinato._core.runtime.worker.enrol import declare_kinds
from ostinato._core.web.caller import Who
from ostinato._core.web.permissions import Permission
from ostinato._core.web.routes import Router
from ostinato._faces.api.job_views import JobView, view_of
from ostinato._faces.api.views import PREFIX

CONNECTIONS = 8
SECONDS = 3.0
WARM_SECONDS = 1.0
REQUESTS = ("ping", "GET", "POST", "POST key")
ROUNDS = 3
ASK = Permission("bench.ask", ("bench",), "be measured")
APP = App("bench", http="bench.http:ROUTER")
ROUTER = Router(prefix="/bench", tags=["bench"])
NOOP = ours.app_with(None)["bench.noop"]


class Args(BaseModel):
    n: int


class Wanted(BaseModel):
    kind: str
    args: Args


class Ok(BaseModel):
    ok: bool


@ROUTER.get("/ping", needs=ASK)
async def ping(caller: Who) -> Ok:
    """Nothing, to somebody who is known."""
    return Ok(ok=bool(caller))


def bare(dsn: str) -> FastAPI:
    """The same routes, and nothing around them."""
    client = Client(ours.database(dsn), max_size=20)
    tenant = client.for_tenant("bench")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with client:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/bench/ping")
    async def bare_ping() -> Ok:
        return Ok(ok=True)

    @app.post(f"{PREFIX}/jobs", status_code=202)
    async def bare_add(body: Wanted) -> dict[str, int]:
        return {"job_id": await NOOP.enqueue(client, n=body.args.n)}

    @app.get(f"{PREFIX}/jobs/{{job_id}}", response_model=JobView)
    async def bare_show(job_id: int) -> Response:
        most: dict[str, Any] = {"parts": 100, "longest": 16_384, "most_events": 50, "most_lines": 200}
        (found,) = await tenant.call("show_job_as", _read=True, job_id=job_id, **most)
        return Response(view_of(*found).model_dump_json(), media_type="application/json")

    return app


def serve(which: str, dsn: str, fd: int) -> None:
    """Be the server, until the caller ends."""
    import uvicorn  # noqa: PLC0415 - only the servers need it

    from ostinato._faces.api.parts import Parts  # noqa: PLC0415 - as above
    from ostinato._faces.api.server import build  # noqa: PLC0415 - as above

    log.configure("json", "info", stream=Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for life
    settings = Settings(api_rate_per_minute=10_000_000)
    from ostinato.apps import capture, enrichment  # noqa: PLC0415 - as above

    served = [APP] if which == "ours" else [capture.APP, enrichment.APP]
    app = bare(dsn) if which == "bare" else build(Parts(ours.database(dsn), settings, apps=served))
    config = uvicorn.Config(app, log_config=None, access_log=False, loop="uvloop")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=fd)])


@dataclass(frozen=True)
class Load:
    rate: float
    p50: float
    p99: float
    cpu: float = 0.0
    """Microseconds of a processor that the server's process takes for a request."""
    done: int = 0


NUMBERS = itertools.count(100_000_000)
NUMBER = b"123456789"
"""Stands in a request for a number of its own."""


async def one_caller(port: int, requests: Iterator[bytes], until: float, took: list[float]) -> None:
    """Make one request after the other, until a time or until there are no more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (started := time.perf_counter()) < until and (request := next(requests, None)) is not None:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None  # noqa: S101
        body = await reader.readexactly(int(length[1]))
        if not head.startswith(b"HTTP/1.1 20"):
            raise RuntimeError(f"{head!r} {body!r}")
        took.append(time.perf_counter() - started)
    writer.close()


def numbered(request: bytes, numbers: Iterator[int]) -> Iterator[bytes]:
    """The request again and again, each with a number of its own."""
    return (request.replace(NUMBER, str(number).encode()) for number in numbers)


Requests = Sequence[bytes] | Iterator[bytes]
"""Some, of which each connection has one again and again; or all of them, which the connections share."""


async def load(port: int, requests: Requests, seconds: float, numbers: Iterator[int] = NUMBERS) -> Load:
    """Keep the connections busy, for so long or until there are no more requests."""
    took: list[float] = []
    started = time.perf_counter()
    turns = itertools.islice(itertools.cycle(requests), CONNECTIONS) if isinstance(requests, Sequence) else ()
    sources = [numbered(request, numbers) for request in turns] or [iter(requests)] * CONNECTIONS
    await asyncio.gather(*(one_caller(port, source, started + seconds, took) for source in sources))
    whole = min(seconds, time.perf_counter() - started)
    took.sort()
    count = len(took)
    return Load(count / whole, 1000 * took[count // 2], 1000 * took[int(count * 0.99)], done=count)


def request_of(which: str, key: str, job_id: int) -> bytes:
    body = b'{"kind": "bench.noop", "args": {"n": 1}}' if which.startswith("POST") else b""
    path = {"ping": "/bench/ping", "GET": f"{PREFIX}/jobs/{job_id}"}.get(which, f"{PREFIX}/jobs")
    more = [f"Idempotency-Key: {NUMBER.decode()}"] if which == "POST key" else []
    return written(path, key, body, more)


def written(path: str, key: str, body: bytes = b"", more: Sequence[str] = ()) -> bytes:
    """Return a request as it is sent: a POST if it has a body."""
    lines = [f"{'POST' if body else 'GET'} {path} HTTP/1.1", "Host: bench", f"Authorization: Bearer {key}"]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, *more, "", ""]).encode() + body


@contextlib.contextmanager
def server_of(which: str, dsn: str) -> Iterator[tuple[int, psutil.Process]]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        command = [sys.executable, "-m", "bench.http", "--serve", which, dsn, str(sock.fileno())]
        process = subprocess.Popen(command, pass_fds=[sock.fileno()])
    try:
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(30)


async def key_of(dsn: str) -> str:
    async with Client(ours.database(dsn)) as client, client.connection() as conn:
        await declare_kinds(conn, [ours.app_with(None, open=True)])  # as a worker that starts declares them
        made = await keys.create(conn, tenant_id="bench", subject="bench", roles=["bench", "admin"])
    return made.key


async def job_of(dsn: str) -> int:
    """A job to be looked at."""
    async with Client(ours.database(dsn)) as client:
        return await client.for_tenant("bench").enqueue("bench.noop", {"n": 1})


def measured(port: int, process: psutil.Process, requests: Requests, numbers: Iterator[int] = NUMBERS) -> Load:
    asyncio.run(load(port, requests, WARM_SECONDS, numbers))
    before = process.cpu_times()
    found = asyncio.run(load(port, requests, SECONDS, numbers))
    after = process.cpu_times()
    took = after.user + after.system - before.user - before.system
    return replace(found, cpu=1e6 * took / found.done)


def measure(
    dsn: str, rounds: int, requests: Sequence[str] = REQUESTS, servers: Sequence[str] = ("ours", "bare")
) -> dict[tuple[str, str], list[Load]]:
    """What each request costs bare FastAPI and our API, in rounds that alternate."""
    found: dict[tuple[str, str], list[Load]] = {}
    key = asyncio.run(key_of(dsn))
    for number in range(rounds):
        for which in reversed(servers) if number % 2 else servers:
            with server_of(which, dsn) as (port, process):
                for request in requests:
                    # Emptied before each, so that nobody meets the rows, dead or alive, of who came before.
                    with psycopg.connect(dsn, autocommit=True) as conn:
                        conn.execute("truncate ostinato_data.ready, ostinato_data.job")
                    job_id = asyncio.run(job_of(dsn))
                    one = measured(port, process, [request_of(request, key, job_id)])
                    found.setdefault((which, request), []).append(one)
    return found


def ratio(found: dict[tuple[str, str], list[Load]], request: str, what: str = "rate") -> float:
    """Our figure against that of FastAPI alone: of the rate, or of the processor time (bare / ours)."""
    bare_one, our_one = (median(getattr(one, what) for one in found[which, request]) for which in ("bare", "ours"))
    return float(our_one / bare_one if what == "rate" else bare_one / our_one)


def show(found: dict[tuple[str, str], list[Load]]) -> None:
    print(f"{'':<28}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'CPU µs':>9}")
    for request in dict.fromkeys(request for _, request in found):
        for which, name in (("bare", "FastAPI alone"), ("ours", "Ostinato's API")):
            rate, p50, p99, cpu = (
                median(getattr(one, what) for one in found[which, request]) for what in ("rate", "p50", "p99", "cpu")
            )
            print(f"{request:<9}{name:<19}{rate:>12,.0f}{p50:>9.2f}{p99:>9.2f}{cpu:>9,.0f}")
        print(f"{'':<9}{ratio(found, request):.0%} of its rate, {ratio(found, request, 'cpu'):.0%} by processor time")


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
