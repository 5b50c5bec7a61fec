"""Tokens of an issuer: which are taken, what is said of the others, where the keys come from."""

import asyncio
import base64
import gzip
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ostinato._core.base.errors import NoAnswer, SettingsError, Unauthenticated
from ostinato._core.base.settings import Settings
from ostinato._faces.api import jwks
from ostinato._faces.api.tokens import Token, Tokens, claim_at
from tests.api.issuer import AUDIENCE, Handler, Issuer, broken, ec_key, ed_key, failing, jwk, rsa_key, silent
from tests.api.test_ratelimit import Time


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Issuer]:
    monkeypatch.setenv("NO_PROXY", "*")
    with Issuer() as running:
        yield running


@pytest.fixture
def clock() -> Time:
    return Time(1000)


@pytest.fixture
async def tokens(issuer: Issuer, clock: Time) -> AsyncIterator[Tokens]:
    made = Tokens(issuer.settings(), clock=clock)
    yield made
    await made.keys.close()


async def refusal(tokens: Tokens, text: str) -> Unauthenticated:
    """What is said of a token that is refused; never what stands in it."""
    with pytest.raises(Unauthenticated) as caught:
        await tokens.verify(text)
    told = f"{caught.value} {caught.value.values}"
    assert not any(part in told for part in text.split(".") if len(part) > 8)
    return caught.value


async def reason(tokens: Tokens, text: str) -> object:
    return (await refusal(tokens, text)).values["reason"]


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


# ── what is taken ────────────────────────────────────────────────────────────────────────


async def test_a_token_says_tenant_subject_and_roles(tokens: Tokens, issuer: Issuer) -> None:
    end = int(time.time()) + 300

    found = await tokens.verify(issuer.token(roles=["ops", "admin"], exp=end))

    assert found == Token("acme", "ada", frozenset({"ops", "admin"}), end + 30)


@pytest.mark.parametrize("alg", ["RS256", "RS384", "RS512", "PS256"])
async def test_every_signature_with_rsa_is_taken(tokens: Tokens, issuer: Issuer, alg: str) -> None:
    assert (await tokens.verify(issuer.token(alg=alg))).subject == "ada"


async def test_signatures_with_curves_are_taken(tokens: Tokens, issuer: Issuer) -> None:
    issuer.signing = {"a": ec_key(), "b": ec_key(ec.SECP384R1()), "c": ed_key()}

    for kid, alg in (("a", "ES256"), ("b", "ES384"), ("c", "EdDSA")):
        assert (await tokens.verify(issuer.token(kid=kid, alg=alg))).subject == "ada"


async def test_the_keys_can_be_named_instead_of_discovered(issuer: Issuer) -> None:
    issuer.discovery = {"jwks_uri": "https://elsewhere.example.com"}
    tokens = Tokens(issuer.settings(oidc_keys_url=issuer.keys_url))

    await tokens.verify(issuer.token())

    assert issuer.paths == ["/keys"]


@pytest.mark.parametrize("given", [[AUDIENCE], ["other", AUDIENCE], AUDIENCE])
async def test_one_of_several_audiences_is_enough(tokens: Tokens, issuer: Issuer, given: object) -> None:
    assert (await tokens.verify(issuer.token(aud=given))).tenant_id == "acme"


async def test_clocks_may_differ_a_little(tokens: Tokens, issuer: Issuer) -> None:
    now = time.time()

    await tokens.verify(issuer.token(exp=now - 20))
    await tokens.verify(issuer.token(nbf=now + 20, iat=now + 20))


@pytest.mark.parametrize(
    ("given", "roles"),
    [
        (["ops", "admin"], {"ops", "admin"}),
        ("ops admin", {"ops", "admin"}),
        (" ops  admin ", {"ops", "admin"}),
        ("", set()),
        ([], set()),
        (None, set()),
    ],
)
async def test_roles_are_a_list_or_a_text(tokens: Tokens, issuer: Issuer, given: object, roles: set[str]) -> None:
    assert (await tokens.verify(issuer.token(roles=given))).roles == roles


async def test_claims_are_named_by_a_path_or_as_they_are(issuer: Issuer) -> None:
    tokens = Tokens(
        issuer.settings(oidc_tenant_claim="https://example.com/tenant", oidc_roles_claim="realm_access.roles")
    )
    claims: dict[str, Any] = {"https://example.com/tenant": "zeta", "realm_access": {"roles": ["admin"]}}

    found = await tokens.verify(issuer.token(**claims))

    assert found.tenant_id == "zeta"
    assert found.roles == {"admin"}


@pytest.mark.parametrize(
    ("claims", "path", "found"),
    [
        ({"a": 1}, "a", 1),
        ({"a": {"b": 1}}, "a.b", 1),
        ({"a.b": 1, "a": {"b": 2}}, "a.b", 1),
        ({"a.b": {"c": 1}}, "a.b.c", 1),
        ({"a": {"b.c": 1}}, "a.b.c", 1),
        ({"a": {"x": 2}, "a.b": {"c": 1}}, "a.b.c", 1),
        ({"a": 1}, "a.b", None),
        ({"a": [1]}, "a.0", None),
        ({}, "a.b.c", None),
        ({"": {"": 1}}, ".", None),
    ],
)
def test_a_claim_is_found_by_its_path(claims: dict[str, Any], path: str, found: object) -> None:
    assert claim_at(claims, path) == found


# ── what is refused ──────────────────────────────────────────────────────────────────────


async def test_an_expired_token_says_since_when(tokens: Tokens, issuer: Issuer) -> None:
    told = await refusal(tokens, issuer.token(exp=1_700_000_000))

    assert told.values["reason"] == "expired"
    assert "2023-11-14 22:13:20 UTC" in told.message


@pytest.mark.parametrize("claim", ["nbf", "iat"])
async def test_a_token_of_tomorrow_says_from_when(tokens: Tokens, issuer: Issuer, claim: str) -> None:
    claims: dict[str, Any] = {claim: 4_102_444_800, "exp": 4_102_444_900}

    told = await refusal(tokens, issuer.token(**claims))

    assert told.values["reason"] == "not_yet"
    assert "2100-01-01 00:00:00 UTC" in told.message


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"aud": "https://other.example.com"}, "audience"),
        ({"aud": ["a", "b"]}, "audience"),
        ({"aud": {AUDIENCE: 1}}, "audience"),
        ({"aud": [AUDIENCE, 7]}, "audience"),
        ({"aud": None}, "claims"),
        ({"aud": []}, "claims"),
        ({"iss": "https://evil.example.com"}, "issuer"),
        ({"iss": None}, "issuer"),
        ({"exp": None}, "claims"),
        ({"exp": "soon"}, "malformed"),
        ({"exp": 1e400}, "malformed"),
        ({"exp": -1e300}, "expired"),
        ({"exp": True}, "expired"),
        ({"nbf": [1]}, "malformed"),
        ({"iat": "x"}, "malformed"),
        ({"iat": 4e9, "nbf": "x"}, "not_yet"),
        ({"sub": None}, "claims"),
        ({"sub": ""}, "claims"),
        ({"sub": 7}, "malformed"),
        ({"sub": "x" * 201}, "claims"),
        ({"sub": "a\0b"}, "claims"),
        ({"sub": "a\nb"}, "claims"),
        ({"sub": "\ud800"}, "claims"),
        ({"tenant": None}, "claims"),
        ({"tenant": ""}, "claims"),
        ({"tenant": 7}, "claims"),
        ({"tenant": ["acme"]}, "claims"),
        ({"tenant": "a\0"}, "claims"),
        ({"roles": 7}, "claims"),
        ({"roles": {"ops": True}}, "claims"),
        ({"roles": ["ops", 7]}, "claims"),
        ({"roles": ["x" * 201]}, "claims"),
        ({"roles": ["r"] * 1001}, "claims"),
    ],
)
async def test_claims_that_do_not_fit_are_refused(
    tokens: Tokens, issuer: Issuer, claims: dict[str, Any], expected: str
) -> None:
    assert await reason(tokens, issuer.token(**claims)) == expected


async def test_a_token_that_never_ends_is_taken(tokens: Tokens, issuer: Issuer) -> None:
    assert (await tokens.verify(issuer.token(exp=10**400))).ends > 1e11


async def test_the_refusal_names_what_was_expected(tokens: Tokens, issuer: Issuer) -> None:
    assert AUDIENCE in (await refusal(tokens, issuer.token(aud="other"))).message
    assert issuer.url in (await refusal(tokens, issuer.token(iss="other"))).message
    assert "claim tenant" in (await refusal(tokens, issuer.token(tenant=None))).message


async def test_a_changed_token_is_refused(tokens: Tokens, issuer: Issuer) -> None:
    header, claims, signature = issuer.token().split(".")
    other = encoded(issuer.claims(tenant="zeta"))

    assert await reason(tokens, f"{header}.{other}.{signature}") == "signature"
    assert await reason(tokens, f"{header}.{claims}.{signature[:-8]}AAAAAAAA") == "signature"


async def test_a_key_of_somebody_else_is_refused(tokens: Tokens, issuer: Issuer) -> None:
    assert await reason(tokens, issuer.token(key=rsa_key("stranger"))) == "signature"


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "", None, 7, ["RS256"], "HS256", "ES512"])
async def test_unsigned_tokens_and_other_algorithms_are_refused(tokens: Tokens, issuer: Issuer, alg: object) -> None:
    text = f"{encoded({'alg': alg, 'kid': 'first'})}.{encoded(issuer.claims())}.AAAA"

    assert await reason(tokens, text) == "algorithm"
    assert issuer.fetches == 0


async def test_the_public_key_is_no_shared_secret(tokens: Tokens, issuer: Issuer) -> None:
    public = issuer.signing["first"].public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    for secret in (pem, json.dumps(jwk(issuer.signing["first"], kid="first")).encode()):
        signed = f"{encoded({'alg': 'HS256', 'kid': 'first'})}.{encoded(issuer.claims())}"
        mac = hmac.digest(secret, signed.encode(), hashlib.sha256)
        text = f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"

        assert await reason(tokens, text) == "algorithm"


async def test_a_secret_among_the_keys_is_not_used(tokens: Tokens, issuer: Issuer) -> None:
    issuer.listed = [
        {"kty": "oct", "k": "c2VjcmV0", "kid": "first", "alg": "HS256"},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "first", "alg": "RS256"},
        jwk(issuer.signing["first"], kid="first"),
    ]

    assert (await tokens.verify(issuer.token())).subject == "ada"


async def test_an_algorithm_that_is_not_that_of_the_key_is_refused(tokens: Tokens, issuer: Issuer) -> None:
    issuer.listed = [jwk(issuer.signing["first"], kid="first", alg="RS256")]
    await tokens.verify(issuer.token())

    assert await reason(tokens, issuer.token(alg="PS256")) == "kid"
    assert await reason(tokens, issuer.token(alg="ES256", key=ec_key())) == "kid"


@pytest.mark.parametrize("typ", ["JWT", "jwt", "at+jwt", "application/at+jwt"])
async def test_access_tokens_of_either_type_are_taken(tokens: Tokens, issuer: Issuer, typ: str) -> None:
    assert (await tokens.verify(issuer.token(headers={"typ": typ}))).subject == "ada"


@pytest.mark.parametrize("typ", ["logout+jwt", "dpop+jwt", "secevent+jwt", 7, ["JWT"]])
async def test_signed_things_that_are_no_access_tokens_are_refused(tokens: Tokens, issuer: Issuer, typ: object) -> None:
    assert await reason(tokens, issuer.token(headers={"typ": typ})) == "type"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "..",
        "a.b.c",
        "a.b.c.d",
        f"{encoded([])}.{encoded({})}.AAAA",
        f"{encoded({'alg': 'RS256'})}.{encoded([])}.AAAA",
        f"{encoded({'alg': 'RS256'})}.AAAA.AAAA",
        f"{encoded({'alg': 'RS256', 'kid': 7})}.{encoded({})}.AAAA",
        f"{encoded({'alg': 'RS256', 'crit': ['exp'], 'exp': 1})}.{encoded({})}.AAAA",
        f"{encoded({'alg': 'RS256', 'crit': ['b64'], 'b64': False})}..AAAA",
    ],
)
async def test_what_is_no_token_is_refused(tokens: Tokens, issuer: Issuer, text: str) -> None:
    assert await reason(tokens, text) == "malformed"
    assert issuer.fetches == 0


# ── which key ────────────────────────────────────────────────────────────────────────────


async def test_the_only_key_need_not_be_named(tokens: Tokens, issuer: Issuer) -> None:
    assert (await tokens.verify(issuer.token(kid=None, key=rsa_key("first")))).subject == "ada"


async def test_of_several_keys_one_must_be_named(tokens: Tokens, issuer: Issuer) -> None:
    issuer.signing = {"first": rsa_key("first"), "second": rsa_key("second")}

    told = await refusal(tokens, issuer.token(kid=None, key=rsa_key("first")))

    assert told.values["reason"] == "kid"
    assert "several" in told.message
    for kid in ("first", "second"):
        await tokens.verify(issuer.token(kid=kid))


async def test_keys_that_cannot_be_used_are_left_out(tokens: Tokens, issuer: Issuer) -> None:
    good = jwk(issuer.signing["first"], kid="first")
    issuer.listed = [
        None,
        7,
        [],
        {},
        {"kty": ["RSA"], "kid": "first"},
        {"kty": "RSA", "kid": "first"},
        {"kty": "RSA", "kid": "first", "n": "!", "e": "AQAB"},
        {"kty": "RSA", "kid": "first", "n": 7, "e": 7},
        {"kty": "EC", "crv": "P-256", "kid": "first", "x": "AA", "y": "AA"},
        {"kty": "OKP", "crv": "Ed25519", "kid": "first", "x": "AA"},
        good | {"use": "enc"},
        jwk(rsa_key("small", 1024), kid="small"),
        good,
    ]

    assert (await tokens.verify(issuer.token())).subject == "ada"
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        text = issuer.token(kid="small", key=rsa_key("small", 1024))
    assert await reason(tokens, text) == "kid"


# ── where the keys come from ─────────────────────────────────────────────────────────────


async def test_the_keys_are_fetched_once(tokens: Tokens, issuer: Issuer, clock: Time) -> None:
    text = issuer.token()

    await asyncio.gather(*(tokens.verify(text) for _ in range(20)))
    clock.now += 599
    await tokens.verify(text)

    assert issuer.paths == ["/.well-known/openid-configuration", "/keys"]


async def test_old_keys_are_fetched_anew_beside_the_requests(tokens: Tokens, issuer: Issuer, clock: Time) -> None:
    await tokens.verify(issuer.token())
    clock.now += 601
    issuer.fault = silent

    await tokens.verify(issuer.token())  # does not wait for the answer that never comes

    assert tokens.keys._task is not None


async def test_a_new_key_is_taken_when_a_token_names_it(tokens: Tokens, issuer: Issuer, clock: Time) -> None:
    await tokens.verify(issuer.token())
    issuer.signing = {"second": rsa_key("second")}
    clock.now += 30

    await tokens.verify(issuer.token(kid="second"))

    assert await reason(tokens, issuer.token(kid="first", key=rsa_key("first"))) == "kid"


async def test_made_up_keys_make_nobody_knock_at_the_issuer(tokens: Tokens, issuer: Issuer, clock: Time) -> None:
    await tokens.verify(issuer.token())

    for number in range(100):
        clock.now += 1
        made_up = issuer.token(kid=f"made up {number}", key=rsa_key("stranger"))
        assert await reason(tokens, made_up) == "kid"

    assert issuer.fetches == 1 + 3


async def test_many_unknown_keys_at_once_are_one_fetch(tokens: Tokens, issuer: Issuer, clock: Time) -> None:
    await tokens.verify(issuer.token())
    clock.now += 30

    await asyncio.gather(*(reason(tokens, issuer.token(kid=f"{n}", key=rsa_key("stranger"))) for n in range(20)))

    assert issuer.fetches == 2


@pytest.mark.parametrize("fault", [failing, broken])
async def test_known_keys_serve_on_while_the_issuer_is_down(
    tokens: Tokens, issuer: Issuer, clock: Time, fault: Callable[[Handler], None]
) -> None:
    await tokens.verify(issuer.token())
    issuer.fault = fault

    for _ in range(23):
        clock.now += 3600
        await tokens.verify(issuer.token())
        assert tokens.keys._task is not None
        await tokens.keys._task

    clock.now += 3601
    with pytest.raises(NoAnswer):
        await tokens.verify(issuer.token())
    issuer.fault = None
    clock.now += 5
    await tokens.verify(issuer.token())


async def test_without_any_keys_nobody_is_called_a_stranger(tokens: Tokens, issuer: Issuer, clock: Time) -> None:
    issuer.fault = failing
    for _ in range(10):
        with pytest.raises(NoAnswer) as caught:
            await tokens.verify(issuer.token())
        assert caught.value.values["retry_after"] == 5
    assert len(issuer.paths) == 1

    issuer.fault = None
    clock.now += 5

    assert (await tokens.verify(issuer.token())).subject == "ada"


def too_large(handler: Handler) -> None:
    handler.answer(200, b'{"keys": [' + b" " * 300_000 + b"]}")


def bomb(handler: Handler) -> None:
    handler.answer(200, gzip.compress(b" " * 10_000_000), content_encoding="gzip")


def moved(handler: Handler) -> None:
    handler.answer(302, b"", location=handler.server.issuer.keys_url)


def prose(handler: Handler) -> None:
    handler.answer(200, b"<html>welcome</html>")


def deep(handler: Handler) -> None:
    handler.answer(200, b"[" * 100_000)


def no_object(handler: Handler) -> None:
    handler.answer(200, b"[]")


@pytest.mark.parametrize("fault", [too_large, bomb, moved, prose, deep, no_object, broken])
async def test_answers_that_cannot_be_used_are_no_answers(issuer: Issuer, fault: Callable[[Handler], None]) -> None:
    issuer.fault = fault
    tokens = Tokens(issuer.settings(oidc_keys_url=issuer.keys_url))

    with pytest.raises(NoAnswer):
        await tokens.verify(issuer.token())


async def test_a_slow_issuer_is_not_waited_for(issuer: Issuer, tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jwks, "FETCH_SECONDS", 0.1)
    issuer.fault = silent

    with pytest.raises(NoAnswer, match=r"no answer within 0\.1 s"):
        await tokens.verify(issuer.token())


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example.com"},
        {"jwks_uri": "http://example.com/keys"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": 7},
        {"jwks_uri": None},
    ],
)
async def test_a_discovery_document_that_cannot_be_trusted_is_refused(
    tokens: Tokens, issuer: Issuer, document: dict[str, Any]
) -> None:
    issuer.discovery = document

    with pytest.raises(NoAnswer, match="discovery document"):
        await tokens.verify(issuer.token())
    assert issuer.fetches == 0


@pytest.mark.parametrize("listed", [[], [7], [{"kty": "oct", "k": "AAAA"}]])
async def test_keys_are_not_replaced_by_nothing(tokens: Tokens, issuer: Issuer, clock: Time, listed: list[Any]) -> None:
    await tokens.verify(issuer.token())
    issuer.listed = listed
    clock.now += 30
    assert await reason(tokens, issuer.token(kid="other", key=rsa_key("stranger"))) == "kid"

    assert (await tokens.verify(issuer.token())).subject == "ada"


async def test_a_request_that_is_given_up_does_not_stop_the_fetch_of_others(tokens: Tokens, issuer: Issuer) -> None:
    first = asyncio.create_task(tokens.verify(issuer.token()))
    second = asyncio.create_task(tokens.verify(issuer.token()))
    while tokens.keys._task is None:
        await asyncio.wait([first], timeout=0)
    first.cancel()

    assert (await second).subject == "ada"


async def test_the_fetch_can_be_begun_before_it_is_needed(tokens: Tokens, issuer: Issuer) -> None:
    tokens.keys.start()
    assert tokens.keys._task is not None
    await tokens.keys._task
    issuer.fault = failing

    assert (await tokens.verify(issuer.token())).subject == "ada"


# ── settings ─────────────────────────────────────────────────────────────────────────────


def test_an_issuer_without_an_audience_is_refused_at_start() -> None:
    with pytest.raises(SettingsError, match="oidc_audience"):
        Tokens(Settings(oidc_issuer="https://login.example.com"))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "login.example.com",
        "http://login.example.com",
        "http://10.0.0.1",
        "ftp://login.example.com",
        "https://",
        "https://[::1",
    ],
)
def test_an_issuer_that_anybody_could_pose_as_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="https"):
        Tokens(Settings(oidc_issuer=url, oidc_audience="a"))
    with pytest.raises(SettingsError, match="oidc_keys_url"):
        Tokens(Settings(oidc_issuer="https://a.example.com", oidc_audience="a", oidc_keys_url=url))


@pytest.mark.parametrize("url", ["https://login.example.com/", "http://localhost:8080/realm", "http://[::1]:1"])
def test_https_and_this_machine_are_taken(url: str) -> None:
    assert Tokens(Settings(oidc_issuer=url, oidc_audience="a")).issuer == url


def test_only_signatures_by_pairs_of_keys_are_taken() -> None:
    assert set(jwks.ALGORITHMS) == {"RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"}
    assert set(jwks.ALGORITHMS) <= set(jwt.PyJWS().get_algorithms())
