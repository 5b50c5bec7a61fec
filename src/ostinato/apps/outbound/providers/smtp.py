"""Mail, by SMTP: a deterministic Message-ID, a return address per message, DSN.

The same Message-ID at every attempt lets receivers, and us, recognise a mail that was sent twice. A
connection that ends after the final dot is a lost answer, like one over HTTP.
"""

import asyncio
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from email.message import EmailMessage
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import aiosmtplib

from ostinato.apps.outbound import policy
from ostinato.apps.outbound.model import Channel, ConsentSource, Content, OnUnknown, Sender
from ostinato.apps.outbound.policy import Kind, Ruling, codes, hold, never, retry
from ostinato.apps.outbound.providers import mime, reports, standin
from ostinato.apps.outbound.providers.lines import Line
from ostinato.apps.outbound.providers.protocol import Hook, Lost, NotSent, Outcome, Posted, Provider, Refused, Taken
from ostinato.apps.outbound.providers.sessions import Account
from ostinato.apps.outbound.providers.standin import LOST, OK, SILENT, Asked, Reply, StandIn, Telling
from ostinato.apps.outbound.providers.wire import Wire, is_same, sanitised, trusted
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.tokens import bounce_token

DEFERRALS: Final = 2
CLOSING: Final = 421
ANSWERS: Final = {
    "EHLO": "250-sandbox\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250-DSN\r\n250 ENHANCEDSTATUSCODES",
    "MAIL": "250 2.1.0 OK",
    "RCPT": "250 2.1.5 OK",
    "DATA": "250 2.0.0 taken",
    "RSET": "250 2.0.0 OK",
    "QUIT": "221 2.0.0 bye",
}
MOST_BYTES: Final = 4 * 2**20  # a bounce may quote the whole mail
_ENHANCED: Final = re.compile(r"\b([245]\.\d{1,3}\.\d{1,3})\b")
_REPLY: Final = re.compile(r"([45])(?:\d\d|\.\d{1,3}\.\d{1,3})")
_ADDRESS: Final = re.compile(r"<([^<>]*)>")
_ENVID: Final = re.compile(r"ENVID=(\S+)", re.IGNORECASE)

ERRORS: Final = {
    **codes(hold("auth"), 530, 534, 535, 538),
    **dict.fromkeys(("5.1.1", "5.1.2", "5.1.3", "5.1.10"), never("recipient_invalid")),
    **dict.fromkeys(("421", "4.3.2"), policy.away("upstream")),
    "5.2.1": never("recipient_unreachable"),
    "5.2.2": retry("recipient_unreachable", at_most=3),
    "5.7.1": Ruling(Kind.PERMANENT, "permission", alert=True),
}


class Smtp(Provider):
    """A mail server."""

    name = "smtp"
    channel = Channel.EMAIL
    errors = ERRORS
    hooks = (
        Hook(
            "bounce",
            "/email/bounces",
            "Receive a bounce or a complaint, as the mail server got it.",
            "x-bounce-secret",
            reports.is_signed,
            most_bytes=MOST_BYTES,
            basic=True,
        ),
    )
    source = ConsentSource.EMAIL_LINK
    account = MappingProxyType(
        {
            "host": "smtp_host",
            "port": "smtp_port",
            "tls": "smtp_tls",
            "username": "smtp_username",
            "password": "smtp_password",
            "bounce_secret": "bounce_secret",
        }
    )
    needed = ("username", "password")
    # A mail that was taken brings a report only where server and receiver do DSN: silence says nothing.
    on_unknown: OnUnknown = "hold"
    unproven = "its domain has no TXT record such as `GET /senders` shows"
    trusts_reference = True

    async def send(self, content: Content, wire: Wire) -> Outcome:
        """Send one mail, over a session that is kept."""
        mail = mime.composed(content, wire.settings, wire.now)
        outcome = await _over_session(mail, content, wire, is_new=False)
        # None: a session that was kept is gone, and nothing of the mail was said.
        found = outcome or await _over_session(mail, content, wire, is_new=True)
        return found or NotSent("the mail server is gone")

    async def prove(self, sender: Sender, expected: str, wire: Wire) -> str | None:
        """Look for the record that only the owner of the domain can write."""
        if not wire.settings.dns_url:
            return None
        name = f"_ostinato.{sender.provider_key.rpartition('@')[2].lower()}"
        found = await wire.get(
            wire.settings.dns_url, params={"name": name, "type": "TXT"}, headers={"Accept": "application/dns-json"}
        )
        answers = (found or {}).get("Answer")
        texts = [str(each.get("data", "")) for each in answers if isinstance(each, dict)] if answers else []
        return "DNS" if any(is_same(expected, text.strip().strip('"')) for text in texts) else None

    def account_fault(self, account: Mapping[str, Any], settings: OutboundSettings) -> tuple[str, str] | None:
        """Refuse a mail server that the administrator has not listed: we would call any host that a tenant names."""
        host = str(account.get("smtp_host") or settings.smtp_host).lower()
        if host in settings.mail_servers:
            return None
        return "this mail server is not one that may be named", "Ask the administrator to add it to smtp_hosts."

    def read(self, posted: Posted, settings: OutboundSettings) -> tuple[list[Line], int]:
        """Read a bounce, a complaint or an unsubscription, in whichever form it comes."""
        return reports.read(posted, settings)

    def may_have_words(self, body: bytes) -> bool:
        """Return whether it is a mail to the address of List-Unsubscribe; a report quotes that address too."""
        text = body.lower()
        return b"unsubscribe+" in text and b"report-type" not in text and not text.lstrip().startswith(b"{")

    def asks(self, body: bytes) -> Mapping[str, str]:
        """Name where a person confirms to SNS that notifications are to come here; nobody else follows it."""
        return reports.subscription(body)

    def ruling(self, code: str) -> Ruling | None:
        """Rule by the class of a reply: 4xx is for now, 5xx for good (RFC 5321)."""
        reply = _REPLY.fullmatch(code)
        if reply is None:
            return None
        return retry("upstream") if reply[1] == "4" else never("recipient_unreachable")

    def is_set_up(self, settings: OutboundSettings) -> bool:
        """Return whether another mail server is named than the one that there may be by chance."""
        return settings.smtp_host != "localhost"

    def missing(self, settings: OutboundSettings) -> Iterable[tuple[str, str]]:
        """Yield the secrets that are not set: that of return addresses and links, and that of posted bounces."""
        if not settings.token_secret:
            problem = "mail has no return address of its own, and marketing mail is refused"
            yield problem, "TOKEN_SECRET"
        if not settings.bounce_secret:
            problem = "bounces and complaints are all refused: their secret is not set"
            yield problem, "BOUNCE_SECRET"

    def stand_in(self, world: standin.World) -> StandIn:
        """Play a mail server."""
        return MailServer(world)


SMTP: Final = Smtp()


async def _over_session(mail: EmailMessage, content: Content, wire: Wire, *, is_new: bool) -> Outcome | None:
    """Send a mail over a session; None: it was kept, and the server had closed it before the mail."""
    settings = wire.settings
    try:
        session = await wire.mail.take(Account.of(settings, trusted(settings.ca_file)), is_new=is_new)
    except aiosmtplib.SMTPResponseException as error:
        return _refused(error.code, error.message)
    except (aiosmtplib.SMTPException, OSError, ValueError) as error:
        return NotSent(f"{type(error).__name__}: the mail server could not be reached")
    try:
        outcome = await _deliver(session.client, mail, content, settings)
        if session.is_kept and _was_closed(outcome, session.client):
            return None
        session.is_fit = isinstance(outcome, Taken) or (
            isinstance(outcome, Refused) and await _is_reset(session.client)
        )
        return outcome
    finally:
        wire.mail.give_back(session)


def _was_closed(outcome: Outcome, client: aiosmtplib.SMTP) -> bool:
    """Return whether the server had ended the session before it took the mail: it is gone, or says that it closes."""
    if isinstance(outcome, Refused):
        return outcome.response.get("code") == CLOSING
    return isinstance(outcome, NotSent) and not client.is_connected


async def _is_reset(client: aiosmtplib.SMTP) -> bool:
    """Have the server forget a mail that it refused."""
    try:
        await client.rset()
    except (aiosmtplib.SMTPException, OSError):
        return False
    return True


async def _deliver(
    client: aiosmtplib.SMTP, mail: EmailMessage, content: Content, settings: OutboundSettings
) -> Outcome:
    token = bounce_token(settings.token_secret, content.message_id)
    back = f"bounce+{token}@{settings.mail_domain}"
    dsn = client.supports_extension("dsn")
    body = False
    try:
        await client.mail(back, options=["RET=HDRS", f"ENVID={content.message_id}"] if dsn else None)
        wanted = ["NOTIFY=SUCCESS,FAILURE,DELAY", f"ORCPT=rfc822;{content.to}"] if dsn else None
        await client.rcpt(content.to, options=wanted)
        body = True
        reply = await client.data(mail.as_bytes(policy=mime.POLICY))
    except aiosmtplib.SMTPRecipientsRefused as error:
        first = error.recipients[0]
        return _refused(first.code, first.message)
    except aiosmtplib.SMTPResponseException as error:
        return _refused(error.code, error.message)
    except (aiosmtplib.SMTPConnectError, aiosmtplib.SMTPConnectTimeoutError) as error:
        return NotSent(f"{type(error).__name__}: the mail server is gone")
    except (aiosmtplib.SMTPException, OSError) as error:
        told = f"{type(error).__name__}: the connection ended"
        return Lost(told) if body else NotSent(told)
    return Taken(mail["Message-ID"], {"reply": sanitised(reply.message), "code": reply.code})


def _refused(code: int, message: str) -> Refused:
    """Classify a refusal by its enhanced code (RFC 3463) where the server gives one, else by its reply."""
    told = _ENHANCED.search(message)
    by_reply = code in (530, 534, 535, 538) or told is None or told[1][0] != str(code)[0]
    return Refused(
        str(code) if by_reply or told is None else told[1],
        sanitised(message),
        {"code": code, "message": sanitised(message)},
    )


REPORT: Final = """To: {back}
From: MAILER-DAEMON@example.test
MIME-Version: 1.0
Content-Type: multipart/report; report-type={kind}; boundary=part

--part
Content-Type: message/{kind}

Original-Envelope-Id: {envid}
Original-Mail-From: {back}

Final-Recipient: rfc822; {to}
Action: failed
Status: {code}
Diagnostic-Code: smtp; 550 {code} <{to}> cannot be delivered

--part--
"""


class MailServer(StandIn):
    """A mail server in the sandbox, in a thread of its own: real SMTP with DSN (RFC 3461).

    reject-511@      refused at RCPT, 550 5.1.1
    bounce-511@      taken, then a DSN says 5.1.1
    bounce-522@      taken, then a DSN says 5.2.2: the mailbox is full; later it is not
    defer-451@       451 twice, then taken
    defer-always@    451, always
    complaint@       taken, then a feedback report comes
    """

    secret = "sandbox-bounce-secret"  # noqa: S105 - opens nothing but this

    def __init__(self, world: standin.World) -> None:
        self._world = world
        self.routes = {}
        self.shown = {"/dns/resolve": self._records}
        self._deferred: dict[str, int] = {}
        self.port, given = standin.port_of("smtp")
        self._end: Callable[[], object] | None = None
        if world.serves or given:
            started: Future[None] = Future()
            serving = self._serve(started)
            self._thread = threading.Thread(target=asyncio.run, args=[serving], daemon=True)
            self._thread.start()
            started.result()

    async def _records(self, asked: Asked) -> Reply | None:
        """Answer as a resolver that knows what is scripted, and no name of the world."""
        texts = self._world.records.get(asked.query.get("name", ""), [])
        return Reply({"Status": 0 if texts else 3, "Answer": [{"type": 16, "data": f'"{text}"'} for text in texts]})

    def settings(self, url: str) -> Mapping[str, str]:
        """Name the settings that lead the application here."""
        return {
            "dns_url": f"{url}/dns/resolve",
            "smtp_host": standin.HOST,
            "smtp_port": str(self.port),
            "smtp_tls": "none",
            "mail_domain": "example.test",
            "bounce_secret": self.secret,
        }

    def close(self) -> None:
        """End the server."""
        if self._end is not None:
            self._end()
            self._thread.join()

    async def _serve(self, started: "Future[None]") -> None:
        over = asyncio.Event()
        try:
            server = await asyncio.start_server(self._talk, standin.HOST, self.port, limit=MOST_BYTES)
        except OSError:  # somebody's own mail server is there: it is the one that is meant
            started.set_result(None)
            return
        self._end = partial(asyncio.get_running_loop().call_soon_threadsafe, over.set)
        started.set_result(None)
        await over.wait()
        server.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer, met = "220 sandbox ESMTP", OK
        back = to = envid = rcpt = ""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while answer:
                writer.write(f"{answer}\r\n".encode())
                line = (await reader.readuntil()).decode("utf-8", "replace").strip()
                verb, (address, *_) = line[:4].upper(), [*_ADDRESS.findall(line), ""]
                answer = ANSWERS.get(verb, "502 5.5.1 not here")
                if verb == "MAIL":
                    back, envid = address, "".join(_ENVID.findall(line))
                elif verb == "RCPT":
                    rcpt = line
                    to, met = address, await self._met(address)
                    answer = ANSWERS[verb] if met in (OK, LOST, SILENT) else met
                elif verb == "DATA":
                    writer.write(b"354 go on\r\n")
                    text = (await reader.readuntil(b"\r\n.\r\n"))[:-3].replace(b"\r\n..", b"\r\n.")
                    self._take(back, to, envid, text.decode("utf-8", "replace"), rcpt, lost=met != OK)
                    if met == SILENT:
                        await reader.read()  # until the sender gives up, or dies
                    answer = answer if met == OK else ""
        writer.close()

    async def _met(self, to: str) -> str:
        """Decide what a recipient meets."""
        name, times = to.partition("@")[0], self._deferred.get(to, 0)
        if name.startswith("reject-511"):
            return "550 5.1.1 no such user here"
        if name.startswith("defer-always") or (name.startswith("defer-451") and times < DEFERRALS):
            self._deferred[to] = times + 1
            self._world.asked[to] = self._world.asked.get(to, 0) + 1
            return "451 4.3.0 try again later"
        return await self._world.next_answer(to)

    def _take(self, back: str, to: str, envid: str, text: str, rcpt: str, *, lost: bool) -> None:
        self._world.take("smtp", "mail-", to, envid, {"from": back, "text": text, "rcpt": rcpt})
        name = to.partition("@")[0]
        kind, code = "delivery-status", ""
        if name.startswith("bounce-511"):
            code = "5.1.1"
        elif name.startswith("bounce-522") and to not in self._deferred:
            self._deferred[to], code = 1, "5.2.2"
        elif name.startswith("complaint"):
            kind, code = "feedback-report", "5.7.1"
        if code and not lost:
            body = REPORT.format(kind=kind, code=code, back=back, to=to, envid=envid).encode()
            headers = {"x-bounce-secret": self.secret, "content-type": "message/rfc822"}
            self._world.tell(Telling("/api/v1/webhooks/email/bounces", body, headers))
