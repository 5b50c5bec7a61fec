"""`ostinato alerts ack | silence | unsilence`: what people do about alerts that fire."""

from datetime import datetime, timedelta
from typing import Annotated, Any

from psycopg import AsyncConnection

from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.engine import alerts, clock
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.options import argument, option

Name = Annotated[str, argument("ALERT", "The alert's name.")]
Label = Annotated[str | None, option("TEXT", "Only this label, such as a queue; without it, all.")]


def ack(cli: Cli, alert: Name, *, label: Label = None) -> None:
    """Acknowledge what an alert fires for: you have seen it. It fires on.

    Example: `ostinato alerts ack ostinato.dead_letters --label mail`
    """
    count = attach.ask(cli, alerts.acknowledge, alert, label=label)
    said = f"{words.counted(count, 'firing')} of {alert} acknowledged"
    cli.out.show({"alert": alert, "label": label, "acknowledged": count}, said)


def silence(
    cli: Cli,
    alert: Name,
    *,
    lasting: Annotated[str | None, option("TIME", "For this long: 90m, 2h, 1d.", "--for")] = None,
    until: Annotated[str | None, option("TIME", "Or until a moment: 2026-03-01T09:00:00Z.")] = None,
    label: Label = None,
) -> None:
    """Send no event of an alert for a while; it is measured and shown as before.

    When the silence ends, what still fires is sent.

    Example: `ostinato alerts silence ostinato.queue_age --for 2h --reason "the import runs"`
    """
    if (lasting is None) == (until is None):
        raise InvalidInput("the end of the silence is not given, or given twice", hint="Give one of --for and --until.")
    if cli.reason is None:
        raise InvalidInput(f"a silence of {alert} needs a reason", hint='Give --reason "…": others will read it.')
    reason = cli.reason

    async def work(conn: AsyncConnection[Any]) -> datetime:
        end = (
            words.moment(until, "--until")
            if until is not None
            else await clock.now(conn) + timedelta(seconds=words.seconds(lasting or "", "--for"))
        )
        await alerts.silence(conn, alert, until=end, reason=reason, label=label)
        return end

    end = attach.ask(cli, work)
    cli.out.show({"alert": alert, "label": label, "until": end}, f"{alert} is silent until {end:%Y-%m-%d %H:%M:%S %Z}")


def unsilence(cli: Cli, alert: Name, *, label: Label = None) -> None:
    """End a silence before its time; what it kept back is sent with the next evaluation.

    Example: `ostinato alerts unsilence ostinato.queue_age`
    """
    if not attach.ask(cli, alerts.unsilence, alert, label=label):
        of = f" for {label}" if label is not None else ""
        raise NotFound(f"alert {alert} is not silenced{of}", hint=f"See: {cli.try_('alerts', 'list')}")
    cli.out.show({"alert": alert, "label": label, "silenced": False}, f"{alert} sends its events again")
