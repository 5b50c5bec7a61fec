"""The work behind the intake: durable steps from the 202 to the seal, and what gets stuck."""

import base64
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from structlog.typing import EventDict

from ostinato._core.engine import machines
from ostinato._core.runtime.observe.scenario import System
from ostinato.apps.capture import APP, jobs, keyring
from ostinato.apps.capture.device import Kek, Prepared
from ostinato.apps.capture.model import CanonicalPayloadFields, Reason
from ostinato.apps.capture.objects import Folder, Found
from ostinato.lab.sandbox.running import Running
from tests.apps.capture.conftest import Api
from tests.apps.capture.kms import NONSENSE, TROUBLED, TroubledKms
from tests.apps.capture.vault import KEK, SEED, TENANT, USER, Vault, captured, tampered
from tests.runtime.lab import Lab

CONTENT = b"the plaintext that nobody may ever see " * 10


def put(store: Path, prepared: Prepared, blob: bytes | None = None, tenant: str = TENANT) -> None:
    place = store / tenant / prepared.fields.upload_object_key
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(prepared.blob if blob is None else blob)


async def states(vault: Vault, capture_event_id: str) -> list[str]:
    past = await machines.history(vault.admin, "vault_secure.capture_events", capture_event_id)
    return [each.to_state for each in reversed(past)]


async def told(vault: Vault) -> list[tuple[str, str | None]]:
    rows = await vault.rows("select type, payload ->> 'reason' from ostinato_data.event order by id")
    return [(row[0], row[1]) for row in rows]


async def test_a_capture_goes_all_the_way_to_its_seal(vault: Vault, store: Path) -> None:
    prepared = captured(CONTENT)
    put(store, prepared)
    taken = await vault.receive(prepared.fields)
    await vault.run()

    assert await vault.state(taken) == ("SEALED", None)
    assert await states(vault, taken.capture_event_id) == ["UPLOADING", "UPLOADED", "VERIFYING", "SEALED"]
    assert await vault.audited() == ["CAPTURE_ACCEPTED", "CAPTURE_SEALED"]
    assert await told(vault) == [("capture.received", None), ("capture.sealed", None)]
    sealed_seq = await vault.value("select sealed_seq from vault_secure.capture_events")
    assert sealed_seq == 2
    assert (await vault.receive(prepared.fields)).state == "SEALED"
    assert (await vault.verified()).breaks == ()


async def test_a_tampered_object_is_rejected_with_the_reason(vault: Vault, store: Path) -> None:
    prepared = captured(CONTENT)
    put(store, prepared, tampered(prepared.blob))
    taken = await vault.receive(prepared.fields)
    await vault.run()

    assert await vault.state(taken) == ("REJECTED", "TAG_MISMATCH")
    assert await vault.audited() == ["CAPTURE_ACCEPTED", "CAPTURE_REJECTED"]
    assert (await told(vault))[-1] == ("capture.rejected", "TAG_MISMATCH")
    assert await vault.value("select count(*) from ostinato_data.dead_letter") == 0


async def test_the_seeds_own_vector_is_taken_in_and_rejected_behind(vault: Vault, store: Path) -> None:
    """Its wrapped key has 13 bytes: the intake takes it as it is, the check cannot unwrap it."""
    place = store / TENANT / SEED.upload_object_key
    place.parent.mkdir(parents=True)
    place.write_bytes(bytes(SEED.size_bytes))
    taken = await vault.receive()
    await vault.run()
    assert await vault.state(taken) == ("REJECTED", "DEK_MALFORMED")


@pytest.mark.parametrize("tenant", ["bolt", "../acme", "acme/captures", "."])
async def test_a_reason_never_tells_of_an_object_of_another_tenant(vault: Vault, store: Path, tenant: str) -> None:
    """The object of another is answered as one that does not exist, whatever it is compared with."""
    prepared = captured(CONTENT)
    put(store, prepared)
    key = prepared.fields.upload_object_key
    tried = [
        replace(prepared.fields, capture_id=str(uuid4())),
        replace(prepared.fields, capture_id=str(uuid4()), size_bytes=1),
        replace(prepared.fields, capture_id=str(uuid4()), upload_object_key=f"{TENANT}/{key}"),
        replace(prepared.fields, capture_id=str(uuid4()), upload_object_key="captures/nowhere.enc"),
    ]
    taken = [await vault.receive(each, tenant=tenant) for each in tried]
    await vault.run()
    waiting = [await vault.state(each) for each in taken]
    await vault.engine.clock.move(timedelta(hours=25))
    await vault.run()

    assert waiting == [("UPLOADING", None)] * 4
    assert [await vault.state(each) for each in taken] == [("FAILED", "OBJECT_MISSING")] * 4


async def test_one_store_for_all_is_a_choice(vault: Vault, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_CAPTURE_OBJECT_PREFIX", "none")
    prepared = captured(CONTENT)
    place = store / prepared.fields.upload_object_key
    place.parent.mkdir(parents=True)
    place.write_bytes(prepared.blob)

    taken = await vault.receive(prepared.fields)
    await vault.run()

    assert await vault.state(taken) == ("SEALED", None)


async def test_an_object_that_comes_later_is_waited_for(vault: Vault, store: Path) -> None:
    prepared = captured(CONTENT)
    taken = await vault.receive(prepared.fields)
    await vault.run()
    assert await vault.state(taken) == ("UPLOADING", None)
    put(store, prepared)
    await vault.run()
    assert (await vault.state(taken))[0] == "UPLOADING", "it is not time yet"

    await vault.engine.clock.move(16)
    await vault.run()
    assert await vault.state(taken) == ("SEALED", None)


async def test_an_object_that_never_comes_fails_the_capture(vault: Vault, store: Path) -> None:
    taken = await vault.receive(captured(CONTENT).fields)
    await vault.run()
    await vault.engine.clock.move(timedelta(hours=25))
    await vault.run()

    assert await vault.state(taken) == ("FAILED", "OBJECT_MISSING")
    assert (await vault.audited())[-1] == "CAPTURE_FAILED"


async def test_a_key_that_comes_later_is_waited_for(vault: Vault, store: Path) -> None:
    other = Kek("kek-late", bytes(32))
    prepared = captured(CONTENT, kek=other)
    put(store, prepared)
    taken = await vault.receive(prepared.fields)
    await vault.run()
    assert (await vault.state(taken))[0] == "VERIFYING"
    keyring.add_key(store.parent / "keyring.json", other.id, other.key)
    await vault.engine.clock.move(timedelta(hours=60))
    await vault.run()
    assert await vault.state(taken) == ("SEALED", None)


async def test_a_keyring_that_fails_again_and_again_costs_no_capture(
    vault: Vault, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By time and not by count: more often than a job that fails has attempts."""
    prepared = captured(CONTENT)
    put(store, prepared)
    taken = await vault.receive(prepared.fields)
    monkeypatch.setenv("OSTINATO_CAPTURE_KEYRING", TROUBLED)
    TroubledKms.break_(9)
    await vault.run(move_clock=True)
    assert await vault.state(taken) == ("SEALED", None)
    assert TroubledKms.asked == 10


async def test_a_key_that_never_comes_fails_the_capture(vault: Vault, store: Path) -> None:
    prepared = captured(CONTENT, kek=Kek("kek-never", bytes(32)))
    put(store, prepared)
    taken = await vault.receive(prepared.fields)
    await vault.run()
    await vault.engine.clock.move(timedelta(hours=73))
    await vault.run()
    assert await vault.state(taken) == ("FAILED", "KEK_UNKNOWN")


async def on_device(vault: Vault, world: Running) -> CanonicalPayloadFields:
    """What a device sends whose object is in the store."""
    order = {"tenant_id": TENANT, "user_id": USER, "timestamp_device": (await vault.now()).isoformat()}
    async with httpx.AsyncClient(base_url=world.url, timeout=60, trust_env=False) as http:
        body: dict[str, Any] = (await http.post("/_sandbox/capture/device", json=order)).json()
    named = {name: body[name] for name in SEED.__slots__ if name != "content_hash"}
    return CanonicalPayloadFields(**named, content_hash=body["hash_sha3_256"])


async def test_a_store_that_comes_back_is_tried_again(vault: Vault, world: Running, logs: list[EventDict]) -> None:
    sent = await on_device(vault, world)
    world.order("/s3/*", "503*4")
    taken = await vault.receive(sent)
    await vault.run()
    assert await vault.state(taken) == ("UPLOADING", None)
    waits = [line for line in logs if line["event"] == "capture_waits"]
    assert [(line["reason"], line["capture_id"]) for line in waits] == [("UNAVAILABLE", sent.capture_id)]

    await vault.run(move_clock=True)
    assert await vault.state(taken) == ("SEALED", None)


async def test_short_troubles_of_the_store_never_add_up(vault: Vault, world: Running) -> None:
    """Nine of them while the object is waited for."""
    taken = await vault.receive(await on_device(vault, world))
    world.order("/s3/*", "503*18")  # the library asks twice
    await vault.run(move_clock=True)
    assert await vault.state(taken) == ("SEALED", None)


async def test_a_store_that_stays_away_fails_the_capture(vault: Vault, world: Running) -> None:
    world.order("/s3/*", "503*")
    taken = await vault.receive(captured(CONTENT).fields)
    await vault.run()
    await vault.engine.clock.move(timedelta(hours=73))
    await vault.run()
    assert await vault.state(taken) == ("FAILED", "UNAVAILABLE")


async def test_captures_wait_for_a_worker_that_is_set_up(
    vault: Vault, store: Path, monkeypatch: pytest.MonkeyPatch, logs: list[EventDict]
) -> None:
    prepared = captured(CONTENT)
    put(store, prepared)
    taken = await vault.receive(prepared.fields)
    with monkeypatch.context() as patch:
        patch.setenv("OSTINATO_CAPTURE_STORE", "s3")
        patch.setitem(sys.modules, "obstore.store", None)
        patch.setenv("OSTINATO_CAPTURE_KEYRING_FILE", str(store / "none.json"))
        await vault.run()
    assert await vault.state(taken) == ("UPLOADING", None)
    told = repr(logs)
    assert "ostinato[s3]" in told
    assert "new-kek" in told
    await vault.engine.clock.move(60)
    await vault.run()
    assert await vault.state(taken) == ("SEALED", None)


async def test_what_was_done_before_a_crash_is_not_done_again(
    vault: Vault, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = captured(CONTENT)
    put(store, prepared)
    taken = await vault.receive(prepared.fields)
    looked: list[str] = []
    find = Folder.find

    async def counted(self: Folder, key: str, version: str | None = None) -> Found:
        looked.append(key)
        return await find(self, key, version)

    monkeypatch.setattr(Folder, "find", counted)
    monkeypatch.setenv("OSTINATO_CAPTURE_KEYRING", TROUBLED)
    TroubledKms.break_(1)
    await vault.run()
    assert (await vault.state(taken))[0] == "VERIFYING"
    assert len(looked) == 1, "for the step find_object"
    await vault.run(move_clock=True)
    assert await vault.state(taken) == ("SEALED", None)
    assert len(looked) == 2, "only the check looks again"
    assert await states(vault, taken.capture_event_id) == ["UPLOADING", "UPLOADED", "VERIFYING", "SEALED"]


async def test_a_verdict_stands_when_the_seal_breaks(vault: Vault, store: Path) -> None:
    """The content is checked once: it may be gone when the attempt after the break comes."""
    prepared = captured(CONTENT)
    put(store, prepared)
    taken = await vault.receive(prepared.fields)
    table = b"alter table vault_secure.capture_audit_log"
    await vault.admin.execute(table + b" add constraint no_seal check (event_type <> 'CAPTURE_SEALED')")
    try:
        await vault.run()
    finally:
        await vault.admin.execute(table + b" drop constraint no_seal")
    assert (await vault.state(taken))[0] == "VERIFYING"
    (store / TENANT / prepared.fields.upload_object_key).unlink()

    await vault.run(move_clock=True)
    assert await vault.state(taken) == ("SEALED", None)
    assert await vault.audited() == ["CAPTURE_ACCEPTED", "CAPTURE_SEALED"]


async def dead_job(vault: Vault, store: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A capture whose job became a dead letter, at its one attempt."""
    prepared = captured(CONTENT)
    put(store, prepared)
    taken = await vault.receive(prepared.fields)
    await vault.admin.execute(
        "update ostinato_data.job set max_attempts = 1"
        " where args ->> 'capture_event_id' = %s and kind = 'capture.verify'",
        (taken.capture_event_id,),
    )
    with monkeypatch.context() as patch:
        patch.setenv("OSTINATO_CAPTURE_KEYRING", NONSENSE)
        await vault.run()
    assert await vault.value("select count(*) from ostinato_data.dead_letter") == 1
    return taken.capture_event_id


async def reconcile(vault: Vault) -> None:
    await APP["capture.reconcile"].enqueue(vault.client)
    await vault.run()


async def test_a_capture_whose_job_is_dead_is_started_anew(
    vault: Vault, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture_id = await dead_job(vault, store, monkeypatch)
    await vault.engine.clock.move(timedelta(minutes=31))
    await reconcile(vault)

    rows = await vault.rows(
        "select id::text, state, reconciliation_attempts, last_reconciled_at is not null"
        " from vault_secure.capture_events"
    )
    assert rows == [(capture_id, "SEALED", 1, True)]


async def test_a_capture_that_waits_is_left_alone(vault: Vault, store: Path) -> None:
    await vault.receive(captured(CONTENT).fields)
    await vault.run()
    await vault.engine.clock.move(timedelta(minutes=31))
    before = await vault.value("select count(*) from ostinato_data.job where kind = 'capture.verify'")
    await reconcile(vault)
    rows = await vault.rows("select state, reconciliation_attempts from vault_secure.capture_events")
    assert rows == [("UPLOADING", 0)]
    after = await vault.value("select count(*) from ostinato_data.job where kind = 'capture.verify'")
    assert (before, after) == (1, 1)


async def test_one_that_is_stuck_is_found_behind_many_that_wait(
    vault: Vault, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "PAGE", 2)
    for number in range(3):
        await vault.receive(captured(bytes([number])).fields)
    stuck = await dead_job(vault, store, monkeypatch)
    await vault.engine.clock.move(timedelta(minutes=31))
    await reconcile(vault)

    rows = await vault.rows(
        "select state, id::text = %s, reconciliation_attempts from vault_secure.capture_events order by received_at",
        stuck,
    )
    assert rows == [("UPLOADING", False, 0)] * 3 + [("SEALED", True, 1)]


async def test_a_capture_that_was_started_too_often_has_failed(
    vault: Vault, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_CAPTURE_RECONCILE_ATTEMPTS", "0")
    await dead_job(vault, store, monkeypatch)
    await vault.engine.clock.move(timedelta(minutes=31))
    await reconcile(vault)
    rows = await vault.rows("select state, reason from vault_secure.capture_events")
    assert rows == [("FAILED", Reason.ABANDONED.value)]
    assert (await vault.audited())[-1] == "CAPTURE_FAILED"
    assert (await vault.verified()).breaks == ()


async def everything(vault: Vault) -> bytes:
    """All rows of all tables, as text."""
    tables = await vault.rows(
        "select c.oid::regclass::text from pg_class c where c.relkind = 'r'"
        " and c.relnamespace in ('ostinato_data'::regnamespace, 'vault_secure'::regnamespace)"
    )
    found = []
    for (name,) in tables:
        found += await vault.rows(f"select t::text from {name} t")  # noqa: S608 - a table of ours
    return repr(found).encode()


@pytest.mark.parametrize("outcome", ["SEALED", "TAG_MISMATCH", "HASH_MISMATCH", "broken"])
async def test_keys_and_content_reach_no_table_log_or_error(
    vault: Vault, store: Path, logs: list[EventDict], monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    chance = iter([b"\x11" * 16, b"\x77" * 32, b"\x22" * 12, b"\x33" * 12])
    prepared = captured(CONTENT, chance=lambda _: next(chance))
    dek = b"\x77" * 32
    blob = prepared.blob
    if outcome == "TAG_MISMATCH":
        blob = tampered(blob)
    if outcome == "HASH_MISMATCH":
        prepared = Prepared(
            type(SEED)(**({n: getattr(prepared.fields, n) for n in SEED.__slots__} | {"content_hash": "0" * 64})), blob
        )
    if outcome == "broken":
        monkeypatch.setenv("OSTINATO_CAPTURE_KEYRING", TROUBLED)
        TroubledKms.break_(1000)
    put(store, prepared, blob)
    await vault.receive(prepared.fields)
    await vault.run()

    seen = await everything(vault) + repr(logs).encode()
    assert (b"ConnectionResetError" if outcome == "broken" else outcome.encode()) in seen
    for secret in (dek, KEK.key, CONTENT[:39]):
        for form in (secret, base64.b64encode(secret)[:-4], secret.hex().encode(), repr(secret)[2:-1].encode()):
            assert form not in seen


async def test_a_real_worker_takes_captures_from_their_queue(vault: Vault, store: Path, api: Api) -> None:
    prepared = captured(CONTENT)
    put(store, prepared)
    async with Lab(vault.engine, APP).worker(APP):
        taken = await vault.receive(prepared.fields)
        lab = Lab(vault.engine, APP)
        await lab.until(
            "select state = 'SEALED' from vault_secure.capture_events where id = %s::uuid", taken.capture_event_id
        )


async def test_the_demo_proves_what_it_says(vault: Vault, api: Api, world: Running) -> None:
    from ostinato.apps.capture.demo import SCENARIO  # noqa: PLC0415 - as the command finds it

    await api.call("GET", f"/documents/capture/{SEED.capture_id}", user="demo", role="admin")
    bearer = {"Authorization": f"Bearer {api._keys[TENANT, 'demo', 'admin']}"}
    api.http.headers.update(bearer)
    async with (
        Lab(vault.engine, APP).worker(APP),
        httpx.AsyncClient(base_url=world.url, timeout=60, trust_env=False) as sandbox,
    ):
        system = System(api.http, TENANT, sandbox=sandbox, database=vault.client)
        await SCENARIO.run(system)
    assert len(system.proofs) == 6
