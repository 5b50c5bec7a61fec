"""Rounds over HTTP: who may do what, what is seen by whom, and what is too late."""

from ostinato._core.engine import keys
from ostinato._core.web.routes import Route
from ostinato._faces.api.metrics_page import MetricsPage
from ostinato.apps.rounds import APP
from ostinato.apps.rounds.http import router
from tests.apps.rounds.town import TENANT, Api

GROUP = {"name": "Les voisins", "drop_time": "14:30", "zone": "Europe/Paris"}


async def a_group(api: Api) -> int:
    await api.town.at("2026-06-01T10:00:00Z")
    group = int((await api.call("POST", "/groups", status=201, json=GROUP))["id"])
    for title in ("Un", "Deux"):
        await api.call("POST", f"/groups/{group}/prompts", status=201, json={"title": title})
    for user in ("ana", "ben"):
        await api.call("PUT", f"/groups/{group}/members/{user}", json={})
    return group


async def an_open_round(api: Api) -> tuple[int, int]:
    group = await a_group(api)
    await api.town.create()
    await api.town.at("2026-06-02T12:30:00Z")
    await api.town.open()
    return group, int((await api.member("GET", f"/groups/{group}/rounds/current"))["id"])


async def test_a_group_is_made_changed_and_listed(api: Api) -> None:
    group = await a_group(api)

    shown = await api.call("GET", f"/groups/{group}")
    assert (shown["name"], shown["drop_time"], shown["members"]) == ("Les voisins", "14:30:00", 3)
    changed = await api.call("PATCH", f"/groups/{group}/settings", json={"drop_time": None, "zone": "Asia/Tokyo"})
    assert (changed["drop_time"], changed["zone"]) == (None, "Asia/Tokyo")
    assert changed["notifications_enabled"]
    assert await api.member("GET", f"/groups/{group}/settings") == {
        "drop_time": None,
        "zone": "Asia/Tokyo",
        "notifications_enabled": True,
        "effective_drop_time": "14:30:00",
        "effective_zone": "Asia/Tokyo",
    }
    rests = await api.call("PATCH", f"/groups/{group}", json={"is_active": False})
    assert (rests["is_active"], rests["name"]) == (False, "Les voisins")
    assert [each["id"] for each in await api.call("GET", "/groups")] == [group]


async def test_the_same_request_twice_makes_one_group(api: Api) -> None:
    key = {"Idempotency-Key": "once"}
    first = await api.call("POST", "/groups", status=201, json=GROUP, headers=key)
    again = await api.call("POST", "/groups", status=201, json=GROUP, headers=key)
    assert first == again
    assert len(await api.call("GET", "/groups")) == 1


async def test_what_makes_no_sense_is_refused(api: Api) -> None:
    for bad in (
        {"name": ""},
        {"name": "a", "zone": "Paris"},
        {"name": "a", "drop_time": "25:00"},
        {"name": "a", "surprise": 1},
    ):
        found = await api.http.post("/api/v1/rounds/groups", json=bad)
        assert found.status_code == 401
        await api.call("POST", "/groups", status=422, json=bad)


async def test_prompts_are_kept_by_organizers(api: Api) -> None:
    group = await a_group(api)
    body = {"type": "vote", "title": "Qui ?", "metadata": {"a": 1}, "tags": ["t"]}
    made = await api.call("POST", f"/groups/{group}/prompts", status=201, json=body)
    changed = await api.call("PATCH", f"/groups/{group}/prompts/{made['id']}", json={"is_active": False})
    assert (changed["is_active"], changed["title"], changed["metadata"]) == (False, "Qui ?", {"a": 1})
    assert len(await api.call("GET", f"/groups/{group}/prompts")) == 3
    assert await api.call("GET", f"/groups/{group}/prompts/{made['id']}") == changed
    await api.member("GET", f"/groups/{group}/prompts/{made['id']}", status=403)
    await api.member("GET", f"/groups/{group}/prompts", status=403)
    await api.call("PATCH", f"/groups/{group}/prompts/7", status=404, json={})


async def test_members_change_their_own_preferences_only(api: Api) -> None:
    group = await a_group(api)
    mine = await api.member("PUT", f"/groups/{group}/members/ana", json={"mute": True})
    assert (mine["mute"], mine["push"]) == (True, True)
    await api.member("PUT", f"/groups/{group}/members/ben", status=403, json={"mute": True})
    await api.member("PUT", f"/groups/{group}/members/eve", status=403, json={})
    await api.call("DELETE", f"/groups/{group}/members/ben", status=204)
    await api.call("DELETE", f"/groups/{group}/members/ben", status=404)
    listed = await api.member("GET", f"/groups/{group}/members")
    assert [each["user_id"] for each in listed] == ["ana", "olga"]
    await api.member("DELETE", f"/groups/{group}/members/olga", status=403)
    await api.member("DELETE", f"/groups/{group}/members/ana", status=204)
    await api.member("GET", f"/groups/{group}", status=404)


async def test_the_openings_are_told_with_the_days_of_a_moved_clock(api: Api) -> None:
    group = await a_group(api)
    await api.town.at("2026-10-20T10:00:00Z")
    found = await api.member("GET", f"/groups/{group}/openings")
    assert len(found) == 14
    assert [each["hours"] for each in found[:6]] == [24, 24, 24, 24, 25, 24]


async def test_a_round_is_played_and_then_only_read(api: Api) -> None:
    group, round_id = await an_open_round(api)
    shown = await api.member("GET", f"/rounds/{round_id}")
    assert shown["status"] == "open"
    assert shown["resolved_title"] in ("Un", "Deux")
    mine = await api.member("PUT", f"/rounds/{round_id}/submission", json={"body": "moi"})
    again = await api.member("PUT", f"/rounds/{round_id}/submission", json={"body": "non"})
    assert (again["id"], again["body"]) == (mine["id"], "non")
    said = {"body": "bien", "submission_id": mine["id"]}
    await api.member("POST", f"/rounds/{round_id}/comments", status=201, json=said, user="ben")
    vote = {"submission_id": mine["id"]}
    await api.member("PUT", f"/rounds/{round_id}/vote", status=204, json=vote, user="ben")
    await api.member("PUT", f"/rounds/{round_id}/vote", status=422, json={})
    other = {"member_id": "ben"}
    await api.member("PUT", f"/rounds/{round_id}/vote", status=204, json=other)
    await api.member("PUT", f"/rounds/{round_id}/vote", status=204, json=vote)
    for nobody in ({"member_id": "eve"}, {"submission_id": 7}):
        await api.member("PUT", f"/rounds/{round_id}/vote", status=404, json=nobody)
    assert (await api.member("GET", f"/rounds/{round_id}/votes")) == [
        {"submission_id": mine["id"], "member_id": None, "votes": 2}
    ]

    await api.town.at("2026-06-03T12:30:00Z")
    await api.town.close()

    for method, path, body in (
        ("PUT", "submission", {"body": "trop tard"}),
        ("POST", "comments", {"body": "trop tard"}),
        ("PUT", "vote", {"member_id": "ben"}),
    ):
        problem = await api.member(method, f"/rounds/{round_id}/{path}", status=409, json=body)
        assert problem["code"] == "conflict"
        assert problem["values"]["status"] == "closed"
    assert len(await api.member("GET", f"/rounds/{round_id}/comments")) == 1
    history = await api.member("GET", f"/groups/{group}/rounds")
    assert [each["status"] for each in history] == ["closed"]
    assert await api.member("GET", f"/groups/{group}/rounds", params={"before": "2026-06-02"}) == []
    await api.member("GET", f"/groups/{group}/rounds/current", status=404)


async def test_others_are_seen_after_taking_part_or_after_closing(api: Api) -> None:
    """R40: who sees what."""
    _, round_id = await an_open_round(api)
    await api.member("PUT", f"/rounds/{round_id}/submission", json={"body": "secret"})
    place = f"/rounds/{round_id}/submissions"
    assert await api.member("GET", place, user="ben") == []
    assert await api.member("GET", f"/rounds/{round_id}/votes", user="ben") == []
    assert len(await api.member("GET", place)) == 1

    vote = {"member_id": "ana"}
    await api.member("PUT", f"/rounds/{round_id}/vote", status=204, json=vote, user="ben")
    assert [each["body"] for each in await api.member("GET", place, user="ben")] == ["secret"]

    await api.call("PUT", f"/groups/{(await api.call('GET', '/groups'))[0]['id']}/members/cleo", json={})
    assert await api.member("GET", place, user="cleo") == []
    assert len(await api.call("GET", place)) == 1  # who keeps the group sees all
    await api.town.at("2026-06-03T12:30:00Z")
    await api.town.close()
    assert len(await api.member("GET", place, user="cleo")) == 1


async def test_the_prompt_of_a_scheduled_round_does_not_show(api: Api) -> None:
    group = await a_group(api)
    await api.town.create()
    (found,) = await api.member("GET", f"/groups/{group}/rounds")
    assert (found["status"], found["resolved_title"]) == ("scheduled", None)


async def test_only_members_of_the_group_take_part(api: Api) -> None:
    _, round_id = await an_open_round(api)
    body = {"body": "moi aussi"}
    await api.member("PUT", f"/rounds/{round_id}/submission", status=404, json=body, user="eve")
    await api.member("GET", f"/rounds/{round_id}", status=404, user="eve")
    await api.call("PUT", f"/rounds/{round_id}/submission", status=403, json=body, user="otto")
    assert await api.member("GET", "/groups", user="eve") == []


async def test_another_tenant_finds_nothing(api: Api) -> None:
    group, round_id = await an_open_round(api)
    for path in (f"/groups/{group}", f"/rounds/{round_id}", f"/groups/{group}/members"):
        await api.call("GET", path, status=404, tenant="other")
    await api.call("PATCH", f"/groups/{group}/settings", status=404, tenant="other", json={"zone": "UTC"})


async def test_every_route_lets_its_roles_in_and_no_others(api: Api) -> None:
    tried = 0
    bearers = {}
    async with api.town.engine.client.connection() as conn:
        for role in ("member", "organizer", "admin", "ops", "somebody"):
            made = await keys.create(conn, tenant_id=TENANT, subject="x", roles=[role])
            bearers[role] = {"Authorization": f"Bearer {made.key}"}
    for route in router.routes:
        assert isinstance(route, Route)
        assert route.needs is not None
        path = route.path_format.format(**dict.fromkeys(route.param_convertors, "7"))
        for method in route.methods or ():
            assert (await api.http.request(method, path)).status_code == 401
            for role, bearer in bearers.items():
                seen = await api.http.request(method, path, headers=bearer)
                assert (seen.status_code == 403) is (role not in route.needs.roles), (path, role)
                assert seen.status_code < 500, seen.text
                tried += 1
    assert tried > 100


async def test_the_figures_tell_what_the_jobs_did(api: Api) -> None:
    """Run time, failures by type, lateness, groups a minute: for operators, and for Prometheus."""
    group = await a_group(api)
    (bad,) = await api.town.many(1)
    async with api.town.refusing(bad):
        await APP["rounds.create"].enqueue(api.town.engine.client)
        await api.town.engine.run_until_idle(APP, move_clock=False)

    found = {each["job"]: each for each in await api.call("GET", "/figures", role="ops")}
    assert list(found) == ["create", "open", "close"]
    assert (found["create"]["groups"], found["create"]["failed"]) == (1, 1)
    await api.call("GET", "/figures", status=403, role="admin")  # they are those of all tenants
    page = bytes((await MetricsPage(api.parts).read()).body).decode()
    for line in (
        'ostinato_rounds_groups{job="create"} 1.0',
        'ostinato_rounds_failures{error="ostinato_error",job="create"} 1.0',
        'ostinato_rounds_run_seconds{job="create"}',
        'ostinato_rounds_groups_per_minute{job="create"}',
        'ostinato_rounds_lateness_seconds{job="open"}',
        'ostinato_figure_failures_total{app="rounds"} 0.0',
    ):
        assert line in page, line
    ours = [line for line in page.splitlines() if line.startswith("ostinato_rounds_")]
    private = (TENANT, GROUP["name"], str(group), str(bad))
    assert not [line for line in ours for name in private if name in line]
