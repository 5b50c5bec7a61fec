"""Runs `watch` for each active folder; `ensure` adds the job where it is missing.

A folder is watched by one worker at a time: the job has the lease `watchfolder:<folder>` from the
moment it is added, and the folder itself is locked for the processes of the machine.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

from psycopg import AsyncConnection

from ostinato import Context, Retry, Snooze, leases, tenants
from ostinato.apps.watchfolder import APP
from ostinato.apps.watchfolder import events as events  # noqa: PLC0414 - declares what is emitted
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.queries import QUERIES
from ostinato.apps.watchfolder.service import Place
from ostinato.apps.watchfolder.settings import WatchfolderSettings
from ostinato.apps.watchfolder.station.processes import at, services
from ostinato.apps.watchfolder.tick.orchestrator import Orchestrator
from ostinato.apps.watchfolder.watcher import Watcher
from ostinato.errors import LeaseHeld
from ostinato.jobs import wake_after_commit

QUEUE = "watchfolder"
PATIENTLY = Retry(base=1, factor=2, cap=60, max_attempts=1000)
AGAIN_SECONDS = 5.0
PURGED_AFTER = timedelta(minutes=10)
"""The rows of a folder that was removed go then: its worker has noticed by now, and records nothing more."""


def lease_of(folder_id: int) -> str:
    """Return the name of the lease that the job of a folder holds."""
    return f"watchfolder:{folder_id}"


# The name of the kind is older than the function: queued jobs have it, and hold their leases.
@APP.job(name="watchfolder.tend", queue=QUEUE, retry=PATIENTLY)
async def watch(ctx: Context, folder_id: int) -> Snooze | str:
    """Watch one folder until it is paused; another worker goes on when this one stops."""
    async with leases.hold(ctx, lease_of(folder_id)):
        async with ctx.fenced() as conn:
            row = await QUERIES.first(conn, "watched_folder", tenant_id=ctx.job.tenant_id, id=folder_id)
        if row is None or not row["active"]:
            return "paused"
        chosen = ctx.settings(WatchfolderSettings)
        folders = Folders.below(row["path"])
        try:
            with folders.locked():
                folders.make()
                # <root>/<tenant>/<name>: one PREP and one OCR serve all folders of this worker.
                shared = await ctx.shared(services, chosen, Path(row["path"]).parents[1])
                async with at(chosen, shared, folders, row["lang"]) as urls:
                    place = Place(ctx.job.tenant_id, folder_id, row["name"])
                    orchestrator = Orchestrator(folders, chosen.options(row["lang"], **urls))
                    # A job that took workers down is a suspect until it comes back with a
                    # verdict, and this one has none as long as it goes well.
                    renew = chosen.renew_seconds if ctx.job.crashes else None
                    watcher = Watcher(ctx, place, orchestrator, renew_seconds=renew, keeps=chosen.keep_readings)
                    ended = await watcher.run()
        except LeaseHeld as error:  # a process outside of the engine has it
            ctx.log.warning("folder_watched_elsewhere", folder=row["name"], error=str(error))
            return Snooze(AGAIN_SECONDS)
        return Snooze(0) if ended in {"stopping", "renew"} else ended


@APP.job(queue=QUEUE)
async def ensure(ctx: Context) -> int:
    """See that every active folder of every tenant has its job, and that rows of removed ones go."""
    async with ctx.fenced() as conn:
        folders = await QUERIES.rows(conn, "active_folders")
        for row in folders:
            await start_watching(conn, row["tenant_id"], row["id"])
        for name in ("purge_duplicates", "purge_jobs", "purge_folders"):
            await QUERIES.run(conn, name, after=PURGED_AFTER)
    return len(folders)


async def start_watching(conn: AsyncConnection[Any], tenant_id: str, folder_id: int) -> None:
    """Add the job of a folder, unless it is there: `watchfolder.start_watching` in the database."""
    about = {"tenant_id": tenant_id, "folder_id": folder_id, "correlation_id": tenants.current_correlation()}
    await QUERIES.run(conn, "start_watching", **about)
    wake_after_commit(QUEUE)


APP.schedule(ensure, cron="* * * * *", zone="UTC", name="watchfolder.ensure")
