"""Events as values, and as CloudEvents 1.0 asks for them."""

import json
import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.events import Event, EventType, to_cloudevent

EVENT = Event(
    id=3_180_000_000_001,
    position=42,
    type="invoice.paid",
    version=2,
    tenant_id="acme",
    correlation_id="request-7",
    occurred_at=datetime(2026, 3, 1, 10, 0, tzinfo=timezone(timedelta(hours=1))),
    producer="billing",
    ordering_key="invoice-7",
    payload={"invoice": 7},
)

# RFC 3339, RFC 3986 (relative references included), and the names of attributes.
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
URI_REFERENCE = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")
NAME = re.compile(r"[a-z0-9]{1,20}")


def test_every_required_attribute_is_there_and_of_its_type() -> None:
    told = to_cloudevent(EVENT)

    assert told["specversion"] == "1.0"
    assert told["id"] == "3180000000001"
    assert URI_REFERENCE.fullmatch(told["source"])
    assert told["type"] == "invoice.paid"


def test_optional_attributes_and_extensions_are_as_the_specification_says() -> None:
    told = to_cloudevent(EVENT)

    assert TIME.fullmatch(told["time"])
    assert told["time"] == "2026-03-01T09:00:00Z"
    assert told["subject"] == "invoice-7"
    assert told["datacontenttype"] == "application/json"
    assert told["data"] == {"invoice": 7}
    extensions = {"tenantid": "acme", "correlationid": "request-7", "dataversion": "2"}
    assert {name: told[name] for name in extensions} == extensions
    assert all(NAME.fullmatch(name) for name in told)
    assert json.loads(json.dumps(told)) == told


def test_the_sequence_orders_as_text() -> None:
    def at(position: int) -> str:
        fields = {name: getattr(EVENT, name) for name in Event.__slots__} | {"position": position}
        return str(to_cloudevent(Event(**fields))["sequence"])

    assert sorted([at(10), at(9), at(100)]) == [at(9), at(10), at(100)]


def test_an_event_without_a_key_has_no_subject_and_a_producer_is_made_a_uri() -> None:
    fields = {name: getattr(EVENT, name) for name in Event.__slots__}
    told = to_cloudevent(Event(**(fields | {"ordering_key": None, "producer": "our billing é"})))

    assert "subject" not in told
    assert URI_REFERENCE.fullmatch(told["source"])
    assert EVENT.occurred_at == datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(("name", "version"), [("", 1), ("x" * 201, 1), ("x", 0)])
def test_a_type_without_a_name_or_a_version_is_refused(name: str, version: int) -> None:
    with pytest.raises(InvalidInput):
        EventType(name, version)
