"""The audit log in the database: every decision, append-only, verified, signed."""

import asyncio
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ostinato.apps.capture import audit
from ostinato.apps.capture.audit import Head, read_head
from ostinato.apps.capture.model import AuditEvent
from ostinato.base.errors import IdempotencyConflict, InvalidInput, NotFound
from tests.apps.capture.vault import SEED, TENANT, USER, Vault, captured, changed

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
TABLES = ("capture_audit_log", "capture_audit_head")


async def signed(vault: Vault, user: str = USER) -> tuple[Head, int]:
    async with vault.client.transaction() as conn:
        return await audit.sign_head(conn, TENANT, user, KEY)


async def rewrite(vault: Vault, *statements: str) -> None:
    """Do what only a superuser who turns the triggers off can do."""
    await vault.admin.execute("set session_replication_role = replica")
    try:
        for each in statements:
            await vault.admin.execute(each.encode())
    finally:
        await vault.admin.execute("set session_replication_role = origin")


async def three_entries(vault: Vault) -> None:
    await vault.receive()
    await vault.receive()
    with pytest.raises(IdempotencyConflict):
        await vault.receive(changed(SEED, size_bytes=1))


async def test_every_decision_is_audited_also_the_one_that_rolls_back(vault: Vault) -> None:
    await three_entries(vault)

    rows = await vault.rows(
        "select seq, event_type, http_status, capture_id, event_payload - 'correlation_id'"
        " from vault_secure.capture_audit_log order by seq"
    )
    assert [row[:4] for row in rows] == [
        (1, "CAPTURE_ACCEPTED", 202, SEED.capture_id),
        (2, "CAPTURE_REPLAYED", 200, SEED.capture_id),
        (3, "CAPTURE_CONFLICT", 409, SEED.capture_id),
    ]
    assert set(rows[2][4]) == {
        "capture_id",
        "http_status",
        "received",
        "source_ip",
        "stored",
        "tenant_id",
    }
    report = await vault.verified()
    assert (report.chains, report.entries, report.breaks) == (1, 3, ())


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("verb", ["update {} set seq = seq + 1", "delete from {}", "truncate {}"])
async def test_the_log_is_append_only_even_for_the_superuser(
    vault: Vault, table: str, verb: str
) -> None:
    await three_entries(vault)
    await signed(vault)

    with pytest.raises(psycopg.Error, match="append-only") as refused:
        await vault.admin.execute(verb.format(f"vault_secure.{table}").encode())
    assert refused.value.sqlstate == "OS409"
    assert (await vault.verified()).breaks == ()


@pytest.mark.parametrize(
    ("statement", "seq"),
    [
        ("update vault_secure.capture_audit_log set event_type = 'OTHER' where seq = 2", 2),
        ("update vault_secure.capture_audit_log set event_payload = '{}' where seq = 3", 3),
        ("update vault_secure.capture_audit_log set occurred_at = '2020-01-01' where seq = 1", 1),
        ("update vault_secure.capture_audit_log set canonical = '{}' where seq = 1", 1),
        ("delete from vault_secure.capture_audit_log where seq = 1", 1),
        ("delete from vault_secure.capture_audit_log where seq = 2", 2),
    ],
)
async def test_a_change_behind_the_triggers_is_found_and_named(
    vault: Vault, statement: str, seq: int
) -> None:
    await three_entries(vault)
    await vault.receive(user="ben")
    await rewrite(vault, statement.replace("where", f"where user_id = '{USER}' and"))

    report = await vault.verified()
    assert [(b.tenant_id, b.chain_id, b.seq) for b in report.breaks] == [
        (TENANT, f"capture:{USER}", seq)
    ]
    assert (await vault.verified(user_id="ben")).breaks == ()


async def test_entries_moved_to_another_tenant_are_found(vault: Vault) -> None:
    await three_entries(vault)
    await rewrite(vault, "update vault_secure.capture_audit_log set tenant_id = 'zeta'")
    assert [b.seq for b in (await vault.verified()).breaks] == [1]


async def test_chains_grow_in_order_however_many_write_at_once(vault: Vault) -> None:
    captures = [captured(bytes([n])).fields for n in range(20)]
    await asyncio.gather(*(vault.receive(f, user=u) for f in captures for u in ("ana", "ben")))

    report = await vault.verified()
    assert (report.chains, report.entries, report.breaks) == (2, 40, ())


@pytest.mark.parametrize(
    "user", ['quo"te', "back\\slash", "\u00e9\U0001f600\u2028", "a/b:c", "tab\t"]
)
async def test_sql_and_python_write_the_same_text(vault: Vault, user: str) -> None:
    for _ in range(2):
        await vault.receive(user=user)
    report = await vault.verified(user_id=user)
    assert (report.entries, report.breaks) == (2, ())


async def test_a_signed_head_anchors_what_it_covers(vault: Vault, store: Path) -> None:
    sealed = captured(b"sealed")
    place = store / sealed.fields.upload_object_key
    place.parent.mkdir(parents=True)
    place.write_bytes(sealed.blob)
    first = await vault.receive(sealed.fields)
    await vault.run()
    second = await vault.receive()
    head, anchored = await signed(vault)

    assert (await vault.state(first))[0] == "ANCHORED"
    assert (await vault.state(second))[0] != "ANCHORED"
    assert (head.seq, anchored, head.is_signed()) == (3, 1, True)
    status = await vault.value(
        "select signature_status from vault_secure.capture_events where id = %s::uuid",
        first.capture_event_id,
    )
    assert status == "SIGNED"
    assert (await vault.audited())[-1] == "CAPTURE_ANCHORED"
    report = await vault.verified()
    assert (report.heads, report.breaks) == (1, ())
    assert (await signed(vault))[1] == 0, "once"


async def test_a_head_that_was_kept_elsewhere_finds_a_log_that_was_written_anew(
    vault: Vault,
) -> None:
    await three_entries(vault)
    head, _ = await signed(vault)
    await rewrite(
        vault,
        "delete from vault_secure.capture_audit_log",
        "delete from vault_secure.capture_audit_head",
        "delete from vault_secure.capture_events",
    )
    assert (await vault.verified(kept=[head])).breaks[0].seq == 1, "all of it is gone"
    for _ in range(3):
        await vault.receive()
    assert (await vault.verified()).breaks == (), "by itself it holds"

    (found,) = (await vault.verified(kept=[head])).breaks
    assert (found.seq, "written anew" in found.problem) == (3, True)


async def test_the_end_of_a_chain_cannot_be_cut_off_behind_a_signed_head(vault: Vault) -> None:
    await three_entries(vault)
    await signed(vault)
    await rewrite(vault, "delete from vault_secure.capture_audit_log where seq > 1")

    (found,) = (await vault.verified()).breaks
    assert (found.seq, "ends at 1" in found.problem) == (2, True)


async def test_a_head_whose_signature_is_not_valid_is_named(vault: Vault) -> None:
    await three_entries(vault)
    head, _ = await signed(vault)
    for forged in (
        replace(head, seq=2),
        replace(head, signature="AAAA"),
        replace(head, public_key=""),
    ):
        (found,) = (await vault.verified(kept=[forged])).breaks
        assert "signature" in found.problem


async def test_a_head_goes_out_and_comes_back(vault: Vault) -> None:
    await vault.receive()
    head, _ = await signed(vault)
    assert read_head(head.document()) == head
    for odd in ({}, head.document() | {"seq": "1"}, head.document() | {"algorithm": "none"}):
        with pytest.raises(InvalidInput):
            read_head(odd)


async def test_a_user_without_a_chain_has_no_head(vault: Vault) -> None:
    with pytest.raises(NotFound):
        await signed(vault, "nobody")


async def test_an_entry_is_taken_back_with_what_it_tells_of(vault: Vault) -> None:
    async def append_and_break() -> None:
        async with vault.transaction() as conn:
            await audit.append(conn, USER, AuditEvent.SEALED, "x", tenant_id=TENANT)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await append_and_break()
    assert await vault.audited() == []
    await vault.receive()
    assert (await vault.verified()).entries == 1
