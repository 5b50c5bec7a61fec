"""What people refuse: remembered whoever records it, in effect at once, and nothing else is kept of them."""

import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from ostinato.apps.outbound import rules
from ostinato.apps.outbound.model import Channel, folded
from ostinato.apps.outbound.providers.standin import Inbound
from ostinato.apps.outbound.tokens import unsubscribe_token
from tests.apps.outbound.conftest import NOON, PHONE_NUMBER_ID, World, set_clock

TO = "+33639981234"
LAST_YEAR = "2025-06-01T00:00:00Z"
FORM = {"content-type": "application/x-www-form-urlencoded"}


async def stopped(world: World) -> None:
    await world.providers.make(world.providers.inbound(Inbound(from_=TO, text="STOP TOUT")))


async def revoked(world: World) -> None:
    await world.consent(TO, status="REVOKED")


async def denied(world: World) -> None:
    await world.consent(TO, status="DENIED")


@pytest.mark.parametrize("refuse", [stopped, revoked, denied])
@pytest.mark.parametrize("source", ["IMPORT", "FORM", "API"])
async def test_a_grant_that_is_older_than_the_last_refusal_changes_nothing(
    world: World, refuse: Callable[[World], Awaitable[None]], source: str
) -> None:
    """Whoever recorded the refusal, and wherever the grant comes from, for another name too."""
    await world.consent(TO)
    await refuse(world)

    again = await world.consent(TO, source=source, occurredAt=LAST_YEAR)
    other = await world.consent(TO, source=source, occurredAt=LAST_YEAR, subjectId="the same person")

    assert (again["status"], again["reason"]) == ("REVOKED", "OLDER_THAN_REFUSAL")
    assert (other["status"], other["reason"]) == ("PENDING", "OLDER_THAN_REFUSAL")
    assert (await world.message(TO, status=422))["values"]["reason"] == "CONSENT_REVOKED"
    await world.message(TO, status=422, subjectId="the same person")
    (shown,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})
    assert shown["events"][-1]["newStatus"] == "REVOKED"


def test_a_grant_of_the_instant_of_a_refusal_changes_nothing() -> None:
    assert [rules.is_stale(NOON + timedelta(seconds=each), NOON) for each in (-1, 0, 1)] == [True, True, False]
    assert not rules.is_stale(NOON, None)


def test_a_mail_address_is_folded_by_case_and_unicode() -> None:
    assert folded(Channel.EMAIL, "\uff21na.B@Example.test") == folded(Channel.EMAIL, "ana.b@example.test")
    assert folded(Channel.SMS, "ATLAS") == "ATLAS"


async def test_a_refusal_by_the_api_outlives_an_import_and_ends_with_the_persons_own_word(world: World) -> None:
    await world.consent(TO)
    await world.consent(TO, status="REVOKED")

    await world.consent(TO, subjectId="imported", source="IMPORT")
    refused = await world.message(TO, subjectId="imported", status=422)
    await world.consent(TO, source="FORM")

    assert refused["values"]["reason"] == "CONSENT_SUPPRESSED"
    await world.message(TO)


async def test_a_refusal_is_one_of_the_address_that_was_allowed_and_of_the_one_it_names(world: World) -> None:
    other = "+33639981235"
    await world.consent(TO)

    await world.consent(other, status="REVOKED")

    for address in (TO, other):
        await world.consent(address, subjectId=f"imported {address}", source="IMPORT")
        refused = await world.message(address, subjectId=f"imported {address}", status=422)
        assert refused["values"]["reason"] == "CONSENT_SUPPRESSED"


async def test_a_refusal_by_another_name_at_the_address_stops_what_waits(world: World) -> None:
    await set_clock(world.engine, NOON + timedelta(hours=10))
    await world.consent(TO)
    waiting = await world.message(TO)

    await world.consent(TO, subjectId="the same person", status="REVOKED")
    await set_clock(world.engine, NOON + timedelta(hours=22))
    await world.work()

    shown = await world.show(waiting)
    assert (shown["status"], shown["cancelReason"]) == ("CANCELLED", "CONSENT_SUPPRESSED")
    assert world.providers.asked == {}


@pytest.mark.parametrize("spelt", ["ANA.B@example.test", "Ana.B@EXAMPLE.test", "\uff41na.b@example.test"])
async def test_who_unsubscribed_is_not_written_to_however_the_address_is_spelt(world: World, spelt: str) -> None:
    mail: dict[str, Any] = {"channel": "EMAIL", "purpose": "MARKETING"}
    made = await world.consent("ana.b@example.test", **mail)
    token = unsubscribe_token("sandbox-token-secret", UUID(made["id"]))
    path = f"/api/v1/outbound/unsubscribe/{token}"
    await world.http.post(path, content=b"List-Unsubscribe=One-Click", headers=FORM)

    await world.consent(spelt, subjectId="again", source="IMPORT", **mail)
    refused = await world.message(spelt, subjectId="again", status=422, **mail)

    assert refused["values"]["reason"] == "CONSENT_SUPPRESSED"


async def test_a_consent_for_an_address_is_one_however_that_is_spelt(world: World) -> None:
    await world.consent("Ana.B@example.test", channel="EMAIL")

    await world.message("ana.b@Example.test", channel="EMAIL", subject="Bonjour")
    await world.work()

    assert len(world.providers.sent) == 1


async def test_a_complaint_ends_the_consent_for_an_address_however_that_is_spelt(world: World) -> None:
    await world.consent("Complaint@example.test", channel="EMAIL")
    await world.message("complaint@Example.test", channel="EMAIL", subject="Bonjour")
    await world.work()
    await world.settled()
    await world.work()

    (consent,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})

    assert (consent["status"], len(world.providers.sent)) == ("REVOKED", 1)


@pytest.mark.parametrize("secret", ["", "of-a-setting"])
async def test_the_list_of_opt_outs_names_nobody_even_if_no_setting_seals_it(
    world: World, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    """Whoever reads the table cannot try out numbers; who opted out is found all the same."""
    monkeypatch.setenv("OSTINATO_OUTBOUND_TOKEN_SECRET", secret)
    world.read_settings_again()
    await set_clock(world.engine, NOON + timedelta(hours=10))  # 22:00 in Paris: what is asked for waits
    await world.consent(TO, subjectId="other")
    waiting = await world.message(TO, subjectId="other")
    await world.consent(TO)
    await world.consent(TO, status="REVOKED")
    tried = hmac.new(secret.encode(), f"suppression\0acme\0WHATSAPP\0{TO}".encode(), hashlib.sha256).digest()
    codes = {bytes(row[0]) for row in await world.rows("select address_mac from outbound.suppression")}

    await world.consent(TO, subjectId="again", source="IMPORT")
    refused = await world.message(TO, subjectId="again", status=422)
    await set_clock(world.engine, NOON + timedelta(days=1))
    await world.work()

    assert codes
    assert tried not in codes
    assert refused["values"]["reason"] == "CONSENT_SUPPRESSED"
    assert (await world.show(waiting))["status"] == "CANCELLED"
    assert world.providers.asked == {}


async def test_without_its_secret_the_list_of_opt_outs_is_not_taken_for_an_empty_one(world: World) -> None:
    await world.consent(TO)
    await world.consent(TO, status="REVOKED")
    async with world.engine.admin.transaction(force_rollback=True):
        await world.rows("delete from outbound.secret")

        with pytest.raises(psycopg.errors.NoDataFound):
            await world.rows("select outbound.sealed_address('')")


async def test_an_opt_out_of_an_earlier_release_counts_as_it_was_spelt(world: World) -> None:
    """Its code was made of the address with its capitals."""
    named = b"suppression\0acme\0EMAIL\0Ana@example.test"
    code = hmac.new(b"sandbox-token-secret", named, hashlib.sha256).digest()
    await world.rows(
        "insert into outbound.suppression (tenant_id, channel, purpose, address_mac, source, since)"
        " values ('acme', 'EMAIL', 'TRANSACTIONAL', %s, 'API', '2026-01-01')",
        code,
    )

    await world.consent("Ana@example.test", channel="EMAIL", source="IMPORT")
    refused = await world.message("Ana@example.test", channel="EMAIL", subject="Bonjour", status=422)

    assert refused["values"]["reason"] == "CONSENT_SUPPRESSED"


async def test_a_stop_is_in_effect_when_it_is_answered_whatever_waits(world: World) -> None:
    """No worker runs: statuses may wait for as long as they like."""
    await set_clock(world.engine, NOON + timedelta(hours=10))  # 22:00 in Paris: what is asked for waits
    await world.consent(TO)
    waiting = await world.message(TO)
    await world.rows(
        "insert into outbound.callback (provider, url, body) select 'whatsapp', '', '{}' from generate_series(1, 500)"
    )

    await stopped(world)

    assert world.providers.told[-1][1] == 200
    assert (await world.show(waiting))["cancelReason"] == "CONSENT_REVOKED"
    assert (await world.message(TO, status=422))["values"]["reason"] == "CONSENT_REVOKED"
    assert await world.value("select lines from outbound.callback where processed_at is not null") == 1
    await world.work()
    assert await world.value("select count(*) from outbound.inbound") == 1


async def test_a_stop_among_statuses_is_heard_first_and_the_rest_is_not_lost(world: World) -> None:
    await world.consent(TO)
    made = await world.message(TO)
    world.providers.script(TO, statuses=[])
    await world.work()
    now = str(int(NOON.timestamp()))
    word = {"from": TO[1:], "id": "wamid.w", "timestamp": now, "type": "text", "text": {"body": "STOP TOUT"}}
    status = {"id": world.providers.sent[0].id, "status": "delivered", "timestamp": now}

    await world.providers.make(world.cloud.signed(PHONE_NUMBER_ID, {"messages": [word], "statuses": [status]}))

    (consent,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})
    assert (consent["status"], (await world.show(made))["status"]) == ("REVOKED", "SENT")
    await world.work()
    assert (await world.show(made))["status"] == "DELIVERED"


async def test_a_stop_that_cannot_be_applied_at_once_is_applied_by_its_job(world: World) -> None:
    await world.consent(TO)
    await world.rows(
        "create function outbound.refuse_for_test() returns trigger language plpgsql as"
        " $$ begin raise exception 'not now'; end $$;"
        " create trigger refuse before insert on outbound.inbound for each row"
        " execute function outbound.refuse_for_test()"
    )
    try:
        await stopped(world)
    finally:
        await world.rows("drop function outbound.refuse_for_test cascade")

    assert world.providers.told[-1][1] == 200
    (before,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})
    await world.work()
    (after,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})
    assert (before["status"], after["status"]) == ("GRANTED", "REVOKED")


async def test_what_is_kept_of_an_erased_person_names_nobody(world: World) -> None:
    """Neither a hash that all numbers of a country are tried against, nor an id with the number in it."""
    await world.consent(TO)
    key = world.next_key()
    made = await world.message(TO, key=key)
    await world.work()
    await world.settled()
    await world.providers.make(world.providers.inbound(Inbound(from_=TO, text="Bonjour")))
    await world.call(
        "PUT",
        "/coop/members/m-1",
        json={"groupId": "g", "subjectId": "s-1", "address": TO, "name": "Camille", "status": "ACTIVE"},
    )
    ((before, told),) = await world.rows("select fingerprint, provider_message_id from outbound.message")

    await world.call("DELETE", "/consents", params={"subjectId": "s-1"})

    plain = hashlib.sha256(json.dumps(TO).encode()).hexdigest()[:32]
    assert plain not in before
    tables = await world.rows("select tablename from pg_tables where schemaname = 'outbound'")
    kept = {name: str(await world.rows(f"select t::text from outbound.{name} t")) for (name,) in tables}  # noqa: S608 - ours
    kept.pop("consent_event")  # the proof, which stays
    for trace in (TO, TO[1:], told, json.loads(before)["to"], "Camille"):
        assert [name for name, rows in kept.items() if trace in rows] == []
    again = await world.message(TO, key=key, status=200)
    assert again["id"] == made["id"]


async def test_what_is_being_sent_to_an_erased_person_is_forgotten_when_it_has_ended(world: World) -> None:
    await world.consent(TO)
    made = await world.message(TO)
    await world.rows("update outbound.message set waits_for = 'RETRY'")
    await world.rows("alter table outbound.message disable trigger user")
    await world.rows("update outbound.message set status = 'SENDING'")
    await world.rows("alter table outbound.message enable trigger user")

    await world.call("DELETE", "/consents", params={"subjectId": "s-1"})
    before = (await world.show(made))["to"]
    await world.work(move_clock=True)

    assert before == TO
    assert (await world.show(made))["to"] == ""
    kept = await world.rows("select args::text from ostinato_data.job where kind = 'outbound.send'")
    assert kept == [("{}",)], "what the engine kept of it went too"


async def test_a_fingerprint_is_the_same_again_and_under_another_secret_another(world: World) -> None:
    await world.consent(TO)
    key = world.next_key()
    made = await world.message(TO, key=key)

    again = await world.message(TO, key=key, status=200)
    differs = await world.message(TO, key=key, status=409, variables={"name": "Dominique"})
    before = await world.value("select outbound.sealed('{\"to\": \"x\"}') ->> 'to'")
    async with world.engine.admin.transaction(force_rollback=True):
        await world.rows("update outbound.secret set inner_key = sha256('a') || sha256('b')")
        after = await world.value("select outbound.sealed('{\"to\": \"x\"}') ->> 'to'")

    assert again["id"] == made["id"]
    assert differs["values"]["fields"] == ["variables"]
    assert before != after
