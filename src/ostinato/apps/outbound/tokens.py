r"""Signatures of callbacks, over the bytes that came and compared in constant time; and our tokens.

Meta signs the raw body, in which it writes é as \u00e9: whoever parses and writes it again gets
other bytes. Twilio signs the whole address and every parameter, those included that are new.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

__all__ = [
    "bounce_token",
    "meta_is_valid",
    "meta_signature",
    "read_bounce_token",
    "read_unsubscribe_token",
    "shared_is_valid",
    "twilio_is_valid",
    "twilio_json_is_valid",
    "twilio_signature",
    "unsubscribe_token",
]

PREFIX = "sha256="
MAC_BYTES = 16
ID_BYTES = 16


def meta_signature(secret: str, body: bytes) -> str:
    """The header X-Hub-Signature-256 of a body."""
    return PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def meta_is_valid(secret: str, body: bytes, header: str | None) -> bool:
    """Whether Meta signed this body. Without a secret nothing is."""
    return bool(secret) and _same(meta_signature(secret, body), header)


def twilio_signature(token: str, url: str, parameters: Iterable[tuple[str, str]]) -> str:
    """The header X-Twilio-Signature of a form that was posted to an address."""
    signed = url + "".join(name + value for name, value in sorted(parameters))
    digest = hmac.new(token.encode(), signed.encode(), hashlib.sha1).digest()
    return base64.b64encode(digest).decode()


def twilio_is_valid(
    token: str, url: str, parameters: Iterable[tuple[str, str]], header: str | None
) -> bool:
    """Whether Twilio signed this form for this address."""
    return bool(token) and _same(twilio_signature(token, url, parameters), header)


def twilio_json_is_valid(token: str, url: str, body: bytes, header: str | None) -> bool:
    """Whether Twilio signed a body that is no form: it signs the address, which names its hash."""
    told = parse_qs(urlsplit(url).query).get("bodySHA256", [""])[0]
    whole = _same(hashlib.sha256(body).hexdigest(), told.lower())
    return whole and twilio_is_valid(token, url, (), header)


def shared_is_valid(secret: str, header: str | None) -> bool:
    """Whether somebody who knows a shared secret posts it, such as our own mail server."""
    return bool(secret) and _same(secret, header)


def unsubscribe_token(secret: str, consent_id: UUID) -> str:
    """A token that names one consent and can be made by nobody else."""
    return _token(secret, b"unsubscribe", consent_id)


def read_unsubscribe_token(secret: str, token: str) -> UUID | None:
    """The consent that a token names; None: it is not one of ours."""
    return _read(secret, b"unsubscribe", token)


def bounce_token(secret: str, message_id: UUID) -> str:
    """A token for the return address of a mail (VERP); lower case, as mail servers like it."""
    mac = _mac(secret, b"bounce", message_id.bytes)[:8]
    return base64.b32encode(message_id.bytes + mac).decode().rstrip("=").lower()


def read_bounce_token(secret: str, token: str) -> UUID | None:
    """The message that a return address names; None: it is not one of ours."""
    try:
        raw = base64.b32decode(token.upper() + "=" * (-len(token) % 8))
    except ValueError:
        return None
    if len(raw) != ID_BYTES + 8:
        return None
    expected = _mac(secret, b"bounce", raw[:ID_BYTES])[:8]
    known = bool(secret) and hmac.compare_digest(expected, raw[ID_BYTES:])
    return UUID(bytes=raw[:ID_BYTES]) if known else None


def _token(secret: str, what: bytes, of: UUID) -> str:
    raw = of.bytes + _mac(secret, what, of.bytes)
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _read(secret: str, what: bytes, token: str) -> UUID | None:
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except ValueError:
        return None
    if len(raw) != ID_BYTES + MAC_BYTES:
        return None
    expected = _mac(secret, what, raw[:ID_BYTES])
    known = bool(secret) and hmac.compare_digest(expected, raw[ID_BYTES:])
    return UUID(bytes=raw[:ID_BYTES]) if known else None


def _mac(secret: str, what: bytes, raw: bytes) -> bytes:
    return hmac.new(secret.encode(), what + b"\0" + raw, hashlib.sha256).digest()[:MAC_BYTES]


def _same(expected: str, given: str | None) -> bool:
    return hmac.compare_digest(expected.encode(), (given or "").encode())
