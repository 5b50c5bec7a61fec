"""Who is asking: what is believed, for how long, what is said of the rest, and what it costs."""

import asyncio
import io
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi import Request

from ostinato._core.base import log
from ostinato._core.base.errors import DatabaseUnavailable, SettingsError
from ostinato._core.base.metrics import HTTP_REFUSED_KEYS, Recorder
from ostinato._core.base.settings import Settings
from ostinato._core.engine import keys
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._core.web import strict
from ostinato._core.web.caller import Who
from ostinato._core.web.routes import Router
from ostinato._faces.api import auth
from ostinato._faces.api.auth import Authenticator, network
from ostinato._faces.api.ratelimit import Bounded
from tests.api.conftest import Api
from tests.api.issuer import Issuer, failing, rsa_key
from tests.api.test_ratelimit import Time
from tests.waiting import until_async

SECRET = "Zx9" * 14 + "Q"  # as long as the secret of a key
UNKNOWN = f"ost_4711_{SECRET}"


async def whoami(caller: Who) -> dict[str, Any]:
    return {
        "tenant": caller.tenant_id,
        "subject": caller.subject,
        "roles": sorted(caller.roles),
        "key_id": caller.key_id,
    }


async def broken(caller: Who, request: Request) -> None:
    raise RuntimeError(f"it was {caller.subject}")


@dataclass
class Door:
    """The API with an authenticator whose clocks are ours."""

    api: Api
    authenticator: Authenticator
    recorder: Recorder
    clock: Time
    wall: Time

    async def ask(
        self, text: str | None, *, path: str = "/whoami", address: str = "127.0.0.1", method: str = "GET"
    ) -> httpx.Response:
        headers = {} if text is None else {"Authorization": f"Bearer {text}"}
        return await self.send(list(headers.items()), path=path, address=address, method=method)

    async def send(
        self, headers: list[tuple[Any, Any]], *, path: str = "/whoami", address: str = "127.0.0.1", method: str = "GET"
    ) -> httpx.Response:
        transport = httpx.ASGITransport(self.api.app, False, client=(address, 1))  # noqa: FBT003
        async with httpx.AsyncClient(transport=transport, base_url="http://api.test") as http:
            return await http.request(method, path, headers=headers)

    async def statuses(self, texts: list[str], address: str = "127.0.0.1") -> list[int]:
        return [(await self.ask(text, address=address)).status_code for text in texts]

    def refused(self, reason: str) -> float:
        return self.recorder.value(HTTP_REFUSED_KEYS, reason)

    async def key(self, **more: Any) -> keys.Created:  # noqa: ANN401 - as keys.create
        given = {"tenant_id": "acme", "subject": "ada", "roles": ["ops"]} | more
        async with self.api.worker.connection() as conn:
            return await keys.create(conn, **given)

    async def revoke(self, key: keys.Created) -> None:
        async with self.api.worker.connection() as conn:
            await keys.revoke(conn, key.record.id)

    async def last_used(self, key: keys.Created) -> object:
        async with self.api.worker.connection() as conn:
            found = await keys.find(conn, key.record.id)
        assert found is not None
        return found.last_used_at


@asynccontextmanager
async def opened(api: Api, settings: Settings) -> AsyncIterator[Door]:
    recorder, clock, wall = Recorder(), Time(1000), Time(1_700_000_000)
    made = Authenticator(api.parts.client, settings, recorder, clock=clock, wall=wall)
    api.app.state.authenticate = made
    api.app.add_api_route("/whoami", whoami)
    api.app.add_api_route("/broken", broken)
    async with made:
        yield Door(api, made, recorder, clock, wall)


@pytest.fixture(autouse=True)
def _uses_are_written_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "NOTE_EVERY_SECONDS", 3600.0)


@pytest.fixture
async def door(api: Api) -> AsyncIterator[Door]:
    async with opened(api, Settings()) as made:
        yield made


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Issuer]:
    monkeypatch.setenv("NO_PROXY", "*")
    with Issuer() as running:
        yield running


@pytest.fixture
async def both(api: Api, issuer: Issuer) -> AsyncIterator[Door]:
    """A door for keys and for tokens of the issuer."""
    async with opened(api, issuer.settings()) as made:
        yield made


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Everything that is logged, as JSON."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    out = io.StringIO()
    log.configure("json", "debug", stream=out)
    yield out
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    log.be_quiet()


# ── the header ───────────────────────────────────────────────────────────────────────────


async def test_a_key_says_tenant_subject_and_roles(door: Door) -> None:
    key = await door.key(roles=["ops", "admin"])

    answer = await door.ask(key.key)

    assert answer.status_code == 200
    assert answer.json() == {"tenant": "acme", "subject": "ada", "roles": ["admin", "ops"], "key_id": key.record.id}


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "Bearer  "])
async def test_the_scheme_may_be_written_in_any_case(door: Door, scheme: str) -> None:
    key = await door.key()

    answer = await door.send([("Authorization", f"{scheme} {key.key}")])

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "missing"),
        ([b""], "scheme"),
        ([b"Basic YWRhOnNlY3JldA=="], "scheme"),
        ([b"Digest username=ada"], "scheme"),
        ([UNKNOWN.encode()], "scheme"),
        ([b"Bearer"], "malformed"),
        ([b"Bearer "], "malformed"),
        ([b"Bearer" + UNKNOWN.encode()], "malformed"),
        ([b"Bearer\t" + UNKNOWN.encode()], "malformed"),
        ([b"Bearer " + UNKNOWN.encode() + b" more"], "malformed"),
        ([b"Bearer " + UNKNOWN.encode() + b", Bearer x"], "malformed"),
        ([b"Bearer ost_4711_\xff\xfe" + SECRET.encode()], "malformed"),
        ([b"Bearer ost_4711_\x00" + SECRET.encode()], "malformed"),
        ([b"Bearer " + "\N{CYRILLIC SMALL LETTER O}st_4711_".encode() + SECRET.encode()], "malformed"),
        ([b"Bearer ost_4711_" + SECRET[:-1].encode()], "malformed"),
        ([b"Bearer ost_4711_" + SECRET.encode() + b"x"], "malformed"),
        ([b"Bearer ost__" + SECRET.encode()], "malformed"),
        ([b"Bearer ost_-1_" + SECRET.encode()], "malformed"),
        ([b"Bearer ost_04711_" + SECRET.encode()], "malformed"),
        ([b"Bearer ost_" + b"9" * 30 + b"_" + SECRET.encode()], "malformed"),
        ([b"Bearer " + b"x" * 9000], "too_long"),
        ([b"Bearer " + UNKNOWN.encode()] * 2, "several"),
        ([b"Bearer " + UNKNOWN.encode(), b"Basic YWRh"], "several"),
        ([b"Bearer aaaa.bbbb.cccc"], "no_issuer"),
        ([b"Bearer " + UNKNOWN.encode()], "unknown"),
        ([b"Bearer ost_9223372036854775807_" + SECRET.encode()], "unknown"),
        ([b"Bearer ost_9999999999999999999_" + SECRET.encode()], "unknown"),
    ],
)
async def test_whoever_cannot_be_believed_is_told_why(door: Door, values: list[bytes], reason: str) -> None:
    answer = await door.send([(b"Authorization", value) for value in values])

    told = answer.json()
    assert (answer.status_code, told["code"]) == (401, "unauthenticated")
    assert told["values"]["reason"] == reason
    assert told["detail"]
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "ratelimit" not in answer.headers
    assert SECRET[:9] not in answer.text
    assert door.refused(reason) == 1


async def test_a_token_must_look_like_one(both: Door, issuer: Issuer) -> None:
    for text in ("x", "a.b", "a.b.c.d", "a..c", "a.b.c=", "~"):
        assert (await both.ask(text)).json()["values"]["reason"] == "malformed"

    assert both.refused("malformed") == 6


async def test_a_wrong_secret_and_an_unknown_key_cannot_be_told_apart(door: Door) -> None:
    key = await door.key()

    told = [(await door.ask(f"ost_{number}_{SECRET}")).json() for number in (key.record.id, key.record.id + 1000)]

    for answer in told:
        answer.pop("correlation_id")
    assert told[0] == told[1]


# ── what was found out is kept, and not for long ─────────────────────────────────────────


async def test_a_busy_key_costs_no_query_and_a_revoked_one_ends_within_two_seconds(door: Door) -> None:
    key = await door.key()
    assert (await door.ask(key.key)).status_code == 200
    await door.revoke(key)

    door.clock.now += 1.99
    kept = await door.ask(key.key)
    door.clock.now += 0.01
    ended = await door.ask(key.key)

    assert (kept.status_code, ended.status_code) == (200, 401)
    assert ended.json()["values"]["reason"] == "revoked"


async def test_a_revoked_key_does_not_live_longer_by_being_used(door: Door) -> None:
    key = await door.key()
    await door.ask(key.key)
    await door.revoke(key)

    seen = []
    for _ in range(30):
        door.clock.now += 0.1
        seen.append((await door.ask(key.key)).status_code)

    assert seen == [200] * 19 + [401] * 11


async def test_a_refusal_is_kept_for_a_second(door: Door) -> None:
    key = await door.key()
    await door.revoke(key)
    assert (await door.ask(key.key)).status_code == 401
    await door.api.admin.execute("update ostinato_data.api_key set revoked_at = null")

    door.clock.now += 0.9
    kept = await door.ask(key.key)
    door.clock.now += 0.1
    anew = await door.ask(key.key)

    assert (kept.status_code, anew.status_code) == (401, 200)
    assert kept.json()["values"]["reason"] == "revoked"
    assert door.refused("revoked") == 2


async def test_a_key_that_is_kept_ends_when_its_time_is_over(door: Door) -> None:
    key = await door.key(expires_in=3600)
    assert key.record.expires_at is not None
    end = key.record.expires_at.timestamp()
    door.wall.now = end - 1
    assert (await door.ask(key.key)).status_code == 200
    await door.api.admin.execute(
        "update ostinato_data.api_key set expires_at = clock_timestamp() - interval '1 second'"
    )

    before = await door.ask(key.key)
    door.wall.now = end
    after = await door.ask(key.key)

    assert (before.status_code, after.status_code) == (200, 401)
    assert after.json()["values"]["reason"] == "expired"


async def test_the_clock_of_the_database_decides_when_a_key_ends(door: Door) -> None:
    key = await door.key(expires_in=3600)
    door.wall.now = 4e9  # this machine lives in the future

    assert await door.statuses([key.key] * 3) == [200] * 3


async def test_memory_is_bounded(door: Door) -> None:
    door.authenticator._refused = Bounded(5)
    door.authenticator._known = Bounded(5)
    made = [await door.key() for _ in range(8)]

    await door.statuses([f"ost_{n}_{SECRET}" for n in range(1000, 1020)])
    assert await door.statuses([key.key for key in made * 2]) == [200] * 16

    assert len(door.authenticator._refused) == 5
    assert len(door.authenticator._known) == 5
    assert not door.authenticator._lookups


async def test_no_text_of_a_key_is_kept(door: Door) -> None:
    key = await door.key()
    await door.statuses([key.key, UNKNOWN])

    kept = {**vars(door.authenticator), "uses": vars(door.authenticator.uses)}

    assert key.key[-43:] not in repr(kept)
    assert SECRET not in repr(kept)
    marks = [*door.authenticator._known, *door.authenticator._refused]
    assert [len(mark) for mark in marks] == [32, 32]
    assert keys._hash_of(key.key) not in marks


# ── at the same time ─────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def locked_keys(door: Door) -> AsyncIterator[Callable[[], Any]]:
    """Look-ups of keys wait until the block ends; yields how many wait."""

    async def waiting() -> int:
        found = await door.api.admin.execute(
            "select count(*) from pg_locks l where not l.granted and l.relation = 'ostinato_data.api_key'::regclass"
        )
        row = await found.fetchone()
        assert row is not None
        return int(row[0])

    async with door.api.admin.transaction():
        await door.api.admin.execute("lock table ostinato_data.api_key in access exclusive mode")
        yield waiting


async def until_waiting(waiting: Callable[[], Awaitable[int]], count: int) -> None:
    async def enough() -> bool:
        return await waiting() >= count

    await until_async(enough)


async def test_many_requests_with_one_key_are_one_query(door: Door) -> None:
    key = await door.key()

    async with locked_keys(door) as waiting:
        asked = [asyncio.create_task(door.ask(key.key)) for _ in range(50)]
        await until_waiting(waiting, 1)
        while len(door.authenticator._lookups) < 1:
            await asyncio.wait(asked, timeout=0)
        assert await waiting() == 1

    assert {answer.status_code for answer in await asyncio.gather(*asked)} == {200}


async def test_who_leaves_does_not_take_the_answer_from_others(door: Door) -> None:
    key = await door.key()

    async with locked_keys(door) as waiting:
        first = asyncio.create_task(door.ask(key.key))
        await until_waiting(waiting, 1)
        second = asyncio.create_task(door.ask(key.key))
        first.cancel()
        await asyncio.wait([first])

    assert (await second).status_code == 200
    assert first.cancelled()


async def test_strangers_take_one_connection(door: Door) -> None:
    async with locked_keys(door) as waiting:
        asked = [asyncio.create_task(door.ask(f"ost_{n}_{SECRET}")) for n in range(1, 50)]
        await until_waiting(waiting, 1)
        await until_async(lambda: len(door.authenticator._lookups) == 49)
        assert await waiting() == 1
        assert len(door.authenticator._lookups) == 49

    assert {answer.status_code for answer in await asyncio.gather(*asked)} == {401}


async def test_a_hundred_keys_at_once_are_let_in(door: Door) -> None:
    made = [await door.key(subject=f"s{n}") for n in range(100)]

    answers = await asyncio.gather(*(door.ask(key.key) for key in made))

    assert [answer.json()["subject"] for answer in answers] == [f"s{n}" for n in range(100)]


async def test_without_a_database_nobody_is_called_a_stranger(door: Door) -> None:
    nowhere = Database(url="postgresql://u:p@127.0.0.1:1/x", admin_url="", listen_url=None, server=None)
    settings = Settings(call_timeout_seconds=0.1)
    async with Client(nowhere, settings) as client:
        lost = Authenticator(client, settings, door.recorder)
        door.api.app.state.authenticate = lost
        answer = await door.ask(UNKNOWN)
        lost.uses.note(7)
        async with lost:
            pass

    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
    assert answer.headers["retry-after"] == "1"
    assert door.refused("unknown") == 0
    assert not lost._refused
    assert lost.uses.waiting == 1


# ── guessing ─────────────────────────────────────────────────────────────────────────────


def guesses(count: int, first: int = 1) -> list[str]:
    return [f"ost_{first + number}_{SECRET}" for number in range(count)]


async def test_guessing_is_slowed_down(door: Door) -> None:
    assert await door.statuses(guesses(130)) == [401] * 120 + [429] * 10

    answer = await door.ask(UNKNOWN)
    assert answer.json()["code"] == "too_many_requests"
    assert answer.headers["retry-after"] == "1"
    assert door.refused("unknown") == 120
    assert door.refused("guessing") == 11
    door.clock.now += 1
    assert await door.statuses(guesses(4, 1000)) == [401, 401, 429, 429]


async def test_guessing_locks_no_good_key_out(door: Door) -> None:
    """121 guesses from one address refused a good key there that this process had not seen."""
    used, unused = await door.key(), await door.key()
    assert (await door.ask(used.key)).status_code == 200
    wrong = unused.key[:-1] + ("A" if unused.key[-1] != "A" else "E")
    assert (await door.statuses([*guesses(121), wrong]))[-2:] == [429, 429]

    assert (await door.ask(unused.key)).status_code == 200
    assert (await door.ask(used.key)).status_code == 200
    assert await door.statuses(guesses(1, 5000)) == [429]
    assert await door.statuses(guesses(1, 5000), address="203.0.113.9") == [401]


async def test_a_good_key_is_let_in_while_others_guess_at_the_same_time(door: Door) -> None:
    key = await door.key()

    async with locked_keys(door) as waiting:
        flood = [asyncio.create_task(door.ask(text)) for text in guesses(1000)]
        await until_waiting(waiting, 1)
        asked = asyncio.create_task(door.ask(key.key))

    assert (await asked).status_code == 200
    assert {answer.status_code for answer in await asyncio.gather(*flood)} == {401, 429}


async def test_a_header_of_the_caller_makes_no_other_address(door: Door) -> None:
    """200 guesses with a rotating X-Forwarded-For got 200 times 401."""
    found = [
        await door.send([("Authorization", f"Bearer {text}"), ("X-Forwarded-For", f"198.51.100.{n}")])
        for n, text in enumerate(guesses(130))
    ]

    assert [answer.status_code for answer in found] == [401] * 120 + [429] * 10


@pytest.mark.parametrize("api_settings", [Settings(api_trusted_proxies="10.0.0.0/8")])
async def test_behind_a_trusted_proxy_each_caller_has_its_own_address(door: Door) -> None:
    async def ask(text: str, forwarded: str) -> int:
        headers = [("Authorization", f"Bearer {text}"), ("X-Forwarded-For", forwarded)]
        return (await door.send(headers, address="10.0.0.7")).status_code

    # The caller writes what it likes before what the proxy appends.
    found = [await ask(text, f"192.0.2.{n}, 198.51.100.1") for n, text in enumerate(guesses(121))]

    assert found == [401] * 120 + [429]
    assert await ask(UNKNOWN, "198.51.100.2") == 401
    assert await ask(UNKNOWN.replace("ost_", "ost_1"), "198.51.100.1") == 429


async def test_a_key_that_was_good_and_ended_is_a_stranger_again(door: Door) -> None:
    key = await door.key()
    await door.ask(key.key)
    await door.statuses(guesses(121))
    await door.revoke(key)
    door.clock.now += 0.4

    assert (await door.ask(key.key)).status_code == 200
    door.clock.now += 1.6
    assert (await door.ask(key.key)).status_code == 401
    assert not door.authenticator._known


async def test_many_guesses_at_once_are_counted(door: Door) -> None:
    answers = await asyncio.gather(*(door.ask(text) for text in guesses(200)))

    assert sorted(answer.status_code for answer in answers) == [401] * 120 + [429] * 80


async def test_what_is_no_guess_is_not_counted(door: Door) -> None:
    ended = await door.key()
    await door.revoke(ended)

    for _ in range(150):
        door.clock.now += 0.001
        assert (await door.ask("ost_1_short")).status_code == 401
        assert (await door.ask(None)).status_code == 401
    for _ in range(150):
        door.authenticator._refused.clear()
        assert (await door.ask(ended.key)).status_code == 401

    assert await door.statuses(guesses(121)) == [401] * 120 + [429]


async def test_one_refused_key_that_is_sent_again_and_again_is_one_guess(door: Door) -> None:
    assert set(await door.statuses([UNKNOWN] * 300)) == {401}

    assert await door.statuses(guesses(120)) == [401] * 119 + [429]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "20010db800010002::/64"),
        ("2001:db8:1:2::1", "20010db800010002::/64"),
        ("2001:db8:1:3::1", "20010db800010003::/64"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("fe80::1%eth0", "fe80000000000000::/64"),
        ("testclient", "testclient"),
        ("x" * 1000, "x" * 100),
        (None, ""),
    ],
)
def test_an_address_stands_for_all_that_its_owner_has(host: str | None, expected: str) -> None:
    client = None if host is None else (host, 1)

    assert network(Request({"type": "http", "headers": [], "client": client})) == expected.lstrip("0")


# ── last used ────────────────────────────────────────────────────────────────────────────


async def test_the_last_use_is_written_behind_the_requests(door: Door) -> None:
    made = [await door.key() for _ in range(3)]
    await door.statuses([key.key for key in made * 3])
    assert [await door.last_used(key) for key in made] == [None] * 3
    assert door.authenticator.uses.waiting == 3

    await door.authenticator.uses.write()

    assert all([await door.last_used(key) for key in made])
    assert door.authenticator.uses.waiting == 0


async def test_the_last_use_is_written_by_itself(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "NOTE_EVERY_SECONDS", 0.02)
    async with opened(api, Settings()) as door:
        key = await door.key()
        await door.ask(key.key)

        while await door.last_used(key) is None:
            pass  # each look is a round trip


async def test_a_use_is_noted_once_a_minute(door: Door) -> None:
    key = await door.key()
    noted = 0
    for _ in range(130):
        await door.ask(key.key)
        noted += door.authenticator.uses.waiting
        await door.authenticator.uses.write()
        door.clock.now += 1

    assert noted == 3


async def test_uses_are_written_when_the_server_stops(api: Api) -> None:
    async with opened(api, Settings()) as door:
        key = await door.key()
        await door.ask(key.key)
        assert await door.last_used(key) is None

    assert await door.last_used(key) is not None


async def test_what_could_not_be_written_waits_for_the_next_time(door: Door) -> None:
    key = await door.key()
    await door.ask(key.key)
    await door.api.admin.execute("revoke execute on function ostinato.note_api_key_use from ostinato_api")
    try:
        with pytest.raises(Exception, match="note_api_key_use"):
            await door.authenticator.uses.write()
        assert (await door.ask(key.key)).status_code == 200
    finally:
        await door.api.admin.execute(
            "grant execute on function ostinato.note_api_key_use to ostinato_worker, ostinato_api"
        )

    assert door.authenticator.uses.waiting == 1
    await door.authenticator.uses.write()
    assert await door.last_used(key) is not None


async def test_refused_keys_are_not_noted(door: Door) -> None:
    await door.statuses([UNKNOWN, "ost_1_short"])

    assert door.authenticator.uses.waiting == 0


# ── how often ────────────────────────────────────────────────────────────────────────────


async def test_every_answer_says_how_often_one_may_ask(door: Door) -> None:
    key = await door.key(roles=["nothing"])

    answers = [
        await door.ask(key.key),
        await door.ask(key.key, path="/api/v1/engine/queues"),
        await door.ask(key.key, path="/broken"),
    ]

    assert [answer.status_code for answer in answers] == [200, 403, 500]
    assert {answer.headers["ratelimit-policy"] for answer in answers} == {'"default";q=6000;w=60'}
    left = [re.findall(r"r=(\d+)", answer.headers["ratelimit"]) for answer in answers]
    assert left == [["5999"], ["5998"], ["5997"]]


async def test_who_asks_too_often_is_told_when_to_come_again(api: Api) -> None:
    async with opened(api, Settings(api_rate_per_minute=3)) as door:
        key, other = await door.key(), await door.key()
        assert await door.statuses([key.key] * 4) == [200, 200, 200, 429]

        answer = await door.ask(key.key)

        assert answer.json()["code"] == "too_many_requests"
        assert answer.json()["retryable"] is True
        assert answer.headers["retry-after"] == "20"
        assert answer.headers["ratelimit"] == '"default";r=0;t=20'
        assert answer.headers["ratelimit-policy"] == '"default";q=3;w=60'
        assert (await door.ask(other.key)).status_code == 200
        door.clock.now += 20
        assert await door.statuses([key.key] * 2) == [200, 429]


async def test_ten_times_the_rate_gets_the_rate(api: Api) -> None:
    async with opened(api, Settings(api_rate_per_minute=20)) as door:
        key = await door.key()

        answers = await asyncio.gather(*(door.ask(key.key) for _ in range(200)))

    assert sorted(answer.status_code for answer in answers) == [200] * 20 + [429] * 180


async def test_a_large_body_counts_as_the_requests_whose_time_it_takes(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of 1 MB holds the event loop for as long as a hundred small ones, and counted as one of them."""
    read: list[int] = []
    reading = strict.read

    def noted(body: bytes) -> object:
        read.append(len(body))
        return reading(body)

    monkeypatch.setattr(strict, "read", noted)
    large = {"kind": "app.task", "args": {"lines": [[]] * 300_000}}
    async with opened(api, Settings(api_rate_per_minute=200)) as door:
        key, other = await door.key(roles=["admin"]), await door.key(roles=["admin"])

        async def post(text: str, body: object) -> httpx.Response:
            headers = {"Authorization": f"Bearer {text}"}
            return await api.http.post("/api/v1/engine/jobs", json=body, headers=headers)

        answers = await asyncio.gather(*(post(key.key, large) for _ in range(10)))
        small = await post(key.key, {"kind": "app.task", "args": {}})
        others = await post(other.key, {"kind": "app.task", "args": {}})

    assert sorted(answer.status_code for answer in answers) == [422, 422, *[429] * 8]
    assert len([size for size in read if size > 100_000]) == 2
    assert (small.status_code, others.status_code) == (429, 202)


async def test_an_address_asks_public_routes_at_its_rate_and_no_more(api: Api) -> None:
    """Callbacks of providers have no key: without a limit each costs the database, whoever sends it."""
    router, asked = Router(), []

    @router.post("/hook", public=True)
    async def hook() -> None:
        asked.append(1)

    api.app.router.routes.extend(router.routes)
    async with opened(api, Settings(api_public_rate_per_minute=3)) as door:
        api.app.state.count_stranger = door.authenticator.count_stranger
        mine = [await door.ask(None, path="/hook", address="192.0.2.1", method="POST") for _ in range(5)]
        other = await door.ask(None, path="/hook", address="192.0.2.2", method="POST")
        health = [await door.ask(None, path="/health/live", address="192.0.2.1") for _ in range(5)]
        door.clock.now += 20
        later = await door.ask(None, path="/hook", address="192.0.2.1", method="POST")

    assert [answer.status_code for answer in mine] == [200, 200, 200, 429, 429]
    assert mine[-1].headers["retry-after"] == "20"
    assert mine[0].headers["ratelimit-policy"] == '"public";q=3;w=60'
    assert [answer.status_code for answer in (other, later, *health)] == [200] * 7
    assert len(asked) == 5


async def test_a_flood_of_callbacks_is_refused_before_anything_is_read(api: Api) -> None:
    async with opened(api, Settings(api_public_rate_per_minute=1)) as door:
        api.app.state.count_stranger = door.authenticator.count_stranger
        read = []

        async def body() -> AsyncIterator[bytes]:
            read.append(1)
            yield b"{}"

        router = Router()

        @router.post("/taking", public=True)
        async def taking(request: Request) -> None:
            await request.body()

        api.app.router.routes.extend(router.routes)
        transport = httpx.ASGITransport(api.app, False)  # noqa: FBT003
        async with httpx.AsyncClient(transport=transport, base_url="http://api.test") as http:
            statuses = [(await http.post("/taking", content=body())).status_code for _ in range(3)]

    assert statuses == [200, 429, 429]
    assert len(read) == 1


# ── tokens ───────────────────────────────────────────────────────────────────────────────


async def test_a_token_of_the_issuer_opens_the_door(both: Door, issuer: Issuer) -> None:
    both.wall.now = 0

    answer = await both.ask(issuer.token(roles=["ops", "admin"]))

    assert answer.status_code == 200
    assert answer.json() == {"tenant": "acme", "subject": "ada", "roles": ["admin", "ops"], "key_id": None}
    assert both.authenticator.uses.waiting == 0


async def test_keys_are_taken_beside_tokens(both: Door) -> None:
    assert (await both.ask((await both.key()).key)).status_code == 200


async def test_a_refused_token_is_told_why(both: Door, issuer: Issuer) -> None:
    told = (await both.ask(issuer.token(exp=1_700_000_000))).json()

    assert told["detail"] == "the token expired at 2023-11-14 22:13:20 UTC"
    assert told["hint"] == "Get a new token from the issuer."
    assert told["values"] == {"reason": "expired"}
    assert both.refused("expired") == 1


async def test_a_token_that_is_kept_ends_when_its_time_is_over(both: Door, issuer: Issuer) -> None:
    both.wall.now = 0
    text = issuer.token()
    assert (await both.ask(text)).status_code == 200
    issuer.fault = failing
    assert both.authenticator.tokens is not None
    both.authenticator.tokens.keys._keys = []
    both.authenticator.tokens.keys._tried = both.clock.now

    kept = await both.ask(text)
    both.wall.now = 4e9
    anew = await both.ask(text)

    assert (kept.status_code, anew.status_code) == (200, 502)
    assert anew.headers["retry-after"] == "5"


async def test_tokens_of_one_subject_share_a_limit(api: Api, issuer: Issuer) -> None:
    async with opened(api, issuer.settings(api_rate_per_minute=2)) as door:
        mine = [issuer.token(jti=str(number)) for number in range(3)]

        assert await door.statuses(mine) == [200, 200, 429]
        assert (await door.ask(issuer.token(sub="bob"))).status_code == 200
        assert (await door.ask(issuer.token(tenant="zeta"))).status_code == 200


async def test_forged_tokens_are_guesses_and_expired_ones_are_not(both: Door, issuer: Issuer) -> None:
    ended = [issuer.token(exp=1_700_000_000, jti=str(number)) for number in range(125)]
    forged = [issuer.token(key=rsa_key("stranger"), jti=str(number)) for number in range(121)]

    assert await both.statuses(ended) == [401] * 125
    assert await both.statuses(forged) == [401] * 120 + [429]


def test_an_issuer_without_an_audience_is_refused_at_start(api: Api) -> None:
    with pytest.raises(SettingsError, match="oidc_audience"):
        Authenticator(api.parts.client, Settings(oidc_issuer="https://login.example.com"), Recorder())


# ── secrets ──────────────────────────────────────────────────────────────────────────────


async def test_nothing_of_a_key_or_token_is_logged_or_answered(both: Door, issuer: Issuer, logged: io.StringIO) -> None:
    key, ended = await both.key(), await both.key()
    await both.revoke(ended)
    good, forged = issuer.token(), issuer.token(key=rsa_key("stranger"))
    planted = [key.key, ended.key, UNKNOWN, good, forged, issuer.token(aud="x")]
    planted += [f"ost_7_{SECRET}x", f"{SECRET}.{SECRET}.{SECRET}", SECRET]

    answers = [await both.ask(text, path=path) for text in planted for path in ("/whoami", "/broken")]
    answers.append(await both.send([("Authorization", f"Basic {SECRET}")]))
    answers.append(await both.send([("Authorization", f"Bearer {SECRET}")] * 2))
    issuer.fault = failing
    answers.append(await both.ask(issuer.token(kid="other", key=rsa_key("stranger"))))

    said = logged.getvalue() + "".join(f"{a.text} {a.headers}" for a in answers)
    assert {answer.status_code for answer in answers} == {200, 401, 500}
    assert len(logged.getvalue().splitlines()) >= len(answers)
    for text in planted:
        for part in re.split(r"[._]", text):
            assert len(part) < 9 or part not in said
    assert all(json.loads(line) for line in logged.getvalue().splitlines())


async def test_a_database_that_fails_says_nothing_of_the_key(door: Door) -> None:
    async with Client(door.api.parts.database.for_api()) as client:
        closed = Authenticator(client, Settings(), Recorder())
    with pytest.raises(DatabaseUnavailable) as caught:
        await closed(Request({"type": "http", "headers": [(b"authorization", f"Bearer {UNKNOWN}".encode())]}))

    assert SECRET not in f"{caught.value} {caught.value.values}"
