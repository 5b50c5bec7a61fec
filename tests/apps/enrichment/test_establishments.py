"""Establishments: whether the SIRET of a request is one of its company, and what that costs."""

from datetime import timedelta

import psycopg

from tests.apps.enrichment.place import ALL_FINE, Place

HEAD, SECOND, INVENTED = "99900000300015", "99900000300023", "99900000399999"
PAUSE = (
    "update enrichment.source set paused_until = ostinato.now() + interval '60 s', paused_for = 'RATE_LIMIT'"
    " where source_api = 'API_RECHERCHE_ENTREPRISES'"
)
CHECKS = (
    "from ostinato_data.scheduled s join ostinato_data.job j on j.id = s.job_id where j.kind like '%%establishment'"
)
SETTLED = "select count(*) = 0 from enrichment.establishment where state = 'PENDING'"


async def told(place: Place, request_id: str) -> tuple[str | None, str]:
    request = (await place.get(request_id)).json()["request"]
    return request["siret_status"], request["enrichment_status"]


def asked(place: Place, number: str) -> int:
    return sum(f"q={number}&" in call.query for call in place.sources.faults.calls)


async def test_an_invented_siret_of_a_known_company_says_so(place: Place) -> None:
    async with place.worker():
        invented = await place.made(None, siret=INVENTED)
        second = await place.made(None, siret=SECOND)
        head = await place.made(None, siret=HEAD)
        none = await place.made()
        await place.ended()
        await place.lab.until(SETTLED)

    assert await told(place, invented) == ("UNKNOWN", "SUCCESS")
    assert await told(place, second) == ("KNOWN", "SUCCESS")
    assert await told(place, head) == ("KNOWN", "SUCCESS")
    assert await told(place, none) == (None, "SUCCESS")
    assert [asked(place, number) for number in (ALL_FINE, HEAD, SECOND, INVENTED)] == [1, 0, 1, 1]
    assert await place.lab.value("select count(*) from enrichment.fetched") == 0


async def test_a_siret_is_asked_for_once_for_all_tenants_and_again_after_thirty_days(place: Place) -> None:
    await place.enriched()
    async with place.worker():
        first = await place.post(None, siret=INVENTED)
        await place.lab.until(SETTLED)
        other = await place.post(None, siret=INVENTED, tenant="globex")
        await place.pass_days(31)
        later = await place.post(None, siret=INVENTED)
        await place.ended()
        await place.lab.until(SETTLED)

    states = [answer.json()["request"]["siret_status"] for answer in (first, other, later)]
    assert states == ["PENDING", "UNKNOWN", "PENDING"]
    assert asked(place, INVENTED) == 2


async def test_a_siret_of_an_unknown_company_is_unknown_without_a_call(place: Place) -> None:
    async with place.worker():
        request_id = await place.made(None, siret="12345678200010")
        await place.ended("123456782")

    assert await told(place, request_id) == ("UNKNOWN", "FAILED")
    assert asked(place, "12345678200010") == 0


async def test_a_search_that_is_down_leaves_the_siret_pending_until_it_answers(place: Place) -> None:
    await place.enriched()
    place.sources.order("/registers/search", "503,503,503")
    async with place.worker():
        request_id = await place.made(None, siret=SECOND)
        await place.lab.until(
            "select exists (select from ostinato_data.outcome o join ostinato_data.job j on j.id = o.job_id"
            " where j.kind like '%%establishment')"
        )
        before = await told(place, request_id)
        await place.lab.engine.clock.move(timedelta(seconds=61))
        await place.lab.until(SETTLED)

    assert before == ("PENDING", "SUCCESS")
    assert await told(place, request_id) == ("KNOWN", "SUCCESS")


async def test_a_check_sleeps_through_a_pause_and_is_woken_when_it_is_over(place: Place) -> None:
    await place.enriched()
    await place.lab.engine.clock.freeze()
    await place.lab.rows(PAUSE)
    async with place.worker():
        await place.made(None, siret=SECOND)
        await place.made(None, siret=INVENTED)
        await place.lab.until(f"select count(*) = %s {CHECKS}", 2)
        assert await place.lab.rows(f"select s.reason {CHECKS}") == [("snooze",)] * 2
        assert asked(place, SECOND) + asked(place, INVENTED) == 0
        await place.lab.engine.clock.move(timedelta(seconds=60))  # one wakes up then, the other five seconds later
        await place.lab.until(SETTLED)

    assert await place.lab.value("select count(*) from ostinato_data.outcome where outcome <> 'done'") == 0


async def test_a_check_sleeps_through_a_pause_that_begins_before_its_turn(place: Place) -> None:
    await place.enriched()
    await place.lab.engine.clock.freeze()
    url = place.lab.engine.database.admin_url
    async with place.worker():
        async with await psycopg.AsyncConnection.connect(url) as conn:
            await conn.execute("select from enrichment.source where source_api like '%RECHERCHE%' for update")
            await place.made(None, siret=SECOND)
            await place.lab.until(
                "select exists (select from pg_stat_activity where wait_event_type = 'Lock' and query like %s)",
                "%take_turn%",
            )
            await conn.execute(PAUSE)
        await place.lab.until(f"select count(*) = %s {CHECKS}", 1)
        assert await place.lab.rows(f"select s.reason {CHECKS}") == [("snooze",)]  # no attempt failed
        await place.lab.engine.clock.move(timedelta(seconds=60))
        await place.lab.until(SETTLED)

    assert asked(place, SECOND) == 1
