"""Composes mails as every server and reader takes them: in ASCII, in short lines, words encoded by RFC 2047."""

import email.policy
import re
from datetime import datetime
from email.header import Header
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Final

from ostinato.apps.outbound.model import Content
from ostinato.apps.outbound.settings import OutboundSettings

# An address in a header must not be folded or encoded: receivers could not read it.
POLICY: Final = email.policy.SMTP.clone(max_line_length=998)
# Of texts: no relay on the way, with 8BITMIME or without, has a reason to change what is signed.
TEXTS: Final = email.policy.SMTP.clone(max_line_length=76, cte_type="7bit")
LONGEST_WORD: Final = 75


def composed(content: Content, settings: OutboundSettings, at: datetime) -> EmailMessage:
    """Compose the mail, the same to the byte at each attempt, but for its date."""
    mail = EmailMessage(policy=TEXTS)
    sender = content.sender
    shown = f"{_name(sender.display)} <{sender.provider_key}>"
    mail.set_raw("From", shown if sender.display else sender.provider_key)
    mail["To"] = content.to
    mail.set_raw("Subject", _words("Subject", content.subject or ""))
    mail["Date"] = format_datetime(at)
    mail["Message-ID"] = f"<{content.message_id}@{settings.mail_domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    # By these a service that gives mails an id of its own tells which it means: SES, Mailgun; Postmark.
    mail["X-Ostinato-Message"] = mail["X-PM-Metadata-ostinato"] = str(content.message_id)
    if sender.reply_to:
        mail["Reply-To"] = sender.reply_to
    if content.unsubscribe is not None:
        # RFC 8058; both headers have to be covered by the DKIM signature of the mail server.
        by_mail = f", <mailto:{content.unsubscribe_mail}?subject=unsubscribe>" if content.unsubscribe_mail else ""
        mail["List-Unsubscribe"] = f"<{content.unsubscribe}>{by_mail}"
        mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    mail.set_content(content.text)
    if content.html is not None:
        mail.add_alternative(content.html, subtype="html")
        mail.set_boundary(f"=={content.message_id}==")
    return mail


def _name(display: str) -> str:
    words = _words("From", re.sub(r'["\\<>]', " ", display))
    return words if words.startswith("=?") else f'"{words}"'


def _words(header: str, text: str) -> str:
    """Make a text one line of a header; what is not ASCII as words of `LONGEST_WORD` characters at the most (RFC 2047).

    The library's own folding makes one word of any length, or drops blanks between two.
    """
    line = " ".join(text.split())  # no line end of any kind is left: nobody adds a header of his own
    return line if line.isascii() and "=?" not in line else Header(line, "utf-8", LONGEST_WORD, header).encode()
