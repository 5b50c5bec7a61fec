"""API keys: what is stored of them, who is let in, and how they end."""

import asyncio
import base64
import hashlib
import hmac
import logging
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from ostinato._core.base.errors import Conflict, InvalidInput, NotFound, Unauthenticated
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.db.pool import Connection, connect
from ostinato._core.engine import keys
from ostinato._core.engine.keys import Created, Key
from tests.schemas import internal_functions
from tests.sql.engine import START, Clock, Row, Session, Sessions, refused, until_blocked

Work = Callable[[Connection], Awaitable[Any]]
Ask = Callable[[Work], Any]

DAY = 86_400
HASH = hashlib.sha256(b"ost_1_x").digest()
OTHER_HASH = hashlib.sha256(b"ost_2_x").digest()
KEY: dict[str, Any] = {"tenant_id": "acme", "subject": "nightly", "roles": ["ops"]}
# They are given a row, and read none.
OF_A_ROW = {"check_api_key(null)", "is_api_key_usable(null, now())", "api_key_line(null, now())"}
FUNCTIONS = [
    "next_api_key_id()",
    "create_api_key(1, sha256('x'), 'acme', 'me', '{ops}')",
    "find_api_key(1)",
    "match_api_keys('{1}', array[sha256('x')])",
    "note_api_key_use('{1}')",
    "list_api_keys()",
    "lock_api_key(1)",
    "rotate_api_key(1, 2, '\\x00')",
    "revoke_api_key(1)",
    "prune_api_keys(90)",
    "check_api_key(null)",
    "is_api_key_usable(null, now())",
    "api_key_line(null, now())",
]


def schema_of(call: str) -> str:
    return "ostinato_internal" if call.partition("(")[0] in internal_functions() else "ostinato"


@pytest.fixture
def ask(urls: Urls, sessions: Sessions) -> Ask:
    """Runs something on a connection of a worker, on an empty database."""
    return lambda work: asyncio.run(on(urls.worker, work))


async def on(url: str, work: Work) -> Any:  # noqa: ANN401
    async with await connect(url) as conn:
        return await work(conn)


def made(ask: Ask, **how: Any) -> Created:  # noqa: ANN401
    found: Created = ask(lambda conn: keys.create(conn, **(KEY | how)))
    return found


def refusal(ask: Ask, text: str) -> Unauthenticated:
    """How a text is refused."""
    with pytest.raises(Unauthenticated) as caught:
        ask(lambda conn: keys.authenticate(conn, text))
    return caught.value


def works(ask: Ask, made: Created) -> bool:
    try:
        ask(lambda conn: keys.authenticate(conn, made.key))
    except Unauthenticated:
        return False
    return True


def add(db: Session, **how: Any) -> Row:  # noqa: ANN401
    """A key as SQL alone makes it."""
    key_id = db.get("next_api_key_id")
    (row,) = db.call("create_api_key", **({"key_id": key_id, "hash": HASH} | KEY | how))
    return row


def rotated(db: Session, key_id: int, **how: Any) -> Row:  # noqa: ANN401
    new_id = db.get("next_api_key_id")
    (row,) = db.call("rotate_api_key", key_id=key_id, new_id=new_id, new_hash=OTHER_HASH, **how)
    return row


# Making one, and what is stored.


def test_a_key_says_who_asks_for_whom_in_which_roles(ask: Ask) -> None:
    new = made(ask, roles=["ops", "admin", "ops"], name="the nightly run", expires_in=90 * DAY)

    found = ask(lambda conn: keys.authenticate(conn, new.key))

    assert (found.id, found.tenant_id, found.subject) == (new.record.id, "acme", "nightly")
    assert (found.roles, found.name) == (["admin", "ops"], "the nightly run")
    assert (found.created_at, found.expires_at) == (START, START + timedelta(days=90))
    assert (found.last_used_at, found.revoked_at, found.replaces) == (None, None, None)
    assert (found.usable, found.state, found.prefix) == (True, "active", f"ost_{found.id}")


def test_the_text_is_the_id_and_32_random_bytes(ask: Ask) -> None:
    texts = [made(ask).key for _ in range(20)]

    for text in texts:
        match = re.fullmatch(r"ost_([0-9]+)_([A-Za-z0-9_-]{43})", text)
        assert match is not None
        assert len(base64.urlsafe_b64decode(match[2] + "=")) == 32
    assert len({text.split("_", 2)[2] for text in texts}) == len(texts)


def test_only_the_hash_of_the_whole_text_is_stored(ask: Ask, db: Session) -> None:
    new = made(ask)
    secret = new.key.split("_", 2)[2]

    (row,) = db.rows("select k.*, k::text as all_of_it from ostinato_data.api_key k")

    assert row["hash"] == hashlib.sha256(new.key.encode()).digest()
    assert secret not in row["all_of_it"]
    assert secret not in str(row)
    assert secret.encode().hex() not in row["all_of_it"]
    assert secret not in repr(new)
    found = ask(lambda conn: keys.find(conn, new.record.id))
    assert found.hash == row["hash"]
    assert "hash" not in repr(found)


def test_no_log_of_the_server_and_no_log_of_ours_has_the_text(
    ask: Ask, urls: Urls, shared_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    since = shared_server.cluster.log_size()
    caplog.set_level(logging.DEBUG)

    async def all_of_it(conn: Connection) -> list[str]:
        await conn.execute("set log_statement = 'all'")
        await conn.execute("set log_parameter_max_length = -1")
        new = await keys.create(conn, **KEY)
        await keys.authenticate(conn, new.key)
        with pytest.raises(Unauthenticated):
            await keys.authenticate(conn, new.key[:-1] + ("A" if new.key[-1] != "A" else "E"))
        following = await keys.rotate(conn, new.record.id)
        with pytest.raises(Conflict):
            await keys.rotate(conn, new.record.id)
        await keys.note_use(conn, [new.record.id])
        await keys.revoke(conn, new.record.id)
        return [new.key, following.key]

    texts = asyncio.run(on(urls.admin, all_of_it))

    with shared_server.cluster.log_path.open(encoding="utf-8", errors="replace") as file:
        file.seek(since)
        logged = file.read()
    assert "create_api_key" in logged  # it does log what it is sent
    for text in texts:
        secret = text.split("_", 2)[2]
        assert secret not in logged
        assert secret[:-1] not in logged
        assert secret[:-1] not in caplog.text


@pytest.mark.parametrize(
    "bad",
    [
        {"tenant_id": ""},
        {"tenant_id": None},
        {"tenant_id": "x" * 201},
        {"subject": ""},
        {"subject": None},
        {"subject": "x" * 201},
        {"roles": []},
        {"roles": None},
        {"roles": [""]},
        {"roles": ["ops", None]},
        {"roles": ["Ops"]},
        {"roles": ["ops "]},
        {"roles": ["ops\n"]},
        {"roles": ["team-lead"]},
        {"roles": ["é"]},
        {"roles": ["x" * 201]},
        {"roles": [f"r{n}" for n in range(101)]},
        {"name": ""},
        {"name": "x" * 201},
        {"expires_seconds": 0.0},
        {"expires_seconds": -1.0},
        {"expires_seconds": 315_360_001.0},
        {"expires_seconds": float("nan")},
        {"expires_seconds": float("inf")},
        {"key_id": 0},
        {"hash": b""},
        {"hash": b"x" * 33},
    ],
)
def test_a_key_that_could_not_work_is_refused(db: Session, bad: dict[str, Any]) -> None:
    with refused("OS400"):
        add(db, **bad)
    assert db.call("list_api_keys") == []


def test_the_longest_values_are_taken(db: Session) -> None:
    row = add(db, tenant_id="t" * 200, subject="s" * 200, roles=["r" * 200], name="n" * 200)

    assert db.call("find_api_key", key_id=row["id"])[0]["roles"] == ["r" * 200]


def test_python_refuses_in_words_of_its_own(ask: Ask) -> None:
    with pytest.raises(InvalidInput, match="roles: 1 to 100") as caught:
        made(ask, roles=[])
    assert caught.value.hint
    with pytest.raises(InvalidInput, match="a text, not a list"):
        made(ask, roles="ops")
    with pytest.raises(InvalidInput):
        made(ask, tenant_id="nul\0byte")
    with pytest.raises(InvalidInput, match="ten years"):
        made(ask, expires_in=10 * 366 * DAY)


# Who is let in.


def other_secret(text: str) -> str:
    return text[:-2] + ("AA" if not text.endswith("AA") else "QQ")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ost_",
        "ost_1",
        "ost_1_",
        "ost_1_" + "A" * 42,
        "ost_1_" + "A" * 44,
        "ost_0_" + "A" * 43,
        "ost_01_" + "A" * 43,
        "ost_-1_" + "A" * 43,
        "ost_1_" + "A" * 42 + "=",
        "ost_1_" + "A" * 42 + "é",
        "ost_1_" + "A" * 42 + "\ud800",
        "ost_1_" + "A" * 43 + "\n",
        " ost_1_" + "A" * 43,
        "OST_1_" + "A" * 43,
        "ost_\u0661_" + "A" * 43,
        "ost_" + "9" * 20 + "_" + "A" * 43,
        "\0",
        "x" * 100_000,
    ],
)
def test_what_is_no_key_is_refused_and_not_repeated(ask: Ask, text: str) -> None:
    error = refusal(ask, text)

    assert error.values == {"reason": "malformed"}
    assert "A" * 42 not in str(error)


def test_nothing_tells_a_wrong_secret_from_an_unknown_key(ask: Ask) -> None:
    new = made(ask)
    ended = made(ask)
    ask(lambda conn: keys.revoke(conn, ended.record.id))

    refusals = [
        refusal(ask, other_secret(new.key)),
        refusal(ask, other_secret(ended.key)),
        refusal(ask, f"ost_{ended.record.id + 1}_" + "A" * 43),
        refusal(ask, f"ost_{2**63 - 1}_" + "A" * 43),
        refusal(ask, f"ost_{2**63}_" + "A" * 43),
        refusal(ask, f"ost_{ended.record.id}_" + new.key.split("_", 2)[2]),
    ]

    assert {str(error) for error in refusals} == {str(refusals[0])}
    assert [error.values for error in refusals] == [{"reason": "unknown"}] * len(refusals)


def test_secrets_are_compared_in_constant_time_also_with_no_key(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    new = made(ask)
    compared: list[tuple[Any, Any]] = []
    really = hmac.compare_digest

    def watched(a: Any, b: Any) -> bool:  # noqa: ANN401
        compared.append((a, b))
        return really(a, b)

    monkeypatch.setattr(hmac, "compare_digest", watched)
    assert works(ask, new)
    refusal(ask, other_secret(new.key))
    refusal(ask, f"ost_{new.record.id + 1}_" + "A" * 43)

    assert len(compared) == 3
    assert all(type(side) is bytes and len(side) == 32 for pair in compared for side in pair)


def test_a_revoked_key_is_refused_and_its_holder_told_so(ask: Ask, clock: Clock) -> None:
    new = made(ask, expires_in=60)
    clock.advance(seconds=30)

    ended: Key = ask(lambda conn: keys.revoke(conn, new.record.id))

    error = refusal(ask, new.key)
    assert (ended.state, ended.usable, ended.revoked_at) == ("revoked", False, clock.now)
    assert error.values == {"reason": "revoked", "key_id": new.record.id}
    assert error.message == f"API key ost_{new.record.id} was revoked at 2026-03-02 09:00:30 UTC"
    clock.advance(days=1)
    assert refusal(ask, new.key).values["reason"] == "revoked"


def test_a_key_works_until_it_expires_by_the_clock_of_the_database(ask: Ask, clock: Clock) -> None:
    new = made(ask, expires_in=3600)

    clock.advance(seconds=3599)
    assert works(ask, new)
    clock.advance(seconds=1)

    error = refusal(ask, new.key)
    assert error.values == {"reason": "expired", "key_id": new.record.id}
    assert error.message == f"API key ost_{new.record.id} expired at 2026-03-02 10:00:00 UTC"
    found = ask(lambda conn: keys.find(conn, new.record.id))
    assert (found.usable, found.state) == (False, "expired")


def test_a_key_without_an_end_has_none(ask: Ask, clock: Clock) -> None:
    new = made(ask)

    clock.advance(days=36_500)

    assert works(ask, new)


@pytest.mark.parametrize("key_id", [-1, 0, 999_999, 2**31, 2**63 - 1, 2**63, 2**100])
def test_a_key_that_is_not_there_is_not_found(ask: Ask, key_id: int) -> None:
    assert ask(lambda conn: keys.find(conn, key_id)) is None
    with pytest.raises(NotFound, match=f"no API key ost_{key_id}") as caught:
        ask(lambda conn: keys.revoke(conn, key_id))
    assert "keys list" in (caught.value.hint or "")
    with pytest.raises(NotFound):
        ask(lambda conn: keys.rotate(conn, key_id))


# Use.


def test_a_key_that_ended_is_forgotten_after_90_days_and_its_successor_works_on(
    ask: Ask, db: Session, clock: Clock
) -> None:
    lasting, revoked, expired = made(ask), made(ask), made(ask, expires_in=10 * DAY)
    ask(lambda conn: keys.revoke(conn, revoked.record.id))
    replaced = made(ask)
    successor: Created = ask(lambda conn: keys.rotate(conn, replaced.record.id))

    clock.advance(days=90)
    assert ask(keys.prune) == 0
    clock.advance(days=1, seconds=1)
    assert ask(keys.prune) == 2
    clock.advance(days=10)
    assert ask(keys.prune) == 1

    left = {row["id"]: row["replaces"] for row in db.call("list_api_keys")}
    assert left == {lasting.record.id: None, successor.record.id: None}
    assert works(ask, lasting)
    assert works(ask, successor)
    assert not works(ask, revoked)
    assert not works(ask, expired)


def test_pruning_leaves_a_key_that_somebody_is_changing(
    ask: Ask, db: Session, sessions: Sessions, clock: Clock
) -> None:
    (held, free) = (add(db)["id"] for _ in range(2))
    for key_id in (held, free):
        db.call("revoke_api_key", key_id=key_id)
    clock.advance(days=91)
    other = sessions.open()

    with other.transaction():
        other.call("lock_api_key", key_id=held)
        assert ask(keys.prune) == 1

    assert [row["id"] for row in db.call("list_api_keys")] == [held]


def test_uses_are_noted_together_and_at_most_once_a_minute(db: Session, clock: Clock) -> None:
    ids = [add(db)["id"] for _ in range(3)]

    def last() -> list[Any]:
        return [row["last_used_at"] for row in db.call("list_api_keys")][::-1]

    assert db.get("note_api_key_use", key_ids=[*ids[:2], ids[0], 999_999]) == 2
    assert last() == [START, START, None]
    clock.advance(seconds=59)
    assert db.get("note_api_key_use", key_ids=ids) == 1
    assert last() == [START, START, clock.now]
    clock.advance(seconds=1)
    assert db.get("note_api_key_use", key_ids=ids) == 2
    assert last() == [clock.now, clock.now, START + timedelta(seconds=59)]
    assert db.get("note_api_key_use", key_ids=[]) == 0


def test_a_note_of_use_waits_for_nobody(db: Session, other: Session) -> None:
    busy, free = add(db)["id"], add(db)["id"]

    with other.transaction():
        other.call("lock_api_key", key_id=busy)
        assert db.get("note_api_key_use", key_ids=[busy, free]) == 1

    assert db.get("note_api_key_use", key_ids=[busy, free]) == 1


def test_python_notes_uses_too(ask: Ask) -> None:
    first, second = made(ask), made(ask)

    assert ask(lambda conn: keys.note_use(conn, {first.record.id, second.record.id})) == 2
    assert ask(lambda conn: keys.note_use(conn, [])) == 0
    assert ask(lambda conn: keys.find(conn, first.record.id)).last_used_at == START


# Lists.


def test_keys_are_listed_newest_first_by_tenant_and_page(ask: Ask, clock: Clock) -> None:
    first, second = made(ask), made(ask, tenant_id="other", expires_in=60)
    third, fourth = made(ask), made(ask, expires_in=60)
    ask(lambda conn: keys.revoke(conn, first.record.id))
    clock.advance(seconds=60)

    def ids(**how: Any) -> list[int]:  # noqa: ANN401
        return [key.id for key in ask(lambda conn: keys.list_keys(conn, **how))]

    everything = [new.record.id for new in (fourth, third, second, first)]
    assert ids() == everything
    assert ids(tenant_id="other") == [second.record.id]
    assert ids(tenant_id="nobody") == []
    assert ids(usable=True) == [third.record.id]
    assert ids(usable=False, tenant_id="acme") == [fourth.record.id, first.record.id]
    assert ids(most=2) == everything[:2]
    assert ids(most=2, before=everything[1]) == everything[2:]
    states = [key.state for key in ask(keys.list_keys)]
    assert states == ["expired", "active", "expired", "revoked"]
    with pytest.raises(InvalidInput):
        ids(most=0)


def test_a_list_has_no_hashes(db: Session) -> None:
    add(db)

    (row,) = db.call("list_api_keys")

    assert "hash" not in row
    assert HASH.hex() not in str(row)


# Rotation and revocation.


def test_a_successor_is_for_the_same_and_the_old_key_works_for_the_overlap(ask: Ask, clock: Clock) -> None:
    old = made(ask, roles=["ops", "admin"], name="nightly", expires_in=90 * DAY)
    clock.advance(days=80)

    new: Created = ask(lambda conn: keys.rotate(conn, old.record.id))

    found = ask(lambda conn: keys.authenticate(conn, new.key))
    assert (found.tenant_id, found.subject, found.name) == ("acme", "nightly", "nightly")
    assert (found.roles, found.replaces) == (["admin", "ops"], old.record.id)
    assert found.expires_at == clock.now + timedelta(days=90)
    assert new.key != old.key
    clock.advance(seconds=DAY - 1)
    assert works(ask, old)
    clock.advance(seconds=1)
    assert not works(ask, old)
    assert works(ask, new)


def test_without_an_overlap_the_old_key_is_revoked(ask: Ask) -> None:
    old = made(ask)

    new: Created = ask(lambda conn: keys.rotate(conn, old.record.id, overlap_seconds=0))

    assert refusal(ask, old.key).values["reason"] == "revoked"
    assert works(ask, new)


def test_an_overlap_makes_no_key_live_longer(ask: Ask, clock: Clock) -> None:
    old = made(ask, expires_in=60)

    new: Created = ask(lambda conn: keys.rotate(conn, old.record.id, expires_in=7200))

    clock.advance(seconds=60)
    assert not works(ask, old)
    clock.advance(seconds=7139)
    assert works(ask, new)
    clock.advance(seconds=1)
    assert not works(ask, new)


def test_a_key_has_one_successor_unless_that_one_was_revoked(ask: Ask, clock: Clock) -> None:
    old = made(ask, expires_in=10 * DAY)
    lost: Created = ask(lambda conn: keys.rotate(conn, old.record.id))

    with pytest.raises(Conflict, match="was rotated already") as caught:
        ask(lambda conn: keys.rotate(conn, old.record.id))
    assert caught.value.values["replaced_by"] == lost.record.id
    assert f"ostinato keys revoke ost_{lost.record.id}" in (caught.value.hint or "")

    ask(lambda conn: keys.revoke(conn, lost.record.id))
    again: Created = ask(lambda conn: keys.rotate(conn, old.record.id))
    assert works(ask, again)
    # As long as the key was made for, not as short as its overlap made it.
    assert again.record.expires_at == clock.now + timedelta(days=10)
    assert works(ask, ask(lambda conn: keys.rotate(conn, again.record.id)))


def test_a_key_that_ended_has_no_successor(ask: Ask, clock: Clock) -> None:
    revoked, expired = made(ask), made(ask, expires_in=60)
    ask(lambda conn: keys.revoke(conn, revoked.record.id))
    clock.advance(seconds=60)

    with pytest.raises(Conflict, match="was revoked") as caught:
        ask(lambda conn: keys.rotate(conn, revoked.record.id))
    assert "ostinato keys create" in (caught.value.hint or "")
    with pytest.raises(Conflict, match="has expired"):
        ask(lambda conn: keys.rotate(conn, expired.record.id))


@pytest.mark.parametrize("overlap", [-1.0, 31_536_001.0, float("nan"), float("inf"), None])
def test_an_overlap_that_cannot_be_is_refused(db: Session, overlap: float | None) -> None:
    row = add(db)

    with refused("OS400", "overlap"):
        rotated(db, row["id"], overlap_seconds=overlap)
    with refused("OS400", "expires"):
        rotated(db, row["id"], expires_seconds=0.0)
    assert [key["usable"] for key in db.call("list_api_keys")] == [True]
    assert db.call("list_api_keys")[0]["expires_at"] is None


def test_a_revocation_is_for_good(ask: Ask, clock: Clock) -> None:
    new = made(ask)
    first = ask(lambda conn: keys.revoke(conn, new.record.id))

    clock.advance(days=-1)
    again = ask(lambda conn: keys.revoke(conn, new.record.id))

    assert again == first
    assert refusal(ask, new.key).values["reason"] == "revoked"


def test_a_key_of_another_tenant_is_like_no_key(ask: Ask) -> None:
    new = made(ask)
    key_id = new.record.id

    with pytest.raises(NotFound, match="no API key"):
        ask(lambda conn: keys.revoke(conn, key_id, tenant_id="other"))
    with pytest.raises(NotFound, match="no API key"):
        ask(lambda conn: keys.rotate(conn, key_id, tenant_id="other"))
    assert works(ask, new)
    assert ask(lambda conn: keys.revoke(conn, key_id, tenant_id="acme")).state == "revoked"


def test_a_successor_is_of_the_same_tenant_whoever_writes_it(db: Session) -> None:
    row = add(db)

    with refused("23503"):
        add(db, tenant_id="other", replaces=row["id"])


# At once.


def test_of_two_rotations_at_once_one_is_refused(db: Session, other: Session, admin: Session) -> None:
    key_id = add(db)["id"]
    second = other.get("next_api_key_id")

    with db.transaction():
        first = rotated(db, key_id)
        late = other.later("rotate_api_key", key_id=key_id, new_id=second, new_hash=OTHER_HASH)
        until_blocked(admin, other, db)

    with refused("OS409", f"ost_{first['id']}"):
        late.result()
    assert [row["replaces"] for row in db.call("list_api_keys")] == [key_id, None]


def test_a_rotation_that_comes_after_a_revocation_makes_no_key(db: Session, other: Session, admin: Session) -> None:
    key_id = add(db)["id"]
    second = other.get("next_api_key_id")

    with db.transaction():
        db.call("revoke_api_key", key_id=key_id)
        late = other.later("rotate_api_key", key_id=key_id, new_id=second, new_hash=OTHER_HASH)
        until_blocked(admin, other, db)

    with refused("OS409", "was revoked"):
        late.result()
    assert len(db.call("list_api_keys")) == 1


def test_a_revocation_that_comes_after_a_rotation_ends_the_overlap(db: Session, other: Session, admin: Session) -> None:
    key_id = add(db)["id"]

    with db.transaction():
        new = rotated(db, key_id)
        late = other.later("revoke_api_key", key_id=key_id)
        until_blocked(admin, other, db)

    (ended,) = late.result()
    assert (ended["usable"], ended["expires_at"]) == (False, START + timedelta(days=1))
    usable = [row["id"] for row in db.call("list_api_keys", usable=True)]
    assert usable == [new["id"]]


def test_a_rotation_that_is_rolled_back_changes_nothing(db: Session) -> None:
    key_id = add(db)["id"]

    with db.conn.transaction(force_rollback=True):
        rotated(db, key_id, overlap_seconds=0)

    assert [(row["id"], row["usable"]) for row in db.call("list_api_keys")] == [(key_id, True)]


def test_notes_of_use_from_many_at_once_never_deadlock(sessions: Sessions, db: Session) -> None:
    ids = [add(db)["id"] for _ in range(50)]
    crowd = [sessions.open() for _ in range(4)]

    calls = [
        session.later("note_api_key_use", key_ids=ids if turn % 2 else ids[::-1]) for turn, session in enumerate(crowd)
    ]

    noted = sum(row["note_api_key_use"] for call in calls for row in call.result())
    assert noted <= len(ids)
    assert all(row["last_used_at"] == START for row in db.call("list_api_keys"))


# Whose business it is.


@pytest.mark.parametrize(
    "statement",
    [
        "select * from ostinato_data.api_key",
        "select id from ostinato_data.api_key",
        "select exists (select from ostinato_data.api_key)",
        "insert into ostinato_data.api_key (id) values (1)",
        "update ostinato_data.api_key set revoked_at = null",
        "delete from ostinato_data.api_key",
        "select nextval('ostinato_data.api_key_id_seq')",
        *(f"select {schema_of(call)}.{call}" for call in FUNCTIONS if call not in OF_A_ROW),
    ],
)
def test_a_tenant_reads_no_key_and_changes_none(db: Session, sessions: Sessions, statement: str) -> None:
    add(db)

    with refused("42501"):
        sessions.tenant("acme").rows(statement)


def test_the_functions_listed_here_are_all_there_are(admin: Session) -> None:
    found = admin.rows(
        "select proname from pg_proc where pronamespace in ('ostinato'::regnamespace,"
        " 'ostinato_internal'::regnamespace)"
        " and proname ~ 'api_key'"
    )

    assert {row["proname"] for row in found} == {name.partition("(")[0] for name in FUNCTIONS}


# As people name them.


@pytest.mark.parametrize("text", ["7", "ost_7", "ost_7_" + "A" * 43])
def test_a_key_is_named_by_its_id(text: str) -> None:
    assert keys.key_id_of(text) == 7


@pytest.mark.parametrize("text", ["", "0", "-7", "ost_", "ost_x", "ost_7_" + "A" * 42, "x", "7 ", str(2**63), "\u0667"])
def test_what_names_no_key_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        keys.key_id_of(text)

    assert "A" * 42 not in str(caught.value)
    assert "keys list" in str(caught.value)
