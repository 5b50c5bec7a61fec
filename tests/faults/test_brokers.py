"""A worker dies between a broker and the database, by kill -9: nothing is lost, and ids make it once."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.brokers import broker
from tests.faults.site import Site
from tests.slow import first_only
from tests.waiting import until

pytestmark = pytest.mark.slow

EVENTS = 8


@pytest.mark.parametrize("kind", first_only(["rabbitmq", "nats"]))
def test_a_worker_killed_between_the_broker_and_its_verdict_repeats_and_keeps_the_order(
    site: Site, kind: str, tmp_path: Path
) -> None:
    with broker(kind, tmp_path) as running:
        asyncio.run(running.send("into", *map(order, (1, 2, 3, 4))))
        crew = site.crew(
            app="tests.faults.brokers_app:app", test_broker=kind, test_folder=tmp_path, **running.settings()
        )
        crew.start()
        site.until("select exists (select from ostinato_data.subscription where name = 'faults.relay')")
        for number in range(EVENTS):
            site.rows(
                "select ostinato.emit_event('thing.happened', %s, 'A', tenant_id => 'acme', correlation_id => 'c',"
                " occurred_at => now(), producer => 'faults')",
                json.dumps({"n": number}),
            )

        def is_through() -> bool:
            """Whether both deaths were died, and another worker has done what was left."""
            if not crew.alive:
                crew.start()
            there = {each.id for each in asyncio.run(running.stored("out"))}
            taken = site.value("select count(distinct job_id) from effect")
            return {"published", "committed"} <= {each.name for each in tmp_path.iterdir()} and (
                len(there) == EVENTS and taken == 4
            )

        until(is_through)
        site.until_idle()
        found = asyncio.run(running.stored("out"))

    numbers = [each.event["data"]["n"] for each in found]
    assert list(dict.fromkeys(numbers)) == list(range(EVENTS))
    assert len({each.id for each in found}) == EVENTS
    assert numbers.count(3) == (1 if kind == "nats" else 2)  # its stream knows the id, a queue has it twice
    assert site.rows("select job_id, count(*) from effect group by 1 order by 1") == [(n, 1) for n in (1, 2, 3, 4)]
    assert site.value("select count(*) from ostinato_data.dead_letter") == 0


def order(n: int) -> bytes:
    whole = {"specversion": "1.0", "id": str(n), "source": "/shop", "type": "order.placed", "data": {"n": n}}
    return json.dumps(whole).encode()
