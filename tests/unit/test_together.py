"""Requests that wait at the same moment go as one set: `ostinato.web.Together`."""

import asyncio

import pytest

from ostinato._core.base.errors import CommitUnknown, DatabaseUnavailable, InvalidInput
from ostinato._core.base.together import Together
from tests.waiting import until_async


class Works:
    """Works on sets, one after the other, each when it is let go."""

    def __init__(self) -> None:
        self.sets: list[list[int]] = []
        self.open = asyncio.Event()
        self.refused: dict[int, Exception] = {}

    async def __call__(self, items: list[int]) -> list[str]:
        self.sets.append(items)
        await self.open.wait()
        for item in items:
            if item in self.refused:
                raise self.refused[item]
        return [f"did {item}" for item in items]


@pytest.fixture
def works() -> Works:
    return Works()


@pytest.fixture
def together() -> Together[int, str]:
    return Together()


async def begun(together: Together[int, str], works: Works, *items: int, key: str = "a") -> list[asyncio.Task[str]]:
    """Add items, each by a request of its own, and let all of them come."""
    tasks = [asyncio.create_task(together.add(key, item, works)) for item in items]
    await asyncio.wait(tasks, timeout=0)  # each has begun
    return tasks


async def came_of(tasks: list[asyncio.Task[str]]) -> list[str | BaseException]:
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_one_that_comes_alone_is_worked_on_at_once(together: Together[int, str], works: Works) -> None:
    works.open.set()

    assert await together.add("a", 1, works) == "did 1"
    assert await together.add("a", 2, works) == "did 2"
    assert works.sets == [[1], [2]]


async def test_what_comes_meanwhile_is_the_next_set(together: Together[int, str], works: Works) -> None:
    tasks = await begun(together, works, 1, 2, 3, 4)
    others = await begun(together, works, 9, key="b")
    assert works.sets == [[1], [9]]
    works.open.set()

    assert await came_of(tasks + others) == [f"did {item}" for item in (1, 2, 3, 4, 9)]
    assert works.sets == [[1], [9], [2, 3, 4]]


async def test_a_set_has_so_many_at_the_most(works: Works) -> None:
    together: Together[int, str] = Together(most=2)
    tasks = await begun(together, works, 1, 2, 3, 4)
    works.open.set()

    await came_of(tasks)
    assert works.sets == [[1], [2, 3], [4]]


async def test_who_is_refused_spoils_no_other(together: Together[int, str], works: Works) -> None:
    refusal = works.refused[3] = InvalidInput("not this")
    tasks = await begun(together, works, 1, 2, 3, 4)
    works.open.set()

    assert await came_of(tasks) == ["did 1", "did 2", refusal, "did 4"]
    assert works.sets == [[1], [2, 3, 4], [2], [3], [4]]


@pytest.mark.parametrize("error", [CommitUnknown("gone"), DatabaseUnavailable("away")])
async def test_what_may_have_been_done_is_not_done_again(
    together: Together[int, str], works: Works, error: Exception
) -> None:
    works.refused[2] = error
    tasks = await begun(together, works, 1, 2, 3)
    works.open.set()

    assert await came_of(tasks) == ["did 1", error, error]
    assert works.sets == [[1], [2, 3]]


async def test_who_leaves_ends_nothing_for_the_others(together: Together[int, str], works: Works) -> None:
    first, second, third = await begun(together, works, 1, 2, 3)
    first.cancel()
    second.cancel()
    await came_of([first, second])
    works.open.set()

    assert await third == "did 3"
    assert works.sets == [[1], [3]]


async def test_who_leaves_in_the_middle_of_a_set_ends_nothing_either(
    together: Together[int, str], works: Works
) -> None:
    first, second, third = await begun(together, works, 1, 2, 3)
    works.open.set()
    await first
    works.open.clear()
    await until_async(lambda: len(works.sets) == 2)
    fourth = (await begun(together, works, 4))[0]
    second.cancel()
    works.open.set()

    assert await came_of([third, fourth]) == ["did 3", "did 4"]
    assert works.sets == [[1], [2, 3], [4]]


async def test_nothing_is_kept_of_what_has_ended(together: Together[int, str], works: Works) -> None:
    works.open.set()
    await came_of(await begun(together, works, 1, 2, 3))

    assert not together._waiting
    assert not [each for each in together._sets if not each.done()]
