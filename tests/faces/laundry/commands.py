"""`ostinato laundry …`."""

import typer
from rich.text import Text

from ostinato.commands import Cli, ask, command, group
from tests.faces.laundry import database
from tests.faces.laundry.settings import LaundrySettings


def baskets(cli: Cli) -> None:
    """Count the baskets that were washed, and say how fast.

    Example: `ostinato laundry baskets`
    """
    washed, speed = ask(cli, database.count), cli.settings.section(LaundrySettings).speed
    cli.out.show({"washed": washed, "speed": speed}, Text(f"{washed} baskets, {speed} turns"))


def register(root: typer.Typer) -> None:
    """Add the commands."""
    command(group(root, "laundry", "Look at what was washed."), "baskets")(baskets)
