"""`ostinato enrichment …` runs companies again whose last run did not end well."""

from typing import Annotated

import typer

from ostinato import commands
from ostinato.apps.enrichment.model import ErrorCode
from ostinato.commands import Cli, command
from ostinato.commands import group as group_of


def rerun(
    cli: Cli,
    *,
    status: Annotated[
        list[str] | None, typer.Option(metavar="STATUS", help="FAILED or PARTIAL. Repeatable. [default: both]")
    ] = None,
    error: Annotated[
        list[ErrorCode] | None,
        typer.Option(
            metavar="CODE",
            case_sensitive=False,
            help="What a source said: TIMEOUT, AUTH_ERROR … Repeatable. [default: what passes]",
        ),
    ] = None,
    tenant: Annotated[str | None, typer.Option(metavar="ID", help="Companies that this tenant asked for.")] = None,
    most: Annotated[int, typer.Option(metavar="N", min=1, max=10_000, help="At most this many companies.")] = 1000,
) -> None:
    """Run companies again whose last run ended PARTIAL or FAILED.

    Example: `ostinato enrichment rerun --status PARTIAL --error AUTH_ERROR`
    """
    from ostinato.apps.enrichment.rerun import Selection, rerun_all
    from ostinato.errors import InvalidInput

    wanted = [each.upper() for each in status or ("FAILED", "PARTIAL")]
    if odd := sorted(set(wanted) - {"FAILED", "PARTIAL"}):
        raise InvalidInput(
            f"companies that are {', '.join(odd)} are not run again",
            hint="Name FAILED or PARTIAL; a company that is STALE runs when it is opened, and in the night.",
        )
    given = {"status": sorted(set(wanted)), "most": most} | ({} if error is None else {"error": sorted(set(error))})
    found = commands.ask(cli, rerun_all, Selection.model_validate(given), tenant)
    many = "1 company" if found.companies == 1 else f"{found.companies:,} companies"
    left = " More of them match: run it again." if found.more else ""
    cli.out.show(found.model_dump(), f"{many} will be run again.{left}")


def register(root: typer.Typer) -> None:
    """Add them to the command line."""
    enrichment = group_of(root, "enrichment", "Run companies again.")
    command(enrichment)(rerun)
