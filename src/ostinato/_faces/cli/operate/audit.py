"""`ostinato audit` lists what operators did: who, when, what, how many and why."""

from datetime import datetime
from typing import Annotated, Any

from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.engine import audit as engine_audit
from ostinato._core.engine import clock
from ostinato._core.engine.audit import Entry
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.document import parsed
from ostinato._faces.cli.frame.listing import Columns, paged
from ostinato._faces.cli.frame.options import Tenant, option
from ostinato._faces.cli.frame.verbs import commands

WIDEST = 24


def audit(
    cli: Cli,
    *,
    actor: Annotated[str | None, option("NAME", "Only of this person, program or role.")] = None,
    verb: Annotated[str | None, option("VERB", "Only this verb, such as cancel or pause.")] = None,
    target: Annotated[str | None, option("NAME", "Only on this job (by id), queue, key, …")] = None,
    since: Annotated[str | None, option("TIME", "A time, or how long ago: 90, 5m, 2h, 1d.")] = None,
    tenant: Tenant = None,
    before: Annotated[int | None, option("ENTRY", "The next page: only entries older than this id.")] = None,
    limit: Annotated[int, option("N", "At most this many.", min=1, max=1000)] = 50,
) -> None:
    """List what operators did, newest first.

    Example: `ostinato audit --verb cancel --since 1d`
    """

    async def look(conn: AsyncConnection[Any]) -> tuple[list[Entry], datetime]:
        now = await clock.now(conn)
        found = await engine_audit.list_entries(
            conn,
            actor=actor,
            verb=verb,
            target=target,
            since=None if since is None else words.past(since, "--since", now),
            tenant_id=tenant,
            before=before,
            most=limit,
        )
        return found, now

    answer = attach.ask(cli, look)
    paged(cli, "entries", answer, COLUMNS, empty="Nothing was done.", most=limit)


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _who(entry: Entry, _: datetime) -> str:
    key = f" (ost_{entry.key_id})" if entry.key_id is not None else ""
    return f"{_short(entry.actor)}{key}"


def _what(entry: Entry, _: datetime) -> str:
    return f"{entry.verb} {entry.noun}"


def _target(entry: Entry, _: datetime) -> str:
    if entry.target is not None:
        return _short(entry.target)
    chosen = parsed(entry.filter) or {}
    return ", ".join(f"{name} {value}" for name, value in chosen.items())


COLUMNS = Columns(
    "when=at | who | what | target | n=count> | why",
    who=_who,
    what=_what,
    target=_target,
    why=lambda entry, _: Text(entry.reason or "", style="dim"),
)
ACTIONS = Columns("when=at | who | did=verb | why=reason", who=_who)

register = commands(audit)
