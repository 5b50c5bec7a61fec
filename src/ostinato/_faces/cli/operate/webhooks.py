"""`ostinato webhooks …`: who is told of events, and what became of it."""

import contextlib
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.base.webhooks import hint_of
from ostinato._core.engine import clock, queues, webhooks
from ostinato._core.engine.webhooks import Endpoint
from ostinato._core.runtime.services import webhooks as runtime_webhooks
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli, command
from ostinato._faces.cli.frame.output import grid, table
from ostinato._faces.cli.operate import webhook_sent
from ostinato._faces.cli.operate.webhook_sent import Name, Tenant

__all__ = ["register"]

Connection = AsyncConnection[Any]

NewSecret = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the new secret to this new file, for you alone."),
]
OwnSecret = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Take the secret from this file instead.")
]
COUNTS = ("pending", "waiting", "held", "dead")
COLOURS = {"active": "green", "paused": "yellow", "disabled": "red"}


def list_(
    cli: Cli,
    *,
    tenant: Annotated[
        str | None, typer.Option(metavar="TENANT", help="Only of this tenant.")
    ] = None,
) -> None:
    """List endpoints: where they are, what they are told, what waits for them.

    Example: `ostinato webhooks list`
    """

    async def look(conn: Connection) -> tuple[list[Endpoint], datetime]:
        return await webhooks.list_endpoints(conn, tenant_id=tenant), await clock.now(conn)

    found, now = attach.ask(cli, look)
    shown = table("endpoint", "tenant", "state", "types", *COUNTS, "failing", "url", right=COUNTS)
    for each in found:
        shown.add_row(
            each.name,
            each.tenant_id,
            Text(each.state, style=COLOURS[each.state]),
            ", ".join(each.event_types),
            *(f"{getattr(each, name):,}" for name in COUNTS),
            words.age(each.failing_since, now).removesuffix(" ago"),
            _shown_url(each.url),
        )
    safe = [_safe(each) for each in found]
    cli.out.show({"endpoints": safe}, shown if found else Text("No webhook endpoints yet."))


def show(cli: Cli, endpoint: Name, *, tenant: Tenant = "default") -> None:
    """Everything about one endpoint; of its secrets only how they end.

    Example: `ostinato webhooks show orders`
    """

    async def look(conn: Connection) -> tuple[Endpoint, datetime]:
        found = await webhooks.show_endpoint(conn, endpoint, tenant_id=tenant)
        return found, await clock.now(conn)

    found, now = attach.ask(cli, look)
    secrets = [
        f"…{hint}" + ("" if end is None else f" (ends {words.age(end, now)})")
        for hint, end in zip(found.secret_hints, found.secret_expiries, strict=True)
    ]
    shown = grid()
    for name, value in (
        ("endpoint", found.name),
        ("tenant", found.tenant_id),
        ("state", found.state + (f": {found.reason}" if found.reason else "")),
        ("url", _shown_url(found.url)),
        ("types", ", ".join(found.event_types)),
        ("description", found.description),
        ("headers", ", ".join(found.header_names)),
        ("secrets", ", ".join(secrets)),
        ("order", "by key" if found.ordered else "none"),
        ("timeout", words.span(found.timeout_seconds)),
        ("disabled after", words.span(found.disable_after_seconds)),
        ("failing since", words.age(found.failing_since, now)),
        ("last delivered", words.age(found.last_delivered_at, now)),
        (
            "deliveries",
            ", ".join(f"{getattr(found, name):,} {name}" for name in COUNTS),
        ),
    ):
        if value:
            shown.add_row(name, value)
    cli.out.show(_safe(found), shown)


def create(
    cli: Cli,
    *,
    endpoint: Name,
    url: Annotated[str, typer.Argument(metavar="URL", help="Where it is: a public https URL.")],
    secret_file: NewSecret = None,
    secret_from: OwnSecret = None,
    types: Annotated[
        list[str], typer.Option("--type", metavar="TYPE", help="order.paid, order.*, or all: *.")
    ] = ["*"],  # noqa: B006 - Typer copies it
    header: Annotated[
        list[str], typer.Option(metavar="NAME:VALUE", help="A static header to send along.")
    ] = [],  # noqa: B006 - as above
    description: Annotated[str, typer.Option(metavar="TEXT", help="What it is for.")] = "",
    timeout: Annotated[str, typer.Option(metavar="TIME", help="Time to answer in.")] = "5s",
    disable_after: Annotated[
        str, typer.Option(metavar="TIME", help="Failing for this long disables it.")
    ] = "5d",
    unordered: Annotated[
        bool, typer.Option("--unordered", help="Do not wait for earlier events of the same key.")
    ] = False,
    tenant: Tenant = "default",
) -> None:
    """Add an endpoint: from now on it is told of the tenant's events.

    Example: `ostinato webhooks create orders https://shop.example/hooks --secret-file orders.key`
    """
    headers = dict(_header(text) for text in header)
    allowed = parse_allowed(cli.settings.webhooks_allow_private)

    async def add(conn: Connection, secret: str | None) -> str:
        made = await webhooks.create_endpoint(
            conn,
            endpoint,
            url,
            event_types=types,
            tenant_id=tenant,
            description=description,
            headers=headers,
            timeout_seconds=words.seconds(timeout, "--timeout"),
            disable_after_seconds=words.seconds(disable_after, "--disable-after"),
            ordered=not unordered,
            secret=secret,
            allowed=allowed,
        )
        return made.secret

    with _secret(secret_file, secret_from) as (given, keep):
        hint = hint_of(keep(attach.ask(cli, lambda conn: add(conn, given))))
    told = (
        f"endpoint {endpoint} of {tenant} is told of {', '.join(types)}; its secret ends in {hint}"
    )
    cli.out.show({"endpoint": endpoint, "tenant_id": tenant, "secret_hint": hint}, told)
    whose = [] if tenant == "default" else ["--tenant", shlex.quote(tenant)]
    cli.out.note(f"Try it: {cli.try_('webhooks', 'test', endpoint, *whose)}")


def change(
    cli: Cli,
    *,
    endpoint: Name,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Where it is now.")] = None,
    types: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Only these from now on.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:VALUE", help="Static headers, instead of those before."),
    ] = None,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is for.")] = None,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Time to answer in.")] = None,
    disable_after: Annotated[
        str | None, typer.Option(metavar="TIME", help="Failing for this long disables it.")
    ] = None,
    tenant: Tenant = "default",
) -> None:
    """Change what is given of an endpoint; what is on its way goes to the new URL.

    Example: `ostinato webhooks change orders --url https://shop.example/v2/hooks`
    """
    given = (url, types or None, header or None, description, timeout, disable_after)
    if all(value is None for value in given):
        raise InvalidInput("nothing says what to change", hint="See: ostinato webhooks change -h")
    allowed = parse_allowed(cli.settings.webhooks_allow_private)

    async def write(conn: Connection) -> None:
        await webhooks.change_endpoint(
            conn,
            endpoint,
            tenant_id=tenant,
            url=url,
            event_types=types or None,
            description=description,
            headers=dict(_header(text) for text in header) if header else None,
            timeout_seconds=words.seconds(timeout, "--timeout") if timeout else None,
            disable_after_seconds=(
                words.seconds(disable_after, "--disable-after") if disable_after else None
            ),
            allowed=allowed,
        )

    attach.ask(cli, write)
    answer = {"endpoint": endpoint, "tenant_id": tenant}
    cli.out.show(answer, f"endpoint {endpoint} of {tenant} is changed")


def remove(
    cli: Cli,
    endpoint: Name,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    tenant: Tenant = "default",
) -> None:
    """Remove an endpoint, its secrets, and all that was to be delivered to it.

    Example: `ostinato webhooks remove orders`
    """

    async def work() -> bool:
        async with attach.connection(cli) as conn:
            found = await webhooks.show_endpoint(conn, endpoint, tenant_id=tenant)
            left = sum(getattr(found, name) for name in COUNTS)
            question = f"Remove endpoint {endpoint} of {tenant}, with {left:,} not delivered?"
            if not (yes or await cli.out.confirm(question, preview=False)):
                return False
            await webhooks.remove_endpoint(conn, endpoint, tenant_id=tenant)
            return True

    gone = attach.run(work())
    told = f"endpoint {endpoint} of {tenant} is gone" if gone else "Nothing was changed."
    cli.out.show({"endpoint": endpoint, "tenant_id": tenant, "removed": gone}, told)


def rotate(
    cli: Cli,
    *,
    endpoint: Name,
    secret_file: NewSecret = None,
    secret_from: OwnSecret = None,
    overlap: Annotated[
        str, typer.Option(metavar="TIME", help="How long the old secret signs as well.")
    ] = "1d",
    tenant: Tenant = "default",
) -> None:
    """Give an endpoint a new secret; for a time both the new and the old one sign.

    Example: `ostinato webhooks rotate orders --secret-file orders.key --overlap 2d`
    """
    seconds = words.seconds(overlap, "--overlap")

    async def change(conn: Connection, secret: str | None) -> str:
        return await webhooks.rotate(
            conn, endpoint, overlap_seconds=seconds, tenant_id=tenant, secret=secret
        )

    with _secret(secret_file, secret_from) as (given, keep):
        hint = hint_of(keep(attach.ask(cli, lambda conn: change(conn, given))))
    answer = {"endpoint": endpoint, "secret_hint": hint, "overlap_seconds": seconds}
    told = f"endpoint {endpoint} has a new secret that ends in {hint}"
    cli.out.show(answer, f"{told}; the old one signs for {words.span(seconds)} more")


def pause(
    cli: Cli,
    endpoint: Name,
    *,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why, for others.")] = None,
    tenant: Tenant = "default",
) -> None:
    """Stop deliveries to an endpoint; what comes meanwhile is held for it.

    Example: `ostinato webhooks pause orders --reason maintenance`
    """

    async def stop(conn: Connection) -> None:
        await webhooks.pause(conn, endpoint, reason=reason, tenant_id=tenant)

    attach.ask(cli, stop)
    cli.out.show({"endpoint": endpoint, "state": "paused"}, f"endpoint {endpoint} is paused")


def resume(cli: Cli, endpoint: Name, *, tenant: Tenant = "default") -> None:
    """Let deliveries to a paused or disabled endpoint go on, those that were held first.

    Example: `ostinato webhooks resume orders`
    """

    async def go_on(conn: Connection) -> int:
        held = await webhooks.resume(conn, endpoint, tenant_id=tenant)
        await queues.ring(conn, runtime_webhooks.QUEUE)
        return held

    held = attach.ask(cli, go_on)
    answer = {"endpoint": endpoint, "state": "active", "held": held}
    told = f"endpoint {endpoint} is active; {words.counted(held, 'held delivery')} go on"
    cli.out.show(answer, told.replace("deliverys", "deliveries"))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "list")(list_)
    for each in (show, create, change, remove, rotate, pause, resume):
        command(app)(each)
    webhook_sent.register(app)


def _safe(endpoint: Endpoint) -> Endpoint:
    return replace(endpoint, url=_shown_url(endpoint.url))


def _shown_url(url: str) -> str:
    """A URL without its query, which often holds a password."""
    path, mark, _ = url.partition("?")
    return f"{path}?***" if mark else path


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        # Not shown: it may be a password.
        raise InvalidInput("a --header is not NAME:VALUE", hint="Write --header 'X-Shop: seven'.")
    return name.strip(), value.strip()


@contextmanager
def _secret(new: Path | None, own: Path | None) -> Iterator[tuple[str | None, Any]]:
    """The secret that was given, and what keeps the one that is made.

    A secret is never printed: what a terminal shows is kept by many.
    """
    if (new is None) == (own is None):
        raise InvalidInput(
            "nothing says where the secret goes, or comes from",
            hint="Give --secret-file FILE to have a new one written, or --secret-from FILE.",
        )
    if own is not None:
        try:
            given = own.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise InvalidInput(f"cannot read {own}", hint="Name a file with whsec_….") from None
        yield given, lambda secret: secret
        return
    assert new is not None  # noqa: S101 - one of the two is given
    try:
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        hint = "Name a file that is not there yet, in a folder that is."
        raise InvalidInput(f"cannot make {new}: {error.strerror}", hint=hint) from None
    kept = False

    def keep(secret: str) -> str:
        nonlocal kept
        os.write(file, f"{secret}\n".encode())
        kept = True
        return secret

    try:
        yield None, keep
    finally:
        os.close(file)
        if not kept:
            with contextlib.suppress(OSError):
                new.unlink()
