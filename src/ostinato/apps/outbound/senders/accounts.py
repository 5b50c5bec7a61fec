"""Keeps the account that a sender is opened with: its own, sealed, or that of the installation.

A sender's own account stands for the settings of the installation that its provider names in
`account`: the provider's code sees settings, whosever they are. The address of a provider is never
among them, and a mail server is only one that the administrator has listed: what a tenant chooses
cannot make this server call whom the tenant likes.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from ostinato.apps.outbound import store
from ostinato.apps.outbound.model import Sender
from ostinato.apps.outbound.providers.protocol import Provider
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection
from ostinato.errors import InvalidInput
from ostinato.secrets import SealedColumn, Vault

CREDENTIALS: Final = SealedColumn("outbound.sender", "credentials", bound_to=("tenant_id", "provider", "provider_key"))
SECRETS: Final = (CREDENTIALS,)


def checked(provider: Provider, given: Mapping[str, Any], settings: OutboundSettings) -> dict[str, Any]:
    """Return what opens an account, by the names of the settings that it stands for; refuses what does not fit."""
    known = {name for name, value in given.items() if value is not None}
    missing = [name for name in provider.needed if name not in known]
    strange = sorted(known - set(provider.account))
    if missing or strange:
        raise InvalidInput(
            f"an account of {provider.name} needs {', '.join(provider.needed)}",
            hint=f"It may have {', '.join(provider.account)}, and nothing else.",
            missing=missing,
            strange=strange,
        )
    found = {provider.account[name]: given[name] for name in sorted(known)}
    fault = provider.account_fault(found, settings)
    if fault is not None:
        raise InvalidInput(fault[0], hint=fault[1], field="credentials")
    return found


def sealed(vault: Vault, tenant_id: str, provider: str, provider_key: str, account: Mapping[str, Any]) -> str:
    """Seal an account for one sender: copied to another one, it does not open."""
    return vault.seal(json.dumps(dict(account)), purpose=CREDENTIALS.purpose(tenant_id, provider, provider_key))


def settings_of(vault: Vault, tenant_id: str, sender: Sender, settings: OutboundSettings) -> OutboundSettings:
    """Return the settings that a sender is used with; raises `SecretRefused` if its account cannot be opened."""
    if sender.credentials is None:
        return settings
    return Sealed(tenant_id, sender.provider, sender.provider_key, sender.credentials).opened(vault, settings)


@dataclass(frozen=True, slots=True)
class Sealed:
    """The account of a sender as it is stored: all that is needed to check what its provider signed."""

    tenant_id: str
    provider: str
    provider_key: str
    credentials: str = field(repr=False)

    def opened(self, vault: Vault, settings: OutboundSettings) -> OutboundSettings:
        """Return the settings with this account; raises `SecretRefused`."""
        purpose = CREDENTIALS.purpose(self.tenant_id, self.provider, self.provider_key)
        account: dict[str, Any] = json.loads(vault.open(self.credentials, purpose=purpose))
        return replace(settings, **account)


async def of_hook(conn: Connection, provider: str, hook: str) -> Sealed | None:
    """Return the account that a callback's address names; None if no sender has one of its own there."""
    try:
        named = UUID(hook)
    except ValueError:
        return None
    row = await store.first(conn, "account_of_hook", provider=provider, hook=named)
    return None if row is None else Sealed(provider=provider, **row)
