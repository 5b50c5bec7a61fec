"""One session with a mail server is for many mails, and for none after one that nobody answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest

from ostinato.apps.outbound.model import Channel, Content, Sender
from ostinato.apps.outbound.providers import sessions
from ostinato.apps.outbound.providers.protocol import Lost, NotSent, Outcome, Refused, Taken
from ostinato.apps.outbound.providers.sessions import MOST_EACH, Account, Sessions
from ostinato.apps.outbound.providers.smtp import SMTP
from ostinato.apps.outbound.providers.wire import Wire, trusted
from ostinato.apps.outbound.settings import OutboundSettings
from tests.apps.outbound.conftest import World
from tests.servers import listening
from tests.waiting import until_async

CUT = ""
OK = {"EHLO": "250-here\r\n250 DSN", "MAIL": "250 ok", "RCPT": "250 ok", "DATA": "354 go on", "RSET": "250 ok"}


@dataclass
class Host:
    """A mail server that notes what it is told; `answers` are for the next of a command, "" cuts the session."""

    said: list[str] = field(default_factory=list)
    answers: dict[str, list[str]] = field(default_factory=dict)
    texts: int = 0
    open: set[asyncio.StreamWriter] = field(default_factory=set)
    most: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        self.most = max(self.most, len(self.open))
        writer.write(b"220 here\r\n")
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while answer := self._answer((await reader.readuntil()).decode()[:4].strip()):
                writer.write(f"{answer}\r\n".encode())
                if answer.startswith("354"):
                    await reader.readuntil(b"\r\n.\r\n")
                    self.texts += 1
                    if not (taken := self._answer("text", "250 taken")):
                        break
                    writer.write(f"{taken}\r\n".encode())
        self.open.discard(writer)
        writer.close()

    def _answer(self, verb: str, usual: str = "") -> str:
        self.said.append(verb)
        left = self.answers.get(verb)
        return left.pop(0) if left else usual or OK.get(verb, "502 not here")

    def cut(self) -> None:
        """End all sessions, as a server that is restarted."""
        for writer in self.open:
            writer.close()

    def count(self, verb: str) -> int:
        return self.said.count(verb)


@dataclass
class Desk:
    """Who sends mails to a host."""

    host: Host
    wire: Wire
    content: Content

    async def send(self) -> Outcome:
        return await SMTP.send(replace(self.content, message_id=uuid4()), self.wire)


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    host, kept = Host(), Sessions()
    sender = Sender(1, Channel.EMAIL, "smtp", "a@example.test", "Atlas")
    content = Content(uuid4(), "acme", 1, "ana@example.test", sender, "Bonjour", "Bonjour")
    async with listening(host.serve) as port, httpx.AsyncClient(trust_env=False) as http:
        settings = OutboundSettings(smtp_host="127.0.0.1", smtp_port=port, smtp_tls="none", timeout_seconds=60)
        yield Desk(host, Wire(http, settings, datetime.now(UTC), kept), content)
        kept.close()
        host.cut()


async def test_many_mails_go_over_one_session(desk: Desk) -> None:
    outcomes = [await desk.send() for _ in range(20)]

    assert all(isinstance(each, Taken) for each in outcomes)
    assert (desk.host.texts, desk.host.count("EHLO"), desk.host.count("RSET")) == (20, 1, 0)


async def test_mails_at_once_share_a_few_sessions(desk: Desk) -> None:
    outcomes = await asyncio.gather(*(desk.send() for _ in range(4 * MOST_EACH)))

    assert all(isinstance(each, Taken) for each in outcomes)
    assert desk.host.texts == 4 * MOST_EACH
    assert desk.host.count("EHLO") <= MOST_EACH
    assert desk.host.most <= MOST_EACH


@pytest.mark.parametrize("verb", ["MAIL", "RCPT", "text"])
async def test_after_a_refusal_the_next_mail_begins_anew_in_the_same_session(desk: Desk, verb: str) -> None:
    desk.host.answers[verb] = ["250 ok", "550 5.1.1 nobody", "250 ok"]

    outcomes = [await desk.send() for _ in range(3)]

    assert [type(each) for each in outcomes] == [Taken, Refused, Taken]
    assert (desk.host.count("EHLO"), desk.host.count("RSET")) == (1, 1)
    after = desk.host.said[desk.host.said.index("RSET") + 1 :]
    assert after == ["MAIL", "RCPT", "DATA", "text"]


async def test_a_session_that_cannot_be_reset_has_no_other_mail(desk: Desk) -> None:
    desk.host.answers |= {"RCPT": ["550 5.1.1 nobody"], "RSET": ["500 what"]}

    outcomes = [await desk.send() for _ in range(2)]

    assert [type(each) for each in outcomes] == [Refused, Taken]
    assert desk.host.count("EHLO") == 2


@pytest.mark.parametrize("how", ["cut", "421 4.4.2 too long idle"])
async def test_a_session_that_was_ended_while_it_rested_is_opened_once_more(desk: Desk, how: str) -> None:
    await desk.send()
    desk.host.answers["MAIL"] = [CUT if how == "cut" else how]

    outcome = await desk.send()

    assert isinstance(outcome, Taken)
    assert (desk.host.texts, desk.host.count("EHLO")) == (2, 2)


async def test_a_server_that_was_restarted_costs_no_mail(desk: Desk) -> None:
    await desk.send()
    desk.host.cut()

    assert isinstance(await desk.send(), Taken)
    assert desk.host.texts == 2


async def test_a_new_session_that_is_ended_is_not_tried_again(desk: Desk) -> None:
    desk.host.answers["MAIL"] = [CUT, "250 ok"]

    assert isinstance(await desk.send(), NotSent)
    assert desk.host.count("MAIL") == 1


@pytest.mark.parametrize("verb", ["DATA", "text"])
async def test_a_mail_that_was_being_given_when_the_session_broke_is_in_doubt_and_not_given_again(
    desk: Desk, verb: str
) -> None:
    """As before there were kept sessions: whether the server took it, nobody knows."""
    await desk.send()
    given = desk.host.texts
    desk.host.answers[verb] = [CUT]

    outcomes = [await desk.send(), await desk.send()]

    assert [type(each) for each in outcomes] == [Lost, Taken]
    assert desk.host.texts == given + (2 if verb == "text" else 1)
    assert desk.host.count("EHLO") == 2, "what never answered has no other mail"


async def test_each_account_has_sessions_of_its_own(desk: Desk) -> None:
    await desk.send()
    other = replace(desk.wire.settings, timeout_seconds=59)
    desk.wire = replace(desk.wire, settings=other)
    await desk.send()

    assert desk.host.count("EHLO") == 2


async def test_a_session_that_rests_is_closed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "REST_SECONDS", 0.0)
    await desk.send()

    async def is_closed() -> bool:
        return not desk.host.open

    await until_async(is_closed)


def test_the_password_of_an_account_is_in_no_log() -> None:
    settings = OutboundSettings(smtp_username="me", smtp_password="open-sesame")

    assert "open-sesame" not in repr(Account.of(settings, trusted()))


async def test_the_mails_of_a_worker_share_a_session(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = 0
    connect = sessions._opened

    async def counted(account: Account) -> Any:  # noqa: ANN401 - as it is
        nonlocal opened
        opened += 1
        return await connect(account)

    monkeypatch.setattr(sessions, "_opened", counted)
    monkeypatch.setattr(sessions, "MOST_EACH", 1)
    mail: dict[str, Any] = {"channel": "EMAIL", "templateCode": "welcome"}
    for number in range(5):
        to = f"ana{number}@example.test"
        await world.consent(to, subjectId=to, channel="EMAIL")
        await world.message(to, subjectId=to, **mail)
    await world.work()

    assert len([each for each in world.providers.sent if each.provider == "smtp"]) == 5
    assert opened == 1
