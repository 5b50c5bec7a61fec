"""Keeps the token of a source: sealed, for all workers; without a secret key in this worker's memory only.

A token opens the account that it was given for, so what the database stores is sealed. A value that
does not open here (another key, a copy from elsewhere) is as good as none: a login gets a new one.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from ostinato.errors import SecretKeyMissing, SecretRefused
from ostinato.secrets import SealedColumn, Vault

TOKEN: Final = SealedColumn("enrichment.source", "token", bound_to=("source_api",))
SECRETS: Final = (TOKEN,)


@dataclass
class Tokens:
    """What one worker seals and opens tokens with, and those that it may not store."""

    vault: Vault = field(default_factory=Vault)
    _own: dict[str, tuple[str, float]] = field(default_factory=dict, init=False, repr=False)

    def sealed(self, source: str, token: str, seconds: float) -> str | None:
        """Return a token as it is stored; None: no key is configured, and this worker alone remembers it."""
        if self.vault.key_ids:
            return self.vault.seal(token, purpose=TOKEN.purpose(source))
        self._own[source] = (token, time.monotonic() + seconds)
        return None

    def opened(self, source: str, stored: str) -> str | None:
        """Return a token that was stored, if it opens here."""
        try:
            return self.vault.open(stored, purpose=TOKEN.purpose(source))
        except (SecretRefused, SecretKeyMissing):
            return None

    def own(self, source: str) -> str | None:
        """Return the token that only this worker remembers, while it lives."""
        token, until = self._own.get(source, (None, 0.0))
        return token if until > time.monotonic() else None


@asynccontextmanager
async def remembered(vault: Vault) -> AsyncIterator[Tokens]:
    """Remember tokens for all runs of a worker."""
    yield Tokens(vault)
