"""`ostinato metrics`: the engine's figures, for Prometheus or for people."""

from typing import Annotated, Any

import typer
from psycopg import AsyncConnection

from ostinato.base import metrics as declared
from ostinato.cli import attach
from ostinato.cli.command import Cli, command
from ostinato.cli.output import table
from ostinato.engine import observe
from ostinato.engine.observe import Figure

__all__ = ["register"]


def metrics(
    cli: Cli,
    *,
    prometheus: Annotated[
        bool, typer.Option("--prometheus", help="Print the page that Prometheus reads.")
    ] = False,
) -> None:
    """Show the engine's figures: depth and age of queues, workers, dead rows.

    What single workers count, they serve themselves; this is what the database knows.

    Example: `ostinato metrics --prometheus`
    """

    async def look(conn: AsyncConnection[Any]) -> tuple[list[Figure], bytes]:
        found = await observe.figures(conn)
        page = declared.render([await observe.record(conn)]) if prometheus else b""
        return found, page

    found, page = attach.ask(cli, look)
    if prometheus:
        print(page.decode(), end="")
        return
    shown = table("figure", "of", "value")
    for figure in found:
        shown.add_row(figure.name, figure.label, f"{figure.value:,.12g}")
    cli.out.show({"figures": found}, shown)


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app)(metrics)
