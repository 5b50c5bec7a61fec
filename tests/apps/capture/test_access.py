"""Who sees and writes what: row-level security by user, grants, and the machine in the database."""

import json

import psycopg
import pytest

from ostinato.apps.capture.machine import CAPTURE
from ostinato.apps.capture.queries import Connection
from ostinato.base.errors import IllegalTransition, InvalidInput
from ostinato.engine import machines
from tests.apps.capture.vault import SEED, TENANT, Vault, changed

TABLES = ("capture_events", "capture_audit_log", "capture_audit_head")


async def seen(conn: Connection, table: str = "capture_events") -> int:
    cursor = await conn.execute(f"select count(*) from vault_secure.{table}".encode())  # noqa: S608 - one of ours
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


async def test_the_migration_installs_the_machine_that_is_declared(vault: Vault) -> None:
    stored = await vault.value(
        "select definition::text from ostinato_data.machine where name = 'capture'"
    )
    assert json.loads(stored) == json.loads(CAPTURE.definition())
    assert len(CAPTURE.states) == 8
    assert await machines.gaps(vault.admin) == []


async def test_a_user_sees_his_own_rows_only(vault: Vault) -> None:
    await vault.receive(user="ana")
    await vault.receive(user="ben")
    await vault.receive(user="ana", tenant="zeta")

    for user, tenant in (("ana", TENANT), ("ben", TENANT), ("ana", "zeta")):
        async with vault.transaction(user, tenant) as conn:
            assert (await seen(conn), await seen(conn, "capture_audit_log")) == (1, 1)
    async with vault.transaction("nobody") as conn:
        assert await seen(conn) == 0


async def test_without_a_user_nothing_is_seen(vault: Vault) -> None:
    await vault.receive()

    async with vault.client.for_tenant(TENANT).transaction() as conn:
        assert await seen(conn) == 0
    async with vault.client.transaction() as conn:
        await conn.execute("set local role ostinato_tenant")
        assert await seen(conn) == 0


@pytest.mark.parametrize("table", TABLES)
async def test_row_level_security_is_forced(vault: Vault, table: str) -> None:
    found = await vault.rows(
        "select relrowsecurity, relforcerowsecurity from pg_class"
        " where oid = ('vault_secure.' || %s)::regclass",
        table,
    )
    assert found == [(True, True)]


async def test_a_user_writes_no_row_of_another(vault: Vault) -> None:
    await vault.receive(user="ana")
    text = (
        "insert into vault_secure.capture_events (tenant_id, user_id, capture_id, content_hash,"
        " aes_gcm_nonce_b64, aes_gcm_tag_b64, dek_wrapped_b64, kek_id, mime_type, size_bytes,"
        " upload_object_key, payload_canonical_sha256, timestamp_device, skew_ms)"
        " select tenant_id, 'ben', capture_id, content_hash, aes_gcm_nonce_b64, aes_gcm_tag_b64,"
        " dek_wrapped_b64, kek_id, mime_type, size_bytes, upload_object_key,"
        " payload_canonical_sha256, timestamp_device, skew_ms from vault_secure.capture_events"
    )
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        async with vault.transaction("ana") as conn:
            await conn.execute(text)


@pytest.mark.parametrize(
    "statement",
    [
        "update vault_secure.capture_events set state = 'SEALED'",
        "delete from vault_secure.capture_events",
        "insert into vault_secure.capture_events (tenant_id, state) values ('acme', 'SEALED')",
        "insert into vault_secure.capture_audit_log (tenant_id) values ('acme')",
        "insert into vault_secure.capture_audit_head (tenant_id) values ('acme')",
        "update vault_secure.capture_audit_log set event_type = 'x'",
        "truncate vault_secure.capture_audit_log",
    ],
)
async def test_a_user_may_not(vault: Vault, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with vault.transaction() as conn:
            await conn.execute(statement.encode())


@pytest.mark.parametrize(
    "statement",
    [
        "update vault_secure.capture_events set size_bytes = 1",
        "update vault_secure.capture_events set payload_canonical_sha256 = repeat('0', 64)",
        "delete from vault_secure.capture_events",
        "insert into vault_secure.capture_audit_log (tenant_id) values ('acme')",
        "delete from vault_secure.capture_audit_log",
        "truncate vault_secure.capture_audit_log",
    ],
)
async def test_not_even_a_worker_may(vault: Vault, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with vault.client.transaction() as conn:
            await conn.execute(statement.encode())


async def test_a_state_changes_by_the_machine_only(vault: Vault) -> None:
    taken = await vault.receive()

    with pytest.raises(IllegalTransition):
        async with vault.client.transaction() as conn:
            await conn.execute("update vault_secure.capture_events set state = 'UPLOADING'")
    with pytest.raises(IllegalTransition):
        async with vault.client.transaction() as conn:
            await machines.transition(
                conn,
                CAPTURE,
                "vault_secure.capture_events",
                taken.capture_event_id,
                "seal",
                by="test",
                tenant_id=TENANT,
            )


async def test_an_entry_is_made_for_oneself_only(vault: Vault) -> None:
    text = "select vault_secure.append_audit(%s, 'FORGED', %s)"
    for user, tenant in (("ben", TENANT), ("ana", "zeta")):
        with pytest.raises(InvalidInput, match="tenant and user"):
            async with vault.transaction("ana", TENANT) as conn:
                await conn.execute(text, (user, json.dumps({"tenant_id": tenant})))
    assert await vault.value("select count(*) from vault_secure.capture_audit_log") == 0


async def test_nothing_of_the_schema_is_open_to_everybody(vault: Vault) -> None:
    found = await vault.rows(
        "select p.proname from pg_proc p where p.pronamespace = 'vault_secure'::regnamespace"
        " and p.prorettype <> 'trigger'::regtype"
        " and has_function_privilege('public', p.oid, 'execute')"
    )
    assert found == []


async def test_a_capture_that_is_not_written_as_it_must_be_is_refused_by_the_table(
    vault: Vault,
) -> None:
    for name, value in (("capture_id", "no-uuid"), ("content_hash", "xyz"), ("size_bytes", -1)):
        with pytest.raises(Exception, match="constraint"):
            await vault.receive(changed(SEED, **{name: value}))
