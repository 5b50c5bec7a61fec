"""`ostinato tenants …`: one tenant out of this installation, or into it."""

from pathlib import Path
from typing import Annotated

from rich.text import Text

from ostinato._core.base.errors import Conflict
from ostinato._core.db.backup import server
from ostinato._core.engine import tenant_copy
from ostinato._core.engine.tenant_copy import Copied
from ostinato._core.runtime.database import Database
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.options import argument, flag
from ostinato._faces.cli.frame.output import table
from ostinato._faces.cli.frame.verbs import commands
from ostinato._faces.cli.operate.tenant_moves import move, schemas_of

File = Annotated[str, argument("FILE", "The file of the tenant.")]


def dump(
    cli: Cli,
    tenant: Annotated[str, argument("TENANT", "Whose data.")],
    file: File,
    *,
    quiet_only: Annotated[bool, flag("Refuse while workers hold jobs of it.", "--quiet-only")] = False,
) -> None:
    """Write everything of one tenant into a file, as it is at one moment.

    The engine's tables and those of the applications. Sealed secrets stay sealed. Jobs that workers
    hold are written as ready.

    Example: `ostinato tenants dump acme acme.tenant.gz`
    """
    path = Path(file).expanduser().resolve()
    if path.exists():
        raise Conflict(f"{path} is there already", hint="Name another file.", file=str(path))

    async def work() -> Copied:
        async with attach.database(cli.settings, cli.out) as database:
            with cli.out.working(f"Writing {tenant} to {path}"):
                async with await server.connect(_url(cli, database)) as conn:
                    return await tenant_copy.dump(conn, tenant, path, schemas_of(cli), refuse_held=quiet_only)

    _show(cli, attach.run(work()), "Written", path)


def load(cli: Cli, file: File) -> None:
    """Load one tenant from a file, all of it or nothing.

    It is refused where the tenant has rows already. Needs a superuser, or the right to set
    session_replication_role.

    Example: `ostinato tenants load acme.tenant.gz`
    """
    path = Path(file).expanduser().resolve()

    async def work() -> Copied:
        async with attach.database(cli.settings, cli.out) as database:
            with cli.out.working(f"Loading {path}"):
                async with await server.connect(_url(cli, database)) as conn:
                    return await tenant_copy.load(conn, path, schemas_of(cli))

    _show(cli, attach.run(work()), "Loaded", path)


def _url(cli: Cli, database: Database) -> str:
    own = None if database.server is None else database.server.admin_url
    return cli.settings.backup_url or own or database.admin_url


def _show(cli: Cli, copied: Copied, verb: str, path: Path) -> None:
    shown = table("table", "rows", right=("rows",))
    for name, count in copied.rows.items():
        shown.add_row(name, f"{count:,}")
    head = f"{verb}: {words.counted(copied.total, 'row')} of {copied.tenant_id}, {path}"
    document = {"tenant": copied.tenant_id, "file": path, "rows": copied.rows, "held": copied.held}
    cli.out.show(document, Text(head), shown)
    if copied.held:
        cli.out.warn(f"Workers held {words.counted(copied.held, 'job')} of it: where it is loaded they run again.")


register = commands(dump, load, move)
