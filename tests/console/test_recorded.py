"""What an operator of the installation does on a page is recorded with the key that opened the session."""

from ostinato._core.engine import audit
from tests.api.conftest import Api
from tests.console.conftest import Console


async def test_a_page_that_acts_for_the_installation_records_subject_and_key(console: Console, api: Api) -> None:
    key = await api.key("acme", "admin", "installation", subject="lea")
    lea = await console.visitor("acme", "admin", "installation", subject="lea")

    await lea.send("/queues/mail/pause", reason="maintenance")

    async with api.worker.connection() as conn:
        (entry,) = await audit.list_entries(conn, verb="pause")
    assert (entry.actor, entry.actor_type, entry.reason) == ("lea", "user", "maintenance")
    assert entry.key_id == int(key.split("_")[1])
