"""Messages over HTTP: accepted once, refused by policy, shown, retried (rules 1.1, 4.1, 6.1)."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from ostinato._core.base.errors import OstinatoError
from ostinato._core.engine import machines
from ostinato.apps.outbound.accept import service
from ostinato.apps.outbound.accept.service import Accepted
from ostinato.apps.outbound.machine import CONSENT, MESSAGE
from ostinato.apps.outbound.model import Channel, NewMessage
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.web import Together
from tests.apps.outbound.conftest import NOON, World, sent_statements, set_clock
from tests.waiting import until_async

TO = "+33639980001"
WELCOME = {
    "category": "UTILITY",
    "providerName": "welcome",
    "body": "Bonjour {{name}}",
    "variables": [{"name": "name"}],
}


async def test_without_consent_it_is_refused_and_audited(world: World) -> None:
    """1.1: 422 with an explicit problem, and BLOCKED_BY_POLICY in the audit."""
    refused = await world.message(status=422)

    audit = await world.call("GET", "/audit", params={"dossierId": "D-1"})
    assert refused["code"] == "consent_required"
    assert refused["values"]["reason"] == "CONSENT_MISSING"
    assert [each["action"] for each in audit] == ["BLOCKED_BY_POLICY"]
    assert TO not in str(audit)
    (blocked,) = await world.call("GET", "/timeline", params={"dossierId": "D-1"})
    assert (blocked["activityCode"], blocked["status"]) == ("MESSAGE_LOG", "BLOCKED")
    assert (blocked["note"], blocked["messageId"]) == ("CONSENT_MISSING", None)
    assert await world.value("select count(*) from outbound.message") == 0


async def test_any_other_status_than_granted_refuses(world: World) -> None:
    for status in ("DENIED", "REVOKED", "PENDING"):
        await world.consent(status=status, subjectId=status)

        refused = await world.message(status=422, subjectId=status)

        assert refused["code"] == "consent_required"


@pytest.mark.parametrize(
    ("changes", "suppressed", "refusal"),
    [
        (None, False, "CONSENT_MISSING"),
        (None, True, "CONSENT_MISSING"),
        ({}, False, None),
        ({}, True, "CONSENT_SUPPRESSED"),
        ({"status": "PENDING"}, False, "CONSENT_MISSING"),
        ({"status": "DENIED"}, False, "CONSENT_DENIED"),
        ({"status": "REVOKED"}, False, "CONSENT_REVOKED"),
        ({"status": "EXPIRED"}, False, "CONSENT_EXPIRED"),
        ({"expires_at": NOON.isoformat()}, False, "CONSENT_EXPIRED"),
        ({"expires_at": (NOON + timedelta(days=1)).isoformat()}, False, None),
        ({"address": "+33639980002"}, False, "CONSENT_OTHER_ADDRESS"),
        ({"channel": "EMAIL", "address": TO.upper()}, False, None),
    ],
)
async def test_nothing_goes_without_a_granted_consent(
    world: World,
    changes: dict[str, str] | None,
    suppressed: bool,  # noqa: FBT001 - whether somebody opted out
    refusal: str | None,
) -> None:
    given = {"status": "GRANTED", "channel": "WHATSAPP", "address": TO, **(changes or {})}
    await set_clock(world.engine, NOON)
    consent = None if changes is None else json.dumps(given)

    found = await world.value(
        "select outbound.consent_refusal(jsonb_populate_record(null::outbound.consent, %s::jsonb), %s, %s)",
        consent,
        TO,
        suppressed,
    )

    assert found == refusal


async def test_what_the_api_remembers_is_not_what_it_accepts_by(world: World) -> None:
    """What an organisation and its templates are is checked in the statement that writes."""
    await world.consent()
    await world.message()
    await world.call("PUT", "/templates/welcome/fr", json={**WELCOME, "category": "MARKETING"})
    refused = await world.message(status=422)
    assert refused["values"]["purpose"] == "MARKETING"
    await world.call("PUT", "/templates/welcome/fr", json=WELCOME)
    await world.message()
    await world.rows("update outbound.template set is_active = false")
    assert (await world.message(status=422))["code"] == "template_refused"
    await world.rows("update outbound.template set is_active = true")
    await world.rows("update outbound.template set language = 'en'")
    assert (await world.message(status=422))["code"] == "template_refused"
    await world.rows("insert into outbound.organisation (tenant_id, language) values ('acme', 'en')")
    await world.message()
    await world.rows("update outbound.organisation set region = 'DE'")
    await world.message("0639980001", status=422)
    await world.rows("update outbound.organisation set region = 'FR'")
    await world.message("0639980001")


async def test_a_message_is_accepted_in_one_round_trip(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.consent()
    await world.message()
    sent = sent_statements(monkeypatch)

    await world.message()

    ours = [text for text in sent if "outbound" in text or text == "begin"]
    assert len(ours) == 1
    assert "accept_messages_as" in ours[0]


async def test_messages_of_the_same_moment_share_a_statement_and_each_keeps_its_own_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one is being accepted others come: they are one set, with an answer, an audit and a trail for each."""
    await world.consent()
    before = await world.message(key="before")
    came = 0
    add = Together.add

    async def counted(self: Together[Any, Any], *given: Any) -> Any:  # noqa: ANN401 - as add
        nonlocal came
        came += 1
        return await add(self, *given)

    monkeypatch.setattr(Together, "add", counted)
    sent = sent_statements(monkeypatch)

    async def ask(key: str, status: int = 201, **more: Any) -> Any:  # noqa: ANN401 - whatever it answers
        body = {name: value for name, value in {**item(key), **more}.items() if name != "idempotencyKey"}
        headers = {"Idempotency-Key": key, "X-Correlation-Id": f"trail-{key}"}
        return await world.call("POST", "/messages", status=status, json=body, headers=headers)

    async with world.engine.client.connection() as conn, conn.transaction():
        await conn.execute("lock table outbound.message in exclusive mode")
        first = asyncio.create_task(ask("first"))
        await until_async(lambda: came == 1)
        others = [
            asyncio.create_task(ask("new")),
            asyncio.create_task(ask("before", 200)),
            asyncio.create_task(ask("refused", 422, subjectId="nobody")),
            asyncio.create_task(ask("other", dossierId="D-2")),
        ]
        await until_async(lambda: came == 5)
    one, new, known, refused, other = await asyncio.gather(first, *others)

    assert len([text for text in sent if "accept_messages_as" in text]) == 2
    assert len({one["id"], new["id"], other["id"], before["id"]}) == 4
    assert known["id"] == before["id"]
    assert refused["code"] == "consent_required"
    found = await world.rows("select idempotency_key, correlation_id from outbound.message order by 1")
    assert {("first", "trail-first"), ("new", "trail-new"), ("other", "trail-other")} <= set(found)
    audit = await world.rows(
        "select action, correlation_id from outbound.audit_event where correlation_id like 'trail-%'"
    )
    assert set(audit) == {
        ("NOTIFICATION_CREATED", "trail-first"),
        ("NOTIFICATION_CREATED", "trail-new"),
        ("NOTIFICATION_CREATED", "trail-other"),
        ("BLOCKED_BY_POLICY", "trail-refused"),
    }


async def test_consent_is_for_a_channel_a_purpose_and_an_address(world: World) -> None:
    await world.consent()
    await world.message()

    await world.message(status=422, purpose="MARKETING")
    await world.message(status=422, channel="SMS")
    await world.message("+33639980002", status=422)


async def test_granted_needs_a_proof(world: World) -> None:
    refused = await world.call(
        "PUT", "/consents", status=422, json={"subjectId": "s", "channel": "SMS", "status": "GRANTED", "address": TO}
    )

    assert refused["code"] == "consent_proof_required"


async def test_a_consent_is_shown_with_its_whole_proof(world: World) -> None:
    await world.consent(status="PENDING", proof={})
    await world.consent()
    await world.consent(proof={"wording": "2"})
    await world.consent(status="REVOKED", source="OPERATOR")

    (shown,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})

    assert shown["status"] == "REVOKED"
    assert shown["revokedAt"]
    kinds = [event["eventType"] for event in shown["events"]]
    assert kinds == ["REQUESTED", "GRANTED", "RENEWED", "REVOKED"]
    assert shown["events"][2]["proof"] == {"wording": "2"}


async def test_proofs_audit_and_timeline_are_append_only(world: World) -> None:
    await world.consent()
    await world.message()

    for statement in (
        "update outbound.consent_event set recorded_at = recorded_at",
        "delete from outbound.consent_event",
        "update outbound.audit_event set at = at",
        "delete from outbound.audit_event",
        "update outbound.activity set at = at",
        "delete from outbound.activity",
        "truncate outbound.consent_event",
    ):
        with pytest.raises(psycopg.Error, match="append-only"):
            await world.rows(statement)


async def test_a_tenant_starts_the_sending_of_its_own_messages_only(world: World) -> None:
    """The kinds are closed to tenants: the functions of the owner that start them ask whose it is."""
    await world.consent()
    made = await world.message()
    evil = world.engine.client.for_tenant("evil")
    sent = "select count(*) from ostinato_data.job where kind = 'outbound.send'"

    for statement in (
        "select outbound.start_send('acme', %s, null)",
        "select outbound.start_wake('acme', 1, %s::text, null, true, null)",
        "select outbound.start_forget('acme', %s::text, null)",
        "select outbound.start_replan('acme', %s::text)",
        "select outbound.start_timers('acme', %s::text, '{LATE_J+1}', '{2026-06-15 10:00}', 'UTC')",
        "select ostinato.enqueue_job('outbound.send', json_build_object('message_id', %s::text), tenant_id => 'evil')",
        "select ostinato.enqueue_job('outbound.prune', json_build_object('x', %s::text))",
    ):
        with pytest.raises(OstinatoError, match=r"there is no|closed to tenants|no worker has declared"):
            async with evil.transaction() as conn:
                await conn.execute(statement.encode(), [made["id"]])
    assert await world.value(sent) == 1


async def test_audit_events_have_the_real_time_wherever_the_clock_stands(world: World) -> None:
    await set_clock(world.engine, datetime(2031, 3, 3, 12, tzinfo=UTC))
    await world.consent()
    await world.message()

    late = await world.value("select count(*) from outbound.audit_event where at > clock_timestamp()")

    assert late == 0
    of_messages = await world.rows("select distinct message_id is null from outbound.audit_event order by 1")
    assert of_messages == [(False,), (True,)]


async def test_the_same_key_is_the_same_message(world: World) -> None:
    """4.1."""
    await world.consent()
    first = await world.message(key="k")
    again = await world.message(key="k", status=200)

    assert again == first
    assert await world.value("select count(*) from outbound.message") == 1
    assert await world.value("select count(*) from ostinato_data.ready where kind = 'outbound.send'") == 1


async def test_the_same_key_for_something_else_is_a_conflict_that_names_the_fields(world: World) -> None:
    await world.consent()
    await world.message(key="k")

    refused = await world.message(key="k", status=409, variables={"name": "Ana"}, urgent=True)

    assert refused["code"] == "idempotency_conflict"
    assert refused["values"]["fields"] == ["urgent", "variables"]


async def test_a_key_is_the_same_message_whatever_was_changed_since(world: World) -> None:
    """4.1: what was accepted once is not judged anew."""
    await world.consent()
    first = await world.message(key="k")
    template = {"category": "MARKETING", "providerName": "w", "body": "Bonjour", "isActive": False}
    await world.call("PUT", "/templates/welcome/fr", json=template)
    await world.call("PUT", "/organisation", json={"language": "en"})
    await world.consent(status="REVOKED")

    assert (await world.message(key="k", status=200))["id"] == first["id"]
    assert (await world.message("06 39 98 00 01", key="k", status=200))["id"] == first["id"]
    refused = await world.message(key="k", status=409, senderId=1)
    assert refused["values"]["fields"] == ["sender_id"]
    await world.rows(  # as an earlier release wrote it
        """update outbound.message set fingerprint = (fingerprint::jsonb - 'sender_id'
        || '{"language": "derived", "purpose": "derived"}')::text"""
    )
    assert (await world.message(key="k", status=200))["id"] == first["id"]
    await world.message(key="k", status=409, urgent=True)


async def test_what_is_answered_of_a_consent_is_what_is_stored(world: World) -> None:
    for before, said, after, kind in (
        ("GRANTED", "PENDING", "GRANTED", "REQUESTED"),
        ("GRANTED", "DENIED", "REVOKED", "DENIED"),
        ("GRANTED", "REVOKED", "REVOKED", "REVOKED"),
        ("DENIED", "REVOKED", "DENIED", "REVOKED"),
        ("DENIED", "PENDING", "DENIED", "REQUESTED"),
        ("REVOKED", "DENIED", "REVOKED", "DENIED"),
        ("REVOKED", "GRANTED", "GRANTED", "GRANTED"),
        ("PENDING", "DENIED", "DENIED", "DENIED"),
    ):
        subject = f"{before}-{said}"
        await world.consent(status=before, subjectId=subject)

        answer = await world.consent(status=said, subjectId=subject)

        (shown,) = await world.call("GET", "/consents", params={"subjectId": subject})
        last = shown["events"][-1]
        assert (answer["status"], shown["status"], last["newStatus"]) == (after,) * 3, subject
        assert (last["oldStatus"], last["eventType"]) == (before, kind)


async def test_times_of_a_consent_have_a_zone_and_are_not_yet_to_come(world: World) -> None:
    given = {"subjectId": "s", "channel": "SMS", "status": "GRANTED", "address": TO}
    for wrong in (
        {"occurredAt": "2026-06-10T10:00:00"},
        {"occurredAt": "2026-07-01T00:00:00Z"},
        {"expiresAt": "2026-07-01T00:00:00"},
    ):
        body = given | {"proof": {"a": 1}} | wrong
        await world.call("PUT", "/consents", status=422, json=body)


async def test_a_key_that_another_transaction_just_takes_is_its_message(world: World) -> None:
    await world.consent()
    await world.message()
    new = NewMessage("one", "s-1", Channel.WHATSAPP, TO, "welcome", {"name": "Camille"}, dossier_id="D-1")
    async with world.engine.client.for_tenant("acme").transaction() as conn:
        first = await service.accept(conn, "acme", "tests", new, world.settings.section(OutboundSettings))
        second = asyncio.create_task(world.message(key="one", status=200))
        waits = (
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%accept_messages_as%'"
        )
        await until_async(lambda: _is_one(world, waits))

    assert isinstance(first, Accepted)
    assert (await second)["id"] == str(first.id)


async def _is_one(world: World, statement: str) -> bool:
    return bool(await world.value(statement))


def item(key: str, **more: object) -> dict[str, Any]:
    plain = {"channel": "WHATSAPP", "to": TO, "subjectId": "s-1", "dossierId": "D-1", "templateCode": "welcome"}
    return {"idempotencyKey": key, "variables": {"name": "Camille"}, **plain, **more}


async def test_each_message_of_a_batch_has_its_own_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.consent()
    before = await world.message(key="before")
    asked = [
        item("a"),
        item("before"),
        item("c", subjectId="stranger"),
        item("d", templateCode="none"),
        item("a"),
        item("a", dossierId="D-2"),
        item("g", to="12"),
        item("h", senderId=2**40),
        item("i", templateCode=None, variables={}, text="Bonjour"),
        item("j", sendAt="2999-01-01T00:00:00Z"),
    ]
    sent = sent_statements(monkeypatch)

    answer = await world.call("POST", "/messages/batch", json={"messages": asked})

    ours = [text for text in sent if "outbound" in text or text == "begin"]
    assert len(ours) <= 2  # one if all of it is remembered
    items = answer["items"]
    assert [each["status"] for each in items] == [201, 200, 422, 422, 200, 409, 422, 422, 422, 422]
    assert items[1]["id"] == before["id"]
    assert items[4]["id"] == items[0]["id"]
    codes = [each["problem"] and each["problem"]["code"] for each in items]
    assert codes[2:4] == ["consent_required", "template_refused"]
    assert codes[5:9] == ["idempotency_conflict", "invalid_input", "invalid_input", "window_closed"]
    assert items[5]["problem"]["values"]["fields"] == ["dossier_id"]
    assert items[9]["problem"]["values"] == {"field": "sendAt"}
    actions = [each["action"] for each in await world.call("GET", "/audit")]
    assert actions.count("NOTIFICATION_CREATED") == 2
    assert actions.count("BLOCKED_BY_POLICY") == 1


async def test_a_batch_again_is_the_same_messages_and_all_of_it_goes_out(world: World) -> None:
    await world.consent()
    await world.rows("update outbound.sender set rate = 8000")
    asked = {"messages": [item(f"k-{n}") for n in range(40)]}

    first = await world.call("POST", "/messages/batch", json=asked)
    again = await world.call("POST", "/messages/batch", json=asked)
    await world.work()

    assert {each["status"] for each in first["items"]} == {201}
    assert {each["status"] for each in again["items"]} == {200}
    assert [each["id"] for each in again["items"]] == [each["id"] for each in first["items"]]
    assert await world.value("select count(*) from outbound.message where sent_at is not null") == 40
    events = await world.value(
        "select count(*) from ostinato_data.event where type = 'outbound.message_status'"
        " and payload->>'status' = 'QUEUED'"
    )
    assert events == 40


async def test_a_key_that_is_refused_is_refused_each_time_it_stands_in_a_batch(world: World) -> None:
    asked = {"messages": [item("same") | {"to": "0"}, item("same") | {"to": "0"}, item("same")]}

    answer = await world.call("POST", "/messages/batch", json=asked)

    assert [each["status"] for each in answer["items"]] == [422, 422, 422]
    assert [each["problem"]["code"] for each in answer["items"]] == ["invalid_input"] * 3
    assert await world.value("select count(*) from outbound.message") == 0


async def test_a_number_is_no_time(world: World) -> None:
    asked = item("a") | {"sendAt": 0}

    await world.call("POST", "/messages/batch", status=422, json={"messages": [asked]})


async def test_a_batch_has_a_limit_and_its_keys_are_required(world: World) -> None:
    await world.call("POST", "/messages/batch", status=422, json={"messages": []})
    await world.call("POST", "/messages/batch", status=422, json={"messages": [item(f"k-{n}") for n in range(501)]})
    without = {name: value for name, value in item("a").items() if name != "idempotencyKey"}
    await world.call("POST", "/messages/batch", status=422, json={"messages": [without]})


async def test_many_at_once_with_one_key_make_one_message(world: World) -> None:
    await world.consent()

    async def ask() -> str:
        answer = await world.http.post(
            "/api/v1/outbound/messages",
            json={
                "channel": "WHATSAPP",
                "to": TO,
                "subjectId": "s-1",
                "templateCode": "welcome",
                "variables": {"name": "A"},
            },
            headers={"Authorization": f"Bearer {await world.key('acme', 'admin')}", "Idempotency-Key": "one"},
        )
        assert answer.status_code in (200, 201), answer.text
        return str(answer.json()["id"])

    ids = await asyncio.gather(*(ask() for _ in range(12)))

    assert len(set(ids)) == 1
    assert await world.value("select count(*) from outbound.message") == 1


async def test_the_key_is_required_and_belongs_to_its_organisation(world: World) -> None:
    await world.set_up("other", phone="100200301")
    await world.consent()
    await world.consent(tenant="other")
    first = await world.message(key="k")
    second = await world.message(key="k", tenant="other")

    await world.call("POST", "/messages", status=422, json={"channel": "SMS", "to": TO, "subjectId": "s-1"})

    assert first["id"] != second["id"]


async def test_another_organisations_message_is_not_there(world: World) -> None:
    await world.consent()
    made = await world.message()

    await world.call("GET", f"/messages/{made['id']}", status=404, tenant="other")
    await world.call("POST", f"/messages/{made['id']}/retry", status=404, tenant="other")
    assert (await world.call("GET", "/messages", tenant="other"))["items"] == []
    assert await world.call("GET", "/audit", tenant="other") == []
    assert await world.call("GET", "/timeline?dossierId=D-1", tenant="other") == []


async def test_no_table_shows_a_tenant_more_than_its_own(world: World) -> None:
    """Whatever a statement asks for: by row-level security."""
    await world.consent()
    await world.message()
    readable = await world.rows(
        "select relname from pg_class where relnamespace = 'outbound'::regnamespace and relkind = 'r'"
        " and has_table_privilege('ostinato_tenant', oid, 'select')"
    )

    seen: dict[str, set[str]] = {"acme": set(), "other": set()}
    for tenant, names in seen.items():
        async with world.engine.client.for_tenant(tenant, "somebody").transaction() as conn:
            for (name,) in readable:
                if (await conn.execute(f"select from outbound.{name}".encode())).rowcount:
                    names.add(name)

    assert seen["acme"] >= {"message", "consent", "consent_event", "sender", "template", "audit_event", "activity"}
    assert seen["other"] == set()


async def test_messages_of_a_dossier_come_in_pages(world: World) -> None:
    await world.consent()
    made = [(await world.message(dossierId=f"D-{n % 2}"))["id"] for n in range(7)]

    first = await world.call("GET", "/messages", params={"dossierId": "D-0", "limit": 3})
    rest = await world.call("GET", "/messages", params={"dossierId": "D-0", "limit": 3, "cursor": first["nextCursor"]})

    seen = [each["id"] for each in first["items"] + rest["items"]]
    assert len(first["items"]) == 3
    assert sorted(seen) == sorted(made[0::2])
    assert rest["nextCursor"] is None
    await world.call("GET", "/messages", status=422, params={"cursor": "nonsense"})


async def test_only_a_failed_message_can_be_retried_and_only_by_operators(world: World) -> None:
    await world.consent()
    made = await world.message()

    refused = await world.call("POST", f"/messages/{made['id']}/retry", status=409)
    await world.call("POST", f"/messages/{made['id']}/retry", status=403, roles=("agent",))

    assert refused["code"] == "message_wrong_state"


async def test_what_cannot_be_sent_is_refused_before_it_is_stored(world: World) -> None:
    await world.consent()
    plain = {"category": "UTILITY", "providerName": "p", "body": "{{name}}", "variables": [{"name": "name"}]}
    await world.call("PUT", "/templates/plain/fr", json=plain)
    wrong: tuple[dict[str, Any], ...] = (
        {"templateCode": "nothing"},
        {"variables": {}},
        {"variables": {"name": "a\nb"}},
        {"language": "en"},
        {"text": "both"},
        {"templateCode": None},
        {"to": "12"},
        {"channel": "PIGEON"},
        {"channel": "EMAIL", "to": "nobody"},
        {"senderId": 999_999},
        {"fallback": {"channel": "EMAIL"}},
        {"fallback": {"channel": "EMAIL", "to": "a@example.test"}, "templateCode": "plain"},
        {"surprise": 1},
    )

    for each in wrong:
        await world.message(**{"status": 422, **each})

    assert await world.value("select count(*) from outbound.message") == 0


async def test_a_text_that_is_too_long_once_it_is_filled_in_is_refused(world: World) -> None:
    """1024 characters of a WhatsApp template, 1600 of an SMS; the parts of an SMS are shown."""
    template = {"category": "UTILITY", "providerName": "long", "variables": [{"name": "a"}]}
    for length, name in ((1020, "long"), (1590, "longer")):
        body = {"body": "x" * length + "{{a}}"}
        await world.call("PUT", f"/templates/{name}/fr", json=template | body)
    await world.consent()
    await world.consent(channel="SMS")

    made = {}
    for channel, name in (("WHATSAPP", "long"), ("SMS", "longer")):
        given: dict[str, Any] = {"channel": channel, "templateCode": name}
        refused = await world.message(**given, status=422, variables={"a": "b" * 11})
        assert refused["code"] == "template_refused"
        made[channel] = await world.message(**given, variables={"a": "b"})
    assert (await world.show(made["SMS"]))["payload"]["segments"] == 11


async def test_a_template_with_a_document_goes_by_whatsapp_only(world: World) -> None:
    template = {
        "category": "UTILITY",
        "providerName": "call",
        "body": "Bonjour {{name}}",
        "variables": [{"name": "file", "kind": "media"}, {"name": "name"}],
        "components": [{"type": "header", "format": "DOCUMENT", "variable": "file"}],
        "parameterFormat": "POSITIONAL",
    }
    await world.call("PUT", "/templates/call/fr", json=template)
    (shown, *_) = await world.call("GET", "/templates")
    await world.consent()
    await world.consent(channel="SMS")
    link = {"link": "https://files.example.test/a.pdf", "filename": "a.pdf"}
    given: dict[str, Any] = {"templateCode": "call", "variables": {"name": "A", "file": link}}

    await world.message(**given)
    refused = await world.message(**given, channel="SMS", status=422)
    await world.message(templateCode="call", variables={"name": "A", "file": "a.pdf"}, status=422)
    await world.work()

    assert shown["components"] == template["components"]
    assert refused["code"] == "template_refused"
    sent = world.providers.sent[0].document["template"]["components"]
    assert sent == [
        {"type": "header", "parameters": [{"type": "document", "document": link}]},
        {"type": "body", "parameters": [{"type": "text", "text": "A"}]},
    ]


async def test_marketing_mail_needs_what_seals_its_unsubscribe_link(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.consent("a@example.test", channel="EMAIL", purpose="MARKETING")
    monkeypatch.setenv("OSTINATO_OUTBOUND_TOKEN_SECRET", "")
    world.read_settings_again()

    await world.message("a@example.test", channel="EMAIL", purpose="MARKETING", status=422)


async def test_free_text_on_whatsapp_needs_an_open_window(world: World) -> None:
    """5: the window of 24 hours."""
    await world.consent()

    refused = await world.message(status=422, templateCode=None, variables={}, text="Bonjour")

    assert refused["code"] == "window_closed"


async def test_the_database_has_the_machines_that_the_code_declares(world: World) -> None:
    for machine in (MESSAGE, CONSENT):
        assert await machines.install(world.engine.admin, machine) is False
    assert await machines.gaps(world.engine.admin) == []


async def test_a_status_cannot_be_written_past_the_machine(world: World) -> None:
    await world.consent()
    await world.message()

    for status in ("SENT", "DELIVERED", "FAILED"):
        with pytest.raises(psycopg.Error, match=r"cannot be written|needs"):
            await world.rows("update outbound.message set status = %s", status)


async def test_what_an_organisation_chooses_is_kept(world: World) -> None:
    chosen = {
        "zone": "Africa/Casablanca",
        "region": "MA",
        "language": "fr",
        "noticeTime": "09:30:00",
        "holidays": "MA",
        "stopCoversAll": True,
        "stopReply": "C'est noté.",
        "helpReply": "Atlas",
        "startReply": None,
        "replies": {"en": {"stop": "Noted.", "help": None, "start": None}},
        "opens": "07:00:00",
        "closes": "20:30:00",
        "marketingOpens": "09:00:00",
        "marketingCloses": "19:00:00",
        "reminderDays": [-10, 2],
    }

    await world.call("PUT", "/organisation", json=chosen)

    assert await world.call("GET", "/organisation") == chosen
    await world.call("PUT", "/organisation", status=422, json={"zone": "Mars/Base"})
    await world.call("PUT", "/organisation", status=422, json={"holidays": "XX"})
    await world.call("PUT", "/organisation", status=422, json={"helpReply": "x" * 1025})
    await world.call("PUT", "/organisation", status=422, json={"replies": {"english": {"stop": "Noted."}}})
    await world.call("PUT", "/organisation", status=422, json={"replies": {"en": {"stop": ""}}})
