"""The calendar of a group on the console: what was, what is open and what comes, with the days of clock changes."""

from ostinato._core.engine import keys
from tests.apps.rounds.town import Api, Town
from tests.console.conftest import Visitor


async def visitor(api: Api, *roles: str, tenant: str = "acme") -> Visitor:
    async with api.town.engine.client.connection() as conn:
        key = (await keys.create(conn, tenant_id=tenant, subject="olga", roles=roles)).key
    api.http.cookies.clear()
    entered = await api.http.post("/console/sign-in", data={"key": key})
    assert entered.status_code == 303, entered.text
    return Visitor(api.http)


async def test_the_calendar_of_a_group_has_its_rounds_and_what_comes(api: Api, town: Town) -> None:
    group = await town.group(drop_time="02:30")
    await town.create()
    organizer = await visitor(api, "organizer", "reader")

    front = await organizer.text("/apps/rounds")
    month = await organizer.text(f"/apps/rounds/calendar?group={group}")
    moved = await organizer.text(f"/apps/rounds/calendar?group={group}&month=2026-10")
    wrong = [
        (await organizer.get(f"/apps/rounds/calendar?group={group}&month={each}")).status_code
        for each in ("x", "1900-01", "2026-13")
    ]
    missing = (await organizer.get("/apps/rounds/calendar?group=1")).status_code
    reader = await visitor(api, "reader")
    refused = (await reader.get(f"/apps/rounds/calendar?group={group}")).status_code
    other = await visitor(api, "admin", tenant="globex")
    strange = (await other.get(f"/apps/rounds/calendar?group={group}")).status_code

    assert "Europe/Paris" in front
    assert "scheduled" in month
    assert "to come" in month
    assert "clocks go back" in moved
    assert wrong == [422] * 3
    assert (missing, refused, strange) == (404, 403, 404)
