"""What an operator does over HTTP to any application that is installed is in the audit."""

import re
from typing import Any

from ostinato._core.web.routes import Route
from ostinato._faces.api.server import routers_of
from tests.api.conftest import Api
from tests.apps.installed.planting import MARK, OUTBOUND, ROUNDS, SENDER, TEMPLATE, WATCHFOLDER, Planted

EVERYDAY = {
    *("agent", "clerk", "member", "capture", "capture_store"),
    *("agency_user", "client_user", "consultant", "tenant_admin", "system"),
}
"""Roles of the people and programs that an application is for: what they may do is its daily work."""
GRANTS = f"{OUTBOUND}/grants"
ELSEWHERE = {
    ("POST", f"{OUTBOUND}/senders/{{sender_id}}/prove"): "asks others first: tests/apps/outbound/test_senders.py"
}
GRANT = {"channel": "SMS", "key": "+33639982000"}

# In this order. A rest of the path in brackets is the value of a row.
ACTIONS: list[tuple[str, str, dict[str, Any], str]] = [
    ("POST", f"{ROUNDS}/groups", {"json": {"name": MARK}}, "create group"),
    ("PATCH", f"{ROUNDS}/groups/{{group_id}}", {"json": {"name": MARK}}, "change group"),
    ("PATCH", f"{ROUNDS}/groups/{{group_id}}/settings", {"json": {"zone": "UTC"}}, "change group"),
    ("POST", f"{ROUNDS}/groups/{{group_id}}/prompts", {"json": {"title": MARK}}, "create prompt"),
    ("PATCH", f"{ROUNDS}/groups/{{group_id}}/prompts/{{prompt_id}}", {"json": {"title": MARK}}, "change prompt"),
    ("PUT", f"{ROUNDS}/groups/{{group_id}}/members/{{user_id}}", {"json": {"mute": True}}, "add member"),
    ("DELETE", f"{ROUNDS}/groups/{{group_id}}/members/{{user_id}}", {}, "remove member"),
    ("POST", f"{WATCHFOLDER}/folders", {"json": {"name": "another"}}, "create folder"),
    ("POST", f"{WATCHFOLDER}/folders/{{name}}/pause", {}, "pause folder"),
    ("POST", f"{WATCHFOLDER}/folders/{{name}}/resume", {}, "resume folder"),
    (
        "POST",
        f"{WATCHFOLDER}/folders/{{name}}/duplicates/{{job_key}}/decision",
        {"json": {"action": "DISCARD"}},
        "decide duplicate",
    ),
    ("DELETE", f"{WATCHFOLDER}/folders/{{name}}", {}, "delete folder"),
    ("PUT", f"{OUTBOUND}/organisation", {"json": {"language": "fr"}}, "set organisation"),
    ("PUT", f"{OUTBOUND}/templates/{{template_code}}/{{language}}", {"json": TEMPLATE}, "set template"),
    ("PUT", f"{OUTBOUND}/coop/templates", {}, "set template"),
    ("POST", f"{OUTBOUND}/messages/{{failed}}/retry", {}, "retry message"),
    ("POST", f"{OUTBOUND}/messages/{{message_id}}/cancel", {}, "cancel message"),
    ("POST", f"{OUTBOUND}/messages/{{failed}}/cancel", {}, "cancel message"),
    ("PUT", f"{OUTBOUND}/senders", {"json": SENDER}, "set sender"),
    ("POST", f"{OUTBOUND}/senders/{{sender_id}}/release", {}, "release sender"),
    ("DELETE", f"{OUTBOUND}/senders/{{sender_id}}", {}, "delete sender"),
    ("DELETE", f"{OUTBOUND}/consents", {"params": {"subjectId": "s-1"}}, "erase subject"),
    ("PUT", GRANTS, {"json": GRANT}, "grant sender"),
    ("DELETE", GRANTS, {"params": GRANT}, "withdraw sender"),
    ("POST", "/v1/enrichment/rerun", {"json": {}}, "rerun companies"),
    ("POST", "/v1/requests/{request_id}:refresh-company", {}, "refresh company"),
]
ENTRIES = (
    "select verb || ' ' || noun, actor, key_id, e::text from ostinato_data.audit_entry e "
    "where tenant_id = %s order by id"
)


def operators_routes(api: Api) -> set[tuple[str, str]]:
    """What only operators may ask for, by method and path."""
    engine = len(routers_of(()))
    routes = [route for router in routers_of(api.parts.apps)[engine:] for route in router.routes]
    return {
        (method, route.path)
        for route in routes
        if isinstance(route, Route) and route.needs is not None and EVERYDAY.isdisjoint(route.needs.roles)
        for method in route.methods or ()
        if method != "GET"
    }


async def test_every_action_of_an_operator_on_an_application_leaves_one_entry(api: Api, planted: Planted) -> None:
    """And none of them what people wrote or how they are reached: it outlives the erasure of a person."""
    values = planted.values | {"failed": planted.failed_message}
    told = []
    for method, path, given, what in ACTIONS:
        roles = ("installation",) if path == GRANTS else ("ops", "admin")
        await api.key(planted.tenant, *roles)  # making one is an entry too
        before = len(await entries(api, planted))
        tenant = {"json": given["json"] | {"tenantId": planted.tenant}} if (method, path) == ("PUT", GRANTS) else {}
        answer = await api.call(method, path.format(**values), tenant=planted.tenant, roles=roles, **given | tenant)
        new = (await entries(api, planted))[before:]
        said = [(entry[0], entry[1]) for entry in new]
        keyed = all(entry[2] is not None for entry in new)
        if answer.status_code >= 300 or said != [(what, "tester")] or not keyed:
            told.append((method, path, answer.status_code, answer.text[:200], said))

    assert told == []
    written = " ".join(entry[3] for entry in await entries(api, planted))
    for private in (MARK, "3363998", "ana", "s-1"):
        assert not re.search(rf"(?<![\w-]){re.escape(private)}\b", written), private


async def test_every_route_of_an_operator_is_tried_or_said_to_be_elsewhere(api: Api) -> None:
    tried = {(method, path.replace("{failed}", "{message_id}")) for method, path, _, _ in ACTIONS}

    assert operators_routes(api) - tried == set(ELSEWHERE)


async def entries(api: Api, planted: Planted) -> list[tuple[str, str, int | None, str]]:
    cursor = await api.admin.execute(ENTRIES.encode(), [planted.tenant])
    return await cursor.fetchall()
