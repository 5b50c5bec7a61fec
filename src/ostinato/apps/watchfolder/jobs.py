"""The jobs: one tends a folder for as long as it is active; one sees that every folder has its own.

A folder is tended by one worker at a time: the job has the lease `watchfolder:<folder>` from the
moment it is added, and the folder itself is locked for the processes of the machine.
"""

from ostinato import Context, Retry, Snooze, leases, tenants
from ostinato.apps.watchfolder import APP, queries
from ostinato.apps.watchfolder import events as events  # noqa: PLC0414 - declares what is told
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.service import Place
from ostinato.apps.watchfolder.settings import WatchfolderSettings
from ostinato.apps.watchfolder.setup import locked
from ostinato.apps.watchfolder.tending import Tending, stations
from ostinato.errors import LeaseHeld
from ostinato.jobs import Target

__all__ = ["QUEUE", "ensure", "lease_of", "start_tending", "tend"]

QUEUE = "watchfolder"
PATIENTLY = Retry(base=1, factor=2, cap=60, max_attempts=1000)
AGAIN_SECONDS = 5.0


def lease_of(folder_id: int) -> str:
    """The lease of whoever tends a folder."""
    return f"watchfolder:{folder_id}"


@APP.job(queue=QUEUE, retry=PATIENTLY)
async def tend(ctx: Context, folder_id: int) -> Snooze | str:
    """Tend one folder until it is paused; another worker goes on when this one stops."""
    async with leases.hold(ctx, lease_of(folder_id)):
        async with ctx.fenced() as conn:
            found = await queries.rows(
                conn, "tended_folder", tenant_id=ctx.job.tenant_id, id=folder_id
            )
        if not found or not found[0]["active"]:
            return "paused"
        row = found[0]
        chosen = WatchfolderSettings.load()
        folders = Folders.below(row["path"])
        try:
            with locked(folders):
                folders.make()
                async with stations(chosen, folders, row["lang"]) as urls:
                    config = chosen.config(folders, row["lang"]) | urls
                    place = Place(ctx.job.tenant_id, folder_id, row["name"])
                    # A job that took workers down is a suspect until it comes back with a
                    # verdict, and this one has none as long as it goes well.
                    renew = chosen.renew_seconds if ctx.job.crashes else None
                    tending = Tending(ctx, place, folders, config, renew_seconds=renew)
                    ended = await tending.run()
        except LeaseHeld as error:  # a process outside of the engine has it
            ctx.log.warning("folder_tended_elsewhere", folder=row["name"], error=str(error))
            return Snooze(AGAIN_SECONDS)
        return Snooze(0) if ended in {"stopping", "renew"} else ended


@APP.job(queue=QUEUE)
async def ensure(ctx: Context) -> int:
    """See that every active folder of every tenant has its job; how many there are."""
    async with ctx.fenced() as conn:
        folders = await queries.rows(conn, "active_folders")
        for row in folders:
            await start_tending(conn, row["tenant_id"], row["id"])
    return len(folders)


async def start_tending(to: Target, tenant_id: str, folder_id: int) -> None:
    """Add the job of a folder, unless it is there."""
    with tenants.flow(tenant=tenant_id):
        try:
            await leases.enqueue_or_attach(to, lease_of(folder_id), tend, folder_id)
        except LeaseHeld:
            return


APP.schedule(ensure, cron="* * * * *", zone="UTC", name="watchfolder.ensure")
