"""Fetches the keys that an issuer signs its tokens with, and caches them.

What may go wrong, and what then:

    the issuer is down              the cached keys are used, for a day at most
    it is down and none are cached  502, and it is asked again at most every 5 s
    it has a new key                a token with its id causes a fetch, at most every 30 s, so that
                                    made-up ids of keys cannot load the issuer
    its answer is too large, too    as if it were down
    slow, a redirect, or no JSON

The operator configures the issuer, so it may be at an inner address, and proxies and authorities
of the environment are used.
"""

import asyncio
import json
import math
import time
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple

import httpx
import jwt

from ostinato._core.base.errors import NoAnswer, SettingsError, Unauthenticated
from ostinato._core.base.log import get_logger

log = get_logger("api")

_RSA = ("RS256", "RS384", "RS512", "PS256")
# What a key may have signed, by its type and curve. Only keys in pairs: with a shared secret, a
# public key could be used as one.
_OF_KIND: dict[tuple[object, object], tuple[str, ...]] = {
    ("RSA", None): _RSA,
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("OKP", "Ed25519"): ("EdDSA",),
}
ALGORITHMS = tuple(name for names in _OF_KIND.values() for name in names)
"""The signature algorithms that are accepted."""

DISCOVERY = "/.well-known/openid-configuration"
FETCH_SECONDS = 5.0
MOST_BYTES = 262_144
MOST_KEYS = 100
LEAST_RSA_BITS = 2048

FRESH_SECONDS = 600.0
KEEP_SECONDS = 86_400.0
REFETCH_SECONDS = 30.0
RETRY_SECONDS = 5.0

_PUBLIC = ("kty", "n", "e", "crv", "x", "y")


class Key(NamedTuple):
    """A public key, ready for each algorithm that it may be used with."""

    kid: object
    by_algorithm: dict[str, jwt.PyJWK]


class IssuerKeys:
    """The keys of one issuer."""

    def __init__(
        self, issuer: str, keys_url: str | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._issuer = issuer
        self._keys_url = keys_url
        self._clock = clock
        self._keys: list[Key] = []
        self._fetched = -math.inf
        self._tried = -math.inf
        self._trouble = "nobody asked yet"
        self._task: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Stop fetching."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def find(self, kid: str | None, algorithm: str) -> jwt.PyJWK:
        """Return the key that a token names as its signing key.

        Raises `Unauthenticated`, or `NoAnswer` when no keys are known.
        """
        age = self._clock() - self._fetched
        if age > KEEP_SECONDS:
            self._keys = []
            await self._refresh(RETRY_SECONDS)
        elif age > FRESH_SECONDS and self._is_due(REFETCH_SECONDS):
            self.start()  # in the background: the cached keys are used meanwhile
        if not self._keys:
            raise NoAnswer(
                f"the keys of the issuer are not known: {self._trouble}",
                hint="Try again; the operator should check oidc_issuer and oidc_keys_url.",
                retry_after=int(RETRY_SECONDS),
            )
        found = self._pick(kid, algorithm)
        if found is None:
            await self._refresh(REFETCH_SECONDS)
            found = self._pick(kid, algorithm)
        if found is None:
            raise Unauthenticated(
                "the token was signed with a key or an algorithm that the issuer does not list",
                hint="Get a new token from the issuer.",
                reason="kid",
            )
        return found

    def _pick(self, kid: str | None, algorithm: str) -> jwt.PyJWK | None:
        if kid is None and len(self._keys) > 1:
            raise Unauthenticated(
                "the token does not name its key (kid), and the issuer has several",
                hint="Have the issuer put kid into the header of its tokens.",
                reason="kid",
            )
        for key in self._keys:
            if kid in (None, key.kid) and algorithm in key.by_algorithm:
                return key.by_algorithm[algorithm]
        return None

    def _is_due(self, seconds: float) -> bool:
        return self._task is None and self._clock() - self._tried >= seconds

    async def _refresh(self, seconds: float) -> None:
        """Fetch the keys, unless that was tried less than so many seconds ago."""
        if self._is_due(seconds):
            self.start()
        if self._task is not None:
            await asyncio.shield(self._task)  # one fetch for all requests that wait, even if some of them are cancelled

    def start(self) -> None:
        """Start to fetch; at once at the beginning, so that the first request need not wait."""
        self._tried = self._clock()
        self._task = asyncio.create_task(self._fetch())
        self._task.add_done_callback(self._ended)

    def _ended(self, _: "asyncio.Task[None]") -> None:
        self._task = None

    async def _fetch(self) -> None:
        try:
            async with asyncio.timeout(FETCH_SECONDS), httpx.AsyncClient(timeout=FETCH_SECONDS) as http:
                url = self._keys_url or await self._discover(http)
                found = usable(await ask(http, "GET", url))
        except TimeoutError:
            self._failed(f"no answer within {FETCH_SECONDS:g} s")
        except NoAnswer as error:
            self._failed(error.message)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            self._failed(f"the connection failed: {type(error).__name__}")
        else:
            self._keys, self._fetched = found, self._clock()

    async def _discover(self, http: httpx.AsyncClient) -> str:
        document = await ask(http, "GET", self._issuer.rstrip("/") + DISCOVERY)
        if document.get("issuer") != self._issuer:
            raise NoAnswer("its discovery document is that of another issuer")
        url = document.get("jwks_uri")
        try:
            return check_url("jwks_uri", url if isinstance(url, str) else "")
        except SettingsError as error:
            raise NoAnswer(f"its discovery document cannot be used: {error.message}") from None

    def _failed(self, why: str) -> None:
        self._trouble = why
        log.warning("issuer_unavailable", issuer=self._issuer, error=why, known=len(self._keys))


def check_url(name: str, url: str) -> str:
    """Return the URL if it can be trusted: https, or this machine."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.host and (parsed.scheme == "https" or (parsed.scheme == "http" and _is_loopback(parsed.host))):
        return url
    raise SettingsError(
        f"{name} must be a URL with https (http only on this machine)",
        hint="Such as https://login.example.com/realms/main",
        source=name,
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def ask(http: httpx.AsyncClient, method: str, url: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - as httpx
    """Ask the issuer for a JSON object; raises `NoAnswer` for anything else."""
    # Not compressed: a few bytes could become gigabytes.
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    async with http.stream(method, url, headers=headers, **options) as response:
        if response.status_code != httpx.codes.OK:
            raise NoAnswer(f"it answered {response.status_code}")
        if response.headers.get("content-encoding", "identity") != "identity":
            raise NoAnswer("its answer is compressed")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > MOST_BYTES:
                raise NoAnswer(f"its answer has more than {MOST_BYTES:,} bytes")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise NoAnswer("its answer is no JSON object")
    return value


def usable(document: Mapping[str, Any]) -> list[Key]:
    """Return the keys of a JWKS that can be used; others are left out."""
    listed = document.get("keys")
    found = [
        key
        for data in (listed if isinstance(listed, list) else [])[:MOST_KEYS]
        if isinstance(data, dict) and (key := _key(data)).by_algorithm
    ]
    if not found:
        raise NoAnswer("it lists no key that can be used")
    return found


def _key(data: dict[str, Any]) -> Key:
    kind, curve = data.get("kty"), data.get("crv")
    names: tuple[str, ...] = ()
    if isinstance(kind, str) and (curve is None or isinstance(curve, str)):
        names = _OF_KIND.get((kind, curve), ())
    if data.get("use", "sig") != "sig":
        names = ()
    if "alg" in data:
        names = tuple(name for name in names if name == data["alg"])
    # Only the public parts: an issuer should not publish the others, and they are not needed.
    public = {name: data[name] for name in _PUBLIC if name in data}
    made: dict[str, jwt.PyJWK] = {}
    for name in names:
        try:
            key = jwt.PyJWK(public, algorithm=name)
        except (jwt.PyJWTError, ValueError, TypeError, AttributeError):
            continue
        if kind != "RSA" or key.key.key_size >= LEAST_RSA_BITS:
            made[name] = key
    return Key(data.get("kid"), made)
