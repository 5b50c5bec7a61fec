"""Signs addresses for uploads to S3, and verifies signatures for the stand-in: AWS Signature Version 4.

The header Authorization, or the query of a presigned address, names what was signed; the signature
is an HMAC over it with a key that is made of the secret, the day, the region and the service.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, quote, urlsplit

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
_HEADER = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/,]+)/(?P<scope>(?P<day>\d{8})/(?P<region>[^/]+)"
    r"/(?P<service>[^/]+)/aws4_request), ?SignedHeaders=(?P<signed>[^,]+), ?"
    r"Signature=(?P<signature>[0-9a-f]{64})"
)
_SIGNATURE = "X-Amz-Signature"


@dataclass(frozen=True, slots=True)
class Credentials:
    """An access key and its secret; a temporary one has a token."""

    key_id: str
    secret: str
    token: str | None = None

    def __repr__(self) -> str:
        """Format the credentials without what is secret."""
        return f"Credentials({self.key_id!r})"


def presign(
    method: str,
    url: str,
    headers: Mapping[str, str],
    *,
    credentials: Credentials,
    region: str,
    at: datetime,
    seconds: int,
) -> str:
    """Sign an address, with which who has it may make this request, with these headers, for so long."""
    place = urlsplit(url)
    named = {"host": place.netloc, **{name.lower(): value for name, value in headers.items()}}
    scope = f"{at:%Y%m%d}/{region}/s3/aws4_request"
    query = {
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{credentials.key_id}/{scope}",
        "X-Amz-Date": f"{at:%Y%m%dT%H%M%SZ}",
        "X-Amz-Expires": str(seconds),
        "X-Amz-SignedHeaders": ";".join(sorted(named)),
    }
    if credentials.token is not None:
        query["X-Amz-Security-Token"] = credentials.token
    request = _canonical(method, place.path, query.items(), named, sorted(named), UNSIGNED)
    signature = _signature(request, scope, query["X-Amz-Date"], credentials.secret)
    return f"{url}?{_query(query.items())}&{_SIGNATURE}={signature}"


def is_signed(
    method: str, raw_path: str, query: str, headers: Mapping[str, str], *, credentials: Credentials, now: datetime
) -> bool:
    """Return whether the holder of the credentials signed exactly this request, and a presigned one in time."""
    pairs = parse_qsl(query, keep_blank_values=True)
    if any(name == _SIGNATURE for name, _ in pairs):
        return _is_presigned(method, raw_path, dict(pairs), headers, credentials, now)
    header = _HEADER.fullmatch(headers.get("authorization", ""))
    if header is None or header["key"] != credentials.key_id:
        return False
    if headers.get("x-amz-security-token") != credentials.token:
        return False
    content = headers.get("x-amz-content-sha256", "")
    request = _canonical(method, raw_path, pairs, headers, header["signed"].split(";"), content)
    made = _signature(request, header["scope"], headers.get("x-amz-date", ""), credentials.secret)
    return hmac.compare_digest(made, header["signature"])


def _is_presigned(  # noqa: PLR0917 - as below
    method: str,
    raw_path: str,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    credentials: Credentials,
    now: datetime,
) -> bool:
    key_id, _, scope = query.get("X-Amz-Credential", "").partition("/")
    signed = query.get("X-Amz-SignedHeaders", "").split(";")
    if key_id != credentials.key_id or query.get("X-Amz-Security-Token") != credentials.token:
        return False
    # As S3: what the store acts on must be signed, whether it is sent or left out.
    if {name for name in headers if name.startswith("x-amz-")} - set(signed):
        return False
    try:
        at = datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        ends = at + timedelta(seconds=int(query["X-Amz-Expires"]))
    except (KeyError, ValueError, OverflowError):
        return False
    if not at - timedelta(minutes=15) <= now < ends:
        return False
    pairs = [(name, value) for name, value in query.items() if name != _SIGNATURE]
    request = _canonical(method, raw_path, pairs, headers, signed, UNSIGNED)
    made = _signature(request, scope, query["X-Amz-Date"], credentials.secret)
    return hmac.compare_digest(made, query[_SIGNATURE])


def _canonical(  # noqa: PLR0917 - the parts of a request, in their order
    method: str,
    path: str,
    query: Iterable[tuple[str, str]],
    headers: Mapping[str, str],
    signed: Iterable[str],
    content: str,
) -> str:
    names = list(signed)
    lines = [f"{name}:{' '.join(headers.get(name, '').split())}" for name in names]
    return "\n".join([method, path, _query(query), *lines, "", ";".join(names), content])


def _query(pairs: Iterable[tuple[str, str]]) -> str:
    written = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in pairs)
    return "&".join(f"{name}={value}" for name, value in written)


def _signature(request: str, scope: str, moment: str, secret: str) -> str:
    hashed = hashlib.sha256(request.encode()).hexdigest()
    text = f"{ALGORITHM}\n{moment}\n{scope}\n{hashed}"
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()
