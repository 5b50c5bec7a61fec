"""What the fault tests on events speak: writers that can be killed, a receiver, and the promises.

`fact` holds what happened (see `writer.py`), `booked` and `heard` what subscribers wrote, and the
receiver what came over HTTP. All of them must tell the same story.
"""

import random
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ostinato._core.base.settings import Settings
from ostinato._core.base.webhooks import make_secret, verify
from ostinato._core.engine.webhooks import SECRET
from ostinato._core.runtime.testing import KEY
from ostinato.lab.torture.crew import Crew
from tests.faults.events_app import IN_TRANSACTIONS, TYPE
from tests.faults.site import Site
from tests.runtime.receiver import Receiver, Reply, Request, reset
from tests.waiting import until

APP = "tests.faults.events_app:app"

TABLES = """
create table fact (n bigint generated always as identity, event_id bigint primary key, key text);
create table doomed (event_id bigint primary key);
create table booked
    (n bigint generated always as identity, subscription text, event_id bigint, key text);
create table heard (n bigint generated always as identity, event_id bigint, key text);
grant select, insert on fact, doomed, booked, heard to ostinato_worker;
"""

LEFT = """
select ostinato_internal.has_unsequenced()
    or exists (select from ostinato.list_subscriptions() s
               where s.behind + s.waiting + s.held + s.buried > 0)
    or exists (select from ostinato_data.webhook_delivery d
               where d.state in ('pending', 'waiting', 'held'))
"""

# Quicker than the default, and no more attempts.
RETRY = '{"delays": [0.1], "jitter": 0, "max_attempts": 10}'

Seen = Iterable[tuple[int, str | None]]


class Shaky(Receiver):
    """Answers most of the time; remembers which messages it has taken."""

    def __init__(self, rng: random.Random, trouble: float = 0.05) -> None:
        super().__init__()
        self._rng = rng
        self._trouble = trouble
        self.calls: list[tuple[Request, bool]] = []
        """What came in, in order, and whether it was answered with success."""

    def receive(self, request: Request) -> Reply:
        if len(request.body) < int(request.headers["content-length"]):
            return Reply(fault=reset)  # its sender died in the middle of it
        with self._new:
            reply = self.script.popleft() if self.script else self.default
            if reply is self.default and self._rng.random() < self._trouble:
                reply = self._rng.choice([Reply(500), Reply(fault=reset)])
            self.calls.append((request, reply is self.default))
            self._new.notify_all()
            return reply


@dataclass
class Telling:
    """A site on which events are told."""

    site: Site
    receiver: Shaky
    url: str
    secret: str
    writers: list[subprocess.Popen[str]] = field(default_factory=list)

    def crew(self, **settings: object) -> Crew:
        return self.site.crew(self.url, app=APP, **{"webhooks_allow_private": "127.0.0.1:*", **settings})

    # Writers.

    def write(self, seed: int) -> None:
        """Start a process that tells events."""
        program = [sys.executable, "-m", "tests.faults.writer"]
        argv = [*program, self.url, self.site.urls.worker, str(seed)]
        out = self.site.folder / f"writer-{len(self.writers)}"
        with out.open("w") as file:
            self.writers.append(subprocess.Popen(argv, stdout=file, text=True))

    def stop_writing(self) -> None:
        for writer in self.writers:
            writer.terminate()
            writer.wait()

    def emit(self, keys: list[str | None], **payload: object) -> list[int]:
        """Tell an event for each key, here and now."""
        rows = self.site.rows(
            "with told as (select t.id, t.n from rows from (ostinato.emit_events("
            " array[%s], array_fill(json_build_object(%s::text, %s::float)::text,"
            " array[cardinality(%s::text[])]), %s::text[], tenant_ids => '{acme}',"
            " correlation_ids => '{c}', occurred_ats => array[now()], producers => '{test}'))"
            " with ordinality t (id, n)), noted as (insert into fact (event_id, key)"
            " select t.id, (%s::text[])[t.n] from told t order by t.n) select id from told",
            TYPE,
            next(iter(payload), "seconds"),
            next(iter(payload.values()), 0),
            keys,
            keys,
            keys,
        )
        return [row[0] for row in rows]

    # Waiting.

    def facts(self) -> int:
        return int(self.site.value("select count(*) from fact"))

    def until_settled(self) -> None:
        """Wait until nothing is left to deliver; what kills have buried gets another chance."""

        def settled() -> bool:
            buried = "select distinct subscription from ostinato.list_buried()"
            for (name,) in self.site.rows(buried):
                self.site.rows("select ostinato.redeliver(%s)", name)
            return not self.site.value(LEFT)

        until(settled)

    # Promises.

    def check(self) -> None:
        """What happened was told to everybody, in order; nothing else was."""
        rows = self.site.rows
        facts = rows("select event_id, key from fact order by n")
        happened = sorted(event_id for event_id, _ in facts)
        order = in_order(facts)
        assert happened
        assert acknowledged(self.site) <= set(happened)
        assert rows("select id from ostinato_data.event order by id") == [(n,) for n in happened]
        positions = rows("select position from ostinato_data.event_log order by position")
        assert positions == [(n + 1,) for n in range(len(happened))]
        for name in IN_TRANSACTIONS:
            booked = rows("select event_id, key from booked where subscription = %s order by n", name)
            assert sorted(event_id for event_id, _ in booked) == happened, name
            assert in_order(booked) == order, name
        heard = rows("select event_id, key from heard order by n")
        assert sorted({event_id for event_id, _ in heard}) == happened
        assert in_order(heard) == order
        self._check_webhooks(facts)

    def _check_webhooks(self, facts: list[tuple[int, str | None]]) -> None:
        keys = dict(facts)
        calls = [(int(call.headers["webhook-id"]), ok) for call, ok in self.receiver.calls]
        assert sorted({event_id for event_id, ok in calls if ok}) == sorted(keys)
        # At least once, and the first time in order: nothing overtakes what was not taken yet.
        assert in_order((n, keys[n]) for n, _ in calls) == in_order(facts)
        assert in_order((n, keys[n]) for n, ok in calls if ok) == in_order(facts)
        bodies: dict[str, set[bytes]] = {}
        for call, _ in self.receiver.calls:
            verified = verify(call.headers, call.body, [self.secret], now=time.time())
            bodies.setdefault(verified.id, set()).add(call.body)
        assert {len(same) for same in bodies.values()} == {1}

    def repeated(self) -> int:
        """How many messages came more than once although they had been taken."""
        taken = Counter(call.headers["webhook-id"] for call, ok in self.receiver.calls if ok)
        return sum(times > 1 for times in taken.values())


@contextmanager
def telling(site: Site, url: str | None = None, trouble: float = 0.05) -> Iterator[Telling]:
    """A site with the tables, an endpoint and its receiver; no writer outlives it."""
    site.rows(TABLES)
    with Shaky(random.Random(0), trouble) as receiver:
        secret = make_secret(secrets.token_bytes(32))
        endpoint_id = site.value("select ostinato.new_id()")
        site.value(
            "select ostinato.create_webhook_endpoint('till', %s, tenant_id => 'acme', retry => %s, endpoint_id => %s,"
            " secret => %s, secret_hint => 'hint')",
            receiver.url,
            RETRY,
            endpoint_id,
            Settings(secret_key=KEY).vault.seal(secret, purpose=SECRET.purpose(endpoint_id)),
        )
        made = Telling(site, receiver, url or site.urls.worker, secret)
        try:
            yield made
        finally:
            for writer in made.writers:
                writer.kill()
                writer.wait()


def in_order(seen: Seen) -> dict[str, list[int]]:
    """The events of each key, in the order in which they were first seen."""
    found: dict[str, dict[int, None]] = {}
    for event_id, key in seen:
        if key is not None:
            found.setdefault(key, {}).setdefault(event_id)
    return {key: list(ids) for key, ids in found.items()}


def acknowledged(site: Site) -> set[int]:
    """The events whose commit was confirmed to their writer; the last line may be cut."""
    texts = [path.read_text() for path in site.folder.glob("writer-*")]
    return {int(line) for text in texts for line in text.split("\n")[:-1]}
