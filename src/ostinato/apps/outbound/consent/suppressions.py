"""Keeps who wants nothing more, when all else about a person is erased (rule 1.1, opt-outs).

No address is kept, but a code that only the same address makes again: whoever opted out is not
written to because somebody imports an old list.

Their rows are locked after those of consents and before those of messages.
"""

import hashlib
import hmac
from collections.abc import Iterable
from datetime import datetime

from ostinato.apps.outbound import store
from ostinato.apps.outbound.model import Channel, ConsentSource, Purpose
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection

__all__ = ["add", "lift", "mac", "since"]


def mac(settings: OutboundSettings, tenant_id: str, channel: Channel, address: str) -> bytes:
    """What stands for an address of a tenant."""
    secret = settings.suppression_secret or settings.token_secret
    told = f"suppression\0{tenant_id}\0{channel}\0{address}"
    return hmac.new(secret.encode(), told.encode(), hashlib.sha256).digest()


async def add(
    conn: Connection,
    tenant_id: str,
    channel: Channel,
    address: str,
    purposes: Iterable[Purpose],
    *,
    source: ConsentSource,
    since: datetime,
    settings: OutboundSettings,
) -> None:
    """Remember that nothing more is wanted at an address."""
    await store.run(
        conn,
        "suppress",
        tenant_id=tenant_id,
        channel=channel,
        purposes=[str(purpose) for purpose in purposes],
        address_mac=mac(settings, tenant_id, channel, address),
        source=source,
        since=since,
    )


async def lift(
    conn: Connection,
    tenant_id: str,
    channel: Channel,
    address: str,
    purposes: Iterable[Purpose],
    *,
    at: datetime,
    settings: OutboundSettings,
) -> int:
    """Something is wanted again there, by a word that is newer than the refusal."""
    rows = await store.rows(
        conn,
        "lift_suppression",
        tenant_id=tenant_id,
        channel=channel,
        purposes=[str(purpose) for purpose in purposes],
        address_mac=mac(settings, tenant_id, channel, address),
        at=at,
    )
    return len(rows)


async def since(
    conn: Connection,
    tenant_id: str,
    channel: Channel,
    address: str,
    purposes: Iterable[Purpose],
    *,
    settings: OutboundSettings,
) -> datetime | None:
    """Return since when nothing more is wanted there, or None if nobody opted out."""
    row = await store.first(
        conn,
        "suppressed_since",
        tenant_id=tenant_id,
        channel=channel,
        purposes=[str(purpose) for purpose in purposes],
        address_mac=mac(settings, tenant_id, channel, address),
    )
    found: datetime | None = None if row is None else row["since"]
    return found
