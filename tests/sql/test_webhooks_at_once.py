"""Everything that moves deliveries, at once: no deadlock, nothing lost, every key in its order."""

import json
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from random import Random

import psycopg
import pytest

from tests.slow import first_only
from tests.sql.engine import Clock, Session, Sessions
from tests.sql.webhooks import Hooks, sealed

EVENTS = 80
NAMES = ("first", "second")


def work(session: Session, seed: int, idle: threading.Event) -> None:
    """A worker: claims deliveries, and settles each in one transaction with its job."""
    rng = Random(seed)
    worker = session.worker(f"w{seed}", queues=["webhooks"], kinds=["webhooks.deliver"])
    hooks = Hooks(session)
    while not idle.is_set():
        session.call("promote_jobs")
        for held in session.claim(worker, 3, "webhooks"):
            delivery = {"delivery_id": json.loads(held.row["args"])["delivery"], "job_id": held.id}
            if hooks.start(delivery)["verdict"] != "send":
                session.complete(held)
                continue
            failed = rng.random() < 0.3
            job = {"job_id": held.id, "attempt": held.attempt, "claim_id": held.claim_id}
            with session.transaction():
                if not failed:
                    hooks.settle(delivery)
                    session.call("complete_job", **job)
                    continue
                verdict = hooks.fail(delivery, retry=0.0 if rng.random() < 0.9 else None)
                session.call("fence_job", **job)
            if verdict == "held":
                session.complete(held)
            else:
                session.fail(held, delay=0.0 if verdict == "retry" else None)


def tell(session: Session, seed: int) -> None:
    rng = Random(seed)
    hooks = Hooks(session)
    for _ in range(EVENTS):
        hooks.emit(key=rng.choice(["a", "b", "c", None]))
        if rng.random() < 0.3:
            hooks.fan_out(most=rng.choice([1, 5, 100]))


def meddle(session: Session, seed: int, idle: threading.Event) -> None:
    """A person, and a janitor."""
    rng = Random(seed)
    while not idle.is_set():
        name = rng.choice(NAMES)
        match rng.randrange(5):
            case 0:
                session.call("pause_webhook_endpoint", name=name)
            case 1:
                session.call("resume_webhook_endpoint", name=name, most=rng.choice([1, 3, 5000]))
            case 2:
                session.call("heal_webhooks")
            case 3:
                session.call("rotate_webhook_secret", name=name, secret=sealed(), secret_hint="hint")
            case _:
                dead = session.call("find_webhook_deliveries", name=name, states=["dead"])
                ids = [row["find_webhook_deliveries"] for row in dead]
                session.call("redeliver_webhooks", name=name, ids=ids[: rng.randrange(4)])


def fan_out(session: Session, idle: threading.Event) -> None:
    while not idle.is_set():
        Hooks(session).fan_out(most=10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", first_only(range(3)))
def test_all_at_once_loses_nothing_and_keeps_every_order(
    sessions: Sessions, db: Session, clock: Clock, seed: int
) -> None:
    hooks = Hooks(db)
    hooks.endpoint("first", disable_after_seconds=31_536_000)
    hooks.endpoint("second", event_types=["order.*"], disable_after_seconds=31_536_000)
    told, settled = threading.Event(), threading.Event()
    with ThreadPoolExecutor(8) as threads:
        running = [threads.submit(work, sessions.open(), 10 * seed + n, settled) for n in range(3)]
        running += [threads.submit(meddle, sessions.open(), seed, told)]
        running += [threads.submit(fan_out, sessions.open(), settled)]
        threads.submit(tell, sessions.open(), seed).result()
        told.set()
        running[3].result()
        for name in NAMES:
            db.call("resume_webhook_endpoint", name=name)
        open_ = "select count(*) from ostinato_data.webhook_delivery where state not in %s"
        left = open_ % "('delivered', 'dead')"
        while db.value("select count(*) from ostinato_data.event_unsequenced") or db.value(left):
            if any(each.done() for each in running if each is not running[3]):
                break  # one of them failed: its error is told below
        settled.set()
        for each in running:
            each.result()
    (row,) = db.call("fan_out_webhooks")

    assert row["events"] == 0
    assert db.value("select count(*) from ostinato_data.webhook_delivery") == 2 * EVENTS
    assert db.value(left) == 0
    assert db.get("heal_webhooks") == 0
    first_settled: dict[tuple[int, str], list[int]] = defaultdict(list)
    for line in db.rows(
        "select d.endpoint_id, d.ordering_key, d.seq from ostinato_data.webhook_delivery d"
        " join ostinato_data.webhook_attempt a on a.delivery_id = d.id"
        " where d.ordering_key is not null and d.state = 'delivered'"
        "   and a.outcome = 'delivered' and d.attempts = a.attempt"
        "   and not exists (select from ostinato_data.webhook_attempt o"
        "                   where o.delivery_id = d.id and o.next_at is null and o.id < a.id)"
        " order by a.id"
    ):
        first_settled[line["endpoint_id"], line["ordering_key"]].append(line["seq"])
    assert len(first_settled) == 6
    for seqs in first_settled.values():
        assert seqs == sorted(seqs)


def test_a_deadlock_would_be_seen(db: Session) -> None:
    """What the threads above raise reaches the test."""
    with ThreadPoolExecutor(1) as threads, pytest.raises(psycopg.Error):
        threads.submit(db.call, "pause_webhook_endpoint", name="nobody").result()
