"""A page of something that is not there says so, as 404."""

from tests.console.conftest import Console


async def test_a_subscription_that_is_not_there_is_not_found(console: Console) -> None:
    lea = await console.visitor("acme", "admin", "installation")

    answer = await lea.get("/subscriptions/nothing")

    assert answer.status_code == 404
    assert "There is no subscription" in answer.text
