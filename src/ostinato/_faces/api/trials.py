"""Test messages to endpoints, which people send from an API process: a few of each tenant at once.

A receiver may keep one for a minute, and each has a connection of this process.
"""

from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.base.settings import Settings
from ostinato._core.base.vault import Vault
from ostinato._core.engine.webhook_deliveries import Sending
from ostinato._core.runtime.seats import Seats
from ostinato._core.runtime.services.webhooks import Met, Sender

AT_ONCE = 4


class Trials:
    """The test messages of one process."""

    def __init__(self, settings: Settings) -> None:
        self._sender = Sender(parse_allowed(settings.webhooks_allow_private))
        self.seats = Seats(AT_ONCE, settings.call_timeout_seconds)

    async def send(self, sending: Sending, vault: Vault) -> Met:
        """Send a test message, and return what came of it; raises `TooManyRequests`."""
        async with self.seats.taken(sending.tenant_id):
            return await self._sender.send(sending, vault)
