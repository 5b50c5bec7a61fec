"""Verifies tokens (JWT) of the configured issuer.

A token is valid when the issuer's key signed it with one of `ALGORITHMS`, it is from the issuer and
for our audience, its time has come and is not over (clocks may differ by 30 s), and it names a
tenant and a subject. An issuer without an audience is refused at start, without exception: a token
that its user gave to any other service of the same issuer would be valid here.

    iss, aud, exp       must be there, and are checked
    nbf, iat            are checked when they are there
    sub                 the subject
    oidc_tenant_claim   the tenant: a text
    oidc_roles_claim    the roles: a list, or a text with spaces; none: no permission

A claim is named as it is (`https://example.com/tenant`), or by a path (`realm_access.roles`).
"""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import jwt

from ostinato._core.base.errors import SettingsError, Unauthenticated
from ostinato._core.base.settings import Settings
from ostinato._faces.api.jwks import ALGORITHMS, IssuerKeys, check_url

LEEWAY_SECONDS = 30
MOST_CHARACTERS = 200
MOST_ROLES = 1000
FOREVER = 253_402_300_799  # the last second of the year 9999
TYPES = frozenset({"jwt", "at+jwt", "application/jwt", "application/at+jwt"})

# The first that fits says what is wrong; none repeats what stands in the token.
_REFUSALS: tuple[tuple[type[jwt.PyJWTError], str, str], ...] = (
    (jwt.InvalidSignatureError, "signature", "the signature of the token does not fit"),
    (jwt.InvalidAlgorithmError, "algorithm", "the token is signed in a way that is not taken"),
    (jwt.InvalidAudienceError, "audience", "the token is for another audience"),
    (jwt.InvalidIssuerError, "issuer", "the token is from another issuer"),
    (jwt.PyJWTError, "malformed", "the token cannot be read"),
)


class Token(NamedTuple):
    """The claims of a valid token."""

    tenant_id: str
    subject: str
    roles: frozenset[str]
    ends: float
    """From when on it is refused, in seconds since 1970."""


class Tokens:
    """Checks the tokens of one issuer."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        if settings.oidc_issuer is None or settings.oidc_audience is None:
            raise SettingsError(
                "oidc_issuer is set, but oidc_audience is not: tokens that the issuer made for"
                " other services would be taken",
                hint="Set oidc_audience to what the issuer calls this service.",
            )
        self.issuer = check_url("oidc_issuer", settings.oidc_issuer)
        self.audience = settings.oidc_audience
        self._tenant_claim = settings.oidc_tenant_claim
        self._roles_claim = settings.oidc_roles_claim
        keys_url = settings.oidc_keys_url
        if keys_url is not None:
            check_url("oidc_keys_url", keys_url)
        self.keys = IssuerKeys(self.issuer, keys_url, clock=clock)

    async def verify(self, text: str, *, audience: str | None = None, nonce: str | None = None) -> Token:
        """Return the claims of a valid token; raises `Unauthenticated` with the fault.

        The id token of a sign-in is for another audience, the client id, and has the nonce of that sign-in.
        """
        audience = audience or self.audience
        kid, algorithm = _header(text)
        claims = self._peek(text)
        key = await self.keys.find(kid, algorithm)
        try:
            jwt.decode(
                text,
                key,
                algorithms=list(ALGORITHMS),
                audience=audience,
                issuer=self.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["iss", "aud", "exp", "sub"]},
            )
        except jwt.PyJWTError as error:
            # The signature was checked before the claims, so the error may name them.
            raise self._refusal(error, claims, audience) from None
        if nonce is not None and claims.get("nonce") != nonce:
            raise _refused("nonce", "the token belongs to another sign-in")
        return Token(
            _text(claim_at(claims, self._tenant_claim), "tenant", self._tenant_claim),
            _text(claims["sub"], "subject", "sub"),
            _roles(claim_at(claims, self._roles_claim), self._roles_claim),
            float(_seconds(claims["exp"]) + LEEWAY_SECONDS),
        )

    def _peek(self, text: str) -> dict[str, Any]:
        """Read the unverified claims, to refuse another issuer's token before a key is fetched."""
        try:
            claims: dict[str, Any] = jwt.decode(text, options={"verify_signature": False})
        except jwt.PyJWTError:
            raise _refused("malformed", "the token cannot be read") from None
        if claims.get("iss") != self.issuer:
            raise _refused("issuer", f"the token is not from the issuer {self.issuer}")
        return claims

    def _refusal(self, error: jwt.PyJWTError, claims: Mapping[str, Any], audience: str) -> Unauthenticated:
        match error:
            case jwt.ExpiredSignatureError():
                since = _time(_seconds(claims.get("exp")))
                return _refused("expired", f"the token expired at {since}")
            case jwt.ImmatureSignatureError():
                until = max(_seconds(claims.get(name)) for name in ("nbf", "iat"))
                return _refused("not_yet", f"the token is not valid before {_time(until)}")
            case jwt.MissingRequiredClaimError():
                return _refused("claims", f"the token has no claim {error.claim}")
            case jwt.InvalidAudienceError():
                return _refused("audience", f"the token is not for the audience {audience}")
        reason, message = next((r, m) for kind, r, m in _REFUSALS if isinstance(error, kind))
        return _refused(reason, message)


def claim_at(claims: Mapping[str, Any], path: str) -> object:
    """Return a claim by its name, or by a dotted path of names; names may have dots themselves."""
    if path in claims:
        return claims[path]
    place = path.find(".")
    while place > 0:
        inner = claims.get(path[:place])
        if isinstance(inner, dict):
            found = claim_at(inner, path[place + 1 :])
            if found is not None:
                return found
        place = path.find(".", place + 1)
    return None


def _header(text: str) -> tuple[str | None, str]:
    """Return the key and the algorithm that a token names."""
    try:
        header = jwt.get_unverified_header(text)
    except jwt.PyJWTError:
        raise _refused("malformed", "the token cannot be read") from None
    kid, algorithm, kind = header.get("kid"), header.get("alg"), header.get("typ", "JWT")
    if algorithm not in ALGORITHMS:
        raise _refused(
            "algorithm", f"the token is signed in a way that is not taken; taken are {', '.join(ALGORITHMS)}"
        )
    # The same keys sign logout tokens and proofs of possession, which must not be accepted here.
    if not isinstance(kind, str) or kind.lower() not in TYPES:
        raise _refused("type", "the token is of another type (typ) than JWT or at+jwt")
    return kid, algorithm


def _text(value: object, what: str, claim: str) -> str:
    if value is None:
        raise _refused("claims", f"the token names no {what}: it has no claim {claim}")
    # What cannot be printed cannot be stored or logged either: NUL, surrogates, line ends.
    if not isinstance(value, str) or not 0 < len(value) <= MOST_CHARACTERS:
        raise _refused("claims", f"the claim {claim} is not a text of 1 to {MOST_CHARACTERS} characters")
    if not value.isprintable():
        raise _refused("claims", f"the claim {claim} has characters that cannot be printed")
    return value


def _roles(value: object, claim: str) -> frozenset[str]:
    match value:
        case None:
            return frozenset()
        case str():
            named: list[object] = list(value.split(" "))
        case list():
            named = value
        case _:
            raise _refused("claims", f"the claim {claim} is neither a list nor a text")
    if len(named) > MOST_ROLES:
        raise _refused("claims", f"the claim {claim} has more than {MOST_ROLES:,} roles")
    return frozenset(_text(name, "role", claim) for name in named if name != "")


def _seconds(value: Any) -> int:  # noqa: ANN401 - a claim
    """Return a time of a token; 0 if it is none."""
    try:
        return max(0, min(int(value), FOREVER))
    except (ValueError, TypeError, OverflowError):
        return 0


def _time(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _refused(reason: str, message: str) -> Unauthenticated:
    return Unauthenticated(message, hint="Get a new token from the issuer.", reason=reason)
