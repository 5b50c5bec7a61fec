"""Create, open and close: at the right moment, once, whatever happens in between."""

from datetime import date

from tests.apps.rounds.town import Town, moment

DAY = date(2026, 6, 2)


async def test_a_round_is_created_for_the_next_local_day(town: Town) -> None:
    group = await town.group()

    run = await town.create()

    assert run.done == 1
    assert await town.rounds(group) == {DAY: "scheduled"}
    ((opens, closes, prompt),) = await town.rows(
        "select open_at, close_at, source_prompt_id is not null from rounds.daily_rounds"
    )
    assert (opens, closes, prompt) == (
        moment("2026-06-02T12:30:00Z"),
        moment("2026-06-03T12:30:00Z"),
        True,
    )


async def test_a_round_goes_scheduled_open_closed_at_its_instants(town: Town) -> None:
    group = await town.group()
    await town.create()

    await town.at("2026-06-02T12:29:59Z")
    await town.run("open", "close")
    assert await town.rounds(group) == {DAY: "scheduled"}

    await town.at("2026-06-02T12:30:00Z")
    await town.run("open", "close")
    assert await town.rounds(group) == {DAY: "open"}

    await town.at("2026-06-03T12:29:59Z")
    await town.run("open", "close")
    assert await town.rounds(group) == {DAY: "open"}

    await town.at("2026-06-03T12:30:00Z")
    await town.run("open", "close")
    assert await town.rounds(group) == {DAY: "closed"}
