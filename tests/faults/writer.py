"""A process that tells events until it is asked to stop, or killed.

    python -m tests.faults.writer URL DIRECT_URL SEED

Each turn is a transaction: events of one or more keys, and a row of `fact` for each, numbered while
their keys are held. So `fact` is what happened, in the order of the commits of each key. Some
transactions wait before their commit, and some are rolled back, after their events were noted in
`doomed` by another connection. What was committed is printed.
"""

import random
import signal
import sys
import threading
from typing import Any

import psycopg

from tests.faults.events_app import TYPE

KEYS = [f"k{n}" for n in range(6)]

Connection = psycopg.Connection[Any]


def emit(conn: Connection, rng: random.Random, keys: list[str | None]) -> list[int]:
    payloads = ['{"fails": true}' if rng.random() < 0.03 else "{}" for _ in keys]
    rows = conn.execute(
        "select ostinato.emit_events(types => %s::text[], payloads => %s::text[],"
        " ordering_keys => %s::text[], tenant_ids => '{acme}', correlation_ids => '{c}',"
        " occurred_ats => array[now()], producers => '{writer}')",
        [[TYPE], payloads, keys],
    ).fetchall()
    return [row[0] for row in rows]


def turn(conn: Connection, aside: Connection, rng: random.Random) -> None:
    keys: list[str | None] = [*rng.choices(KEYS, k=rng.choice((1, 1, 1, 4)))]
    if rng.random() < 0.1:
        keys.append(None)
    with conn.transaction():
        ids = emit(conn, rng, keys)
        conn.execute("insert into fact (event_id, key) select * from unnest(%s::bigint[], %s::text[])", [ids, keys])
        if rng.random() < 0.3:
            conn.execute("select pg_sleep(%s)", [rng.uniform(0, 0.05)])
        if rng.random() < 0.1:
            aside.execute("insert into doomed select unnest(%s::bigint[])", [ids])
            ids = []
            raise psycopg.Rollback
    sys.stdout.write("".join(f"{event_id}\n" for event_id in ids))
    sys.stdout.flush()


def main(url: str, direct_url: str, seed: int) -> None:
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    rng = random.Random(seed)
    # Nothing is prepared: behind a pooler the next statement may go to another session.
    with (
        psycopg.connect(url, autocommit=True, prepare_threshold=None) as conn,
        psycopg.connect(direct_url, autocommit=True) as aside,
    ):
        while not over.wait(rng.uniform(0, 0.1)):
            turn(conn, aside, rng)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
