"""`ostinato webhooks …` lists and changes the endpoints that events are sent to."""

import contextlib
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.base.webhooks import hint_of
from ostinato._core.engine import webhooks
from ostinato._core.engine.webhooks import Endpoint
from ostinato._core.runtime.services import webhooks as runtime_webhooks
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.listing import Cell, Columns, details, listed
from ostinato._faces.cli.frame.options import OfTenant, Yes, argument, flag, option
from ostinato._faces.cli.frame.verbs import Noun, commands
from ostinato._faces.cli.operate.portals import portal
from ostinato._faces.cli.operate.webhook_deliveries import Name, Tenant, attempts, probe, redeliver
from ostinato._faces.cli.operate.webhook_headers import HeaderFile, headers_of

ENDPOINT = Noun("endpoint", Name, {"tenant_id": (Tenant, "default")})
NewSecret = Annotated[Path | None, option("FILE", "Write the new secret to this new file, for you alone.")]
OwnSecret = Annotated[Path | None, option("FILE", "Take the secret from this file instead.")]
Types = Annotated[list[str], option("TYPE", "order.paid, order.*, or all: *.", "--type")]
Reason = Annotated[str | None, option("TEXT", "Why, for others.")]
COUNTS = ("pending", "waiting", "held", "dead")
COLOURS = {"active": "green", "paused": "yellow", "disabled": "red"}


def list_(cli: Cli, *, tenant: OfTenant = None) -> None:
    """List endpoints: their URLs, the events they get, and what waits for them.

    Example: `ostinato webhooks list`
    """
    found, now = attach.ask_at(cli, webhooks.list_endpoints, tenant_id=tenant)
    safe = [_safe(each) for each in found]
    listed(cli, "endpoints", (safe, now), COLUMNS, empty="No webhook endpoints yet.")


def show(cli: Cli, endpoint: Name, *, tenant: Tenant = "default") -> None:
    """Show one endpoint; of its secrets only their last characters.

    Example: `ostinato webhooks show orders`
    """
    found, now = attach.ask_at(cli, webhooks.show_endpoint, endpoint, tenant_id=tenant)
    secrets = [
        f"…{hint}" + ("" if end is None else f" (ends {words.age(end, now)})")
        for hint, end in zip(found.secret_hints, found.secret_expiries, strict=True)
    ]
    facts = {
        "endpoint": found.name,
        "tenant": found.tenant_id,
        "state": found.state + (f": {found.reason}" if found.reason else ""),
        "url": _shown_url(found.url),
        "types": found.event_types,
        "description": found.description,
        "headers": found.header_names,
        "secrets": secrets,
        "order": "by key" if found.ordered else "none",
        "timeout": words.span(found.timeout_seconds),
        "disabled after": words.span(found.disable_after_seconds),
        "failing since": found.failing_since,
        "last delivered": found.last_delivered_at,
        "deliveries": [f"{getattr(found, name):,} {name}" for name in COUNTS],
    }
    cli.out.show(_safe(found), details(facts, now))


def create(
    cli: Cli,
    *,
    endpoint: Name,
    url: Annotated[str, argument("URL", "Where it is: a public https URL.")],
    secret_file: NewSecret = None,
    secret_from: OwnSecret = None,
    types: Types = ["*"],  # noqa: B006 - Typer copies it
    header: Annotated[list[str], option("NAME:VALUE", "A static header that is no secret.")] = [],  # noqa: B006 - as above
    header_file: HeaderFile = None,
    description: Annotated[str, option("TEXT", "What it is for.")] = "",
    timeout: Annotated[str, option("TIME", "Time to answer in.")] = "5s",
    disable_after: Annotated[str, option("TIME", "Failing for this long disables it.")] = "5d",
    unordered: Annotated[bool, flag("Do not wait for earlier events of the same key.", "--unordered")] = False,
    tenant: Tenant = "default",
) -> None:
    """Add an endpoint: from now on it gets the tenant's events.

    Example: `ostinato webhooks create orders https://shop.example/hooks --secret-file orders.key`
    """
    headers = headers_of(header, header_file)
    allowed = parse_allowed(cli.settings.webhooks_allow_private)
    with _secret(secret_file, secret_from) as (given, keep):
        made = attach.ask(
            cli,
            webhooks.create_endpoint,
            endpoint,
            url,
            event_types=types,
            tenant_id=tenant,
            description=description,
            headers=headers,
            timeout_seconds=words.seconds(timeout, "--timeout"),
            disable_after_seconds=words.seconds(disable_after, "--disable-after"),
            ordered=not unordered,
            secret=given,
            allowed=allowed,
        )
        hint = hint_of(keep(made.secret))
    sentence = f"endpoint {endpoint} of {tenant} gets {', '.join(types)}; its secret ends in {hint}"
    cli.out.show({"endpoint": endpoint, "tenant_id": tenant, "secret_hint": hint}, sentence)
    whose = [] if tenant == "default" else ["--tenant", shlex.quote(tenant)]
    cli.out.note(f"Try it: {cli.try_('webhooks', 'test', endpoint, *whose)}")


def change(
    cli: Cli,
    *,
    endpoint: Name,
    url: Annotated[str | None, option("URL", "Where it is now.")] = None,
    types: Annotated[list[str] | None, option("TYPE", "Only these from now on.", "--type")] = None,
    header: Annotated[list[str] | None, option("NAME:VALUE", "Static headers, instead of those before.")] = None,
    header_file: HeaderFile = None,
    description: Annotated[str | None, option("TEXT", "What it is for.")] = None,
    timeout: Annotated[str | None, option("TIME", "Time to answer in.")] = None,
    disable_after: Annotated[str | None, option("TIME", "Failing for this long disables it.")] = None,
    tenant: Tenant = "default",
) -> None:
    """Change an endpoint; deliveries under way go to the new URL.

    Example: `ostinato webhooks change orders --url https://shop.example/v2/hooks`
    """
    given = (url, types or None, header or None, header_file, description, timeout, disable_after)
    if all(value is None for value in given):
        raise InvalidInput("no change is given", hint="See: ostinato webhooks change -h")
    attach.ask(
        cli,
        webhooks.change_endpoint,
        endpoint,
        tenant_id=tenant,
        url=url,
        event_types=types or None,
        description=description,
        headers=headers_of(header or [], header_file) if header or header_file else None,
        timeout_seconds=words.seconds(timeout, "--timeout") if timeout else None,
        disable_after_seconds=(words.seconds(disable_after, "--disable-after") if disable_after else None),
        allowed=parse_allowed(cli.settings.webhooks_allow_private),
    )
    answer = {"endpoint": endpoint, "tenant_id": tenant}
    cli.out.show(answer, f"endpoint {endpoint} of {tenant} is changed")


def remove(cli: Cli, endpoint: Name, *, yes: Yes = False, tenant: Tenant = "default") -> None:
    """Remove an endpoint, its secrets, and all that was to be delivered to it.

    Example: `ostinato webhooks remove orders`
    """

    async def work(conn: AsyncConnection[Any]) -> bool:
        found = await webhooks.show_endpoint(conn, endpoint, tenant_id=tenant)
        left = sum(getattr(found, name) for name in COUNTS)
        question = f"Remove endpoint {endpoint} of {tenant}, with {left:,} not delivered?"
        if not (yes or await cli.out.confirm(question, preview=False)):
            return False
        await webhooks.remove_endpoint(conn, endpoint, tenant_id=tenant)
        return True

    gone = attach.ask(cli, work)
    sentence = f"endpoint {endpoint} of {tenant} is removed" if gone else "Nothing was changed."
    cli.out.show({"endpoint": endpoint, "tenant_id": tenant, "removed": gone}, sentence)


def rotate(
    cli: Cli,
    *,
    endpoint: Name,
    secret_file: NewSecret = None,
    secret_from: OwnSecret = None,
    overlap: Annotated[str, option("TIME", "How long the old secret signs as well.")] = "1d",
    tenant: Tenant = "default",
) -> None:
    """Give an endpoint a new secret; the old one signs as well for a while.

    Example: `ostinato webhooks rotate orders --secret-file orders.key --overlap 2d`
    """
    seconds = words.seconds(overlap, "--overlap")
    with _secret(secret_file, secret_from) as (given, keep):
        made = attach.ask(cli, webhooks.rotate, endpoint, overlap_seconds=seconds, tenant_id=tenant, secret=given)
        hint = hint_of(keep(made))
    answer = {"endpoint": endpoint, "secret_hint": hint, "overlap_seconds": seconds}
    sentence = f"endpoint {endpoint} has a new secret that ends in {hint}"
    cli.out.show(answer, f"{sentence}; the old one signs for {words.span(seconds)} more")


def _safe(endpoint: Endpoint) -> Endpoint:
    return replace(endpoint, url=_shown_url(endpoint.url))


def _shown_url(url: str) -> str:
    """Return a URL without its query, which often holds a password."""
    path, mark, _ = url.partition("?")
    return f"{path}?***" if mark else path


@contextmanager
def _secret(new: Path | None, own: Path | None) -> Iterator[tuple[str | None, Any]]:
    """Yield the secret that was given, and what keeps the one that is made.

    A secret is never printed: what a terminal shows is kept by many.
    """
    if (new is None) == (own is None):
        raise InvalidInput(
            "no file for the secret is given, or two are",
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


def _count(name: str) -> Cell:
    return lambda endpoint, _: f"{getattr(endpoint, name):,}"


def _went_on(held: int) -> str:
    return f"endpoint {{name}} is active; {held:,} held deliver{'y' if held == 1 else 'ies'} go on"


COLUMNS = Columns(
    "endpoint=name | tenant=tenant_id | state | types=event_types"
    " | pending> | waiting> | held> | dead> | failing | url",
    state=lambda endpoint, _: Text(endpoint.state, style=COLOURS[endpoint.state]),
    **{name: _count(name) for name in COUNTS},
    failing=lambda endpoint, now: words.age(endpoint.failing_since, now).removesuffix(" ago"),
)
register = commands(
    list_,
    show,
    create,
    change,
    remove,
    rotate,
    ENDPOINT.verb(
        "pause",
        webhooks.pause,
        "Stop deliveries to an endpoint; what comes meanwhile is held for it.",
        example="ostinato webhooks pause orders --reason maintenance",
        said="endpoint {name} is paused",
        answer={"state": "paused"},
        takes={"reason": (Reason, None)},
    ),
    ENDPOINT.verb(
        "resume",
        webhooks.resume,
        "Resume deliveries to a paused or disabled endpoint, held ones first.",
        example="ostinato webhooks resume orders",
        said=_went_on,
        answer={"state": "active"},
        result="held",
        rings=runtime_webhooks.QUEUE,
    ),
    attempts,
    redeliver,
    ("test", probe),
    portal,
)
