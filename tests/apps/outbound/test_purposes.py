"""What a message is for is what its template is for: nobody sends marketing as something else (rule 1.1)."""

from typing import Any

import pytest

from ostinato.apps.outbound import rules
from ostinato.apps.outbound.model import Category, Purpose
from tests.apps.outbound.conftest import World

TO = "+33639981234"
OFFER: dict[str, Any] = {"category": "MARKETING", "providerName": "offer", "body": "Une offre", "subject": "Une offre"}
LESS: dict[str, Any] = {"templateCode": "offer", "variables": {}, "purpose": "TRANSACTIONAL", "urgent": True}


async def opted_out(world: World) -> None:
    """Somebody allowed notices, and refused marketing."""
    await world.call("PUT", "/templates/offer/fr", json=OFFER)
    await world.consent(TO, purpose="TRANSACTIONAL")
    await world.consent(TO, purpose="MARKETING", status="REVOKED")


@pytest.mark.parametrize(
    ("categories", "asked", "purpose"),
    [
        ([], None, Purpose.TRANSACTIONAL),
        ([Category.UTILITY], None, Purpose.TRANSACTIONAL),
        ([Category.AUTHENTICATION], Purpose.TRANSACTIONAL, Purpose.TRANSACTIONAL),
        ([Category.UTILITY], Purpose.MARKETING, Purpose.MARKETING),
        ([Category.MARKETING], None, Purpose.MARKETING),
        ([Category.MARKETING], Purpose.MARKETING, Purpose.MARKETING),
        ([Category.MARKETING], Purpose.TRANSACTIONAL, None),
        ([Category.UTILITY, Category.MARKETING], Purpose.TRANSACTIONAL, None),
        ([Category.UTILITY, Category.MARKETING], None, Purpose.MARKETING),
    ],
)
def test_the_category_decides_and_a_caller_may_ask_for_more_never_for_less(
    categories: list[Category], asked: Purpose | None, purpose: Purpose | None
) -> None:
    assert rules.purpose_of(categories, asked) == purpose


async def test_a_marketing_template_is_never_sent_as_something_else(world: World) -> None:
    await opted_out(world)

    refused = await world.message(TO, status=422, **LESS)
    by_mail = await world.message("a@example.test", status=422, **LESS | {"channel": "EMAIL"})
    without = await world.message(TO, status=422, templateCode="offer", variables={})
    await world.work()

    assert (refused["code"], by_mail["code"]) == ("template_refused", "template_refused")
    assert "is MARKETING" in refused["detail"]
    assert without["values"]["reason"] == "CONSENT_REVOKED"
    assert world.providers.sent == []


async def test_a_marketing_template_is_not_for_when_the_window_is_closed_either(world: World) -> None:
    await opted_out(world)

    other: dict[str, Any] = {"templateCode": None, "variables": None, "text": "Bonjour"}
    other["fallbackTemplate"] = {"code": "offer"}
    refused = await world.message(TO, status=422, purpose="TRANSACTIONAL", **other)

    assert refused["code"] == "template_refused"


async def test_a_template_that_becomes_marketing_stops_what_waits_as_something_else(world: World) -> None:
    """Hours and public holidays are those of the purpose: it is cancelled, not put off."""
    await world.consent(TO)
    made = await world.message(TO)
    body = OFFER | {"body": "Bonjour {{name}}", "variables": [{"name": "name"}]}
    await world.call("PUT", "/templates/welcome/fr", json=body)

    await world.work()

    shown = await world.show(made)
    assert (shown["status"], shown["cancelReason"]) == ("CANCELLED", "CONSENT_OTHER_PURPOSE")
    assert world.providers.sent == []
    audit = await world.call("GET", "/audit", params={"messageId": made["id"], "action": "BLOCKED_BY_POLICY"})
    assert len(audit) == 1
