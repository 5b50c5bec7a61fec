"""`ostinato webhooks …`."""

import asyncio
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.services import webhooks as runtime_webhooks
from ostinato._core.runtime.testing import KEY
from ostinato.testing import Engine
from tests.faces.conftest import Place, Shell
from tests.runtime.receiver import Receiver, Reply

ALLOW = {"OSTINATO_WEBHOOKS_ALLOW_PRIVATE": "127.0.0.1:*", "OSTINATO_SECRET_KEY": KEY}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as started:
        yield started


@pytest.fixture
def shell(environ: dict[str, str]) -> Shell:
    return Shell(environ | ALLOW)


def create(shell: Shell, *more: str, url: str = "https://shop.example.com/in?token=hunter2") -> str:
    said = shell("webhooks", "create", "orders", url, "--secret-file", "orders.key", *more)
    secret = Path("orders.key").read_text(encoding="utf-8").strip()
    assert secret not in said
    return secret


def emit(place: Place, count: int = 1) -> list[int]:
    return [
        place.call(
            "ostinato.emit_event('order.paid', '{}', tenant_id => 'default', producer => 'shop',"
            " correlation_id => 'c1', occurred_at => ostinato.now())"
        )
        for _ in range(count)
    ]


def deliver(place: Place) -> None:
    """What a worker would do."""

    async def run() -> None:
        urls = place.urls
        database = Database(urls.worker, urls.admin, urls.worker)
        settings = Settings(webhooks_allow_private="127.0.0.1:*")
        async with Client(database, Settings(secret_key=KEY)) as client:
            engine = Engine(database, client, None)  # type: ignore[arg-type]
            await engine.run_until_idle(runtime_webhooks.app(settings), move_clock=False)

    asyncio.run(run())


def show(shell: Shell) -> dict[str, Any]:
    found: dict[str, Any] = shell.json("webhooks", "show", "orders")
    return found


def test_a_new_endpoint_has_its_secret_in_a_file_and_nowhere_else(shell: Shell, place: Place) -> None:
    Path("headers").write_text("X-Key: hunter2\n\n", encoding="utf-8")
    secret = create(shell, "--type", "order.*", "--header-file", "headers", "--description", "for the shop")

    everything = shell("webhooks", "list") + shell("webhooks", "show", "orders")
    everything += json.dumps(shell.json("webhooks", "list")) + json.dumps(show(shell))
    assert secret.startswith("whsec_")
    assert stat.S_IMODE(Path("orders.key").stat().st_mode) == 0o600
    assert secret.removeprefix("whsec_") not in everything
    assert "hunter2" not in everything
    assert secret.rstrip("=")[-4:] in everything
    assert (show(shell)["event_types"], show(shell)["header_names"]) == (["order.*"], ["X-Key"])
    assert show(shell)["url"] == "https://shop.example.com/in?***"


def test_without_endpoints_the_list_says_so(shell: Shell, place: Place) -> None:
    assert shell("webhooks", "list") == "No webhook endpoints yet.\n"
    assert shell.json("webhooks", "list") == {"endpoints": []}


def test_a_secret_of_ones_own_is_read_from_a_file(shell: Shell, place: Place) -> None:
    Path("own.key").write_text("whsec_" + "A" * 32 + "\n", encoding="utf-8")

    url = "https://shop.example.com/"
    said = shell("webhooks", "create", "orders", url, "--secret-from", "own.key")

    assert "its secret ends in AAAA" in said
    assert "A" * 32 not in place.call("s.secret from ostinato_data.webhook_secret s")


def test_a_secret_has_to_go_somewhere_and_overwrites_nothing(shell: Shell, place: Place) -> None:
    url = "https://shop.example.com/"
    Path("there.key").write_text("precious", encoding="utf-8")

    assert "--secret-file" in shell.fails("webhooks", "create", "orders", url)
    assert "File exists" in shell.fails("webhooks", "create", "orders", url, "--secret-file", "there.key")
    assert "cannot read" in shell.fails("webhooks", "create", "orders", url, "--secret-from", "nowhere.key")
    said = shell.fails("webhooks", "create", "orders", "http://127.1/", "--secret-file", "new.key")
    assert "four decimal numbers" in said
    assert not Path("new.key").exists()
    assert Path("there.key").read_text(encoding="utf-8") == "precious"
    said = shell.fails("webhooks", "create", "x", url, "--header", "hunter2", "--secret-file", "new.key")
    assert "hunter2" not in said


@pytest.mark.parametrize(
    "name", ["Authorization", "cookie", "X-Api-Key", "X-Shop-Token", "x-key", "X-Auth", "Password"]
)
def test_a_header_that_opens_something_is_not_taken_from_the_command_line(
    shell: Shell, place: Place, name: str
) -> None:
    """Every user of the machine sees a command line, and the shell keeps it."""
    create(shell)
    url = "https://shop.example.com/"

    made = shell.fails("webhooks", "create", "x", url, "--header", f"{name}: hunter2", "--secret-file", "new.key")
    changed = shell.fails("webhooks", "change", "orders", "--header", f"{name}: hunter2")

    for said in (made, changed):
        assert f"the value of {name} is a secret" in said
        assert "--header-file -" in said
        assert "hunter2" not in said


def test_headers_come_from_stdin_beside_harmless_ones(shell: Shell, place: Place) -> None:
    create(shell)

    shell.run("webhooks", "change", "orders", "--header", "X-Shop: seven", "--header-file", "-", stdin="Cookie: a=b\n")
    said = shell.run("webhooks", "change", "orders", "--header-file", "-", stdin="hunter2\n", code=1).stderr

    assert show(shell)["header_names"] == ["Cookie", "X-Shop"]
    assert "line 1 of --header-file is not NAME:VALUE" in said
    assert "hunter2" not in said


def test_a_rotation_shows_how_the_secrets_end(shell: Shell, place: Place) -> None:
    old = create(shell)

    said = shell("webhooks", "rotate", "orders", "--secret-file", "second.key", "--overlap", "2h")

    new = Path("second.key").read_text(encoding="utf-8").strip()
    hints = [secret.rstrip("=")[-4:] for secret in (new, old)]
    assert said == (f"endpoint orders has a new secret that ends in {hints[0]}; the old one signs for 2 h 0 min more\n")
    assert show(shell)["secret_hints"] == hints
    assert new not in said


def test_pause_and_resume(shell: Shell, place: Place) -> None:
    create(shell)

    assert shell("webhooks", "pause", "orders", "--reason", "tea") == "endpoint orders is paused\n"
    assert (show(shell)["state"], show(shell)["reason"]) == ("paused", "tea")
    assert shell.json("webhooks", "resume", "orders") == {"endpoint": "orders", "state": "active", "held": 0}
    assert "no webhook endpoint" in shell.fails("webhooks", "pause", "nobody")


def test_an_endpoint_is_changed_and_removed(shell: Shell, place: Place) -> None:
    create(shell)

    said = shell("webhooks", "change", "orders", "--url", "https://b.example.com/", "--type", "a.*")
    assert said == "endpoint orders of default is changed\n"
    shown = shell.json("webhooks", "show", "orders")
    assert (shown["url"], shown["event_types"]) == ("https://b.example.com/", ["a.*"])
    assert shown["timeout_seconds"] == 5
    assert "no change is given" in shell.fails("webhooks", "change", "orders")
    inner = ("webhooks", "change", "orders", "--url", "http://10.0.0.1/")
    assert "not a public address" in shell.fails(*inner)

    assert "--preview" not in shell.fails("webhooks", "remove", "orders")
    assert shell("webhooks", "remove", "orders", "-y") == "endpoint orders of default is removed\n"
    assert shell.json("webhooks", "list") == {"endpoints": []}


def test_what_to_try_next_names_the_tenant(shell: Shell, place: Place) -> None:
    new = ("webhooks", "create", "orders", "https://a.example.com/", "--secret-file", "a.key")

    tried = shell.run(*new, "--tenant", "acme").stderr

    assert "webhooks test orders --tenant acme" in tried


def test_attempts_are_listed_and_dead_ones_sent_again(shell: Shell, place: Place, receiver: Receiver) -> None:
    create(shell, url=receiver.url)
    place.conn.execute("update ostinato_data.webhook_endpoint set retry = '{\"max_attempts\": 1}'")
    receiver.script.extend([Reply(500, b"\x1b]0;gotcha"), Reply(500)])
    first, _ = emit(place, 2)
    deliver(place)

    shown = shell("webhooks", "attempts", "orders")
    listed = shell.json("webhooks", "attempts", "orders", "--most", "1")
    assert "answered 500" in shown
    assert "\x1b" not in shown
    assert len(listed["attempts"]) == 1
    older = shell.json("webhooks", "attempts", "orders", "--before", str(listed["next"]))
    assert [attempt["event_id"] for attempt in older["attempts"]] == [str(first)]

    assert "--since" in shell.fails("webhooks", "redeliver", "orders")
    preview = shell.json("webhooks", "redeliver", "orders", "--all", "--preview")
    assert preview == {"matching": 2, "chosen": 2, "redelivered": 0}
    said = shell("webhooks", "redeliver", "orders", "--all", "--most", "1", "--yes")
    assert said == "1 are sent again.\n"
    deliver(place)
    assert receiver.ids[-1] == str(first)
    rest = shell.json("webhooks", "redeliver", "orders", "--since", "2020-01-01T00:00:00Z", "-y")
    assert rest["redelivered"] == 1
    deliver(place)
    assert (show(shell)["dead"], show(shell)["pending"]) == (0, 0)
    assert shell("webhooks", "redeliver", "orders", "--all", "-y") == "No delivery matches.\n"
    again = shell.json("webhooks", "redeliver", "orders", "--event", str(first), "-y")
    assert again["redelivered"] == 1


def test_an_endpoint_is_tested_from_here(
    shell: Shell, place: Place, receiver: Receiver, environ: dict[str, str]
) -> None:
    create(shell, "--header", "X-Shop: hunter2", url=receiver.url)
    receiver.script.extend([Reply(), Reply(500)])

    assert shell("webhooks", "test", "orders").startswith("delivered: answered 200 (")
    assert "answered 500" in shell.run("webhooks", "test", "orders", code=1).stdout
    strict = Shell(environ | {"OSTINATO_SECRET_KEY": KEY}).json("webhooks", "test", "orders", code=1)

    assert strict["outcome"] == "refused"
    assert len(receiver.requests) == 2
    assert receiver.requests[0].headers["x-shop"] == "hunter2"


def test_a_link_to_the_endpoints_of_a_tenant_is_made_and_revoked(shell: Shell) -> None:
    made = shell.json("webhooks", "portal", "--tenant", "acme", "--url", "https://jobs.example.com/", "--for", "10m")

    assert made["url"].startswith("https://jobs.example.com/console/portal/enter?ticket=")
    assert shell.json("webhooks", "portal", "--tenant", "acme", "--revoke")["closed"] == 1
    assert "a minute to a day" in shell.fails("webhooks", "portal", "--for", "2d")
