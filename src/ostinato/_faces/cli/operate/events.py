"""`ostinato events …` lists events, their deliveries, and what could not be delivered."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from ostinato._core.base.errors import InvalidInput
from ostinato._core.db.call import Connection
from ostinato._core.engine import clock, outbox, queues
from ostinato._core.engine import subscriptions as engine_subscriptions
from ostinato._core.engine.outbox import RELAY, EventDetails, EventSummary
from ostinato._core.engine.subscriptions import MOST_COUNTED, Buried, EventDelivery, Subscription
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli, command
from ostinato._faces.cli.frame.document import to_json
from ostinato._faces.cli.frame.output import grid, table
from ostinato._faces.cli.operate.jobs import Most, Tenant

Name = Annotated[str, typer.Argument(metavar="SUBSCRIPTION", help="The subscription's name.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Preview = Annotated[bool, typer.Option("--preview", help="Only count.")]
Positions = Annotated[list[int], typer.Argument(metavar="POSITION", min=1, help="Only these.", show_default=False)]


def list_(
    cli: Cli,
    *,
    type_: Annotated[str | None, typer.Option("--type", metavar="NAME", help="Only of this type.")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="Only with this key.")] = None,
    tenant: Tenant = None,
    correlation: Annotated[str | None, typer.Option(metavar="ID", help="Only with this correlation id.")] = None,
    before: Annotated[int | None, typer.Option(metavar="EVENT", help="The next page: only older than this id.")] = None,
    most: Most = 50,
) -> None:
    """List events, newest first.

    Example: `ostinato events list --type invoice.paid --key invoice-7`
    """

    async def look(conn: Connection) -> tuple[list[EventSummary], datetime]:
        found = await outbox.list_events(
            conn, type=type_, ordering_key=key, tenant_id=tenant, correlation_id=correlation, before=before, most=most
        )
        return found, await clock.now(conn)

    found, now = attach.ask(cli, look)
    following = found[-1].id if len(found) == most else None
    right = ("event", "position")
    shown = table("event", "position", "type", "key", "tenant", "correlation", "emitted", right=right)
    for event in found:
        shown.add_row(
            str(event.id),
            "" if event.position is None else str(event.position),
            f"{event.type} v{event.version}",
            event.ordering_key or "",
            event.tenant_id,
            event.correlation_id,
            words.age(event.emitted_at, now),
        )
    answer = {"events": found, "next": following}
    cli.out.show(answer, shown if found else Text("No events."))
    if following is not None:
        cli.out.note(f"There may be more: add --before {following}")


def show(cli: Cli, event: Annotated[int, typer.Argument(metavar="EVENT", min=0, help="The event's id.")]) -> None:
    """Show everything about one event, and its jobs that are not over.

    Example: `ostinato events show 3180000000001`
    """

    async def look(conn: Connection) -> tuple[EventDetails, list[EventDelivery], datetime]:
        found = await outbox.show_event(conn, event)
        lines = await engine_subscriptions.deliveries_of(conn, event)
        return found, lines, await clock.now(conn)

    found, lines, now = attach.ask(cli, look)
    shown = grid()
    shown.add_row("event", str(found.id))
    shown.add_row("type", f"{found.type}, version {found.version}")
    shown.add_row("position", "not yet" if found.position is None else str(found.position))
    shown.add_row("key", found.ordering_key or "none: no order")
    shown.add_row("tenant", found.tenant_id)
    shown.add_row("correlation", found.correlation_id)
    shown.add_row("producer", found.producer)
    shown.add_row("occurred", f"{found.occurred_at.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f} UTC")
    shown.add_row("emitted", words.age(found.emitted_at, now))
    shown.add_row("payload", to_json(found.payload))
    for line in lines:
        failed = f", {words.counted(line.failures, 'failure')}" if line.failures else ""
        reason = f", {line.reason}" if line.reason else ""
        shown.add_row(line.subscription, f"job {line.job_id}: {line.state}{reason}{failed}")
    cli.out.show({"event": found, "deliveries": lines}, shown)


def subscriptions(cli: Cli) -> None:
    """List subscriptions: what they get, and how far they are.

    Example: `ostinato events subscriptions`
    """
    found = attach.ask(cli, engine_subscriptions.list_subscriptions)
    counts = ("behind", "waiting", "held", "buried")
    shown = table("subscription", "state", "types", *counts, "lag", right=counts)
    for line in found:
        shown.add_row(
            line.name,
            Text("paused", style="yellow") if line.paused else Text("open", style="green"),
            ", ".join(line.types) if line.types else "all",
            *(f"{getattr(line, name):,}" for name in counts),
            words.span(line.lag_seconds) if line.lag_seconds else "",
        )
    cli.out.show({"subscriptions": found}, shown if found else Text("No subscriptions."))


def pause(cli: Cli, subscription: Name) -> None:
    """Stop deliveries; what has begun goes on. Retention does not wait for a paused subscription.

    Example: `ostinato events pause billing.send_receipt`
    """
    attach.ask(cli, lambda conn: engine_subscriptions.pause(conn, subscription))
    cli.out.show({"subscription": subscription, "paused": True}, f"subscription {subscription} is paused")
    cli.out.note("Events past retention are dropped even if it has not had them.")


def resume(cli: Cli, subscription: Name) -> None:
    """Resume deliveries.

    Example: `ostinato events resume billing.send_receipt`
    """

    async def go_on(conn: Connection) -> None:
        await engine_subscriptions.resume(conn, subscription)
        await queues.ring(conn, RELAY)

    attach.ask(cli, go_on)
    cli.out.show({"subscription": subscription, "paused": False}, f"subscription {subscription} is open")


def replay(
    cli: Cli,
    *,
    subscription: Name,
    position: Annotated[int | None, typer.Option("--from", metavar="POSITION", min=1, help="From this one on.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="From what was emitted at this time on.")] = None,
    preview: Preview = False,
    yes: Yes = False,
) -> None:
    """Deliver events again, and everything behind them; says how many, and asks, before it does.

    Example: `ostinato events replay billing.send_receipt --since 2026-03-01T09:00:00Z`
    """
    if (position is None) == (since is None):
        raise InvalidInput("the start of the replay is not given", hint="Give --from POSITION or --since TIME.")
    place: int | datetime = position or words.moment(since or "", "--since")

    async def work() -> dict[str, int]:
        async with attach.connection(cli) as conn:
            count = await outbox.replay(conn, subscription, place, preview=True)
            question = f"Deliver {_counted(count)} to {subscription} again?"
            if preview or not (yes or await cli.out.confirm(question)):
                return {"matching": count, "replayed": 0}
            await outbox.replay(conn, subscription, place)
            await queues.ring(conn, RELAY)
            return {"matching": count, "replayed": count}

    result = attach.run(work())
    done = _counted(result["matching"])
    sentence = f"Delivered again: {done}." if result["replayed"] else "Nothing was changed."
    cli.out.show(result, f"Would be delivered again: {done}." if preview else sentence)


def _counted(events: int) -> str:
    """Say how many events a replay is of, as far as they are counted."""
    return f"{'at least ' if events >= MOST_COUNTED else ''}{words.counted(events, 'event')}"


def buried(
    cli: Cli,
    *,
    subscription: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this subscription.")] = None,
    before: Annotated[int | None, typer.Option(metavar="JOB", help="The next page: only older than this job.")] = None,
    most: Most = 50,
) -> None:
    """List buried events: the dead letters of subscriptions, and why they are.

    Example: `ostinato events buried --subscription billing.send_receipt`
    """

    async def look(conn: Connection) -> tuple[list[Buried], datetime]:
        found = await engine_subscriptions.buried(conn, subscription, before=before, most=most)
        return found, await clock.now(conn)

    found, now = attach.ask(cli, look)
    shown = table("position", "job", "subscription", "type", "key", "buried", "reason", "error")
    for line in found:
        shown.add_row(
            str(line.position),
            str(line.job_id),
            line.subscription,
            line.type,
            line.ordering_key or "",
            words.age(line.buried_at, now),
            line.reason,
            line.signature,
        )
    following = found[-1].job_id if len(found) == most else None
    answer = {"buried": found, "next": following}
    cli.out.show(answer, shown if found else Text("Nothing is buried."))


def redeliver(
    cli: Cli,
    *,
    subscription: Name,
    positions: Positions = [],  # noqa: B006 - Typer copies it
    every: Annotated[bool, typer.Option("--all", help="All buried events of it.")] = False,
    preview: Preview = False,
    yes: Yes = False,
) -> None:
    """Deliver buried events again: redrive their jobs; says how many, and asks, before it does.

    Example: `ostinato events redeliver billing.send_receipt --all`
    """
    chosen = _chosen(positions, every=every)

    async def work() -> dict[str, int]:
        async with attach.connection(cli) as conn:
            count = await outbox.redeliver(conn, subscription, chosen, preview=True)
            question = f"Deliver {words.counted(count, 'buried event')} again?"
            if preview or not count or not (yes or await cli.out.confirm(question)):
                return {"matching": count, "redelivered": 0}
            done = await outbox.redeliver(conn, subscription, chosen)
            await queues.ring(conn, RELAY)
            return {"matching": count, "redelivered": done}

    result = attach.run(work())
    would = f"Would be delivered again: {words.counted(result['matching'], 'event')}."
    done = f"Delivered again: {result['redelivered']:,} of {result['matching']:,}."
    cli.out.show(result, would if preview else done)


def discard(
    cli: Cli,
    subscription: Name,
    positions: Annotated[list[int], typer.Argument(metavar="POSITION", min=1, help="As `events buried` shows them.")],
) -> None:
    """Give up buried events for good: cancel their jobs; a key that they block goes on.

    Example: `ostinato events discard billing.send_receipt 42`
    """

    async def give_up(conn: Connection) -> int:
        done = await outbox.discard(conn, subscription, positions)
        await queues.ring(conn, RELAY)
        return done

    done = attach.ask(cli, give_up)
    cli.out.show({"discarded": done}, f"{words.counted(done, 'event')} discarded.")


def unsubscribe(cli: Cli, subscription: Name, *, yes: Yes = False) -> None:
    """Remove a subscription, and cancel its jobs that have not begun.

    A worker whose app declares it makes it anew when it starts.

    Example: `ostinato events unsubscribe billing.send_receipt`
    """

    async def work() -> bool:
        async with attach.connection(cli) as conn:
            found = await engine_subscriptions.list_subscriptions(conn)
            question = f"Remove {subscription}, {_left(found, subscription)}?"
            if not (yes or await cli.out.confirm(question, preview=False)):
                return False
            await engine_subscriptions.drop(conn, subscription)
            return True

    gone = attach.run(work())
    said = f"subscription {subscription} is gone" if gone else "Nothing was changed."
    cli.out.show({"subscription": subscription, "removed": gone}, said)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "list")(list_)
    for each in (show, subscriptions, pause, resume, replay, buried, redeliver, discard):
        command(app)(each)
    command(app)(unsubscribe)


def _chosen(positions: list[int], *, every: bool) -> list[int] | None:
    if bool(positions) == every:
        raise InvalidInput("name buried events or all of them, one of the two", hint="Name positions, or say --all.")
    return list(positions) or None


def _left(found: list[Subscription], name: str) -> str:
    for line in found:
        if line.name == name:
            left = line.behind + line.waiting + line.held + line.buried
            return f"with {words.counted(left, 'event')} that it has not settled"
    return "which is not there"
