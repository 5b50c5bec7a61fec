"""Connections to receivers: kept for the same host at the same address, and for nobody else."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from ostinato._core.base.errors import NoAnswer
from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.runtime.services import kept as module
from ostinato._core.runtime.services.kept import Kept
from ostinato._core.runtime.services.safehttp import Answer, post
from tests.runtime.receiver import Receiver, Reply, flood, reset
from tests.unit.test_safehttp import answers


@pytest.fixture
async def kept() -> AsyncIterator[Kept]:
    made = Kept()
    yield made
    await made.aclose()


async def sent(receiver: Receiver, kept: Kept, host: str = "127.0.0.1") -> Answer:
    url = f"http://{host}:{receiver.port}/hooks"
    allowed = parse_allowed(f"{host}:{receiver.port}")
    return await post(url, b"{}", {}, allowed=allowed, seconds=60, resolver=answers("127.0.0.1"), kept=kept)


async def test_the_next_request_goes_over_the_same_connection(kept: Kept) -> None:
    with Receiver() as receiver:
        for _ in range(5):
            assert (await sent(receiver, kept)).status == 200

        assert (len(receiver.requests), receiver.connections) == (5, 1)


async def test_two_hosts_at_one_address_never_share_a_connection(kept: Kept) -> None:
    with Receiver() as receiver:
        for host in ("a.example.com", "b.example.com", "a.example.com"):
            await sent(receiver, kept, host)

        assert receiver.connections == 2
        named = [request.headers["host"].partition(":")[0] for request in receiver.requests]
        assert named == ["a.example.com", "b.example.com", "a.example.com"]


async def test_what_a_server_closes_as_the_next_request_comes_is_sent_again_on_a_new_connection(kept: Kept) -> None:
    with Receiver() as receiver:
        receiver.script.extend([Reply(), Reply(fault=reset)])
        await sent(receiver, kept)

        answer = await sent(receiver, kept)

        assert answer.status == 200
        assert (len(receiver.requests), receiver.connections) == (3, 2)


async def test_on_a_new_connection_a_break_is_no_answer(kept: Kept) -> None:
    with Receiver() as receiver:
        receiver.script.append(Reply(fault=reset))

        with pytest.raises(NoAnswer):
            await sent(receiver, kept)

        assert len(receiver.requests) == 1


async def test_an_answer_that_is_not_read_to_its_end_takes_its_connection_along(kept: Kept) -> None:
    with Receiver() as receiver:
        receiver.script.append(Reply(fault=flood))
        assert (await sent(receiver, kept)).cut

        assert (await sent(receiver, kept)).body == b"thanks"
        assert receiver.connections == 2


async def test_what_rests_for_long_is_closed(kept: Kept) -> None:
    with Receiver() as receiver:
        await sent(receiver, kept, "a.example.com")
        (line,) = kept._lines.values()
        line.used_at -= module.REST_SECONDS + 1

        await sent(receiver, kept, "b.example.com")

        assert [place.host for place in kept._lines] == ["b.example.com"]


async def test_two_requests_tidy_up_at_once(kept: Kept) -> None:
    with Receiver() as receiver:
        for n in range(3):
            await sent(receiver, kept, f"h{n}.example.com")
        for line in kept._lines.values():
            line.used_at -= module.REST_SECONDS + 1

        found = await asyncio.gather(*(sent(receiver, kept, f"h{n}.example.com") for n in (1, 2, 1, 2, 0)))

        assert [answer.status for answer in found] == [200] * 5


async def test_many_hosts_have_a_bounded_number_of_connections(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_HOSTS", 5)
    with Receiver() as receiver:
        for n in range(12):
            await sent(receiver, kept, f"h{n}.example.com")

        assert [place.host for place in kept._lines] == [f"h{n}.example.com" for n in range(7, 12)]


async def test_a_cookie_is_not_sent_back(kept: Kept) -> None:
    with Receiver() as receiver:
        receiver.script.append(Reply(200, b"", {"set-cookie": "a=b"}))
        await sent(receiver, kept)
        await sent(receiver, kept)

        assert all("cookie" not in request.headers for request in receiver.requests)
