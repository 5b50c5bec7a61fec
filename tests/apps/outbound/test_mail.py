"""What a mail looks like and carries, and what services report of it in forms of their own."""

import asyncio
import base64
import email
import email.policy
import hashlib
import hmac
import json
import re
import ssl
from contextlib import suppress
from datetime import UTC, datetime
from email.header import decode_header, make_header
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from ostinato.apps.outbound.model import Channel, Content, Sender
from ostinato.apps.outbound.providers import mime, reports
from ostinato.apps.outbound.providers.lines import ComplaintLine, StatusLine
from ostinato.apps.outbound.providers.protocol import Lost, NotSent, Posted
from ostinato.apps.outbound.providers.wire import Wire, pooled
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.tokens import bounce_token, mailbox_token, read_mailbox_token
from ostinato.errors import BodyTooLarge, SettingsError
from tests.apps.outbound.conftest import World
from tests.servers import answering, certificate, listening

TO = "ana@example.test"
HOOK = "/api/v1/webhooks/email/bounces"
SECRET = "sandbox-bounce-secret"
FORM = "application/x-www-form-urlencoded"
OFFER: dict[str, Any] = {
    "category": "MARKETING",
    "providerName": "offer",
    "subject": "Pour {{name}}",
    "body": "Bonjour {{name}}, {{unsubscribe_url}}",
    "html": '<p>Bonjour {{name}}</p><a href="{{unsubscribe_url}}">Se d\u00e9sabonner</a>',
    "variables": [{"name": "name"}],
}


async def offered(world: World, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - as the API takes it
    await world.call("PUT", "/templates/offer/fr", json=OFFER)
    mail: dict[str, Any] = {"channel": "EMAIL", "templateCode": "offer"}
    await world.consent(TO, channel="EMAIL", purpose="MARKETING")
    made = await world.message(TO, **mail, **more)
    await world.work()
    return made


def parsed(world: World) -> email.message.EmailMessage:
    found = email.message_from_string(world.providers.sent[-1].document["text"], policy=email.policy.default)
    assert isinstance(found, email.message.EmailMessage)
    return found


async def test_a_mail_has_two_twins_a_visible_way_out_and_an_address_for_answers(world: World) -> None:
    senders = await world.call("GET", "/senders")
    (sender,) = [each for each in senders if each["channel"] == "EMAIL"]
    named = {name: sender[name] for name in ("channel", "providerKey", "display")}
    await world.call("PUT", "/senders", json=named | {"replyTo": "answers@example.test"})
    made = await offered(world, variables={"name": "<b>Ana</b>"})

    mail = parsed(world)
    text, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert text is not None
    assert html is not None
    (link,) = re.findall(r"http\S+/unsubscribe/[\w-]+\?l=fr", text.get_content())
    assert "Bonjour <b>Ana</b>" in text.get_content()
    assert "Bonjour &lt;b&gt;Ana&lt;/b&gt;" in html.get_content()
    assert f'href="{link}"' in html.get_content()
    assert mail["Reply-To"] == "answers@example.test"
    assert str(mail["X-Ostinato-Message"]) == made["id"]
    https, mailto = str(mail["List-Unsubscribe"]).split(", ")
    assert https == f"<{link}>"
    assert re.fullmatch(r"<mailto:unsubscribe\+[a-z2-7]{39}@example\.test\?subject=unsubscribe>", mailto)
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


@pytest.mark.parametrize(("channel", "to"), [("EMAIL", TO), ("SMS", "+33639981234")])
async def test_a_text_without_a_template_has_the_way_out_in_its_place(world: World, channel: str, to: str) -> None:
    """{{name}} stays: a free text has no other variable."""
    await world.consent(to, channel=channel, purpose="MARKETING")
    text = "Bonjour {{name}}, {{ unsubscribe_url }}."
    free: dict[str, Any] = {"text": text, "templateCode": None, "variables": None, "purpose": "MARKETING"}
    await world.message(to, channel=channel, subject="Offre", **free)

    await world.work()

    body = parsed(world).get_content() if channel == "EMAIL" else world.providers.sent[-1].document["Body"]
    (link,) = re.findall(r"^Bonjour {{name}}, (http\S+/unsubscribe/[\w-]+\?l=fr)\.$", body.strip())
    answer = await world.http.post(link, headers={"content-type": FORM}, content="List-Unsubscribe=One-Click")
    assert answer.status_code == 200
    (consent,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})
    assert consent["status"] == "REVOKED"


async def test_a_text_for_whatsapp_has_no_link_to_unsubscribe(world: World) -> None:
    await world.consent("+33639981234")

    free: dict[str, Any] = {"text": "{{unsubscribe_url}}", "templateCode": None, "variables": None}
    refused = await world.message("+33639981234", status=422, **free)

    assert "unsubscribe_url" in refused["detail"]


LONG_SUBJECT = (
    "Échéance du prêt coopératif : 3ᵉ appel de fonds, pénalités évitées jusqu'au 31 août — référence du plan"
    " nº 2026-07, version 3, à régler avant l'échéance"
)
LONG_NAME = "Coopérative d'habitat « Les Érables », Montréal-sous-Forêt et environs de la Haute-Bièvre"


def written(content: Content) -> list[bytes]:
    at = datetime(2026, 6, 10, 10, 0, tzinfo=UTC)
    mail = mime.composed(content, OutboundSettings(mail_domain="example.test"), at)
    return mail.as_bytes(policy=mime.POLICY).split(b"\r\n")


def letter(**more: Any) -> Content:  # noqa: ANN401 - what a mail is made of
    sender = Sender(1, Channel.EMAIL, "smtp", "acme@example.test", more.pop("display", "Atlas"))
    given: dict[str, Any] = {"to": TO, "sender": sender, "text": "Bonjour", "subject": "Bonjour"} | more
    return Content(UUID(int=7), "acme", 1, **given)


def test_long_headers_in_french_are_words_that_every_reader_knows() -> None:
    """An encoded word has 75 characters at the most (RFC 2047), and no blank between two is lost."""
    lines = written(letter(subject=LONG_SUBJECT, display=LONG_NAME))

    head = email.message_from_bytes(b"\r\n".join(lines))
    read = {name: str(make_header(decode_header(head[name]))) for name in ("Subject", "From")}
    assert read == {"Subject": LONG_SUBJECT, "From": f"{LONG_NAME} <acme@example.test>"}
    words = [word for line in lines for word in re.findall(rb"=\?\S+\?=", line)]
    assert len(words) > 4
    assert max(map(len, words)) <= 75


def test_a_text_goes_in_ascii_and_short_lines_the_same_at_each_attempt() -> None:
    """Servers without 8BITMIME would have to change it, and with it what DKIM has signed."""
    content = letter(text="Échéance " * 300, html=f"<p>{'é' * 500}</p>")

    lines = written(content)

    assert lines == written(content)
    assert b"".join(lines).isascii()
    assert max(len(line) for line in lines if not line.startswith(b"Content-Type")) <= 78
    body = email.message_from_bytes(b"\r\n".join(lines), policy=email.policy.default).get_body(("plain",))
    assert body is not None
    assert body.get_content().split() == ["Échéance"] * 300


@pytest.mark.parametrize("end", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_a_name_or_a_subject_adds_no_header(end: str) -> None:
    for text in (f"Atlas{end}Bcc: all@example.test", f"Été{end}Bcc: all@example.test"):
        lines = written(letter(subject=text, display=text))

        assert not [line for line in lines if line.startswith(b"Bcc")]


async def test_a_mail_that_is_no_marketing_has_no_way_out_of_a_list(world: World) -> None:
    """A button of the mail reader that ends what a person must be told would do harm."""
    await world.consent(TO, channel="EMAIL")
    await world.message(TO, channel="EMAIL")
    await world.work()

    assert parsed(world)["Subject"] == "Bonjour Camille"
    assert not [name for name in parsed(world) if name.startswith("List-")]


async def test_who_writes_to_the_address_of_the_header_gets_no_more(world: World) -> None:
    await offered(world)
    (to,) = re.findall(r"mailto:([^?]+)", str(parsed(world)["List-Unsubscribe"]))
    wrong = to.replace("+", "+a", 1)[: len(to)]

    for address in (wrong, to):
        body = f"From: Ana <{TO}>\r\nTo: {address}\r\nSubject: unsubscribe\r\n\r\n"
        (before,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})
        answer = await world.http.post(HOOK, content=body, headers={"x-bounce-secret": SECRET})
        assert (answer.status_code, before["status"]) == (200, "GRANTED")

    (after,) = await world.call("GET", "/consents", params={"subjectId": "s-1"})
    assert (after["status"], after["events"][-1]["proof"]) == ("REVOKED", {"list_unsubscribe": "mailto"})


def test_the_token_of_an_address_is_made_by_nobody_else() -> None:
    consent = uuid4()
    token = mailbox_token("secret", consent)

    assert read_mailbox_token("secret", token) == consent
    assert read_mailbox_token("other", token) is None
    assert read_mailbox_token("secret", bounce_token("secret", consent)) is None
    assert read_mailbox_token("", mailbox_token("", consent)) is None


async def test_a_link_to_unsubscribe_is_for_mail_and_sms_and_nobody_gives_it(world: World) -> None:
    await world.call("PUT", "/templates/offer/fr", json=OFFER)
    await world.consent("+33639981234", purpose="MARKETING")

    by_whatsapp = await world.message("+33639981234", status=422, templateCode="offer")
    declared = OFFER | {"variables": [{"name": "name"}, {"name": "unsubscribe_url"}]}
    refused = await world.call("PUT", "/templates/offer/fr", status=422, json=declared)

    assert "unsubscribe_url" in by_whatsapp["detail"]
    assert "unsubscribe_url" in refused["detail"]


MESSAGE = UUID("0190f7c2-8f52-7cc0-8a11-4e5d3a1b0001")
SES_MAIL = {"messageId": "ses-1", "headers": [{"name": "X-Ostinato-Message", "value": str(MESSAGE)}]}
BOUNCED = [{"emailAddress": TO, "status": "5.1.1", "diagnosticCode": f"550 <{TO}> unknown"}]
SES = {
    "notificationType": "Bounce",
    "mail": SES_MAIL,
    "bounce": {"bounceType": "Permanent", "bouncedRecipients": BOUNCED},
}
MAILGUN = {"message": {"headers": {"message-id": f"{MESSAGE}@example.test"}}, "id": "m-1"}
POSTMARK = {"MessageID": "p-1", "Metadata": {"ostinato": str(MESSAGE)}}


@pytest.mark.parametrize(
    ("document", "told", "code"),
    [
        (SES, "failed", "5.1.1"),
        ({"Type": "Notification", "Message": json.dumps(SES)}, "failed", "5.1.1"),
        ({"eventType": "Bounce", "mail": SES_MAIL, "bounce": {"bounceType": "Transient"}}, "failed", "4.0.0"),
        ({"eventType": "Delivery", "mail": SES_MAIL}, "delivered", ""),
        ({"notificationType": "Complaint", "mail": SES_MAIL}, "complaint", ""),
        (POSTMARK | {"RecordType": "Bounce", "Type": "HardBounce", "Details": f"no {TO}"}, "failed", "5.0.0"),
        (POSTMARK | {"RecordType": "Bounce", "Type": "SoftBounce"}, "failed", "4.0.0"),
        (POSTMARK | {"RecordType": "Delivery"}, "delivered", ""),
        (POSTMARK | {"RecordType": "SpamComplaint"}, "complaint", ""),
        (POSTMARK | {"RecordType": "Bounce", "Type": "Unsubscribe"}, "complaint", ""),
        (
            {
                "event-data": MAILGUN
                | {"event": "failed", "severity": "permanent", "delivery-status": {"enhanced-code": "5.2.1"}}
            },
            "failed",
            "5.2.1",
        ),
        ({"event-data": MAILGUN | {"event": "delivered"}}, "delivered", ""),
        ({"event-data": MAILGUN | {"event": "complained"}}, "complaint", ""),
    ],
)
def test_services_report_in_their_own_forms(document: dict[str, Any], told: str, code: str) -> None:
    posted = Posted("", json.dumps(document).encode(), received_at=datetime(2026, 6, 1, tzinfo=UTC))

    ((line,), odd) = reports.read(posted, OutboundSettings(token_secret="secret"))

    assert odd == 0
    if isinstance(line, ComplaintLine):
        assert (line.message_id, told) == (MESSAGE, "complaint")
        return
    assert isinstance(line, StatusLine)
    assert (line.message_id, line.reported, line.error_code) == (MESSAGE, told, code)
    assert TO not in line.error_message


@pytest.mark.parametrize(
    "bounce",
    [
        *(None, 7, [], "?", {}),
        {"bouncedRecipients": None},
        {"bouncedRecipients": []},
        {"bouncedRecipients": {}},
        {"bouncedRecipients": 7},
        {"bouncedRecipients": "?"},
        {"bouncedRecipients": [None, [], {}]},
        {"bounceType": {}, "bouncedRecipients": [{"status": ["5.1.1"], "diagnosticCode": {"\ud800": 1}}]},
        {"bounceType": "Permanent", "bouncedRecipients": [{"status": 511, "diagnosticCode": ["x"] * 99}]},
    ],
)
def test_an_odd_bounce_of_a_service_is_a_bounce_all_the_same(bounce: object) -> None:
    for mail in (SES_MAIL, SES_MAIL | {"messageId": None}, SES_MAIL | {"messageId": ["?"], "source": {}}):
        document = {"notificationType": "Bounce", "mail": mail, "bounce": bounce}
        for posted in (document, {"Type": "Notification", "Message": document}):
            ((line,), odd) = reports.read(Posted("", json.dumps(posted).encode()), OutboundSettings())

            assert isinstance(line, StatusLine)
            assert (line.message_id, line.reported, line.error_code[0], odd) == (MESSAGE, "failed", "5", 0)


@pytest.mark.parametrize(
    "document", [SES | {"mail": {}}, POSTMARK | {"RecordType": "Delivery", "MessageID": None}, {"event-data": {}}]
)
def test_reports_without_an_id_are_told_apart(document: dict[str, Any]) -> None:
    """What has the name of another is taken for it again, and changes nothing."""
    if "event-data" in document:
        document = {"event-data": MAILGUN | {"id": None, "event": "delivered"}}
    named = set()
    for extra in ("one", "two", "one"):
        ((line,), _) = reports.read(Posted("", json.dumps(document | {"x": extra}).encode()), OutboundSettings())
        assert isinstance(line, StatusLine)
        named.add(line.provider_message_id)

    assert len(named) == 2


async def test_an_odd_bounce_is_taken_stored_and_holds_up_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_OUTBOUND_MAILGUN_SIGNING_KEY", "key")
    world.read_settings_again()
    secret = {"X-Bounce-Secret": SECRET}
    half = {"signature": {"timestamp": "\ud800", "token": "", "signature": "\ud800"}}
    refused = await world.http.post(HOOK, content=json.dumps(half))
    for recipients in (7, [], [{"status": "5.1.1"}]):
        odd = {"notificationType": "Bounce", "mail": {}, "bounce": {"bouncedRecipients": recipients}}
        answer = await world.http.post(HOOK, json=odd, headers=secret)
        assert answer.status_code == 200

    await world.work()

    assert refused.status_code == 401
    assert await world.rows("select processed_at is not null, ignored from outbound.callback") == [(True, 1)] * 3


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"event-data": MAILGUN | {"event": "failed", "severity": "temporary"}},
        {"event-data": "?"},
        {"RecordType": "Open"},
        POSTMARK | {"RecordType": "Bounce", "Type": "AutoResponder"},
        POSTMARK | {"RecordType": "Bounce", "Type": "AddressChange"},
        {"notificationType": "Bounce", "mail": 7, "bounce": []} | {"notificationType": "Sent"},
        {"Type": "Notification", "Message": "[" * 5000},
        {"Type": "SubscriptionConfirmation", "SubscribeURL": "https://example.test"},
    ],
)
def test_what_says_nothing_of_a_mail_is_counted_not_raised(document: dict[str, Any]) -> None:
    assert reports.read(Posted("", json.dumps(document).encode()), OutboundSettings()) == ([], 1)


@pytest.mark.parametrize(
    ("action", "status", "told", "code"),
    [
        ("failed", "5.1.1", "failed", "5.1.1"),
        ("failed", "4.4.7 (delivery time expired)", "failed", "4.4.7"),
        ("failed", "?", "failed", "5.0.0"),
        ("delivered", "2.1.5", "delivered", ""),
        ("relayed", "2.1.9", "sent", ""),
        ("delayed", "4.4.1", None, ""),
    ],
)
def test_a_report_of_a_mail_server_is_read(action: str, status: str, told: str | None, code: str) -> None:
    head = b"Content-Type: multipart/report; report-type=delivery-status; boundary=b\n\n"
    block = f"Original-Envelope-Id: {MESSAGE}\n\nFinal-Recipient: rfc822; {TO}\nAction: {action}\nStatus: {status}\n\n"
    body = head + f"--b\nContent-Type: message/delivery-status\n\n{block}--b--\n".encode()

    found, _ = reports.read(Posted("", body, received_at=datetime(2026, 6, 1, tzinfo=UTC)), OutboundSettings())

    lines = [(line.message_id, line.reported, line.error_code) for line in found if isinstance(line, StatusLine)]
    assert lines == ([] if told is None else [(MESSAGE, told, code)])


async def test_a_bounce_of_a_service_comes_with_a_password_and_ends_the_message(world: World) -> None:
    await world.consent(TO, channel="EMAIL")
    made = await world.message(TO, channel="EMAIL", subject="Bonjour")
    await world.work()
    back = world.providers.sent[0].document["from"]
    document = SES | {"mail": {"messageId": "ses-1", "source": back}}

    async def post(secret: str) -> int:
        login = base64.b64encode(f"sns:{secret}".encode()).decode()
        headers = {"authorization": f"Basic {login}"}
        return (await world.http.post(HOOK, content=json.dumps(document), headers=headers)).status_code

    assert [await post("wrong"), await post(SECRET), await post(SECRET)] == [401, 200, 200]
    await world.work()
    shown = await world.show(made)
    assert (shown["status"], shown["errorCode"]) == ("FAILED", "5.1.1")


async def test_where_a_subscription_of_sns_is_confirmed_is_shown_and_not_followed(world: World) -> None:
    """Only who subscribed may confirm; the address comes here and nowhere else, and the bytes of a callback go."""
    at = "https://sns.eu-west-3.amazonaws.com/?Action=ConfirmSubscription&Token=abc"
    elsewhere = ("https://sns.eu-west-3.amazonaws.com.evil.test/", "http://sns.eu-west-3.amazonaws.com/", "")
    for url in (at, *elsewhere):
        document = {"Type": "SubscriptionConfirmation", "SubscribeURL": url}
        headers = {"x-bounce-secret": SECRET}
        assert (await world.http.post(HOOK, content=json.dumps(document), headers=headers)).status_code == 200
    await world.work()

    results = await world.rows(
        "select result from ostinato_data.outcome where result::text like '%%ignored%%' order by job_id"
    )

    assert [row[0].get("confirm") for row in results] == [at, None, None, None]


def test_mailgun_signs_its_own_webhooks() -> None:
    settings = OutboundSettings(mailgun_signing_key="key")
    signed = hmac.new(b"key", b"1700000000abc", hashlib.sha256).hexdigest()
    parts = {"timestamp": "1700000000", "token": "abc", "signature": signed}

    def is_signed(given: object, by: OutboundSettings = settings) -> bool:
        return reports.is_signed(Posted("", json.dumps({"signature": given}).encode()), by)

    assert is_signed(parts)
    assert not is_signed(parts | {"token": "abd"})
    assert not is_signed(parts, OutboundSettings())
    assert not is_signed("?")
    assert not is_signed(parts | {"filled": " " * reports.MOST_MAILGUN_BYTES}), "too large to be looked at"


async def test_providers_are_reached_through_the_proxy_that_is_set() -> None:
    asked: list[bytes] = []
    async with listening(answering(asked)) as port, pooled(f"http://127.0.0.1:{port}") as http:
        wire = Wire(http, OutboundSettings(), datetime.now(UTC))
        answer = await wire.post("http://graph.example.test/v1/messages", json={})

    assert not isinstance(answer, NotSent)
    assert asked[0].startswith(b"POST http://graph.example.test/v1/messages HTTP/1.1")


async def test_the_connection_to_a_provider_is_kept_for_the_next_message() -> None:
    connections, closed = 0, asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        with suppress(asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(2)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        writer.close()
        closed.set()

    async with listening(serve) as port, pooled() as http:
        wire = Wire(http, OutboundSettings(), datetime.now(UTC))
        for _ in range(3):
            answer = await wire.post(f"http://127.0.0.1:{port}/", content=b"{}")
            assert not isinstance(answer, NotSent | Lost)
        await http.aclose()
        await closed.wait()

    assert connections == 1


async def test_a_private_authority_is_trusted_if_its_certificates_are_named(tmp_path: Path) -> None:
    key_file, ca_file = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ca_file, key_file)
    outcomes = []
    async with listening(answering([]), context) as port:
        for ca in ("", str(ca_file)):
            async with pooled(ca_file=ca) as http:
                wire = Wire(http, OutboundSettings(), datetime.now(UTC))
                outcomes.append(isinstance(await wire.post(f"https://127.0.0.1:{port}/"), NotSent))

    assert outcomes == [True, False]


def test_a_proxy_and_certificates_that_could_not_be_used_are_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("no certificate")

    for name in ("none.pem", "empty.pem"):
        with pytest.raises(SettingsError, match="ca_file"):
            OutboundSettings(ca_file=str(tmp_path / name))
    for url in ("proxy:3128", "http://", "http://me:secret@proxy:x", "http://proxy :3128"):
        with pytest.raises(SettingsError, match="proxy_url") as refused:
            OutboundSettings(proxy_url=url)
        assert "secret" not in str(refused.value)
    assert OutboundSettings(proxy_url="http://me:secret@proxy:3128").proxy_url


def test_mail_that_is_made_to_be_slow_is_counted_not_read() -> None:
    """The parser compares each line with all boundaries that are open, and goes down into each mail in a mail."""
    nested = b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(200))
    deep = b"Content-Type: message/rfc822\n\n" * 10_000

    head = b"Content-Type: multipart/report; report-type=delivery-status; boundary=b\n\n"
    report = head + b"--b\nContent-Type: message/delivery-status\n\nAction: failed\nStatus: 5.1.1\n\n--b--\n"
    bounded = report + b"boundary=\n" * reports.MOST_BOUNDARIES

    assert len(reports.read(Posted("", report), OutboundSettings())[0]) == 1
    for body in (bounded, nested, nested.replace(b"boundary=", b"Boundary *0="), deep):
        assert reports.read(Posted("", body), OutboundSettings()) == ([], 1)


def test_a_report_about_too_many_recipients_is_refused_as_a_whole() -> None:
    head = b"Content-Type: multipart/report; report-type=delivery-status; boundary=b\n\n"
    body = head + b"--b\nContent-Type: message/delivery-status\n\n" + b"Action: failed\nStatus: 5.1.1\n\n" * 20_001

    with pytest.raises(BodyTooLarge, match=r"more than the limit of 20,000"):
        reports.read(Posted("", body), OutboundSettings())
