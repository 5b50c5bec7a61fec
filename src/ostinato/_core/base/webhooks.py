"""Signs and verifies webhooks as Standard Webhooks 1.0 asks.

    sent = signed_headers(message_id, timestamp, body, secrets)      # the newest secret first
    came = verify(headers, raw_body, secrets, now=now)               # or a `SignatureRefused`

The signature covers `id.timestamp.body`, with the exact bytes of the body: a body that was parsed
and written again does not match. During a rotation a message carries one signature per secret, and
a receiver accepts any of them. Nothing here reads a clock, and no error shows a secret.
"""

import base64
import binascii
import hmac
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ostinato._core.base.errors import (
    HeaderMissing,
    InvalidInput,
    SignatureMismatch,
    SignatureRefused,
    TimestampRefused,
)

ID_HEADER = "webhook-id"
TIMESTAMP_HEADER = "webhook-timestamp"
SIGNATURE_HEADER = "webhook-signature"
TOLERANCE_SECONDS = 300

SECRET_PREFIX = "whsec_"  # noqa: S105  # says what it is, opens nothing
VERSION = "v1"
LEAST_KEY_BYTES = 24
MOST_KEY_BYTES = 64
MOST_SECRETS = 10
MOST_SIGNATURES = 32
"""The most that are compared: each costs a comparison per secret, and the sender may be hostile."""
HINT_LENGTH = 4

# A dot in an id would let the borders between id, timestamp and body move while the signature
# stays valid.
_ID = re.compile(r"[!-\-/-~]{1,256}")
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_HEADER_VALUE = re.compile(r"[ -~]{0,1000}")
MOST_HEADER_BYTES = 8192


class Verified(NamedTuple):
    """A message that is what its sender signed."""

    id: str
    """The same at every attempt: store it to recognise a message that comes twice."""
    timestamp: int
    """When it was sent, in seconds since 1970."""


def make_secret(key: bytes) -> str:
    """Return a secret as it is handed to people, from random bytes."""
    _check_key(key)
    return SECRET_PREFIX + base64.b64encode(key).decode("ascii")


def check_secret(secret: str) -> None:
    """Refuse what is no secret, without showing it."""
    if not secret.startswith(SECRET_PREFIX):
        _check_key(b"")
    _key(secret)


def check_header_values(headers: Mapping[str, object]) -> None:
    """Refuse values that cannot be sent, naming their headers only; the database checks the names."""
    bad = next((name for name, value in headers.items() if not _is_header_value(value)), None)
    size = sum(len(name) + len(str(value)) for name, value in headers.items())
    if bad is None and size > MOST_HEADER_BYTES:
        bad = f"more than {MOST_HEADER_BYTES} bytes"
    if bad is not None:
        raise InvalidInput(
            f"these static headers cannot be sent: {bad}",
            hint="A value is text of printable ASCII, at most 1000 characters.",
            header=bad,
        )


def _is_header_value(value: object) -> bool:
    return isinstance(value, str) and _HEADER_VALUE.fullmatch(value) is not None


def hint_of(secret: str) -> str:
    """Return the end of a secret: enough to distinguish two, too little to sign with."""
    return secret.rstrip("=")[-HINT_LENGTH:]


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return one signature, such as `v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=`."""
    if not _ID.fullmatch(message_id) or not _TIMESTAMP.fullmatch(str(timestamp)):
        raise InvalidInput(
            f"a message {message_id!r} of {timestamp!r} cannot be signed",
            hint="An id is 1 to 256 printable characters without a dot, a timestamp is in seconds.",
            message_id=message_id,
        )
    mac = _mac(_key(secret), message_id, str(timestamp), body)
    return f"{VERSION},{base64.b64encode(mac).decode('ascii')}"


def signed_headers(message_id: str, timestamp: int, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """Return the three headers of a message, with a signature for each secret."""
    if not 1 <= len(secrets) <= MOST_SECRETS:
        raise InvalidInput(
            f"a message is signed with 1 to {MOST_SECRETS} secrets, not {len(secrets)}",
            hint="Give the secrets that are valid now, the newest first.",
        )
    return {
        ID_HEADER: message_id,
        TIMESTAMP_HEADER: str(timestamp),
        SIGNATURE_HEADER: " ".join(sign(key, message_id, timestamp, body) for key in secrets),
    }


def verify(
    headers: Mapping[str, str],
    raw_body: bytes,
    secrets: Sequence[str],
    tolerance: float = TOLERANCE_SECONDS,
    *,
    now: float,
) -> Verified:
    """Return the id and time of a message that one of the secrets signed, not too long ago.

    Raises `HeaderMissing`, `TimestampRefused` or `SignatureMismatch`, all `SignatureRefused`. To
    refuse a message that came before, use `engine.webhooks.receive`.
    """
    if not secrets or len(secrets) > MOST_SECRETS:
        raise InvalidInput(
            f"a message is verified with 1 to {MOST_SECRETS} secrets, not {len(secrets)}",
            hint="Give the secrets that are valid now.",
        )
    keys = [_key(secret) for secret in secrets]
    message_id, timestamp, signatures = _read(headers)
    if not _TIMESTAMP.fullmatch(timestamp):
        raise TimestampRefused(f"{TIMESTAMP_HEADER} is no time in seconds")
    age = now - int(timestamp)
    if abs(age) > tolerance:
        raise TimestampRefused(
            f"the message is {abs(age):.0f} s {'old' if age > 0 else 'ahead'}, more than {tolerance:g} s",
            age_seconds=age,
            tolerance_seconds=tolerance,
        )
    expected = [_mac(key, message_id, timestamp, raw_body) for key in keys]
    if not _any_equal(expected, signatures):
        raise SignatureMismatch("none of the signatures is that of a known secret")
    return Verified(message_id, int(timestamp))


def _read(headers: Mapping[str, str]) -> tuple[str, str, list[bytes]]:
    """Return the three headers; names in any case, each once."""
    found: dict[str, str] = {}
    for name, value in headers.items():
        key = name.lower()
        if key in found:
            raise SignatureRefused(f"the header {key} came twice")
        if key in (ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER):
            found[key] = value
    for name in (ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER):
        if not found.get(name):
            raise HeaderMissing(f"there is no header {name}", header=name)
    if not _ID.fullmatch(found[ID_HEADER]):
        raise SignatureRefused(f"{ID_HEADER} holds characters that no id has")
    return found[ID_HEADER], found[TIMESTAMP_HEADER], _signatures(found[SIGNATURE_HEADER])


def _signatures(header: str) -> list[bytes]:
    """Return the signatures of our version that can be read; others are for other receivers."""
    found = []
    for part in header.split(" ")[:MOST_SIGNATURES]:
        version, _, text = part.partition(",")
        if version == VERSION:
            try:
                found.append(base64.b64decode(text, validate=True))
            except (binascii.Error, ValueError):
                continue
    return found


def _any_equal(expected: Sequence[bytes], given: Sequence[bytes]) -> bool:
    """Return whether any two are equal; all are compared, so that the time reveals nothing."""
    equal = False
    for ours in expected:
        for theirs in given:
            equal |= hmac.compare_digest(ours, theirs)
    return equal


def _mac(key: bytes, message_id: str, timestamp: str, body: bytes) -> bytes:
    content = b".".join((message_id.encode("ascii"), timestamp.encode("ascii"), body))
    return hmac.digest(key, content, "sha256")


def _key(secret: str) -> bytes:
    """Return the bytes of a secret. An error never shows it."""
    text = secret.removeprefix(SECRET_PREFIX)
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    _check_key(key)
    return key


def _check_key(key: bytes) -> None:
    if not LEAST_KEY_BYTES <= len(key) <= MOST_KEY_BYTES:
        raise InvalidInput(
            f"a webhook secret is {LEAST_KEY_BYTES} to {MOST_KEY_BYTES} bytes in base64",
            hint=f"Secrets look like {SECRET_PREFIX}…; make one with webhooks.make_secret.",
        ) from None
