"""Every route of every application, asked by another tenant for the rows of one (check 6)."""

import json
from typing import Any

import httpx

from ostinato._core.web.routes import Route
from ostinato._faces.api.permissions import INSTALLATION
from ostinato._faces.api.server import routers_of
from tests.api.conftest import Api
from tests.apps.installed.planting import CONTRIBUTION, MARK, MEMBER, OUTBOUND, ROUNDS, WATCHFOLDER, Planted, capture

OTHER = "globex"
ABSENT = {
    **dict.fromkeys(("sender_id", "group_id", "prompt_id", "round_id"), "999999999"),
    **dict.fromkeys(("request_id", "message_id", "capture_id"), "00000000-0000-4000-8000-000000000000"),
    "job_key": "b" * 64 + "__0badcafe",
}
OWN = {
    ("PUT", f"{OUTBOUND}/templates/{{template_code}}/{{language}}"),
    ("PUT", f"{OUTBOUND}/coop/members/{{member_id}}"),
    ("PUT", f"{OUTBOUND}/coop/contributions/{{contribution_id}}"),
}
"""They make a row of the caller's own under whatever name it gives."""
BODIES: dict[str, dict[str, Any]] = {
    f"{OUTBOUND}/coop/members/{{member_id}}": MEMBER | {"name": "mine"},
    f"{OUTBOUND}/coop/contributions/{{contribution_id}}": CONTRIBUTION,
    f"{OUTBOUND}/templates/{{template_code}}/{{language}}": {
        "category": "UTILITY",
        "providerName": "mine",
        "body": "mine {{name}}",
        "variables": [{"name": "name"}],
    },
    f"{ROUNDS}/groups/{{group_id}}": {"name": "mine", "is_active": False},
    f"{ROUNDS}/groups/{{group_id}}/settings": {"zone": "UTC"},
    f"{ROUNDS}/groups/{{group_id}}/members/{{user_id}}": {"mute": True},
    f"{ROUNDS}/groups/{{group_id}}/prompts": {"title": "mine"},
    f"{ROUNDS}/groups/{{group_id}}/prompts/{{prompt_id}}": {"title": "mine"},
    f"{ROUNDS}/rounds/{{round_id}}/submission": {"body": "mine"},
    f"{ROUNDS}/rounds/{{round_id}}/comments": {"body": "mine"},
    f"{ROUNDS}/rounds/{{round_id}}/vote": {"member_id": "ana"},
    f"{WATCHFOLDER}/folders/{{name}}/duplicates/{{job_key}}/decision": {"action": "DISCARD"},
}
TABLES = """
select format('%I.%I', table_schema, table_name) from information_schema.columns join information_schema.tables
using (table_schema, table_name) join pg_class c on c.oid = format('%I.%I', table_schema, table_name)::regclass
where column_name = 'tenant_id' and table_type = 'BASE TABLE' and not c.relispartition
and table_name <> 'api_key'  -- notes when it was used last
and table_schema in ('ostinato_data', 'capture', 'enrichment', 'outbound', 'rounds', 'watchfolder') order by 1
"""


def routes_of(api: Api) -> list[tuple[str, Route]]:
    """Every method of every route of an application that takes a caller's word for whose rows are meant: all but the
    installation's, and those that name no caller."""
    engine = len(routers_of(()))
    found = [route for router in routers_of(api.parts.apps)[engine:] for route in router.routes]
    return [
        (method, route)
        for route in found
        if isinstance(route, Route) and route.needs is not None and route.needs.roles != INSTALLATION.roles
        for method in sorted(route.methods or ())
    ]


async def ask(api: Api, method: str, route: Route, given: dict[str, str], tenant: str = OTHER) -> httpx.Response:
    body = BODIES.get(route.path, {}) if method in {"POST", "PUT", "PATCH"} else None
    if route.path == "/documents/capture" and method == "POST":
        body = capture()
    path = route.path_format.format(**given)
    return await api.call(method, path, tenant=tenant, roles=("ops", "admin"), json=body)


def said(answer: httpx.Response, given: dict[str, str]) -> tuple[int, str]:
    """What an answer says, without the values that were asked for and its own id."""
    document = answer.json() if answer.content else {}
    for own in ("correlation_id", "instance", "timestamp"):
        document.pop(own, None)
    text = json.dumps(document, sort_keys=True)
    for value in sorted(given.values(), key=len, reverse=True):
        text = text.replace(value, "…")
    return answer.status_code, text


async def rows_of(api: Api, tenant: str) -> dict[str, str]:
    """All that a tenant has, in every table that has tenants."""
    cursor = await api.admin.execute(TABLES.encode())
    found = {}
    for (table,) in await cursor.fetchall():
        text = f"select coalesce(string_agg(t::text, ';' order by t::text), '') from {table} t where tenant_id = %s"  # noqa: S608 - names of tables
        rows = await api.admin.execute(text.encode(), [tenant])
        ((found[table],),) = await rows.fetchall()
    return found


async def test_an_application_answers_for_the_rows_of_another_tenant_as_if_nobody_had_them(
    api: Api, planted: Planted
) -> None:
    told = []
    tried = [(method, route) for method, route in routes_of(api) if route.param_convertors]

    for method, route in tried:
        theirs = {name: planted.values[name] for name in route.param_convertors}
        nobodys = {name: ABSENT.get(name, "nobodys") for name in theirs}
        if (method, route.path) in OWN:
            continue
        missing, seen = await ask(api, method, route, nobodys), await ask(api, method, route, theirs)
        if said(seen, theirs) != said(missing, nobodys) or seen.status_code != 404:
            told.append(
                (method, route.path, seen.status_code, seen.text[:300], missing.status_code, missing.text[:300])
            )

    assert told == []
    assert len(tried) >= 40


async def test_nothing_that_another_tenant_asks_an_application_shows_or_changes_a_row(
    api: Api, planted: Planted
) -> None:
    """Every table is compared, and the words of the tenant are looked for in every answer, lists included."""
    before = await rows_of(api, planted.tenant)
    told, refused = [], []

    for method, route in routes_of(api):
        answer = await ask(api, method, route, planted.values)
        if MARK in answer.text or answer.status_code >= 500:
            told.append((method, route.path, answer.status_code, answer.text[:300]))
        if (method, route.path) in OWN and answer.status_code != 200:
            refused.append((method, route.path, answer.text[:300]))

    after = await rows_of(api, planted.tenant)
    assert (told, refused) == ([], [])
    assert {table for table, rows in before.items() if after[table] != rows} == set()
    assert sum(rows.count(MARK) for rows in before.values()) > 10


async def test_what_was_planted_is_there_for_its_own_tenant(api: Api, planted: Planted) -> None:
    """Or the other tests would find nothing to show."""
    missed = []
    for method, route in routes_of(api):
        if method != "GET" or not route.param_convertors:
            continue
        answer = await ask(api, method, route, planted.values, planted.tenant)
        if answer.status_code != 200:
            missed.append((route.path, answer.status_code, answer.text[:200]))

    assert missed == []
