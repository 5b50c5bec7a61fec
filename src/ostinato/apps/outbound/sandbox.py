"""The three providers as a stand-in: real HTTP and SMTP, magic recipients, signed callbacks.

    POST /whatsapp/{phone_number_id}/messages                      as the WhatsApp Cloud API
    POST /twilio/2010-04-01/Accounts/{sid}/Messages.json           as Twilio
    SMTP on a port of its own                                      `sandbox_mail`
    PUT  /_sandbox/outbound             {"api": "http://…"}        where callbacks go
    GET  /_sandbox/outbound                                        what was taken, in order
    PUT  /_sandbox/outbound/script      {"to": "+336…", "answers": ["131016", "lost", "ok"]}
    POST /_sandbox/outbound/inbound     {"from_": "+336…", "text": "STOP"}

What the last four digits of +33 6 39 98 xx xx do is in `sandbox_magic`.
"""

import asyncio
import itertools
import json
import os
import secrets
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from ostinato.apps.outbound.providers.mailserver import MailServer
from ostinato.apps.outbound.providers.standin import (
    BOUNCE_SECRET,
    Inbound,
    Script,
    Sent,
    Telling,
    Where,
    error_of,
    http_error,
    never,
)
from ostinato.apps.outbound.sandbox_magic import (
    HANG,
    HELD,
    HELD_SECONDS,
    LOST,
    MAGIC,
    OK,
    SCRIPTS,
    SILENT,
    STATUSES,
    USUAL,
    WA_ID,
)
from ostinato.apps.outbound.tokens import meta_signature, twilio_signature

__all__ = ["Providers", "Sent"]

CONTROL: Final = "/_sandbox/outbound"
TOKEN: Final = "sandbox-token"  # noqa: S105 - opens nothing but this
APP_SECRET: Final = "sandbox-app-secret"  # noqa: S105 - as above
ACCOUNT: Final = "AC" + "0" * 32
AUTH_TOKEN: Final = "sandbox-auth-token"  # noqa: S105 - as above
ACCOUNT_KEY: Final = "WABA-1"
MOST: Final = 5000


class Providers:
    """The stand-in."""

    name = "outbound"

    def __init__(
        self, *, smtp_port: int | None = None, wall: Callable[[], float] = time.time
    ) -> None:
        self._wall = wall  # the clock of machines that are not ours
        self.api = os.environ.get("OSTINATO_OUTBOUND_PUBLIC_URL", "http://127.0.0.1:8080")
        self.gate = threading.Event()
        """Lets answers that are held go."""
        self._boot = secrets.token_hex(8)
        self._numbers = itertools.count(1)
        self.sent: list[Sent] = []
        self.asked: dict[str, int] = {}
        """How often each recipient was asked for, answered or not."""
        self._scripts: dict[str, list[str]] = {}
        self._statuses: dict[str, list[str]] = {}
        self._told: set[asyncio.Task[None]] = set()
        self.told: list[tuple[str, int]] = []
        """Paths of callbacks, and how they were answered."""
        port = smtp_port if smtp_port is not None else _given_port()
        self.mail = None if port is None else MailServer(port, self)
        self.router = APIRouter(tags=["outbound"])
        self.router.put(CONTROL, status_code=204)(self._where)
        self.router.get(CONTROL)(self._show)
        self.router.put(f"{CONTROL}/script", status_code=204)(self._set_script)
        self.router.post(f"{CONTROL}/inbound")(self._write)
        self.router.post("/whatsapp/{phone_number_id}/messages")(self._whatsapp)
        self.router.post("/twilio/2010-04-01/Accounts/{sid}/Messages.json")(self._twilio)

    def settings(self, url: str) -> dict[str, str]:
        """What leads the application here."""
        values = {
            "whatsapp_url": f"{url}/whatsapp",
            "whatsapp_token": TOKEN,
            "whatsapp_app_secret": APP_SECRET,
            "whatsapp_verify_token": "sandbox-verify",
            "twilio_url": f"{url}/twilio",
            "twilio_account_sid": ACCOUNT,
            "twilio_auth_token": AUTH_TOKEN,
            "smtp_host": "127.0.0.1",
            "smtp_port": str(self.mail.port if self.mail is not None else MailServer.free_port()),
            "smtp_tls": "none",
            "mail_domain": "example.test",
            "bounce_secret": BOUNCE_SECRET,
            "token_secret": "sandbox-token-secret",
            "timeout_seconds": "2",
            "unknown_hold_seconds": "5",
            "phone_validation": "possible",
        }
        return {f"OSTINATO_OUTBOUND_{name.upper()}": value for name, value in values.items()}

    def reset(self) -> None:
        """Forget what was taken and scripted."""
        self.sent.clear()
        self.asked.clear()
        self.told.clear()
        self.gate.clear()
        self._scripts.clear()
        self._statuses.clear()

    def close(self) -> None:
        """End the mail server, if there is one."""
        if self.mail is not None:
            self.mail.close()

    def script(self, to: str, *answers: str, statuses: list[str] | None = None) -> None:
        """What the next messages to a recipient, or of a phone_number_id, meet; what is told."""
        self._scripts[to] = list(answers)
        if statuses is not None:
            self._statuses[to] = statuses

    def next_answer(self, to: str) -> str:
        """What this message meets."""
        self.asked[to] = self.asked.get(to, 0) + 1
        if to not in self._scripts and to.startswith(MAGIC):
            self._scripts[to] = list(SCRIPTS.get(to[-4:], ()))
        left = self._scripts.get(to)
        return left.pop(0) if left else OK

    def _statuses_of(self, to: str) -> list[str]:
        """What callbacks tell of a message: as scripted, or as the number says."""
        found = self._statuses.get(to)
        return list(STATUSES.get(to[-4:], USUAL)) if found is None else found

    def take(self, provider: str, to: str, opaque: str | None, document: dict[str, Any]) -> Sent:
        """Take a message."""
        number = next(self._numbers)
        # Never the same again, in another life neither: the application remembers.
        own = f"{self._boot}{number:016x}"
        ids = {"whatsapp": f"wamid.SANDBOX{own}", "twilio": f"SM{own}"}
        made = Sent(number, provider, to, ids.get(provider, f"mail-{own}"), opaque, document)
        self.sent.append(made)
        del self.sent[:-MOST]
        return made

    # ── WhatsApp ──────────────────────────────────────────────────────────────────────────

    async def _whatsapp(self, phone_number_id: str, request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return error_of(190, 401)
        document = json.loads(await request.body())
        to = "+" + str(document["to"]).removeprefix("+")
        if to == f"{MAGIC}0004" and document["type"] == "text":
            self.asked[to] = self.asked.get(to, 0) + 1
            return error_of(131047)
        answer = self.next_answer(phone_number_id if phone_number_id in self._scripts else to)
        if answer == HANG:
            return await never(request)
        if answer.startswith(HELD):
            await asyncio.to_thread(self.gate.wait, HELD_SECONDS)
            answer = answer.removeprefix(HELD)
        known_as = answer.removeprefix(WA_ID) if answer.startswith(WA_ID) else to
        answer = OK if answer.startswith(WA_ID) else answer
        if answer not in (OK, LOST, SILENT):
            return http_error(answer, to)
        opaque = document.get("biz_opaque_callback_data")
        made = self.take("whatsapp", to, opaque, document)
        if answer != LOST:
            statuses = self._statuses_of(to)
            self.tell(*[self.status(phone_number_id, made, each) for each in statuses])
        if answer != OK:
            return await never(request)
        taken: dict[str, Any] = {"id": made.id}
        if document["type"] == "template":
            taken["message_status"] = "accepted"
        return JSONResponse(
            {
                "messaging_product": "whatsapp",
                "contacts": [{"input": to, "wa_id": known_as.removeprefix("+")}],
                "messages": [taken],
            }
        )

    def status(self, phone_number_id: str, made: Sent, told: str) -> Telling:
        """A signed callback about a message: "sent", "delivered", "read", "failed:131026"."""
        status, _, code = told.partition(":")
        line: dict[str, Any] = {
            "id": made.id,
            "status": status,
            "timestamp": str(int(self._wall())),
            "recipient_id": made.to.removeprefix("+"),
            "biz_opaque_callback_data": made.opaque,
        }
        if code:
            details = {"details": "Été : a sandbox's error"}
            title = "A sandbox's error"
            line["errors"] = [{"code": int(code), "title": title, "error_data": details}]
        return self.signed(phone_number_id, {"statuses": [line]})

    def signed(self, phone_number_id: str, value: dict[str, Any]) -> Telling:
        """A callback of WhatsApp, signed over its bytes."""
        whose = {"display_phone_number": "33639980099", "phone_number_id": phone_number_id}
        change = {
            "field": "messages",
            "value": {"messaging_product": "whatsapp", "metadata": whose, **value},
        }
        return self._sealed({"id": ACCOUNT_KEY, "changes": [change]})

    def of_account(self, value: dict[str, Any], at: int) -> Telling:
        """A callback about a template: it names the account, and none of its numbers."""
        change = {"field": "message_template_status_update", "value": value}
        return self._sealed({"id": ACCOUNT_KEY, "time": at, "changes": [change]})

    def _sealed(self, entry: dict[str, Any]) -> Telling:
        document = {"object": "whatsapp_business_account", "entry": [entry]}
        body = json.dumps(document).encode()  # é as \u00e9, as Meta writes it
        headers = {
            "x-hub-signature-256": meta_signature(APP_SECRET, body),
            "content-type": "application/json",
        }
        return Telling("/api/v1/webhooks/whatsapp/status", body, headers)

    # ── Twilio ────────────────────────────────────────────────────────────────────────────

    async def _twilio(self, sid: str, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode(), keep_blank_values=True))
        to, sender = form["To"], form.get("From") or form.get("MessagingServiceSid") or ""
        answer = self.next_answer(to)
        if answer == HANG:
            return await never(request)
        if answer not in (OK, LOST, SILENT):
            code = int(answer)
            status = 429 if code == 20429 else 401 if code == 20003 else 400  # noqa: PLR2004 - theirs
            told = {"code": code, "message": f"sandbox {code} for {to}", "status": status}
            return JSONResponse(told, status)
        url = form.get("StatusCallback", "")
        made = self.take("twilio", to, url, form)
        if answer != LOST:
            statuses = self._statuses_of(to)
            self.tell(*[self._sms_status(url, made, sender, each) for each in statuses])
        if answer != OK:
            return await never(request)
        return JSONResponse(
            {
                "sid": made.id,
                "status": "queued",
                "to": to,
                "from": sender,
                "account_sid": sid,
                "num_segments": "1",
                "error_code": None,
                "error_message": None,
            },
            201,
        )

    def _sms_status(self, url: str, made: Sent, sender: str, told: str) -> Telling:
        status, _, code = told.partition(":")
        form = {
            "MessageSid": made.id,
            "SmsSid": made.id,
            "MessageStatus": status,
            "To": made.to,
            "From": sender,
            "AccountSid": ACCOUNT,
            "ApiVersion": "2010-04-01",
        }
        if code:
            form["ErrorCode"] = code
        return self.form(url, form)

    def form(self, url: str, form: dict[str, str]) -> Telling:
        """A callback of Twilio, signed for the address that it was told."""
        place = urlsplit(url)
        headers = {
            "x-twilio-signature": twilio_signature(AUTH_TOKEN, url, form.items()),
            "content-type": "application/x-www-form-urlencoded",
        }
        path = f"{place.path}?{place.query}" if place.query else place.path
        return Telling(path, urlencode(form).encode(), headers)

    # ── telling ───────────────────────────────────────────────────────────────────────────

    def tell(self, *tellings: Telling) -> None:
        """Make callbacks, one after the other, beside the answer."""
        task = asyncio.get_running_loop().create_task(self.make(*tellings))
        self._told.add(task)
        task.add_done_callback(self._told.discard)

    async def make(self, *tellings: Telling) -> None:
        """Make callbacks; one that is not heard is repeated, as providers do."""
        if not self.api:  # nobody wants to be told
            return
        async with httpx.AsyncClient(
            base_url=self.api, verify=_trusted(), trust_env=False, timeout=5
        ) as http:
            for each in tellings:
                for pause in (0.05, 0.2, 1.0, None):
                    try:
                        answer = await http.post(
                            each.path, content=each.body, headers=dict(each.headers)
                        )
                    except httpx.HTTPError:
                        status = 0
                    else:
                        status = answer.status_code
                    self.told.append((each.path, status))
                    if 0 < status < 500 or pause is None:  # noqa: PLR2004 - a server's own fault
                        break
                    await asyncio.sleep(pause)

    async def _where(self, given: Where) -> None:
        self.api = given.api.rstrip("/")

    async def _show(self, to: str | None = None) -> dict[str, Any]:
        found = [asdict(each) for each in self.sent if to in (None, each.to)]
        return {
            "api": self.api,
            "sent": found[-200:],
            "asked": self.asked,
            "told": self.told[-200:],
        }

    async def _set_script(self, given: Script) -> None:
        self.script(given.to, *given.answers, statuses=given.statuses)

    async def _write(self, given: Inbound) -> dict[str, Any]:
        telling = self.inbound(given)
        await self.make(telling)
        return {"status": self.told[-1][1]}

    def inbound(self, given: Inbound) -> Telling:
        """The callback of a message that somebody wrote to one of our senders."""
        number = given.id or f"in-{len(self.told)}-{int(self._wall() * 1000)}"
        if given.provider == "twilio":
            form = {
                "MessageSid": number,
                "From": given.from_,
                "To": given.provider_key,
                "Body": given.text,
                "AccountSid": ACCOUNT,
            }
            if given.service is not None:
                form["MessagingServiceSid"] = given.service
            public = os.environ.get("OSTINATO_OUTBOUND_PUBLIC_URL", "http://127.0.0.1:8080")
            return self.form(f"{public}/api/v1/webhooks/twilio/inbound", form)
        line = {
            "from": given.from_.removeprefix("+"),
            "id": f"wamid.{number}",
            "timestamp": str(int(self._wall())),
            "type": "text",
            "text": {"body": given.text},
        }
        contacts = [{"profile": {"name": "X"}, "wa_id": line["from"]}]
        return self.signed(given.provider_key, {"contacts": contacts, "messages": [line]})


@cache
def _trusted() -> ssl.SSLContext:
    return ssl.create_default_context()


def _given_port() -> int | None:
    """The port that the demo chose for mail, in the process that plays it."""
    port = os.environ.get("OSTINATO_OUTBOUND_SMTP_PORT", "")
    local = os.environ.get("OSTINATO_OUTBOUND_SMTP_HOST") == "127.0.0.1"
    return int(port) if local and port.isdigit() else None
