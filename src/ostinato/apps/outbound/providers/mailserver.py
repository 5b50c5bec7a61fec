"""The mail server of the sandbox: takes mail over real SMTP, and sends bounces and complaints.

ok@              taken
reject-511@      refused at RCPT, 550 5.1.1
bounce-511@      taken, then a DSN says 5.1.1
bounce-522@      taken, then a DSN says 5.2.2: the mailbox is full; later it is not
defer-451@       451 twice, then taken
defer-always@    451, always
complaint@       taken, then a feedback report comes
"""

import asyncio
import re
import socket
from email.message import EmailMessage, Message
from email.mime.base import MIMEBase
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import TYPE_CHECKING, Any, Final

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from ostinato.apps.outbound.providers.standin import BOUNCE_SECRET, Telling
from ostinato.apps.outbound.sandbox_magic import LOST, OK

if TYPE_CHECKING:
    from ostinato.apps.outbound.sandbox import Providers

__all__ = ["MailServer"]

HOST: Final = "127.0.0.1"
_ENVID: Final = re.compile(r"ENVID=(\S+)", re.IGNORECASE)
_EXTRA: Final = re.compile(r"\s+(?:RET|ENVID|NOTIFY|ORCPT)=\S+", re.IGNORECASE)


class MailServer:
    """An SMTP server in a thread of its own."""

    def __init__(self, port: int, providers: "Providers") -> None:
        self.port = port or self.free_port()
        self._running: Controller | None = _Controller(
            _Handler(providers), hostname=HOST, port=self.port
        )
        try:
            self._running.start()
        except OSError:
            self._running = None  # somebody's own mail server is there: it is the one that is meant

    def close(self) -> None:
        """End it."""
        if self._running is not None:
            self._running.stop()
            self._running = None

    @staticmethod
    def free_port() -> int:
        """A port that nobody listens on."""
        with socket.create_server((HOST, 0)) as probe:
            return int(probe.getsockname()[1])


class _Controller(Controller):
    def factory(self) -> SMTP:
        return _Smtp(self.handler, enable_SMTPUTF8=True)


class _Smtp(SMTP):
    """SMTP with DSN (RFC 3461), which the library does not know."""

    envid: str | None = None

    async def smtp_MAIL(self, arg: str | None) -> None:  # noqa: N802 - as in SMTP
        found = _ENVID.search(arg or "")
        self.envid = found[1] if found else None
        await super().smtp_MAIL(_EXTRA.sub("", arg or ""))

    async def smtp_RCPT(self, arg: str | None) -> None:  # noqa: N802 - as in SMTP
        await super().smtp_RCPT(_EXTRA.sub("", arg or ""))


class _Handler:
    def __init__(self, providers: "Providers") -> None:
        self._providers = providers
        self._tasks: set[asyncio.Task[None]] = set()
        self._deferred: dict[str, int] = {}
        self._lost: set[str] = set()
        """Whose next mail is taken, and the connection ends without an answer."""

    async def handle_EHLO(  # noqa: N802 - as the library calls it
        self,
        server: SMTP,  # noqa: ARG002 - as above
        session: Session,
        envelope: Envelope,  # noqa: ARG002 - as above
        hostname: str,
        responses: list[str],
    ) -> list[str]:
        session.host_name = hostname
        return [*responses[:-1], "250-DSN", "250-ENHANCEDSTATUSCODES", responses[-1]]

    async def handle_RCPT(  # noqa: N802 - as above
        self,
        server: SMTP,  # noqa: ARG002 - as above
        session: Session,  # noqa: ARG002 - as above
        envelope: Envelope,
        address: str,
        rcpt_options: list[str],  # noqa: ARG002 - as above
    ) -> str:
        answer = self._answer(address)
        if answer is not None:
            return answer
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    def _answer(self, address: str) -> str | None:
        name = address.partition("@")[0]
        if name.startswith("reject-511"):
            return "550 5.1.1 no such user here"
        times = self._deferred.get(address, 0)
        if name.startswith("defer-always") or (name.startswith("defer-451") and times < 2):  # noqa: PLR2004 - twice
            self._deferred[address] = times + 1
            self._providers.asked[address] = self._providers.asked.get(address, 0) + 1
            return "451 4.3.0 try again later"
        scripted = self._providers.next_answer(address)
        if scripted == LOST:
            self._lost.add(address)
        return None if scripted in (OK, LOST) else scripted

    async def handle_DATA(  # noqa: N802 - as above
        self,
        server: SMTP,
        session: Session,  # noqa: ARG002 - as above
        envelope: Envelope,
    ) -> str:
        to = envelope.rcpt_tos[0]
        content: Any = envelope.content
        text = content.decode("utf-8", "replace")
        envid = getattr(server, "envid", None)
        document = {"from": envelope.mail_from, "text": text}
        self._providers.take("smtp", to, envid, document)
        name = to.partition("@")[0]
        if to in self._lost:
            self._lost.discard(to)
            if server.transport is not None:
                server.transport.close()
        elif name.startswith("bounce-511"):
            self._later(_bounce(envelope.mail_from or "", to, envid or "", "5.1.1"))
        elif name.startswith("bounce-522") and to not in self._deferred:
            self._deferred[to] = 1
            self._later(_bounce(envelope.mail_from or "", to, envid or "", "5.2.2"))
        elif name.startswith("complaint"):
            self._later(_complaint(envelope.mail_from or "", envid or ""))
        return "250 2.0.0 taken"

    def _later(self, mail: Message) -> None:
        telling = Telling(
            "/api/v1/webhooks/email/bounces",
            mail.as_bytes(),
            {"x-bounce-secret": BOUNCE_SECRET, "content-type": "message/rfc822"},
        )
        task = asyncio.get_running_loop().create_task(self._providers.make(telling))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _bounce(back: str, to: str, envid: str, code: str) -> Message:
    """A DSN as RFC 3464 has it."""
    report = MIMEMultipart("report")
    report.set_param("report-type", "delivery-status")
    report["To"], report["From"] = back, "MAILER-DAEMON@example.test"
    report["Subject"] = "Undelivered Mail Returned to Sender"
    report.attach(MIMEText("The mail could not be delivered."))
    status = MIMEBase("message", "delivery-status")
    whole = Message()
    whole["Reporting-MTA"] = "dns; example.test"
    whole["Original-Envelope-Id"] = envid
    recipient = Message()
    recipient["Final-Recipient"] = f"rfc822; {to}"
    recipient["Action"] = "failed"
    recipient["Status"] = code
    recipient["Diagnostic-Code"] = f"smtp; 550 {code} <{to}> cannot be delivered"
    status.set_payload([whole, recipient])
    report.attach(status)
    return report


def _complaint(back: str, envid: str) -> Message:
    """A feedback report as RFC 5965 has it."""
    report = MIMEMultipart("report")
    report.set_param("report-type", "feedback-report")
    report["To"], report["From"] = back, "fbl@example.test"
    report["Subject"] = "complaint"
    report.attach(MIMEText("Somebody calls this spam."))
    feedback = MIMEBase("message", "feedback-report")
    fields = EmailMessage()
    fields["Feedback-Type"] = "abuse"
    fields["Version"] = "1"
    fields["Original-Mail-From"] = back
    fields["Original-Envelope-Id"] = envid
    feedback.set_payload([fields])
    report.attach(feedback)
    return report
