"""Reads the callbacks of the WhatsApp Cloud API: statuses, messages, preferences, templates.

They are batched: a batch has entries for accounts, an entry changes, a change items of several kinds.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from ostinato.apps.outbound.providers import lines
from ostinato.apps.outbound.providers.lines import LONGEST_ID, Line, StatusLine, number_of, storable
from ostinato.apps.outbound.providers.wire import document_of, sanitised

PROVIDER: Final = "whatsapp"
STATUSES: Final[dict[str, lines.Reported]] = {
    "sent": "sent",
    "delivered": "delivered",
    "read": "read",
    "played": "read",
    "failed": "failed",
}
ITEMS: Final = ("messages", "user_preferences", "statuses")


def read(body: bytes) -> tuple[list[Line], int]:
    """Read the lines of a callback, and count those that could not be read."""
    found: list[Line | None] = []
    document = document_of(body)
    _check_count(document)
    for entry in _dicts(document.get("entry")):
        for change in _dicts(entry.get("changes")):
            value = change.get("value")
            if not isinstance(value, dict):
                found.append(None)
                continue
            for read_item, item in _items(entry, change, value):
                try:
                    found.append(read_item(item))
                except (KeyError, TypeError, ValueError, OverflowError, OSError, AttributeError):
                    found.append(None)
    known = [line for line in found if line is not None]
    return known, len(found) - len(known)


def _check_count(document: Mapping[str, Any]) -> None:
    """Count entries, changes and items by the lengths of their lists, and refuse too many of any."""
    changes = items = 0
    lines.check_count(PROVIDER, _length(document.get("entry")))
    for entry in _dicts(document.get("entry")):
        changes += _length(entry.get("changes"))
        lines.check_count(PROVIDER, changes)
        for change in _dicts(entry.get("changes")):
            value = change.get("value")
            if isinstance(value, dict):
                items += sum(_length(value.get(name)) for name in ITEMS)
    lines.check_count(PROVIDER, items)


def _length(found: object) -> int:
    return len(found) if isinstance(found, list) else int(bool(found))


def _items(
    entry: Mapping[str, Any], change: Mapping[str, Any], value: Mapping[str, Any]
) -> Iterator[tuple[Callable[[Any], Line | None], Any]]:
    """Find the items of a change, each with what reads it."""
    account = storable(entry.get("id") or "")[:LONGEST_ID]
    if change.get("field") == "message_template_status_update":
        yield partial(_template, account, entry.get("time")), value
        return
    metadata = value.get("metadata")
    named = metadata.get("phone_number_id") if isinstance(metadata, dict) else None
    key = storable(named or "")[:LONGEST_ID]
    readers: tuple[Callable[[Any], Line | None], ...] = (
        partial(_inbound, key),
        partial(_preference, key),
        partial(_status, key, account),
    )
    for name, read_item in zip(ITEMS, readers, strict=True):
        items = value.get(name)
        for item in items if isinstance(items, list) else [items] if items else ():
            yield read_item, item


def _template(account: str, time: object, value: Mapping[str, Any]) -> Line | None:
    """Read what became of a template: approved, paused, rejected and so on."""
    return lines.TemplateLine(
        PROVIDER,
        account,
        storable(value["message_template_name"])[:LONGEST_ID],
        storable(value["message_template_language"])[:20],
        storable(value["event"])[:40].upper(),
        _at(time) if time else lines.NO_TIME,
    )


def _status(key: str, account: str, item: Mapping[str, Any]) -> Line | None:
    told = STATUSES.get(item["status"])
    if told is None:
        return None
    message_id, attempt_no = lines.read_opaque(item.get("biz_opaque_callback_data"))
    first = (item.get("errors") or [{}])[0]
    details = (first.get("error_data") or {}).get("details") or first.get("title") or ""
    return StatusLine(
        PROVIDER,
        key,
        storable(item["id"])[:LONGEST_ID],
        told,
        _at(item["timestamp"]),
        message_id,
        attempt_no,
        storable(first.get("code", ""))[: lines.LONGEST_CODE] if told == "failed" else "",
        sanitised(str(details)),
        wa_id=number_of(item["recipient_id"]) if item.get("recipient_id") else None,
        account=account or None,
    )


def _inbound(key: str, item: Mapping[str, Any]) -> Line | None:
    kind = storable(item["type"])[:40]
    text = _text_of(kind, item)
    return lines.InboundLine(
        PROVIDER,
        (key,),
        storable(item["id"])[:LONGEST_ID],
        number_of(item["from"]),
        _at(item["timestamp"]),
        kind,
        None if text is None else storable(text)[: lines.LONGEST_TEXT],
    )


def _text_of(kind: str, item: Mapping[str, Any]) -> str | None:
    match kind:
        case "text":
            return str(item["text"]["body"])
        case "button":
            return str(item["button"].get("text") or item["button"].get("payload") or "")
        case "interactive":
            chosen = item["interactive"].get("button_reply") or {}
            return str(chosen.get("title") or chosen.get("id") or "")
    return None


def _preference(key: str, item: Mapping[str, Any]) -> Line | None:
    value = item.get("value")
    if item.get("category") != "marketing_messages" or value not in ("stop", "resume"):
        return None
    at, who = _at(item["timestamp"]), number_of(item["wa_id"])
    return lines.PreferenceLine(PROVIDER, key, who, at, value == "stop")


def _dicts(found: object) -> Iterator[Mapping[str, Any]]:
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict):
            yield each


def _at(seconds: object) -> datetime:
    return datetime.fromtimestamp(int(str(seconds)), UTC)
