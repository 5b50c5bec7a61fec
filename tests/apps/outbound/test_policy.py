"""The decisions, without a database: rules 1.1, 4, 5 and 6 of docs/specs/outbound.md."""

import hashlib
import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from urllib.parse import urlencode
from uuid import UUID, uuid4

import pytest

from ostinato._core.base.errors import InvalidInput
from ostinato.apps.outbound import rules, tokens
from ostinato.apps.outbound.accept import components, texts
from ostinato.apps.outbound.accept.address import alike, normalised, to_email, to_number, to_sender
from ostinato.apps.outbound.checkup import troubles
from ostinato.apps.outbound.consent import suppressions
from ostinato.apps.outbound.consent.words import Asked, asked
from ostinato.apps.outbound.coop import rules as coop_rules
from ostinato.apps.outbound.errors import TemplateRefused
from ostinato.apps.outbound.http.consents import is_one_click
from ostinato.apps.outbound.model import (
    AttemptStatus,
    Category,
    Channel,
    Organisation,
    Purpose,
    Status,
    Template,
    Validation,
)
from ostinato.apps.outbound.policy import ERROR_CLASSES, Kind, Ruling
from ostinato.apps.outbound.providers import PROVIDERS, lines, ruling_of, twilio, whatsapp, whatsapp_lines
from ostinato.apps.outbound.providers.protocol import Posted
from ostinato.apps.outbound.providers.twilio import TWILIO
from ostinato.apps.outbound.providers.whatsapp import WHATSAPP
from ostinato.apps.outbound.providers.wire import safe, sanitised
from ostinato.apps.outbound.sandbox import Providers
from ostinato.apps.outbound.send import quiet
from ostinato.apps.outbound.settings import OutboundSettings

NOW = datetime(2026, 6, 10, 10, 0, tzinfo=UTC)
TO = "+33639980001"
PARIS = Organisation()

# what Meta documents of its codes, by what is done about them
EXPECTED = {
    Kind.HOLD: [
        *(0, 190, 3, 10, 200, 250, 299, 131005, 33, 368, 131031, 131037, 131042, 131045, 131048),
        *(133000, 133005, 133006, 133008, 133009, 133010, 133015, 133016),
    ],
    Kind.RETRY: [1, 2, 4, 80007, 130429, 131000, 131016, 131057, 132069, 133004, 987654],
    Kind.PERMANENT: [
        *(100, 130472, 130497, 131008, 131009, 131021, 131026, 131030, 131049, 131050, 131051),
        *(131052, 131053, 132000, 132001, 132005, 132007, 132012, 132016, 132068, 135000),
    ],
    Kind.CONVERT: [131047],
    Kind.PAIR: [131056],
    Kind.HOLD_TEMPLATE: [132015],
}


@pytest.mark.parametrize(("kind", "code"), [(k, c) for k, codes in EXPECTED.items() for c in codes])
def test_every_code_of_the_table_has_its_class(kind: Kind, code: int) -> None:
    assert ruling_of("whatsapp", str(code)).kind is kind


def test_the_table_lists_no_code_that_is_not_expected_here() -> None:
    known = {str(code) for codes in EXPECTED.values() for code in codes}
    known |= {str(code) for code in range(200, 300)}

    assert set(WHATSAPP.errors) <= known


def test_every_ruling_has_a_class_of_the_metrics() -> None:
    used = {ruling.error_class for each in PROVIDERS.values() for ruling in each.errors.values()}

    assert used <= set(ERROR_CLASSES)


@pytest.mark.parametrize(
    ("provider", "code", "kind"),
    [
        ("twilio", "20003", Kind.HOLD),
        ("twilio", "20429", Kind.RETRY),
        ("twilio", "21211", Kind.PERMANENT),
        ("twilio", "21610", Kind.PERMANENT),
        ("twilio", "30003", Kind.RETRY),
        ("twilio", "99999", Kind.RETRY),
        ("smtp", "451", Kind.RETRY),
        ("smtp", "4.2.2", Kind.RETRY),
        ("smtp", "5.2.2", Kind.RETRY),
        ("smtp", "550", Kind.PERMANENT),
        ("smtp", "5.1.1", Kind.PERMANENT),
        ("smtp", "5.7.1", Kind.PERMANENT),
        ("smtp", "535", Kind.HOLD),
        ("whatsapp", "HTTP_503", Kind.RETRY),
        ("whatsapp", "HTTP_400", Kind.PERMANENT),
        ("whatsapp", "HTTP_401", Kind.HOLD),
        ("whatsapp", "NETWORK", Kind.RETRY),
    ],
)
def test_other_providers_and_statuses_have_their_classes(provider: str, code: str, kind: Kind) -> None:
    assert ruling_of(provider, code).kind is kind


def test_a_code_that_nobody_knows_is_retried_and_told_about() -> None:
    found = ruling_of("whatsapp", "987654")

    assert (found.kind, found.alert, found.error_class) == (Kind.RETRY, True, "unknown")


class Still(Random):
    """Chance that moves nothing."""

    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


def test_the_delays_are_those_of_the_seed_with_five_attempts() -> None:
    """4.2: t0, +1 m, +6 m, +21 m, +1 h 21 m, then FAILED; 6 h only with six attempts."""
    plain = Ruling(Kind.RETRY, "upstream")
    still = Still()

    five = [rules.judge(plain, rules.Budget(used), still) for used in range(5)]
    sixth = rules.judge(plain, rules.Budget(4, most=6), still)

    delays = [each.seconds for each in five if isinstance(each, rules.Retry)]
    assert delays == [60, 300, 900, 3600]
    assert five[4] == rules.Fail(dead=True, reason="5 attempts used up")
    assert sixth == rules.Retry(21_600)


def test_delays_are_moved_by_a_tenth_and_a_longer_retry_after_wins() -> None:
    plain = Ruling(Kind.RETRY, "upstream")

    moved = [rules.judge(plain, rules.Budget(0), Random(seed)) for seed in range(50)]
    asked_for = rules.judge(plain, rules.Budget(0), Random(1), retry_after=500)

    seconds = [each.seconds for each in moved if isinstance(each, rules.Retry)]
    assert all(54 <= each <= 66 for each in seconds)
    assert len(set(seconds)) > 10
    assert asked_for == rules.Retry(500)


def test_a_hold_lasts_as_long_as_the_provider_asks_for() -> None:
    refused = Ruling(Kind.HOLD, "rate_limit", hold_seconds=900)

    held = [rules.judge(refused, rules.Budget(0), Random(1), retry_after=each) for each in (None, 60.0, 5000.0)]

    assert held == [rules.Hold(900), rules.Hold(900), rules.Hold(5000)]


def test_some_codes_are_tried_less_often() -> None:
    twice = ruling_of("whatsapp", "131000")

    first = rules.judge(twice, rules.Budget(0, 0), Random(1))
    second = rules.judge(twice, rules.Budget(1, 1), Random(1))

    assert isinstance(first, rules.Retry)
    assert isinstance(second, rules.Fail)
    assert second.dead


def test_a_hold_uses_up_no_attempt_however_many_there_were() -> None:
    assert isinstance(rules.judge(ruling_of("whatsapp", "190"), rules.Budget(4), Random(1)), rules.Hold)


def test_a_closed_window_is_a_template_or_the_end() -> None:
    closed = ruling_of("whatsapp", "131047")

    other = rules.judge(closed, rules.Budget(), Random(1), has_template=True)
    none = rules.judge(closed, rules.Budget(), Random(1))

    assert other == rules.Convert()
    assert none == rules.Fail(dead=False, reason="window closed")


def test_an_answer_needs_a_question_from_there_within_the_hour() -> None:
    asked_at = NOW - timedelta(minutes=59)

    assert rules.reply_allowed("STOP", TO, TO, asked_at, NOW)
    assert not rules.reply_allowed(None, TO, TO, asked_at, NOW)
    assert not rules.reply_allowed("STOP", "+33639980002", TO, asked_at, NOW)
    assert not rules.reply_allowed("STOP", TO, TO, NOW - timedelta(hours=1), NOW)


def test_what_is_kept_of_an_opt_out_names_nobody_and_one_organisation() -> None:
    settings = OutboundSettings(token_secret="s")

    def mac(tenant: str, channel: Channel = Channel.SMS, of: OutboundSettings = settings) -> bytes:
        return suppressions.mac(of, tenant, channel, TO)

    assert mac("a") == mac("a")
    others = (mac("b"), mac("a", Channel.WHATSAPP), mac("a", of=OutboundSettings()))
    assert len({mac("a"), *others}) == 4
    assert OutboundSettings(public_url="https://x.test/").public_url == "https://x.test"


def test_the_window_is_24_hours_less_a_margin() -> None:
    assert not rules.window_is_open(None, NOW)
    assert rules.window_is_open(NOW - timedelta(hours=23, minutes=54), NOW)
    assert not rules.window_is_open(NOW - timedelta(hours=23, minutes=55), NOW)


TRYING = rules.Attempted(AttemptStatus.TRYING)
TAKEN = rules.Attempted(AttemptStatus.SUCCESS)
FAILED = rules.Attempted(AttemptStatus.FAILED, "131016")
UNKNOWN = rules.Attempted(AttemptStatus.FAILED, "UNKNOWN_OUTCOME")


@pytest.mark.parametrize(
    ("status", "told", "attempt", "event"),
    [
        (Status.SENDING, "sent", TRYING, "accept"),
        (Status.QUEUED, "sent", UNKNOWN, "accept"),
        (Status.SENDING, "sent", UNKNOWN, "accept"),  # another one is on its way
        (Status.FAILED, "sent", UNKNOWN, "accept"),
        (Status.QUEUED, "sent", FAILED, None),  # late: it failed since, and is tried again
        (Status.FAILED, "sent", FAILED, None),
        (Status.SENT, "sent", TAKEN, None),
        (Status.DELIVERED, "sent", TAKEN, None),
        (Status.SENT, "sent", UNKNOWN, None),  # the one after it was taken
        (Status.DELIVERED, "sent", UNKNOWN, None),
        (Status.CANCELLED, "sent", TRYING, None),
        (Status.SENT, "delivered", TAKEN, "deliver"),
        (Status.SENDING, "delivered", TRYING, "deliver"),
        (Status.QUEUED, "delivered", FAILED, "deliver"),
        (Status.FAILED, "delivered", FAILED, "deliver"),
        (Status.SENT, "read", TAKEN, "deliver"),
        (Status.DELIVERED, "read", TAKEN, None),
        (Status.SENT, "failed", TAKEN, "judge"),
        (Status.SENDING, "failed", TRYING, "judge"),
        (Status.SENT, "failed", replace(TAKEN, alone=False), "note"),
        (Status.SENDING, "failed", replace(TAKEN, alone=False), "note"),
        (Status.SENT, "failed", UNKNOWN, None),  # what came after it was taken
        (Status.DELIVERED, "failed", TAKEN, None),
        (Status.FAILED, "failed", FAILED, None),
        (Status.CANCELLED, "delivered", FAILED, None),
    ],
)
def test_statuses_only_go_up(status: Status, told: lines.Reported, attempt: rules.Attempted, event: str | None) -> None:
    assert rules.callback_event(status, told, attempt) == event


def test_a_pair_without_a_token_waits_for_the_next() -> None:
    assert rules.pair_wait(0.0) == 6
    assert rules.pair_wait(0.5) == 3
    assert rules.pair_wait(7.0) == 0


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        *((word, Asked.STOP) for word in ("STOP", "stop", " Stop ! ", "Arrêt", "arrêter", "STOP.")),
        *(
            (word, Asked.STOP)
            for word in ("Désabonner", "désabonnez-moi", "Arrêtez !", "désinscription", "unsubscribe")
        ),
        *((word, Asked.STOP) for word in ("stop svp merci", "END", "quit", "Cancel", "revoke", "OptOut")),
        *((word, Asked.STOP_ALL) for word in ("STOPALL", "stop tout", "Stop, tout !")),
        *((word, Asked.START) for word in ("start", "UNSTOP", "Oui")),
        *((word, Asked.HELP) for word in ("aide", "HELP", "info")),
        *((word, None) for word in ("", "ne stop pas", "oui merci", "stopper", "bonjour", "👍")),
    ],
)
def test_stop_and_its_kin(text: str, wish: Asked | None) -> None:
    assert asked(text) is wish


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("now", "purpose", "opening"),
    [
        ("2026-06-10T10:00Z", Purpose.MARKETING, None),
        ("2026-06-10T18:30Z", Purpose.TRANSACTIONAL, None),  # 20:30 in Paris
        ("2026-06-10T18:30Z", Purpose.MARKETING, "2026-06-11T06:00Z"),
        ("2026-06-10T19:00Z", Purpose.TRANSACTIONAL, "2026-06-11T06:00Z"),  # 21:00
        ("2026-06-10T05:59Z", Purpose.TRANSACTIONAL, "2026-06-10T06:00Z"),
        ("2026-06-14T10:00Z", Purpose.MARKETING, "2026-06-15T06:00Z"),  # a Sunday
        ("2026-06-14T10:00Z", Purpose.TRANSACTIONAL, None),
        ("2026-05-14T10:00Z", Purpose.MARKETING, "2026-05-15T06:00Z"),  # Ascension
        ("2026-04-06T10:00Z", Purpose.MARKETING, "2026-04-07T06:00Z"),  # Easter Monday
        ("2026-03-28T20:30Z", Purpose.TRANSACTIONAL, "2026-03-29T06:00Z"),  # the clock moves
        ("2027-03-27T20:00Z", Purpose.MARKETING, "2027-03-30T06:00Z"),  # Easter, and the clock
    ],
)
def test_quiet_hours_put_off_to_the_next_opening(now: str, purpose: Purpose, opening: str | None) -> None:
    found = quiet.next_opening(at(now), purpose, PARIS)

    assert found == (None if opening is None else at(opening))


def test_urgent_is_not_put_off_unless_it_is_marketing() -> None:
    night = at("2026-06-10T23:00Z")

    assert quiet.next_opening(night, Purpose.TRANSACTIONAL, PARIS, urgent=True) is None
    assert quiet.next_opening(night, Purpose.MARKETING, PARIS, urgent=True) is not None


@pytest.mark.parametrize(
    "day",
    [
        *("2026-01-01", "2026-04-06", "2026-05-01", "2026-05-08", "2026-05-14", "2026-05-25"),
        *("2026-07-14", "2026-08-15", "2026-11-01", "2026-11-11", "2026-12-25", "2027-03-29"),
        *("2027-05-06", "2027-05-17", "2028-04-17", "2028-05-25", "2028-06-05"),
    ],
)
def test_public_holidays(day: str) -> None:
    assert quiet.is_holiday(date.fromisoformat(day), "FR")


def test_alsace_moselle_has_two_more() -> None:
    assert quiet.is_holiday(date(2026, 12, 26), "FR-57")
    assert not quiet.is_holiday(date(2026, 12, 26), "FR")


@pytest.mark.parametrize(
    ("raw", "region", "validation", "number"),
    [
        *(
            (raw, "FR", "possible", TO)
            for raw in (*("06 39 98 00 01", "0033639980001", "33639980001", "+330639980001"), "+33 (0)6 39 98 00 01")
        ),
        ("06 12 34 56 78;ext=5", "FR", "valid", "+33612345678"),
        ("0692 12 34 56", "RE", "valid", "+262692123456"),
    ],
)
def test_numbers_become_e164(raw: str, region: str, validation: Validation, number: str) -> None:
    assert to_number(raw, region, validation) == number


@pytest.mark.parametrize(
    ("raw", "validation"),
    [
        ("06 39 98 00 01", "valid"),
        ("0692 12 34 56", "valid"),
        ("0800123456", "possible"),
        ("01 99 00 12 34", "valid"),
        *((raw, "possible") for raw in ("15", "38200", "06399800", "abc", "", "+")),
    ],
)
def test_what_is_no_number_to_write_to_is_refused_without_being_repeated(raw: str, validation: Validation) -> None:
    with pytest.raises(InvalidInput) as refused:
        normalised(Channel.SMS, raw, validation=validation)

    assert not raw or len(raw) < 3 or raw not in str(refused.value)


@pytest.mark.parametrize(
    ("raw", "key"),
    [
        ("06 39 98 00 99", "+33639980099"),
        ("01 99 00 12 34", "+33199001234"),
        ("09 72 00 00 00", "+33972000000"),
        ("38200", "38200"),
        ("ATLAS", "ATLAS"),
        ("MG" + "0" * 32, "MG" + "0" * 32),
    ],
)
def test_an_sms_is_sent_from_a_number_a_short_one_a_name_or_a_service(raw: str, key: str) -> None:
    assert to_sender(Channel.SMS, raw, "FR") == key
    for wrong in ("", "12", "A name that is long", "+33"):
        with pytest.raises(InvalidInput, match="nothing that an SMS"):
            to_sender(Channel.SMS, wrong, "FR")


def test_recipients_are_compared_whatever_their_spelling() -> None:
    assert alike(Channel.SMS, "06 39 98 00 01", "FR") == alike(Channel.WHATSAPP, TO, "FR")
    assert alike(Channel.EMAIL, " a@B.org ", "FR") == "a@b.org"
    assert alike(Channel.SMS, "abc", "FR") == "abc"


def test_mail_addresses_keep_their_name_and_lose_the_case_of_their_host() -> None:
    assert to_email(" Ana.Roy+x@Example.ORG ") == "Ana.Roy+x@example.org"
    for wrong in ("a@b", "a b@c.org", "a@@c.org", "a@c..org", f"{'a' * 65}@c.org", "a@c.org\nBcc: x"):
        with pytest.raises(InvalidInput):
            to_email(wrong)


TEMPLATE = Template(
    "t",
    "fr",
    Category.UTILITY,
    "t",
    "Bonjour {{ name }}, {{amount}}",
    None,
    ({"name": "name", "max_length": 10}, {"name": "amount", "required": False}),
)


def test_variables_are_checked_and_filled_in_in_their_order() -> None:
    values = texts.parameters(TEMPLATE, {"amount": "1 250,00 EUR", "name": "Camille"})

    assert values == (("name", "Camille"), ("amount", "1 250,00 EUR"))
    assert texts.filled_in(TEMPLATE.body, values) == "Bonjour Camille, 1 250,00 EUR"
    assert texts.parameters(TEMPLATE, {"name": "A"})[1] == ("amount", "-")


@pytest.mark.parametrize(
    "given", [{}, {"name": "a\nb"}, {"name": "a     b"}, {"name": "a" * 11}, {"name": "a", "x": 1}]
)
def test_variables_that_a_provider_would_refuse_are_refused_here(given: dict[str, str]) -> None:
    with pytest.raises(TemplateRefused):
        texts.parameters(TEMPLATE, given)


def test_a_template_uses_what_it_declares() -> None:
    texts.check_declared("a {{b}}", None, [{"name": "b"}])
    for body, names in (("a {{b}}", []), ("a", ["b"]), ("{{b}}", ["b", "b"])):
        with pytest.raises(TemplateRefused):
            texts.check_declared(body, None, [{"name": name} for name in names])


def test_a_refused_address_names_its_field_and_what_to_write() -> None:
    for channel, raw, field in (
        (Channel.EMAIL, "zoé@exemple.fr", "replyTo"),
        (Channel.EMAIL, "zoe@société.fr", "address"),
        (Channel.SMS, "01 23 45 67 89", "address"),
    ):
        with pytest.raises(InvalidInput) as refused:
            normalised(channel, raw, field=field)

        assert (refused.value.values, refused.value.message.partition(" ")[0]) == ({"field": field}, field)
        assert raw not in refused.value.message
        assert ("accents" in (refused.value.hint or "")) == (channel is Channel.EMAIL)


@pytest.mark.parametrize("place", ["{{Nom}}", "{{prénom}}", "{{1}}", "{{ first name }}", "{{}}"])
def test_what_only_looks_like_a_variable_is_refused(place: str) -> None:
    """Nothing would be put in its place: every customer would read "Bonjour {{prénom}}"."""
    for parts in ((f"Bonjour {place}", None, None), ("Bonjour", place, None), ("Bonjour", None, f"<p>{place}</p>")):
        with pytest.raises(TemplateRefused) as refused:
            texts.check_declared(parts[0], parts[1], [], markup=parts[2])

        assert refused.value.values["odd"] == [place]
    texts.check_declared("Un { seul } et { {a} }", None, [], markup="<style>@media print{p{color:red}}</style>")


DOCUMENT = replace(
    TEMPLATE,
    body="Bonjour {{name}}, {{amount}}",
    variables=({"name": "file", "kind": "media"}, *TEMPLATE.variables, {"name": "plan"}, {"name": "code"}),
    components=(
        {"type": "button", "sub_type": "copy_code", "index": 1, "variable": "code"},
        {"type": "button", "sub_type": "url", "index": 0, "variable": "plan"},
        {"type": "header", "format": "DOCUMENT", "variable": "file"},
    ),
)
LINK = {"link": "https://files.example.test/a.pdf", "filename": "appel.pdf"}


@pytest.mark.parametrize("named", [True, False])
def test_a_template_has_a_header_and_buttons_as_its_documents_say(named: bool) -> None:  # noqa: FBT001 - which
    """3.3, with parameters by name and by position."""
    template = replace(DOCUMENT, parameter_format="NAMED" if named else "POSITIONAL")
    given = {"name": "Camille", "amount": "1 250,00 EUR", "plan": "p-12", "code": "X", "file": LINK}
    values = texts.parameters(template, given)

    made = components.of(template, values, texts.used_in(template.body))

    def text(name: str, value: str) -> dict[str, str]:
        return {"type": "text", **({"parameter_name": name} if named else {}), "text": value}

    assert made == [
        {"type": "header", "parameters": [{"type": "document", "document": LINK}]},
        {"type": "body", "parameters": [text("name", "Camille"), text("amount", "1 250,00 EUR")]},
        {"type": "button", "sub_type": "url", "index": "0", "parameters": [{"type": "text", "text": "p-12"}]},
        {
            "type": "button",
            "sub_type": "copy_code",
            "index": "1",
            "parameters": [{"type": "coupon_code", "coupon_code": "X"}],
        },
    ]


@pytest.mark.parametrize(
    "value",
    [
        *("a.pdf", {}, {"link": 1}, {"link": "http://x.test/a"}, {"link": "https://localhost/a"}),
        *({"link": "https://10.0.0.1/a"}, {**LINK, "x": 1}, {**LINK, "filename": "a\nb"}),
    ],
)
def test_media_is_a_link_that_the_provider_can_follow(value: object) -> None:
    assert components.media_fault(LINK) is None
    assert components.media_fault(value) is not None


@pytest.mark.parametrize(
    ("variables", "parts"),
    [
        ([{"name": "a", "kind": "media"}], []),
        ([{"name": "a"}], [{"type": "header", "format": "IMAGE", "variable": "a"}]),
        ([{"name": "a", "kind": "media", "required": False}], [{"type": "header", "format": "IMAGE", "variable": "a"}]),
        ([{"name": "a"}], [{"type": "header", "format": "TEXT", "variable": "a"}] * 2),
        ([{"name": "a"}], [{"type": "button", "index": 0, "variable": "a"}] * 2),
        ([], [{"type": "button", "index": 0, "variable": "a"}]),
    ],
)
def test_parts_that_no_template_can_have_are_refused(
    variables: list[dict[str, object]], parts: list[dict[str, object]]
) -> None:
    with pytest.raises(TemplateRefused):
        texts.check_declared("Bonjour", None, variables, parts)


def test_an_sms_has_parts_by_its_letters() -> None:
    assert texts.segments("é" * 160) == 1
    assert texts.segments("é" * 161) == 2
    assert texts.segments("ê" * 70) == 1
    assert texts.segments("ê" * 71) == 2
    assert texts.segments("€" * 81) == 2


def test_signatures_of_meta_are_over_the_bytes() -> None:
    secret = "app-secret-example"
    empty = b'{"object":"whatsapp_business_account","entry":[]}'
    accents = rb'{"t":"\u00e9t\u00e9"}'

    assert whatsapp.signature(secret, empty) == (
        "sha256=6c957c4f986b25135337b7da0baf9a0341f32c395dec049e0fe15c294df2842b"
    )
    assert whatsapp.signature(secret, accents) == (
        "sha256=e9cb7079c9296e389ea089a6b31a11336681c8b39320684bdc3cd2ed43951252"
    )
    ours, none = OutboundSettings(whatsapp_app_secret=secret), OutboundSettings()
    sign = whatsapp.signature(secret, accents)
    assert whatsapp.is_signed(Posted("", accents, sign), ours)
    assert not whatsapp.is_signed(Posted("", '{"t":"été"}'.encode(), sign), ours)
    assert not whatsapp.is_signed(Posted("", b"", whatsapp.signature("", b"")), none)
    assert not whatsapp.is_signed(Posted("", empty), ours)


def test_signatures_of_twilio_are_over_address_and_parameters() -> None:
    first = {
        "CallSid": "CA1234567890ABCDE",
        "Caller": "+14158675309",
        "Digits": "1234",
        "From": "+14158675309",
        "To": "+18005551212",
    }
    second = {
        "AccountSid": "AC" + "0" * 32,
        "ApiVersion": "2010-04-01",
        "From": "+33639980099",
        "MessageSid": "SM" + "0" * 32,
        "MessageStatus": "delivered",
        "To": TO,
    }

    assert (
        twilio.signature("12345", "https://mycompany.com/myapp.php?foo=1&bar=2", first.items())
        == "RSOYDt4T1cUTdK1PDd93/VVr8B8="
    )
    assert (
        twilio.signature("12345", "https://example.test/api/v1/webhooks/twilio/status?org=7", second.items())
        == "3ylIr8VbBoajPT12tCLkZ+BgMxk="
    )


def test_a_body_of_twilio_that_is_no_form_is_signed_by_its_hash() -> None:
    body = b'{"a": 1}'
    url = f"https://x.test/hook?bodySHA256={hashlib.sha256(body).hexdigest()}"
    header = twilio.signature("12345", url, ())

    ours = OutboundSettings(twilio_auth_token="12345")
    assert twilio.is_signed(Posted(url, body, header), ours)
    assert not twilio.is_signed(Posted(url, b'{"a": 2}', header), ours)
    assert not twilio.is_signed(Posted(url, body), ours)
    assert not twilio.is_signed(Posted(url, body, header), OutboundSettings())
    bare = "https://x.test/hook"
    again = twilio.signature("12345", bare, ())
    assert not twilio.is_signed(Posted(bare, body, again), ours)


def test_tokens_name_one_thing_and_are_made_by_nobody_else() -> None:
    some = uuid4()
    token, back = tokens.unsubscribe_token("s", some), tokens.bounce_token("s", some)

    assert tokens.read_unsubscribe_token("s", token) == some
    assert tokens.read_bounce_token("s", back) == some
    for wrong in ("", "x", token[:-2] + ("QQ" if token.endswith("A") else "AA"), "é", "=" * 8):
        assert tokens.read_unsubscribe_token("s", wrong) is None
        assert tokens.read_bounce_token("s", wrong) is None
    assert tokens.read_unsubscribe_token("other", token) is None
    assert tokens.read_unsubscribe_token("", tokens.unsubscribe_token("", some)) is None


def test_the_key_of_the_seed_and_the_recipient_in_it() -> None:
    """6.2: the vector of the five parts; with a recipient every member has a key of his own."""
    parts = ("org-7", "EVT_COOP_PAYMENT_REMINDER", "COOP_CONTRIBUTION", "c-1001", "J-3:2026-06-15:v2")

    assert rules.composed_key(*parts) == ("49302d15f767ad0be01b037bc4809dc34ed98c6676541c07ebb86fa99fb8e1b7")
    keys = {rules.composed_key(*parts, Channel.WHATSAPP, f"m-{n}") for n in range(40)}
    assert len(keys) == 40


def test_amounts_and_dates_as_french_readers_know_them() -> None:
    assert coop_rules.amount_text(Decimal(1250), "EUR") == "1\u202f250,00 EUR"
    assert coop_rules.date_text(date(2026, 6, 15)) == "15/06/2026"


@pytest.mark.parametrize("language", ["en", "en_GB"])
def test_amounts_and_dates_as_english_readers_know_them(language: str) -> None:
    assert coop_rules.amount_text(Decimal("1250.5"), "EUR", language) == "EUR\u00a01,250.50"
    assert coop_rules.date_text(date(2026, 6, 5), language) == "5 Jun 2026"


def test_what_is_stored_of_an_answer_has_no_recipient_and_no_text() -> None:
    told = safe({"to": TO, "messages": [{"id": "wamid.1", "wa_id": "33639980001"}], "body": "x"})

    assert told == {"to": "***", "messages": [{"id": "wamid.1", "wa_id": "***"}], "body": "***"}
    assert TO not in sanitised(f"cannot reach {TO} or ana.roy@example.org")


@pytest.mark.parametrize(
    "number", ["33639980001", "06 39 98 00 01", "06.39.98.00.01", "0033639980001", "(336) 399-80001"]
)
def test_numbers_are_masked_however_they_are_written(number: str) -> None:
    told = sanitised(f"(#131030) {number} not in allowed list, code 131030")

    assert number not in told
    assert "131030" in told
    assert number not in str(safe({"error": {"message": f"no {number}", "details": [number]}}))


def test_callbacks_that_cannot_be_read_are_counted_not_raised() -> None:
    for body in (b"", b"[]", b"{", b'{"entry":[1,{"changes":[2]}]}', b"\xff", b'{"entry":1}'):
        assert whatsapp_lines.read(body) == ([], 0)
    for value in (b'{"statuses":1}', b'{"metadata":[],"messages":[{}]}', b"1"):
        whole = b'{"entry":[{"id":[],"changes":[{"value":' + value + b"}]}]}"
        assert whatsapp_lines.read(whole) == ([], 1)
    statuses = b'[{}, {"id":"x","status":"sent","timestamp":"no"}]'
    odd = b'{"entry":[{"changes":[{"value":{"statuses":' + statuses + b"}}]}]}"
    assert whatsapp_lines.read(odd) == ([], 2)
    assert TWILIO.read(Posted("/x", b"\xff=1"), OutboundSettings()) == ([], 1)


@pytest.mark.parametrize(("fields", "is_read"), [(twilio.MOST_FIELDS, True), (twilio.MOST_FIELDS + 1, False)])
def test_a_form_with_more_fields_than_twilio_sends_is_not_taken_apart(fields: int, is_read: bool) -> None:  # noqa: FBT001 - a parameter
    """Nobody has signed it yet: a megabyte of them would hold up everybody for a second."""
    form = {f"f{number}": "1" for number in range(fields)}
    posted = Posted("/x", urlencode(form).encode(), twilio.signature("12345", "/x", form.items()))

    assert twilio.is_signed(posted, OutboundSettings(twilio_auth_token="12345")) is is_read


def test_the_sandbox_never_gives_an_id_twice_in_another_life_neither() -> None:
    first, second = Providers(), Providers()

    ids = [first.take("twilio", "SM", TO, None, {}).id for _ in range(5002)]
    ids += [second.take("twilio", "SM", TO, None, {}).id for _ in range(3)]

    assert len(set(ids)) == 5005
    assert {len(each) for each in ids} == {34}


def test_doctor_names_what_is_missing_beside_what_is_set() -> None:
    whole = OutboundSettings(
        whatsapp_token="t",
        whatsapp_app_secret="s",
        smtp_host="mail.example.test",
        token_secret="s",
        bounce_secret="s",
        public_url="https://outbound.example.test",
    )
    missing = OutboundSettings(whatsapp_token="t", smtp_host="mail.example.test")

    assert troubles(OutboundSettings()) == troubles(whole) == []
    named = [each.hint.removeprefix("Set OSTINATO_OUTBOUND_") for each in troubles(missing)]
    assert named == [*("WHATSAPP_APP_SECRET.", "TOKEN_SECRET.", "BOUNCE_SECRET."), "PUBLIC_URL."]


@pytest.mark.parametrize(
    "given",
    [
        {"type": "text", "text": {"body": "STOP"}},
        {"type": "button", "button": {"text": "STOP", "payload": "x"}},
        {"type": "interactive", "interactive": {"button_reply": {"id": "x", "title": "STOP"}}},
    ],
)
def test_stop_is_read_however_it_is_pressed(given: dict[str, object]) -> None:
    item = {"from": "33639980001", "id": "wamid.1", "timestamp": "1781086000", **given}
    change = {"value": {"metadata": {"phone_number_id": "1"}, "messages": [item]}}
    body = json.dumps({"entry": [{"id": "W", "changes": [change]}]}).encode()

    ((line,), odd) = whatsapp_lines.read(body)

    assert isinstance(line, lines.InboundLine)
    assert (line.text, line.from_address, line.provider_keys, odd) == ("STOP", TO, ("1",), 0)


def test_our_own_reference_is_read_strictly() -> None:
    some = UUID(int=7)
    assert lines.read_opaque(f"ob:{some}:a2") == (some, 2)
    for wrong in (None, "", f"ob:{some}", f"ob:{some}:a2x", f"x{some}:a2"):
        assert lines.read_opaque(wrong) == (None, None)


def test_one_click_comes_as_a_form_of_either_kind() -> None:
    multipart = b'--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n'

    assert is_one_click(b"List-Unsubscribe=One-Click", "application/x-www-form-urlencoded")
    assert is_one_click(multipart, "multipart/form-data; boundary=x")
    assert not is_one_click(b"", "")
    assert not is_one_click(b"List-Unsubscribe=no", "application/x-www-form-urlencoded")


@pytest.mark.parametrize(
    ("provider", "body", "may"),
    [
        (
            "whatsapp",
            b'{"entry": [{"changes": [{"field": "messages", "value": {"messages": [{"from": "33"}]}}]}]}',
            True,
        ),
        ("whatsapp", b'{"entry": [{"changes": [{"value": {"user_preferences": [{"value": "stop"}]}}]}]}', True),
        ("whatsapp", b'{"entry": [{"changes": [{"field": "messages", "value": {"statuses": [{"id": "a"}]}}]}]}', False),
        ("twilio", b"MessageSid=SM1&From=%2B33&Body=STOP", True),
        ("twilio", b"MessageSid=SM1&MessageStatus=delivered&To=%2B33", False),
        ("smtp", b"To: Unsubscribe+abc@example.test\r\n\r\n", True),
        ("smtp", b"Content-Type: multipart/report; report-type=delivery-status\r\n\r\n<mailto:unsubscribe+a@b>", False),
        ("smtp", b' {"RecordType": "Bounce", "Content": "unsubscribe+a@b"}', False),
        ("smtp", b"To: bounce+abc@example.test\r\n\r\n", False),
    ],
)
def test_a_look_at_its_bytes_says_whether_people_may_have_written(provider: str, body: bytes, may: bool) -> None:  # noqa: FBT001 - what is expected
    assert PROVIDERS[provider].may_have_words(body) is may
