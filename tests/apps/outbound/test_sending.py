"""The worker: what each answer of a provider leads to, over real HTTP (rule 4.2)."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

import httpx
import pytest

from ostinato.apps.outbound import rules
from ostinato.apps.outbound.jobs import prune
from ostinato.apps.outbound.model import Channel, Content, Sender
from ostinato.apps.outbound.policy import Kind
from ostinato.apps.outbound.providers.protocol import Lost, Refused
from ostinato.apps.outbound.providers.standin import Inbound
from ostinato.apps.outbound.providers.whatsapp import WHATSAPP
from ostinato.apps.outbound.providers.wire import Wire
from ostinato.apps.outbound.settings import OutboundSettings
from tests.apps.outbound.conftest import NOON, PHONE_NUMBER_ID, World, sent_statements, set_clock
from tests.waiting import until_async

TO = "+33639981234"


async def sent(world: World, to: str = TO, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - as message
    await world.consent(to, subjectId=f"s{to}")
    return await world.message(to, subjectId=f"s{to}", **more)


async def test_every_code_of_the_policy_table_does_what_its_class_says(world: World) -> None:
    """Each of them once as the answer of the provider: the table of errors.

    Each has a sender and a template of its own, so that what one holds holds no other.
    """
    codes = [code for code in WHATSAPP.errors if not 201 <= int(code) <= 298] + ["987654"]
    await world.rows(
        "insert into outbound.sender (tenant_id, channel, provider, provider_key)"
        " select 'acme', 'WHATSAPP', 'whatsapp', code from unnest(%s::text[]) code",
        codes,
    )
    await world.rows(
        "insert into outbound.ownership (provider, key, tenant_id, proof, account, proven_by)"
        " select 'whatsapp', code, 'acme', 'GRANT', true, 'tests' from unnest(%s::text[]) code",
        codes,
    )
    await world.rows(
        "insert into outbound.template (tenant_id, template_code, language, category,"
        " provider_name, body) select 'acme', 't' || code, 'fr', 'UTILITY', code, 'Bonjour'"
        " from unnest(%s::text[]) code",
        codes,
    )
    senders = dict(await world.rows("select provider_key, id from outbound.sender"))
    await world.consent(TO)
    for code in codes:
        world.providers.script(code, *[code] * 4)  # the first retry may come while we look
        own = {"senderId": senders[code], "templateCode": f"t{code}", "variables": {}}
        await world.message(TO, key=code, **own)

    await world.work()

    held = dict(await world.rows("select provider_key, held_until from outbound.sender"))
    templates = {
        row[0]: row[1:]
        for row in await world.rows("select provider_name, provider_status, held_until from outbound.template")
    }
    attempts = await world.rows(
        "select m.idempotency_key, a.error_code, a.status from outbound.message m"
        " join outbound.attempt a on a.message_id = m.id and a.attempt_no = 1"
    )
    assert sorted(attempts) == sorted((code, code, "FAILED") for code in codes)
    page = await world.call("GET", "/messages", params={"limit": 200})
    found = {}
    for shown in page["items"]:
        code = shown["idempotencyKey"]
        found[code] = what(shown, held[code], *templates[code])
    expected = {
        code: {
            Kind.HOLD: "held",
            Kind.RETRY: "retry",
            Kind.PAIR: "retry",
            Kind.PERMANENT: "deactivated" if code == "132016" else "failed",
            Kind.CONVERT: "failed",
            Kind.HOLD_TEMPLATE: "template held",
        }[ruling.kind]
        for code, ruling in WHATSAPP.errors.items()
        if code in codes
    } | {"987654": "retry"}
    assert found == expected


def what(shown: dict[str, Any], held: object, told: object, template_held: object) -> str:
    if held or template_held:
        assert (shown["status"], shown["attemptsUsed"]) == ("QUEUED", 0)
        assert shown["waitsFor"] == ("HOLD" if held else "TEMPLATE_HELD")
        return "held" if held else "template held"
    if shown["status"] == "QUEUED":
        assert shown["attemptsUsed"] >= 1, shown
        return "retry"
    assert shown["status"] == "FAILED"
    assert shown["deadLetteredAt"] is None
    return "failed" if told is None else "deactivated"


async def test_retries_follow_the_seed_and_end_among_the_dead_letters(world: World) -> None:
    """4.2: 1 m, 5 m, 15 m, 1 h; five attempts; then FAILED with its reason, and a dead letter."""
    world.providers.script(TO, *["131016"] * 9)
    made = await sent(world, urgent=True)

    await world.work(move_clock=True)

    shown = await world.show(made)
    began = [datetime.fromisoformat(each["createdAt"]) for each in shown["attempts"]]
    gaps = [(b - a).total_seconds() for a, b in pairwise(began)]
    expected = (60, 300, 900, 3600)
    late = 15  # a tenth to both sides, and what a busy machine adds
    for gap, base in zip(gaps, expected, strict=True):
        assert base * 0.89 <= gap <= base * 1.1 + late, gaps
    assert (shown["status"], shown["errorCode"]) == ("FAILED", "131016")
    assert shown["deadReason"] == "5 attempts used up"
    assert await world.value("select ostinato.job_state(%s)", shown["jobId"]) == "dead"
    audit = await world.call("GET", "/audit", params={"messageId": made["id"]})
    assert audit[0]["action"] == "NOTIFICATION_FAILED"
    assert audit[0]["details"]["dead_letter"] is True


async def test_a_worker_that_dies_after_an_error_does_not_make_the_next_attempt_early(world: World) -> None:
    """4.2: when it is tried again is written with the error; the job is told after that."""
    world.providers.script(TO, "131016")
    made = await sent(world)
    await world.work()
    waiting = await world.show(made)
    await world.rows("update ostinato_data.scheduled set run_at = ostinato.now(), crashes = 1")

    await world.work()

    assert world.providers.asked[TO] == 1
    assert (await world.show(made))["nextRetryAt"] == waiting["nextRetryAt"]
    await world.work(move_clock=True)
    assert (await world.show(made))["status"] in ("SENT", "DELIVERED")


@pytest.mark.parametrize("how", ["api", "redrive"])
async def test_a_dead_letter_begins_anew_and_keeps_its_history(world: World, how: str) -> None:
    world.providers.script(TO, *["131000"] * 2)
    made = await sent(world, urgent=True)
    await world.work(move_clock=True)
    dead = await world.show(made)
    assert dead["status"] == "FAILED"

    if how == "api":
        again = await world.call("POST", f"/messages/{made['id']}/retry", status=202)
        assert again["status"] == "QUEUED"
    else:
        await world.rows("select ostinato.redrive_jobs(kind => 'outbound.send')")
    await world.work()

    shown = await world.show(made)
    assert shown["status"] in ("SENT", "DELIVERED")
    assert [each["status"] for each in shown["attempts"]] == ["FAILED", "FAILED", "SUCCESS"]
    assert (dead["attemptsUsed"], shown["attemptsUsed"], shown["deadLetteredAt"]) == (2, 0, None)
    assert await world.value("select count(*) from ostinato_data.dead_letter") == 0


async def test_a_message_that_failed_for_good_can_be_retried_too(world: World) -> None:
    world.providers.script(TO, "132001")
    made = await sent(world)
    await world.work()
    assert (await world.show(made))["deadLetteredAt"] is None

    await world.call("POST", f"/messages/{made['id']}/retry", status=202)
    await world.work()

    assert (await world.show(made))["status"] in ("SENT", "DELIVERED")


@pytest.mark.usefixtures("impatient")
async def test_a_lost_answer_is_resolved_by_its_callback_and_not_sent_again(world: World) -> None:
    """Magic recipient 0006: taken, no answer, but callbacks with our own reference."""
    made = await sent(world, "+33639980006")

    await world.work()
    doubt = await world.show(made)
    await world.settled()
    await world.work(move_clock=True)

    shown = await world.show(made)
    assert doubt["status"] in ("SENDING", "SENT", "DELIVERED")
    assert shown["status"] == "DELIVERED"
    assert len(world.providers.sent) == 1
    assert [each["status"] for each in shown["attempts"]] == ["SUCCESS"]


@pytest.mark.usefixtures("impatient")
async def test_a_lost_answer_without_a_callback_is_sent_again_after_the_hold(world: World) -> None:
    world.providers.script(TO, "lost")
    made = await sent(world)
    await world.work()
    held = await world.show(made)
    assert (held["status"], held["waitsFor"]) == ("SENDING", "UNKNOWN_OUTCOME")
    assert len(world.providers.sent) == 1

    await world.work(move_clock=True)

    shown = await world.show(made)
    assert [each["errorCode"] for each in shown["attempts"]] == ["UNKNOWN_OUTCOME", None]
    assert shown["attempts"][0]["unknownSince"]
    assert len(world.providers.sent) == 2
    waited = datetime.fromisoformat(shown["attempts"][1]["createdAt"]) - datetime.fromisoformat(
        shown["attempts"][0]["unknownSince"]
    )
    assert waited >= timedelta(seconds=5)


async def test_a_provider_that_cannot_be_reached_is_no_unknown_outcome(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_OUTBOUND_WHATSAPP_URL", "http://127.0.0.1:9")
    made = await sent(world)

    await world.work()

    shown = await world.show(made)
    assert (shown["status"], shown["errorCode"]) == ("QUEUED", "NETWORK")
    assert shown["attempts"][0]["unknownSince"] is None


async def test_faults_of_the_network_and_odd_answers(world: World) -> None:
    """Scripted by the sandbox in front of the stand-in: what was written may have been taken."""
    path = f"/whatsapp/{PHONE_NUMBER_ID}/messages"
    for number, (script, code, status) in enumerate(
        [
            ("503:120", "HTTP_503", "QUEUED"),
            ("429:7", "HTTP_429", "QUEUED"),
            ("401", "HTTP_401", "QUEUED"),
            ("400", "HTTP_400", "FAILED"),
            ("502", None, "SENDING"),  # a gateway may have handed it on
            ("504", None, "SENDING"),
            ("reset", None, "SENDING"),
            ("close", None, "SENDING"),
            ("truncated", None, "SENDING"),
            ("empty", None, "SENDING"),
            ("garbage", None, "SENDING"),
        ]
    ):
        to = f"+3363998{3000 + number}"
        world.sandbox.order(path, script)
        made = await sent(world, to)
        await world.work()
        shown = await world.show(made)
        assert (shown["errorCode"], shown["status"]) == (code, status), (script, shown)
        if script == "503:120":
            wait = datetime.fromisoformat(shown["nextRetryAt"]) - datetime.fromisoformat(
                shown["attempts"][0]["createdAt"]
            )
            assert wait >= timedelta(seconds=119)
        await world.rows("update outbound.sender set held_until = null, outage_since = null, troubles = 0")


@pytest.mark.parametrize(
    ("answer", "code", "status", "waits_for"),
    [
        ("100:500", "HTTP_500", "QUEUED", "RETRY"),
        ("987654:503", "HTTP_503", "QUEUED", "RETRY"),
        ("131047:500", "HTTP_500", "QUEUED", "RETRY"),
        ("131026:504", None, "SENDING", "UNKNOWN_OUTCOME"),  # a gateway may have handed it on
        ("3:500", "3", "QUEUED", "HOLD"),  # as Meta documents it
    ],
)
async def test_a_fault_of_the_server_is_no_refusal_whatever_code_comes_with_it(
    world: World, answer: str, code: str | None, status: str, waits_for: str | None
) -> None:
    """4.2: what is not retried is a 4xx of the provider."""
    world.providers.script(TO, answer)
    made = await sent(world, urgent=True)

    await world.work()

    shown = await world.show(made)
    assert (shown["errorCode"], shown["status"], shown["waitsFor"]) == (code, status, waits_for)
    troubles = await world.value("select troubles from outbound.sender where channel = 'WHATSAPP'")
    assert troubles == (0 if waits_for == "HOLD" else 1)


async def test_a_fault_of_twilio_is_no_refusal_either(world: World) -> None:
    world.providers.script(TO, "21211:503")
    await world.consent(TO, channel="SMS")
    made = await world.message(TO, channel="SMS", urgent=True)

    await world.work()

    shown = await world.show(made)
    assert (shown["errorCode"], shown["status"]) == ("HTTP_503", "QUEUED")
    assert "21211" in shown["attempts"][0]["errorMessage"]


UNNAMED: list[object] = [None, [], {}, "wamid", [None], ["wamid"], [[]], [{}]]
IDS: list[object] = ["", 7, None, "a\0b", "x" * 5000]
WRONG: list[object] = [None, 7, [], "?", {"code": "?", "error_data": "?"}]
DETAILS: list[object] = [[], 7, "?", {"details": {"a": 1}}]
ODD: list[dict[str, Any]] = [
    *({"messages": each} for each in UNNAMED),
    *({"messages": [{"id": each}]} for each in IDS),
    {"error": {"code": 131026, "message": "?"}},
    {"error": {"code": 131026}, "messages": []},
]


@pytest.mark.parametrize("status", [200, 400, 500])
async def test_an_odd_answer_of_whatsapp_is_judged_and_nothing_is_sent_without_an_id(status: int) -> None:
    """Of a 2xx without an id nobody knows whether it was taken; else an answer without a code counts by its status."""
    wrong: list[dict[str, Any]] = [{"error": each} for each in WRONG]
    wrong += [{"error": {"error_data": each, "message": [each]}} for each in DETAILS]
    sender = Sender(1, Channel.WHATSAPP, "whatsapp", PHONE_NUMBER_ID, "Atlas")
    content = Content(UUID(int=7), "acme", 1, to=TO, sender=sender, text="Bonjour")
    for document in ODD if status == 200 else wrong:

        def answered(_: httpx.Request, document: object = document) -> httpx.Response:
            return httpx.Response(status, json=document)

        async with httpx.AsyncClient(transport=httpx.MockTransport(answered)) as http:
            outcome = await WHATSAPP.send(content, Wire(http, OutboundSettings(), NOON))

        if status == 200:
            assert isinstance(outcome, Lost), document
        else:
            assert isinstance(outcome, Refused), document
            assert outcome.code == f"HTTP_{status}"


async def test_a_provider_may_name_the_time_at_which_it_wants_to_be_asked_again(world: World) -> None:
    """4.2: Retry-After as a date."""
    later = NOON + timedelta(hours=2)
    world.providers.script(TO, f"http:503:{format_datetime(later, usegmt=True)}")
    made = await sent(world, urgent=True)

    await world.work()

    shown = await world.show(made)
    asked_for = datetime.fromisoformat(shown["nextRetryAt"]) - later
    assert shown["errorCode"] == "HTTP_503"
    assert timedelta(0) <= asked_for < timedelta(minutes=30), "a minute is what is usual"


async def test_a_revoked_consent_stops_the_next_attempt(world: World) -> None:
    """1.1: asked again just before each attempt; CANCELLED, never sent."""
    world.providers.script(TO, "131016")
    made = await sent(world, urgent=True)
    await world.work()
    assert (await world.show(made))["status"] == "QUEUED"

    await world.consent(TO, subjectId=f"s{TO}", status="REVOKED")

    shown = await world.show(made)
    assert (shown["status"], shown["cancelReason"]) == ("CANCELLED", "CONSENT_REVOKED")
    await world.work(move_clock=True)
    assert world.providers.asked[TO] == 1
    audit = await world.call("GET", "/audit", params={"messageId": made["id"]})
    assert "BLOCKED_BY_POLICY" in [each["action"] for each in audit]


async def test_a_consent_that_expires_or_moves_stops_it_in_the_worker(world: World) -> None:
    await set_clock(world.engine, datetime(2026, 6, 10, 21, 0, tzinfo=UTC))
    other = "+33639981236"
    made = {"CONSENT_OTHER_ADDRESS": await sent(world), "CONSENT_EXPIRED": await sent(world, other)}
    await world.work()
    for each in made.values():
        assert (await world.show(each))["waitsFor"] == "QUIET_HOURS"

    await world.consent("+33639985555", subjectId=f"s{TO}")
    await world.consent(other, subjectId=f"s{other}", expiresAt="2026-06-10T21:30:00Z")
    await set_clock(world.engine, datetime(2026, 6, 11, 6, 0, 1, tzinfo=UTC))
    await world.work()

    for reason, each in made.items():
        shown = await world.show(each)
        assert (shown["status"], shown["cancelReason"]) == ("CANCELLED", reason)
    assert world.providers.asked == {}


async def test_consents_expire_by_themselves(world: World) -> None:
    await world.consent(expiresAt="2026-06-10T10:30:00Z")
    await world.work()
    await set_clock(world.engine, NOON + timedelta(hours=1))

    await world.work()

    (shown,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})
    assert shown["status"] == "EXPIRED"
    await world.message(status=422)


async def test_quiet_hours_put_off_without_using_up_an_attempt(world: World) -> None:
    await set_clock(world.engine, datetime(2026, 6, 10, 20, 0, tzinfo=UTC))  # 22:00 in Paris
    made = await sent(world)

    await world.work()
    waiting = await world.show(made)
    await set_clock(world.engine, datetime(2026, 6, 11, 6, 0, 1, tzinfo=UTC))
    await world.work()
    shown = await world.show(made)

    assert (waiting["waitsFor"], waiting["attempts"]) == ("QUIET_HOURS", [])
    assert waiting["nextRetryAt"] == "2026-06-11T06:00:00Z"
    assert shown["status"] in ("SENT", "DELIVERED")
    assert len(shown["attempts"]) == 1


async def test_a_held_sender_holds_all_its_messages_until_it_is_released(world: World) -> None:
    """Magic recipient 0012: 190."""
    first = await sent(world, "+33639980012")
    await world.work()
    second = await sent(world)
    await world.work()

    assert (await world.show(first))["waitsFor"] == "HOLD"
    assert (await world.show(second))["waitsFor"] == "SENDER_HELD"
    (held, *_) = await world.call("GET", "/senders")
    assert held["holdReason"] == "auth"
    world.providers.script("+33639980012")
    await world.work()
    assert (await world.show(second))["waitsFor"] == "SENDER_HELD", "not by itself"

    await world.call("POST", f"/senders/{held['id']}/release")
    await world.work()

    for each in (first, second):
        shown = await world.show(each)
        assert shown["status"] in ("SENT", "DELIVERED"), "at once, not at the end of its hold"
        assert shown["attemptsUsed"] == 0


async def test_a_recipient_is_paused_and_others_are_not(world: World) -> None:
    """Magic recipient 0005: 131056."""
    first = await sent(world, "+33639980005")
    await world.work()
    behind = await world.message("+33639980005", subjectId="s+33639980005")
    other = await sent(world)
    await world.work()

    assert (await world.show(first))["waitsFor"] == "RETRY"
    assert (await world.show(behind))["waitsFor"] == "RECIPIENT_PAUSED"
    assert (await world.show(other))["status"] in ("SENT", "DELIVERED")
    await world.work(move_clock=True)
    assert (await world.show(first))["status"] in ("SENT", "DELIVERED")
    assert (await world.show(behind))["status"] in ("SENT", "DELIVERED")


async def test_one_person_gets_a_burst_of_45_and_then_one_in_six_seconds(world: World) -> None:
    """4.2, also when many workers want the last one."""
    await world.consent(TO)
    sender = await world.value("select id from outbound.sender where channel = 'WHATSAPP'")
    await world.engine.clock.freeze()
    pair = ("acme", sender, TO, float(rules.PAIR_BURST), rules.PAIR_SECONDS)

    async def take(times: int) -> int:
        found = 0
        for _ in range(times):
            async with world.engine.client.transaction() as conn:
                taken = await conn.execute("select outbound.take_token(%s, %s, %s, %s, %s) is null", pair)
                found += (await taken.fetchone() or (False,))[0]
        return found

    assert sum(await asyncio.gather(*(take(14) for _ in range(4)))) == 45
    made = [await world.message(TO) for _ in range(2)]
    await world.work()
    waiting = await world.show(made[0])
    assert waiting["waitsFor"] == "PAIR_RATE"
    await world.engine.clock.freeze(await world.engine.clock.now() + timedelta(seconds=6))
    await world.work()
    states = sorted([(await world.show(each))["status"] for each in made])
    assert states in (["QUEUED", "SENT"], ["DELIVERED", "QUEUED"])
    await world.rows("select ostinato.set_test_clock(null, interval '0')")


@pytest.mark.usefixtures("impatient")
async def test_a_lost_answer_of_the_other_providers_waits_for_a_callback_too(world: World) -> None:
    """Twilio tells by the reference that was sent along; a mail server tells nothing."""
    made = {}
    for to, channel, answer in ((TO, "SMS", "silent"), ("a@example.test", "EMAIL", "lost")):
        world.providers.script(to, answer)
        await world.consent(to, channel=channel)
        made[channel] = await world.message(to, channel=channel, urgent=True)

    await world.work()
    await world.settled()

    by_mail = await world.show(made["EMAIL"])
    assert (by_mail["status"], by_mail["waitsFor"]) == ("SENDING", "UNKNOWN_OUTCOME")
    await world.work(move_clock=True)
    by_sms = await world.show(made["SMS"])
    assert by_sms["status"] == "DELIVERED"
    assert [each["status"] for each in by_sms["attempts"]] == ["SUCCESS"]
    assert sorted(each.provider for each in world.providers.sent) == ["smtp", "twilio"], "mail is held"


async def test_a_message_whose_job_is_gone_is_found_and_sent_or_cancelled(world: World) -> None:
    await set_clock(world.engine, datetime(2026, 6, 10, 21, 0, tzinfo=UTC))  # they wait
    cancelled, lost = await sent(world), await sent(world, "+33639981235")
    await world.work()
    job = (await world.show(cancelled))["jobId"]
    await world.rows("select ostinato.cancel_job(%s, 'a mistake')", job)
    gone = (await world.show(lost))["jobId"]
    await world.rows("delete from ostinato_data.scheduled where job_id = %s", gone)
    await world.rows("delete from ostinato_data.job where id = %s", gone)
    await set_clock(world.engine, datetime(2026, 6, 11, 8, 0, tzinfo=UTC))

    await world.work()
    await world.work()

    shown = await world.show(cancelled)
    assert (shown["status"], shown["cancelReason"]) == ("CANCELLED", "JOB_CANCELLED")
    assert (await world.show(lost))["status"] in ("SENT", "DELIVERED")


async def test_no_transaction_is_open_while_the_provider_is_asked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.1: a provider that is slow holds nothing up in the database."""
    monkeypatch.setenv("OSTINATO_OUTBOUND_TIMEOUT_SECONDS", "30")
    world.providers.script(TO, "held:ok")
    made = await sent(world)
    working = asyncio.create_task(world.work())

    async def is_asked() -> bool:
        return TO in world.providers.asked

    async def nothing_is_open() -> bool:
        """For a moment at least: others come and go, that one would stay."""
        return not await world.rows(
            "select query from pg_stat_activity where datname = current_database()"
            " and state like 'idle in transaction%'"
        )

    await until_async(is_asked)
    await until_async(nothing_is_open)
    assert not working.done()
    world.providers.gate.set()
    await working

    assert (await world.show(made))["status"] in ("SENT", "DELIVERED")


async def test_what_nobody_needs_any_more_is_forgotten(world: World) -> None:
    """What people wrote, how fast they may be written to, and callbacks; not who opted out."""
    await sent(world)
    await world.work()
    await world.settled()
    telling = world.providers.inbound(Inbound(from_=TO, text="STOP"))
    await world.providers.make(telling)
    await world.work()
    async with world.engine.client.transaction() as conn:
        await prune.enqueue(conn)
    await set_clock(world.engine, NOON + timedelta(days=31))

    await world.work()

    for statement in (
        "select count(*) from outbound.inbound",
        "select count(*) from outbound.pair",
        "select count(*) from outbound.callback",
        "select count(*) from outbound.callback_line",
    ):
        assert await world.value(statement) == 0, statement
    assert await world.value("select count(*) from outbound.suppression") == 1


async def test_free_text_goes_within_the_window_and_becomes_a_template_outside(world: World) -> None:
    now = await world.engine.clock.now()
    await world.rows(
        "insert into outbound.inbound (tenant_id, sender_id, provider, provider_message_id,"
        " from_address, kind, received_at) select tenant_id, id, 'whatsapp', 'w1', %s, 'text', %s"
        " from outbound.sender where channel = 'WHATSAPP'",
        TO,
        now,
    )
    other = {"code": "welcome", "variables": {"name": "A"}}
    text: dict[str, Any] = {"templateCode": None, "variables": {}, "text": "Bonjour"}
    inside = await sent(world, **text)
    await world.work()
    outside = await sent(world, **text, fallbackTemplate=other, urgent=True)
    await set_clock(world.engine, now + timedelta(hours=24))
    await world.work()
    magic = await sent(world, "+33639980004", **text, fallbackTemplate=other, urgent=True)
    await world.rows("update outbound.inbound set from_address = '+33639980004', received_at = ostinato.now()")
    await world.work()

    documents = [each.document for each in world.providers.sent]
    assert [each["type"] for each in documents] == ["text", "template", "template"]
    assert documents[0]["context"] == {"message_id": "w1"}
    assert documents[1]["template"]["name"] == "welcome"
    for made in (inside, outside, magic):
        assert (await world.show(made))["status"] in ("SENT", "DELIVERED")
    modes = [each["mode"] for each in (await world.show(magic))["attempts"]]
    assert modes == ["text", "template"]


async def test_who_is_not_on_whatsapp_is_tried_on_the_other_channel(world: World) -> None:
    """Magic recipient 0002: fails later with 131026; consent decides there as everywhere."""
    to = "+33639980002"
    await world.consent(to, subjectId=f"s{to}", channel="SMS")
    made = await sent(world, to, fallback={"channel": "SMS"})

    await world.work()
    await world.settled()
    await world.settled()

    assert (await world.show(made))["errorCode"] == "131026"
    page = await world.call("GET", "/messages")
    other = next(each for each in page["items"] if each["channel"] == "SMS")
    assert other["fallbackOf"] == made["id"]
    assert [each.provider for each in world.providers.sent] == ["whatsapp", "twilio"]


async def test_the_request_to_whatsapp_is_as_its_documents_say(world: World) -> None:
    made = await sent(world)
    await world.work()

    (taken,) = world.providers.sent
    assert taken.document == {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": TO.removeprefix("+"),
        "type": "template",
        "biz_opaque_callback_data": f"ob:{made['id']}:a1",
        "template": {
            "name": "welcome",
            "language": {"code": "fr"},
            "components": [
                {"type": "body", "parameters": [{"type": "text", "parameter_name": "name", "text": "Camille"}]}
            ],
        },
    }


async def test_an_sms_goes_by_twilio_and_its_status_comes_back(world: World) -> None:
    await world.consent(TO, channel="SMS")
    made = await world.message(TO, channel="SMS")
    await world.work()
    await world.settled()

    shown = await world.show(made)
    assert shown["status"] == "DELIVERED"
    assert world.providers.sent[0].document["Body"] == "Bonjour Camille"


async def test_twilio_errors_have_their_classes_and_21610_ends_the_consent(world: World) -> None:
    expected = {
        "20003": "QUEUED",
        "20429": "QUEUED",
        "21211": "FAILED",
        "21408": "FAILED",
        "21610": "FAILED",
        "21612": "FAILED",
        "21614": "FAILED",
        "21617": "FAILED",
        "30001": "QUEUED",
        "30002": "QUEUED",
        "30003": "QUEUED",
        "30004": "FAILED",
        "30005": "FAILED",
        "30006": "FAILED",
        "30007": "FAILED",
        "30008": "QUEUED",
    }
    made, senders = {}, {}
    for name in ("20003", "30002"):  # what holds a sender has one of its own
        sender = {"channel": "SMS", "providerKey": name}
        senders[name] = (await world.call("PUT", "/senders", json=sender))["id"]
    for number, code in enumerate(expected):
        to = f"+3363998{4000 + number}"
        world.providers.script(to, *[code] * 4)
        await world.consent(to, channel="SMS", subjectId=code)
        own = senders.get(code)
        made[code] = await world.message(to, channel="SMS", subjectId=code, senderId=own)

    await world.work()

    shown = {code: await world.show(each) for code, each in made.items()}
    assert {code: each["status"] for code, each in shown.items()} == expected
    assert "3363998" not in str([each["attempts"] for each in shown.values()])
    (consent,) = await world.call("GET", "/consents", params={"subjectId": "21610"})
    assert (consent["status"], consent["events"][-1]["source"]) == ("REVOKED", "PROVIDER")


async def test_mail_goes_by_smtp_with_a_message_id_of_its_own(world: World) -> None:
    await world.consent("ok@example.test", channel="EMAIL", purpose="MARKETING")
    made = await world.message("ok@example.test", channel="EMAIL", purpose="MARKETING")

    await world.work()

    shown = await world.show(made)
    (taken,) = world.providers.sent
    text = taken.document["text"]
    assert shown["status"] == "SENT", shown
    assert shown["providerMessageId"] == f"<{made['id']}@example.test>"
    assert f"Message-ID: <{made['id']}@example.test>" in text
    assert "Auto-Submitted: auto-generated" in text
    assert "List-Unsubscribe: <http://" in text  # plain: nobody decodes it before he clicks
    assert "List-Unsubscribe-Post: List-Unsubscribe=One-Click" in text
    assert taken.document["from"].startswith("bounce+")
    assert taken.opaque == made["id"]


async def test_mail_is_deferred_refused_bounced_and_complained_about(world: World) -> None:
    made = {}
    world.providers.script("busy@example.test", "421 4.3.2 closing")
    names = ("defer-451", "reject-511", "bounce-511", "complaint", "complaint2", "bounce-522", "busy")
    for name in names:
        to = f"{name}@example.test"
        await world.consent(to, channel="EMAIL", subjectId=to)
        made[name] = await world.message(to, channel="EMAIL", subjectId=to, urgent=True)

    await world.work()
    deferred = await world.show(made["defer-451"])
    await world.settled()
    await world.until_told("/api/v1/webhooks/email/bounces", 4)
    await world.work()
    for name, code in (("bounce-522", "5.2.2"), ("busy", "4.3.2")):  # both may pass
        again = await world.show(made[name])
        assert (again["status"], again["errorCode"]) == ("QUEUED", code)
    await world.work(move_clock=True)

    assert (deferred["status"], deferred["errorCode"]) == ("QUEUED", "4.3.0")
    shown = {name: await world.show(each) for name, each in made.items()}
    assert shown["defer-451"]["status"] == "SENT"
    assert [each["status"] for each in shown["defer-451"]["attempts"]] == ["FAILED"] * 2 + ["SUCCESS"]
    assert (shown["reject-511"]["status"], shown["reject-511"]["errorCode"]) == ("FAILED", "5.1.1")
    assert (shown["bounce-511"]["status"], shown["bounce-511"]["errorCode"]) == ("FAILED", "5.1.1")
    assert {shown[name]["status"] for name in ("bounce-522", "busy")} == {"SENT"}
    for name in ("complaint", "complaint2"):  # the second is no repetition of the first
        assert shown[name]["status"] == "SENT", "it arrived, or nobody could complain"
        params = {"subjectId": f"{name}@example.test"}
        (consent,) = await world.call("GET", "/consents", params=params)
        assert consent["status"] == "REVOKED"
    audit = await world.call("GET", "/audit", params={"action": "COMPLAINT"})
    assert len(audit) == 2


async def _many(world: World, count: int) -> list[dict[str, Any]]:
    """Messages to as many people, asked for one by one."""
    made = []
    for number in range(count):
        to = f"+3363998{6000 + number}"
        await world.consent(to, subjectId=to)
        made.append(await world.message(to, subjectId=to, dossierId=f"D-{number}"))
    return made


async def test_the_machine_is_asked_once_for_messages_that_go_together(world: World) -> None:
    made = await _many(world, 12)
    for number in range(12):
        world.providers.script(f"+3363998{6000 + number}", statuses=[])
    asked = "select last_value from ostinato_data.transition_pass_seq"
    before = await world.value(asked)

    await world.work()

    told = await world.rows("select event, count(distinct xmin::text) from ostinato_data.transition group by event")
    sets = {event: count for event, count in told if event in {"send", "accept"}}
    assert sets["send"] == 1
    assert await world.value(asked) - before == sum(sets.values()), "one pass for a set, not one for a message"
    assert {(await world.show(each))["status"] for each in made} == {"SENT"}


async def test_messages_that_go_together_are_begun_and_settled_in_sets(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await _many(world, 12)
    sent = sent_statements(monkeypatch)

    await world.work()

    assert sum("consent_refusal" in text for text in sent) == 1
    assert sum("begin_attempt" in text for text in sent) == 1
    settled = sum("settle_taken" in text for text in sent)
    assert settled < len(made), "answers that came together are written so"
    assert {(await world.show(each))["status"] for each in made} <= {"SENT", "DELIVERED"}
    assert list(world.providers.asked.values()) == [1] * 12
    audit = await world.call("GET", "/audit", params={"limit": 200})
    assert sum(each["action"] == "NOTIFICATION_SENDING" for each in audit) == 12
    assert sum(each["action"] == "NOTIFICATION_SENT" for each in audit) == 12
    told = await world.rows(
        "select count(*) from ostinato_data.transition where event = 'send' group by correlation_id"
    )
    assert told == [(1,)] * 12, "each step is part of its own request"


@pytest.mark.parametrize("when", ["before insert", "before update"])
async def test_what_is_wrong_with_one_message_is_no_matter_of_those_beside_it(world: World, when: str) -> None:
    made = await _many(world, 4)
    await world.rows(
        "create function outbound.refuse_one() returns trigger language plpgsql security definer as $$ begin"
        " if exists (select from outbound.message where id = new.message_id and dossier_id = 'D-1')"
        " then raise 'not this one'; end if; return new; end $$"
    )
    await world.rows(
        f"create trigger refuse_one {when} on outbound.attempt for each row execute function outbound.refuse_one()"
    )
    try:
        await world.work()
    finally:
        await world.rows("drop function outbound.refuse_one cascade")

    shown = [await world.show(each) for each in made]
    assert shown.pop(1)["status"] == ("QUEUED" if when == "before insert" else "SENDING")
    assert {each["status"] for each in shown} <= {"SENT", "DELIVERED"}
    assert set(world.providers.asked.values()) == {1}, "nobody is asked twice"
    done = await world.value(
        "select count(*) from ostinato_data.outcome o join ostinato_data.job j on j.id = o.job_id"
        " where j.kind = 'outbound.send' and o.outcome = 'done'"
    )
    assert done == 3
