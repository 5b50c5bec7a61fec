"""Portals: links by which a customer looks after the endpoints of one tenant.

    link = await portals.open_portal(conn, tenant_id="acme", seconds=3600)
    link.text                                             # goes into the address; nothing shows it again
    await portals.close_portals(conn, tenant_id="acme")   # ends all links of the tenant

A link is a ticket of `engine.sessions`, for the role `portal` alone. The logic is in
`sql/functions/portals.sql`.
"""

import secrets
from dataclasses import dataclass, field
from datetime import datetime

from ostinato._core.db.call import Connection, call_value
from ostinato._core.engine.sessions import TEXT_BYTES, hash_of

PATH = "/console/portal/enter?ticket="
"""Where a link leads, below the address of the API."""


@dataclass(frozen=True, slots=True)
class Link:
    """A new link: its text, which nothing shows again, and until when it works."""

    text: str = field(repr=False)
    until: datetime

    @property
    def path(self) -> str:
        """The address of the link, below that of the API."""
        return f"{PATH}{self.text}"


async def open_portal(conn: Connection, *, tenant_id: str | None = None, seconds: float = 3600.0) -> Link:
    """Make a link that works once, within a minute to a day; a tenant makes its own."""
    text = secrets.token_urlsafe(TEXT_BYTES)
    until = await call_value(conn, "open_portal", hash=hash_of(text), seconds=seconds, tenant_id=tenant_id)
    return Link(text, until)


async def close_portals(conn: Connection, *, tenant_id: str | None = None) -> int:
    """End the links of a tenant and what was opened by them; returns how many."""
    return int(await call_value(conn, "close_portals", tenant_id=tenant_id))
