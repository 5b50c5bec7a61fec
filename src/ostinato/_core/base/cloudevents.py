"""CloudEvents 1.0 as bytes: what a relay hands to a broker, and what an intake reads from one.

Two modes, as the specification has them. Structured: the body is one JSON object with all attributes and
the data, its content type is `application/cloudevents+json`. Binary: the body is the data alone, and each
attribute is a header, with a prefix that depends on the broker (`ce-` NATS, `ce_` Kafka, `cloudEvents:` AMQP).

What comes in is foreign text. Whatever cannot be read raises `InvalidInput`, which says what is wrong with it.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote, unquote

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.events import Event, to_cloudevent

P = TypeVar("P")

Mode = Literal["structured", "binary"]
"""How a CloudEvent is written into a message: all of it in the body, or its attributes as headers."""

STRUCTURED = "application/cloudevents+json"
LONGEST_ID = 190
"""RabbitMQ has 255 bytes for the id of a message, and a name of the engine 200 characters."""
REQUIRED = ("specversion", "id", "source", "type")
HEADER_MARKS = "!#$&'()*+,/:;<=>?@[]^_`{|}~-."
"""What stands for itself in a header; all else is percent-encoded, so that no text can end a header."""

_HINT = "Send a CloudEvent 1.0, in JSON or in binary mode."


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One event on its way to a broker."""

    attributes: Mapping[str, str]
    """The attributes of the CloudEvent, without its data."""
    data: Any
    tenant: str
    key: str | None
    """Messages of one tenant with the same key are in order."""

    @property
    def id(self) -> str:
        """The id of the message: the same each time that the event is published, and nobody else's."""
        return message_key(self.attributes["source"], self.attributes["id"])

    @property
    def partition(self) -> str | None:
        """The key by which a broker with partitions keeps the order; None: there is none to keep."""
        return None if self.key is None else f"{self.tenant}/{self.key}"

    def body(self, mode: Mode) -> bytes:
        """Return the body of the message."""
        whole = self.data if mode == "binary" else {**self.attributes, "data": self.data}
        return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()

    def content_type(self, mode: Mode) -> str:
        """Return the content type of the body."""
        return "application/json" if mode == "binary" else STRUCTURED

    def headers(self, mode: Mode, prefix: str) -> dict[str, str]:
        """Return the attributes as headers: all of them in binary mode, none in structured mode."""
        if mode == "structured":
            return {}
        plain = {name: value for name, value in self.attributes.items() if name != "datacontenttype"}
        return {f"{prefix}{name}": value for name, value in plain.items()}

    def filled(self, pattern: str) -> str:
        """Return a routing key or subject with {type} and {tenant} filled in.

        A type keeps its dots, which separate words. Whatever else could be a wildcard or a separator
        is percent-encoded: a tenant's name is one word and matches nobody else's.
        """
        kind = ".".join(word(each) for each in self.attributes["type"].split("."))
        return pattern.replace("{type}", kind).replace("{tenant}", word(self.tenant))


@dataclass(frozen=True, slots=True)
class Message(Generic[P]):
    """A CloudEvent that came from a broker, as a handler gets it."""

    id: str
    """With `source` it identifies the message, however often it comes."""
    source: str
    type: str
    data: P
    subject: str | None = None
    time: str | None = None
    extensions: dict[str, str] = field(default_factory=dict)
    """All other attributes, as text."""

    @property
    def key(self) -> str:
        """What makes a repeated message the same one."""
        return message_key(self.source, self.id)


def word(text: str) -> str:
    """Return a text as one word of a routing key or subject."""
    return quote(text, safe="").replace(".", "%2E").replace("~", "%7E") or "_"


def message_key(source: str, event_id: str) -> str:
    """Return the id of a message: source and id of the CloudEvent, hashed when they are long."""
    whole = f"{source}/{event_id}"
    fits = len(whole.encode("utf-8", "replace")) <= LONGEST_ID and whole.isprintable()
    return whole if fits else f"sha256:{sha256(whole.encode('utf-8', 'replace')).hexdigest()}"


def outgoing(event: Event[Any], source: str | None = None) -> Outgoing:
    """Return an event as it is published; `source` stands before the name of its producer."""
    written = to_cloudevent(event)
    data = written.pop("data")
    if source:
        written["source"] = f"{source.rstrip('/')}/{written['source']}"
    return Outgoing(written, data, event.tenant_id, event.ordering_key)


def header_value(text: str) -> str:
    """Return a text as the value of a header: printable ASCII, the rest percent-encoded."""
    return quote(text, safe=HEADER_MARKS)


def parse(body: bytes, headers: Mapping[str, str], content_type: str | None, *, encoded: bool = False) -> Message[Any]:
    """Read a message. `headers` are its attributes in binary mode, without their prefix; `encoded`: percent-encoded."""
    mode = (content_type or "").partition(";")[0].strip().lower()
    if mode.startswith("application/cloudevents-batch"):
        raise InvalidInput("the message is a batch of CloudEvents", hint="Send one CloudEvent in each message.")
    if "specversion" in headers:
        attributes: dict[str, Any] = {name: unquote(text) if encoded else text for name, text in headers.items()}
        as_json = not mode or mode == "application/json" or mode.endswith("+json")
        attributes["data"] = _read(body) if as_json else _text(body)
    else:
        attributes = _object(body)
    return _message(attributes)


def _message(attributes: dict[str, Any]) -> Message[Any]:
    lacking = [name for name in REQUIRED if not isinstance(attributes.get(name), str) or not attributes[name]]
    if lacking:
        raise InvalidInput(f"the message is no CloudEvent: {', '.join(lacking)} is missing", hint=_HINT)
    if attributes["specversion"] != "1.0":
        version = attributes["specversion"][:20]
        raise InvalidInput(f"the message is a CloudEvent of version {version!r}, not 1.0", hint=_HINT)
    known = {*REQUIRED, "data", "data_base64", "subject", "time"}
    extensions = {name: _plain(value) for name, value in attributes.items() if name not in known}
    subject, time = (None if attributes.get(name) is None else _plain(attributes[name]) for name in ("subject", "time"))
    return Message(
        attributes["id"], attributes["source"], attributes["type"], _data(attributes), subject, time, extensions
    )


def _data(attributes: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever JSON has
    if "data_base64" not in attributes:
        return attributes.get("data")
    try:
        return _read(base64.b64decode(attributes["data_base64"], validate=True))
    except (binascii.Error, TypeError, ValueError):
        raise InvalidInput("data_base64 of the message is no base64", hint=_HINT) from None


def _object(body: bytes) -> dict[str, Any]:
    found = _read(body)
    if not isinstance(found, dict):
        raise InvalidInput(f"the message is JSON, but a {type(found).__name__} and no object", hint=_HINT)
    return found


def _read(body: bytes) -> Any:  # noqa: ANN401 - as above
    if not body:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the message is no JSON: {str(error)[:200]}", hint=_HINT) from None


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise InvalidInput("the data of the message is neither JSON nor text", hint=_HINT) from None


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
