"""A little OIDC issuer: a real HTTP server on loopback that signs what it is told to sign."""

import json
import socket
import struct
import threading
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from ostinato._core.base.settings import Settings

AUDIENCE = "https://api.example.com"
CLIENT, CLIENT_SECRET = "console", "not very secret"

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@cache
def rsa_key(name: str, bits: int = 2048) -> rsa.RSAPrivateKey:
    """A key of that name, made once: that takes a while."""
    return rsa.generate_private_key(65537, bits)


def ec_key(curve: ec.EllipticCurve | None = None) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(curve or ec.SECP256R1())


def ed_key() -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()


def jwk(key: PrivateKey, **members: object) -> dict[str, Any]:
    """The public half, as an issuer lists it."""
    match key:
        case rsa.RSAPrivateKey():
            shown = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        case ec.EllipticCurvePrivateKey():
            shown = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
        case _:
            shown = OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    shown.pop("key_ops", None)
    return {**shown, "use": "sig", **members}


class Handler(BaseHTTPRequestHandler):
    """Answers with what the issuer publishes."""

    server: "Server"
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        issuer = self.server.issuer
        issuer.asked(self.path)
        if issuer.fault is not None:
            issuer.fault(self)
            return
        if self.path.startswith("/authorize?"):
            self.answer(303, b"", location=issuer.authorize(self.path))
            return
        document = issuer.documents().get(self.path)
        self.answer(404 if document is None else 200, json.dumps(document).encode())

    def do_POST(self) -> None:
        issuer = self.server.issuer
        issuer.asked(self.path)
        form = dict(parse_qsl(self.rfile.read(int(self.headers["content-length"])).decode()))
        found = issuer.exchange(form, self.headers.get("authorization")) if self.path == "/token" else None
        self.answer(400 if found is None else 200, json.dumps(found or {"error": "invalid_grant"}).encode())

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Does not tell of connections that break."""

    daemon_threads = True
    issuer: "Issuer"

    def handle_error(self, *_: object) -> None:
        pass


class Issuer:
    """The server, its keys, and who asked for them."""

    def __init__(self) -> None:
        self.signing: dict[str | None, PrivateKey] = {"first": rsa_key("first")}
        self.listed: list[Any] | None = None
        """What the JWKS lists; None: the keys that sign."""
        self.discovery: dict[str, Any] = {}
        self.fault: Callable[[Handler], None] | None = None
        self.paths: list[str] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.said: dict[str, Any] = {}
        """Claims of the id tokens that are not as they should be."""
        self.released = threading.Event()
        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.issuer = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def keys_url(self) -> str:
        return f"{self.url}/keys"

    @property
    def fetches(self) -> int:
        """How often its keys were asked for."""
        return self.paths.count("/keys")

    def documents(self) -> dict[str, Any]:
        own = {
            "issuer": self.url,
            "jwks_uri": self.keys_url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
        }
        listed = self.listed
        if listed is None:
            listed = [jwk(key, kid=kid) for kid, key in self.signing.items()]
        return {"/.well-known/openid-configuration": own | self.discovery, "/keys": {"keys": listed}}

    def authorize(self, path: str) -> str:
        """Where a browser goes that asked for a code: somebody said who it is, and is sent back."""
        given = dict(parse_qsl(urlsplit(path).query))
        assert given["response_type"] == "code"
        assert given["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = given
        return f"{given['redirect_uri']}?{urlencode({'code': code, 'state': given['state']})}"

    def exchange(self, form: dict[str, str], auth: str | None) -> dict[str, str] | None:
        """The id token for a code, once, for whoever began and is the client."""
        given = self.codes.pop(form.get("code", ""), None)
        proof = urlsafe_b64encode(sha256(form.get("code_verifier", "").encode()).digest()).rstrip(b"=").decode()
        client = f"{CLIENT}:{CLIENT_SECRET}"
        if (
            given is None
            or form.get("grant_type") != "authorization_code"
            or proof != given["code_challenge"]
            or form.get("redirect_uri") != given["redirect_uri"]
            or auth != f"Basic {b64encode(client.encode()).decode()}"
        ):
            return None
        return {
            "id_token": self.token(**({"aud": CLIENT, "nonce": given["nonce"]} | self.said)),
            "token_type": "Bearer",
        }

    def asked(self, path: str) -> None:
        self.paths.append(path)

    def settings(self, **more: Any) -> Settings:  # noqa: ANN401 - any setting
        return Settings(**({"oidc_issuer": self.url, "oidc_audience": AUDIENCE} | more))

    def claims(self, **more: object) -> dict[str, object]:
        """The claims of a good token; None leaves one out."""
        now = int(time.time())
        good = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "ada",
            "tenant": "acme",
            "roles": ["ops"],
            "iat": now,
            "exp": now + 300,
        }
        return {name: value for name, value in (good | more).items() if value is not None}

    def token(
        self,
        *,
        kid: str | None = "first",
        alg: str = "RS256",
        key: PrivateKey | None = None,
        headers: dict[str, Any] | None = None,
        **claims: object,
    ) -> str:
        """A signed token."""
        named = ({"kid": kid} if kid is not None else {}) | (headers or {})
        signer = key or self.signing[kid]
        return jwt.encode(self.claims(**claims), signer, algorithm=alg, headers=named)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def failing(handler: Handler) -> None:
    """Answer that it does not work."""
    handler.answer(503, b"{}")


def broken(handler: Handler) -> None:
    """Break the connection."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()


def silent(handler: Handler) -> None:
    """Answer nothing until the issuer ends."""
    handler.server.issuer.released.wait()
