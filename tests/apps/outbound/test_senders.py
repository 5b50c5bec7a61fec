"""Whose a sender is, and with whose account it sends: nobody sends from another organisation's number (rule 2.2)."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ostinato.apps.outbound.http.hooks import MOST_HEARD_BYTES
from ostinato.apps.outbound.providers.twilio import Exchange
from ostinato.apps.outbound.providers.whatsapp import signature
from tests.apps.outbound.conftest import NOON, PHONE_NUMBER_ID, World

TO = "+33639981234"
OTHERS = "555666777"
OWN: dict[str, Any] = {"token": "token-of-beta", "appSecret": "secret-of-beta", "verifyToken": "verify-of-beta"}
HOOK = "/api/v1/webhooks/whatsapp/status"


@pytest.fixture(autouse=True)
def nobody_is_trusted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by default: the sandbox, which plays one organisation's world, trusts all."""
    monkeypatch.setenv("OSTINATO_OUTBOUND_TRUSTED_TENANTS", "")
    world.read_settings_again()


async def put(world: World, key: str = OTHERS, *, status: int = 200, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    body = {"channel": "WHATSAPP", "providerKey": key} | more
    found: dict[str, Any] = await world.call("PUT", "/senders", status=status, json=body, tenant="beta")
    return found


async def asks(world: World, sender: Mapping[str, Any] | None, *, status: int = 201) -> dict[str, Any]:
    """Somebody of beta asks for a message, by a sender or by whatever there is."""
    await world.consent(TO, tenant="beta")
    template = {
        "category": "UTILITY",
        "providerName": "welcome",
        "body": "Bonjour {{name}}",
        "variables": [{"name": "name"}],
    }
    await world.call("PUT", "/templates/welcome/fr", json=template, tenant="beta")
    more = {} if sender is None else {"senderId": sender["id"]}
    return await world.message(TO, tenant="beta", status=status, **more)


@pytest.mark.parametrize(
    "key",
    [
        "100200300/messages?x=",
        "./100200300",
        "x/../100200300",
        "../../v1/evil?x=",
        "100200300#",
        "1002",
        "1" * 21,
        "١٢٣٤٥٦",
    ],
)
async def test_a_key_is_digits_and_nothing_that_leads_elsewhere(world: World, key: str) -> None:
    refused = await put(world, key, status=422)

    assert refused["values"]["field"] == "providerKey"
    assert not world.sandbox.faults.calls


async def test_another_organisations_number_is_set_up_like_nobodys_and_sends_nothing(world: World) -> None:
    """The answers differ in nothing: who asks learns not even that somebody has it."""
    taken = await put(world, PHONE_NUMBER_ID)
    free = await put(world, OTHERS)

    assert {**taken, "id": 0, "providerKey": ""} == {**free, "id": 0, "providerKey": ""}
    assert (taken["usable"], taken["proof"]) == (False, None)
    refused = await asks(world, taken, status=422)
    assert refused["code"] == "sender_unproven"
    await world.work()
    assert world.providers.sent == []


@pytest.mark.parametrize(("channel", "key"), [("SMS", "ACME"), ("EMAIL", "ceo@acme-corp.test"), ("WHATSAPP", OTHERS)])
async def test_an_administrator_says_whose_it_is_and_takes_it_away_again(world: World, channel: str, key: str) -> None:
    made = await put(world, key, channel=channel)
    grant = {"tenantId": "beta", "channel": channel, "key": key}

    await world.call("PUT", "/grants", status=403, json=grant, tenant="beta")
    granted = await world.call("PUT", "/grants", json=grant, roles=("installation",))
    (during,) = await world.call("GET", "/senders", tenant="beta")
    await world.call("DELETE", "/grants", params={"channel": channel, "key": key}, roles=("installation",))
    (after,) = await world.call("GET", "/senders", tenant="beta")

    assert (granted["tenantId"], granted["proof"], granted["account"]) == ("beta", "GRANT", True)
    assert (during["id"], during["usable"], after["usable"]) == (made["id"], True, False)
    await world.call("GET", "/grants", status=403)
    await world.call("DELETE", "/grants", status=404, params={"channel": channel, "key": key}, roles=("installation",))


async def test_what_is_said_of_an_address_counts_more_than_what_is_said_of_its_domain(world: World) -> None:
    await world.rows(
        "insert into outbound.ownership (provider, key, tenant_id, proof, account, proven_by) values"
        " ('smtp', 'beta.test', 'beta', 'DNS', false, 'tests'), ('smtp', 'a@beta.test', 'beta', 'GRANT', true, 'tests')"
    )

    granted = await put(world, "a@beta.test", channel="EMAIL")
    proven = await put(world, "b@beta.test", channel="EMAIL")

    assert (granted["proof"], granted["usable"]) == ("GRANT", True)
    assert (proven["proof"], proven["usable"]) == ("DNS", False), "a record lends no account"


async def test_a_sender_that_was_taken_away_sends_nothing_that_waits(world: World) -> None:
    sender = await put(world)
    grant = {"tenantId": "beta", "channel": "WHATSAPP", "key": OTHERS}
    await world.call("PUT", "/grants", json=grant, roles=("installation",))
    made = await asks(world, sender)

    await world.call("PUT", "/grants", json=grant | {"tenantId": "gamma"}, roles=("installation",))
    await world.work()

    shown = await world.show(made, tenant="beta")
    assert (shown["status"], shown["errorCode"]) == ("FAILED", "NO_SENDER")
    assert world.providers.sent == []


async def test_a_tenants_session_makes_itself_owner_of_nothing(world: World) -> None:
    """Whose a sender is, is said by functions of the API's login alone; another's account cannot be asked for."""
    sender = await put(world, PHONE_NUMBER_ID, credentials=OWN)
    hook = sender["callbackQuery"].rpartition("=")[2]
    beta = world.engine.client.for_tenant("beta")
    before = await world.rows("select provider, key, tenant_id, proof, account from outbound.ownership order by 1, 2")

    for statement in (
        "insert into outbound.ownership values ('whatsapp', %s, 'beta', 'GRANT', true, now(), 'me')",
        "update outbound.ownership set tenant_id = 'beta' where key = %s",
        "delete from outbound.ownership where key = %s",
        "select outbound.claim_ownership('beta', 'whatsapp', %s, 'META', true, 'me')",
        "select outbound.grant_ownership('whatsapp', %s, 'beta', true, 'me')",
        "select outbound.withdraw_ownership('whatsapp', %s, 'me')",
        "select outbound.owners(%s)",
        "select outbound.tenants_told_of('whatsapp', array[%s], null, null)",
        "select outbound.add_callback('whatsapp', %s, null, '', 'acme')",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with beta.transaction() as conn:
                await conn.execute(statement.encode(), [PHONE_NUMBER_ID])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with beta.transaction() as conn:
            await conn.execute("select outbound.account_of_hook('whatsapp', %s)", [hook])
    async with beta.transaction() as conn:
        await conn.execute("select outbound.leave_ownership('acme', 'whatsapp', %s)", [PHONE_NUMBER_ID])

    after = await world.rows("select provider, key, tenant_id, proof, account from outbound.ownership order by 1, 2")
    assert after == before


async def test_metas_own_answer_proves_a_number_and_its_account_sends(world: World) -> None:
    sender = await put(world, credentials=OWN)
    await world.call("POST", f"/senders/{sender['id']}/prove", status=422, tenant="beta")
    world.providers.tokens["token-of-beta"] = {OTHERS}

    proven = await world.call("POST", f"/senders/{sender['id']}/prove", tenant="beta")
    made = await asks(world, proven)
    await world.work()

    recorded = await world.rows("select target, actor, tenant_id from ostinato_data.audit_entry where verb = 'prove'")
    assert recorded == [(str(sender["id"]), "tester", "beta")]
    assert (proven["proof"], proven["usable"], proven["ownAccount"]) == ("META", True, True)
    assert (await world.show(made, tenant="beta"))["status"] in ("SENT", "DELIVERED")
    calls = [call for call in world.sandbox.faults.calls if call.path.endswith("/messages")]
    assert [call.path for call in calls] == [f"/whatsapp/{OTHERS}/messages"]


async def test_the_installations_token_proves_nothing_of_an_organisation(world: World) -> None:
    sender = await put(world)

    refused = await world.call("POST", f"/senders/{sender['id']}/prove", status=422, tenant="beta")

    assert "Meta does not show" in refused["detail"]


async def test_what_another_organisation_has_proven_is_not_taken_from_it(world: World) -> None:
    world.providers.tokens["token-of-beta"] = {PHONE_NUMBER_ID}
    sender = await put(world, PHONE_NUMBER_ID, credentials=OWN)

    await world.call("POST", f"/senders/{sender['id']}/prove", status=409, tenant="beta")

    assert (await asks(world, sender, status=422))["code"] == "sender_unproven"


async def test_a_domains_record_proves_it_but_lends_no_account(world: World) -> None:
    first = await put(world, "Ceo@Beta.example.test", channel="EMAIL")
    record = first["record"]
    assert record["name"] == "_ostinato.beta.example.test"
    world.providers.records[record["name"]] = ["v=spf1 -all", "ostinato-sender=somebody-elses"]
    await world.call("POST", f"/senders/{first['id']}/prove", status=422, tenant="beta")
    world.providers.records[record["name"]].append(record["value"])

    proven = await world.call("POST", f"/senders/{first['id']}/prove", tenant="beta")
    login = {"username": "beta", "password": "of-beta"}
    second = await put(world, "info@beta.example.test", channel="EMAIL", credentials=login)

    assert (proven["proof"], proven["usable"], proven["record"]) == ("DNS", False, None)
    assert (second["proof"], second["usable"]) == ("DNS", True), "the whole domain is proven"
    other = {"channel": "EMAIL", "providerKey": "x@beta.example.test"}
    theirs = await world.call("PUT", "/senders", json=other, tenant="gamma")
    assert theirs["record"]["value"] != record["value"]
    assert theirs["usable"] is False


async def test_credentials_are_sealed_and_never_shown(world: World) -> None:
    made = await put(world, credentials=OWN)

    stored = await world.value("select credentials from outbound.sender where tenant_id = 'beta'")
    shown = json.dumps([made, await world.call("GET", "/senders", tenant="beta")])

    assert stored.startswith("ost1:")
    assert not any(secret in stored + shown for secret in OWN.values())


async def test_credentials_that_are_copied_to_another_sender_do_not_open(world: World) -> None:
    grant = {"tenantId": "beta", "channel": "WHATSAPP", "key": OTHERS}
    await world.call("PUT", "/grants", json=grant, roles=("installation",))
    sender = await put(world, credentials=OWN)
    await put(world, "999888777", credentials=OWN)
    await world.rows(
        "update outbound.sender s set credentials = o.credentials from outbound.sender o"
        " where s.provider_key = %s and o.provider_key = '999888777'",
        OTHERS,
    )
    made = await asks(world, sender)

    await world.work()

    shown = await world.show(made, tenant="beta")
    assert (shown["status"], shown["errorCode"], shown["attemptsUsed"]) == ("QUEUED", "CREDENTIALS", 0)
    assert world.providers.sent == []


@pytest.mark.parametrize(
    ("channel", "key", "given", "told"),
    [
        ("WHATSAPP", OTHERS, {"token": "x"}, "needs token, app_secret"),
        ("WHATSAPP", OTHERS, OWN | {"password": "x"}, "needs token, app_secret"),
        ("SMS", "ACME", {"accountSid": "../AC1", "authToken": "x"}, "accountSid"),
        ("EMAIL", "a@beta.example.test", {"username": "x", "password": "y", "host": "169.254.169.254"}, "mail server"),
    ],
)
async def test_an_account_has_what_its_provider_needs_and_leads_nowhere_else(
    world: World, channel: str, key: str, given: dict[str, str], told: str
) -> None:
    refused = await put(world, key, status=422, channel=channel, credentials=given)

    assert told in refused["detail"]


async def test_a_callback_is_signed_by_the_account_that_it_names_and_speaks_of_no_other(world: World) -> None:
    world.providers.tokens["token-of-beta"] = {OTHERS}
    sender = await put(world, credentials=OWN)
    await world.call("POST", f"/senders/{sender['id']}/prove", tenant="beta")
    await world.consent(TO, tenant="beta")
    await world.consent(TO)
    place = HOOK + sender["callbackQuery"]

    async def stop(number: str, secret: str, path: str) -> int:
        told = world.cloud.signed(number, _stop())
        headers = {"x-hub-signature-256": signature(secret, told.body), "content-type": "application/json"}
        return (await world.http.post(path, content=told.body, headers=headers)).status_code

    async def status(tenant: str) -> str:
        (found,) = await world.call("GET", "/consents", params={"subjectId": "s-1"}, tenant=tenant)
        return str(found["status"])

    assert await stop(OTHERS, "secret-of-beta", HOOK) == 401, "not by the installation's address"
    assert await stop(OTHERS, "sandbox-app-secret", place) == 401, "nor by the installation's secret"
    assert await stop(OTHERS, "secret-of-beta", f"{HOOK}?account={uuid4()}") == 401
    assert await stop(PHONE_NUMBER_ID, "secret-of-beta", place) == 200
    await world.work()
    assert await status("acme") == "GRANTED", "beta's account speaks of no number of acme"
    assert await stop(OTHERS, "secret-of-beta", place) == 200
    assert await status("beta") == "REVOKED"
    asked = {"hub.mode": "subscribe", "hub.verify_token": "verify-of-beta", "hub.challenge": "7"}
    assert (await world.http.get(place, params=asked | {"account": place.rpartition("=")[2]})).text == "7"
    assert (await world.http.get(HOOK, params=asked)).status_code == 403


def _stop() -> dict[str, Any]:
    line = {"from": TO[1:], "id": f"wamid.{uuid4()}", "timestamp": "1781085600", "type": "text"}
    return {"messages": [line | {"text": {"body": "STOP TOUT"}}]}


async def test_an_sms_by_an_account_of_ones_own_is_called_back_about_by_that_account(world: World) -> None:
    grant = {"tenantId": "beta", "channel": "SMS", "key": "BETA", "account": False}
    await world.call("PUT", "/grants", json=grant, roles=("installation",))
    sender = await put(world, "Beta", channel="SMS")
    assert sender["usable"] is False, "the grant lends no account"
    account = {"accountSid": Exchange.account, "authToken": Exchange.token}
    sender = await put(world, "Beta", channel="SMS", credentials=account)
    await world.consent(TO, tenant="beta", channel="SMS")
    message: dict[str, Any] = {"channel": "SMS", "templateCode": None, "variables": None, "text": "Bonjour"}

    made = await world.message(TO, tenant="beta", **message)
    await world.work()
    await world.settled()

    assert (await world.show(made, tenant="beta"))["status"] == "DELIVERED"
    assert world.providers.sent[0].document["StatusCallback"].endswith(sender["callbackQuery"].replace("?", "&"))


async def test_trusted_tenants_name_their_senders_without_a_proof(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_OUTBOUND_TRUSTED_TENANTS", "alpha, beta")
    world.read_settings_again()

    made = await put(world)
    taken = await put(world, PHONE_NUMBER_ID)

    assert (made["proof"], made["usable"]) == ("TRUST", True)
    assert (taken["proof"], taken["usable"]) == (None, False), "what is somebody's stays his"


@pytest.mark.parametrize("size", [0, MOST_HEARD_BYTES], ids=["in the request", "by its job"])
async def test_inbound_to_a_number_that_two_have_set_up_is_for_who_has_proven_it(world: World, size: int) -> None:
    """Whoever was first, and whoever was last."""
    body = {"channel": "WHATSAPP", "providerKey": OTHERS}
    for tenant in ("beta", "acme", "gamma"):
        await world.call("PUT", "/senders", json=body, tenant=tenant)
        await world.consent(TO, tenant=tenant)
    await world.rows(
        "insert into outbound.ownership (provider, key, tenant_id, proof, account, proven_by)"
        " values ('whatsapp', %s, 'acme', 'GRANT', true, 'tests')",
        OTHERS,
    )

    line = {"from": TO[1:], "id": "w1", "timestamp": str(int(NOON.timestamp())), "type": "text"}
    said = {"messages": [line | {"text": {"body": "STOP TOUT"}}], "filled": " " * size}
    await world.providers.make(world.cloud.signed(OTHERS, said))
    await world.work()

    statuses = {}
    for tenant in ("acme", "beta", "gamma"):
        (found,) = await world.call("GET", "/consents", params={"subjectId": "s-1"}, tenant=tenant)
        statuses[tenant] = found["status"]
    assert statuses == {"acme": "REVOKED", "beta": "GRANTED", "gamma": "GRANTED"}


@pytest.mark.parametrize("size", [0, MOST_HEARD_BYTES], ids=["in the request", "by its job"])
@pytest.mark.parametrize("proof", ["GRANT", "TRUST"])
async def test_a_stop_to_a_sender_that_was_deleted_is_heard_until_another_has_it(
    world: World, proof: str, size: int
) -> None:
    await world.rows("update outbound.ownership set proof = %s where key = %s", proof, PHONE_NUMBER_ID)
    (sender,) = [each for each in await world.call("GET", "/senders") if each["channel"] == "WHATSAPP"]
    statuses = []

    await world.call("DELETE", f"/senders/{sender['id']}")
    for subject, to in (("s-1", TO), ("s-2", "+33639981235")):
        await world.consent(to, subjectId=subject)
        line = {"from": to[1:], "id": f"w-{subject}", "timestamp": str(int(NOON.timestamp())), "type": "text"}
        said = {"messages": [line | {"text": {"body": "STOP TOUT"}}], "filled": " " * size}
        await world.providers.make(world.cloud.signed(PHONE_NUMBER_ID, said))
        await world.work()
        (found,) = await world.call("GET", "/consents", params={"subjectId": subject})
        statuses.append(found["status"])
        grant = {"tenantId": "beta", "channel": "WHATSAPP", "key": PHONE_NUMBER_ID}
        await world.call("PUT", "/grants", json=grant, roles=("installation",))

    assert statuses == ["REVOKED", "GRANTED"]


async def test_what_was_given_up_is_for_anybody_to_prove(world: World) -> None:
    """And is proven anew by who had it: nothing goes out by the proof of before."""
    await world.rows("update outbound.ownership set proof = 'META' where key = %s", PHONE_NUMBER_ID)
    (sender,) = [each for each in await world.call("GET", "/senders") if each["channel"] == "WHATSAPP"]
    await world.call("DELETE", f"/senders/{sender['id']}")

    again = await world.call("PUT", "/senders", json={"channel": "WHATSAPP", "providerKey": PHONE_NUMBER_ID})
    owners = await world.call("GET", "/grants", params={"tenantId": "acme"}, roles=("installation",))
    taken = await put(world, PHONE_NUMBER_ID, credentials=OWN)
    world.providers.tokens["token-of-beta"] = {PHONE_NUMBER_ID}
    proven = await world.call("POST", f"/senders/{taken['id']}/prove", tenant="beta")

    assert (again["usable"], again["proof"]) == (False, None)
    assert PHONE_NUMBER_ID not in [each["key"] for each in owners]
    assert (proven["usable"], proven["proof"]) == (True, "META")
    account = await world.value("select account from outbound.ownership where key = %s", PHONE_NUMBER_ID)
    assert not account, "a proof of one's own lends no account, whoever had it before"
