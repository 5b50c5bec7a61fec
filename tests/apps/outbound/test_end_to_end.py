from tests.apps.outbound.conftest import World


async def test_a_message_goes_the_whole_way(world: World) -> None:
    await world.consent()
    made = await world.message()
    assert made["status"] == "QUEUED"

    await world.work()
    await world.settled()

    shown = await world.show(made)
    assert shown["status"] == "DELIVERED", shown
    assert shown["readAt"]
    assert [each["status"] for each in shown["attempts"]] == ["SUCCESS"]
