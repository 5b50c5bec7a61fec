"""The state machine in the database: every transition, every invariant, for everybody."""

import json
from collections.abc import Mapping
from typing import Any

import psycopg
import pytest

from ostinato._core.base.errors import IllegalTransition, InvariantBroken, LeaseLost
from ostinato._core.engine import leases, machines
from ostinato.apps.enrichment.lock import LOCK_TENANT
from ostinato.apps.enrichment.machine import COMPANY, ENTITY
from tests.apps.enrichment.place import ALL_FINE, Place

SHOWN = ("request", "company", "company_document", "company_source_retrieval", "company_field_provenance")
FINE: dict[str, object] = {
    "core_identity_present": True,
    "required_sources_failed_count": 0,
    "optional_sources_failed_count": 0,
    "enrichment_error": None,
    "job_id": None,
    "lock_token": None,
}
PARTLY = FINE | {"optional_sources_failed_count": 1, "enrichment_error": "INPI_RNE:-:TIMEOUT"}
BAD = FINE | {
    "core_identity_present": False,
    "required_sources_failed_count": 1,
    "enrichment_error": "API_RECHERCHE_ENTREPRISES:503:UPSTREAM_5XX",
}


async def move(place: Place, event: str, changes: Mapping[str, object] | None = None) -> str:
    async with place.lab.client.transaction() as conn:
        return await machines.transition(conn, COMPANY, ENTITY, ALL_FINE, event, by="test", changes=changes)


async def lock(place: Place) -> dict[str, object]:
    """The lock of the company, and what a run sets with it."""
    async with place.lab.client.connection() as conn:
        lease = await leases.acquire(conn, f"company_enrichment:{ALL_FINE}", holder="test", ttl=120, tenant=LOCK_TENANT)
    return {"lock_token": lease.token, "job_id": 1, "run_trigger": "REQUEST_CREATED"}


async def unlock(place: Place) -> None:
    await place.lab.rows("delete from ostinato_data.lease")


@pytest.fixture(autouse=True)
async def company(place: Place) -> None:
    await place.lab.rows("insert into enrichment.company (siren) values (%s)", ALL_FINE)


async def run_to(place: Place, event: str, changes: Mapping[str, object]) -> str:
    await unlock(place)
    await move(place, "start", await lock(place))
    return await move(place, event, changes)


async def test_the_database_has_the_machine_that_is_declared(place: Place) -> None:
    stored = await place.lab.value("select definition from ostinato_data.machine where name = 'company_enrichment'")

    assert stored == json.loads(COMPANY.definition())


async def test_every_transition_of_the_contract_is_possible(place: Place) -> None:
    old = "update enrichment.company set updated_at = ostinato.now() - interval '31 days'"

    assert await run_to(place, "fail", BAD) == "FAILED"  # PENDING to RUNNING to FAILED
    assert await run_to(place, "end_partly", PARTLY) == "PARTIAL"  # FAILED to RUNNING
    assert await run_to(place, "succeed", FINE) == "SUCCESS"  # PARTIAL to RUNNING
    await place.lab.rows(old)
    assert await move(place, "expire") == "STALE"
    assert await run_to(place, "end_partly", PARTLY) == "PARTIAL"  # STALE to RUNNING
    await place.lab.rows(old)
    assert await move(place, "expire") == "STALE"
    assert await run_to(place, "succeed", FINE) == "SUCCESS"
    await unlock(place)
    refresh = await lock(place) | {"run_trigger": "MANUAL_REFRESH"}
    assert await move(place, "refresh", refresh) == "RUNNING"
    assert await move(place, "take_over", refresh | {"attempt": 2}) == "RUNNING"


@pytest.mark.parametrize("event", ["succeed", "end_partly", "fail", "expire", "refresh"])
async def test_other_transitions_are_refused(place: Place, event: str) -> None:
    with pytest.raises(IllegalTransition):
        await move(place, event, BAD)


async def test_psql_cannot_write_a_state(place: Place) -> None:
    with pytest.raises(Exception, match="cannot be written"):
        await place.lab.rows("update enrichment.company set enrichment_status = 'SUCCESS'")


async def test_invariant_1_running_has_a_live_lock(place: Place) -> None:
    with pytest.raises(LeaseLost):
        await move(place, "start", {"job_id": 1})
    with pytest.raises(InvariantBroken):
        await move(place, "start", await lock(place) | {"job_id": None})
    with pytest.raises(LeaseLost):
        await move(place, "start", {"job_id": 1, "lock_token": 4711})


@pytest.mark.parametrize(
    ("event", "changes"),
    [
        pytest.param("succeed", FINE | {"core_identity_present": False}, id="invariant 2"),
        pytest.param("succeed", FINE | {"required_sources_failed_count": 1}, id="invariant 3"),
        pytest.param("succeed", FINE | {"optional_sources_failed_count": 1}, id="no optional"),
        pytest.param("end_partly", PARTLY | {"required_sources_failed_count": 1}, id="4: required"),
        pytest.param("end_partly", PARTLY | {"optional_sources_failed_count": 0}, id="4: optional"),
        pytest.param(
            "fail", BAD | {"core_identity_present": True, "required_sources_failed_count": 0}, id="invariant 5"
        ),
        pytest.param("fail", BAD | {"enrichment_error": ""}, id="invariant 6"),
    ],
)
async def test_invariants_2_to_6_hold(place: Place, event: str, changes: dict[str, Any]) -> None:
    await move(place, "start", await lock(place))

    with pytest.raises(InvariantBroken):
        await move(place, event, changes)


async def test_invariant_7_stale_is_a_snapshot_past_its_time(place: Place) -> None:
    await run_to(place, "succeed", FINE)
    with pytest.raises(InvariantBroken):  # there is no snapshot
        await move(place, "expire")

    await place.lab.rows("update enrichment.company set updated_at = ostinato.now()")
    with pytest.raises(InvariantBroken, match="is fresh"):
        await move(place, "expire")


async def test_a_fresh_success_runs_again_by_hand_only(place: Place) -> None:
    await run_to(place, "succeed", FINE)
    await unlock(place)

    with pytest.raises(InvariantBroken, match="only a manual refresh"):
        await move(place, "refresh", await lock(place))


async def test_no_table_shows_a_tenant_more_than_its_own(place: Place) -> None:
    await place.enriched()
    seen = {}
    for tenant in ("acme", "globex"):
        async with place.lab.client.for_tenant(tenant, "somebody").transaction() as conn:
            for table in SHOWN:
                found = await conn.execute(f"select count(*) from enrichment.{table}".encode())  # noqa: S608 - a name of ours
                seen[tenant, table] = (await found.fetchone() or [0])[0] > 0

    assert seen == {(tenant, table): tenant == "acme" for tenant, table in seen}


async def test_jobs_locks_and_tokens_are_no_tenants_to_read(place: Place) -> None:
    """Not even of its own requests: the job may be another tenant's."""
    for what in (
        "job_id from enrichment.request",
        "job_id from enrichment.company",
        "lock_token from enrichment.company",
        "token from enrichment.source",
        "ticket from enrichment.attachment",
        "payload from enrichment.fetched",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with place.lab.client.for_tenant("acme", "somebody").transaction() as conn:
                await conn.execute(f"select {what}".encode())


async def test_every_table_is_under_row_security(place: Place) -> None:
    open_ = await place.lab.rows(
        "select relname from pg_class where relnamespace = 'enrichment'::regnamespace"
        " and relkind = 'r' and not (relrowsecurity and relforcerowsecurity)"
    )

    assert open_ == []
