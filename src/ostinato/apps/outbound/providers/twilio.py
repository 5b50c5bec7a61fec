"""SMS, by Twilio. What an answer would say, its status callback says too.

Twilio signs the whole address of a callback and every parameter, those included that are new.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, quote, urlencode, urlsplit

import httpx

from ostinato.apps.outbound import policy
from ostinato.apps.outbound.model import Channel, ConsentSource, Content, Purpose, Sender
from ostinato.apps.outbound.policy import Kind, Ruling, codes, hold, never, retry
from ostinato.apps.outbound.providers import lines, standin
from ostinato.apps.outbound.providers.lines import InboundLine, Line, Reported, StatusLine, storable
from ostinato.apps.outbound.providers.protocol import Hook, Lost, Outcome, Posted, Provider, Taken
from ostinato.apps.outbound.providers.standin import Asked, Inbound, Reply, Sent, StandIn, Telling
from ostinato.apps.outbound.providers.wire import Wire, document_of, is_same, safe, sanitised
from ostinato.apps.outbound.settings import OutboundSettings

STATUS: Final = "/api/v1/webhooks/twilio/status"
INBOUND: Final = "/api/v1/webhooks/twilio/inbound"
NO_REPLY: Final = ("<Response/>", "application/xml")
UNKNOWN_ERROR: Final = "30008"
MOST_FIELDS: Final = 200
_SID: Final = re.compile(r"AC[0-9a-f]{32}")

ERRORS: Final = {
    **codes(hold("auth"), 20003),
    **codes(retry("rate_limit", *policy.SECONDS), 20429),
    **codes(never("recipient_invalid"), 21211, 21612, 21614, 30005, 30006),
    **codes(never("permission"), 21408),
    # Nobody can be reached by this sender any more, whatever for.
    **codes(Ruling(Kind.PERMANENT, "recipient_opted_out", revokes=Purpose.TRANSACTIONAL), 21610),
    **codes(never("invalid_request"), 21617),
    **codes(retry("upstream"), 30001),
    **codes(hold("account_blocked"), 30002),
    **codes(retry("recipient_unreachable", at_most=3), 30003),
    **codes(never("recipient_unreachable"), 30004),
    **codes(Ruling(Kind.PERMANENT, "recipient_unreachable", alert=True), 30007),
    **codes(retry("unknown", at_most=2), 30008),
}
STATUSES: Final[dict[str, Reported]] = {
    **dict.fromkeys(("accepted", "scheduled", "queued", "sending", "sent"), "sent"),
    "delivered": "delivered",
    "read": "read",
    **dict.fromkeys(("undelivered", "failed", "canceled"), "failed"),
}


def signature(token: str, url: str, parameters: Iterable[tuple[str, str]]) -> str:
    """Sign a form that is posted to an address, as the header X-Twilio-Signature has it."""
    signed = url + "".join(name + value for name, value in sorted(parameters))
    digest = hmac.new(token.encode(), signed.encode(), hashlib.sha1).digest()
    return base64.b64encode(digest).decode()


def is_signed(posted: Posted, settings: OutboundSettings) -> bool:
    """Return whether Twilio signed this form for this address.

    Of a body that is no form it signs the address, which names the hash of the body.
    """
    token, parameters = settings.twilio_auth_token, _form(posted.body)
    named = parse_qs(urlsplit(posted.url).query).get("bodySHA256")
    if named is not None:
        if not is_same(hashlib.sha256(posted.body).hexdigest(), named[0].lower()):
            return False
        parameters = []
    elif posted.body and not parameters:
        return False  # neither a form nor named by its hash: no signature covers it
    return bool(token) and is_same(signature(token, posted.url, parameters), posted.signature)


def _form(body: bytes) -> list[tuple[str, str]]:
    """Read the fields of a form; none, if there are more than Twilio ever sends: nobody has signed it yet."""
    try:
        return parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        return []


class Twilio(Provider):
    """Twilio's Messages."""

    name = "twilio"
    channel = Channel.SMS
    errors = ERRORS
    hooks = (
        Hook("twilio", "/twilio/status", "Receive statuses of Twilio.", "x-twilio-signature", is_signed),
        Hook(
            "twilio_inbound",
            "/twilio/inbound",
            "Receive an SMS; the answer says that there is nothing to reply.",
            "x-twilio-signature",
            is_signed,
            answer=NO_REPLY,
        ),
    )
    source = ConsentSource.SMS_INBOUND
    account = MappingProxyType({"account_sid": "twilio_account_sid", "auth_token": "twilio_auth_token"})
    needed = ("account_sid", "auth_token")
    trusts_reference = True

    async def send(self, content: Content, wire: Wire) -> Outcome:
        """Send by POST /2010-04-01/Accounts/{sid}/Messages.json, as a form."""
        settings = wire.settings
        account = settings.twilio_account_sid
        url = f"{settings.twilio_url.rstrip('/')}/2010-04-01/Accounts/{quote(account, safe='')}/Messages.json"
        key = content.sender.provider_key
        form = {
            "To": content.to,
            "MessagingServiceSid" if key.startswith("MG") else "From": key,
            "Body": content.text,
            # Signed with its query, so what comes back here came from us.
            "StatusCallback": f"{settings.public_url}{STATUS}?ref={content.opaque}{_account(content.sender)}",
        }
        login = httpx.BasicAuth(account, settings.twilio_auth_token)
        answer = await wire.post(url, auth=login, data=form)
        if not isinstance(answer, httpx.Response):
            return answer
        document = document_of(answer.content)
        if not answer.is_success:
            return wire.refused(answer, document.get("code"), str(document.get("message") or ""), self.errors)
        if isinstance(document.get("sid"), str):
            return Taken(document["sid"], safe(document))
        return Lost("the answer has no sid")

    def may_have_words(self, body: bytes) -> bool:
        """Return whether a callback may be a message; a status never has a text."""
        return b"Body=" in body

    def read(self, posted: Posted, settings: OutboundSettings) -> tuple[list[Line], int]:  # noqa: ARG002 - as the protocol has it
        """Read a status, or a message that came in."""
        form = {name: storable(value) for name, value in _form(posted.body)}
        sid = form.get("MessageSid") or form.get("SmsSid") or ""
        if not sid or len(sid) > lines.LONGEST_ID:
            return [], 1
        told = form.get("MessageStatus") or form.get("SmsStatus") or ""
        if "Body" in form or told == "received":
            return [_inbound(form, sid, posted)], 0
        status = STATUSES.get(told)
        if status is None:
            return [], 1
        reference = parse_qs(urlsplit(posted.url).query).get("ref", [""])[0]
        message_id, attempt_no = lines.read_opaque(reference)
        key = form.get("MessagingServiceSid") or form.get("From") or None
        code = form.get("ErrorCode") or (UNKNOWN_ERROR if status == "failed" else "")
        line = StatusLine(
            self.name,
            key,
            sid,
            status,
            posted.received_at,
            message_id,
            attempt_no,
            code[: lines.LONGEST_CODE],
            sanitised(form.get("ErrorMessage") or told),
            timed=False,
        )
        return [line], 0

    def account_fault(self, account: Mapping[str, Any], settings: OutboundSettings) -> tuple[str, str] | None:  # noqa: ARG002 - as the protocol has it
        """Return what is wrong with an Account SID, if something is: it becomes part of an address."""
        if _SID.fullmatch(str(account["twilio_account_sid"])):
            return None
        return "the accountSid is none of Twilio's", "It is AC and 32 hexadecimal digits."

    def confirms(self, settings: OutboundSettings) -> bool:
        """Return whether it answers STOP itself, as it does by default, and refuses what comes after."""
        return settings.twilio_confirms

    def is_set_up(self, settings: OutboundSettings) -> bool:
        """Return whether there is a token."""
        return bool(settings.twilio_auth_token)

    def stand_in(self, world: standin.World) -> StandIn:
        """Play Twilio."""
        return Exchange(world)


TWILIO: Final = Twilio()


def _account(sender: Sender) -> str:
    """Name the account whose token signs the callback, if it is not the installation's."""
    return "" if sender.credentials is None else f"&account={sender.hook}"


def _inbound(form: Mapping[str, str], sid: str, posted: Posted) -> InboundLine:
    """Read an inbound SMS. To is a number of the pool, if a Messaging Service has one."""
    keys = tuple(form[name] for name in ("MessagingServiceSid", "To") if form.get(name))
    text = form.get("Body", "")[: lines.LONGEST_TEXT]
    who = lines.number_of(form.get("From", ""))
    return InboundLine(TWILIO.name, keys, sid, who, posted.received_at, "text", text)


class Exchange(StandIn):
    """Twilio in the sandbox: takes messages, and signs callbacks for the address it was given."""

    account = "AC" + "0" * 32
    token = "sandbox-auth-token"  # noqa: S105 - opens nothing but this

    def __init__(self, world: standin.World) -> None:
        self._world = world
        self.routes = {"/twilio/2010-04-01/Accounts/{sid}/Messages.json": self._taken}

    def settings(self, url: str) -> Mapping[str, str]:
        """Name the settings that lead the application here."""
        return {"twilio_url": f"{url}/twilio", "twilio_account_sid": self.account, "twilio_auth_token": self.token}

    async def _taken(self, asked: Asked) -> Reply | None:
        world, form = self._world, dict(_form(asked.body))
        to, sender = form["To"], form.get("From") or form.get("MessagingServiceSid") or ""
        answer = await world.next_answer(to)
        if answer == standin.HANG:
            return None
        if answer not in (standin.OK, standin.LOST, standin.SILENT):
            code, _, given = answer.partition(":")  # "21211", or "21211:503" by another status
            status = int(given or {"20429": 429, "20003": 401}.get(code, 400))
            told = {"code": int(code), "message": f"sandbox {code} for {to}", "status": status}
            return Reply(told, status)
        url = form.get("StatusCallback", "")
        made = world.take("twilio", "SM", to, url, dict(form))
        if answer != standin.LOST:
            world.tell(*[self._status(url, made, sender, each) for each in world.statuses_of(to)])
        if answer != standin.OK:
            return None
        named = {"sid": made.id, "to": to, "from": sender, "account_sid": asked.place["sid"]}
        usual = {"status": "queued", "num_segments": "1", "error_code": None, "error_message": None}
        return Reply({**named, **usual}, 201)

    def _status(self, url: str, made: Sent, sender: str, told: str) -> Telling:
        status, _, code = told.partition(":")
        form = {
            "MessageSid": made.id,
            "SmsSid": made.id,
            "MessageStatus": status,
            "To": made.to,
            "From": sender,
            "AccountSid": self.account,
            "ApiVersion": "2010-04-01",
        }
        return self.form(url, form | ({"ErrorCode": code} if code else {}))

    def inbound(self, given: Inbound) -> Telling:
        """Make the callback of an SMS that somebody wrote to a number of ours."""
        form = {
            "MessageSid": str(given.id),
            "From": given.from_,
            "To": given.provider_key,
            "Body": given.text,
            "AccountSid": self.account,
        }
        service = {} if given.service is None else {"MessagingServiceSid": given.service}
        return self.form(f"{self._world.public_url}{INBOUND}", form | service)

    def form(self, url: str, form: Mapping[str, str]) -> Telling:
        """Sign a form for the address that it is posted to."""
        place = urlsplit(url)
        headers = {
            "x-twilio-signature": signature(self.token, url, form.items()),
            "content-type": "application/x-www-form-urlencoded",
        }
        path = f"{place.path}?{place.query}" if place.query else place.path
        return Telling(path, urlencode(form).encode(), headers)
