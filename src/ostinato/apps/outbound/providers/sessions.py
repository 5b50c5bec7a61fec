"""Sessions with mail servers are kept for the next mail by the same account.

A session costs a connection, its TLS and a login, several times what a mail in it does. One that rests for
`REST_SECONDS` is closed, before servers do it; one that was closed meanwhile is noticed at the next mail's first
command, of which nothing was sent yet. A session is given back fit for another mail, or not at all: an answer that
never came could be taken for that of the next mail.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Final, Self

import aiosmtplib

from ostinato.apps.outbound.settings import OutboundSettings

REST_SECONDS: Final = 10.0
"""How long an idle session is kept; servers keep theirs for half a minute to five."""
MOST_EACH: Final = 10
"""How many there are with one account at once: servers refuse more."""


@dataclass(frozen=True, slots=True)
class Account:
    """What a session is opened by: whose sessions are the same."""

    host: str
    port: int
    tls: str
    username: str
    password: str = field(repr=False)
    timeout: float
    trusted: SSLContext

    @classmethod
    def of(cls, settings: OutboundSettings, trusted: SSLContext) -> Self:
        """Name the account of a sender, or that of the installation."""
        return cls(
            settings.smtp_host,
            settings.smtp_port,
            settings.smtp_tls,
            settings.smtp_username,
            settings.smtp_password,
            settings.timeout_seconds,
            trusted,
        )


@dataclass(slots=True)
class Session:
    """A session that a mail is sent over."""

    account: Account
    client: aiosmtplib.SMTP
    is_kept: bool
    """Whether it had another mail before: the server may have closed it meanwhile."""
    is_fit: bool = False
    """Whether it may have another mail after this one."""


@dataclass(slots=True)
class Resting:
    """A session that waits for the next mail."""

    client: aiosmtplib.SMTP
    end: asyncio.TimerHandle


class Sessions:
    """The sessions of one worker, by account."""

    def __init__(self) -> None:
        self._resting: defaultdict[Account, list[Resting]] = defaultdict(list)
        self._turns: defaultdict[Account, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(MOST_EACH))

    async def take(self, account: Account, *, is_new: bool = False) -> Session:
        """Return a session that nobody else has, one that was kept unless it is to be new; raises as aiosmtplib."""
        await self._turns[account].acquire()
        try:
            while not is_new and (resting := self._resting[account]):
                found = resting.pop()  # the youngest: those that are too many come to their end
                found.end.cancel()
                if found.client.is_connected:
                    return Session(account, found.client, is_kept=True)
            return Session(account, await _opened(account), is_kept=False)
        except BaseException:
            self._turns[account].release()
            raise

    def give_back(self, session: Session) -> None:
        """Keep a session for the next mail, or close it."""
        if session.is_fit and session.client.is_connected:
            end = asyncio.get_running_loop().call_later(REST_SECONDS, session.client.close)
            self._resting[session.account].append(Resting(session.client, end))
        else:
            session.client.close()
        self._turns[session.account].release()

    def close(self) -> None:
        """Close all that rest."""
        for each in [one for resting in self._resting.values() for one in resting]:
            each.end.cancel()
            each.client.close()
        self._resting.clear()


@asynccontextmanager
async def kept() -> AsyncIterator[Sessions]:
    """Keep sessions for all mails of a worker."""
    sessions = Sessions()
    try:
        yield sessions
    finally:
        sessions.close()


async def _opened(account: Account) -> aiosmtplib.SMTP:
    client = aiosmtplib.SMTP(
        hostname=account.host,
        port=account.port,
        use_tls=account.tls == "tls",
        start_tls=account.tls == "starttls",
        username=account.username or None,
        password=account.password or None,
        timeout=account.timeout,
        tls_context=account.trusted,
    )
    try:
        await client.connect()
        if client.is_ehlo_or_helo_needed:
            await client.ehlo()  # what it can do, DSN for one
    except BaseException:
        client.close()
        raise
    return client
