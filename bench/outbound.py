"""`python -m bench.outbound`: messages a second from the request to the provider, and callbacks.

    accept      POST /api/v1/outbound/messages: consent, message, job, audit and event, one commit
    batch       POST /api/v1/outbound/messages/batch: the same for 500 in one request, counted in messages
    send        one worker process: policy again, attempt committed, HTTP to the provider, outcome
    callbacks   POST /api/v1/webhooks/whatsapp/status, signed: stored with their job, one commit
    apply       one worker process: the callbacks applied, SENT to DELIVERED

Beside each, in rounds that alternate, is what it is compared with: of accept and callbacks the bare POST of
`bench.http`, by the same caller, whose requests are bytes made before; of batch and apply bulk enqueue; of send httpx
alone, posting the same bodies over kept connections.

The API, the worker and the providers of the sandbox are processes of their own on this machine.
"""

import argparse
import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped]
import psycopg

from bench import http, loop
from bench.server import BenchServer, running
from bench.systems import ours
from ostinato import Client
from ostinato._core.base import log
from ostinato._core.base.settings import Settings
from ostinato._core.engine import keys
from ostinato._core.engine.schema import install
from ostinato.apps.outbound import sandbox as stand_in
from ostinato.apps.outbound.providers import whatsapp
from ostinato.apps.outbound.schema import COMPONENT
from ostinato.lab.torture.crew import Crew, Hand

RECIPIENTS = 500
BATCH = 500
BATCHES = 6
BULK = 5_000
ROUNDS = 2
SECONDS = 20.0
WARM = 50
CALLERS = 16
PHONE = "100200300"
HOOK = "/api/v1/webhooks/whatsapp/status"
MESSAGES = "/api/v1/outbound/messages"
SENT = "select count(*) from outbound.message where sent_at is not null"
DELIVERED = "select count(*) from outbound.message where status = 'DELIVERED'"

Found = dict[str, list[float]]
NAMES = frozenset(
    {
        *("accept", "accept cpu", "beside accept", "beside accept cpu"),
        *("callbacks", "callbacks cpu", "beside callbacks", "beside callbacks cpu"),
        *("batch", "beside batch", "send", "beside send", "apply", "beside apply"),
    }
)
"""What `measure` finds: each figure, and beside it what it is compared with."""


def serve(which: str, dsn: str, fd: int) -> None:
    """Be the API, or the providers, until the caller ends."""
    import uvicorn  # noqa: PLC0415 - only the servers need it

    from ostinato._faces.api.parts import Parts  # noqa: PLC0415 - as above
    from ostinato._faces.api.server import build  # noqa: PLC0415 - as above
    from ostinato.apps.outbound import APP  # noqa: PLC0415 - as above
    from ostinato.lab.sandbox.server import Sandbox  # noqa: PLC0415 - as above

    log.configure("json", "warning", stream=Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for life
    settings = Settings(api_rate_per_minute=10_000_000)
    app: Any = (
        build(Parts(ours.database(dsn), settings, apps=[APP]))
        if which == "api"
        else Sandbox([stand_in.Providers()]).app
    )
    config = uvicorn.Config(app, log_config=None, access_log=False, loop="uvloop")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=fd)])


@contextmanager
def server_of(which: str, dsn: str, env: dict[str, str]) -> Iterator[tuple[int, psutil.Process]]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        fd = str(sock.fileno())
        command = [sys.executable, "-m", "bench.outbound", "--serve", which, dsn, fd]
        process = subprocess.Popen(command, pass_fds=[sock.fileno()], env=os.environ | env)
    try:
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(30)


@dataclass(frozen=True)
class Place:
    """The database of the messages, that of the bare requests, and the servers."""

    dsn: str
    bare: str
    folder: Path
    port: int
    process: psutil.Process
    env: dict[str, str]
    key: str

    def load(self, requests: Iterator[bytes]) -> http.Load:
        return http.measured(self.port, self.process, requests)

    def all_of(self, requests: Iterable[bytes]) -> http.Load:
        """Make requests until there are no more."""
        return asyncio.run(http.load(self.port, iter(requests), 1e9))


@contextmanager
def place(dsn: str, bare: str, folder: Path) -> Iterator[Place]:
    asyncio.run(install(dsn, [COMPONENT]))
    ours.prepare(bare)
    quiet = {"OSTINATO_OUTBOUND_PUBLIC_URL": ""}  # callbacks come from us
    with server_of("providers", dsn, quiet) as (providers, _):
        env = stand_in.Providers().settings(f"http://127.0.0.1:{providers}") | {
            "OSTINATO_OUTBOUND_QUIET_HOURS": "no",
            "OSTINATO_OUTBOUND_TIMEOUT_SECONDS": "60",
        }
        with server_of("api", dsn, env) as (port, process):
            yield Place(dsn, bare, folder, port, process, env, asyncio.run(key_of(dsn)))


async def key_of(dsn: str) -> str:
    async with Client(ours.database(dsn)) as client, client.connection() as conn:
        made = await keys.create(conn, tenant_id="bench", subject="bench", roles=["admin"])
    return made.key


async def set_up(here: Place) -> None:
    """A sender, a template, and the consents of all recipients."""
    bearer = {"Authorization": f"Bearer {here.key}"}
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{here.port}", headers=bearer, timeout=60, trust_env=False
    ) as client:
        sender = {"channel": "WHATSAPP", "providerKey": PHONE}
        (await client.put("/api/v1/outbound/senders", json=sender)).raise_for_status()
        template = {"category": "UTILITY", "providerName": "b", "body": "Bonjour"}
        (await client.put("/api/v1/outbound/templates/b/fr", json=template)).raise_for_status()

        async def consent(number: int) -> None:
            given = {
                "subjectId": f"s-{number}",
                "channel": "WHATSAPP",
                "status": "GRANTED",
                "address": number_of(number),
                "proof": {"wording": "b"},
            }
            (await client.put("/api/v1/outbound/consents", json=given)).raise_for_status()

        await from_callers(RECIPIENTS, consent)


async def from_callers(count: int, ask: Any) -> float:  # noqa: ANN401 - a coroutine function
    """Ask so many times from some callers at once; how many a second."""
    left = iter(range(count))
    started = time.perf_counter()

    async def caller() -> None:
        for number in left:
            await ask(number)

    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return count / (time.perf_counter() - started)


def number_of(number: int) -> str:
    return f"+3363{number:07}"


def message(number: int) -> dict[str, str]:
    one = number % RECIPIENTS
    return {
        "channel": "WHATSAPP",
        "to": number_of(one),
        "subjectId": f"s-{one}",
        "dossierId": f"D-{number % 100}",
        "templateCode": "b",
    }


def messages(here: Place, name: str) -> Iterator[bytes]:
    for number in itertools.count():
        body = json.dumps(message(number)).encode()
        yield http.written(MESSAGES, here.key, body, [f"Idempotency-Key: {name}-{number}"])


def batches(here: Place, name: str) -> Iterator[bytes]:
    for first in range(BATCHES):
        asked = [
            message(number) | {"idempotencyKey": f"{name}-{number}"}
            for number in range(first * BATCH, (first + 1) * BATCH)
        ]
        yield http.written(f"{MESSAGES}/batch", here.key, json.dumps({"messages": asked}).encode())


def told(here: Place, ids: Iterable[str]) -> list[bytes]:
    """Return the callbacks, each signed, that say of messages that they were delivered."""
    whose = {"display_phone_number": "1", "phone_number_id": PHONE}
    found = []
    for each in ids:
        line = {"id": each, "status": "delivered", "timestamp": "1781510400"}
        value = {"messaging_product": "whatsapp", "metadata": whose, "statuses": [line]}
        entry = [{"id": "W", "changes": [{"field": "messages", "value": value}]}]
        body = json.dumps({"object": "whatsapp_business_account", "entry": entry}).encode()
        sign = whatsapp.signature(whatsapp.Cloud.secret, body)
        found.append(http.written(HOOK, here.key, body, [f"X-Hub-Signature-256: {sign}"]))
    return found


def beside(here: Place, found: Found, name: str, load: http.Load) -> None:
    """Note what a request costs, and the bare POST that was asked for right after it."""
    ((bare,),) = http.measure(here.bare, 1, ("POST",), ("bare",)).values()
    for what, one in ((name, load), (f"beside {name}", bare)):
        found.setdefault(what, []).append(one.rate)
        found.setdefault(f"{what} cpu", []).append(one.cpu)


async def bulk(dsn: str) -> float:
    """Jobs a second, added in one statement."""
    async with Client(ours.database(dsn)) as client:
        started = time.perf_counter()
        await http.NOOP.enqueue_many(client, [{"n": n} for n in range(BULK)])
        return BULK / (time.perf_counter() - started)


async def alone(here: Place, count: int) -> float:
    """Post what `send` posts, by httpx and nothing else."""
    bearer = {"Authorization": f"Bearer {here.env['OSTINATO_OUTBOUND_WHATSAPP_TOKEN']}"}
    limits = httpx.Limits(max_connections=CALLERS)
    async with httpx.AsyncClient(headers=bearer, timeout=60, limits=limits, trust_env=False) as client:

        async def post(number: int) -> None:
            body = {
                "messaging_product": "whatsapp",
                "recipient_type": "individual",
                "to": number_of(number % RECIPIENTS)[1:],
                "biz_opaque_callback_data": f"x-{number}",
                "type": "template",
                "template": {"name": "b", "language": {"code": "fr"}, "components": []},
            }
            url = f"{here.env['OSTINATO_OUTBOUND_WHATSAPP_URL']}/{PHONE}/messages"
            (await client.post(url, json=body)).raise_for_status()

        await from_callers(WARM, post)
        return await from_callers(count, post)


@asynccontextmanager
async def working(here: Place) -> AsyncIterator[Hand]:
    """One worker process. The rate of a number at the provider is not what is measured here."""
    values = {name.removeprefix("OSTINATO_").lower(): value for name, value in here.env.items()}
    with Crew("bench.unlimited:APP", here.dsn, here.folder, values) as crew:
        yield crew.start()


async def drained(here: Place, statement: str, wanted: int, seconds: float) -> float:
    """How many a second a worker has done of what waits, for so long at most; counted once it is warm."""
    with psycopg.connect(here.dsn, autocommit=True) as conn:
        async with working(here) as hand:
            begun = first = 0.0
            before, already = 0, count(conn, statement)
            while True:
                now, done = time.perf_counter(), count(conn, statement)
                begun = begun or now
                if not first and done >= already + min(WARM, wanted // 2):
                    first, before = now, done
                if done >= already + wanted or now - begun > seconds:
                    return (done - before) / max(now - (first or begun), 1e-9)
                if not hand.alive:
                    raise RuntimeError(hand.log_path.read_text()[-2000:])
                await asyncio.sleep(0.02)


def count(conn: psycopg.Connection[Any], statement: str) -> int:
    row = conn.execute(statement.encode()).fetchone()
    return int(row[0]) if row else 0


def measure(server: BenchServer, rounds: int = ROUNDS, seconds: float = SECONDS) -> dict[str, float]:
    """All of it, each beside its yardstick in rounds that alternate: others' work comes and goes."""
    found: Found = {}
    with (
        server.database("bench_outbound") as dsn,
        server.database("bench_bare") as bare,
        tempfile.TemporaryDirectory() as folder,
        place(dsn, bare, Path(folder)) as here,
    ):
        asyncio.run(set_up(here))
        for number in range(rounds):
            one_round(here, number, found, seconds)
    made = {name: median(each) for name, each in found.items()}
    assert made.keys() == NAMES, made.keys() ^ NAMES  # noqa: S101
    return made


def one_round(here: Place, number: int, found: Found, seconds: float) -> None:
    def note(name: str, mine: float, theirs: float) -> None:
        found.setdefault(name, []).append(mine)
        found.setdefault(f"beside {name}", []).append(theirs)

    beside(here, found, "accept", here.load(messages(here, f"accept-{number}")))
    clear(here.dsn)  # what is sent was accepted in batches
    made = here.all_of(batches(here, f"batch-{number}")).rate * BATCH
    note("batch", made, asyncio.run(bulk(here.bare)))
    waiting = BATCHES * BATCH
    note("send", asyncio.run(drained(here, SENT, waiting, seconds)), loop.run(alone(here, waiting // 3)))
    with psycopg.connect(here.dsn, autocommit=True) as conn:
        named = "select provider_message_id from outbound.message where sent_at is not null"
        ids = [str(row[0]) for row in conn.execute(named)]
    # Storing looks at no status: the same ones may come again, and are applied once each from an empty table.
    beside(here, found, "callbacks", here.load(itertools.cycle(told(here, ids))))
    clear(here.dsn, "outbound.callback")
    here.all_of(told(here, ids))
    note("apply", asyncio.run(drained(here, DELIVERED, len(ids), seconds)), asyncio.run(bulk(here.bare)))
    clear(here.dsn)


def clear(dsn: str, *tables: str) -> None:
    """Forget messages, or these tables, and all jobs."""
    named = tables or ("outbound.message", "outbound.attempt", "outbound.pair", "outbound.callback")
    with psycopg.connect(dsn, autocommit=True) as conn:
        jobs = ("ostinato_data.ready", "ostinato_data.scheduled", "ostinato_data.claim", "ostinato_data.job")
        conn.execute(f"truncate {', '.join([*named, *jobs])}".encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the most for sending, and for applying")
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    given: Any = parser.parse_args()
    if given.serve:
        which, dsn, fd = given.serve
        serve(which, dsn, int(fd))
        return
    log.configure(level="error")
    before = os.getloadavg()[0]
    with running() as server:
        found = measure(server, given.rounds, given.seconds)
    for name in ("accept", "batch", "send", "callbacks", "apply"):
        mine, theirs = found[name], found[f"beside {name}"]
        shares = f"{mine / theirs:>7.1%}"
        if f"{name} cpu" in found:
            shares += f"  {found[f'beside {name} cpu'] / found[f'{name} cpu']:.1%} by processor time"
        print(f"{name:<11}{mine:>8,.0f}/s  of {theirs:>9,.0f}/s {shares}")
    print(f"{os.cpu_count()} cores, load {before:.1f} before")


if __name__ == "__main__":
    main()
