r"""WhatsApp, by Meta's Cloud API. It has no idempotency key: see `Lost`.

Meta signs the raw body of a callback, in which it writes é as \u00e9: parsing and writing it
again gives other bytes.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

import httpx

from ostinato.apps.outbound import policy
from ostinato.apps.outbound.model import Channel, ConsentSource, Content, Purpose, Sender
from ostinato.apps.outbound.policy import Kind, Ruling, codes, hold, never, retry
from ostinato.apps.outbound.providers import standin, whatsapp_lines
from ostinato.apps.outbound.providers.lines import LONGEST_ID, Line, storable
from ostinato.apps.outbound.providers.protocol import Hook, Lost, Outcome, Posted, Provider, Taken
from ostinato.apps.outbound.providers.standin import Asked, Inbound, Reply, Sent, StandIn, Telling
from ostinato.apps.outbound.providers.wire import Wire, document_of, is_same, safe
from ostinato.apps.outbound.settings import OutboundSettings

MOST_BYTES: Final = 4 * 2**20  # Meta sends up to 3 MB at once
LONGEST_CHALLENGE: Final = 500
PAIR: Final = (6.0, 16.0, 64.0, 256.0, 1024.0)
"""4 to the power of X, from six seconds on."""

ERRORS: Final = {
    **codes(hold("auth"), 0, 190),
    **codes(hold("permission"), 3, 10, 131005, *range(200, 300)),
    **codes(retry("upstream"), 1, 2, 131016, 133004),
    **codes(retry("rate_limit"), 4),
    **codes(hold("account_blocked"), 33, 131031, 131037, 131045, 133000),
    **codes(hold("account_blocked"), 133005, 133006, 133008, 133009, 133010, 133015, 133016),
    **codes(never("invalid_request"), 100, 131008, 131009, 131051, 131052, 131053, 132068),
    **codes(never("invalid_request"), 135000),
    **codes(hold("account_blocked", policy.HOURS), 368, 131048),
    **codes(retry("rate_limit", policy.QUARTER, policy.QUARTER, 3600.0), 80007),
    **codes(retry("rate_limit", *policy.SECONDS), 130429),
    **codes(never("recipient_unreachable"), 130472, 130497, 131030, 131049),
    **codes(retry("upstream", at_most=2), 131000),
    **codes(never("recipient_invalid"), 131021),
    **codes(Ruling(Kind.PERMANENT, "recipient_unreachable", fallback=True), 131026),
    **codes(hold("billing"), 131042),
    **codes(Ruling(Kind.CONVERT, "window_closed"), 131047),
    **codes(Ruling(Kind.PERMANENT, "recipient_opted_out", revokes=Purpose.MARKETING), 131050),
    **codes(Ruling(Kind.PAIR, "rate_limit", PAIR), 131056),
    **codes(retry("upstream", 60.0), 131057),
    **codes(never("template_invalid"), 132000, 132001, 132005, 132007, 132012),
    **codes(Ruling(Kind.HOLD_TEMPLATE, "template_invalid", hold_seconds=3600.0, alert=True), 132015),
    **codes(Ruling(Kind.PERMANENT, "template_invalid", deactivates=True, alert=True), 132016),
    **codes(retry("rate_limit"), 132069),
}


def _place(sender: Sender, settings: OutboundSettings) -> str:
    """Return where Meta has a number. Quoted, although only digits are stored: it is part of an address."""
    return f"{settings.whatsapp_url.rstrip('/')}/{quote(sender.provider_key, safe='')}"


def signature(secret: str, body: bytes) -> str:
    """Sign a body, as the header X-Hub-Signature-256 has it."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def is_signed(posted: Posted, settings: OutboundSettings) -> bool:
    """Return whether Meta signed this body. Without a secret nothing is."""
    secret = settings.whatsapp_app_secret
    return bool(secret) and is_same(signature(secret, posted.body), posted.signature)


def challenge(query: Mapping[str, str], settings: OutboundSettings) -> str | None:
    """Give the challenge back as it is, if it comes with our verify token."""
    known, asked = settings.whatsapp_verify_token, query.get("hub.challenge", "")
    is_ours = bool(known) and is_same(known, query.get("hub.verify_token"))
    subscribes = query.get("hub.mode") == "subscribe" and len(asked) <= LONGEST_CHALLENGE
    return asked if is_ours and subscribes else None


class WhatsApp(Provider):
    """The WhatsApp Cloud API."""

    name = "whatsapp"
    channel = Channel.WHATSAPP
    errors = ERRORS
    hooks = (
        Hook(
            "whatsapp",
            "/whatsapp/status",
            "Receive statuses and inbound messages of WhatsApp.",
            "x-hub-signature-256",
            is_signed,
            most_bytes=MOST_BYTES,
            challenge=challenge,
            queried=("hub.mode", "hub.verify_token", "hub.challenge"),
        ),
    )
    source = ConsentSource.WHATSAPP_INBOUND
    account = MappingProxyType(
        {"token": "whatsapp_token", "app_secret": "whatsapp_app_secret", "verify_token": "whatsapp_verify_token"}
    )
    needed = ("token", "app_secret")
    unproven = "Meta does not show this number to the token of its account"
    trusts_reference = False

    async def send(self, content: Content, wire: Wire) -> Outcome:
        """Send by POST /{phone_number_id}/messages."""
        settings = wire.settings
        url = f"{_place(content.sender, settings)}/messages"
        bearer = {"Authorization": f"Bearer {settings.whatsapp_token}"}
        answer = await wire.post(url, headers=bearer, json=_request(content))
        if not isinstance(answer, httpx.Response):
            return answer
        document = document_of(answer.content)
        if answer.is_success:
            return _taken(document)
        error = _part(document, "error")
        details = _part(error, "error_data").get("details") or error.get("message") or ""
        return wire.refused(answer, error.get("code"), str(details), self.errors)

    async def prove(self, sender: Sender, expected: str, wire: Wire) -> str | None:  # noqa: ARG002 - as the protocol has it
        """Ask Meta for the number with the sender's own token: the installation's proves nothing of a tenant."""
        if sender.credentials is None:
            return None
        bearer = {"Authorization": f"Bearer {wire.settings.whatsapp_token}"}
        fields = {"fields": "id,display_phone_number,verified_name"}
        told = await wire.get(_place(sender, wire.settings), headers=bearer, params=fields)
        shown = told is not None and told.get("id") == sender.provider_key and told.get("display_phone_number")
        return "META" if shown else None

    def read(self, posted: Posted, settings: OutboundSettings) -> tuple[list[Line], int]:  # noqa: ARG002 - as the protocol has it
        """Read statuses, inbound messages, preferences, and what became of templates."""
        return whatsapp_lines.read(posted.body)

    def may_have_words(self, body: bytes) -> bool:
        """Return whether it names who wrote, or a preference; no status has either."""
        return b'"from"' in body or b'"user_preferences"' in body

    def is_set_up(self, settings: OutboundSettings) -> bool:
        """Return whether there is a token."""
        return bool(settings.whatsapp_token)

    def missing(self, settings: OutboundSettings) -> Iterable[tuple[str, str]]:
        """Return the secret that callbacks are signed with, if it is not set."""
        problem = "callbacks of WhatsApp are all refused: their secret is not set"
        return () if settings.whatsapp_app_secret else ((problem, "WHATSAPP_APP_SECRET"),)

    def stand_in(self, world: standin.World) -> StandIn:
        """Play the Cloud API."""
        return Cloud(world)


WHATSAPP: Final = WhatsApp()


def _request(content: Content) -> dict[str, Any]:
    """Write the request's body: a template, or free text within the window."""
    common = {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": content.to.removeprefix("+"),
        "biz_opaque_callback_data": content.opaque,
    }
    template = content.template
    if template is None:
        context = {"context": {"message_id": content.reply_to}} if content.reply_to else {}
        text = {"preview_url": False, "body": content.text}
        return {**common, **context, "type": "text", "text": text}
    named = {"name": template.provider_name, "language": {"code": template.language}}
    filled = {**named, "components": list(content.components)}
    return {**common, "type": "template", "template": filled}


def _taken(document: dict[str, Any]) -> Outcome:
    """Read who a message is from now on; without an id nobody knows whether it was taken, whatever else is said."""
    messages = document.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    made = first.get("id") if isinstance(first, dict) else None
    if isinstance(made, str) and 0 < len(made) <= LONGEST_ID and made == storable(made):
        return Taken(made, safe(document), _wa_id(document))
    return Lost("the answer has no id of a message")


def _part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _wa_id(document: Mapping[str, Any]) -> str | None:
    contacts = document.get("contacts")
    first = contacts[0] if isinstance(contacts, list) and contacts else {}
    known = first.get("wa_id") if isinstance(first, dict) else None
    return f"+{known}" if isinstance(known, str) and known.isascii() and known.isdigit() else None


class Cloud(StandIn):
    """The Cloud API in the sandbox: takes messages, and signs callbacks as Meta does."""

    token = "sandbox-token"  # noqa: S105 - opens nothing but this
    secret = "sandbox-app-secret"  # noqa: S105 - as above
    account = "WABA-1"

    def __init__(self, world: standin.World) -> None:
        self._world = world
        self.routes = {"/whatsapp/{phone_number_id}/messages": self._taken}
        self.shown = {"/whatsapp/{phone_number_id}": self._number}

    def settings(self, url: str) -> Mapping[str, str]:
        """Name the settings that lead the application here."""
        return {
            "whatsapp_url": f"{url}/whatsapp",
            "whatsapp_token": self.token,
            "whatsapp_app_secret": self.secret,
            "whatsapp_verify_token": "sandbox-verify",
        }

    def _opens(self, asked: Asked) -> bool:
        """Return whether a token opens a number: the sandbox's own opens all, another one those it was made for."""
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        return token == self.token or asked.place["phone_number_id"] in self._world.tokens.get(token, ())

    async def _number(self, asked: Asked) -> Reply | None:
        if not self._opens(asked):
            return _error("100:400")
        number = asked.place["phone_number_id"]
        return Reply({"id": number, "display_phone_number": "+33 6 39 98 00 99", "verified_name": "Atlas"})

    async def _taken(self, asked: Asked) -> Reply | None:
        if not self._opens(asked):
            return _error("190:401")
        world, number = self._world, asked.place["phone_number_id"]
        document = json.loads(asked.body)
        to = "+" + str(document["to"]).removeprefix("+")
        if to == f"{standin.MAGIC}0004" and document["type"] == "text":
            world.asked[to] = world.asked.get(to, 0) + 1
            return _error("131047")
        answer, _, known_as = (await world.next_answer(to, number)).partition("wa_id:")
        if answer == standin.HANG:
            return None
        if answer not in ("", standin.OK, standin.LOST, standin.SILENT):
            return _error(answer, to)
        opaque = document.get("biz_opaque_callback_data")
        made = world.take("whatsapp", "wamid.SANDBOX", to, opaque, document)
        if answer != standin.LOST:
            world.tell(*[self.status(number, made, each) for each in world.statuses_of(to)])
        if answer in (standin.LOST, standin.SILENT):
            return None
        accepted = {"message_status": "accepted"} if document["type"] == "template" else {}
        contacts = [{"input": to, "wa_id": known_as or to.removeprefix("+")}]
        messages = [{"id": made.id, **accepted}]
        return Reply({"messaging_product": "whatsapp", "contacts": contacts, "messages": messages})

    def status(self, phone_number_id: str, made: Sent, told: str) -> Telling:
        """Make the callback about a message: "sent", "delivered", "read", "failed:131026"."""
        status, _, code = told.partition(":")
        line: dict[str, Any] = {
            "id": made.id,
            "status": status,
            "timestamp": str(int(self._world.wall())),
            "recipient_id": made.to.removeprefix("+"),
            "biz_opaque_callback_data": made.opaque,
        }
        if code:
            details = {"details": "Été : a sandbox's error"}
            line["errors"] = [{"code": int(code), "title": "An error", "error_data": details}]
        return self.signed(phone_number_id, {"statuses": [line]})

    def inbound(self, given: Inbound) -> Telling:
        """Make the callback of a message that somebody wrote to a number of ours."""
        line = {
            "from": given.from_.removeprefix("+"),
            "id": f"wamid.{given.id}",
            "timestamp": str(int(self._world.wall())),
            "type": "text",
            "text": {"body": given.text},
        }
        contacts = [{"profile": {"name": "X"}, "wa_id": line["from"]}]
        return self.signed(given.provider_key, {"contacts": contacts, "messages": [line]})

    def signed(self, phone_number_id: str, value: dict[str, Any]) -> Telling:
        """Sign a callback about a number over its bytes."""
        whose = {"display_phone_number": "33639980099", "phone_number_id": phone_number_id}
        named = {"messaging_product": "whatsapp", "metadata": whose, **value}
        return self.of_account([{"field": "messages", "value": named}])

    def of_account(self, changes: list[dict[str, Any]], **more: object) -> Telling:
        """Sign a callback that names the account, and its numbers only in what changed."""
        entry = {"id": self.account, **more, "changes": changes}
        document = {"object": "whatsapp_business_account", "entry": [entry]}
        body = json.dumps(document).encode()  # é as \u00e9, as Meta writes it
        sign = signature(self.secret, body)
        headers = {"x-hub-signature-256": sign, "content-type": "application/json"}
        return Telling("/api/v1/webhooks/whatsapp/status", body, headers)


def _error(answer: str, to: str = "33639980001") -> Reply:
    """Make the error "131016", "131016:429" by another status, or "http:503:30" with Retry-After."""
    first, _, rest = answer.partition(":")
    if first == "http":
        status, _, after = rest.partition(":")
        return Reply({"oops": True}, int(status), {"retry-after": after} if after else {})
    digits = to.removeprefix("+")  # Meta writes numbers without a plus, or with spaces
    spaced = f"0{digits[2:3]} {digits[3:5]} {digits[5:7]} {digits[7:9]} {digits[9:]}"
    told = {
        "message": f"(#{first}) a sandbox's error for {digits}",
        "code": int(first),
        "error_data": {"messaging_product": "whatsapp", "details": f"sandbox {first} for {spaced}"},
    }
    return Reply({"error": told}, int(rest or 400))
