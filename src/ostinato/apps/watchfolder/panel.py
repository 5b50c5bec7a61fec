"""Shows the watched folders at a glance: jobs by state, how each folder stands, the last errors, what is held."""

from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection

from ostinato.apps.watchfolder.machine import JOB
from ostinato.apps.watchfolder.queries import QUERIES
from ostinato.machines import Standing
from ostinato.observe import N_, Block, Counts, Panel, Table

_FOLDER = {
    "tenant_id": N_("tenant"),
    "name": N_("folder"),
    "active": N_("watched"),
    "ticked_at": N_("last looked at"),
    "waiting": N_("waiting"),
    "blocked": N_("blocked"),
    "running": N_("running"),
    "held": N_("held"),
    "problem": N_("problem"),
}
_ERROR = {
    "folder": N_("folder"),
    "file_name": N_("file"),
    "error_code": N_("error"),
    "message": N_("message"),
    "changed_at": N_("time"),
}

MOST_COUNTED = 10_000
NO_FOLDER = N_("No folder is watched yet: POST /api/v1/watchfolder/folders adds one.")


async def blocks(conn: AsyncConnection[Any]) -> Sequence[Block]:
    """Show what the caller may see: a tenant its own folders, a worker's connection those of all."""
    counts = {row["state"]: row["jobs"] for row in await QUERIES.rows(conn, "count_jobs", most=MOST_COUNTED)}
    folders = await QUERIES.rows(conn, "folders_at_a_glance")
    errors = await QUERIES.rows(conn, "last_errors")
    return [
        Counts("Files on their way, and ended in the last hour", counts, sum(counts.values()) >= MOST_COUNTED),
        Table(
            "Folders", tuple(_FOLDER.values()), [[row[name] for name in _FOLDER] for row in folders], None, NO_FOLDER
        ),
        Table("Last errors", tuple(_ERROR.values()), [[row[name] for name in _ERROR] for row in errors]),
    ]


async def standing(conn: AsyncConnection[Any]) -> list[Standing]:
    """Count the files in each state, for the drawing of their machine: state.json obeys it, and the row follows."""
    rows = await QUERIES.rows(conn, "count_states", most=MOST_COUNTED)
    found = {row["state"]: row["jobs"] for row in rows}
    return [
        Standing("watchfolder.job", state, found.get(state, 0), found.get(state, 0) >= MOST_COUNTED)
        for state in JOB.states
    ]


PANEL = Panel("Watched folders", blocks)
