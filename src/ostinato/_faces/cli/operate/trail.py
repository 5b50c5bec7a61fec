"""`ostinato trail` lists everything that happened for one correlation id, in order."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from rich.text import Text

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import inspect
from ostinato._core.engine.inspect import TrailLine
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.document import parsed
from ostinato._faces.cli.frame.listing import Columns
from ostinato._faces.cli.frame.options import Tenant, argument, option
from ostinato._faces.cli.frame.verbs import commands


def trail(
    cli: Cli,
    correlation: Annotated[str, argument("CORRELATION_ID", "Or job-<id>, of a job without one.")],
    tenant: Tenant = None,
    most: Annotated[int, option("N", "At most this many lines.", min=1, max=10000)] = 1000,
) -> None:
    """List everything that happened for a correlation id: jobs, attempts, events, callbacks.

    Example: `ostinato trail req-42`
    """
    found, now = attach.ask_at(cli, inspect.trail, correlation, tenant_id=tenant, most=most)
    if not found:
        raise NotFound(
            f"nothing is known of correlation id {correlation!r}",
            hint="What is past retention is gone; the id of a job without one is job-<id>.",
            correlation_id=correlation,
        )
    columns = Columns(
        "time | after> | =source | what | state | job> | more",
        time=lambda line, _: f"{line.at:%Y-%m-%d %H:%M:%S.%f}"[:-3],
        after=lambda line, _: _after(line.at, found[0].at),
        state=lambda line, _: words.state(line.state),
        job=lambda line, _: _job(line),
        more=lambda line, _: Text(_more(parsed(line.detail)), style="dim"),
    )
    answer = {"correlation_id": correlation, "trail": found}
    cli.out.show(answer, columns.table(found, now))


def _after(at: datetime, first: datetime) -> str:
    return f"+{words.span(max(0.0, (at - first).total_seconds()))}"


def _job(line: TrailLine) -> str:
    if line.job_id is None:
        return ""
    return f"{line.job_id}" if line.attempt is None else f"{line.job_id}/{line.attempt}"


def _more(detail: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in detail.items() if value is not None)


register = commands(trail)
