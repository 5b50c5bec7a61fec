"""The outbox as one table: what was told, to be read with plain SQL."""

from tests.sql.engine import START, Session, Sessions

LOOK = "select position, type, tenant_id, producer, payload from ostinato.events_outbox"


def tell(session: Session, tenant: str) -> None:
    session.call(
        "emit_event",
        type="invoice.paid",
        payload='{"invoice": 7}',
        tenant_id=tenant,
        correlation_id="c1",
        occurred_at=START,
        producer="billing",
    )


def test_an_event_is_there_at_once_and_has_its_position_later(db: Session) -> None:
    tell(db, "acme")
    envelope = {"type": "invoice.paid", "tenant_id": "acme", "producer": "billing", "payload": {"invoice": 7}}
    assert db.rows(LOOK) == [{"position": None, **envelope}]

    db.call("sequence_events")

    assert db.rows(LOOK) == [{"position": 1, **envelope}]


def test_a_tenant_sees_its_own_events_only(db: Session, sessions: Sessions) -> None:
    tell(db, "acme")
    tell(db, "globex")

    acme = sessions.tenant("acme")

    assert [row["tenant_id"] for row in acme.rows(LOOK)] == ["acme"]
    assert db.value("select count(*) from ostinato.events_outbox") == 2
