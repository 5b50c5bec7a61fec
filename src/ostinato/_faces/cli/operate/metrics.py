"""`ostinato metrics` shows the figures of the engine and the applications, or exports them."""

from collections.abc import Iterator
from typing import Annotated, Any

from psycopg import AsyncConnection

from ostinato._core.base.metrics import Recorder
from ostinato._core.engine import observe
from ostinato._core.engine.observe import PREFIX, Figure
from ostinato._core.runtime.observe import figures
from ostinato._core.runtime.observe.figures import Shown
from ostinato._faces.cli.frame import attach
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.options import flag
from ostinato._faces.cli.frame.output import table
from ostinato._faces.cli.frame.verbs import commands


def metrics(
    cli: Cli, *, prometheus: Annotated[bool, flag("Print the page that Prometheus reads.", "--prometheus")] = False
) -> None:
    """Show the engine's figures (depth and age of queues, workers, dead rows) and those of apps.

    What single workers count, they serve themselves; this is what the database knows.

    Example: `ostinato metrics --prometheus`
    """

    async def look(conn: AsyncConnection[Any]) -> tuple[list[Figure], bytes]:
        counted = Recorder()
        theirs = await figures.ask(conn, cli.apps, counted)
        if not prometheus:
            return [*await observe.figures(conn), *_of_apps(theirs)], b""
        recorders = [await observe.record(conn), *theirs.recorders, counted]
        from ostinato._core.base.prometheus import render

        return [], render(recorders, theirs.metrics)

    found, page = attach.ask(cli, look)
    if prometheus:
        print(page.decode(), end="")
        return
    shown = table("figure", "of", "value")
    for figure in found:
        shown.add_row(figure.name, figure.label, f"{figure.value:,.12g}")
    cli.out.show({"figures": found}, shown)


def _of_apps(shown: Shown) -> Iterator[Figure]:
    for metric in shown.metrics:
        for recorder in shown.recorders:
            for labels, _, value in recorder.series(metric):
                yield Figure(metric.name.removeprefix(PREFIX), " ".join(labels), value)


register = commands(metrics)
