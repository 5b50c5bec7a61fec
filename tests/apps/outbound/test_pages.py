"""What people see of messages on the console, and what they decide there."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx

from tests.apps.outbound.conftest import NOON, World, set_clock
from tests.apps.outbound.test_choices import MAIL, lost_mail
from tests.console.conftest import Visitor

CHOICE = re.compile(r'action="/console(/apps/outbound/do/[\w-]+)">(.*?)</form>', re.DOTALL)
FIELD = re.compile(r'name="(\w+)" value="([^"]*)"')


@asynccontextmanager
async def visitor(world: World, *roles: str, tenant: str = "acme") -> AsyncIterator[Visitor]:
    async with httpx.AsyncClient(base_url=world.url, trust_env=False, timeout=30) as http:
        entered = await http.post("/console/sign-in", data={"key": await world.key(tenant, *roles)})
        assert entered.status_code == 303, entered.text
        yield Visitor(http)


async def choose(someone: Visitor, verb: str) -> httpx.Response:
    """Press the button of a verb in the inbox."""
    found = dict(CHOICE.findall((await someone.get("/inbox")).text))
    path = f"/apps/outbound/do/{verb}"
    return await someone.http.post(f"/console{path}", data=dict(FIELD.findall(found[path])))


async def test_a_mail_in_doubt_is_confirmed_by_a_person_and_never_sent_again(world: World) -> None:
    made = await lost_mail(world)
    sent = len(world.providers.sent)

    async with visitor(world, "ops") as ops, visitor(world, "auditor", "reader") as auditor:
        asked = await ops.text("/inbox")
        looked = (await auditor.get("/inbox")).text
        done = await choose(ops, "confirm-sent")
        after = await ops.text("/inbox")
    await world.work(move_clock=True)

    assert f"Was this sent to {MAIL}?" in asked
    assert MAIL in looked
    assert CHOICE.findall(looked) == []
    assert done.status_code == 303
    assert "Nothing waits for a person." in after
    assert (await world.show(made))["status"] == "SENT"
    assert len(world.providers.sent) == sent
    noted = await world.rows("select actor from outbound.audit_event where action = 'NOTIFICATION_CONFIRMED'")
    assert noted == [("tester",)]


async def test_a_mail_in_doubt_is_sent_again_when_a_person_says_so(world: World) -> None:
    made = await lost_mail(world)

    async with visitor(world, "ops") as ops:
        await choose(ops, "retry")
        again = await ops.send("/apps/outbound/do/confirm-sent", id=made["id"])
    await world.work()

    assert again.status_code == 409  # it was decided
    assert (await world.show(made))["status"] in {"SENT", "DELIVERED"}


async def test_what_is_known_to_have_failed_is_confirmed_by_nobody(world: World) -> None:
    await world.consent("reject-511@example.test", channel="EMAIL")
    made = await world.message("reject-511@example.test", channel="EMAIL")
    await world.work()

    async with visitor(world, "ops") as ops:
        refused = await ops.send("/apps/outbound/do/confirm-sent", id=made["id"])

    assert refused.status_code == 409
    assert (await world.show(made))["status"] == "FAILED"


async def test_a_held_sender_is_released_from_the_inbox(world: World) -> None:
    await world.rows(
        "update outbound.sender set held_until = ostinato.now() + interval '1 day', hold_reason = 'LOCKED',"
        " hold_code = '131031' where channel = 'WHATSAPP'"
    )

    async with visitor(world, "ops") as ops, visitor(world, "ops", tenant="globex") as other:
        page = await ops.text("/inbox")
        elsewhere = await other.text("/inbox")
        strange = await other.send("/apps/outbound/do/release", sender="1", tenant="acme")
        await choose(ops, "release")

    assert "is held by its provider's refusal" in page
    assert "LOCKED" in page
    assert "Nothing waits for a person." in elsewhere
    assert strange.status_code == 404
    assert await world.rows("select held_until from outbound.sender where channel = 'WHATSAPP'") == [(None,)]


async def test_what_a_message_waits_for_is_said_in_the_readers_language_and_until_when(world: World) -> None:
    await set_clock(world.engine, NOON + timedelta(hours=10))
    await world.consent()
    made = await world.message()
    await world.work()

    async with visitor(world, "ops") as ops:
        ops.http.headers["accept-language"] = "fr"
        pages = [await ops.text(f"/apps/outbound{path}") for path in ("", "/messages", f"/message?id={made['id']}")]

    assert ["les heures d\u2019envoi" in page for page in pages] == [True] * 3
    assert re.search(r"pas avant\s+11\sjuin\s2026\s06:00:00", pages[2])


async def test_why_a_message_was_cancelled_is_said_in_the_readers_language(world: World) -> None:
    await set_clock(world.engine, NOON + timedelta(hours=10))
    await world.consent()
    made = await world.message()
    await world.consent(status="REVOKED")

    async with visitor(world, "ops") as ops:
        english = await ops.text("/apps/outbound/messages")
        ops.http.headers["accept-language"] = "fr"
        pages = [await ops.text(f"/apps/outbound{path}") for path in ("/messages", f"/message?id={made['id']}")]

    assert "CONSENT_REVOKED" in english
    assert ["accord retir\u00e9" in page for page in pages] == [True] * 2


async def test_messages_consents_templates_and_senders_have_pages_for_those_who_may_read_them(world: World) -> None:
    await world.consent()
    made = await world.message()
    await world.work()
    await world.settled()

    async with (
        visitor(world, "ops") as ops,
        visitor(world, "reader") as reader,
        visitor(world, "ops", tenant="globex") as other,
        visitor(world, "ops", "installation") as lea,
    ):
        paths = {
            "/apps/outbound/messages": "+33639980001",
            f"/apps/outbound/message?id={made['id']}": "attempt 1",
            "/apps/outbound/consents?subject=s-1": "J'accepte",
            "/apps/outbound/templates": "Bonjour {{name}}",
            "/apps/outbound/senders": "usable",
        }
        for path, text in paths.items():
            assert text in await ops.text(path), path
            assert (await reader.get(path)).status_code == 403, path
            assert "+33639980001" not in (await other.get(path)).text, path
            assert text in await lea.text(path + ("&" if "?" in path else "?") + "tenant=acme"), path
        assert (await other.get(f"/apps/outbound/message?id={made['id']}&tenant=acme")).status_code == 404
        for wrong in (
            "/apps/outbound/messages?status=x",
            "/apps/outbound/messages?before=x y",
            "/apps/outbound/message?id=x",
        ):
            assert 400 <= (await ops.get(wrong)).status_code < 500, wrong
