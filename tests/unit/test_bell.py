"""The doorbell of a client: what is left is rung when the client closes, beside a pause that ends."""

import asyncio

from ostinato._core.runtime.bell import Bell


async def test_a_pause_that_ends_while_the_last_ring_is_sent_breaks_nothing() -> None:
    rung: list[str] = []
    gate = asyncio.Event()

    async def send(queue: str) -> None:
        rung.append(queue)
        if len(rung) > 1:
            await gate.wait()

    bell = Bell(send)
    bell.ring("q")
    await asyncio.wait(bell._sending)
    bell.ring("q")  # within the pause of the first
    closing = asyncio.create_task(bell.close())
    while len(rung) == 1:  # noqa: ASYNC110 - one turn of the loop each
        await asyncio.sleep(0)  # noqa: TID251 - as above
    (last,) = bell._sending
    bell._rested("q")  # the timer of the first
    gate.set()
    await closing

    assert last.exception() is None
    assert rung == ["q", "q"]
