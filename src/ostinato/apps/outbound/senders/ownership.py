"""Decides whose a number, a name or a mail domain is: nothing goes out by a sender that is not proven.

    GRANT    the administrator of the installation says so, and lends its account
    META     Meta shows the number to the token that the organisation has for it
    DNS      the domain has the record that only its owner can write
    TRUST    the administrator trusts the organisation to name only its own (`trusted_tenants`)
    BEFORE   it was set up by an earlier release, which asked for no proof

Setting up what is somebody else's is answered as if it were nobody's: only who proves that it is his
learns that another organisation has it, and asks the administrator.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ostinato.apps.outbound import store
from ostinato.apps.outbound.accept import address
from ostinato.apps.outbound.model import Channel, Sender
from ostinato.apps.outbound.providers import PROVIDERS, provider_of
from ostinato.apps.outbound.providers.wire import Wire
from ostinato.apps.outbound.store import Connection, Row
from ostinato.errors import Conflict, InvalidInput, NotFound

RECORD: Final = "_ostinato"
_DOMAIN: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}")


@dataclass(frozen=True, slots=True)
class Owned:
    """What is proven to be an organisation's."""

    channel: Channel
    key: str
    tenant_id: str
    proof: str
    account: bool
    proven_at: datetime
    proven_by: str

    @classmethod
    def of(cls, row: Row) -> "Owned":
        """Make the record from its row."""
        named = {name: row[name] for name in ("key", "tenant_id", "proof", "account", "proven_at", "proven_by")}
        return cls(channel=PROVIDERS[row["provider"]].channel, **named)


def key_of(channel: Channel, key: str, region: str = "FR") -> str:
    """Return what is proven, as it is stored: of mail an address or a domain."""
    text = key.strip().lower()
    if channel is Channel.EMAIL and "@" not in text:
        if not _DOMAIN.fullmatch(text):
            raise InvalidInput(f"{text[:80]!r} is neither a mail address nor a domain", hint="Such as example.org.")
        return text
    return address.to_sender(channel, key, region).lower()


def domain_of(sender: Sender) -> str:
    """Return the domain of a mail sender."""
    return sender.provider_key.rpartition("@")[2].lower()


async def challenge(conn: Connection, tenant_id: str, domain: str) -> str:
    """Return what the record of a domain says: no other organisation, and no other installation, has the same."""
    row = await store.one(conn, "challenge", about=f"{tenant_id}/{domain}")
    return f"ostinato-sender={row['code']}"


async def prove(sender: Sender, expected: str, wire: Wire) -> tuple[str, str]:
    """Ask the world whether a sender is the organisation's; the proof and what it proves, or refuses."""
    provider = PROVIDERS[sender.provider]
    proof = await provider.prove(sender, expected, wire)
    if proof is None:
        raise InvalidInput(
            f"nothing proves that this sender is yours: {provider.unproven}",
            hint="Or ask the administrator of the installation: ostinato outbound grant.",
            sender_id=sender.id,
        )
    return proof, domain_of(sender) if proof == "DNS" else sender.provider_key.lower()


async def claim(conn: Connection, tenant_id: str, provider: str, key: str, *, proof: str, by: str) -> None:
    """Write what is proven; refuses what another organisation has proven before."""
    named = {"tenant_id": tenant_id, "provider": provider, "key": key}
    row = await store.one(conn, "claim_ownership", **named, proven=proof, account=proof == "TRUST", by=by)
    if not row["claimed"]:
        raise Conflict(
            "another organisation of this installation has proven this before",
            hint="Ask the administrator to move it: ostinato outbound grant.",
        )


async def trust(conn: Connection, tenant_id: str, provider: str, key: str) -> None:
    """Take the word of an organisation that the administrator trusts; what another one has stays there."""
    named = {"tenant_id": tenant_id, "provider": provider, "key": key.lower()}
    await store.run(conn, "claim_ownership", **named, proven="TRUST", account=True, by="trusted_tenants")


async def grant(conn: Connection, tenant_id: str, channel: Channel, key: str, *, account: bool, by: str) -> Owned:
    """Grant a sender to a tenant, also if another one has it; `account`: it may use the installation's account."""
    name = {"provider": provider_of(channel).name, "key": key_of(channel, key)}
    return Owned.of(await store.one(conn, "grant_ownership", **name, tenant_id=tenant_id, account=account, by=by))


async def withdraw(conn: Connection, channel: Channel, key: str, *, by: str) -> Owned:
    """Withdraw a sender from its tenant: nothing more goes out by it."""
    name = {"provider": provider_of(channel).name, "key": key_of(channel, key)}
    row = await store.first(conn, "withdraw_ownership", **name, by=by)
    if row is None:
        raise NotFound(f"{channel} {name['key']} is nobody's", channel=channel.value)
    return Owned.of(row)


async def owners(conn: Connection, tenant_id: str | None = None) -> list[Owned]:
    """Return who owns which sender, of one organisation or of all."""
    return [Owned.of(row) for row in await store.rows(conn, "owners", tenant_id=tenant_id)]
