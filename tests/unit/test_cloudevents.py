"""CloudEvents as bytes: what a relay writes an intake reads, and what is none is said to be none."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato._core.base.cloudevents import Outgoing, header_value, message_key, outgoing, parse
from ostinato._core.base.errors import InvalidInput, SettingsError
from ostinato._core.base.events import Event
from ostinato._core.runtime.brokers.kafka import options

WHOLE = {"specversion": "1.0", "id": "7", "source": "/shop", "type": "order.placed"}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)


def event(key: str | None = "A", payload: Any = None) -> Event[Any]:  # noqa: ANN401 - whatever JSON has
    at = datetime(2026, 11, 18, 9, tzinfo=UTC)
    return Event(7, 3, "order.placed", 2, "acme", "c-1", at, "shop", key, payload or {"n": 1})


def read(message: Outgoing, mode: Any, prefix: str, *, encoded: bool) -> Any:  # noqa: ANN401 - of either mode
    headers = message.headers(mode, prefix)
    plain = {name.removeprefix(prefix): header_value(text) if encoded else text for name, text in headers.items()}
    return parse(message.body(mode), plain, message.content_type(mode), encoded=encoded)


@pytest.mark.parametrize("mode", ["structured", "binary"])
@pytest.mark.parametrize("encoded", [False, True])
@given(key=TEXT, text=TEXT)
def test_what_is_written_is_read(mode: str, encoded: bool, key: str, text: str) -> None:  # noqa: FBT001
    found = read(outgoing(event(key, {"text": text})), mode, "ce-", encoded=encoded)

    assert (found.id, found.source, found.type, found.subject) == ("7", "shop", "order.placed", key)
    assert found.data == {"text": text}
    assert found.extensions["tenantid"] == "acme"
    assert found.key == "shop/7"


@given(TEXT)
def test_no_text_ends_a_header(text: str) -> None:
    assert header_value(text).isascii()
    assert header_value(text).isprintable()
    assert " " not in header_value(text)


def test_installations_that_share_a_broker_have_ids_of_their_own() -> None:
    assert outgoing(event()).id == "shop/7"
    assert outgoing(event(), "//eu-1.example/").id == "//eu-1.example/shop/7"


def test_a_long_id_is_hashed() -> None:
    assert message_key("s" * 300, "1") != message_key("s" * 300, "2")
    assert len(message_key("s" * 300, "1")) < 100


def test_without_a_key_there_is_no_partition() -> None:
    assert outgoing(event(None)).partition is None
    assert outgoing(event("A")).partition == "acme/A"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"7", "no object"),
        (b"", "no object"),
        (json.dumps(WHOLE | {"id": ""}).encode(), "id is missing"),
        (json.dumps(WHOLE | {"id": 7}).encode(), "id is missing"),
        (json.dumps(WHOLE | {"specversion": "0.3"}).encode(), "version '0.3'"),
        (json.dumps(WHOLE | {"data_base64": "?"}).encode(), "no base64"),
    ],
)
def test_what_is_no_cloudevent_is_refused_with_the_reason(body: bytes, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        parse(body, {}, None)


def test_a_batch_is_refused() -> None:
    with pytest.raises(InvalidInput, match="batch"):
        parse(b"[]", {}, "application/cloudevents-batch+json; charset=utf-8")


def test_data_in_base64_is_read() -> None:
    body = json.dumps(WHOLE | {"data_base64": base64.b64encode(b'{"n": 1}').decode()}).encode()

    assert parse(body, {}, None).data == {"n": 1}


def test_data_that_is_no_json_is_text_or_refused() -> None:
    assert parse(b"plain", dict(WHOLE), "text/plain").data == "plain"
    with pytest.raises(InvalidInput, match="neither JSON nor text"):
        parse(b"\xff", dict(WHOLE), "image/png")


def test_the_address_of_kafka_says_who_and_how() -> None:
    plain, secure = options("kafka://a:9092,b:9092"), options("kafkas://jane:p%40ss@a:9093?sasl=SCRAM-SHA-256")

    assert (plain["bootstrap_servers"], plain["security_protocol"]) == (["a:9092", "b:9092"], "PLAINTEXT")
    assert (secure["security_protocol"], secure["sasl_mechanism"]) == ("SASL_SSL", "SCRAM-SHA-256")
    assert (secure["sasl_plain_username"], secure["sasl_plain_password"]) == ("jane", "p@ss")
    with pytest.raises(SettingsError, match="kafka_url"):
        options("a:9092")
