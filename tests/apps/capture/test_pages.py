"""Certificates on the console, the chain checked on the page, and conflicts that a person decides."""

import re

import pytest

from ostinato._core.base.errors import IdempotencyConflict
from ostinato._core.engine import keys
from ostinato.apps.capture import pages
from tests.apps.capture.conftest import Api
from tests.apps.capture.vault import SEED, TENANT, Vault, changed
from tests.console.conftest import Visitor

CHOICE = re.compile(r'action="/console(/apps/capture/do/settle)">(.*?)</form>', re.DOTALL)
FIELD = re.compile(r'name="(\w+)" value="([^"]*)"')


async def visitor(api: Api, user: str, *roles: str, tenant: str = TENANT) -> Visitor:
    async with api.vault.client.connection() as conn:
        key = await keys.create(conn, tenant_id=tenant, subject=user, roles=roles)
    api.http.cookies.clear()
    entered = await api.http.post("/console/sign-in", data={"key": key.key})
    assert entered.status_code == 303, entered.text
    return Visitor(api.http)


async def conflicting(vault: Vault, user: str) -> None:
    await vault.receive(user=user)
    with pytest.raises(IdempotencyConflict):
        await vault.receive(changed(SEED, size_bytes=SEED.size_bytes + 1), user=user)


async def test_a_certificate_says_that_the_chain_holds_and_where_it_breaks(api: Api, vault: Vault) -> None:
    await vault.receive(user="ana")
    ana = await visitor(api, "ana", "capture", "reader")
    path = f"/apps/capture/capture?user=ana&id={SEED.capture_id}"

    good = await ana.text(path)
    listed = await ana.text("/apps/capture")
    await vault.rows("set session_replication_role = replica")
    await vault.rows("update vault_secure.capture_audit_log set entry_hash = repeat('0', 64)")
    await vault.rows("set session_replication_role = origin")
    broken = await ana.text(path)

    assert "The chain holds" in good
    assert SEED.content_hash in good
    assert SEED.capture_id in listed
    assert "The chain is broken" in broken


async def test_a_count_that_stopped_is_marked(api: Api, vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    await vault.receive(user="ana")
    ana = await visitor(api, "ana", "capture", "reader")

    whole = await ana.text("/apps/capture")
    monkeypatch.setattr(pages, "MOST_COUNTED", 1)
    capped = await ana.text("/apps/capture")

    assert "≥" not in whole
    assert "≥ 1 " in capped


async def test_a_person_sees_and_decides_its_own_conflicts_and_the_chain_has_the_decision(
    api: Api, vault: Vault
) -> None:
    await conflicting(vault, "ana")
    ben = await visitor(api, "ben", "capture", "reader")
    assert "Nothing waits for a person." in await ben.text("/inbox")
    assert (await ben.get(f"/apps/capture/capture?user=ana&id={SEED.capture_id}")).status_code == 404
    stolen = await ben.send("/apps/capture/do/settle", seq="2", user="ana", decision="KEPT_FIRST")
    reader = await visitor(api, "rita", "reader")
    assert (await reader.get(f"/apps/capture/capture?user=rita&id={SEED.capture_id}")).status_code == 403
    ana = await visitor(api, "ana", "capture", "reader")

    page = (await ana.get("/inbox")).text
    (path, form), _ = CHOICE.findall(page)
    await ana.http.post(f"/console{path}", data=dict(FIELD.findall(form)))

    assert stolen.status_code == 404
    assert "came again with other content" in page
    assert "Nothing waits for a person." in await ana.text("/inbox")
    assert (await vault.audited("ana"))[-1] == "CAPTURE_CONFLICT_SEEN"
    report = await vault.verified(tenant_id=TENANT, user_id="ana")
    assert report.breaks == ()


async def test_the_installation_decides_a_conflict_in_its_own_name(api: Api, vault: Vault) -> None:
    await conflicting(vault, "ana")
    lea = await visitor(api, "lea", "admin", "installation", tenant="ops")

    _, (path, form) = CHOICE.findall((await lea.get("/inbox")).text)
    decided = await lea.http.post(f"/console{path}", data=dict(FIELD.findall(form)))

    assert decided.status_code == 303
    told = "select event_payload ->> 'decided_by', event_payload ->> 'decision' from vault_secure.capture_audit_log"
    assert (await vault.rows(f"{told} order by seq"))[-1] == ("lea", "DEVICE_SUSPECT")
