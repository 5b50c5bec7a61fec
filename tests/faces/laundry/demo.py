"""The scenario: a basket is washed."""

from ostinato.testing import Scenario, System


async def run(system: System) -> None:
    """Order, and wait until it is clean."""
    before = (await system.call("GET", "/api/v1/laundry/baskets")).json()["washed"]
    await system.tell_sandbox("GET", "/mains/pressure")
    await system.call("POST", "/api/v1/laundry/baskets", status=202)

    async def look() -> bool | None:
        now = (await system.call("GET", "/api/v1/laundry/baskets")).json()["washed"]
        return True if now > before else None

    await system.until("it is clean", look)
    system.proved("a basket that was brought is washed")


SCENARIO = Scenario("laundry", "A basket is washed.", run)
