"""The end of a run reaches who is not asking: by a webhook, signed."""

import json

from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.base.settings import Settings
from ostinato._core.engine import webhooks
from ostinato._core.runtime.client import Client
from ostinato.secrets import new_key
from ostinato.webhooks import verify
from tests.apps.enrichment.place import ALL_FINE, Place
from tests.runtime.receiver import Receiver
from tests.waiting import until_async

HERE = "127.0.0.1:*"


async def test_the_end_of_a_run_reaches_a_webhook_of_each_tenant_that_waited(place: Place) -> None:
    key = new_key()
    with Receiver() as receiver:
        secrets = {}
        for tenant in ("acme", "globex"):
            async with (
                Client(place.lab.engine.database, Settings(secret_key=key)) as client,
                client.transaction() as conn,
            ):
                made = await webhooks.create_endpoint(
                    conn,
                    "crm",
                    f"{receiver.url}/{tenant}",
                    event_types=["CompanyEnrichmentCompleted"],
                    tenant_id=tenant,
                    allowed=parse_allowed(HERE),
                )
            secrets[tenant] = made.secret
        for tenant in secrets:
            await place.made(tenant=tenant)
        async with place.lab.worker(webhooks_allow_private=HERE, secret_key=key, expiry_seconds=20.0, beat_seconds=1.0):
            await until_async(lambda: len(receiver.requests) == len(secrets))

    got = {each.path.rpartition("/")[2]: each for each in receiver.requests}
    assert set(got) == set(secrets)
    for tenant, secret in secrets.items():
        sent = float(got[tenant].headers["webhook-timestamp"])  # by the engine's clock, which tests move
        verify(got[tenant].headers, got[tenant].body, [secret], now=sent)
        told = json.loads(got[tenant].body)
        assert told["type"] == "CompanyEnrichmentCompleted"
        assert (told["data"]["company_siren"], told["data"]["enrichment_status"]) == (ALL_FINE, "SUCCESS")
