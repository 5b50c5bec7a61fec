"""The events of `ostinato torture`: emitted in transactions, and counted wherever they arrive.

`torture.fact` records what happened. Two subscribers record the events that they get, in the
transactions that end their deliveries, and a receiver those that come over HTTP: see the counts.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import psycopg

from ostinato._core.base.backoff import Retry
from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.db.call import Connection
from ostinato._core.db.sqlfile import statement
from ostinato._core.engine import clock, subscriptions, webhook_deliveries, webhooks
from ostinato._core.runtime.client import Client
from ostinato.lab.torture import app as kinds
from ostinato.lab.torture.checks import Count
from ostinato.lab.torture.receiver import Message, Receiver

FILE = ("ostinato.lab.torture", "sql/events.sql")
KEYS = 5
ROLLED_BACK = 0.15
RETRY = Retry(base=0.1, factor=1.5, cap=1)


class _Fact(NamedTuple):
    event_id: str
    key: str | None
    given_up: bool
    attempts: int


class Emitter:
    """Emits events; remembers which commits were confirmed, and which were rolled back."""

    def __init__(self, client: Client, rng: random.Random) -> None:
        self._client = client
        self._rng = rng
        self.acknowledged: set[int] = set()
        self.rolled_back: set[int] = set()

    async def emit(self) -> list[int]:
        """Emit some events in a transaction, which may be rolled back; adds no job."""
        number = self._rng.choice((1, 1, 2, 4))
        keys = [self._key() for _ in range(number)]
        takes_back = self._rng.random() < ROLLED_BACK
        ids: list[int] = []
        async with self._client.transaction() as conn:
            ids = await kinds.emit(conn, keys)
            if takes_back:
                self.rolled_back.update(ids)
                raise psycopg.Rollback
        self.acknowledged.update(set(ids) - self.rolled_back)
        return []

    async def emit_in_a_job(self) -> list[int]:
        """Enqueue a job that emits an event in the transaction that ends it."""
        return [await kinds.emitting.enqueue(self._client, key=f"key-{self._rng.randrange(KEYS)}")]

    def _key(self) -> str | None:
        chosen = self._rng.randrange(KEYS + 1)
        return f"key-{chosen}" if chosen < KEYS else None


async def open_endpoint(conn: Connection, receiver: Receiver) -> None:
    """Let all events be sent to the receiver."""
    made = await webhooks.create_endpoint(
        conn, "torture", receiver.url, tenant_id=kinds.TENANT, retry=RETRY, allowed=parse_allowed(receiver.place)
    )
    receiver.open(made.secret, await clock.now(conn))


async def left(conn: Connection) -> int:
    """Return the number of emitted events that are not settled everywhere."""
    return int((await _row(conn, "left"))[0])


async def repair(conn: Connection) -> int:
    """Do what the janitor and a person would do in time; returns how many were redelivered.

    Events that were buried only because of crashes beside them are delivered again.
    """
    await subscriptions.heal(conn)
    await webhook_deliveries.heal(conn)
    cursor = await conn.execute(statement(*FILE, "buried"))
    return sum([await subscriptions.redeliver(conn, row[0]) for row in await cursor.fetchall()])


async def counts(conn: Connection, emitter: Emitter, receiver: Receiver) -> list[Count]:
    """Count what became of the events."""
    emitted, gone, missing, unrecorded, twice, turned, buried = await _row(
        conn,
        "counts",
        acknowledged=sorted(emitter.acknowledged),
        subscriptions=kinds.SUBSCRIPTIONS,
        type=kinds.happened.name,
    )
    return [
        Count("events emitted", emitted),
        Count("events rolled back", len(emitter.rolled_back)),
        Count("events lost", gone + missing, 0),
        Count("events out of order", turned, 0),
        Count("effects of events duplicated", twice, 0),
        Count("events that were never committed", unrecorded, 0),
        Count("events buried", buried, 0),
        *_webhooks(await _facts(conn), receiver.messages),
    ]


def _webhooks(facts: list[_Fact], messages: list[Message]) -> list[Count]:
    known = {fact.event_id: fact for fact in facts}
    taken = {message.event_id for message in messages if message.taken}
    came = Counter(message.event_id for message in messages)
    bodies = Counter(event_id for event_id, _ in {(m.event_id, m.body) for m in messages})
    return [
        Count("webhooks received", len(messages)),
        Count("webhooks received again, recognised by id", len(messages) - len(came)),
        Count("webhooks lost", len(known.keys() - taken), 0),
        Count("webhooks out of order", len(_turned(facts, messages)), 0),
        Count("webhooks unsigned", sum(not message.signed for message in messages), 0),
        Count("webhooks of events that were never committed", len(came.keys() - known.keys()), 0),
        Count("webhooks with other bytes under one id", sum(n > 1 for n in bodies.values()), 0),
        Count(
            "webhooks received more often than attempted",
            sum(n > known[event_id].attempts for event_id, n in came.items() if event_id in known),
            0,
        ),
    ]


def _turned(facts: list[_Fact], messages: Iterable[Message]) -> list[str]:
    """Events whose first message came after that of a later one of their key.

    Events that were given up did not keep the others waiting.
    """
    place = {fact.event_id: (n, fact.key) for n, fact in enumerate(facts) if fact.key is not None and not fact.given_up}
    furthest: defaultdict[str | None, int] = defaultdict(lambda: -1)
    turned = []
    for event_id in dict.fromkeys(message.event_id for message in messages):
        if event_id in place:
            n, key = place[event_id]
            if n < furthest[key]:
                turned.append(event_id)
            furthest[key] = max(furthest[key], n)
    return turned


async def evidence(conn: Connection, receiver: Receiver) -> list[str]:
    """Return the histories of some events for which a promise was broken."""
    facts = await _facts(conn)
    taken = {message.event_id for message in receiver.messages if message.taken}
    odd = [fact.event_id for fact in facts if fact.event_id not in taken]
    named = {"ids": [*odd, *_turned(facts, receiver.messages)], "subscriptions": kinds.SUBSCRIPTIONS}
    cursor = await conn.execute(statement(*FILE, "evidence"), named)
    return [str(row[0]) for row in await cursor.fetchall()]


async def _facts(conn: Connection) -> list[_Fact]:
    cursor = await conn.execute(statement(*FILE, "facts"))
    return [_Fact(*row) for row in await cursor.fetchall()]


async def _row(conn: Connection, block: str, **named: object) -> tuple[Any, ...]:
    cursor = await conn.execute(statement(*FILE, block), named or None)
    row = await cursor.fetchone()
    return () if row is None else tuple(row)
