"""Adds to the inbox what could not be read, with what a person can do about it."""

from collections.abc import Sequence
from typing import Any

from ostinato.apps.watchfolder import failed
from ostinato.apps.watchfolder.model import JOB_KEY
from ostinato.apps.watchfolder.permissions import DECIDE, READ
from ostinato.apps.watchfolder.queries import QUERIES, Connection
from ostinato.apps.watchfolder.service import Place
from ostinato.errors import NotFound
from ostinato.observe import N_, Action, Item, Link, Look, Panel, Picture, State, Verb

AGAIN = N_("It may succeed when it is tried again.")
HOPELESS = N_("The same file will fail again until it is put right: put a corrected one into in/.")
CAUSES = {
    "EMPTY": (N_("The file is empty."), HOPELESS),
    "UNSUPPORTED": (N_("It is no kind of file that is read here."), HOPELESS),
    "ENCRYPTED": (N_("It is locked with a password."), HOPELESS),
    "CORRUPT": (N_("The file is damaged."), HOPELESS),
    "NO_PAGES": (N_("There is no page in it."), HOPELESS),
    "PAGES": (N_("It has more pages than are allowed."), HOPELESS),
    "PIXELS": (N_("A page of it is larger than is allowed."), HOPELESS),
    "TOO_BIG": (N_("The file is larger than is allowed."), HOPELESS),
    "BOMB": (N_("Unpacked, it is far larger than is allowed."), HOPELESS),
    "UNSAFE": (N_("It holds what is not opened here, or something lay in its way."), HOPELESS),
    "INPUT_CHANGED": (N_("Somebody wrote to it while it was read."), AGAIN),
    "CANCELLED": (N_("Its reading was cancelled."), AGAIN),
    "TIMEOUT": (N_("Its reading stood still for too long."), AGAIN),
    "MEMORY": (N_("Reading it takes more memory than is allowed."), AGAIN),
    "WORKER_CRASHED": (N_("The program that read it broke off."), AGAIN),
    "NO_OUTPUT": (N_("The program that read it left no result."), AGAIN),
    "LOST": (N_("Its folder in work/ was gone."), AGAIN),
    "DISK_FULL": (N_("There was no room on the disk."), AGAIN),
    "SERVICE_RESTARTED": (N_("The service that reads it was restarted again and again."), AGAIN),
    "UNREACHABLE": (N_("The service that reads it could not be reached."), AGAIN),
    "BUSY": (N_("The service that reads it had no room for it."), AGAIN),
}
OTHER = (N_("It could not be read, in spite of several attempts."), AGAIN)
CHOICES = {"RETRY": N_("Try it again"), "LEAVE": N_("Leave it in error/")}


async def items(conn: Connection, look: Look) -> Sequence[Item]:
    """Find the files that could not be read and about which nobody has decided."""
    return [_item(row, look) for row in await QUERIES.rows(conn, "failed_to_decide")]


async def count(conn: Connection) -> int:
    """Count them."""
    return int(await QUERIES.value(conn, "count_failed"))


async def decide(conn: Connection, look: Look) -> str:
    """Send a file through again, which the worker that watches the folder does, or leave it where it is."""
    decision = look.text("decision")
    if look.tenant_id is None or decision not in failed.DECISIONS:
        raise NotFound(f"there is no decision {decision[:40]!r}")
    place = Place(look.tenant_id, look.number("folder"), "")
    await failed.decide(conn, place, look.one_of("job", JOB_KEY), decision=decision, by=look.subject)
    if decision == "RETRY":
        return look.words("It goes through again; the worker that watches the folder does it.")
    return look.words("It stays in error/ and waits for nobody.")


def _item(row: dict[str, Any], look: Look) -> Item:
    said, advice = CAUSES.get(row["code"], OTHER)
    asked = {"folder": row["folder_id"], "job": row["job_key"]}
    likely = "LEAVE" if advice is HOPELESS else "RETRY"
    picture = Picture("page", {**asked, "side": "first"}, look.words("As it came · %(name)s", name=row["file_name"]))
    facts = {
        N_("folder"): row["folder"],
        N_("came"): row["created_at"],
        N_("failed"): row["changed_at"],
        N_("attempts"): row["attempts"] or None,
        N_("pages"): row["pages"],
        N_("cause"): State(row["code"], "bad") if row["code"] else None,
        N_("message"): row["message"],
        N_("not tried again"): row["decision_note"],
    }
    return Item(
        f"{row['folder_id']}-{row['job_key']}",
        look.words("%(name)s could not be read", name=row["file_name"]),
        f"{look.words(said)} {look.words(advice)}",
        row["changed_at"],
        [_choice(each, asked, row["tenant_id"], first=each == likely) for each in failed.DECISIONS],
        row["tenant_id"],
        [picture] if row["has_first"] else [],
        {name: value for name, value in facts.items() if value is not None},
        [Link(look.words("The file"), "scan", asked)],
    )


def _choice(decision: str, asked: dict[str, Any], tenant_id: str, *, first: bool) -> Action:
    values = asked | {"decision": decision}
    return Action(CHOICES[decision], "decide-failed", values, tenant_id, "primary" if first else "")


FAILED = Panel("Failed scans", needs=READ, items=items, count=count, verbs={"decide-failed": Verb(decide, DECIDE)})
