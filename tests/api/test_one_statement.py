"""A new job, and a look at one, are one statement in the database; the log line comes behind the answer."""

from typing import Any

import pytest
from structlog.typing import EventDict

from ostinato._core.db import call
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.context import Context
from ostinato._core.web.caller import Caller
from tests.api.conftest import Api

JOBS = "/api/v1/engine/jobs"
APP = App("shop")


@APP.job(open=True)
async def ship(ctx: Context, order: int) -> None:
    """Ships an order."""


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    return (APP,)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that are called, but the doorbell, which rings on a connection of its own when all is done."""
    names: list[str] = []
    call_as = call._executed

    async def noted(conn: Any, rows: Any, text: bytes, *more: Any) -> Any:  # noqa: ANN401 - as it is called
        name = text.decode().partition("(")[0].rpartition(".")[2].strip('"')
        if name != "ring_doorbell":
            names.append(name)
        return await call_as(conn, rows, text, *more)

    monkeypatch.setattr(call, "_executed", noted)
    return names


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}], ids=["plain", "with a key"])
async def test_a_new_job_and_a_look_at_it_are_one_statement_each(
    api: Api, called: list[str], monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    wanted = {"kind": "shop.ship", "args": {"order": 7}}
    await api.call("POST", JOBS, json=wanted)  # the key is known from here on, for some seconds
    monkeypatch.delattr(Caller, "transaction")
    monkeypatch.delattr(Caller, "reading")

    called.clear()
    added = await api.call("POST", JOBS, json=wanted, headers=headers)
    assert (added.status_code, called) == (202, ["enqueue_job_as"])

    called.clear()
    shown = await api.call("GET", f"{JOBS}/{added.json()['job_id']}")
    assert (shown.status_code, called) == (200, ["show_job_as"])
    assert shown.json()["args"] == {"order": 7}


async def test_the_log_line_of_a_request_is_written_behind_its_answer(api: Api, logs: list[EventDict]) -> None:
    written_before: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:  # noqa: ANN401 - as ASGI has it
        if message["type"] == "http.response.body" and not message.get("more_body"):
            written_before.append(sum(line["event"] == "request" for line in logs))

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "path": f"{JOBS}/1",
        "raw_path": f"{JOBS}/1".encode(),
        "query_string": b"",
        "headers": [(b"authorization", f"Bearer {await api.key()}".encode())],
        "client": ("127.0.0.1", 1),
        "server": ("test", 80),
        "scheme": "http",
        "root_path": "",
    }
    await api.app(scope, receive, send)

    assert written_before == [0]
    (line,) = [line for line in logs if line["event"] == "request"]
    assert line["http_status"] == 404
