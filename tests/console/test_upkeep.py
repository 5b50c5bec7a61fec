"""What operators look after on the pages: why they act; buried events, endpoints, schedules and leases."""

import re
from html import unescape

import pytest

from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.base.settings import Settings
from ostinato._core.db.embedded import Urls
from ostinato._core.engine import audit, leases, schedules, subscriptions, webhooks
from ostinato._core.engine.inspect import show_job
from ostinato._core.engine.schedules import Schedule
from ostinato._core.runtime.testing import KEY
from ostinato._faces.console.names import segment
from tests.api.conftest import Api
from tests.console import hostile
from tests.console.conftest import Console, Visitor
from tests.runtime.receiver import Receiver, Reply
from tests.sql.deliveries import take, tell
from tests.sql.engine import Session

FORM = re.compile(r'<form method="post"[^>]*action="/console([^"]+)".*?</form>', re.DOTALL)
NO_REASON = ("/prefer", "/sign-out")


@pytest.fixture
def api_settings() -> Settings:
    return Settings(secret_key=KEY, webhooks_allow_private="127.0.0.1:*")


async def entries(api: Api, verb: str) -> list[audit.Entry]:
    async with api.worker.connection() as conn:
        return await audit.list_entries(conn, verb=verb, most=5)


async def test_every_form_that_acts_asks_why(console: Console, api: Api, api_urls: Urls, db_session: Session) -> None:
    """Also one without scripts: the field is a part of the form that is sent."""
    planted = await hostile.plant(api, api_urls)
    db_session.call("subscribe", name="why", start="now")
    tenant = hostile.TENANT
    boss = await console.visitor(tenant, "admin", "ops", "installation")
    paths = [
        *hostile.pages(planted),
        *hostile.one_event(planted),
        "/schedules-new",
        "/subscriptions/why",
        "/bulk/new?verb=cancel",
    ]
    silent: set[str] = set()
    asked: set[str] = set()
    for path in paths:
        for form in FORM.finditer((await boss.get(path)).text):
            if form[1] not in NO_REASON:
                (asked if 'name="reason"' in form[0] else silent).add(unescape(form[1]))

    assert silent == set()
    words = ("/cancel", "/retry", "/drain", "/revoke", "/pause", "/run", "/redeliver", "/release", "/arguments", "/ack")
    assert [word for word in words if not any(path.endswith(word) for path in asked)] == []


async def test_the_reason_of_a_button_is_kept_in_the_audit(console: Console, api: Api) -> None:
    job = await api.parts.client.for_tenant("acme").enqueue("shop.ship", {"card": "x"})
    ops = await console.visitor("acme", "ops", subject="olga")

    assert "pourquoi" not in await ops.text(f"/jobs/{job}")
    await ops.send(f"/jobs/{job}/cancel", reason="the order was withdrawn")

    page = await ops.text(f"/jobs/{job}")
    assert "Reason: the order was withdrawn" in page
    assert "Error of attempt" not in page  # somebody wanted it so
    (entry,) = await entries(api, "cancel")
    assert (entry.actor, entry.reason) == ("olga", "the order was withdrawn")
    async with api.worker.connection() as conn:
        assert (await show_job(conn, job)).state == "cancelled"


def bury(db: Session, name: str, *keys: str) -> list[int]:
    """Events that a subscription gave up; their positions."""
    db.call("subscribe", name=name, start="now", on_poison="skip")
    tell(db, *keys, type=f"{name}.said")
    worker = db.worker("digger", kinds=[name])
    db.fail(*take(db, worker, name=name))
    rows = db.call("list_buried", subscription=name)
    return sorted(row["position"] for row in rows)


async def buried_in(api: Api, name: str) -> set[int]:
    async with api.worker.connection() as conn:
        return {each.position for each in await subscriptions.buried(conn, name)}


async def test_one_buried_event_is_delivered_again_and_one_is_discarded(
    console: Console, api: Api, db_session: Session
) -> None:
    first, second, third = bury(db_session, "upkeep", "a", "b", "c")
    boss = await console.visitor("acme", "ops", "installation")

    again = await boss.send("/subscriptions/upkeep/redeliver", position=str(first), reason="fixed")
    gone = await boss.send("/subscriptions/upkeep/discard", position=str(second), reason="of no use")

    assert (again.status_code, gone.status_code) == (303, 303)
    assert await buried_in(api, "upkeep") == {third}
    assert (await entries(api, "discard"))[0].reason == "of no use"
    page = await boss.get("/subscriptions/upkeep")
    assert f'name="position" value="{third}"' in page.text
    assert (await boss.send("/subscriptions/upkeep/discard", position="x")).status_code == 422


async def test_a_replay_counts_first_from_a_position_or_a_time_and_changes_nothing_until_it_is_sent(
    console: Console, api: Api, db_session: Session
) -> None:
    db_session.call("subscribe", name="mirror", start="now")
    tell(db_session, "a", "b")
    boss = await console.visitor("acme", "ops", "installation")
    waiting = len(db_session.call("list_jobs", kind="mirror"))

    by_place = await boss.text("/subscriptions/mirror/replay", since="1")
    by_time = await boss.text("/subscriptions/mirror/replay", at="2020-01-01T00:00")

    counted = re.search(r"(\d+) events", by_place)
    assert counted is not None
    assert int(counted[1]) >= 2
    assert counted[0] in by_time
    assert len(db_session.call("list_jobs", kind="mirror")) == waiting
    assert (await boss.get("/subscriptions/mirror/replay", since="soon")).status_code == 422
    sent = await boss.send("/subscriptions/mirror/replay", since="2020-01-01T00:00:00+00:00", reason="a bug")
    assert sent.status_code == 303
    assert f"{counted[0]} are replayed" in await boss.text("/subscriptions/mirror")


async def test_what_cannot_be_undone_wants_the_name_to_be_typed(
    console: Console, api: Api, db_session: Session
) -> None:
    db_session.call("subscribe", name="gone", start="now")
    async with api.worker.connection() as conn:
        await webhooks.create_endpoint(conn, "old", "https://partner.example.com/in", tenant_id="acme")
    boss = await console.visitor("acme", "ops", "installation")

    for path, typed in (("/subscriptions/gone/drop", "gone"), ("/webhooks/acme/old/remove", "old")):
        assert (await boss.send(path)).status_code == 422
        assert (await boss.send(path, typed="other")).status_code == 422
        assert (await boss.get(path.rpartition("/")[0])).status_code == 200
        assert (await boss.send(path, typed=typed, reason="moved")).status_code == 303
        assert 400 <= (await boss.get(path.rpartition("/")[0])).status_code < 500


async def test_an_endpoint_is_changed_and_its_inner_address_refused(console: Console, api: Api) -> None:
    async with api.worker.connection() as conn:
        await webhooks.create_endpoint(conn, "till", "https://partner.example.com/in", tenant_id="acme")
    ops, other = await console.visitor("acme", "ops"), await console.visitor("globex", "ops")
    given = {"url": "https://partner.example.com/new", "types": "order.*", "description": "the till", "timeout": "2,5"}

    assert (await ops.send("/webhooks/acme/till/change", **given, reason="they moved")).status_code == 303
    assert (await other.send("/webhooks/acme/till/change", **given)).status_code == 404
    inner = await ops.send("/webhooks/acme/till/change", **{**given, "url": "http://10.0.0.1/"})
    assert (inner.status_code, (await ops.send("/webhooks/acme/till/change", timeout="soon")).status_code) == (422, 422)

    async with api.worker.connection() as conn:
        found = await webhooks.show_endpoint(conn, "till", tenant_id="acme")
    assert (found.url, found.event_types, found.description) == (given["url"], ["order.*"], "the till")
    assert found.timeout_seconds == 2.5


async def test_an_endpoint_is_tried_from_its_page(console: Console, api: Api) -> None:
    ops = await console.visitor("acme", "ops")
    with Receiver() as receiver:
        async with api.worker.connection() as conn:
            await webhooks.create_endpoint(
                conn, "near", receiver.url, tenant_id="acme", allowed=parse_allowed("127.0.0.1:*")
            )
        taken = await said(ops, "/webhooks/acme/near/test")
        receiver.default = Reply(503)
        refused = await said(ops, "/webhooks/acme/near/test")

    assert len(receiver.requests) == 2
    assert "The test was taken" in taken
    assert "The test was not taken" in refused
    assert len(await entries(api, "test")) == 2


async def said(visitor: Visitor, path: str, **form: str) -> str:
    answer = await visitor.send(path, **form)
    assert answer.status_code == 303, answer.text
    return await visitor.text(answer.headers["location"].removeprefix("/console"))


async def test_a_schedule_is_made_and_what_it_starts_is_changed(console: Console, api: Api) -> None:
    boss = await console.visitor("acme", "ops", "installation")
    given = {"tenant": "acme", "name": "weekly", "kind": "shop.ship", "cron": "0 8 * * MON", "zone": "Europe/Paris"}

    made = await boss.send("/schedules-new", **given, args='{"card": "c"}', catch_up="all", reason="agreed")
    again = await boss.send("/schedules-new", **given)
    changed = await boss.send(
        "/schedules/acme/weekly/change", kind="shop.pack", args='{"card": "d"}', catch_up="none", queue="slow"
    )
    kept = await boss.send("/schedules/acme/weekly/change", kind="shop.pack", catch_up="none", queue="slow")

    assert (made.status_code, again.status_code, changed.status_code, kept.status_code) == (303, 409, 303, 303)
    async with api.worker.connection() as conn:
        found = await schedules.show(conn, "weekly", tenant_id="acme")
    assert (found.kind, found.args, found.catch_up, found.queue) == ("shop.pack", {"card": "d"}, "none", "slow")
    assert (found.rule, found.zone) == ("0 8 * * MON", "Europe/Paris")
    assert '"d"' not in (await boss.get("/schedules/acme/weekly/change")).text
    for bad in ({"args": "["}, {"catch_up": "some"}):
        assert (await boss.send("/schedules/acme/weekly/change", **bad)).status_code == 422


async def test_a_declared_schedule_keeps_all_that_the_form_does_not_name(console: Console, api: Api) -> None:
    declared = Schedule(
        *("daily", "shop.ship", {"card": "c"}), cron="30 2 * * *", zone="Europe/Paris", gap="skip", overlap="last",
        owner="shop", key="7", priority=3, tenant_id="acme",
    )  # fmt: skip
    async with api.worker.connection() as conn:
        await schedules.upsert(conn, declared)
        before = await schedules.show(conn, "daily", tenant_id="acme")
    boss = await console.visitor("acme", "ops", "installation")

    assert "shop declares this schedule" in await boss.text("/schedules/acme/daily/change")
    assert (await boss.send("/schedules/acme/daily/change", kind="shop.ship", catch_up="all")).status_code == 303

    async with api.worker.connection() as conn:
        after = await schedules.show(conn, "daily", tenant_id="acme")
    changed = {name for name in before.__slots__ if getattr(before, name) != getattr(after, name)}
    assert changed - {"timed_at", "next_at", "slot_local"} == {"catch_up"}


async def test_a_tenant_makes_schedules_of_open_kinds_for_itself_only(console: Console, api: Api) -> None:
    ops = await console.visitor("acme", "ops")

    closed = await ops.send("/schedules-new", name="mine", kind="shop.audit", cron="0 8 * * *", zone="UTC")
    theirs = await ops.send("/schedules/globex/daily/change", kind="shop.ship")

    assert (closed.status_code, theirs.status_code) == (422, 404)
    assert "Open kinds:" in closed.text


async def test_a_lease_is_released_with_a_reason_and_one_that_is_held_only_by_force(console: Console, api: Api) -> None:
    async with api.worker.connection() as conn:
        await leases.acquire(conn, "nightly/close", holder="host-7", ttl=3600, tenant="acme")
    ops, other = await console.visitor("acme", "ops"), await console.visitor("globex", "ops")
    path = f"/leases/acme/{segment('nightly/close')}/release"

    shown = await ops.get("/leases", prefix="nightly")
    held = await ops.send(path, reason="gone")
    theirs = await other.send(path, force="1")
    freed = await said(ops, path, force="1", reason="the host burnt")

    assert f'action="/console{path}"' in shown.text
    assert (held.status_code, theirs.status_code) == (423, 404)
    assert "The lease is free" in freed
    assert "nightly/close" not in await ops.text("/leases")
    assert "Nobody has this lease" in await said(ops, path)
    async with api.worker.connection() as conn:
        found = await audit.list_entries(conn, tenant_id="acme", target="nightly/close")
    assert "the host burnt" in {each.reason for each in found}


async def test_many_leases_are_read_page_by_page_and_found_by_the_begin_of_their_names(
    console: Console, api: Api
) -> None:
    names = [f"l/{n:03}" for n in range(52)]
    async with api.worker.connection() as conn:
        for name in (*names, "other"):
            await leases.acquire(conn, name, holder="h", ttl=3600, tenant="many")
    ops = await console.visitor("many", "ops")

    first = (await ops.get("/leases", prefix="l/")).text
    more = re.search(r'rel="next" href="/console([^"]+)"', first)
    assert more is not None
    second = (await ops.get(unescape(more[1]))).text

    shown = [re.findall(r'<td class="mono">(l/\d+)', page) for page in (first, second)]
    assert shown[0] + shown[1] == names
    assert "other" not in first + second
    assert 'rel="next"' not in second
