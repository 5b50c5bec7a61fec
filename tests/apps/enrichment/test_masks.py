"""What a source withholds is not kept: not in fields, hashes or older answers, nor of an earlier release."""

import asyncio
from collections.abc import AsyncIterator
from functools import cached_property

import psycopg
import pytest

from ostinato._core.db import migrate
from ostinato._core.db.bundle import Component, Migration
from ostinato._core.db.embedded import Server
from ostinato._core.engine.schema import ENGINE
from ostinato.apps.enrichment.merge import Stored, merge
from ostinato.apps.enrichment.model import Fetched, SourceApi
from ostinato.apps.enrichment.schema import COMPONENT
from tests.apps.enrichment.place import ALL_FINE, Place
from tests.conftest import copy_of_engine

SEARCH, INPI = SourceApi.SEARCH, SourceApi.INPI
BEFORE = 5  # the file that blanks what was kept


def test_what_is_masked_now_is_no_longer_known() -> None:
    stored = {"address_line1": Stored("12 RUE DES EXEMPLES", SEARCH), "city": Stored("LYON", SEARCH)}
    masking = Fetched(SEARCH, 200, 1, None, {"city": "LYON"}, ("address_line1",))

    merged = merge(stored, [masking, Fetched(INPI, 200, 1, None, {"address_line1": "12 B RUE DES EXEMPLES"})])

    assert merged.values["address_line1"] is None
    assert merged.values["city"] == "LYON"


async def test_what_was_kept_before_it_was_masked_is_null_at_rest(place: Place) -> None:
    request_id = await place.enriched()
    before = await place.company()
    place.registers.masked.add(ALL_FINE)
    async with place.worker():
        await place.refresh(request_id)
        await place.ended()

    after = await place.company()
    assert before["address_line1"] is not None
    assert set(after["masked_fields"]) >= {"address_line1", "postal_code", "brand_name"}
    assert [after[field] for field in after["masked_fields"]] == [None] * len(after["masked_fields"])
    hashed = await place.lab.rows("select field from enrichment.company_field_provenance")
    assert not {row[0] for row in hashed} & set(after["masked_fields"])
    answers = await place.lab.rows(
        "select payload_json is null, payload_json::text like '%%RUE DES EXEMPLES%%'"
        " from enrichment.company_document where doc_type = 'ENTERPRISE_SEARCH' order by retrieved_at"
    )
    assert answers == [(True, None), (False, False)]


class Earlier(Component):
    """The component as it was before a table file."""

    @cached_property
    def tables(self) -> tuple[Migration, ...]:
        return tuple(step for step in COMPONENT.tables if step.version < BEFORE)

    @cached_property
    def functions(self) -> str:
        return ""

    @cached_property
    def grants(self) -> str:
        return ""


@pytest.fixture
async def earlier(shared_server: Server) -> AsyncIterator[psycopg.AsyncConnection[tuple[object, ...]]]:
    """A database of the release before, with a company that was masked after it was stored."""
    urls = await asyncio.to_thread(copy_of_engine, shared_server, "enrichment_earlier")
    old = Earlier(**{name: getattr(COMPONENT, name) for name in ("name", "folder", "schemas")})
    await migrate.migrate(urls.admin, [ENGINE, old])
    async with await psycopg.AsyncConnection.connect(urls.admin, autocommit=True) as conn:
        yield conn


async def test_the_migration_blanks_what_was_kept(earlier: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
    await earlier.execute(
        "insert into enrichment.company (siren, legal_name, address_line1, city, masked_fields) values"
        " ('999000003', 'CAMILLE EXEMPLE', '12 RUE DES EXEMPLES', 'LYON', '{address_line1,legal_name}'),"
        " ('999000011', 'ATELIERS', '7 RUE DES ATELIERS', 'LYON', '{}')"
    )
    await earlier.execute(
        "insert into enrichment.company_field_provenance (company_siren, field, source_api, value_hash, observed_at)"
        " select '999000003', f, 'API_RECHERCHE_ENTREPRISES', 'h', now() from unnest('{legal_name,city}'::text[]) f"
    )
    await earlier.execute(
        "insert into enrichment.company_document (company_siren, doc_type, source_api, retrieved_at, payload_json,"
        " checksum) select s, 'ENTERPRISE_SEARCH', 'API_RECHERCHE_ENTREPRISES', now() - n * interval '1 day',"
        " to_json(n), n::text from unnest('{999000003,999000011}'::text[]) s, generate_series(1, 2) n"
    )

    await migrate.apply(earlier, [ENGINE, COMPONENT])

    companies = await earlier.execute("select legal_name, address_line1, city from enrichment.company order by siren")
    fields = await earlier.execute("select field from enrichment.company_field_provenance")
    answers = await earlier.execute(
        "select company_siren, payload_json from enrichment.company_document order by company_siren, checksum"
    )
    assert await companies.fetchall() == [(None, None, "LYON"), ("ATELIERS", "7 RUE DES ATELIERS", "LYON")]
    assert await fields.fetchall() == [("city",)]
    assert await answers.fetchall() == [("999000003", 1), ("999000003", None), ("999000011", 1), ("999000011", 2)]
