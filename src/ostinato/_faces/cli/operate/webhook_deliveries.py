"""`ostinato webhooks attempts | redeliver | test` lists what was sent, and sends it again."""

from typing import Annotated

import typer
from rich.text import Text

from ostinato._core.base.errors import InvalidInput
from ostinato._core.db.call import Connection
from ostinato._core.engine import queues, webhook_deliveries, webhooks
from ostinato._core.engine.webhook_deliveries import Attempt
from ostinato._core.runtime.services import webhooks as runtime_webhooks
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.listing import Columns, paged
from ostinato._faces.cli.frame.options import Preview, Yes, argument, flag, option

Name = Annotated[str, argument("ENDPOINT", "The endpoint's name.")]
Tenant = Annotated[str, option("TENANT", "Whose endpoint it is.", "--tenant")]
COLUMNS = Columns(
    "delivery=delivery_id> | event=event_id | type=event_type | attempt> | when=at | outcome"
    " | took> | next=next_at | answer",
    outcome=lambda each, _: Text(each.outcome, style="green" if each.outcome == "delivered" else "red"),
    took=lambda each, _: f"{each.duration_ms:,} ms",
    answer=lambda each, _: each.error or each.answer,
)


def attempts(
    cli: Cli,
    *,
    endpoint: Name,
    delivery: Annotated[int | None, option("ID", "Only of this delivery.", min=0)] = None,
    before: Annotated[int | None, option("ID", "Only older than this attempt.", min=0)] = None,
    most: Annotated[int, option("N", "At most N.", min=1, max=1000)] = 50,
    tenant: Tenant = "default",
) -> None:
    """List attempts and their results, newest first.

    Example: `ostinato webhooks attempts orders --most 10`
    """

    async def look(conn: Connection) -> list[Attempt]:
        await webhooks.show_endpoint(conn, endpoint, tenant_id=tenant)  # or say that there is none
        return await webhook_deliveries.list_attempts(
            conn, endpoint, tenant_id=tenant, delivery_id=delivery, before=before, most=most
        )

    found = attach.ask_at(cli, look)
    paged(cli, "attempts", found, COLUMNS, empty="No attempts yet.", most=most, by="attempt_id")


def redeliver(
    cli: Cli,
    *,
    endpoint: Name,
    deliveries: Annotated[list[int], argument("DELIVERY", "Only these.", min=0, show_default=False)] = [],  # noqa: B006 - Typer copies it
    event: Annotated[list[str], option("ID", "Only of these events.")] = [],  # noqa: B006 - as above
    since: Annotated[str | None, option("TIME", "Only those made since: 2026-03-01T09:00:00Z.")] = None,
    every: Annotated[bool, flag("All that are dead.", "--all")] = False,
    delivered: Annotated[bool, flag("Also those that were delivered.", "--delivered")] = False,
    most: Annotated[int | None, option("N", "At most N, oldest first: a canary.", min=1)] = None,
    preview: Preview = False,
    yes: Yes = False,
    tenant: Tenant = "default",
) -> None:
    """Send dead deliveries again, with the same ids; says how many, and asks first.

    Example: `ostinato webhooks redeliver orders --since 2026-03-01T09:00:00Z --most 5`
    """
    if not (deliveries or event or since or every):
        raise InvalidInput("no deliveries are named", hint="Name deliveries, give --event or --since, or say --all.")
    wide = delivered or bool(deliveries) or bool(event)

    async def work(conn: Connection) -> dict[str, int]:
        await webhooks.show_endpoint(conn, endpoint, tenant_id=tenant)
        found = await webhook_deliveries.find(
            conn,
            endpoint,
            tenant_id=tenant,
            states=("dead", "delivered") if wide else ("dead",),
            since=None if since is None else words.moment(since, "--since"),
            event_ids=event or None,
            ids=deliveries or None,
        )
        chosen = found[:most]
        counts = {"matching": len(found), "chosen": len(chosen), "redelivered": 0}
        if preview or not chosen:
            return counts
        question = f"Send {len(chosen):,} of {len(found):,} again?"
        if not (yes or await cli.out.confirm(question)):
            return counts | {"chosen": 0}
        count = await webhook_deliveries.redeliver(conn, endpoint, chosen, tenant_id=tenant)
        await queues.ring(conn, runtime_webhooks.QUEUE)
        return counts | {"redelivered": count}

    counts = attach.ask(cli, work)
    cli.out.show(counts, _outcome(counts, preview=preview))


def probe(cli: Cli, endpoint: Name, *, tenant: Tenant = "default") -> None:
    """Send a test message to an endpoint, now and from here, and show the result.

    Example: `ostinato webhooks test orders`
    """
    met = attach.ask(cli, runtime_webhooks.probe, endpoint, tenant_id=tenant, settings=cli.settings)
    what = met.error or f"answered {met.status}"
    cli.out.show(met, f"{met.outcome}: {what} ({met.milliseconds:,} ms)")
    if met.answer:
        cli.out.note(met.answer)
    if met.outcome != "delivered":
        raise typer.Exit(1)


def _outcome(counts: dict[str, int], *, preview: bool) -> str:
    if counts["matching"] == 0:
        return "No delivery matches."
    if counts["chosen"] == 0:
        return "Nothing was changed."
    if preview:
        return f"{counts['chosen']:,} of {counts['matching']:,} that match would be sent again."
    return f"{counts['redelivered']:,} are sent again."
