"""Keeps what a person decided about files that could not be read; the worker that watches the folder carries it out."""

from collections.abc import Sequence
from typing import Any

from ostinato.apps.watchfolder.queries import QUERIES, Connection
from ostinato.apps.watchfolder.service import LONGEST_MESSAGE, Place
from ostinato.errors import NotFound, WrongState

DECISIONS = ("RETRY", "LEAVE")
"""Send it through again, or leave it in `error/`: nothing deletes the only copy of somebody's file."""


async def decide(conn: Connection, place: Place, job_key: str, *, decision: str, by: str) -> str:
    """Decide about a file that could not be read, once; returns its name."""
    key = {"tenant_id": place.tenant_id, "folder_id": place.folder_id, "job_key": job_key}
    name: str | None = await QUERIES.value(conn, "decide_failed", **key, decision=decision, by=by)
    if name is not None:
        return name
    there = await QUERIES.first(conn, "failed_decision", **key)
    if there is None:
        raise NotFound(f"No file failed under {job_key}.", job_key=job_key)
    raise WrongState(f"It was decided already, by {there['decided_by']}: {there['decision']}.", job_key=job_key)


async def to_send(conn: Connection, place: Place) -> Sequence[dict[str, Any]]:
    """Return what is to be sent through again."""
    return await QUERIES.rows(conn, "failed_to_send", tenant_id=place.tenant_id, folder_id=place.folder_id)


async def note_sent(conn: Connection, place: Place, job_key: str, why: str | None) -> None:
    """Note that a file was sent through again, or why it could not be."""
    key = {"tenant_id": place.tenant_id, "folder_id": place.folder_id, "job_key": job_key}
    await QUERIES.run(conn, "note_sent", **key, why=None if why is None else why[:LONGEST_MESSAGE])
