"""The bell of a client: each commit rings, and under load commits share a ring."""

import asyncio

from ostinato._core.runtime.bell import FIRST_PAUSE, LONGEST_PAUSE, Bell
from tests.waiting import until_async


class Sent:
    """The rings that a bell sent, each with the pause that follows it."""

    def __init__(self) -> None:
        self.queues: list[str] = []
        self.pauses: list[float] = []
        self.may_go = asyncio.Event()
        self.may_go.set()
        self.wanted = 0
        self.bell = Bell(self.send)

    async def send(self, queue: str) -> None:
        self.queues.append(queue)
        self.pauses.append(self.bell._pauses[queue])
        if len(self.queues) < self.wanted:
            self.bell.ring(queue)  # a commit in every pause
        await self.may_go.wait()


async def test_a_lone_commit_rings_once_and_at_once() -> None:
    sent = Sent()

    sent.bell.ring("mails")
    await until_async(lambda: sent.queues and not sent.bell._pauses)

    assert sent.queues == ["mails"]


async def test_every_commit_rings_while_they_are_rare() -> None:
    sent = Sent()

    for _ in range(3):
        sent.bell.ring("mails")
        await until_async(lambda: not sent.bell._pauses)

    assert sent.pauses == [FIRST_PAUSE] * 3


async def test_commits_during_a_ring_share_the_next_one() -> None:
    sent = Sent()
    sent.may_go.clear()

    sent.bell.ring("mails")
    await until_async(lambda: sent.queues)
    for _ in range(10):
        sent.bell.ring("mails")
    sent.may_go.set()
    await until_async(lambda: not sent.bell._pauses)

    assert sent.queues == ["mails", "mails"]


async def test_pauses_grow_while_each_brings_commits_and_then_start_over() -> None:
    sent = Sent()
    sent.wanted = 6

    sent.bell.ring("mails")
    await until_async(lambda: not sent.bell._pauses)
    sent.bell.ring("mails")
    await until_async(lambda: not sent.bell._pauses)

    first, longest = FIRST_PAUSE, LONGEST_PAUSE
    assert sent.pauses == [first, 2 * first, 4 * first, 8 * first, longest, longest, first]


async def test_queues_do_not_wait_for_each_other() -> None:
    sent = Sent()
    sent.may_go.clear()

    sent.bell.ring("mails")
    sent.bell.ring("faxes")
    await until_async(lambda: len(sent.queues) == 2)

    assert sent.queues == ["mails", "faxes"]
    sent.may_go.set()
    await sent.bell.close()


async def test_a_bell_that_closes_sends_what_is_left_without_a_pause() -> None:
    sent = Sent()
    sent.may_go.clear()

    sent.bell.ring("mails")
    await until_async(lambda: sent.queues)
    sent.bell.ring("mails")
    closing = asyncio.create_task(sent.bell.close())
    sent.may_go.set()
    await closing

    assert sent.queues == ["mails", "mails"]
