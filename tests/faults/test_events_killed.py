"""Events and webhooks while their writers and their relays die, or seem to.

No committed event is lost, none of a transaction that was rolled back is told, and each key is in
the order of its commits: for subscribers, and for a receiver over HTTP.
"""

import random
from collections.abc import Iterator

import pytest

from ostinato._core.db.embedded import Server
from ostinato.lab.torture.crew import Hand
from tests import bouncer
from tests.faults.site import Site, say
from tests.faults.telling import Telling, telling
from tests.needs import lacking
from tests.proxy import Fault, between
from tests.runtime.receiver import Reply, silence
from tests.slow import first_only
from tests.waiting import until

pytestmark = pytest.mark.slow

EVERY = 20
ROUNDS = 3


@pytest.fixture(params=["direct", "pooled"])
def told(request: pytest.FixtureRequest, server: Server, site: Site) -> Iterator[Telling]:
    if request.param == "direct":
        with telling(site) as made:
            yield made
        return
    if bouncer.program() is None:
        lacking("pgbouncer", "PgBouncer is not installed: events that pass through it are not tested")
    with (
        bouncer.own_folder() as folder,
        # A process that is stopped in a transaction keeps its connection from all others.
        bouncer.in_front_of(server, folder, connections=16) as port,
        telling(site, bouncer.through(site.urls.worker, port)) as made,
    ):
        yield made


def past_expiry(site: Site, hand: Hand) -> None:
    """Wait until others may take what a stopped worker held.

    What it had in an open transaction stays its own until that ends.
    """
    site.until(
        "select not exists (select from ostinato_data.worker w where w.name = %s and"
        " clock_timestamp() < w.beat_at + 2 * make_interval(secs => w.expiry_seconds))",
        hand.name,
    )


@pytest.mark.proof
def test_kills_of_writers_and_relays_lose_no_event_and_turn_none_around(told: Telling) -> None:
    site = told.site
    pooled = told.url != site.urls.worker
    seed = 2 if pooled else 1
    say(f"seed {seed}")
    rng = random.Random(seed)
    crew = told.crew(**({"pooled": "true"} if pooled else {}))
    site.ready(*(crew.start() for _ in range(2)))
    for _ in range(2):
        told.write(rng.getrandbits(32))

    for turn in range(ROUNDS):
        until(lambda mark=EVERY * (turn + 1): told.facts() >= mark)  # type: ignore[misc]
        rng.choice([writer for writer in told.writers if writer.poll() is None]).kill()
        told.write(rng.getrandbits(32))
        victim = rng.choice(crew.alive)
        if turn % 2:
            victim.pause()
            past_expiry(site, victim)
            victim.resume()
        else:
            victim.kill()
            crew.start()
    told.stop_writing()
    told.until_settled()

    told.check()
    doomed = {row[0] for row in site.rows("select event_id from doomed")}
    assert doomed
    assert not doomed & {row[0] for row in site.rows("select event_id from booked")}
    assert not doomed & {int(call.headers["webhook-id"]) for call, _ in told.receiver.calls}
    say(f"{told.facts()} events, {told.repeated()} messages taken twice")


@pytest.mark.proof
def test_who_wakes_up_late_settles_nothing_and_is_counted(site: Site) -> None:
    """A worker is stopped in the middle of all kinds of deliveries, and others make them."""
    with telling(site, trouble=0) as told:
        crew = told.crew()
        sleeper = crew.start()
        site.ready(sleeper)
        told.receiver.script.extend([Reply(fault=silence)] * 4)
        told.emit(["a", "a", "b", "c", None], seconds=6)
        # Of each of three subscribers the first of three keys, and the one without a key.
        site.until("select sum(cardinality(c.job_ids)) >= 12 from ostinato_data.claim c")
        until(lambda: len(told.receiver.calls) == 4)
        sleeper.pause()
        site.ready(crew.start())
        past_expiry(site, sleeper)
        told.until_settled()
        sleeper.resume()
        told.receiver.released.set()
        until(lambda: fenced(sleeper, "complete") >= 12)
        until(lambda: sleeper.said("declared_dead"))

        told.check()


def fenced(hand: Hand, verb: str) -> int:
    return sum(line.get("event_type") == "fenced" and line.get("verb") == verb for line in hand.lines())


@pytest.mark.proof
def test_a_claim_whose_answer_is_lost_is_given_back_and_its_events_are_delivered(site: Site) -> None:
    with telling(site, trouble=0) as told, between(site.urls.worker, site.folder) as proxy:
        told.url = proxy.url(site.urls.worker)
        asked = ("claim_jobs", "await_jobs")
        # From the start: a claim that is under way when the events come may get them all.
        proxy.decide = lambda text: "rows" if any(verb in text for verb in asked) and not proxy.lost else None
        crew = told.crew(call_timeout_seconds=5, expiry_seconds=60, beat_seconds=1)
        hand = crew.start()
        site.ready(hand)
        told.emit(["a", "a", "b", None])
        # Nothing else is told that would wake it.
        told.until_settled()

        assert hand.said("claim_never_heard_of") == len(proxy.lost) > 0
        told.check()


@pytest.mark.parametrize(
    ("call", "faults"),
    first_only(
        [
            # It is settled three times over before it is put off.
            ("complete_webhook_deliveries", ["after", "before", "before", "before"]),
            ("start_webhook_deliveries", ["after", "before"]),
        ]
    ),
)
def test_trouble_of_the_database_uses_up_no_attempt_at_a_receiver(site: Site, call: str, faults: list[Fault]) -> None:
    with telling(site, trouble=0) as told, between(site.urls.worker, site.folder) as proxy:
        site.rows(
            "select ostinato.change_webhook_endpoint('till', tenant_id => 'acme', retry => '{\"max_attempts\": 1}')"
        )
        told.url = proxy.url(site.urls.worker)
        site.ready(told.crew().start())
        left = [*faults]
        proxy.decide = lambda text: left.pop() if left and call in text else None
        told.emit(["a", "a"])
        told.until_settled()

        assert not left
        told.check()
