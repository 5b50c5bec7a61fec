"""The options that commands of several nouns share, and short ways to declare one."""

import re
from typing import Annotated, Any

import typer

_ID = re.compile(r"[0-9]{1,18}")


def option(metavar: str, about: str, *names: str, **more: Any) -> Any:  # noqa: ANN401 - as Typer
    """Return an option with a value; without `names` it is called as its parameter is."""
    return typer.Option(*names, metavar=metavar, help=about, **more)


def flag(about: str, *names: str) -> Any:  # noqa: ANN401 - as Typer
    """Return an option without a value."""
    return typer.Option(*names, help=about)


def argument(metavar: str, about: str, **more: Any) -> Any:  # noqa: ANN401 - as Typer
    """Return an argument, by its place."""
    return typer.Argument(metavar=metavar, help=about, **more)


def job_id(text: str) -> int:
    """Read the id of a job."""
    if _ID.fullmatch(text) is None:
        raise typer.BadParameter(f"{text[:50]!r} is not the id of a job, such as 3200000000002: ostinato jobs list")
    return int(text)


JobId = Annotated[int, argument("JOB", "The job's id.", parser=job_id)]
JobIds = Annotated[list[int], argument("JOB", "The jobs' ids.", parser=job_id)]
Queue = Annotated[str | None, option("NAME", "Only of this queue.", "--queue")]
Kind = Annotated[str | None, option("NAME", "Only of this kind.", "--kind")]
Tenant = Annotated[str | None, option("ID", "Only of this tenant.", "--tenant")]
OfTenant = Annotated[str | None, option("TENANT", "Only of this tenant.")]
Before = Annotated[int | None, option("JOB", "The next page: only jobs older than this id.")]
Most = Annotated[int, option("N", "At most this many.", min=1, max=1000)]
Preview = Annotated[bool, flag("Only count.", "--preview")]
Yes = Annotated[bool, flag("Do not ask.", "--yes", "-y")]
