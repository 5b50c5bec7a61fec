"""Reads the header Retry-After of another server (RFC 9110, 10.2.3).

retry_after_seconds("120", now)                                 120.0
retry_after_seconds("Wed, 21 Oct 2026 07:28:00 GMT", now)       the seconds from now until then
retry_after_seconds("soon", now)                                None
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

LONGEST_SECONDS: Final = 86_400.0


def retry_after_seconds(header: str | None, now: datetime, *, longest: float = LONGEST_SECONDS) -> float | None:
    """Return the seconds to wait, from 0 to `longest`; None if the header is missing or unreadable.

    `now` is the database's time. A server that asks for more than `longest` gets `longest`: its
    clock may be wrong, and a job that waits for years is a job that is lost.
    """
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text), longest)
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    wait = (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds()
    return min(max(wait, 0.0), longest)
