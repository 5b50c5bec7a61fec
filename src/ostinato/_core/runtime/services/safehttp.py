"""Sends requests to other people's servers, so that they cannot be used against us.

The host is looked up once, every address that it has is checked, and the connection goes to a
checked address, with the host's own name in the request and in the check of its certificate: a
later answer of the name server changes nothing. There are no redirects, no proxies of the
environment, no cookies. Connections are kept for the same host at the same checked address only
(`kept.py`). The whole exchange has one time limit, and a bounded number of bytes of the answer is
read, counted after decompression, against bombs.
"""

import asyncio
import socket
import ssl
import time
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cache

import httpx

from ostinato._core.base.errors import NoAnswer
from ostinato._core.base.safeurl import Allowed, Target, check_address, parse
from ostinato._core.runtime.services.kept import Kept

ANSWER_BYTES = 65_536
SECONDS = 5.0
MOST_ADDRESSES = 4
GZIP = ("gzip", "x-gzip", "deflate")
EITHER_WINDOW = 47  # zlib and gzip, distinguished by their first bytes

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server."""

    status: int
    headers: httpx.Headers
    body: bytes
    """Its start, decompressed."""
    cut: bool
    """Whether there was more."""
    milliseconds: int


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Look up the addresses of a host with the system's resolver."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(line[4][0]) for line in found))


async def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    allowed: Allowed = (),
    seconds: float = SECONDS,
    answer_bytes: int = ANSWER_BYTES,
    resolver: Resolver | None = None,
    tls: ssl.SSLContext | None = None,
    kept: Kept | None = None,
) -> Answer:
    """Send a body and return the start of the answer, whatever its status.

    Raises `UnsafeAddress` before anything is sent, and `NoAnswer` when there is no answer. Without `kept`
    the connection is closed afterwards.
    """
    started = time.perf_counter()
    connections = kept or Kept()
    try:
        async with asyncio.timeout(seconds):
            target = parse(url, allowed)
            addresses = await _addresses(target, allowed, resolver or system_resolver)
            response, read, cut = await _first(
                addresses,
                lambda address: connections.send(target, address, body, headers, tls or _trusted()),
                answer_bytes,
            )
    except TimeoutError:
        raise NoAnswer(f"no answer within {seconds:g} s", outcome="timeout") from None
    except (httpx.HTTPError, OSError) as error:
        raise _no_answer(error) from error
    finally:
        if kept is None:
            await connections.aclose()
    passed = int((time.perf_counter() - started) * 1000)
    return Answer(response.status_code, response.headers, read, cut, passed)


async def _addresses(target: Target, allowed: Allowed, resolver: Resolver) -> list[str]:
    """Return the addresses of the target, all of them checked."""
    if target.address is not None:
        return [str(target.address)]  # parse has checked it
    try:
        found = await resolver(target.host, target.port)
    except (OSError, UnicodeError) as error:
        raise NoAnswer(f"the name {target.host} was not found", outcome="dns") from error
    if not found:
        raise NoAnswer(f"the name {target.host} has no address", outcome="dns")
    # One inner address refuses the whole name: a public name that also points inside is an attack.
    return [str(check_address(target, address, allowed)) for address in found][:MOST_ADDRESSES]


async def _first(
    addresses: Sequence[str], send: Callable[[str], AbstractAsyncContextManager[httpx.Response]], most: int
) -> tuple[httpx.Response, bytes, bool]:
    """Send to the first address that takes the connection; returns the answer and its start, as `_read` does."""
    for address in addresses[:-1]:
        try:
            async with send(address) as response:
                return response, *await _read(response, most)
        except httpx.ConnectError as error:
            if _is_tls(error):
                raise
    async with send(addresses[-1]) as response:
        return response, *await _read(response, most)


async def _read(response: httpx.Response, most: int) -> tuple[bytes, bool]:
    """Return the start of the answer, at most so many bytes, and whether there was more."""
    packed = response.headers.get("content-encoding", "").strip().lower() in GZIP
    unpacker = zlib.decompressobj(EITHER_WINDOW) if packed else None
    read = bytearray()
    came = 0
    async for chunk in response.aiter_raw():
        came += len(chunk)
        try:
            read += chunk if unpacker is None else unpacker.decompress(chunk, most + 1 - len(read))
        except zlib.error:
            return bytes(read), True  # not compressed as it claims: its start is enough
        if len(read) > most or came > most:
            return bytes(read[:most]), True
    return bytes(read), False


def _no_answer(error: Exception) -> NoAnswer:
    """Translate an error of the network; the text of the other side is left out."""
    if _is_tls(error):
        return NoAnswer(f"the certificate or TLS failed: {_tls_reason(error)}", outcome="tls")
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return NoAnswer("the connection was refused or not answered", outcome="connect")
    if isinstance(error, httpx.RemoteProtocolError):
        return NoAnswer("the answer was no HTTP, or ended early", outcome="protocol")
    return NoAnswer(f"the connection broke: {type(error).__name__}", outcome="reset")


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _is_tls(error: BaseException) -> bool:
    return any(isinstance(cause, ssl.SSLError) for cause in _causes(error))


def _tls_reason(error: BaseException) -> str:
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message
        if isinstance(cause, ssl.SSLError):
            return cause.reason or "handshake failed"
    return "unknown"


@cache
def _trusted() -> ssl.SSLContext:
    """Return the authorities that browsers trust; made once, because that takes milliseconds."""
    return httpx.create_ssl_context()
