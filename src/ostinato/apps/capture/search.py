"""Finds captures of a user: page by page, newest first.

A page is taken from a bounded number of rows, so what is rare, or in the text of thousands, costs no
more than they do; the cursor says how far was looked.
"""

import base64
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from uuid import UUID

from ostinato import tenants
from ostinato.apps.capture.model import State
from ostinato.apps.capture.queries import QUERIES, Connection, Row
from ostinato.errors import InvalidInput

WINDOW = 1000
"""How many captures a page looks at."""
_END = (datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What is asked for; None: anything."""

    state: State | None = None
    mime_type: str | None = None
    device_id: str | None = None
    content_hash: str | None = None
    changed: bool = False
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None


async def page(
    conn: Connection, user_id: str, wanted: Filters, cursor: str | None, limit: int
) -> tuple[list[Row], str | None]:
    """Return the captures of a page, and the cursor of the next one."""
    asked = asdict(wanted)
    until = asked.pop("until")
    place = _read_cursor(cursor)
    if until is not None:
        place = min(place, (until.astimezone(UTC), UUID(int=0)))
    looked = await QUERIES.rows(
        conn,
        "list_captures",
        user_id=user_id,
        tenant_id=tenants.current_tenant(),
        before_at=place[0],
        before_id=place[1],
        most=WINDOW + 1,
        **asked,
    )
    found = [row for row in looked[:WINDOW] if row.pop("fits")]
    if len(found) > limit:
        return found[:limit], _cursor(found[limit - 1])
    return found, _cursor(looked[WINDOW - 1]) if len(looked) > WINDOW else None


def _cursor(row: Row) -> str:
    text = f"{row['received_at'].isoformat()} {row['capture_event_id']}"
    return base64.urlsafe_b64encode(text.encode()).decode()


def _read_cursor(cursor: str | None) -> tuple[datetime, UUID]:
    if cursor is None:
        return _END
    try:
        at, _, last = base64.urlsafe_b64decode(cursor.encode()).decode().partition(" ")
        return datetime.fromisoformat(at).astimezone(UTC), UUID(last)
    except (ValueError, OverflowError):
        raise InvalidInput("the cursor is not one of ours", hint="Use next_cursor as it is.") from None
