"""Tokens that name one thing and can be made by nobody else: links in mails, return addresses."""

import base64
import hashlib
import hmac
from uuid import UUID

LANGUAGE = "l"
"""What the link calls the language of its message: one letter, as a link in an SMS is paid for."""
MAC_BYTES = 16
SHORT_MAC_BYTES = 8
ID_BYTES = 16


def unsubscribe_token(secret: str, consent_id: UUID) -> str:
    """Make the token of a link that ends one consent."""
    raw = consent_id.bytes + _mac(secret, b"unsubscribe", consent_id.bytes)[:MAC_BYTES]
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def read_unsubscribe_token(secret: str, token: str) -> UUID | None:
    """Return the consent that a token names; None: it is not one of ours."""
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except ValueError:
        return None
    return _known(secret, b"unsubscribe", raw, MAC_BYTES)


def bounce_token(secret: str, message_id: UUID) -> str:
    """Make the token of a mail's return address (VERP); lower case, as mail servers like it."""
    raw = message_id.bytes + _mac(secret, b"bounce", message_id.bytes)[:SHORT_MAC_BYTES]
    return base64.b32encode(raw).decode().rstrip("=").lower()


def read_bounce_token(secret: str, token: str) -> UUID | None:
    """Return the message that a return address names; None: it is not one of ours."""
    try:
        raw = base64.b32decode(token.upper() + "=" * (-len(token) % 8))
    except ValueError:
        return None
    return _known(secret, b"bounce", raw, SHORT_MAC_BYTES)


def mailbox_token(secret: str, consent_id: UUID) -> str:
    """Make the token of the mail address that ends one consent; lower case, as above."""
    raw = consent_id.bytes + _mac(secret, b"mailbox", consent_id.bytes)[:SHORT_MAC_BYTES]
    return base64.b32encode(raw).decode().rstrip("=").lower()


def read_mailbox_token(secret: str, token: str) -> UUID | None:
    """Return the consent that a mail address names; None: it is not one of ours."""
    try:
        raw = base64.b32decode(token.upper() + "=" * (-len(token) % 8))
    except ValueError:
        return None
    return _known(secret, b"mailbox", raw, SHORT_MAC_BYTES)


def _known(secret: str, what: bytes, raw: bytes, length: int) -> UUID | None:
    named, mac = raw[:ID_BYTES], raw[ID_BYTES:]
    expected = _mac(secret, what, named)[:length]
    known = bool(secret) and len(named) == ID_BYTES and hmac.compare_digest(expected, mac)
    return UUID(bytes=named) if known else None


def _mac(secret: str, what: bytes, raw: bytes) -> bytes:
    return hmac.new(secret.encode(), what + b"\0" + raw, hashlib.sha256).digest()
