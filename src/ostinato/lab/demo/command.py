"""`ostinato demo` runs scenarios end to end, on a running system or on a fresh one."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ostinato._faces.cli.frame import attach
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.output import table
from ostinato._faces.cli.frame.words import counted

if TYPE_CHECKING:
    from ostinato.lab.demo.run import Result


def demo(
    cli: Cli,
    *,
    scenario: Annotated[list[str], typer.Option(metavar="NAME", help="Run only this one; may be repeated.")] = [],  # noqa: B006 - Typer copies it
    url: Annotated[str | None, typer.Option(metavar="URL", help="Of an API that runs; else the folder's.")] = None,
    key_file: Annotated[str | None, typer.Option(metavar="FILE", help="Its key (demo-key in the folder).")] = None,
    sandbox: Annotated[str | None, typer.Option(metavar="URL", help="Of the sandbox that it can reach.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Use a fresh system, even if one runs.")] = False,
) -> None:
    """Show what is promised: run scenarios end to end, and say what each one proved.

    They run on what `ostinato up --demo` started in this folder, or at --url; if nothing runs, on a
    fresh system in a temporary folder, which is gone afterwards. Exit code 1: a scenario failed.

    Example: `ostinato demo --scenario engine`
    """
    from ostinato.lab.demo import run as demo_run

    chosen = demo_run.choose(list(scenario), cli.apps)
    wanted = demo_run.Wanted(url=url, key_file=key_file, sandbox=sandbox, fresh=fresh)
    results = attach.run(demo_run.run(cli, chosen, wanted))
    _show(cli, results)
    if not all(result.holds for result in results):
        raise typer.Exit(1)


def _show(cli: Cli, results: "list[Result]") -> None:
    shown = table("scenario", "what was proved", "result", "time", right=("time",))
    for result in results:
        proofs = Text("\n".join(f"✓ {proof}" for proof in result.proved))
        if result.error is not None:
            proofs.append(("\n" if result.proved else "") + f"✗ {result.error}", "red")
        verdict = Text("proved", "green") if result.holds else Text("FAILED", "bold red")
        shown.add_row(result.name, proofs, verdict, f"{result.seconds:.1f} s")
    failed = sum(not result.holds for result in results)
    said = f"{counted(failed, 'scenario')} failed" if failed else "everything holds"
    answer = {
        "holds": not failed,
        "scenarios": [
            {**asdict(result), "holds": result.holds, "seconds": round(result.seconds, 3)} for result in results
        ],
    }
    cli.out.show(answer, shown, Text(said))
