"""What is done with the rights of the process is recorded with the caller's subject and its key."""

from typing import Any

import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.engine import audit, subscriptions
from ostinato._core.engine.audit import Entry
from ostinato._core.runtime.testing import KEY
from tests.api.conftest import Api

ENGINE = "/api/v1/engine"
ROLES = ("ops", "admin", "installation")
HOOK = {"url": "https://partner.example.com/in"}
LEASE = "select ostinato.acquire_lease('books', holder => 'h', ttl_seconds => 600, tenant_id => 'acme')"
NEW_KEY = {"subject": "bot", "roles": ["ops"]}


@pytest.fixture
def api_settings() -> Settings:
    return Settings(secret_key=KEY)


async def entries(api: Api) -> list[Entry]:
    async with api.worker.connection() as conn:
        return list(reversed(await audit.list_entries(conn)))


async def test_every_route_with_the_rights_of_the_process_records_subject_and_key(api: Api) -> None:
    key = await api.key("acme", *ROLES, subject="olga")
    number = int(key.split("_")[1])
    await api.admin.execute(LEASE)
    async with api.worker.connection() as conn:
        await subscriptions.subscribe(conn, "mirror")

    async def ask(method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        sent: dict[str, Any] = {} if body is None else {"json": body}
        answer = await api.http.request(method, f"{ENGINE}{path}", headers={"Authorization": f"Bearer {key}"}, **sent)
        assert answer.is_success, (path, answer.text)
        return answer.json() if answer.content else None

    made = await ask("POST", "/keys", NEW_KEY)
    await ask("POST", f"/keys/{made['record']['id']}/rotate", {"overlap_seconds": 60})
    await ask("POST", f"/keys/{made['record']['id']}/revoke")
    await ask("POST", "/webhooks/partner", HOOK)
    await ask("PATCH", "/webhooks/partner", {"description": "new"})
    await ask("POST", "/webhooks/partner/pause")
    await ask("POST", "/webhooks/partner/resume")
    await ask("POST", "/webhooks/partner/rotate")
    await ask("DELETE", "/webhooks/partner")
    await ask("POST", "/leases/books/release?force=true")
    await ask("POST", "/installation/queues/default/pause", {"reason": "maintenance"})
    await ask("POST", "/installation/queues/default/resume")
    await ask("PUT", "/installation/queues/default/limits", {"concurrency": 5})
    await ask("POST", "/installation/subscriptions/mirror/pause")
    await ask("POST", "/installation/subscriptions/mirror/resume")

    asked = [each for each in await entries(api) if each.actor == "olga"]
    assert [f"{each.verb} {each.noun}" for each in asked] == [
        *("create key", "rotate key", "revoke key", "create webhook", "change webhook"),
        *("pause webhook", "resume webhook", "rotate webhook", "remove webhook"),
        *("release lease", "pause queue", "resume queue", "limit queue"),
        *("pause subscription", "resume subscription"),
    ]
    assert {(each.actor_type, each.key_id) for each in asked} == {("user", number)}
