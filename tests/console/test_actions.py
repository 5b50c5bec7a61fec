"""What operators do on the pages: in bulk, to one job, to queues, workers and schedules."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Annotated

import pytest

from ostinato import App
from ostinato._core.base.settings import Settings
from ostinato._core.base.vault import Secret
from ostinato._core.engine import bulk, schedules
from ostinato._core.engine.inspect import list_queues, show_job
from ostinato._core.engine.schedules import Schedule
from ostinato._core.runtime.testing import KEY
from tests.api.conftest import Api
from tests.console.conftest import Console
from tests.sql.engine import Session, arrays

LATER = datetime(2126, 1, 1, tzinfo=UTC)


@pytest.fixture
def api_settings() -> Settings:
    return Settings(secret_key=KEY)


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    app = App("tour")

    @app.job(open=True)
    def greet(
        ctx: object, name: str, times: int = 1, *, polite: bool = True, tags: list[str] | None = None
    ) -> None: ...

    @app.job(open=True)
    def unlock(ctx: object, token: Annotated[str, Secret()], door: str | None = None) -> None: ...

    @app.job()
    def close(ctx: object) -> None: ...

    return (app,)


async def enqueue(api: Api, tenant: str, card: str = "secret-card", **more: object) -> int:
    return await api.parts.client.for_tenant(tenant).enqueue("shop.ship", {"card": card}, **more)  # type: ignore[arg-type]


async def state(api: Api, job: int) -> str:
    async with api.worker.connection() as conn:
        return (await show_job(conn, job)).state


async def test_jobs_are_filtered_by_arguments_time_and_tenant_together(console: Console, api: Api) -> None:
    wanted, other = await enqueue(api, "filter-a", "blue"), await enqueue(api, "filter-a", "red")
    strange = await enqueue(api, "filter-b", "blue")
    operator = await console.visitor("acme", "ops", "installation")
    soon = f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%dT%H:%M}"

    for args in ("BLU", '{"card": "blue"}'):
        shown = await operator.text("/jobs", args=args, tenant="filter-a", until=soon, kind="shop.ship", state="ready")
        assert str(wanted) in shown
        assert str(other) not in shown
        assert str(strange) not in shown
    assert str(wanted) not in await operator.text("/jobs", tenant="filter-a", since=soon)


async def test_a_reader_cannot_guess_arguments_by_the_filter(console: Console, api: Api) -> None:
    await enqueue(api, "acme", "guess-me")
    reader = await console.visitor("acme", "reader")

    assert (await reader.get("/jobs", args="guess-me")).status_code == 403
    assert 'name="args"' not in (await reader.get("/jobs")).text


async def test_samples_and_bulk_actions_show_no_arguments_to_who_did_not_look(console: Console, api: Api) -> None:
    """Each look at arguments is recorded; a preview of five jobs is no look."""
    job = await enqueue(api, "samples", "never-shown")
    operator, reader = await console.visitor("samples", "ops"), await console.visitor("samples", "reader")

    started = await operator.send("/bulk", verb="cancel", args='{"card": "never-shown"}')

    assert str(job) in (shown := await operator.text("/bulk/new", verb="cancel"))
    assert "never-shown" not in shown
    assert "never-shown" not in await operator.text("/jobs")
    path = started.headers["location"].removeprefix("/console")
    for read in (path, "/bulk", path.replace("/bulk", "/jobs"), f"/jobs/{job}"):
        assert "never-shown" not in await reader.text(read), read


async def test_a_bulk_cancel_is_previewed_started_and_shown(console: Console, api: Api) -> None:
    jobs = [await enqueue(api, "bulk-a", "gone") for _ in range(7)]
    kept = await enqueue(api, "bulk-a", "kept")
    operator = await console.visitor("bulk-a", "ops", subject="olga")

    preview = await operator.text("/bulk/new", verb="cancel", args="gone")
    started = await operator.send("/bulk", verb="cancel", args="gone", reason="withdrawn")

    assert "7" in preview
    assert sum(str(job) in preview for job in jobs) == 5
    assert started.status_code == 303
    path = started.headers["location"].removeprefix("/console")
    async with api.worker.transaction() as conn:
        while (await bulk.run(conn, int(path.rpartition("/")[2]))).state == "running":
            pass
    shown = await operator.text(path)
    assert "olga" in shown
    assert "withdrawn" in shown
    assert {await state(api, job) for job in jobs} == {"cancelled"}
    assert await state(api, kept) == "ready"
    assert "Cancel jobs" in await operator.text("/bulk")
    assert "had ended already" in (await _after(operator, f"{path}/stop"))


async def test_a_bulk_action_that_was_stopped_is_started_again_with_the_same_filter(console: Console, api: Api) -> None:
    args = {"card": "hidden"}
    which = {"tenant_id": "bulk-b", "kind": "shop.ship", "args": args, "since": "2026-01-01T00:00:00+00:00"}
    async with api.worker.transaction() as conn:
        started = await bulk.start(conn, "redrive", which)  # type: ignore[arg-type]
        await bulk.stop(conn, started)
    operator, reader = await console.visitor("bulk-b", "ops"), await console.visitor("bulk-b", "reader")

    page = (await operator.get(f"/bulk/{started}")).text
    link = re.search(r'href="/console(/bulk/new[^"]+)"', page)
    assert link is not None
    preview = await operator.text(unescape(link[1]))

    assert "Run dead letters again" in preview
    assert all(value in preview for value in ('{"card": "hidden"}', "shop.ship", "bulk-b", "2026-01-01"))
    shown = (await reader.get(f"/bulk/{started}")).text
    assert "/bulk/new" not in shown
    assert "hidden" not in shown.partition("<main")[2]


async def _after(visitor: object, path: str) -> str:
    answer = await visitor.send(path)  # type: ignore[attr-defined]
    assert answer.status_code == 303, answer.text
    return await visitor.text(answer.headers["location"].removeprefix("/console"))  # type: ignore[attr-defined, no-any-return]


ACTIONS = (
    *("/bulk", "/bulk/1/stop", "/jobs/1/restart", "/jobs/1/move", "/jobs/1/signal", "/enqueue/shop.ship"),
    *("/queues/x/limits", "/workers/00000000-0000-0000-0000-000000000000/drain", "/schedules/acme/x/move"),
    *("/schedules/acme/x/run", "/schedules/acme/x/catch-up"),
)
FORMS = (
    *("/bulk/new?verb=cancel", "/enqueue", "/queues/x/limits", "/schedules/acme/x/move", "/schedules/acme/x/catch-up"),
)


@pytest.mark.parametrize("path", ACTIONS)
async def test_a_reader_and_a_form_without_token_are_refused(console: Console, path: str) -> None:
    reader, operator = await console.visitor("acme", "reader"), await console.visitor("acme", "ops")

    assert (await reader.send(path)).status_code == 403
    assert (await operator.http.post(f"/console{path}", data={"token": "0" * 64})).status_code == 403


@pytest.mark.parametrize("path", FORMS)
async def test_a_reader_gets_no_form(console: Console, path: str) -> None:
    reader = await console.visitor("acme", "reader")

    assert (await reader.get(path)).status_code == 403


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/jobs?state=odd", "Its state is one of"),
        ("/jobs?since=soon", "Write it as"),
        ("/jobs?args=%7Bno", "Write one, such as"),
        (f"/jobs?kind={'x' * 300}", "Write less"),
        ("/jobs?tenant=other", "Leave the tenant out"),
        ("/bulk/new?verb=burn", "Choose one of"),
        ("/bulk/new?verb=cancel&state=dead", "It is for jobs that are"),
        ("/bulk/7", "no bulk action"),
        ("/enqueue/no.such", "lists them"),
        ("/schedules/acme/none/move", "no schedule"),
    ],
)
async def test_bad_input_gets_a_page_that_says_what_to_do(console: Console, path: str, words: str) -> None:
    operator = await console.visitor("acme", "ops")

    answer = await operator.get(path)

    assert 400 <= answer.status_code < 500
    assert words in answer.text


async def test_a_tenant_sees_and_stops_no_bulk_action_of_another(console: Console, api: Api) -> None:
    async with api.worker.transaction() as conn:
        started = await bulk.start(conn, "cancel", {"tenant_id": "globex"})
    operator = await console.visitor("acme", "admin")

    assert (await operator.get(f"/bulk/{started}")).status_code == 404
    assert (await operator.send(f"/bulk/{started}/stop")).status_code == 404
    assert str(started) not in await operator.text("/bulk")
    assert (await operator.send("/bulk", verb="cancel", tenant="globex")).status_code == 422


async def test_a_job_is_moved_restarted_and_signalled(console: Console, api: Api, db_session: Session) -> None:
    job = await enqueue(api, "acme")
    operator = await console.visitor("acme", "ops")

    assert (await operator.send(f"/jobs/{job}/move", at="2126-01-01T08:00")).status_code == 303
    assert await state(api, job) == "scheduled"
    assert "More actions" in await operator.text(f"/jobs/{job}")
    assert (await operator.send(f"/jobs/{job}/move", at="soon")).status_code == 422
    assert (await operator.send(f"/jobs/{job}/restart")).status_code == 303
    assert await state(api, job) == "ready"
    assert (await operator.send(f"/jobs/{job}/signal", payload="{no")).status_code == 422
    assert (await operator.send(f"/jobs/{job}/signal", payload="7")).status_code == 409
    held = next(
        each
        for each in db_session.claim(db_session.worker("w", kinds=["shop.ship"]), 1000)
        if each.id == job or db_session.release(each)
    )
    db_session.call("wait_jobs", **arrays([held]), positions=[1], events=["paid"], keys=["k"], timeouts=[None])
    assert "Signal the wait" in await operator.text(f"/jobs/{job}")
    assert (await operator.send(f"/jobs/{job}/signal", payload="7")).status_code == 303
    assert await state(api, job) == "ready"


async def test_limits_of_a_queue_are_set_by_the_installation_only(console: Console, api: Api) -> None:
    boss, operator = await console.visitor("acme", "ops", "installation"), await console.visitor("acme", "ops")
    given = {"concurrency": "5", "rate_count": "100", "rate_seconds": "60"}

    assert (await operator.send("/queues/default/limits", **given)).status_code == 403
    assert (await boss.send("/queues/default/limits", **given)).status_code == 303
    assert (await boss.send("/queues/default/limits", concurrency="many")).status_code == 422

    async with api.worker.connection() as conn:
        (found,) = [each for each in await list_queues(conn) if each.name == "default"]
    assert (found.concurrency, found.rate_count, found.rate_seconds) == (5, 100, 60.0)
    assert 'value="5"' in (await boss.get("/queues/default/limits")).text
    await boss.send("/queues/default/limits")


async def test_a_worker_is_drained_by_the_installation_only(console: Console, db_session: Session) -> None:
    worker = db_session.worker("tired")
    boss, operator = await console.visitor("acme", "ops", "installation"), await console.visitor("acme", "ops")

    assert (await operator.send(f"/workers/{worker}/drain")).status_code == 403
    assert (await boss.send(f"/workers/{worker}/drain")).status_code == 303
    assert db_session.value("select drain_asked_at is not null from ostinato_data.worker where id = %s", worker)


async def test_a_schedule_is_moved_run_and_caught_up(console: Console, api: Api) -> None:
    async with api.worker.connection() as conn:
        await schedules.upsert(
            conn, Schedule("nightly", "shop.ship", {"card": "c"}, cron="0 8 * * *", tenant_id="acme")
        )
    operator = await console.visitor("acme", "ops")
    rule = {"cron": "30 2 * * *", "zone": "Europe/Paris", "gap": "shift", "overlap": "first"}

    preview = await operator.text("/schedules/acme/nightly/move", **rule)
    moved = await operator.send("/schedules/acme/nightly/move", **rule)
    ran = await operator.send("/schedules/acme/nightly/run")

    assert re.search("Ten slots around .*, when clocks go", preview)
    assert "gap" in preview or "overlap" in preview or "a day of" in preview
    assert preview.count("02:30:00") >= 15
    assert moved.status_code == 303, moved.text
    async with api.worker.connection() as conn:
        found = await schedules.show(conn, "nightly", tenant_id="acme")
    assert (found.rule, found.zone, found.args) == ("30 2 * * *", "Europe/Paris", {"card": "c"})
    assert re.fullmatch(r"/console/jobs/\d+", ran.headers["location"])
    assert "all slots since then have fired" in await operator.text("/schedules/acme/nightly/catch-up")
    assert (await operator.get("/schedules/acme/nightly/move", cron="x")).status_code == 422
    assert (await operator.get("/schedules/acme/nightly/move", zone="Nowhere/At")).status_code == 422


async def test_a_job_of_an_open_kind_is_added_from_its_schema(console: Console, api: Api) -> None:
    operator, boss = await console.visitor("acme", "ops"), await console.visitor("acme", "ops", "installation")
    typed = {"arg.name": "Ada", "arg.times": "3", "arg.polite": "false", "arg.tags": '["a"]', "at": "2126-01-01T08:00"}

    listed = await operator.text("/enqueue")
    form = (await operator.get("/enqueue/tour.greet")).text
    added = await operator.send("/enqueue/tour.greet", **typed)

    assert "tour.greet" in listed
    assert "tour.close" not in listed
    assert set(re.findall(r'name="arg\.(\w+)"', form)) == {"name", "times", "polite", "tags"}
    async with api.worker.connection() as conn:
        job = await show_job(conn, int(added.headers["location"].rpartition("/")[2]))
    assert (job.kind, job.tenant_id, job.state) == ("tour.greet", "acme", "scheduled")
    assert job.args == {"name": "Ada", "times": 3, "polite": False, "tags": ["a"]}
    for bad in ({"arg.name": "Ada", "arg.times": "many"}, {"arg.name": "Ada", "arg.times": '"x"'}, {"arg.tags": "{"}):
        assert (await operator.send("/enqueue/tour.greet", **bad)).status_code == 422
    assert (await boss.send("/enqueue/tour.greet", **{"arg.name": "Ada"})).status_code == 422
    assert (await boss.send("/enqueue/tour.greet", **{"arg.name": "Ada", "tenant": "globex"})).status_code == 303
    assert (await operator.get("/enqueue/tour.close")).status_code == 422


async def test_a_secret_is_typed_unseen_and_an_optional_text_without_quotes(console: Console, api: Api) -> None:
    operator = await console.visitor("acme", "ops")

    form = (await operator.get("/enqueue/tour.unlock")).text
    added = await operator.send("/enqueue/tour.unlock", **{"arg.token": "open-sesame", "arg.door": "left"})

    assert '<input type="password" autocomplete="off" name="arg.token"' in form
    path = added.headers["location"].removeprefix("/console")
    looked = await operator.send(f"{path}/arguments")
    assert "left" in looked.text
    assert "open-sesame" not in looked.text
