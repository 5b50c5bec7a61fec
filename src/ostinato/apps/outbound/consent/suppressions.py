"""Keeps who wants nothing more, when all else about a person is erased (rule 1.1, opt-outs).

No address is kept, but a code that only the same address makes again: who opted out gets
nothing although somebody imports an old list.

Their rows are locked after those of consents and before those of messages.
"""

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ostinato.apps.outbound import store
from ostinato.apps.outbound.model import Channel, ConsentSource, Purpose, folded
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is allowed or refused: an address of a channel, and for what."""

    tenant_id: str
    channel: Channel
    address: str
    purposes: tuple[Purpose, ...]

    @property
    def names(self) -> list[str]:
        """The purposes as the database has them."""
        return [str(purpose) for purpose in self.purposes]


def mac(settings: OutboundSettings, tenant_id: str, channel: Channel, address: str) -> bytes:
    """Make what stands for an address of a tenant, however it is spelt."""
    return _mac(settings, tenant_id, channel, folded(channel, address))


def macs(settings: OutboundSettings, tenant_id: str, channel: Channel, address: str) -> list[bytes]:
    """Make all that may stand for an address: earlier releases did not fold its case."""
    return sorted({mac(settings, tenant_id, channel, address), _mac(settings, tenant_id, channel, address)})


def _mac(settings: OutboundSettings, tenant_id: str, channel: Channel, address: str) -> bytes:
    secret = settings.suppression_secret or settings.token_secret
    named = f"suppression\0{tenant_id}\0{channel}\0{address}"
    return hmac.new(secret.encode(), named.encode(), hashlib.sha256).digest()


async def add(
    conn: Connection, place: Place, settings: OutboundSettings, *, source: ConsentSource, since: datetime
) -> None:
    """Remember that nothing more is wanted at an address."""
    code = mac(settings, place.tenant_id, place.channel, place.address)
    await store.run(conn, "suppress", **_key(place), address_mac=code, source=source, since=since)


async def lift(conn: Connection, place: Place, settings: OutboundSettings, at: datetime) -> int:
    """Forget a refusal that is older than a word by which something is wanted again."""
    return len(await store.rows(conn, "lift_suppression", **_all(place, settings), at=at))


async def since(conn: Connection, place: Place, settings: OutboundSettings) -> datetime | None:
    """Return since when nothing more is wanted there, or None if nobody opted out."""
    row = await store.first(conn, "suppressed_since", **_all(place, settings))
    found: datetime | None = None if row is None else row["since"]
    return found


def _key(place: Place) -> dict[str, Any]:
    return {"tenant_id": place.tenant_id, "channel": place.channel, "purposes": place.names}


def _all(place: Place, settings: OutboundSettings) -> dict[str, Any]:
    return {**_key(place), "address_macs": macs(settings, place.tenant_id, place.channel, place.address)}
