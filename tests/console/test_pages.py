"""Every page of the console is there, for everybody who may see it."""

import pytest

from tests.console.conftest import Console

PAGES = (
    *("/", "/jobs", "/dead-letters", "/queues", "/workers", "/schedules", "/events", "/webhooks", "/trail"),
    *("/alerts", "/leases", "/machines", "/access", "/find"),
)


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_is_drawn_for_a_tenant_and_for_the_installation(console: Console, path: str) -> None:
    for roles in (("admin",), ("admin", "installation")):
        visitor = await console.visitor("acme", *roles)

        answer = await visitor.get(path)

        assert answer.status_code == 200, answer.text[:3000]
        assert "Ostinato" in answer.text
