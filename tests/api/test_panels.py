"""Panels of applications, over HTTP: the same two shapes for all, and the tenant's own rows."""

import pytest

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine.jobs import NewJob, enqueue
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.installed import installed_apps
from ostinato._core.runtime.observe.blocks import Table
from ostinato._core.runtime.observe.panels import Panel, panels_of
from tests.api import panels
from tests.api.conftest import Api

PANELS = "/api/v1/engine/panels"


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    return (App("plain"), panels.APP)


async def test_each_tenant_sees_its_own_counts(api: Api) -> None:
    for tenant, count in (("acme", 2), ("bolt", 1)):
        async with api.worker.for_tenant(tenant).transaction() as conn:
            for _ in range(count):
                await enqueue(conn, NewJob("till.ring", "{}"))

    seen = {
        tenant: (await api.call("GET", f"{PANELS}/till", tenant=tenant, roles=("ops",))).json()
        for tenant in ("acme", "bolt", "cent")
    }

    counts = {tenant: each["panels"][0]["blocks"][0]["values"] for tenant, each in seen.items()}
    assert counts == {"acme": {"till.ring": 2}, "bolt": {"till.ring": 1}, "cent": {}}


async def test_a_panel_is_shown_as_its_blocks(api: Api) -> None:
    listed = (await api.call("GET", PANELS, roles=("ops",))).json()
    seen = (await api.call("GET", f"{PANELS}/till", roles=("ops",))).json()

    assert listed == {"items": ["till"]}
    assert [each["title"] for each in seen["panels"]] == ["Orders", "Tills"]
    assert seen["panels"][1]["blocks"] == [
        {
            "type": "table",
            "title": "Tills",
            "columns": ["name", "open", "since", "sold"],
            "rows": [["a", True, "2026-06-01T12:00:00Z", 2.5]],
        }
    ]


@pytest.mark.parametrize("name", ["plain", "nobody"])
async def test_an_application_without_panels_is_not_found(api: Api, name: str) -> None:
    seen = await api.call("GET", f"{PANELS}/{name}")

    assert (seen.status_code, seen.json()["code"]) == (404, "not_found")


def test_every_panel_of_the_catalog_can_be_loaded() -> None:
    found = {app.name: panels_of(installed_apps(), app.name) for app in installed_apps() if app.panels}

    assert "enrichment" in found
    assert all(isinstance(each, Panel) for several in found.values() for each in several)


def test_a_row_has_a_cell_for_each_column() -> None:
    with pytest.raises(InvalidInput, match="has not 2 cells"):
        Table("Tills", ("name", "open"), [("a", True), ("b",)])
