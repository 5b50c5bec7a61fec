"""What the verbs of events, leases and idempotency read does not grow with what there is."""

from typing import Any
from uuid import UUID

import pytest

from tests.sql.engine import START, Held, Session
from tests.sql.price import BACKLOG, OFTEN, Meter, Place

NAME = "receipts"
FEW = 10

EMIT = """
select count(*) from ostinato.emit_events(
    array['invoice.paid'], array(select '{}' from generate_series(1, %s)),
    array(select 'k' || n %% 900 from generate_series(1, %s) n), null, array['acme'],
    array['c'], null, array['billing'], true)
"""
HOLD = """
select count(*) from generate_series(1, %s) n
cross join lateral ostinato.acquire_lease('filler ' || n, 'somebody', 3600) l
"""
BEGIN = """
select count(*) from generate_series(1, %s) n
cross join lateral ostinato.begin_idempotent('s', 'filler ' || n, repeat('f', 64)) b
"""
FINGERPRINT = "f" * 64


class Relay(Meter):
    """A relay's session that calls every verb often enough to keep its plans."""

    def __init__(self, db: Session) -> None:
        super().__init__(db)
        self.id: UUID = db.worker(expiry_seconds=3600)
        self.number = 0
        db.call("subscribe", name=NAME)
        for _ in range(OFTEN):  # as an idle one does
            self.looks()
        for _ in range(OFTEN):
            self.fill(100)
            self.everything()

    def fill(self, count: int) -> None:
        fill(self.db, count, self.number)
        self.number += count

    def looks(self) -> None:
        self.measure("chores", lambda: self.db.call("chores"))
        self.measure("sequence", lambda: self.db.call("sequence_events"))
        self.measure("dispatch", self.dispatched)
        self.measure("claim", self.taken)

    def dispatched(self) -> None:
        self.db.call("dispatch_deliveries", subscription=NAME, most=FEW)

    def taken(self) -> list[Held]:
        return self.db.claim(self.id, FEW, kinds=[NAME])

    def everything(self) -> None:
        """Each verb, with a few. The first look steps over what was sequenced just now, once."""
        self.db.call("chores")
        self.looks()
        self.of_events()
        self.of_names()

    def of_events(self) -> None:
        db, measure = self.db, self.measure
        told: dict[str, Any] = {"type": "invoice.paid", "tenant_id": "acme", "producer": "p"}
        told["occurred_at"] = START
        event = db.get("emit_event", **told, ordering_key="k1", correlation_id="c")
        measure("emit", lambda: db.get("emit_event", **told, correlation_id="c"))
        measure("sequence one", lambda: db.call("sequence_events"))
        self.dispatched()
        given = self.taken()
        measure("complete", lambda: db.complete(*given))
        back = self.taken()
        measure("release", lambda: db.release(*back))
        failed = self.taken()
        measure("fail", lambda: db.fail(*failed, delay=60.0))
        buried = self.taken()
        measure("bury", lambda: db.fail(*buried))
        measure("show", lambda: db.call("show_event", event_id=event))
        measure("list", lambda: db.call("list_events", most=FEW))

    def of_names(self) -> None:
        db, measure = self.db, self.measure
        asked = {"name": "l", "holder": "h", "ttl_seconds": 60.0}
        (lease,) = measure("acquire", lambda: db.call("acquire_lease", **asked))
        token = lease["token"]
        measure("guard", lambda: db.call("guard_lease", name="l", token=token))
        measure("release", lambda: db.call("release_lease", name="l", token=token))
        key = {"scope": "s", "key": f"key {self.number} {len(self.read)}"}
        begun = db.call("begin_idempotent", **key, fingerprint=FINGERPRINT)[0]
        measure("replay", lambda: db.call("begin_idempotent", **key, fingerprint=FINGERPRINT, wait=False))
        measure("finish", lambda: db.call("finish_idempotent", **key, token=begun["token"]))


def fill(db: Session, count: int, number: int = 0) -> None:
    db.rows(EMIT, count, count)
    db.call("sequence_events")
    db.rows(HOLD.replace("filler", f"filler {number}"), count)
    db.rows(BEGIN.replace("filler", f"filler {number}"), count)


@pytest.mark.parametrize("seen", ["empty", "full"])
def test_what_a_verb_reads_does_not_grow_with_what_there_is(place: Place, seen: str) -> None:
    if seen == "full":
        with place.session() as db:
            db.call("subscribe", name="another", start="beginning")
            fill(db, BACKLOG, -BACKLOG)
    place.take_statistics()

    with place.session() as db:
        relay = Relay(db)
        relay.fill(BACKLOG)
        relay.everything()

    assert relay.too_much() == {}
