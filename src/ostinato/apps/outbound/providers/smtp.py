"""Mail over SMTP (6.8): a deterministic Message-ID, a return address per message, DSN.

The same Message-ID at every attempt lets receivers, and us, recognise a mail that was sent twice. A
connection that ends after the final dot is a lost answer, like one over HTTP.
"""

import re
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime
from typing import Final

import aiosmtplib
from aiosmtplib.errors import (
    SMTPConnectError,
    SMTPConnectTimeoutError,
    SMTPException,
    SMTPRecipientsRefused,
    SMTPResponseException,
)

from ostinato.apps.outbound.model import Content
from ostinato.apps.outbound.providers.outcomes import (
    Lost,
    NotSent,
    Outcome,
    Refused,
    Taken,
    sanitised,
)
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.tokens import bounce_token

__all__ = ["Mail", "composed"]

# An address in a header is not to be folded or encoded: nobody would read it any more.
POLICY: Final = SMTP_POLICY.clone(max_line_length=998)
_ENHANCED: Final = re.compile(r"\b([245]\.\d{1,3}\.\d{1,3})\b")


class Mail:
    """A mail server."""

    def __init__(self, settings: OutboundSettings, at: datetime) -> None:
        self._settings = settings
        self._at = at
        """The database's time: the date of the mail."""

    async def send(self, content: Content) -> Outcome:
        """One connection, one mail."""
        settings = self._settings
        mail = composed(content, settings, self._at)
        client = aiosmtplib.SMTP(
            hostname=settings.smtp_host,
            port=settings.smtp_port,
            use_tls=settings.smtp_tls == "tls",
            start_tls=settings.smtp_tls == "starttls",
            username=settings.smtp_username or None,
            password=settings.smtp_password or None,
            timeout=settings.timeout_seconds,
        )
        try:
            await client.connect()
            await client.ehlo()  # what it can do, DSN for one
        except SMTPResponseException as error:
            return _refused(error.code, error.message)
        except (SMTPException, OSError, ValueError) as error:
            return NotSent(f"{type(error).__name__}: the mail server could not be reached")
        try:
            return await self._deliver(client, mail, content)
        finally:
            client.close()

    async def _deliver(
        self, client: aiosmtplib.SMTP, mail: EmailMessage, content: Content
    ) -> Outcome:
        token = bounce_token(self._settings.token_secret, content.message_id)
        back = f"bounce+{token}@{self._settings.mail_domain}"
        dsn = client.supports_extension("dsn")
        body = False
        try:
            await client.mail(
                back, options=["RET=HDRS", f"ENVID={content.message_id}"] if dsn else None
            )
            wanted = ["NOTIFY=FAILURE,DELAY", f"ORCPT=rfc822;{content.to}"] if dsn else None
            await client.rcpt(content.to, options=wanted)
            body = True
            reply = await client.data(mail.as_bytes(policy=POLICY))
        except SMTPRecipientsRefused as error:
            first = error.recipients[0]
            return _refused(first.code, first.message)
        except SMTPResponseException as error:
            return _refused(error.code, error.message)
        except (SMTPConnectError, SMTPConnectTimeoutError) as error:
            return NotSent(f"{type(error).__name__}: the mail server is gone")
        except (SMTPException, OSError) as error:
            told = f"{type(error).__name__}: the connection ended"
            return Lost(told) if body else NotSent(told)
        return Taken(mail["Message-ID"], {"reply": sanitised(reply.message), "code": reply.code})


def composed(content: Content, settings: OutboundSettings, at: datetime) -> EmailMessage:
    """The mail, the same to the byte at each attempt, but for its date."""
    mail = EmailMessage(policy=POLICY)
    sender = content.sender
    shown = f"{_name(sender.display)} <{sender.provider_key}>"
    mail["From"] = shown if sender.display else sender.provider_key
    mail["To"] = content.to
    mail["Subject"] = " ".join((content.subject or "").split())
    mail["Date"] = format_datetime(at)
    mail["Message-ID"] = f"<{content.message_id}@{settings.mail_domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    if content.unsubscribe is not None:
        # RFC 8058; both headers have to be covered by the DKIM signature of the mail server.
        # No mailto beside it: nobody here reads the mail that it would make.
        mail["List-Unsubscribe"] = f"<{content.unsubscribe}>"
        mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    mail.set_content(content.text)
    return mail


def _name(display: str) -> str:
    plain = re.sub(r'[\r\n"\\<>]', " ", display)
    return f'"{plain}"'


def _refused(code: int, message: str) -> Refused:
    """By its enhanced code (RFC 3463) where the server gives one, else by its reply."""
    told = _ENHANCED.search(message)
    by_reply = code in (530, 534, 535, 538) or told is None or told[1][0] != str(code)[0]
    return Refused(
        str(code) if by_reply or told is None else told[1],
        sanitised(message),
        {"code": code, "message": sanitised(message)},
    )
