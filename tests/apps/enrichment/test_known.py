"""A request for a company that is known is one statement, and so is opening it."""

import pytest

from ostinato.apps.enrichment import APP
from ostinato.apps.enrichment.views import Created, Opened
from ostinato.web import Caller
from tests.apps.enrichment.place import ALL_FINE, Place
from tests.payloads import checked


def no_transaction(_: Caller) -> None:
    raise AssertionError("a transaction was opened")


async def test_a_known_company_is_asked_for_and_opened_without_a_transaction(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place.enriched()
    with monkeypatch.context() as closed:
        closed.setattr(Caller, "transaction", no_transaction)
        made = await place.post(ALL_FINE)
        keyed = await place.post(ALL_FINE, headers={"Idempotency-Key": "one"})
        opened = await place.get(made.json()["request"]["id"])
    again = await place.post(ALL_FINE, headers={"Idempotency-Key": "one"})

    assert (made.status_code, keyed.status_code, opened.status_code) == (201, 201, 200)
    assert (
        Created.model_validate_json(made.content).model_dump()
        == Created.model_validate_json(opened.content).model_dump()
    )
    assert len(Opened.model_validate_json(opened.content).documents) == 3
    assert (again.content, again.headers["Idempotency-Replayed"]) == (keyed.content, "true")
    assert (await place.types()).count("Requested") == 3
    assert await place.jobs() == 1


async def test_all_events_of_a_run_are_as_declared(place: Place) -> None:
    """A request for a company that is known emits in SQL, where no type checks what it writes."""
    request_id = await place.enriched()
    for siret in (None, "99900000300015"):
        assert (await place.post(ALL_FINE, siret=siret)).status_code == 201
    emitted = await place.events()
    place.sources.order("/registers/*", "500*")
    async with place.worker():
        await place.pass_days(31)
        assert (await place.refresh(request_id)).status_code == 202
        await place.ended()

    emitted += await place.events()  # the first ones may be past their retention by now
    assert checked(APP, emitted) == {each.type.name for each in APP.events}
    outcomes = {payload["enrichment_status"] for name, payload in emitted if name.endswith("Completed")}
    assert outcomes == {"SUCCESS", "FAILED"}


async def test_a_known_company_of_another_tenant_is_answered_and_its_requests_are_not_shown(place: Place) -> None:
    mine = await place.enriched()

    theirs = await place.post(ALL_FINE, tenant="globex")

    assert theirs.status_code == 201
    assert theirs.json()["company"]["legal_name"] == "COMPAGNIE DES ESSAIS"
    assert (await place.get(mine, tenant="globex")).status_code == 404


async def test_a_company_that_is_not_known_is_left_to_the_transaction(place: Place) -> None:
    made = await place.post(ALL_FINE, headers={"Idempotency-Key": "one"})

    assert (made.status_code, made.json()["enrichment_running"]) == (202, True)
    assert await place.jobs() == 1


async def test_what_a_tenant_may_see_of_a_company_is_no_hash_of_all_its_requests(place: Place) -> None:
    tables = ("company", "company_document", "company_source_retrieval", "company_field_provenance", "establishment")
    async with place.api.worker.for_tenant("acme").transaction() as conn:
        for table in tables:
            which = "siren" if table == "company" else "company_siren"
            asked = f"explain select {which} from enrichment.{table} where {which} = '1'"  # noqa: S608 - names of ours
            plan = await conn.execute(asked.encode())
            lines = [line for (line,) in await plan.fetchall()]
            assert any("SubPlan" in line for line in lines)
            assert not any("hashed" in line for line in lines)
