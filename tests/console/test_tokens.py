"""People who sign in with a token of the issuer: a tenant's people, for as long as the token lasts."""

import time
from collections.abc import Iterator

import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.engine import sessions
from ostinato._faces.api.tokens import LEEWAY_SECONDS
from tests.api.conftest import Api
from tests.api.issuer import Issuer
from tests.console.conftest import Console, Visitor


@pytest.fixture(autouse=True)
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Issuer]:
    monkeypatch.setenv("NO_PROXY", "*")
    with Issuer() as running:
        yield running


@pytest.fixture
def api_settings(issuer: Issuer) -> Settings:
    return issuer.settings()


async def signed_in(console: Console, token: str) -> Visitor:
    visitor = console.stranger()
    answer = await visitor.http.post("/console/sign-in", data={"key": token})
    assert answer.status_code == 303, answer.text
    return visitor


async def test_a_token_with_the_role_of_the_installation_shows_its_tenant_only(
    console: Console, api: Api, issuer: Issuer
) -> None:
    await api.parts.client.for_tenant("globex").enqueue("shop.ship", {"card": "x"})

    visitor = await signed_in(console, issuer.token(roles=["installation", "admin"]))

    assert "globex" not in await visitor.text("/jobs")
    assert (await visitor.send("/queues/default/pause")).status_code == 403
    async with api.worker.connection() as conn:
        assert [each.tenant_id for each in await sessions.list_sessions(conn)] == ["acme"]


async def test_a_session_does_not_outlast_its_token(console: Console, api: Api, issuer: Issuer) -> None:
    ends = int(time.time()) + 300

    await signed_in(console, issuer.token(exp=ends))

    async with api.worker.connection() as conn:
        (session,) = await sessions.list_sessions(conn)
    assert session.expires_at.timestamp() == ends + LEEWAY_SECONDS
