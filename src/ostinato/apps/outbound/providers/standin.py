"""What the stand-ins of the providers share in the sandbox: scripts, what was taken, callbacks.

The last four digits of +33 6 39 98 xx xx say what happens, if nothing else is scripted:

    0001 delivered and read      0005 131056 once             0009 131050, opted out
    0002 fails later, 131026     0006 taken, but no answer    0010 read, never delivered
    0003 130429 twice, then ok   0007 delivered before sent   0011 sent for ever
    0004 131047 for free text    0008 callbacks twice         0012 190, until released
"""

import asyncio
import itertools
import os
import secrets
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import httpx
from pydantic import BaseModel

from ostinato.apps.outbound.providers.wire import trusted
from ostinato.errors import InvalidInput

HOST: Final = "127.0.0.1"
MAGIC: Final = "+3363998"
OK: Final = "ok"
LOST: Final = "lost"
"""Taken, but the answer never comes, nor a callback."""
SILENT: Final = "silent"
"""Taken, but the answer never comes; callbacks do."""
HELD: Final = "held:"
"""Answered when the gate is opened: "held:131016"."""
HELD_SECONDS: Final = 30
HANG: Final = "hang"
"""Not taken, and no answer."""

SCRIPTS: Final[dict[str, tuple[str, ...]]] = {
    "0003": ("130429", "130429"),
    "0005": ("131056",),
    "0006": (SILENT,),
    "0009": ("131050",) * 100,
    "0012": ("190",) * 100,
}
STATUSES: Final[dict[str, tuple[str, ...]]] = {
    "0001": ("sent", "delivered", "read"),
    "0002": ("sent", "failed:131026"),
    "0007": ("delivered", "sent"),
    "0008": ("sent", "sent", "delivered", "delivered"),
    "0010": ("sent", "read"),
    "0011": ("sent",),
}
USUAL: Final = ("sent", "delivered")
MOST: Final = 5000
PAUSES: Final = (0.05, 0.2, 1.0, None)


@dataclass
class Sent:
    """A message that a provider took."""

    number: int
    provider: str
    to: str
    id: str
    opaque: str | None
    document: dict[str, Any]


class Inbound(BaseModel):
    """Somebody writes."""

    from_: str
    text: str
    provider: str = "whatsapp"
    provider_key: str = "100200300"
    service: str | None = None
    """The Messaging Service that an SMS came in by; provider_key is a number of its pool then."""
    id: str | None = None


@dataclass(frozen=True)
class Telling:
    """A callback that is to be made."""

    path: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """A request to a provider."""

    place: Mapping[str, str]
    """The parameters in its path."""
    headers: Mapping[str, str]
    body: bytes
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """What a provider answers."""

    document: Mapping[str, Any]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[Asked], Awaitable[Reply | None]]
"""Answers a request; None: no answer, until the caller gives up."""


class StandIn(Protocol):
    """What plays one provider."""

    routes: Mapping[str, Handler]
    """What is posted to it over HTTP, by its path."""
    shown: Mapping[str, Handler] = {}
    """What it shows, by its path."""

    def settings(self, url: str) -> Mapping[str, str]:
        """Name the settings that lead the application here."""

    def inbound(self, given: Inbound) -> Telling:
        """Make the callback of a message that somebody wrote to one of our senders."""
        raise InvalidInput(f"nobody writes by {given.provider} here", hint="Take another one.")

    def close(self) -> None:
        """End what runs beside the sandbox's own server."""
        return


def port_of(name: str) -> tuple[int, bool]:
    """Find the port of a stand-in that has one: the one that the demo chose, or a free one.

    The demo chooses for all its processes; the process that plays the providers knows it.
    """
    port = os.environ.get(f"OSTINATO_OUTBOUND_{name.upper()}_PORT", "")
    is_local = os.environ.get(f"OSTINATO_OUTBOUND_{name.upper()}_HOST") == HOST
    if is_local and port.isdigit():
        return int(port), True
    with socket.create_server((HOST, 0)) as probe:
        return int(probe.getsockname()[1]), False


class World:
    """What was taken, what comes next, and where callbacks go."""

    def __init__(self, wall: Callable[[], float], *, serves: bool = False) -> None:
        self.serves = serves
        """Whether stand-ins listen on ports of their own, as the one for mail does."""
        self.api = self.public_url
        """Where callbacks go."""
        self.wall = wall  # the clock of machines that are not ours
        self.gate = threading.Event()
        """Lets answers that are held go."""
        self.sent: list[Sent] = []
        self.asked: dict[str, int] = {}
        """How often each recipient was asked for, answered or not."""
        self.tokens: dict[str, set[str]] = {}
        """Tokens of others, and the numbers that Meta shows to them."""
        self.records: dict[str, list[str]] = {}
        """What names have as TXT records."""
        self.told: list[tuple[str, int]] = []
        """Paths of callbacks, and how they were answered."""
        self.telling: set[asyncio.Task[None]] = set()
        self._boot = secrets.token_hex(8)
        self._numbers = itertools.count(1)
        self._scripts: dict[str, list[str]] = {}
        self._statuses: dict[str, list[str]] = {}

    @property
    def public_url(self) -> str:
        """The address of the API as the application knows it, and callbacks are signed for it."""
        return os.environ.get("OSTINATO_OUTBOUND_PUBLIC_URL", "http://127.0.0.1:8080")

    def reset(self) -> None:
        """Forget what was taken and scripted."""
        self.sent.clear()
        self.tokens.clear()
        self.records.clear()
        self.asked.clear()
        self.told.clear()
        self.gate.clear()
        self._scripts.clear()
        self._statuses.clear()

    def script(self, to: str, *answers: str, statuses: list[str] | None = None) -> None:
        """Script what the next messages to a recipient or of a sender meet."""
        self._scripts[to] = list(answers)
        if statuses is not None:
            self._statuses[to] = statuses

    async def next_answer(self, to: str, sender: str = "") -> str:
        """Take what this message meets from the script of its sender, or of its recipient."""
        key = sender if sender in self._scripts else to
        self.asked[key] = self.asked.get(key, 0) + 1
        if key not in self._scripts and key.startswith(MAGIC):
            self._scripts[key] = list(SCRIPTS.get(key[-4:], ()))
        left = self._scripts.get(key)
        answer = left.pop(0) if left else OK
        if answer.startswith(HELD):
            await asyncio.to_thread(self.gate.wait, HELD_SECONDS)
        return answer.removeprefix(HELD)

    def statuses_of(self, to: str) -> list[str]:
        """List the statuses that callbacks report: as scripted, or as the number says."""
        found = self._statuses.get(to)
        return list(STATUSES.get(to[-4:], USUAL)) if found is None else found

    def take(self, provider: str, prefix: str, to: str, opaque: str | None, document: dict[str, Any]) -> Sent:
        """Take a message, under an id that is never given again, in another life neither."""
        number = next(self._numbers)
        made = Sent(number, provider, to, f"{prefix}{self._boot}{number:016x}", opaque, document)
        self.sent.append(made)
        del self.sent[:-MOST]
        return made

    def tell(self, *tellings: Telling) -> None:
        """Make callbacks, one after the other, beside the answer."""
        task = asyncio.get_running_loop().create_task(self.make(*tellings))
        self.telling.add(task)
        task.add_done_callback(self.telling.discard)

    async def make(self, *tellings: Telling) -> None:
        """Post callbacks; one that is not answered is repeated, as providers do."""
        if not self.api:  # nobody wants callbacks
            return
        async with httpx.AsyncClient(base_url=self.api, verify=trusted(), trust_env=False, timeout=5) as http:
            for each in tellings:
                for pause in PAUSES:
                    try:
                        answer = await http.post(each.path, content=each.body, headers=dict(each.headers))
                        status = answer.status_code
                    except httpx.HTTPError:
                        status = 0
                    self.told.append((each.path, status))
                    if 0 < status < 500 or pause is None:  # noqa: PLR2004 - a server's own fault
                        break
                    await asyncio.sleep(pause)
