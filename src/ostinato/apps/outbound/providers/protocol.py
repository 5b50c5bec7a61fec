"""Who carries messages, behind one small protocol: send, and say clearly what came of it.

There are four things that may come of it, and the difference between the last two is what keeps a
recipient from getting a message twice:

    Taken      the provider has it
    Refused    the provider does not, and says why
    NotSent    it never got there: nothing of the request was written
    Lost       the request was written, and no answer came: nobody knows
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from ostinato.apps.outbound.model import Channel, ConsentSource, Content, OnUnknown, Sender
from ostinato.apps.outbound.policy import Ruling
from ostinato.apps.outbound.providers.lines import NO_TIME, Line
from ostinato.apps.outbound.settings import OutboundSettings

if TYPE_CHECKING:
    from ostinato.apps.outbound.providers.standin import StandIn, World
    from ostinato.apps.outbound.providers.wire import Wire

JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Taken:
    """The provider has it: accepted, not delivered."""

    provider_message_id: str
    response: dict[str, Any] = field(default_factory=dict)
    wa_id: str | None = None
    """The number by which WhatsApp knows the recipient; in some countries another than ours."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The provider does not take it."""

    code: str
    message: str = ""
    response: dict[str, Any] = field(default_factory=dict)
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class NotSent:
    """It never got there: trying again cannot send it twice."""

    message: str


@dataclass(frozen=True, slots=True)
class Lost:
    """Nobody knows whether the provider has it."""

    message: str


Outcome = Taken | Refused | NotSent | Lost


@dataclass(frozen=True, slots=True)
class Posted:
    """A callback: the address that it was posted to as the world knows it, and its bytes."""

    url: str
    body: bytes
    signature: str | None = None
    received_at: datetime = NO_TIME


@dataclass(frozen=True, slots=True)
class Hook:
    """An address below /api/v1/webhooks to which a provider posts callbacks."""

    name: str
    path: str
    about: str
    header: str
    """Where the signature is."""
    is_signed: Callable[[Posted, OutboundSettings], bool]
    most_bytes: int | None = None
    """The largest body that it takes, if that is more than other routes do."""
    basic: bool = False
    """Whether the secret may come as the password of Basic authentication instead."""
    answer: tuple[str, str] = ('{"received":true}', JSON)
    """What is answered once a callback is stored, and its media type."""
    challenge: Callable[[Mapping[str, str], OutboundSettings], str | None] | None = None
    """Answers a GET by which the provider asks whether the address is ours; None: it is not."""
    queried: tuple[str, ...] = ()
    """The parameters of that GET."""


class Provider(Protocol):
    """What one file of this package defines, and `PROVIDERS` lists."""

    name: str
    """As senders and callbacks are stored with it."""
    channel: Channel
    errors: Mapping[str, Ruling]
    """What its error codes mean."""
    hooks: Sequence[Hook]
    source: ConsentSource
    """Where a consent comes from that somebody gives or ends by writing to it."""
    account: Mapping[str, str]
    """What an account of a sender's own has: names as the API has them, and the settings that they stand for."""
    needed: Sequence[str]
    """Those of them without which there is no account."""
    unproven: str = "it is granted by the administrator only"
    """What to do for a proof."""
    on_unknown: OnUnknown = "resend"
    """What is done when no callback says whether something was sent, if a sender says nothing of it."""
    trusts_reference: bool
    """Whether the reference in a callback is enough to know whose it is: its sender is signed
    with it, or is a server of our own."""

    async def send(self, content: Content, wire: "Wire") -> Outcome:
        """Send one message, once; never raises for what the provider or the network does."""

    async def prove(self, sender: Sender, expected: str, wire: "Wire") -> str | None:  # noqa: ARG002 - as below
        """Ask whether a sender is its tenant's; the name of the proof, None: nothing proves it."""
        return None

    def account_fault(self, account: Mapping[str, Any], settings: OutboundSettings) -> tuple[str, str] | None:  # noqa: ARG002 - as below
        """Return what is wrong with an account, and what to do about it."""
        return None

    def read(self, posted: Posted, settings: OutboundSettings) -> tuple[list[Line], int]:
        """Read the lines of a callback, and count those that cannot be read.

        Its signer may have written anything: the time is linear in its bytes, and what has
        more lines than `check_count` allows is refused with `BodyTooLarge` before any is read.
        """

    def may_have_words(self, body: bytes) -> bool:  # noqa: ARG002 - as below
        """Return whether people may have written in a callback, by a look at its bytes: none is taken apart for it."""
        return True

    def asks(self, body: bytes) -> Mapping[str, str]:  # noqa: ARG002 - most ask nothing
        """Name what a callback that says nothing of a message asks people to do; its job's result shows it."""
        return {}

    def ruling(self, code: str) -> Ruling | None:  # noqa: ARG002 - most have none
        """Rule on a code that `errors` does not list; None: there is no rule for it."""
        return None

    def confirms(self, settings: OutboundSettings) -> bool:  # noqa: ARG002 - most do not
        """Return whether it answers STOP, HELP and START by itself."""
        return False

    def is_set_up(self, settings: OutboundSettings) -> bool:
        """Return whether somebody means to send by it."""

    def missing(self, settings: OutboundSettings) -> Iterable[tuple[str, str]]:  # noqa: ARG002 - as above
        """Name what does not work, and the setting that is missing, of one that is set up."""
        return ()

    def stand_in(self, world: "World") -> "StandIn":
        """Make what plays it in the sandbox."""
