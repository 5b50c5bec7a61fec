"""Who sees and writes what: row-level security by user, grants, and the machine in the database."""

import json

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from ostinato._core.base.canonical import canonical
from ostinato._core.base.errors import IllegalTransition, InvalidInput, OstinatoError
from ostinato._core.engine import machines, tenants
from ostinato.apps.capture.machine import CAPTURE
from ostinato.apps.capture.model import AuditEvent
from ostinato.apps.capture.queries import Connection
from tests.apps.capture.vault import SEED, TENANT, Vault, changed

TABLES = ("capture_events", "capture_audit_log", "capture_audit_head")


async def seen(conn: Connection, table: str = "capture_events") -> int:
    cursor = await conn.execute(f"select count(*) from vault_secure.{table}".encode())  # noqa: S608 - one of ours
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


async def test_the_migration_installs_the_machine_that_is_declared(vault: Vault) -> None:
    stored = await vault.value("select definition::text from ostinato_data.machine where name = 'capture'")
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


async def test_row_level_security_is_forced(vault: Vault) -> None:
    found = await vault.rows(
        "select relname, relrowsecurity, relforcerowsecurity from pg_class"
        " where relnamespace = 'vault_secure'::regnamespace and relkind = 'r' order by relname"
    )
    assert found == [(table, True, True) for table in sorted(TABLES)]


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


async def test_a_user_starts_the_check_of_his_own_captures_only(vault: Vault) -> None:
    """The kind is closed to tenants: the function of the owner that starts it asks whose it is."""
    taken = await vault.receive(user="ana")
    await vault.rows("delete from ostinato_data.job_unique")

    for user, tenant in (("ben", TENANT), ("ana", "zeta")):
        with pytest.raises(OstinatoError, match="there is no capture"):
            async with vault.transaction(user, tenant) as conn:
                await conn.execute("select vault_secure.start_check(%s, %s)", [TENANT, taken.capture_event_id])
        with pytest.raises(OstinatoError, match=r"capture\.verify|no worker has declared"):
            async with vault.transaction(user, tenant) as conn:
                await conn.execute("select ostinato.enqueue_job('capture.verify')")
    async with vault.transaction("ana") as conn:
        await conn.execute("select vault_secure.start_check(%s, %s)", [TENANT, taken.capture_event_id])

    assert await vault.value("select count(*) from ostinato_data.job where kind = 'capture.verify'") == 2


async def test_a_user_may_not(vault: Vault) -> None:
    for statement in (
        "update vault_secure.capture_events set state = 'SEALED'",
        "delete from vault_secure.capture_events",
        "insert into vault_secure.capture_events (tenant_id, state) values ('acme', 'SEALED')",
        "insert into vault_secure.capture_audit_log (tenant_id) values ('acme')",
        "insert into vault_secure.capture_audit_head (tenant_id) values ('acme')",
        "update vault_secure.capture_audit_log set event_type = 'x'",
        "truncate vault_secure.capture_audit_log",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with vault.transaction() as conn:
                await conn.execute(statement.encode())


async def test_not_even_a_worker_may(vault: Vault) -> None:
    for statement in (
        "update vault_secure.capture_events set size_bytes = 1",
        "update vault_secure.capture_events set payload_canonical_sha256 = repeat('0', 64)",
        "delete from vault_secure.capture_events",
        "insert into vault_secure.capture_audit_log (tenant_id) values ('acme')",
        "delete from vault_secure.capture_audit_log",
        "truncate vault_secure.capture_audit_log",
    ):
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


APPEND = "select vault_secure.append_audit(%s, %s, %s)"


def payload(tenant: str = TENANT, **more: object) -> str:
    return canonical({"tenant_id": tenant, **more}).decode()


async def test_an_entry_is_made_for_oneself_only(vault: Vault) -> None:
    for user, tenant in (("ben", TENANT), ("ana", "zeta")):
        with pytest.raises(InvalidInput, match="tenant and user"):
            async with vault.transaction("ana", TENANT) as conn:
                await conn.execute(APPEND, (user, "CAPTURE_ACCEPTED", payload(tenant)))
    assert await vault.value("select count(*) from vault_secure.capture_audit_log") == 0


async def test_who_logs_in_as_the_role_of_users_has_its_rights_only(vault: Vault) -> None:
    """The role counts however the session came to it: by `set role`, or by its login."""
    url = make_conninfo(vault.database.url, user="ostinato_tenant")
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        for user in ("ana", "ben"):
            with pytest.raises(psycopg.Error, match="tenant and user") as refused:
                await conn.execute(APPEND, (user, "CAPTURE_ACCEPTED", payload()))
            assert refused.value.sqlstate == "OS400"
        async with conn.transaction():
            await tenants.enter(conn, TENANT, user_id="ana")
            await conn.execute(APPEND, ("ana", "CAPTURE_ACCEPTED", payload()))
    assert await vault.audited("ana") == ["CAPTURE_ACCEPTED"]


async def test_a_user_makes_entries_of_his_intake_only(vault: Vault) -> None:
    # What a person thinks of a conflict of his own is an entry of his, too.
    intake = {"CAPTURE_ACCEPTED", "CAPTURE_REPLAYED", "CAPTURE_CONFLICT", "CAPTURE_REFUSED", "CAPTURE_CONFLICT_SEEN"}
    for event in (*AuditEvent, "FORGED"):
        try:
            async with vault.transaction("ana") as conn:
                await conn.execute(APPEND, ("ana", str(event), payload()))
        except InvalidInput:
            assert event not in intake
        else:
            assert event in intake
    assert set(await vault.audited("ana")) == intake


async def test_no_entry_is_made_that_would_not_verify(vault: Vault) -> None:
    """What is in the chain stays there, so it is refused before."""
    for text in (
        json.dumps({"tenant_id": TENANT}),
        '{"z":1,"tenant_id":"acme"}',
        '{"n":1.0,"tenant_id":"acme"}',
        '{"n":-0,"tenant_id":"acme"}',
        '{"n":9007199254740992,"tenant_id":"acme"}',
        '{"n":true,"tenant_id":"acme"}',
        '{"n":{},"tenant_id":"acme"}',
        '{"tenant_id":"acme","tenant_id":"acme"}',
        '{"tenant_id":"\\u0061cme"}',
        '{"N":1,"tenant_id":"acme"}',
    ):
        with pytest.raises(InvalidInput, match="RFC 8785"):
            async with vault.client.transaction() as conn:
                await conn.execute(APPEND, ("ana", "CAPTURE_SEALED", text))
    good = payload(n=-(2**53) + 1, text='\u00e9\U0001f600\u2028\u007f/\\"\b\t\n\f\r\u0001', zero=0)
    async with vault.client.transaction() as conn:
        await conn.execute(APPEND, ("ana", "CAPTURE_SEALED", good))
    report = await vault.verified()
    assert (report.entries, report.breaks) == (1, ())


async def test_nothing_of_the_schema_is_open_to_everybody(vault: Vault) -> None:
    found = await vault.rows(
        "select p.proname from pg_proc p where p.pronamespace = 'vault_secure'::regnamespace"
        " and p.prorettype <> 'trigger'::regtype"
        " and has_function_privilege('public', p.oid, 'execute')"
    )
    assert found == []


async def test_a_capture_that_is_not_written_as_it_must_be_is_refused_by_the_table(vault: Vault) -> None:
    for name, value in (("capture_id", "no-uuid"), ("content_hash", "xyz"), ("size_bytes", -1)):
        with pytest.raises(Exception, match="constraint"):
            await vault.receive(changed(SEED, **{name: value}))
