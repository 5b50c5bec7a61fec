"""What every request meets first: ids, limits, bad bytes, errors as problems, the log line."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from structlog.typing import EventDict

from ostinato._core.base.metrics import HTTP_REQUESTS
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.handlers.app import App
from ostinato._core.web.routes import Router
from ostinato._faces.api.parts import Parts
from tests.api import shop
from tests.api.conftest import Api
from tests.api.live import serving
from tests.waiting import until_async

PROBLEM = "application/problem+json"


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    return (shop.APP,)


@pytest.fixture
def api_settings() -> Settings:
    return Settings(api_max_body_bytes=4096)


def problem_of(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM
    document: dict[str, Any] = response.json()
    assert document["status"] == status
    assert document["code"] == code
    assert document["hint"]
    assert document["correlation_id"] == response.headers["x-correlation-id"]
    return document


async def test_a_correlation_id_comes_back_and_reaches_the_database(api: Api) -> None:
    headers = {"X-Correlation-Id": "order-42/a"}
    seen = await api.call("GET", "/shop/whoami", headers=headers)
    assert seen.headers["x-correlation-id"] == "order-42/a"
    assert seen.json() == {"role": "ostinato_tenant", "tenant": "acme", "user": "tester", "correlation": "order-42/a"}


@pytest.mark.parametrize("odd", ["", " ", "a b", "x" * 201, "ü", "a\tb", "'; drop table job;--"])
async def test_a_correlation_id_that_is_none_is_replaced(api: Api, odd: str) -> None:
    headers = {"X-Correlation-Id": odd.encode("latin-1")}
    seen = await api.http.get("/health/live", headers=headers)  # type: ignore[arg-type]
    assert seen.status_code == 200
    made = seen.headers["x-correlation-id"]
    assert made != odd
    assert len(made) == 32


async def test_a_trace_goes_on(api: Api) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    seen = await api.http.get("/health/live", headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"})
    version, trace_id, parent, flags = seen.headers["traceparent"].split("-")
    assert (version, trace_id, flags) == ("00", trace, "01")
    assert parent != "00f067aa0ba902b7"
    assert seen.headers["x-correlation-id"] == trace


@pytest.mark.parametrize("odd", ["00-0-0-0", "garbage", f"00-{'0' * 32}-{'0' * 16}-00"])
async def test_a_trace_that_is_none_is_replaced(api: Api, odd: str) -> None:
    seen = await api.http.get("/health/live", headers={"traceparent": odd})
    assert seen.headers["traceparent"].split("-")[1] != "0" * 32


async def test_an_unknown_path_and_a_wrong_method_are_problems(api: Api) -> None:
    problem_of(await api.http.get("/nothing/here"), 404, "not_found")
    wrong = await api.http.delete("/health/live")
    problem_of(wrong, 405, "method_refused")
    assert wrong.headers["allow"] == "GET"


async def test_a_body_over_the_limit_is_refused_before_it_is_read(api: Api) -> None:
    large = json.dumps({"item": "x" * 5000}).encode()
    headers = {"Content-Type": "application/json"}
    seen = await api.call("POST", "/shop/orders", content=large, headers=headers)
    found = problem_of(seen, 413, "body_too_large")
    assert found["values"]["limit"] == 4096


@pytest.mark.parametrize("length", ["5000", "0" * 5_000 + "5000", "9" * 5_000])
async def test_a_body_that_is_announced_as_too_large_is_not_read(api: Api, length: str) -> None:
    """Python refuses to read a number of thousands of digits, and any number of zeros may begin one."""
    read = []

    async def pieces() -> AsyncIterator[bytes]:
        read.append(1)
        yield b" "

    headers = {"Content-Type": "application/json", "Content-Length": length}
    seen = await api.call("POST", "/shop/orders", content=pieces(), headers=headers)

    problem_of(seen, 413, "body_too_large")
    assert read == []


@pytest.mark.parametrize("length", ["0" * 5_000 + "2", "0" * 5_000])
async def test_zeros_before_the_length_of_a_body_are_no_error_of_ours(api: Api, length: str) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": length}

    seen = await api.call("POST", "/shop/orders", content=b"{}", headers=headers)

    assert 400 <= seen.status_code < 500


async def test_a_body_without_a_length_is_counted(api: Api) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(10):
            yield b" " * 1000

    headers = {"Content-Type": "application/json"}
    seen = await api.call("POST", "/shop/orders", content=pieces(), headers=headers)
    problem_of(seen, 413, "body_too_large")


async def test_a_route_may_take_a_larger_body_than_the_others(api: Api) -> None:
    fits = await api.call("POST", "/shop/catalogues", content=b"x" * 8192)
    large = await api.call("POST", "/shop/catalogues", content=b"x" * 8193)

    assert (fits.status_code, fits.json()) == (202, 8192)
    assert problem_of(large, 413, "body_too_large")["values"]["limit"] == 8192


def test_a_route_with_parameters_takes_no_larger_body() -> None:
    with pytest.raises(TypeError, match="has parameters"):
        Router().post("/shops/{name}", public=True, max_body_bytes=8192)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "json"])
async def test_a_body_that_is_not_json_is_refused(api: Api, kind: str) -> None:
    headers = {"Content-Type": kind}
    seen = await api.call("POST", "/shop/orders", content=b'{"item": "a"}', headers=headers)
    problem_of(seen, 415, "media_type_refused")


async def test_a_compressed_body_is_refused(api: Api) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    seen = await api.call("POST", "/shop/orders", content=b"\x1f\x8b", headers=headers)
    problem_of(seen, 415, "media_type_refused")


BROKEN = {
    "cut": b'{"item": ',
    "not UTF-8": b'{"item": "\xff\xfe"}',
    "a byte order mark": b'\xef\xbb\xbf{"item": "a"}',
    "NaN": b'{"item": "a", "count": NaN}',
    "a name twice": b'{"item": "a", "item": "b"}',
    "NUL as an escape": b'{"item": "a\\u0000b"}',
    "NUL in a name": b'{"item": "a", "x\\u0000": 1}',
    "NUL as a byte": b'{"item": "a\x00b"}',
    "a lone surrogate": b'{"item": "\\ud800"}',
    "a number beyond 2^53": b'{"item": "a", "count": 9007199254740993}',
    "5,000 digits": b'{"item": "a", "count": 1' + b"0" * 3000 + b"}",
    "deep nesting": b'{"item": ' + b"[" * 1000 + b"]" * 1000 + b"}",
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
async def test_broken_json_is_a_clean_refusal(api: Api, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    seen = await api.call("POST", "/shop/orders", content=body, headers=headers)
    problem_of(seen, 400, "request_refused")


async def test_an_escaped_backslash_before_u0000_is_no_nul(api: Api) -> None:
    headers = {"Content-Type": "application/json"}
    body = b'{"item": "a\\\\u0000b"}'
    seen = await api.call("POST", "/shop/orders", content=body, headers=headers)
    assert seen.status_code == 202


@pytest.mark.parametrize("path", ["/shop/%00", "/shop/whoami?x=%00", "/shop/whoami?%00=1"])
async def test_a_nul_in_the_address_is_refused(api: Api, path: str) -> None:
    problem_of(await api.call("GET", path), 400, "request_refused")


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"7", b"null"])
async def test_json_of_another_shape_names_the_field(api: Api, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    seen = await api.call("POST", "/shop/orders", content=body, headers=headers)
    found = problem_of(seen, 422, "invalid_input")
    assert found["errors"][0]["field"].startswith("body")


async def test_a_validation_error_names_fields_and_reasons_but_not_what_was_sent(api: Api) -> None:
    wrong = {"item": "", "count": "planted-secret-4711"}
    seen = await api.call("POST", "/shop/orders", json=wrong)
    found = problem_of(seen, 422, "invalid_input")
    assert {(fault["field"], fault["reason"]) for fault in found["errors"]} == {
        ("body.item", "string_too_short"),
        ("body.count", "int_parsing"),
    }
    assert "planted-secret-4711" not in seen.text


async def test_an_error_of_ours_tells_its_values_without_secrets(api: Api) -> None:
    found = problem_of(await api.call("GET", "/shop/missing"), 404, "not_found")
    assert found["values"] == {"password": "***", "thing": 7}
    assert found["instance"] == "/shop/missing"


async def test_what_nobody_expected_is_a_problem_that_tells_nothing(api: Api) -> None:
    seen = await api.call("POST", "/shop/broken-orders", json={"item": "a"})
    problem_of(seen, 500, "ostinato_error")
    assert "planted-secret" not in seen.text
    assert "ZeroDivision" not in seen.text
    counted = await (await api.admin.execute("select count(*) from ostinato_data.job")).fetchone()
    assert counted == (0,)


async def test_every_request_is_one_log_line_with_its_pattern(api: Api, logs: list[EventDict]) -> None:
    await api.call("GET", "/shop/missing", headers={"X-Correlation-Id": "c-1"})
    await api.http.get("/someone@example.org")
    (first, second) = [line for line in logs if line["event"] == "request"]
    assert first["path"] == "/shop/missing"
    assert first["http_status"] == 404
    assert (first["tenant_id"], first["subject"]) == ("acme", "tester")
    assert first["key_id"] == int((await api.key("acme", "admin")).split("_")[1])
    assert first["error_code"] == "not_found"
    assert first["duration_ms"] > 0
    assert second["path"] == "-"
    assert "example.org" not in json.dumps(logs, default=str)


async def test_answers_are_not_sniffed_or_stored(api: Api) -> None:
    seen = await api.http.get("/health/live")
    assert seen.headers["x-content-type-options"] == "nosniff"
    assert seen.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("how", ["reset", "close"])
async def test_a_caller_that_leaves_a_real_socket_in_the_middle_of_a_body_is_no_500(api: Api, how: str) -> None:
    """5 of 5 were an error line with a traceback and a 500, before any key was looked at."""
    parts = Parts(api.parts.database, api.parts.settings, apps=api.parts.apps)
    head = "POST /shop/orders HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n"
    head += f"authorization: Bearer {await api.key()}\r\n"

    def counted() -> dict[str, float]:
        return {labels[2]: value for labels, _, value in parts.recorder.series(HTTP_REQUESTS)}

    with serving(parts) as url:
        for _ in range(5):
            caller = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
            caller.sendall(f'{head}content-length: 100\r\n\r\n{{"item"'.encode())
            said = await asyncio.to_thread(caller.recv, 65_536)
            assert said.startswith(b"HTTP/1.1 100 ")  # the body is being read: a reset takes nothing back
            if how == "reset":
                caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            caller.close()
        await until_async(lambda: sum(counted().values()) == 5)

    assert counted() == {"499": 5}


async def test_a_caller_that_leaves_in_the_middle_of_a_body_is_no_error(api: Api, logs: list[EventDict]) -> None:
    """Nobody is there to be answered: no traceback, and no 500 in the figures."""
    pieces = iter([{"type": "http.request", "body": b'{"item"', "more_body": True}])
    key = await api.key()
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/shop/orders",
        "query_string": b"",
        "headers": [
            (b"authorization", f"Bearer {key}".encode()),
            (b"content-type", b"application/json"),
            (b"content-length", b"100"),
        ],
    }
    sent = []

    async def receive() -> dict[str, Any]:
        return next(pieces, {"type": "http.disconnect"})

    async def send(message: Any) -> None:  # noqa: ANN401 - as ASGI has it
        sent.append(message)

    await api.app(scope, receive, send)

    assert [line["event"] for line in logs if line["log_level"] == "error"] == []
    (line,) = [line for line in logs if line["event"] == "request"]
    assert line["http_status"] == 499
    assert sent == []
