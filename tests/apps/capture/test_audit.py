"""The audit log in the database: every decision, append-only, verified, signed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from ostinato._core.base.errors import IdempotencyConflict, InvalidInput, NotFound
from ostinato.apps.capture import APP, audit, signing
from ostinato.apps.capture.heads import Head, public_text, read_head, read_heads
from ostinato.apps.capture.model import AuditEvent
from ostinato.apps.capture.queries import Connection
from ostinato.apps.capture.service import Taken
from tests.apps.capture.vault import SEED, TENANT, USER, Vault, captured, changed

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
NEW_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
TABLES = ("capture_audit_log", "capture_audit_head")


async def signed(vault: Vault, user: str = USER, key: Ed25519PrivateKey = KEY) -> tuple[Head, int]:
    return await signing.sign_head(vault.client.transaction, TENANT, user, key)


async def sealed(vault: Vault, store: Path, count: int, user: str = USER) -> list[Taken]:
    """Captures that were checked."""
    taken = []
    for number in range(count):
        prepared = captured(bytes([number]), user)
        place = store / TENANT / prepared.fields.upload_object_key
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(prepared.blob)
        taken.append(await vault.receive(prepared.fields, user=user))
    await vault.run()
    return taken


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
    assert set(rows[2][4]) == {"capture_id", "http_status", "received", "source_ip", "stored", "tenant_id"}
    report = await vault.verified()
    assert (report.chains, report.entries, report.breaks) == (1, 3, ())


async def test_entries_and_signed_heads_have_the_real_time_wherever_the_clock_stands(vault: Vault) -> None:
    """A proof of when something was is not dated by a clock that can be moved."""
    before = await vault.rows("select clock_timestamp()")
    await vault.engine.clock.freeze(datetime(2031, 1, 1, tzinfo=UTC))

    await vault.receive()
    head, _ = await signed(vault)

    ((entered,),) = await vault.rows("select occurred_at from vault_secure.capture_audit_log")
    ((ended,),) = await vault.rows("select clock_timestamp()")
    second = timedelta(seconds=1)  # entries are cut to milliseconds
    assert before[0][0] - second < entered < ended
    assert before[0][0] - second < datetime.fromisoformat(head.signed_at) < ended
    assert (await vault.verified()).breaks == ()


async def test_the_log_is_append_only_even_for_the_superuser(vault: Vault) -> None:
    await three_entries(vault)
    await signed(vault)

    for table in TABLES:
        for verb in ("update {} set seq = seq + 1", "delete from {}", "truncate {}"):
            with pytest.raises(psycopg.Error, match="append-only") as refused:
                await vault.admin.execute(verb.format(f"vault_secure.{table}").encode())
            assert refused.value.sqlstate == "OS409"
    assert (await vault.verified()).breaks == ()


async def test_a_change_behind_the_triggers_is_found_and_named(vault: Vault) -> None:
    await three_entries(vault)
    await vault.receive(user="ben")
    for change, seq in (
        ("update {} set event_type = 'OTHER' where {} and seq = 2", 2),
        ("update {} set event_payload = '{{}}' where {} and seq = 3", 3),
        ("update {} set occurred_at = '2020-01-01' where {} and seq = 1", 1),
        ("update {} set canonical = '{{}}' where {} and seq = 1", 1),
        ("delete from {} where {} and seq = 1", 1),
        ("delete from {} where {} and seq = 2", 2),
    ):
        statement = change.format("vault_secure.capture_audit_log", f"user_id = '{USER}'")
        async with vault.admin.transaction(force_rollback=True):
            await vault.admin.execute("set local session_replication_role = replica")
            await vault.admin.execute(statement.encode())
            report = await audit.verify(vault.admin)
            other = await audit.verify(vault.admin, user_id="ben")
        found = [(each.tenant_id, each.chain_id, each.seq) for each in report.breaks]
        assert found == [(TENANT, f"capture:{USER}", seq)], statement
        assert other.breaks == ()


async def test_entries_moved_to_another_tenant_are_found(vault: Vault) -> None:
    await three_entries(vault)
    await rewrite(vault, "update vault_secure.capture_audit_log set tenant_id = 'zeta'")
    assert [b.seq for b in (await vault.verified()).breaks] == [1]


async def test_chains_grow_in_order_however_many_write_at_once(vault: Vault) -> None:
    captures = [captured(bytes([n])).fields for n in range(20)]
    await asyncio.gather(*(vault.receive(f, user=u) for f in captures for u in ("ana", "ben")))

    report = await vault.verified()
    assert (report.chains, report.entries, report.breaks) == (2, 40, ())


async def test_sql_and_python_write_the_same_text(vault: Vault) -> None:
    for user in ('quo"te', "back\\slash", "\u00e9\U0001f600\u2028", "a/b:c", "tab\t"):
        for _ in range(2):
            await vault.receive(user=user)
        report = await vault.verified(user_id=user)
        assert (report.entries, report.breaks) == (2, ())


async def test_a_signed_head_anchors_what_it_covers(vault: Vault, store: Path) -> None:
    (first,) = await sealed(vault, store, 1)
    second = await vault.receive()
    head, anchored = await signed(vault)

    assert (await vault.state(first))[0] == "ANCHORED"
    assert (await vault.state(second))[0] != "ANCHORED"
    assert (head.seq, anchored, head.is_signed()) == (3, 1, True)
    status = await vault.value(
        "select signature_status from vault_secure.capture_events where id = %s::uuid", first.capture_event_id
    )
    assert status == "SIGNED"
    assert (await vault.audited())[-1] == "CAPTURE_ANCHORED"
    told = await vault.rows(
        "select ordering_key, payload ->> 'state' from ostinato_data.event where type = 'capture.anchored'"
    )
    assert told == [(first.capture_event_id, "ANCHORED")]
    report = await vault.verified()
    assert (report.heads, report.breaks) == (1, ())
    assert (await signed(vault))[1] == 0, "once"


def breaking(vault: Vault, at: int) -> Callable[[], AbstractAsyncContextManager[Connection]]:
    """Transactions of a worker that is gone when it wants to open the one of that number."""
    opened = 0

    @asynccontextmanager
    async def opening() -> AsyncIterator[Connection]:
        nonlocal opened
        opened += 1
        if opened == at:
            raise ZeroDivisionError
        async with vault.client.transaction() as conn:
            yield conn

    return opening


@pytest.mark.parametrize(("at", "done"), [(2, 0), (3, 2)])
async def test_anchoring_goes_by_pages_and_is_taken_up_where_it_broke(
    vault: Vault, store: Path, monkeypatch: pytest.MonkeyPatch, at: int, done: int
) -> None:
    """A page is a transaction: the intake of the user waits for one page, not for all."""
    monkeypatch.setattr(signing, "PAGE", 2)
    taken = await sealed(vault, store, 5)
    with pytest.raises(ZeroDivisionError):
        await signing.sign_head(breaking(vault, at), TENANT, USER, KEY)
    assert (await vault.audited()).count("CAPTURE_ANCHORED") == done

    async with vault.client.transaction() as conn:
        assert await signing.chains_to_sign(conn, KEY) == [(TENANT, USER)]
    assert (await signed(vault))[1] == 5 - done
    assert {(await vault.state(each))[0] for each in taken} == {"ANCHORED"}
    assert (await vault.audited()).count("CAPTURE_ANCHORED") == 5
    assert (await vault.verified()).breaks == ()


async def test_two_who_sign_at_once_both_sign_and_anchor_once(vault: Vault, store: Path) -> None:
    await sealed(vault, store, 3)
    found = await asyncio.gather(*(signed(vault, key=key) for key in (KEY, NEW_KEY, KEY)))

    assert sum(anchored for _, anchored in found) == 3
    assert all(head.is_signed() for head, _ in found)
    assert (await vault.audited()).count("CAPTURE_ANCHORED") == 3
    assert (await vault.verified()).breaks == ()


@pytest.fixture
def signing_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Heads are signed every hour, into a folder."""
    path = tmp_path / "audit.pem"
    path.touch(0o600)
    path.write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    monkeypatch.setenv("OSTINATO_CAPTURE_SIGNING_KEY_FILE", str(path))
    monkeypatch.setenv("OSTINATO_CAPTURE_HEADS_FOLDER", str(tmp_path / "heads"))
    return tmp_path / "heads"


async def signed_heads(vault: Vault, folder: Path) -> int:
    """How many heads there are after another hour."""
    await APP["capture.sign_heads"].enqueue(vault.client)
    await vault.run()
    return len(read_heads(folder))


async def test_heads_are_signed_by_schedule_exported_and_anchor(vault: Vault, store: Path, signing_key: Path) -> None:
    assert "capture.sign_heads" in {each.kind for each in APP.schedules}
    await vault.engine.clock.freeze()  # its own hour does not come
    taken = [*await sealed(vault, store, 2), *await sealed(vault, store, 1, "ben")]

    assert await signed_heads(vault, signing_key) == 2
    assert {(await vault.state(each))[0] for each in taken} == {"ANCHORED"}
    assert await signed_heads(vault, signing_key) == 4, "the entries of the anchoring"
    assert await signed_heads(vault, signing_key) == 4, "nothing went on"
    kept = read_heads(signing_key)
    report = await vault.verified(kept=kept, public_keys=[public_text(KEY)])
    assert (report.chains, report.heads, report.breaks) == (2, 8, ())


async def test_without_a_key_nothing_is_signed(vault: Vault) -> None:
    await vault.receive()
    await APP["capture.sign_heads"].enqueue(vault.client)
    await vault.run()
    assert await vault.value("select count(*) from vault_secure.capture_audit_head") == 0


async def test_a_head_that_was_kept_elsewhere_finds_a_log_that_was_written_anew(vault: Vault) -> None:
    await three_entries(vault)
    head, _ = await signed(vault)
    await rewrite(
        vault,
        "delete from vault_secure.capture_audit_log",
        "delete from vault_secure.capture_audit_head",
        "delete from vault_secure.capture_events",
    )
    for named in ({}, {"user_id": USER}):
        gone = await vault.verified(kept=[head], **named)
        assert [each.seq for each in gone.breaks] == [1], "all of it is gone"
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
    for forged in (replace(head, seq=2), replace(head, signature="AAAA"), replace(head, public_key="")):
        (found,) = (await vault.verified(kept=[forged])).breaks
        assert "signature" in found.problem


async def test_a_head_that_is_not_valid_hides_no_break_before_it(vault: Vault) -> None:
    await three_entries(vault)
    head, _ = await signed(vault)
    forged = replace(head, signature="AAAA")
    await rewrite(vault, "update vault_secure.capture_audit_log set event_type = 'OTHER' where seq = 2")
    (found,) = (await vault.verified(kept=[forged])).breaks
    assert (found.seq, "columns" in found.problem) == (2, True)


async def test_a_key_may_be_changed_for_another(vault: Vault) -> None:
    await vault.receive()
    await signed(vault, key=KEY)
    await vault.receive()
    await signed(vault, key=NEW_KEY)

    old, new = public_text(KEY), public_text(NEW_KEY)
    assert (await vault.verified(public_keys=[old, new])).heads == 2
    assert [each.seq for each in (await vault.verified(public_keys=[new])).breaks] == [1]
    assert [each.seq for each in (await vault.verified(public_keys=[old])).breaks] == [2]


async def test_who_has_no_chain_is_not_verified(vault: Vault) -> None:
    await vault.receive()
    for wrong in ({"user_id": "anna"}, {"tenant_id": "acne"}, {"user_id": USER, "tenant_id": "x"}):
        with pytest.raises(NotFound, match="no chain"):
            await vault.verified(**wrong)
    assert (await vault.verified(user_id=USER)).chains == 1


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
            await audit.append(conn, USER, AuditEvent.ACCEPTED, "x", tenant_id=TENANT)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await append_and_break()
    assert await vault.audited() == []
    await vault.receive()
    assert (await vault.verified()).entries == 1
