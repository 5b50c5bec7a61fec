"""An application adds its own commands to the command line of Ostinato.

    import typer

    from ostinato.commands import Cli, ask, command, group, table

    def unpaid(cli: Cli) -> None:
        \"\"\"List the invoices that nobody has paid.\"\"\"
        found = ask(cli, list_unpaid)           # a coroutine function that takes a connection
        shown = table("invoice", "since")
        for each in found:
            shown.add_row(each.number, str(each.since))
        cli.out.show(found, shown)              # JSON with --json, else the table

    def register(root: typer.Typer) -> None:
        billing = group(root, "billing", "Look at invoices.")
        command(billing)(unpaid)

Each command gets `--json`, `--data-dir`, `--database-url`, `--config`, `--quiet`, `--verbose` and
`--debug`; what it raises becomes one sentence with its remedy and an exit code.
The `App` names the function: `commands="acme.billing.commands:register"`.
"""

from ostinato._faces.cli.frame.attach import ask
from ostinato._faces.cli.frame.command import Cli, command, group
from ostinato._faces.cli.frame.output import Output, Screen, table
from ostinato._faces.cli.frame.words import counted, moment
from ostinato._faces.cli.serve.listening import listen, serve, url_of
from ostinato._faces.cli.serve.process import Stop, run

__all__ = [
    "Cli",
    "Output",
    "Screen",
    "Stop",
    "ask",
    "command",
    "counted",
    "group",
    "listen",
    "moment",
    "run",
    "serve",
    "table",
    "url_of",
]
