"""`ostinato webhooks attempts | redeliver | test`: what was sent, and sending it again."""

from datetime import datetime
from typing import Annotated, Any

import typer
from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import clock, queues, webhooks
from ostinato._core.engine.webhooks import Attempt
from ostinato._core.runtime.services import webhooks as runtime_webhooks
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli, command
from ostinato._faces.cli.frame.output import table

__all__ = ["Name", "Tenant", "register"]

Connection = AsyncConnection[Any]

Name = Annotated[str, typer.Argument(metavar="ENDPOINT", help="The endpoint's name.")]
Tenant = Annotated[str, typer.Option(metavar="TENANT", help="Whose endpoint it is.")]


def attempts(
    cli: Cli,
    *,
    endpoint: Name,
    delivery: Annotated[
        int | None, typer.Option(metavar="ID", min=0, help="Only of this delivery.")
    ] = None,
    before: Annotated[
        int | None, typer.Option(metavar="ID", min=0, help="Only older than this attempt.")
    ] = None,
    most: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="At most N.")] = 50,
    tenant: Tenant = "default",
) -> None:
    """What each attempt met, newest first.

    Example: `ostinato webhooks attempts orders --most 10`
    """

    async def look(conn: Connection) -> tuple[list[Attempt], datetime]:
        await webhooks.show_endpoint(conn, endpoint, tenant_id=tenant)  # or say that there is none
        found = await webhooks.list_attempts(
            conn, endpoint, tenant_id=tenant, delivery_id=delivery, before=before, most=most
        )
        return found, await clock.now(conn)

    found, now = attach.ask(cli, look)
    following = found[-1].attempt_id if len(found) == most else None
    right = ("delivery", "attempt", "took")
    columns = ("delivery", "event", "type", "attempt", "when", "outcome", "took", "next", "answer")
    shown = table(*columns, right=right)
    for each in found:
        shown.add_row(
            str(each.delivery_id),
            each.event_id,
            each.event_type,
            str(each.attempt),
            words.age(each.at, now),
            Text(each.outcome, style="green" if each.outcome == "delivered" else "red"),
            f"{each.duration_ms:,} ms",
            words.age(each.next_at, now),
            each.error or each.answer or "",
        )
    answer = {"attempts": found, "next": following}
    cli.out.show(answer, shown if found else Text("No attempts yet."))
    if following is not None:
        cli.out.note(f"There may be more: add --before {following}")


def redeliver(
    cli: Cli,
    *,
    endpoint: Name,
    deliveries: Annotated[
        list[int],
        typer.Argument(metavar="DELIVERY", min=0, help="Only these.", show_default=False),
    ] = [],  # noqa: B006 - Typer copies it
    event: Annotated[list[str], typer.Option(metavar="ID", help="Only of these events.")] = [],  # noqa: B006 - as above
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Only those made since: 2026-03-01T09:00:00Z."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All that are dead.")] = False,
    delivered: Annotated[
        bool, typer.Option("--delivered", help="Also those that were delivered.")
    ] = False,
    most: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most N, oldest first: a canary.")
    ] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Only count.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    tenant: Tenant = "default",
) -> None:
    """Send again what gave up, with the same ids; says how many, and asks, before it does.

    Example: `ostinato webhooks redeliver orders --since 2026-03-01T09:00:00Z --most 5`
    """
    if not (deliveries or event or since or every):
        raise InvalidInput(
            "nothing says which deliveries to send again",
            hint="Name deliveries, give --event or --since, or say --all.",
        )
    wide = delivered or bool(deliveries) or bool(event)

    async def work() -> dict[str, int]:
        async with attach.connection(cli) as conn:
            await webhooks.show_endpoint(conn, endpoint, tenant_id=tenant)
            found = await webhooks.find(
                conn,
                endpoint,
                tenant_id=tenant,
                states=("dead", "delivered") if wide else ("dead",),
                since=None if since is None else words.moment(since, "--since"),
                event_ids=event or None,
                ids=deliveries or None,
            )
            chosen = found[:most]
            told = {"matching": len(found), "chosen": len(chosen), "redelivered": 0}
            if preview or not chosen:
                return told
            question = f"Send {len(chosen):,} of {len(found):,} again?"
            if not (yes or await cli.out.confirm(question)):
                return told | {"chosen": 0}
            count = await webhooks.redeliver(conn, endpoint, chosen, tenant_id=tenant)
            await queues.ring(conn, runtime_webhooks.QUEUE)
            return told | {"redelivered": count}

    told = attach.run(work())
    cli.out.show(told, _outcome(told, preview=preview))


def probe(cli: Cli, endpoint: Name, *, tenant: Tenant = "default") -> None:
    """Send a test message to an endpoint, now and from here, and show what it met.

    Example: `ostinato webhooks test orders`
    """

    async def send(conn: Connection) -> runtime_webhooks.Met:
        return await runtime_webhooks.probe(conn, endpoint, tenant_id=tenant, settings=cli.settings)

    met = attach.ask(cli, send)
    what = met.error or f"answered {met.status}"
    cli.out.show(met, f"{met.outcome}: {what} ({met.milliseconds:,} ms)")
    if met.answer:
        cli.out.note(met.answer)
    if met.outcome != "delivered":
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app)(attempts)
    command(app)(redeliver)
    command(app, "test")(probe)


def _outcome(told: dict[str, int], *, preview: bool) -> str:
    if told["matching"] == 0:
        return "No delivery matches."
    if told["chosen"] == 0:
        return "Nothing was changed."
    if preview:
        return f"{told['chosen']:,} of {told['matching']:,} that match would be sent again."
    return f"{told['redelivered']:,} are sent again."
