"""Records the figures of watched folders for Prometheus, of all tenants together."""

from typing import Any

from psycopg import AsyncConnection

from ostinato.apps.watchfolder.queries import QUERIES
from ostinato.observe import Figures, Gauge, Recorder

FOLDERS = Gauge("ostinato_watchfolder_folders", "Folders that are to be watched.")
SILENCE = Gauge("ostinato_watchfolder_silence_seconds", "Time since a folder was last watched, at worst.")
TROUBLED = Gauge("ostinato_watchfolder_troubled", "Folders whose last tick named a problem.")
WAITING = Gauge("ostinato_watchfolder_waiting", "Files that lie in in/, those that cannot be taken included.")
BLOCKED = Gauge("ostinato_watchfolder_blocked", "Files in in/ that cannot be read or moved.")
HELD = Gauge("ostinato_watchfolder_held", "Twins that wait for a decision.")
JOBS = Gauge(
    "ostinato_watchfolder_jobs", "Jobs that are on their way, and those that ended in the last hour.", ("state",)
)
PAGES = Gauge("ostinato_watchfolder_pages", "Pages of the jobs that were done in the last hour.")
METRICS = (FOLDERS, SILENCE, TROUBLED, WAITING, BLOCKED, HELD, JOBS, PAGES)


async def record(conn: AsyncConnection[Any]) -> Recorder:
    """Return how the folders stand now, and what became of files in the last hour."""
    recorder = Recorder()
    row = await QUERIES.one(conn, "folder_figures")
    for gauge, name in (
        (FOLDERS, "folders"),
        (SILENCE, "silence"),
        (TROUBLED, "troubled"),
        (WAITING, "waiting"),
        (BLOCKED, "blocked"),
        (HELD, "held"),
        (PAGES, "pages"),
    ):
        recorder.set(gauge, float(row[name]))
    for each in await QUERIES.rows(conn, "job_figures"):
        recorder.set(JOBS, each["jobs"], each["state"])
    return recorder


FIGURES = Figures(METRICS, record)
