"""`ostinato leases …` lists leases, shows one, and takes one away."""

from datetime import datetime
from typing import Annotated

from rich.text import Text

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import leases as engine_leases
from ostinato._core.engine.leases import LeaseLine
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.listing import Columns, details, listed
from ostinato._faces.cli.frame.options import argument, flag, option
from ostinato._faces.cli.frame.verbs import commands

Name = Annotated[str, argument("LEASE", "The lease's name.")]
Tenant = Annotated[str | None, option("TENANT", "Whose lease it is.")]

COLOURS = {"held": "green", "late": "yellow", "expired": "red", "over": "dim"}
MEANINGS = {
    "held": "its holder has it",
    "late": "overdue, but its holder may be alive: nobody gets it yet",
    "expired": "its holder is gone; the next caller gets it",
    "over": "its job has ended; the next caller gets it",
}


def list_(
    cli: Cli,
    *,
    prefix: Annotated[str, option("TEXT", "Only names that begin so.")] = "",
    tenant: Tenant = None,
    most: Annotated[int, option("N", "At most this many.")] = 100,
) -> None:
    """List leases: who holds what, since when and until when.

    Example: `ostinato leases list --prefix import:`
    """
    found = attach.ask_at(cli, engine_leases.list_leases, prefix=prefix, tenant=tenant, most=most)
    listed(cli, "leases", found, COLUMNS, empty="Nobody holds a lease.")


def show(cli: Cli, lease: Name, *, tenant: Tenant = None) -> None:
    """Show one lease.

    Example: `ostinato leases show import:acme`
    """
    found, now = attach.ask_at(cli, engine_leases.show_lease, lease, tenant=tenant)
    attempt = "" if found.job_attempt is None else f", attempt {found.job_attempt}"
    job = f"{found.job_id} ({found.job_state or 'gone'}{attempt})"
    facts = {
        "lease": found.name,
        "tenant": found.tenant,
        "state": Text.assemble(_state(found, now), f": {MEANINGS[found.state]}"),
        "holder": found.holder,
        "since": found.since,
        "renewed": found.renewed_at if found.lifetime == "time" else None,
        "ends": _end(found, now),
        "job": None if found.job_id is None else job,
        "token": found.token,
        "attempt": found.attempt,
    }
    cli.out.show(found, details(facts, now))


def release(
    cli: Cli,
    lease: Name,
    *,
    force: Annotated[bool, flag("Even while its holder lives.", "--force")] = False,
    tenant: Tenant = None,
) -> None:
    """Take a lease away; while its holder lives only with --force, and it is refused from then on.

    Example: `ostinato leases release import:acme --force`
    """
    if not attach.ask(cli, engine_leases.force_release, lease, tenant=tenant, force=force):
        raise NotFound(f"nobody has a lease {lease!r}", hint=f"See: {cli.try_('leases', 'list')}")
    cli.out.show({"lease": lease, "released": True}, f"lease {lease} is free")


def _state(lease: LeaseLine, _: datetime) -> Text:
    return Text(lease.state, style=COLOURS[lease.state])


def _end(lease: LeaseLine, now: datetime) -> str:
    if lease.lifetime == "time":
        return words.age(lease.until, now)
    return f"with job {lease.job_id}" + (f", attempt {lease.job_attempt}" if lease.lifetime == "attempt" else "")


COLUMNS = Columns("lease=name | tenant | state | holder | since | ends | attempt>", state=_state, ends=_end)
register = commands(list_, show, release)
