"""`python -m bench.app_http`: requests of enrichment and capture over HTTP, beside the bare ones.

One server process with both applications, and the caller of `bench.http`, so that a rate here is one of the same kind
as the bare POST and the bare GET there.

    cached POST   POST /v1/requests for companies that are known, in turns
    cached GET    GET /v1/requests/{id}
    new           POST /documents/capture, as eight users: the audit log has a chain for each
    replay        the same captures again
"""

import argparse
import asyncio
import itertools
import json
import os
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from statistics import median

from bench import http
from bench.enrichment import known
from bench.server import BenchServer, running
from bench.systems import ours
from ostinato import Client
from ostinato._core.base import log
from ostinato._core.db.migrate import migrate
from ostinato._core.engine import keys
from ostinato.apps.capture import schema as capture_schema
from ostinato.apps.capture.device import Kek, prepare
from ostinato.apps.enrichment import schema as enrichment_schema

COMPANIES = 40
FIRST = 998_000_001
TENANT = "bench"
COUNTED_SECONDS = 1.0
ROLES = ("agency_user", "capture")
ASKED = ("cached POST", "cached GET", "new", "replay", "beside POST", "beside GET")
NAMES = frozenset(f"{name}{cpu}" for name in ASKED for cpu in ("", " cpu"))
"""What `bench.apps` finds here."""


async def key_of(dsn: str, subject: str) -> str:
    async with Client(ours.database(dsn)) as client, client.connection() as conn:
        made = await keys.create(conn, tenant_id=TENANT, subject=subject, roles=ROLES)
    return made.key


def capture(key: str, capture_id: str) -> bytes:
    """Return the request with a capture."""
    fields = prepare(bytes(65_536), "bench", Kek("kek", bytes(32)), capture_id=str(uuid.uuid4())).fields
    sent = {
        "capture_id": capture_id,
        "hash_sha3_256": fields.content_hash,
        "timestamp_device": datetime.now(UTC).isoformat(),
        **{
            name: getattr(fields, name)
            for name in (
                "aes_gcm_nonce_b64",
                "aes_gcm_tag_b64",
                "dek_wrapped_b64",
                "kek_id",
                "mime_type",
                "size_bytes",
                "upload_object_key",
            )
        },
    }
    return http.written("/documents/capture", key, json.dumps(sent).encode())


def prepare_database(dsn: str) -> str:
    """Migrate it, and have companies enriched; the id of a request."""
    ours.prepare(dsn)
    asyncio.run(migrate(dsn, [capture_schema.COMPONENT, enrichment_schema.COMPONENT]))
    sirens = [str(FIRST + number) for number in range(COMPANIES)]
    return asyncio.run(known(ours.database(dsn), sirens))


Sent = tuple[list[bytes], Iterator[int]]


def requests_of(dsn: str) -> dict[str, Sent]:
    """Prepare a database; the requests, each with the numbers that stand in it one after the other."""
    request_id = prepare_database(dsn)
    users = [asyncio.run(key_of(dsn, f"user-{number}")) for number in range(http.CONNECTIONS)]
    sirens = itertools.cycle(range(FIRST, FIRST + COMPANIES))
    marked = http.NUMBER.decode()
    return {
        "cached POST": ([http.written("/v1/requests", users[0], json.dumps({"siren": marked}).encode())], sirens),
        "cached GET": ([http.written(f"/v1/requests/{request_id}", users[0])], http.NUMBERS),
        "new": ([capture(key, f"a1b2c3d4-e5f6-4a7b-8c9d-000{marked}") for key in users], http.NUMBERS),
        "replay": ([capture(key, str(uuid.uuid4())) for key in users], http.NUMBERS),
    }


def measure(server: BenchServer, rounds: int) -> dict[str, list[http.Load]]:
    """Measure each request in rounds, and in each round the bare ones beside them: others' work comes and goes."""
    found: dict[str, list[http.Load]] = {}
    with server.database("bench_apps") as dsn, server.database("bench_bare") as bare:
        requests = requests_of(dsn)
        ours.prepare(bare)
        for _ in range(rounds):
            for (which, name), loads in http.measure(bare, 1, ("GET", "POST"), ("bare",)).items():
                found.setdefault(f"{which} {name}", []).extend(loads)
            with http.server_of("apps", dsn) as (port, process):
                for name, (sent, numbers) in requests.items():
                    found.setdefault(name, []).append(http.measured(port, process, sent, numbers))
    return found


def statements(server: BenchServer) -> dict[str, int]:
    """Count the statements of each request, which no machine changes."""
    found = {}
    name = "bench_statements"
    with server.database(name) as dsn:
        requests = requests_of(dsn)
        with http.server_of("apps", dsn) as (port, _):
            for what, (sent, numbers) in requests.items():
                asyncio.run(http.load(port, sent, http.WARM_SECONDS, numbers))  # its key is known then
                with server.counting(name) as counted:
                    answered = round(
                        asyncio.run(http.load(port, sent, COUNTED_SECONDS, numbers)).rate * COUNTED_SECONDS
                    )
                    found[what] = round(counted() / answered)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    rounds: int = parser.parse_args().rounds
    log.configure(level="error")
    before = os.getloadavg()[0]
    with running() as server:
        counted = statements(server)
        found = measure(server, rounds)
    for name, statement_count in counted.items():
        yardstick = "bare GET" if name == "cached GET" else "bare POST"
        (rate, cpu), (alone, alone_cpu) = (
            (median(one.rate for one in found[each]), median(one.cpu for one in found[each]))
            for each in (name, yardstick)
        )
        share = f"{rate / alone:.0%} of the {yardstick} {alone:,.0f}/s, {alone_cpu / cpu:.0%} by processor time"
        print(f"{name:<12}{rate:>8,.0f}/s{cpu:>8,.0f} µs{statement_count:>3} statements   {share}")
    print(f"{os.cpu_count()} cores, load {before:.1f} before")


if __name__ == "__main__":
    main()
