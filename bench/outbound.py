"""`python -m bench.outbound`: messages a second from the request to the provider, and callbacks.

    accept      POST /api/v1/outbound/messages: consent, message, job, audit and event, one commit
    batch       POST /api/v1/outbound/messages/batch: the same for 500 in one request, counted in messages
    httpx       httpx alone, posting the same bodies over kept connections: what `send` is compared with
    send        one worker process: policy again, attempt committed, HTTP to the provider, outcome
    callbacks   POST /api/v1/webhooks/whatsapp/status, signed: stored with their job, one commit
    apply       one worker process: the callbacks applied, SENT to DELIVERED

Beside each rate are the commits of the database for each message.

The API, the worker and the providers of the sandbox are processes of their own on this machine.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import psycopg

from bench.server import running
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

MESSAGES = 300
BATCH = 500
BATCHES = 4
SECONDS = 20.0
WARM = 20
CALLERS = 16
PHONE = "100200300"
HOOK = "/api/v1/webhooks/whatsapp/status"


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
def server_of(which: str, dsn: str, env: dict[str, str]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        fd = str(sock.fileno())
        command = [sys.executable, "-m", "bench.outbound", "--serve", which, dsn, fd]
        process = subprocess.Popen(command, pass_fds=[sock.fileno()], env=os.environ | env)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


@dataclass(frozen=True)
class Rate:
    """How many were done, and in how many seconds."""

    done: int
    seconds: float
    commits: int = 0
    """Of the database, meanwhile."""

    @property
    def a_second(self) -> float:
        return self.done / max(self.seconds, 1e-9)


async def many(numbers: Iterable[int], ask: Any, seconds: float = 1e9) -> Rate:  # noqa: ANN401 - a coroutine function
    """Make requests from some callers at once, for so long at most."""
    left = iter(numbers)
    started = time.perf_counter()
    done = 0

    async def caller() -> None:
        nonlocal done
        for number in left:
            if time.perf_counter() - started > seconds:
                return
            answer = await ask(number)
            assert answer.status_code in (200, 201), answer.text  # noqa: S101
            done += 1

    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return Rate(done, time.perf_counter() - started)


async def set_up(http: httpx.AsyncClient, count: int) -> None:
    sender = {"channel": "WHATSAPP", "providerKey": PHONE}
    (await http.put("/api/v1/outbound/senders", json=sender)).raise_for_status()
    template = {"category": "UTILITY", "providerName": "b", "body": "Bonjour"}
    (await http.put("/api/v1/outbound/templates/b/fr", json=template)).raise_for_status()

    async def consent(number: int) -> httpx.Response:
        given = {
            "subjectId": f"s-{number}",
            "channel": "WHATSAPP",
            "status": "GRANTED",
            "address": number_of(number),
            "proof": {"wording": "b"},
        }
        return await http.put("/api/v1/outbound/consents", json=given)

    await many(range(count), consent)


def number_of(number: int) -> str:
    return f"+3363{number:07}"


def drained(conn: psycopg.Connection[Any], hand: Hand, statement: str, count: int, seconds: float) -> Rate:
    """Wait until a count is reached, for so long at most; counted once the worker is warm."""
    begun = first = 0.0
    before = 0
    while True:
        found = conn.execute(statement.encode()).fetchone()
        assert found is not None  # noqa: S101
        now, done = time.perf_counter(), int(found[0])
        begun = begun or now
        if not first and done >= min(WARM, count // 2):
            first, before = now, done
        if done >= count or now - begun > seconds:
            return Rate(done - before, now - (first or begun))
        if not hand.alive:
            raise RuntimeError(hand.log_path.read_text()[-2000:])
        time.sleep(0.02)


def signed(line: dict[str, Any]) -> tuple[bytes, dict[str, str]]:
    whose = {"display_phone_number": "1", "phone_number_id": PHONE}
    value = {"messaging_product": "whatsapp", "metadata": whose, "statuses": [line]}
    change = {"field": "messages", "value": value}
    entry = [{"id": "W", "changes": [change]}]
    body = json.dumps({"object": "whatsapp_business_account", "entry": entry}).encode()
    return body, {"X-Hub-Signature-256": whatsapp.signature(whatsapp.Cloud.secret, body)}


async def key_of(dsn: str) -> str:
    async with Client(ours.database(dsn)) as client, client.connection() as conn:
        made = await keys.create(conn, tenant_id="bench", subject="bench", roles=["admin"])
    return made.key


async def measure(dsn: str, count: int, seconds: float, folder: Path) -> dict[str, Rate]:
    found: dict[str, Rate] = {}
    bearer = {"Authorization": f"Bearer {await key_of(dsn)}"}
    quiet = {"OSTINATO_OUTBOUND_PUBLIC_URL": ""}  # callbacks come from us
    with server_of("providers", dsn, quiet) as providers:
        env = stand_in.Providers().settings(providers) | {
            "OSTINATO_OUTBOUND_QUIET_HOURS": "no",
            "OSTINATO_OUTBOUND_TIMEOUT_SECONDS": "60",
        }
        with server_of("api", dsn, env) as url:
            limits = httpx.Limits(max_connections=CALLERS)
            async with httpx.AsyncClient(
                base_url=url, headers=bearer, timeout=60, limits=limits, trust_env=False
            ) as http:
                await set_up(http, WARM + count)

                async def accept(number: int) -> httpx.Response:
                    body = {
                        "channel": "WHATSAPP",
                        "to": number_of(number),
                        "subjectId": f"s-{number}",
                        "dossierId": f"D-{number % 100}",
                        "templateCode": "b",
                    }
                    key = {"Idempotency-Key": f"k-{number}"}
                    return await http.post("/api/v1/outbound/messages", json=body, headers=key)

                await many(range(WARM), accept)
                found["accept"] = await counted(dsn, many(range(WARM, WARM + count), accept, seconds))

                async def batch(number: int) -> httpx.Response:
                    first = number * BATCH
                    asked = [
                        {
                            "idempotencyKey": f"b-{first + n}",
                            "channel": "WHATSAPP",
                            "to": number_of(n % count),
                            "subjectId": f"s-{n % count}",
                            "dossierId": f"D-{n % 100}",
                            "templateCode": "b",
                        }
                        for n in range(BATCH)
                    ]
                    return await http.post("/api/v1/outbound/messages/batch", json={"messages": asked})

                made = await counted(dsn, many(range(BATCHES), batch, seconds))
                found["batch"] = replace(made, done=made.done * BATCH)
                found["httpx"] = await alone(env, count)
                await rest(dsn, folder, env, http, found, seconds)
    return found


async def counted(dsn: str, work: Coroutine[Any, Any, Rate]) -> Rate:
    """Do something, and count the commits of the database meanwhile."""
    before = commits(dsn)
    made = await work
    return replace(made, commits=commits(dsn) - before)


def commits(dsn: str) -> int:
    with psycopg.connect(dsn, autocommit=True) as conn:
        time.sleep(1.1)  # a session tells of its own after a second
        found = conn.execute("select xact_commit from pg_stat_database where datname = current_database()").fetchone()
    return int(found[0]) if found else 0


async def alone(env: dict[str, str], count: int) -> Rate:
    """Post what `send` posts, by httpx and nothing else."""
    bearer = {"Authorization": f"Bearer {env['OSTINATO_OUTBOUND_WHATSAPP_TOKEN']}"}
    limits = httpx.Limits(max_connections=CALLERS)
    async with httpx.AsyncClient(headers=bearer, timeout=60, limits=limits, trust_env=False) as http:

        async def post(number: int) -> httpx.Response:
            template = {"name": "b", "language": {"code": "fr"}, "components": []}
            body = {
                "messaging_product": "whatsapp",
                "recipient_type": "individual",
                "to": number_of(number)[1:],
                "biz_opaque_callback_data": f"x-{number}",
                "type": "template",
                "template": template,
            }
            return await http.post(f"{env['OSTINATO_OUTBOUND_WHATSAPP_URL']}/{PHONE}/messages", json=body)

        await many(range(WARM), post)
        return await many(range(WARM, WARM + count), post)


async def rest(  # noqa: PLR0917 - what there is
    dsn: str, folder: Path, env: dict[str, str], http: httpx.AsyncClient, found: dict[str, Rate], seconds: float
) -> None:
    values = {name.removeprefix("OSTINATO_").lower(): value for name, value in env.items()}
    waiting = WARM + found["accept"].done + found["batch"].done
    with psycopg.connect(dsn, autocommit=True) as conn:
        # The rate of a number at the provider is not what is measured here.
        app = "bench.outbound:UNLIMITED"
        with Crew(app, dsn, folder, values) as crew:
            hand = crew.start()
            sent = "select count(*) from outbound.message where sent_at is not null"
            before = await asyncio.to_thread(commits, dsn)
            made = await asyncio.to_thread(drained, conn, hand, sent, waiting, seconds)
            found["send"] = replace(made, commits=await asyncio.to_thread(commits, dsn) - before)
        named = "select provider_message_id from outbound.message where sent_at is not null"
        ids = conn.execute(named).fetchall()

        async def tell(number: int) -> httpx.Response:
            line = {"id": ids[number][0], "status": "delivered", "timestamp": "1781510400"}
            body, headers = signed(line)
            return await http.post(HOOK, content=body, headers=headers)

        found["callbacks"] = await counted(dsn, many(range(min(len(ids), WARM + MESSAGES)), tell, seconds))
        told = found["callbacks"].done
        with Crew(app, dsn, folder, values) as crew:
            hand = crew.start()
            done = "select count(*) from outbound.message where status = 'DELIVERED'"
            found["apply"] = await asyncio.to_thread(drained, conn, hand, done, told, seconds)


def _unlimited() -> Any:  # noqa: ANN401 - an app
    from ostinato.apps.outbound import APP  # noqa: PLC0415 - only the worker needs it

    APP.queues = ()
    return APP


UNLIMITED = _unlimited()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the most for each phase")
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    given: Any = parser.parse_args()
    if given.serve:
        which, dsn, fd = given.serve
        serve(which, dsn, int(fd))
        return
    with running() as server, server.database("bench_outbound") as dsn, tempfile.TemporaryDirectory() as folder:
        asyncio.run(install(dsn, [COMPONENT]))
        found = asyncio.run(measure(dsn, given.messages, given.seconds, Path(folder)))
    print(f"{'':<12}{'a second':>10}{'done':>8}{'commits each':>14}   of {given.messages:,} messages, warm")
    for name, rate in found.items():
        each = f"{rate.commits / rate.done:>14.2f}" if rate.commits and rate.done else ""
        print(f"{name:<12}{rate.a_second:>10,.0f}{rate.done:>8,}{each}")
    whole = 1 / (1 / found["accept"].a_second + 1 / found["send"].a_second)
    print(f"{'end to end':<12}{whole:>10,.0f}   accepted and sent, one after the other")


if __name__ == "__main__":
    main()
