"""What was done over time, over HTTP: a tenant's own, and all of it for the installation."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.api.conftest import Api
from tests.sql.test_series import row

ENGINE = "/api/v1/engine"
BOSS = ("ops", "installation")


async def ask(api: Api, path: str, *roles: str, tenant: str = "acme", status: int = 200) -> Any:  # noqa: ANN401 - JSON
    answer = await api.call("GET", f"{ENGINE}{path}", tenant=tenant, roles=roles or ("ops",))
    assert answer.status_code == status, (path, answer.text)
    return answer.json()


async def plant(api: Api) -> None:
    rows = [row(done=3), row("globex", kind="app.other", done=7)]
    await api.admin.execute("select ostinato.record_series(%s::jsonb)", (json.dumps(rows),))


async def test_the_installation_asks_for_a_queue_a_kind_or_a_tenant(api: Api) -> None:
    await plant(api)

    (whole,) = (await ask(api, "/installation/series?queue=mail", *BOSS))["items"]
    (kind,) = (await ask(api, "/installation/series?kind=app.other&step=3600", *BOSS))["items"]
    (tenant,) = (await ask(api, "/installation/series?tenant=acme", *BOSS))["items"]

    assert (whole["done"], whole["failed"], whole["p99"]) == (10, 2, 0.01)
    assert (kind["done"], tenant["done"]) == (7, 3)
    assert (await ask(api, "/installation/series?queue=none", *BOSS))["items"] == []
    await ask(api, "/installation/series?queue=mail&tenant=acme", *BOSS, status=422)
    await ask(api, "/installation/series", "ops", status=403)


async def test_a_tenant_sees_what_was_done_for_itself(api: Api) -> None:
    await plant(api)

    (own,) = (await ask(api, "/series"))["items"]
    (theirs,) = (await ask(api, "/series?step=3600", tenant="globex"))["items"]

    assert (own["done"], theirs["done"]) == (3, 7)
    assert (await ask(api, "/series", tenant="nobody"))["items"] == []


async def test_a_time_with_too_many_steps_is_refused(api: Api) -> None:
    long_ago = (datetime.now(UTC) - timedelta(days=3)).isoformat().replace("+00:00", "Z")

    refused = await ask(api, f"/series?since={long_ago}", status=422)

    assert "3,000 steps of 60 s" in refused["detail"]
    assert (await ask(api, f"/series?since={long_ago}&step=3600"))["items"] == []
    await ask(api, "/series?step=61", status=422)
