"""The header Idempotency-Key: one effect, one answer, for any POST."""

import asyncio

import httpx
import pytest

from ostinato._core.base.answers import Answer
from ostinato._core.engine import idempotency
from ostinato._core.runtime.handlers.app import App
from tests.api import shop
from tests.api.conftest import Api


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    return (shop.APP,)


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signals of this test's own: an event belongs to the loop in which it was first waited for."""
    monkeypatch.setattr(shop, "started", asyncio.Event())
    monkeypatch.setattr(shop, "may_end", asyncio.Event())


async def counted(api: Api) -> httpx.Response:
    headers = {"Idempotency-Key": "k-1"}
    return await api.call("POST", "/shop/counted-orders", json={"item": "tea"}, headers=headers)


async def jobs(api: Api) -> int:
    found = await (await api.admin.execute("select count(*) from ostinato_data.job")).fetchone()
    assert found is not None
    return int(found[0])


async def test_the_same_request_again_gets_the_first_answer(api: Api) -> None:
    headers = {"Idempotency-Key": "k-1"}
    first = await api.call("POST", "/shop/orders", json={"item": "tea"}, headers=headers)
    again = await api.call("POST", "/shop/orders", json={"item": "tea"}, headers=headers)
    assert (first.status_code, again.status_code) == (202, 202)
    assert again.content == first.content
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["x-shop"] == "open"
    assert await jobs(api) == 1


async def test_what_the_declaration_leaves_out_does_not_make_another_request(api: Api) -> None:
    headers = {"Idempotency-Key": "k-1"}
    first = {"item": "tea", "note": "please"}
    await api.call("POST", "/shop/orders", json=first, headers=headers)
    again = await api.call("POST", "/shop/orders", json={"item": "tea"}, headers=headers)
    assert again.headers["idempotency-replayed"] == "true"


async def test_another_request_under_the_key_is_a_conflict_that_names_the_fields(api: Api) -> None:
    headers = {"Idempotency-Key": "k-1"}
    await api.call("POST", "/shop/orders", json={"item": "tea"}, headers=headers)
    other = await api.call("POST", "/shop/orders", json={"item": "tea", "count": 2}, headers=headers)
    assert other.status_code == 422
    assert other.json()["code"] == "idempotency_conflict"
    assert other.json()["values"]["fields"] == ["count"]
    assert await jobs(api) == 1


async def test_without_a_key_every_request_is_new(api: Api) -> None:
    for _ in range(2):
        await api.call("POST", "/shop/orders", json={"item": "tea"})
    assert await jobs(api) == 2


async def test_keys_belong_to_tenants_and_routes(api: Api) -> None:
    headers = {"Idempotency-Key": "k-1"}
    shop.may_end.set()
    for tenant in ("acme", "zeta"):
        seen = await api.call("POST", "/shop/orders", json={"item": "tea"}, headers=headers, tenant=tenant)
        assert "idempotency-replayed" not in seen.headers
    seen = await api.call("POST", "/shop/slow-orders", json={"item": "pie"}, headers=headers)
    assert seen.status_code == 202
    assert await jobs(api) == 2


async def test_an_answer_is_replayed_only_to_the_subject_that_got_it(api: Api) -> None:
    """A key of operations got the answer that another subject of the tenant had."""
    headers = {"Idempotency-Key": "k-1"}
    other = {"Authorization": f"Bearer {await api.key('acme', 'admin', subject='somebody')}"}
    first = await api.call("POST", "/shop/orders", json={"item": "tea"}, headers=headers)

    theirs = await api.http.post("/shop/orders", json={"item": "tea"}, headers=headers | other)
    again = await api.call("POST", "/shop/orders", json={"item": "tea"}, headers=headers)

    assert (theirs.status_code, theirs.json()["code"]) == (422, "idempotency_conflict")
    assert theirs.json()["values"]["fields"] == ["caller.subject"]
    assert "tester" not in theirs.text
    assert again.content == first.content
    assert await jobs(api) == 1


async def test_a_caller_cannot_say_who_it_is_in_the_body(api: Api) -> None:
    headers = {"Idempotency-Key": "k-1"}
    other = {"Authorization": f"Bearer {await api.key('acme', 'admin', subject='somebody')}"}
    body = {"item": "tea", "caller.subject": "tester"}

    await api.call("POST", "/shop/loose-orders", json=body, headers=headers)
    theirs = await api.http.post("/shop/loose-orders", json=body, headers=headers | other)

    assert theirs.status_code == 422


async def test_a_route_may_share_its_answers_with_all_of_the_tenant(api: Api) -> None:
    headers = {"Idempotency-Key": "k-1"}
    other = {"Authorization": f"Bearer {await api.key('acme', 'admin', subject='somebody')}"}
    first = await api.call("POST", "/shop/shared-orders", json={"item": "tea"}, headers=headers)

    theirs = await api.http.post("/shop/shared-orders", json={"item": "tea"}, headers=headers | other)

    assert theirs.headers["idempotency-replayed"] == "true"
    assert theirs.content == first.content


async def test_an_answer_from_before_there_were_subjects_is_still_replayed(api: Api) -> None:
    """A client that retries over an upgrade has no second effect."""
    headers = {"Idempotency-Key": "k-1"}
    async with api.worker.for_tenant("acme").transaction() as conn:
        begun = await idempotency.begin(conn, "POST /shop/orders", "k-1", {"item": "tea"}, shop.ORDERS)
        assert isinstance(begun, idempotency.New)
        await idempotency.finish(conn, begun, Answer(202, b'{"job_id":1,"item":"tea"}', ()))

    again = await api.call("POST", "/shop/orders", json={"item": "tea"}, headers=headers)

    assert (again.status_code, again.headers["idempotency-replayed"]) == (202, "true")
    assert await jobs(api) == 0


async def test_what_is_begun_stays_in_flight_until_it_is_answered(api: Api) -> None:
    first = asyncio.create_task(counted(api))
    await shop.started.wait()
    committed = await jobs(api)
    meanwhile = await counted(api)
    shop.may_end.set()
    answered = await first
    again = await counted(api)

    assert (committed, meanwhile.status_code) == (1, 409)
    assert (answered.json(), again.content) == ({"item": "tea", "attempt": 1}, answered.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert await jobs(api) == 2


async def test_an_answer_to_a_key_that_was_taken_over_is_sent_and_not_stored(api: Api) -> None:
    late = asyncio.create_task(counted(api))
    await shop.started.wait()
    await api.admin.execute("update ostinato_data.idempotency set state = 'abandoned'")
    shop.started.clear()
    next_one = asyncio.create_task(counted(api))
    await shop.started.wait()
    shop.may_end.set()
    sent = [await late, await next_one]
    again = await counted(api)

    assert [each.json()["attempt"] for each in sent] == [1, 2]
    assert again.json()["attempt"] == 2
    assert await jobs(api) == 4  # what the late one wrote with its answer is written


async def test_a_request_that_failed_leaves_its_key_free(api: Api) -> None:
    headers = {"Idempotency-Key": "k-1"}
    for _ in range(2):
        failed = await api.call("POST", "/shop/broken-orders", json={"item": "tea"}, headers=headers)
        assert failed.status_code == 500
    assert await jobs(api) == 0


async def test_while_the_first_is_at_it_the_second_is_told_to_wait(api: Api) -> None:
    headers = {"Idempotency-Key": "k-1"}
    first = asyncio.create_task(api.call("POST", "/shop/slow-orders", json={"item": "pie"}, headers=headers))
    await shop.started.wait()
    second = await api.call("POST", "/shop/slow-orders", json={"item": "pie"}, headers=headers)
    assert second.status_code == 409
    assert second.json()["code"] == "request_in_flight"
    assert int(second.headers["retry-after"]) >= 1
    shop.may_end.set()
    assert (await first).status_code == 202
    third = await api.call("POST", "/shop/slow-orders", json={"item": "pie"}, headers=headers)
    assert third.headers["idempotency-replayed"] == "true"
    other = await api.call("POST", "/shop/slow-orders", json={"item": "tea"}, headers=headers)
    assert other.status_code == 409
    assert other.json()["code"] == "idempotency_conflict"


async def test_many_at_once_have_one_effect(api: Api) -> None:
    headers = {"Idempotency-Key": "k-1"}

    async def insist() -> bytes:
        while True:
            seen = await api.call("POST", "/shop/orders", json={"item": "tea"}, headers=headers)
            if seen.status_code != 409:
                assert seen.status_code == 202
                return seen.content
            await asyncio.wait([asyncio.create_task(asyncio.Event().wait())], timeout=0.05)

    answers = await asyncio.gather(*(insist() for _ in range(32)))
    assert len(set(answers)) == 1
    assert await jobs(api) == 1


@pytest.mark.parametrize("odd", ["", " ", "a b", "x" * 201, "é"])
async def test_a_key_that_is_none_is_refused(api: Api, odd: str) -> None:
    headers = {"Idempotency-Key": odd.encode("latin-1")}
    seen = await api.call(
        "POST",
        "/shop/orders",
        json={"item": "tea"},
        headers=headers,  # type: ignore[arg-type]
    )
    assert seen.status_code == 422
    assert seen.json()["errors"][0]["field"] == "header.idempotency-key"
