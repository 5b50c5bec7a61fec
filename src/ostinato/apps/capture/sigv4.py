"""Verifies that a request to S3 was signed as AWS Signature Version 4 asks, for the stand-in.

The header Authorization names what was signed; the signature is an HMAC over it with a key that is
made of the secret, the day, the region and the service.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote

_HEADER = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/,]+)/(?P<scope>(?P<day>\d{8})/(?P<region>[^/]+)"
    r"/(?P<service>[^/]+)/aws4_request), ?SignedHeaders=(?P<signed>[^,]+), ?"
    r"Signature=(?P<signature>[0-9a-f]{64})"
)


def is_signed(
    method: str, raw_path: str, query: str, headers: Mapping[str, str], *, credentials: tuple[str, str]
) -> bool:
    """Whether the holder of the credentials (access key and secret) signed exactly this request."""
    header = _HEADER.fullmatch(headers.get("authorization", ""))
    if header is None or header["key"] != credentials[0]:
        return False
    pairs = sorted(
        (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
        for name, value in parse_qsl(query, keep_blank_values=True)
    )
    names = header["signed"].split(";")
    request = "\n".join(
        [
            method,
            raw_path,
            "&".join(f"{name}={value}" for name, value in pairs),
            *(f"{name}:{' '.join(headers.get(name, '').split())}" for name in names),
            "",
            header["signed"],
            headers.get("x-amz-content-sha256", ""),
        ]
    )
    hashed = hashlib.sha256(request.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", headers.get("x-amz-date", ""), header["scope"], hashed])
    key = f"AWS4{credentials[1]}".encode()
    for part in (header["day"], header["region"], header["service"], "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.compare_digest(hmac.digest(key, text.encode(), "sha256").hex(), header["signature"])
