"""Commands: what an application adds to the command line of Ostinato.

    def register(root: typer.Typer) -> None:
        billing = group(root, "billing", "Look at invoices.")
        command(billing)(unpaid)

    def unpaid(cli: Cli) -> None:
        \"\"\"List the invoices that nobody has paid.\"\"\"
        found = ask(cli, list_unpaid)                   # on a connection to the database
        cli.out.show({"unpaid": found}, table("invoice", "since"))

    app = App("billing", commands="acme.billing.commands:register")

Each command gets `--json`, `--data-dir`, `--database-url`, `--config`, `--quiet`, `--verbose` and
`--debug`; what it raises becomes one sentence with its remedy and an exit code.
"""

from ostinato._faces.cli.frame.attach import ask
from ostinato._faces.cli.frame.command import Cli, command, group
from ostinato._faces.cli.frame.output import Output, table
from ostinato._faces.cli.frame.words import counted, moment
from ostinato._faces.cli.serve.listening import listen, serve, url_of
from ostinato._faces.cli.serve.process import Stop, run

__all__ = [
    "Cli",
    "Output",
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
