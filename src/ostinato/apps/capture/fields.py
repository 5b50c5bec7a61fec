"""Checks how the fields of a request are written: one way only, all else is refused.

The decision (docs/specs/capture.md) takes the fields as they are: the wrapped key of the
specification's own test data has 13 bytes, which no wrapping gives. These rules stand in front of
it, at the door.
"""

import base64
import binascii
import re

from ostinato.apps.capture.rules import has_control

# UUID v4 in either letter case: the lower one is what counts (INV-103-31).
CAPTURE_ID = r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-4[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}$"
HASH = r"^[0-9A-Fa-f]{64}$"
BASE64 = r"^[A-Za-z0-9+/]+={0,2}$"
# Lower case and without parameters: image/PNG and image/png;q=1 would be other fingerprints.
MIME_TYPE = r"^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$"
LANGUAGE = r"^[A-Za-z]{2,8}([-+_][A-Za-z0-9]{1,8}){0,6}$"
NONCE_BYTES = 12
TAG_BYTES = 16
MOST_SIZE = 2**53 - 1
LONGEST_NAME = 200
_TURNING = re.compile(r"[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def base64_fault(text: str, length: int | None = None) -> str | None:
    """Return what is wrong with base64, if something is: it must be the one text of its bytes.

    `…OR==` decodes to the same bytes as `…OQ==` and is refused, as are the alphabet of URLs,
    missing padding and line ends.
    """
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return "must be base64 with padding, in the standard alphabet"
    if base64.b64encode(raw).decode() != text:
        return "must be base64 as encoders write it: its last bits are not zero"
    if length is not None and len(raw) != length:
        return f"must be {length} bytes in base64, not {len(raw)}"
    return None


def decoded(text: str) -> bytes:
    """Return the bytes of base64 that was checked."""
    return base64.b64decode(text, validate=True)


def text_fault(text: str) -> str | None:
    """Return what is wrong with a name; None if nothing is. A certificate shows the name unchanged."""
    if has_control(text):
        return "may not have control characters"
    return "may not have characters that turn the direction of what follows" if _TURNING.search(text) else None
