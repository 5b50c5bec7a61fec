"""The calendar of a group on the console: what was, what is open and what comes, with the days of clock changes."""

from datetime import UTC, datetime, time

from ostinato._core.base.settings import Settings
from ostinato._core.engine import keys
from ostinato._core.runtime.observe.panels import Look
from ostinato._faces.console.text import SPACE, language
from ostinato.apps.rounds import pages, rules
from ostinato.apps.rounds.model import Timing
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


def test_what_is_unusual_about_a_day_is_said_in_french() -> None:
    """Each note that `rules` makes, of both changes of a year."""
    now = datetime(2026, 3, 1, tzinfo=UTC)
    words = language("fr", first="ostinato.apps.rounds").gettext
    look = Look(None, "olga", frozenset(), {}, now, Settings(), words)
    days = [
        day for hour in (2, 14) for day in rules.openings(now, Timing(time(hour, 30), "Europe/Paris"), 300) if day.note
    ]

    said = {part for day in days for part in pages._noted(day.note, look).split("; ")}

    assert {part.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") for part in said} == {
        f"02:30 n'existe pas ce jour-là{SPACE}: 03:30 à la place",
        f"02:30 vient deux fois{SPACE}: la première compte",
        f"l'heure change avant la fermeture{SPACE}: 23 h",
        f"l'heure change avant la fermeture{SPACE}: 25 h",
        "l'heure change ce jour-là",
    }
