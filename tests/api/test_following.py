"""Jobs are followed: an event for each change, one question for all, and an end with the job."""

import asyncio
import json
from contextlib import ExitStack
from typing import Any

import pytest

from ostinato._core.base.errors import TooManyRequests
from ostinato._core.engine import claims, inspect, keys, workers
from ostinato._core.runtime.client import Client
from ostinato._faces.api import following
from tests.api.conftest import Api
from tests.waiting import until_async

JOBS = "/api/v1/engine/jobs"


async def added(api: Api, tenant: str = "acme") -> int:
    return await api.parts.client.for_tenant(tenant).enqueue("app.task", {})


async def held(worker: Client) -> Any:  # noqa: ANN401 - the job
    async with worker.connection() as conn:
        me = await workers.register(conn, "test", ["default"], ["app.task"], 3600)
        (job,) = await claims.claim(conn, me, "default", 10, kinds=["app.task"])
    return job


def read(event: bytes) -> tuple[str, dict[str, Any]]:
    name, data = event.decode().strip().split("\n")
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


async def test_a_follower_hears_of_every_change_and_of_the_end(api: Api) -> None:
    job_id = await added(api)
    stream = api.parts.followers.follow("acme", job_id)
    name, first = read(await anext(stream))
    job = await held(api.worker)
    async with api.worker.connection() as conn:
        await claims.note_progress(conn, [job], [0.4], [None], ["page 3 of 8"])
    seen: list[dict[str, Any]] = []
    async for event in stream:
        name, found = read(event)
        seen.append(found)
        if found["note"] is not None:
            async with api.worker.connection() as conn:
                await claims.complete(conn, [job], [1], [None])

    assert first == {"job_id": str(job_id), "state": "ready", "done": None, "total": None, "note": None}
    assert [(each["state"], each["note"]) for each in seen if each["note"]] == [("running", "page 3 of 8")]
    assert (name, seen[-1]["state"]) == ("end", "done")


async def test_a_job_that_has_ended_is_one_event_over_http_and_others_see_none(api: Api) -> None:
    job_id = await added(api)
    await api.call("POST", f"{JOBS}/{job_id}/cancel", headers={"Idempotency-Key": "k"})

    answer = await api.call("GET", f"{JOBS}/{job_id}/events")
    foreign = await api.call("GET", f"{JOBS}/{job_id}/events", tenant="other")

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert read(answer.content)[1]["state"] == "cancelled"
    assert foreign.status_code == 404


async def test_one_question_serves_all_who_follow_jobs_of_a_tenant(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []
    follow = inspect.follow

    async def counted(conn: Any, job_ids: list[int]) -> Any:  # noqa: ANN401 - as it is
        asked.append(sorted(job_ids))
        return await follow(conn, job_ids)

    monkeypatch.setattr(inspect, "follow", counted)
    jobs = [await added(api), await added(api)]
    streams = [api.parts.followers.follow("acme", job_id) for job_id in jobs * 50]

    await asyncio.gather(*(anext(stream) for stream in streams))

    assert asked[-1] == jobs
    assert len(asked) <= 2
    for stream in streams:
        await stream.aclose()  # type: ignore[attr-defined]


async def test_the_streams_of_one_caller_are_bounded(api: Api) -> None:
    followers = api.parts.followers
    with ExitStack() as seats:
        for _ in range(following.MOST_OF_CALLER):
            seats.enter_context(followers.seat("acme", "tester"))
        with pytest.raises(TooManyRequests):
            followers.check_room("acme", "tester")
        answer = await api.call("GET", f"{JOBS}/{await added(api)}/events")
        followers.check_room("acme", "other")

    assert answer.status_code == 429
    followers.check_room("acme", "tester")


async def test_a_tenant_with_many_people_takes_the_streams_of_no_other(api: Api) -> None:
    followers = api.parts.followers
    with ExitStack() as seats:
        for number in range(following.MOST_OF_TENANT):
            seats.enter_context(followers.seat("acme", f"tester {number}"))
        answer = await api.call("GET", f"{JOBS}/{await added(api)}/events")
        followers.check_room("other", "tester")

    assert answer.status_code == 429


async def test_a_stream_ends_with_the_key_of_its_caller(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """It went on for as long as its job, whoever it was that read it by then."""
    monkeypatch.setattr(following, "SILENT_SECONDS", 0.2)
    job_id = await added(api)
    text = await api.key("acme", "ops")
    asking = asyncio.create_task(api.call("GET", f"{JOBS}/{job_id}/events", roles=("ops",)))
    await until_async(lambda: any(api.parts.followers._last.values()))  # there is something to tell

    async with api.worker.connection() as conn:
        await keys.revoke(conn, int(text.split("_")[1]))

    answer = await asking
    assert "event: progress" in answer.text
    assert "event: end" not in answer.text


async def test_streams_end_with_the_process(api: Api) -> None:
    stream = api.parts.followers.follow("acme", await added(api))
    await anext(stream)
    api.parts.followers.end()

    assert [event async for event in stream] == []


async def test_a_kind_is_renamed_for_all_tenants_by_the_installation_only(api: Api) -> None:
    await added(api)
    path, body = "/api/v1/engine/installation/kinds/app.task/rename", {"to": "app.other", "reason": "moved"}

    refused = await api.call("POST", path, json=body)
    done = await api.call("POST", path, json=body, roles=("ops", "installation"))

    assert refused.status_code == 403
    assert done.json() == {"count": 1, "more": True}
    cursor = await api.admin.execute("select verb, target from ostinato_data.audit_entry where verb = 'rekind'")
    assert await cursor.fetchall() == [("rekind", "app.task")]
