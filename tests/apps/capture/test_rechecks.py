"""Sealed objects are looked at again by schedule, and who changed one is found out."""

from datetime import timedelta
from pathlib import Path

import pytest
from structlog.typing import EventDict

from ostinato.apps.capture import APP, keyring
from ostinato.apps.capture.alerts import CHANGED
from ostinato.apps.capture.device import Kek
from ostinato.lab.sandbox.running import Running
from tests.apps.capture.conftest import Api
from tests.apps.capture.test_audit import signed
from tests.apps.capture.test_http import PATH, body
from tests.apps.capture.test_jobs import on_device, put
from tests.apps.capture.vault import SEED, TENANT, USER, Vault, captured, tampered
from tests.payloads import EMITTED, checked

CONTENT = b"what was seen"
MONTH = timedelta(days=30, hours=1)
MARKS = "select changed_reason from vault_secure.capture_events order by received_at"


@pytest.fixture(autouse=True)
async def _between_two_slots(vault: Vault) -> None:
    """The schedule itself looks at minute 37, and would look with a test that runs just then."""
    now = await vault.engine.clock.now()
    await vault.engine.clock.move(timedelta(minutes=(50 - now.minute) % 60))


async def sealed(vault: Vault, store: Path, content: bytes = CONTENT) -> Path:
    """A sealed capture; where its object is."""
    prepared = captured(content)
    put(store, prepared)
    await vault.receive(prepared.fields)
    await vault.run()
    return store / TENANT / prepared.fields.upload_object_key


async def recheck(vault: Vault, after: timedelta = MONTH) -> None:
    await vault.engine.clock.move(after)
    await APP["capture.recheck"].enqueue(vault.client)
    await vault.run()


async def changes(vault: Vault) -> list[tuple[str, str]]:
    return await vault.rows(
        "select e.ordering_key, e.payload ->> 'reason' from ostinato_data.event e"
        " where e.type = 'capture.changed' order by e.id"
    )


async def test_an_object_that_changed_is_found_told_and_audited_once(
    vault: Vault, store: Path, logs: list[EventDict]
) -> None:
    place = await sealed(vault, store)
    await sealed(vault, store, b"another")
    place.write_bytes(tampered(place.read_bytes()))

    await recheck(vault)
    await recheck(vault)

    assert await vault.rows(MARKS) == [("TAG_MISMATCH",), (None,)]
    ids = await vault.rows("select id::text from vault_secure.capture_events order by received_at")
    assert await changes(vault) == [(ids[0][0], "TAG_MISMATCH")]
    assert (await vault.audited()).count("CAPTURE_CHANGED") == 1
    assert (await vault.verified()).breaks == ()
    assert [line["event"] for line in logs if line["log_level"] == "error"] == ["capture_changed"]
    assert await vault.rows("select * from vault_secure.changed_captures()") == [(TENANT, 1.0)]
    assert (CHANGED.function, CHANGED.above, CHANGED.tenant) == ("vault_secure.changed_captures", 0, None)


async def test_an_object_that_is_gone_has_changed_and_one_that_is_back_has_not(vault: Vault, store: Path) -> None:
    place = await sealed(vault, store)
    kept = place.read_bytes()
    place.unlink()
    await recheck(vault)
    assert await vault.rows(MARKS) == [("OBJECT_MISSING",)]
    place.write_bytes(kept)

    await recheck(vault)

    assert await vault.rows(MARKS) == [(None,)]
    assert (await vault.audited())[-2:] == ["CAPTURE_CHANGED", "CAPTURE_RESTORED"]
    assert await vault.rows("select * from vault_secure.changed_captures()") == []


async def test_a_batch_is_bounded_and_takes_the_longest_unseen_first(
    vault: Vault, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_CAPTURE_RECHECK_BATCH", "2")
    for number in range(3):
        await sealed(vault, store, bytes([number]))
    seen = "select rechecked_at is not null from vault_secure.capture_events order by verified_at"

    await recheck(vault)
    assert [row[0] for row in await vault.rows(seen)] == [True, True, False]
    await recheck(vault, timedelta(hours=1))
    assert [row[0] for row in await vault.rows(seen)] == [True, True, True]
    before = await vault.rows("select rechecked_at from vault_secure.capture_events order by id")
    await recheck(vault, timedelta(hours=1))
    assert await vault.rows("select rechecked_at from vault_secure.capture_events order by id") == before


async def test_what_cannot_be_looked_at_has_not_changed(vault: Vault, world: Running) -> None:
    """A store that is away ends the run, and the next one begins with the same."""
    await vault.receive(await on_device(vault, world))
    await vault.run()
    world.order("/s3/*", "503*4")
    await recheck(vault)
    assert await vault.rows("select changed_at, rechecked_at from vault_secure.capture_events") == [(None, None)]

    for _ in range(2):  # also by schedule: how often it meets the trouble does not matter
        await recheck(vault, timedelta(hours=1))

    assert await vault.rows("select changed_at, rechecked_at is not null from vault_secure.capture_events") == [
        (None, True)
    ]


async def test_a_key_that_was_taken_away_keeps_no_other_from_its_turn(vault: Vault, store: Path) -> None:
    other = Kek("kek-old", bytes(32))
    keyring.add_key(store.parent / "keyring.json", other.id, other.key)
    prepared = captured(CONTENT, kek=other)
    put(store, prepared)
    await vault.receive(prepared.fields)
    await sealed(vault, store)
    ring = store.parent / "keyring.json"
    ring.write_text(ring.read_text().replace("kek-old", "kek-gone"))

    await recheck(vault)

    assert (
        await vault.rows("select changed_at, rechecked_at is not null from vault_secure.capture_events")
        == [(None, True)] * 2
    )


async def test_it_is_done_by_schedule_and_may_be_turned_off(
    vault: Vault, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [each.cron for each in APP.schedules if each.kind == "capture.recheck"] == ["37 * * * *"]
    monkeypatch.setenv("OSTINATO_CAPTURE_RECHECK_DAYS", "0")
    await sealed(vault, store)

    await recheck(vault)

    assert await vault.rows("select rechecked_at from vault_secure.capture_events") == [(None,)]


async def test_a_user_finds_what_changed(vault: Vault, store: Path, api: Api) -> None:
    place = await sealed(vault, store)
    await sealed(vault, store, b"another")
    place.unlink()
    await recheck(vault)

    found = (await api.call("GET", "/documents/capture", params={"changed": "true"}, user=USER)).json()

    assert [each["changed_reason"] for each in found["items"]] == ["OBJECT_MISSING"]


async def test_all_events_of_a_run_are_as_declared(vault: Vault, store: Path, api: Api) -> None:
    """The intake emits in SQL, where no type checks what it writes."""
    (store / TENANT / SEED.upload_object_key).parent.mkdir(parents=True, exist_ok=True)
    (store / TENANT / SEED.upload_object_key).write_bytes(bytes(SEED.size_bytes))
    assert (await api.call("POST", PATH, json=await body(vault))).status_code == 202
    late = captured(b"late")
    await vault.receive(late.fields)
    await vault.receive(captured(b"never there").fields)
    await vault.run()
    put(store, late)
    assert (await api.call("POST", f"{PATH}/{late.fields.capture_id}/uploaded")).json() == {"woken": 1}
    place = await sealed(vault, store)
    place.write_bytes(b"")
    await recheck(vault)
    await signed(vault)

    assert checked(APP, await vault.rows(EMITTED)) == {each.type.name for each in APP.events}
