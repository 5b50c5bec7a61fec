"""The decision on a real database: its lock, and what holds when the lock does not."""

import asyncio
import uuid
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from ostinato._core.base.errors import DatabaseUnavailable, IdempotencyConflict, InvalidInput
from ostinato._core.base.flow import flow
from ostinato._core.db.pool import connect, transaction
from ostinato._core.db.sqlstate import sqlstate_of
from ostinato._core.engine import tenants
from ostinato.apps.capture import acquire_lock_and_check_idempotence, service
from ostinato.apps.capture.model import CanonicalPayloadFields, Create, Decision, Idempotent, Ocr
from ostinato.apps.capture.queries import Connection
from ostinato.apps.capture.rules import compute_canonical_fingerprint
from ostinato.apps.capture.service import Taken
from tests.apps.capture.vault import SEED, TENANT, USER, Vault, changed, counted
from tests.waiting import until_async

UPPER = changed(SEED, capture_id=SEED.capture_id.upper())


async def decided(vault: Vault, given: CanonicalPayloadFields = SEED, user: str = USER) -> Decision:
    async with vault.transaction(user) as conn:
        return await acquire_lock_and_check_idempotence(conn, user, given)


async def count(vault: Vault) -> int:
    return int(await vault.value("select count(*) from vault_secure.capture_events"))


async def test_an_unknown_capture_is_to_be_created(vault: Vault) -> None:
    assert await decided(vault) == Create(compute_canonical_fingerprint(SEED))
    assert await count(vault) == 0, "it only decides"


async def test_tc_nom_15_a_replay_in_other_letter_case_is_the_same_capture(vault: Vault) -> None:
    """INV-103-31, INV-103-37."""
    first = await vault.receive(UPPER)
    found = await decided(vault, SEED)

    assert found == Idempotent(first.capture_event_id, "RECEIVED")
    stored = await vault.value("select capture_id from vault_secure.capture_events")
    assert stored == SEED.capture_id


async def test_tc_inv_06_a_an_identical_replay_is_idempotent(vault: Vault) -> None:
    first = await vault.receive()
    again = await vault.receive()

    assert (first.replayed, again.replayed) == (False, True)
    assert again.capture_event_id == first.capture_event_id
    assert await count(vault) == 1


async def test_a_transaction_answers_a_replay_however_late_and_whatever_was_read(vault: Vault) -> None:
    first = await vault.receive(ocr=Ocr("premier"))
    wanted = await vault.wanted(SEED, Ocr("second"))
    late = replace(wanted, device=replace(wanted.device, timestamp=wanted.device.timestamp - timedelta(hours=1)))
    again = await service.receive(lambda: vault.transaction(USER, TENANT), USER, late)

    assert (again.capture_event_id, again.replayed) == (first.capture_event_id, True)
    assert await vault.value("select ocr_text from vault_secure.capture_events") == "premier"


async def test_tc_inv_06_b_a_divergent_payload_is_a_conflict(vault: Vault) -> None:
    await vault.receive()
    names = [each.name for each in fields(SEED) if each.name != "capture_id"]
    assert len(names) == 8
    for name in names:
        other = {"size_bytes": 999999, "content_hash": "0" * 64}.get(name, "other")
        with pytest.raises(IdempotencyConflict):
            await decided(vault, changed(SEED, **{name: other}))


async def test_tc_inv_06_c_only_another_ocr_is_idempotent_and_the_first_stays(vault: Vault) -> None:
    await vault.receive(ocr=Ocr("first", 0.9, "fr"))
    again = await vault.receive(ocr=Ocr("second", 0.1, "en"))

    assert again.replayed
    stored = await vault.rows("select ocr_text, ocr_confidence, ocr_language from vault_secure.capture_events")
    assert stored == [("first", 0.9, "fr")]


async def test_tc_inv_06_d_another_letter_case_is_idempotent(vault: Vault) -> None:
    await vault.receive()
    upper = replace(UPPER, content_hash=SEED.content_hash.upper())

    assert isinstance(await decided(vault, upper), Idempotent)


async def test_tc_err_13_a_conflict_is_raised_with_the_seeds_message(vault: Vault) -> None:
    await vault.receive()

    with pytest.raises(IdempotencyConflict) as refused:
        await vault.receive(changed(SEED, size_bytes=999999))
    assert refused.value.message == "capture_id already used with different payload"
    assert type(refused.value).status == 409
    assert await count(vault) == 1


async def test_a_replay_tells_the_state_of_now(vault: Vault) -> None:
    first = await vault.receive()
    await vault.admin.execute(
        "select ostinato.transition('capture', 'vault_secure.capture_events', %s, 'await_upload', by => 'test')",
        (first.capture_event_id,),
    )

    assert (await vault.receive()).state == "UPLOADING"


async def test_64_threads_with_one_capture_make_one_row_and_63_replays(vault: Vault) -> None:
    wanted = await vault.wanted()

    async def send(conn: Connection, _: int) -> Taken:
        return await service.take(conn, USER, wanted)

    found = await vault.at_once(64, send)

    taken = [each for each in found if isinstance(each, Taken)]
    assert len(taken) == 64, [each for each in found if isinstance(each, Exception)][:3]
    assert sorted(each.replayed for each in taken) == [False] + [True] * 63
    assert len({each.capture_event_id for each in taken}) == 1
    assert await count(vault) == 1
    assert await vault.value("select count(*) from ostinato_data.job") == 1
    report = await vault.verified()
    assert (report.entries, report.breaks) == (64, ())


async def test_64_threads_with_divergent_payloads_make_one_row_and_63_conflicts(vault: Vault) -> None:
    wanted = await vault.wanted()

    async def send(conn: Connection, number: int) -> Taken:
        mine = replace(wanted, fields=changed(SEED, size_bytes=number))
        return await service.take(conn, USER, mine)

    found = await vault.at_once(64, send)

    assert counted(found, Taken) == 1
    assert counted(found, IdempotencyConflict) == 63, found
    assert await count(vault) == 1


async def test_64_threads_that_send_as_the_api_does_leave_63_audited_conflicts(vault: Vault) -> None:
    captures = [changed(SEED, size_bytes=number) for number in range(64)]
    results = await asyncio.gather(*(vault.receive(each) for each in captures), return_exceptions=True)

    assert counted(results, IdempotencyConflict) == 63
    told = await vault.audited()
    assert sorted(told) == ["CAPTURE_ACCEPTED"] + ["CAPTURE_CONFLICT"] * 63


async def test_two_users_may_have_the_same_capture_id(vault: Vault) -> None:
    ana, ben = await asyncio.gather(vault.receive(user="ana"), vault.receive(changed(SEED, size_bytes=1), user="ben"))

    assert not ana.replayed
    assert not ben.replayed
    assert ana.capture_event_id != ben.capture_event_id
    # Neither learns of the other's.
    found = await decided(vault, SEED, "ana")
    assert found == Idempotent(ana.capture_event_id, "RECEIVED")


async def test_the_same_user_of_two_tenants_has_two_captures(vault: Vault) -> None:
    await vault.receive(tenant="acme")
    other = await vault.receive(tenant="zeta")

    assert not other.replayed
    assert await count(vault) == 2


async def test_users_do_not_wait_for_each_other(vault: Vault) -> None:
    async with vault.transaction("ana") as conn:
        await acquire_lock_and_check_idempotence(conn, "ana", SEED)
        assert isinstance(await decided(vault, SEED, "ben"), Create)


async def test_the_lock_has_a_namespaced_key_of_64_bits_for_the_transaction(vault: Vault) -> None:
    async with vault.transaction() as conn:
        await acquire_lock_and_check_idempotence(conn, USER, UPPER)
        held = await vault.rows(
            "select (classid::bigint << 32 | objid::bigint)"
            " = ostinato.key_lock(%s, 'capture', %s::text || '/' || %s::text)"
            " from pg_locks where locktype = 'advisory' and objsubid = 1 and granted"
            " and database = (select oid from pg_database where datname = current_database())",
            TENANT,
            USER,
            SEED.capture_id,
        )
        assert held == [(True,)]
    left = await vault.value(
        "select count(*) from pg_locks where locktype = 'advisory'"
        " and database = (select oid from pg_database where datname = current_database())"
    )
    assert left == 0


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
async def test_callers_of_other_isolation_levels_never_make_a_second_row(vault: Vault, level: str) -> None:
    wanted = await vault.wanted()
    async with await connect(vault.database.url) as conn:

        async def send() -> Taken:
            async with transaction(conn):
                await conn.execute(f"set transaction isolation level {level}".encode())
                await tenants.enter(conn, TENANT, user_id=USER)
                await conn.execute("select count(*) from vault_secure.capture_events")
                # Its snapshot is taken; whoever commits now is not seen by it.
                if await count(vault) == 0:
                    await vault.receive()
                decision = await acquire_lock_and_check_idempotence(conn, USER, SEED)
                assert isinstance(decision, Create) is (not again)
                return await service.take(conn, USER, wanted)

        again = False
        with pytest.raises(DatabaseUnavailable, match=r"in the way|cannot see") as refused:
            await send()
        assert sqlstate_of(refused.value) in ("40001", None)
        again = True
        assert (await send()).replayed, "run again, as the error says"
    assert await count(vault) == 1
    assert (await vault.verified()).breaks == ()


async def test_64_callers_at_repeatable_read_make_one_row(vault: Vault) -> None:
    wanted = await vault.wanted()

    async def send(conn: Connection, _: int) -> Taken:
        return await service.take(conn, USER, wanted)

    name = psycopg.sql.Identifier(vault.admin.info.dbname)
    change = psycopg.sql.SQL("alter role ostinato_worker in database {} {} {}")
    level = psycopg.sql.SQL("default_transaction_isolation")
    to = psycopg.sql.SQL("to 'repeatable read'")
    await vault.admin.execute(change.format(name, psycopg.sql.SQL("set ") + level, to))
    try:
        found = await vault.at_once(64, send)
    finally:
        reset = psycopg.sql.SQL("")
        await vault.admin.execute(change.format(name, psycopg.sql.SQL("reset ") + level, reset))

    assert sum(isinstance(each, Taken) and not each.replayed for each in found) == 1
    others = [each for each in found if not isinstance(each, Taken)]
    assert all(isinstance(each, DatabaseUnavailable) for each in others), others[:3]
    assert await count(vault) == 1


@pytest.mark.parametrize("size", [SEED.size_bytes, 7])
async def test_a_missed_lock_cannot_make_a_second_row(vault: Vault, size: int) -> None:
    """Who writes without the lock is met at the constraint; what is there then decides."""
    await vault.receive()
    copied = "create table public.written as table vault_secure.capture_events"
    await vault.admin.execute(copied)
    await vault.admin.execute("set session_replication_role = replica")
    await vault.admin.execute("delete from vault_secure.capture_events")
    await vault.admin.execute("set session_replication_role = origin")
    try:
        async with await psycopg.AsyncConnection.connect(vault.database.admin_url) as careless:
            await careless.execute("insert into vault_secure.capture_events select * from public.written")
            sending = asyncio.create_task(vault.receive(changed(SEED, size_bytes=size)))

            async def waits() -> bool:
                asked = "select count(*) from pg_locks where locktype = 'transactionid'"
                return bool(await vault.value(f"{asked} and not granted"))

            await until_async(waits)
            await careless.commit()
        if size == SEED.size_bytes:
            assert (await sending).replayed
        else:
            with pytest.raises(IdempotencyConflict):
                await sending
    finally:
        await vault.admin.execute("drop table public.written")
    assert await count(vault) == 1


async def test_the_constraint_refuses_a_second_row_even_from_psql(vault: Vault) -> None:
    await vault.receive()

    with pytest.raises(psycopg.errors.UniqueViolation, match="capture_once"):
        await vault.admin.execute(
            "insert into vault_secure.capture_events"
            " select (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid()))).*"
            " from vault_secure.capture_events c"
        )


async def test_a_crash_between_lock_and_insert_leaves_the_capture_to_the_next(vault: Vault) -> None:
    async with await connect(vault.database.url, autocommit=False) as dying:
        await tenants.enter(dying, TENANT, user_id=USER)
        assert isinstance(await acquire_lock_and_check_idempotence(dying, USER, SEED), Create)
        pid = dying.info.backend_pid
        next_one = asyncio.create_task(vault.receive())

        async def waits() -> bool:
            asked = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
            return bool(await vault.value(asked))

        await until_async(waits)
        await vault.admin.execute("select pg_terminate_backend(%s)", (pid,))

        taken = await next_one
        assert not taken.replayed
        assert await count(vault) == 1
        with pytest.raises(psycopg.Error):
            await dying.execute("select 1")
        await dying.close()


async def test_an_intake_that_breaks_leaves_nothing(vault: Vault) -> None:
    wanted = await vault.wanted()

    async def take_and_break() -> None:
        async with vault.transaction() as conn:
            await service.take(conn, USER, wanted)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await take_and_break()
    assert await count(vault) == 0
    assert await vault.audited() == []
    assert await vault.value("select count(*) from ostinato_data.job") == 0
    assert not (await vault.receive()).replayed


async def test_who_forgets_to_say_the_user_is_told_so(vault: Vault) -> None:
    """H-M10-02: without the user, row-level security would hide the row, and decide CREATE."""
    await vault.receive()

    with pytest.raises(InvalidInput, match="not that of the user"):
        async with vault.client.for_tenant(TENANT).transaction() as conn:
            await acquire_lock_and_check_idempotence(conn, USER, SEED)


async def test_who_is_in_another_tenant_than_his_flow_is_told_so(vault: Vault) -> None:
    """The flow names the tenant that is looked in; row-level security shows that of the role."""
    await vault.receive()

    async def ask() -> Decision:
        async with vault.client.transaction() as conn:
            await tenants.enter(conn, "zeta", user_id=USER)
            return await acquire_lock_and_check_idempotence(conn, USER, SEED)

    with flow(tenant=TENANT, correlation="test"), pytest.raises(InvalidInput, match="not that of"):
        await ask()


async def test_a_user_may_be_named_by_a_uuid(vault: Vault) -> None:
    user: Any = uuid.uuid4()
    async with vault.client.transaction() as conn:
        await tenants.enter_flow(conn, TENANT)
        taken = await service.take(conn, user, await vault.wanted())
        again = await acquire_lock_and_check_idempotence(conn, user, SEED)
        shown = await service.show(conn, user, SEED.capture_id)
    assert again == Idempotent(taken.capture_event_id, "RECEIVED")
    assert shown["capture_event_id"] == taken.capture_event_id
    assert (await vault.verified(user_id=str(user))).entries == 1


async def test_a_worker_decides_for_the_tenant_of_its_flow(vault: Vault) -> None:
    first = await vault.receive()
    async with vault.client.transaction() as conn:
        await tenants.enter_flow(conn, TENANT)
        found = await acquire_lock_and_check_idempotence(conn, USER, SEED)
    assert found == Idempotent(first.capture_event_id, "RECEIVED")


async def test_other_captures_of_a_user_are_other_captures(vault: Vault) -> None:
    first = await vault.receive()
    second = await vault.receive(changed(SEED, capture_id=str(uuid.uuid4())))
    assert first.capture_event_id != second.capture_event_id
