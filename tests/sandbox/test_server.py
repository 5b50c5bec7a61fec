"""The sandbox over real HTTP: scripted faults, what came in, and the receiver of webhooks."""

import json
import time

import httpx
import pytest
from fastapi import APIRouter, Response

from ostinato._core.base.webhooks import make_secret, signed_headers
from ostinato.lab.sandbox.hooks import Hooks
from ostinato.lab.sandbox.running import Running, running
from tests.waiting import until

SECRET = make_secret(bytes(range(32)))
OTHER = make_secret(bytes(32))


def told(http: httpx.Client, **faults: object) -> None:
    assert http.post("/_sandbox/faults", json=faults).status_code == 204


def delivered(http: httpx.Client, name: str = "orders", message: str = "evt-1", secret: str = SECRET) -> httpx.Response:
    body = json.dumps({"order": 7}).encode()
    headers = signed_headers(message, int(time.time()), body, [secret])
    return http.post(f"/hooks/{name}", content=body, headers=headers)


@pytest.fixture
def orders(http: httpx.Client) -> None:
    assert http.put("/_sandbox/hooks/orders", json={"secret": SECRET}).status_code == 204


@pytest.mark.usefixtures("orders")
def test_a_signed_message_is_kept_once_however_often_it_comes(http: httpx.Client) -> None:
    assert [delivered(http).json()["times"] for _ in range(2)] == [1, 2]

    found = http.get("/_sandbox/hooks/orders").json()
    assert [(m["id"], m["times"], m["body"]) for m in found["messages"]] == [("evt-1", 2, '{"order": 7}')]


@pytest.mark.usefixtures("orders")
def test_what_another_secret_signed_is_refused(http: httpx.Client) -> None:
    assert delivered(http, secret=OTHER).status_code == 401
    assert http.post("/hooks/orders", json={}).status_code == 401

    found = http.get("/_sandbox/hooks/orders").json()
    assert found == {"messages": [], "refused": 2}


def test_a_message_that_is_too_old_is_refused_by_the_receivers_own_clock() -> None:
    with (
        running(Hooks(wall=lambda: time.time() + 3600)) as sandbox,
        httpx.Client(base_url=sandbox.url, trust_env=False, timeout=60) as http,
    ):
        http.put("/_sandbox/hooks/orders", json={"secret": SECRET})
        answer = delivered(http)

    assert answer.status_code == 401
    assert "old" in answer.json()["error"]


def test_a_receiver_that_nobody_made_is_not_there(http: httpx.Client) -> None:
    assert delivered(http, "nobody").status_code == 404
    assert http.put("/_sandbox/hooks/x", json={"secret": "short"}).status_code == 422


@pytest.mark.usefixtures("orders")
def test_a_script_is_played_over_http_and_every_call_is_noted(http: httpx.Client, sandbox: Running) -> None:
    told(http, path="/hooks/*", script="503:4,503,200", method="POST")

    answers = [delivered(http) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [503, 503, 200]
    assert answers[0].headers["retry-after"] == "4"
    calls = http.get("/_sandbox/calls", params={"path": "/hooks/*"}).json()["calls"]
    assert [(c["fault"], c["status"]) for c in calls] == [("503:4", 503), ("503", 503), ("200", 200)]
    assert calls[0]["body"] == '{"order": 7}'
    assert http.get("/_sandbox/calls", params={"after": 2}).json()["calls"][0]["number"] == 3


@pytest.mark.parametrize("word", ["close", "reset", "truncated"])
def test_a_connection_can_end_without_an_answer(http: httpx.Client, word: str) -> None:
    told(http, path="/hooks/*", script=word)

    with pytest.raises(httpx.TransportError):
        delivered(http)
    assert delivered(http).status_code == 404  # nobody made it; the sandbox is there


def test_a_stall_lasts_until_the_caller_gives_up(http: httpx.Client, sandbox: Running) -> None:
    told(http, path="/hooks/*", script="stall")

    with pytest.raises(httpx.ReadTimeout):
        http.post("/hooks/x", content=b"{}", timeout=httpx.Timeout(60, read=0.5))

    until(lambda: sandbox.faults.calls)
    (call,) = sandbox.faults.calls
    assert call.status is None


def test_an_answer_can_be_late_and_wrong(http: httpx.Client) -> None:
    told(http, path="/hooks/*", script="garbage@0.01,empty")

    first, second = (http.post("/hooks/x", content=b"") for _ in range(2))

    with pytest.raises(json.JSONDecodeError):
        first.json()
    assert (first.status_code, second.status_code, second.content) == (200, 200, b"")


def test_a_scripted_answer_has_the_body_and_headers_it_is_given(http: httpx.Client) -> None:
    told(http, path="/x", script="418", body='{"code": 131056}', headers={"X-App-Usage": "99"})

    answer = http.get("/x")

    assert (answer.status_code, answer.json()) == (418, {"code": 131056})
    assert answer.headers["x-app-usage"] == "99"


def test_a_limit_is_kept_as_real_services_keep_it(http: httpx.Client) -> None:
    told(http, path="/hooks/*", limit={"requests": 1, "seconds": 60})

    first, second = (http.post("/hooks/x", content=b"") for _ in range(2))

    assert (first.status_code, second.status_code) == (404, 429)
    assert 1 <= int(second.headers["retry-after"]) <= 60


@pytest.mark.parametrize(
    "given", [{"path": "/x", "script": "maybe"}, {"script": "503"}, {"path": "/x", "scrpt": "503"}]
)
def test_an_order_that_makes_no_sense_is_refused(http: httpx.Client, given: dict[str, str]) -> None:
    assert http.post("/_sandbox/faults", json=given).status_code == 422


@pytest.mark.usefixtures("orders")
def test_a_reset_forgets_everything(http: httpx.Client) -> None:
    told(http, path="/hooks/*", script="503*")
    delivered(http)

    assert http.post("/_sandbox/reset").status_code == 204

    assert http.get("/_sandbox/calls").json() == {"calls": []}
    assert http.get("/_sandbox/faults").json() == {"faults": []}
    assert delivered(http).status_code == 404


def test_what_opens_something_is_not_kept(http: httpx.Client, sandbox: Running) -> None:
    http.get("/x", headers={"Authorization": "Bearer sesame"})

    assert "sesame" not in str(sandbox.faults.calls)


def test_a_page_of_another_name_gets_no_answer(http: httpx.Client) -> None:
    """A name that somebody points at loopback must not reach the sandbox through a browser."""
    assert http.get("/_sandbox", headers={"Host": "evil.example"}).status_code == 400


def test_a_caller_that_stalls_does_not_keep_the_sandbox() -> None:
    with running(Hooks()) as sandbox, httpx.Client(base_url=sandbox.url, timeout=httpx.Timeout(60, read=0.1)) as http:
        sandbox.order("/x", "stall")
        with pytest.raises(httpx.ReadTimeout):
            http.get("/x")


def test_a_stand_in_may_ask_for_a_fault_itself() -> None:
    class Cutting:
        name = "cutting"
        router = APIRouter()

        def reset(self) -> None:
            """Forget nothing."""

        def settings(self, url: str) -> dict[str, str]:
            """Nobody calls it."""
            return {"CUTTING_URL": url}

    standing = Cutting()

    @standing.router.get("/cut")
    async def cut() -> Response:
        return Response(headers={"x-sandbox-fault": "reset"})

    with running(standing) as sandbox, pytest.raises(httpx.ReadError):
        httpx.get(f"{sandbox.url}/cut", trust_env=False, timeout=60)

    assert [(call.fault, call.status) for call in sandbox.faults.calls] == [("reset", None)]
