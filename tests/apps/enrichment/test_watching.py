"""What an operator is told of: sources that refuse us, are left out, paused, or nearly used up."""

from datetime import timedelta

import pytest

from ostinato._core.engine import alerts
from ostinato.apps.enrichment import APP
from tests.apps.enrichment.place import ALL_FINE, Place

INPI, RCS = "INPI_RNE", "API_ENTREPRISE_RCS"


async def firing(place: Place) -> set[tuple[str, str]]:
    async with place.lab.client.connection() as conn:
        await alerts.declare(conn, [APP.name], list(APP.alerts))
        await alerts.evaluate(conn, timedelta(0))
        found = await alerts.firings(conn, only_open=True)
        lines = await alerts.list_alerts(conn)
    assert not any(line.failures for line in lines), lines
    return {
        (each.alert.removeprefix("enrichment."), each.label)
        for each in found
        if each.alert.startswith("enrichment.") and each.state == "firing"
    }


async def test_a_source_that_refuses_our_account_fires_until_it_answers(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M3C-retry-8: an alert, no retry."""
    assert await firing(place) == set()
    with monkeypatch.context() as wrong:
        wrong.setenv("OSTINATO_ENRICHMENT_INPI_PASSWORD", "expired")
        await place.enriched()
    assert await firing(place) == {("source_refuses", INPI)}

    await place.enriched("999000011")

    assert await firing(place) == set()


async def test_a_source_without_credentials_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as unset:
        unset.delenv("OSTINATO_ENRICHMENT_RCS_TOKEN")
        await place.enriched()
    assert await firing(place) == {("source_missing", RCS)}

    await place.enriched("999000011")

    assert await firing(place) == set()


async def test_a_pause_of_five_minutes_and_a_quota_that_ends_fire(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_ENRICHMENT_INPI_PER_DAY", "1")
    place.sources.order("/registers/v3/*", "429:600")
    await place.enriched(ALL_FINE)
    assert await firing(place) == {("quota", INPI)}

    await place.lab.engine.clock.move(timedelta(seconds=301))

    assert await firing(place) == {("quota", INPI), ("source_paused", RCS)}
