"""`python -m bench.webhooks [messages] [rounds]`: webhooks to one endpoint, beside httpx alone.

One worker process delivers events of 300 keys to one endpoint on loopback, in order by key, signed,
with every attempt on record. Beside it, in the same run, httpx alone sends the same bodies to the same
endpoint over as many kept connections. Prints medians, the share of httpx that the worker reaches, and
the connections that it made.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from statistics import median
from typing import Any, NamedTuple

import httpx

from bench import loop
from ostinato import App, Client, Context, Worker, testing
from ostinato._core.base import log
from ostinato._core.base.flow import flow
from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.base.settings import Settings
from ostinato._core.base.vault import new_key
from ostinato._core.db.pool import connect
from ostinato._core.engine import outbox, upkeep, webhooks
from ostinato._core.engine.outbox import NewEvent

MESSAGES = 2_000
KEYS = 300
CALLERS = 10
"""As many at a time as the queue `webhooks` lets one endpoint have."""
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Round(NamedTuple):
    """Messages a second, and the connections that the worker made."""

    worker: float
    alone: float
    connections: int


class Sink(asyncio.Protocol):
    """Answers every request with 200, and counts."""

    seen = 0
    connections = 0

    def __init__(self) -> None:
        self._read = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        Sink.connections += 1

    def data_received(self, data: bytes) -> None:
        self._read += data
        while (end := self._read.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._read[:end]).lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
            if len(self._read) < end + 4 + length:
                return
            del self._read[: end + 4 + length]
            Sink.seen += 1
            self._transport.write(ANSWER)


async def serve() -> None:
    """Be the endpoint: a line with the port, then the counts for each line of the caller."""
    server = await asyncio.get_running_loop().create_server(Sink, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps([Sink.seen, Sink.connections]), flush=True)


@asynccontextmanager
async def sink() -> AsyncIterator[tuple[str, Any]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.webhooks", "--serve", stdin=-1, stdout=-1
    )
    assert process.stdin is not None  # noqa: S101 - both are pipes
    assert process.stdout is not None  # noqa: S101

    async def counts() -> tuple[int, int]:
        process.stdin.write(b"\n")  # type: ignore[union-attr]
        seen, connections = json.loads(await process.stdout.readline())  # type: ignore[union-attr]
        return seen, connections

    try:
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}/hooks", counts
    finally:
        process.stdin.close()
        await process.wait()


def idle() -> App:
    """An application with one kind that nobody enqueues: webhooks come with every worker."""
    app = App("bench")

    @app.job()
    async def never(_ctx: Context) -> None:
        return None

    return app


async def by_worker(url: str, counts: Any, messages: int) -> tuple[float, int]:  # noqa: ANN401 - as sink() gives it
    port = url.split(":")[2].partition("/")[0]
    settings = Settings(webhooks_allow_private=f"127.0.0.1:{port}", secret_key=new_key())
    async with testing.engine() as engine:
        async with await connect(engine.database.admin_url, role="migrate") as conn:
            await upkeep.run(conn, 14)
        async with Client(engine.database, settings) as client, client.connection() as conn:
            allowed = parse_allowed(settings.webhooks_allow_private)
            await webhooks.create_endpoint(conn, "bench", url, tenant_id="bench", allowed=allowed)
            events = [NewEvent("happened", '{"a": 1}', "bench", f"k{n % KEYS}") for n in range(messages)]
            await outbox.emit_many(conn, events)
        seen, connections = await counts()
        worker = Worker([idle()], engine.database, settings)
        running = asyncio.create_task(worker.run())
        await worker.started.wait()
        started, before = time.perf_counter(), (await counts())[0]
        while (await counts())[0] < seen + messages:  # noqa: ASYNC110 - another process counts
            await asyncio.sleep(0.02)
        seconds = time.perf_counter() - started
        worker.stop()
        await running
        return (seen + messages - before) / seconds, (await counts())[1] - connections


async def alone(url: str, messages: int) -> float:
    body = b"x" * 300
    left = iter(range(messages))

    async def caller(client: httpx.AsyncClient) -> None:
        for _ in left:
            (await client.post(url, content=body)).raise_for_status()

    async with httpx.AsyncClient(trust_env=False) as client:
        started = time.perf_counter()
        await asyncio.gather(*(caller(client) for _ in range(CALLERS)))
        return messages / (time.perf_counter() - started)


async def one_round(messages: int) -> Round:
    """Both, one after the other, to the same endpoint."""
    with flow(tenant="bench", correlation="bench"):
        async with sink() as (url, counts):
            rate, connections = await by_worker(url, counts, messages)
            return Round(rate, await alone(url, messages), connections)


def main() -> None:
    """Measure and print."""
    if sys.argv[1:] == ["--serve"]:
        asyncio.run(serve())
        return
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    log.configure(level="error")
    found = [loop.run(one_round(messages)) for _ in range(rounds)]
    share = median(each.worker / each.alone for each in found)
    print(
        f"{messages} messages, {KEYS} keys, load {os.getloadavg()[0]:.1f}:"
        f" webhooks {median(each.worker for each in found):,.0f}/s over {found[-1].connections} connections,"
        f" httpx alone {median(each.alone for each in found):,.0f}/s ({share:.0%})"
    )


if __name__ == "__main__":
    main()
