"""Names of receivers are looked up in threads of their own, and a tenant has a few of these."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from ostinato._core.base.errors import NoAnswer
from ostinato._core.base.vault import Vault
from ostinato._core.base.webhooks import make_secret
from ostinato._core.engine.webhook_deliveries import Sending
from ostinato._core.runtime.services.names import AT_ONCE, Names
from ostinato._core.runtime.services.safehttp import post
from ostinato._core.runtime.services.webhooks import Sender
from tests.waiting import until_async

ADDRESS = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 80))]


class NameServer:
    """A resolver of the system that says nothing of hosts below `silent.`, until it is let go."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.may_answer = threading.Event()

    def __call__(self, host: str, *_: Any, **__: Any) -> list[Any]:  # noqa: ANN401 - as the original
        self.asked.append(host)
        if host.startswith("silent"):
            self.may_answer.wait()
        return ADDRESS


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    found = NameServer()
    monkeypatch.setattr(socket, "getaddrinfo", found)
    yield found
    found.may_answer.set()


async def test_a_name_server_that_is_silent_keeps_no_other_tenant_and_no_thread_of_the_loop(server: NameServer) -> None:
    """In the threads of the loop six of them held up all webhooks, and whatever else works there."""
    names = Names()
    evil = [asyncio.create_task(_found(names, "evil", f"silent-{n}.test")) for n in range(100)]
    await until_async(lambda: len(server.asked) == AT_ONCE)

    async with asyncio.timeout(60):
        assert await names.of("honest")("hooks.test", 80) == ["93.184.215.14"]
        assert await asyncio.to_thread(lambda: "free") == "free"

    server.may_answer.set()
    assert set(map(tuple, await asyncio.gather(*evil))) == {("93.184.215.14",)}
    await until_async(lambda: not names._lines)


async def test_webhooks_of_a_tenant_take_no_thread_of_the_loop(server: NameServer) -> None:
    sender = Sender()
    evil = [asyncio.create_task(sender.send(_sending("evil", f"silent-{n}.test"), Vault())) for n in range(100)]
    await until_async(lambda: server.asked or any(task.done() for task in evil))

    async with asyncio.timeout(60):
        assert await asyncio.to_thread(lambda: "free") == "free"

    assert {met.outcome for met in await asyncio.gather(*evil)} == {"timeout"}


async def test_a_host_is_asked_for_once_by_all_who_wait_for_it(server: NameServer) -> None:
    names = Names()
    many = [asyncio.create_task(_found(names, "acme", "silent.test")) for _ in range(50)]
    await until_async(lambda: server.asked == ["silent.test"])
    other = await names.of("acme")("hooks.test", 80)
    server.may_answer.set()

    assert other == ["93.184.215.14"]
    assert len(await asyncio.gather(*many)) == 50
    assert server.asked == ["silent.test", "hooks.test"]


async def test_who_gives_up_leaves_its_turn_to_the_look_up_until_that_ends(server: NameServer) -> None:
    names = Names()
    given_up = [
        asyncio.create_task(post(f"http://silent-{n}.test/", b"", {}, seconds=0.05, resolver=names.of("acme")))
        for n in range(AT_ONCE + 1)
    ]
    ended = await asyncio.gather(*given_up, return_exceptions=True)

    assert {type(each) for each in ended} == {NoAnswer}
    assert len(server.asked) <= AT_ONCE
    assert names._lines["acme"].turns.locked()
    server.may_answer.set()
    await until_async(lambda: not names._lines)
    assert await names.of("acme")("hooks.test", 80) == ["93.184.215.14"]


def _sending(tenant: str, host: str) -> Sending:
    now = datetime.now(UTC)
    return Sending(
        "send", tenant, 1, "orders", f"http://{host}/", {}, [make_secret(bytes(32))], "1", "{}", 1.0, {}, now
    )


async def _found(names: Names, tenant: str, host: str) -> list[str]:
    return list(await names.of(tenant)(host, 80))
