"""Shows what was scanned: a gallery with search, one file with its pages, and duplicates that wait for a person."""

from collections.abc import Sequence
from typing import Any, Literal

from ostinato.apps.watchfolder import service
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.model import ACTIONS, JOB_KEY
from ostinato.apps.watchfolder.permissions import DECIDE, READ
from ostinato.apps.watchfolder.queries import QUERIES, Connection
from ostinato.apps.watchfolder.service import Place
from ostinato.apps.watchfolder.utils import shortened
from ostinato.errors import NotFound
from ostinato.observe import (
    N_,
    Action,
    Block,
    Card,
    Download,
    Facts,
    Field,
    File,
    Form,
    Gallery,
    Item,
    Link,
    Look,
    Note,
    Panel,
    Picture,
    Pictures,
    Prose,
    State,
    Tone,
    Verb,
)

Row = dict[str, Any]

MOST = 40
WINDOW = 2_000
"""So many of the newest files are looked at one by one for words, before the index of words is asked."""
SHOWN_TEXT = 20_000
TONES: dict[str, Tone] = {"DONE": "ok", "ERROR": "bad"}
CHOICES = {
    "USE_EXISTING_RESULT": N_("Use the existing result"),
    "DISCARD": N_("Delete what came again"),
    "FORCE_REPROCESS": N_("Process it again"),
}
SURE = N_("Delete what came again? It cannot be had back; what came first is kept.")
STATES = (
    *(
        N_("INGESTING"),
        N_("DISCOVERED"),
        N_("PREP_SUBMITTED"),
        N_("PREP_RUNNING"),
        N_("PREP_ERROR"),
        N_("PREP_TIMEOUT"),
    ),
    *(N_("PREP_DONE"), N_("OCR_SUBMITTED"), N_("OCR_RUNNING"), N_("OCR_ERROR"), N_("OCR_TIMEOUT"), N_("FINALIZING")),
    *(N_("DONE"), N_("ERROR")),
)

NONE_MATCHES = N_("No file matches.")
NO_FILE = N_("No file was read yet: put one into the folder in/ of a watched folder.")


async def scans(conn: Connection, look: Look) -> Sequence[Block]:
    """Show files by their first pages; with words, those in which they stand."""
    words, folder = look.text("q"), look.text("folder")
    at, key = service.page_after(look.text("after") or None)
    which = {"words": words or None, "folder": folder or None, "at": at, "key": key, "most": MOST + 1}
    rows = await QUERIES.rows(conn, "scans", **which, window=WINDOW if words else None)
    if words and len(rows) <= MOST:
        found = await QUERIES.rows(conn, "scans_found", **which)
        rows = sorted({_place(row): row for row in (*rows, *found)}.values(), key=_order, reverse=True)[: MOST + 1]
    cards = [
        Card(
            Link(row["file_name"], "scan", _asked(row)),
            _picture(row, "result", row["file_name"]) if row["drawn"] else None,
            _state(row["state"]),
            " · ".join(filter(None, (_pages(look, row), row["folder"]))),
            row["changed_at"],
        )
        for row in rows[:MOST]
    ]
    after = service.page_next(rows[MOST - 1]["changed_at"], rows[MOST - 1]["job_key"]) if len(rows) > MOST else None
    asked = {"q": words, "folder": folder, "after": after or ""}
    empty = NONE_MATCHES if words or folder or at else NO_FILE
    return [
        Form("Find", (Field("q", "Words in the text or the name", words), Field("folder", "Folder", folder)), "scans"),
        Gallery("Files", cards, Link(look.words("Older"), "scans", asked) if after else None, empty),
    ]


def _place(row: Row) -> tuple[Any, ...]:
    return row["tenant_id"], row["folder_id"], row["job_key"]


def _order(row: Row) -> tuple[Any, ...]:
    return row["changed_at"], row["job_key"]


async def scan(conn: Connection, look: Look) -> Sequence[Block]:
    """Show one file: its first page before and after, what was read, and its PDF."""
    row = await _found(conn, look)
    sides = [
        _picture(row, side, text)
        for side, text, there in (
            ("first", look.words("As it came · %(name)s", name=row["file_name"]), row["has_first"]),
            ("result", look.words("As a searchable PDF"), row["has_result"]),
        )
        if there
    ]
    result = row["result"] or {}
    facts = {
        N_("state"): _state(row["state"]),
        N_("folder"): row["folder"],
        N_("pages"): row["pages"],
        N_("came"): row["created_at"],
        N_("changed"): row["changed_at"],
        N_("attempts"): row["attempt_prep"] + row["attempt_ocr"],
        N_("PDF/A"): result.get("pdfa"),
        N_("read with"): result.get("engine"),
        N_("notes"): shortened(result.get("notes") or ()) or None,
        N_("SHA-256"): row["job_key"].partition("__")[0],
    }
    blocks: list[Block] = []
    if row["state"] == "ERROR":
        blocks.append(Note("It could not be read", f"{row['error_code']}: {row['message'] or ''}", "bad"))
    blocks += [Pictures("First page", sides)] if sides else []
    blocks.append(Facts(row["file_name"], facts, row["file_name"]))
    if row["state"] == "DONE":
        blocks.append(Download("Download the PDF", "pdf", _asked(row)))
    if row["body"]:
        blocks.append(Prose("What was read", row["body"][:SHOWN_TEXT].replace("\f", "\n\n")))
    return blocks


async def page(conn: Connection, look: Look) -> File:
    """Return the picture of a first page, as the database has it."""
    side = "first" if look.text("side") == "first" else "result"
    key = {"folder_id": look.number("folder"), "job_key": look.one_of("job", JOB_KEY)}
    picture = await QUERIES.value(conn, "page_of", **key, side=side)
    if picture is None:
        raise NotFound("there is no picture of this page")
    return File(bytes(picture), "image/jpeg", f"{side}.jpg")


async def pdf(conn: Connection, look: Look) -> File:
    """Return the result of a file, from the folder that its row names; no part of its path is the caller's."""
    row = await _found(conn, look)
    place = Folders.below(row["path"]).results / f"{row['job_key']}.pdf"
    return File(place, "application/pdf", f"{row['file_name'].rpartition('.')[0] or row['file_name']}.pdf")


async def duplicates(conn: Connection, look: Look) -> Sequence[Item]:
    """Find the files that came again, with both first pages."""
    return [_duplicate(row, look) for row in await QUERIES.rows(conn, "duplicates_to_decide")]


async def count(conn: Connection) -> int:
    """Count the duplicates that wait for a decision."""
    return int(await QUERIES.value(conn, "count_to_decide"))


async def decide(conn: Connection, look: Look) -> str:
    """Decide about a duplicate; the worker that watches the folder carries it out."""
    action = look.text("action")
    if look.tenant_id is None or action not in ACTIONS:
        raise NotFound(f"there is no decision {action[:40]!r}")
    row = await _watched(conn, look.tenant_id, look.number("folder"))
    place = Place(look.tenant_id, row["id"], row["name"])
    job_key = look.one_of("job", JOB_KEY)
    held = await QUERIES.first(
        conn, "show_duplicate", tenant_id=place.tenant_id, folder_id=place.folder_id, job_key=job_key
    )
    files, last = list(held["files"]) if held else [], look.text("last")
    if last not in files:
        raise NotFound(f"{last[:100]!r} is not held any more", hint="Somebody decided about it.")
    # Only what was shown is decided about: a file that came meanwhile, and stands behind the others, waits.
    shown = files[: files.index(last) + 1]
    await service.decide(conn, place, job_key, action=action, by=look.subject, files=shown)
    return look.words("Decided; the worker that watches the folder does it.")


def _duplicate(row: Row, look: Look) -> Item:
    names = [name.partition("__")[2] or name for name in row["files"]]
    name = names[0] if len(names) == 1 else look.words("%(name)s and %(n)s more", name=names[0], n=len(names) - 1)
    known = row["file_name"] or ""
    pictures = [
        _picture(row, side, text)
        for side, text, there in (
            ("first", look.words("Arrived now · %(name)s", name=name), row["has_first"]),
            ("result", look.words("Done before · %(name)s", name=known), row["has_result"]),
        )
        if there
    ]
    usable = [each for each in ACTIONS if each != "USE_EXISTING_RESULT" or row["existing"] != "ERROR"]
    values = {"folder": row["folder_id"], "job": row["job_key"], "last": row["files"][-1]}
    return Item(
        f"{row['folder_id']}-{row['job_key']}",
        look.words("%(name)s came again", name=name),
        row["message"] or look.words("Same content (SHA-256), same profile."),
        row["detected_at"],
        [_choice(each, values, row["tenant_id"], first=each == usable[0]) for each in usable],
        row["tenant_id"],
        pictures,
        {
            N_("folder"): row["folder"],
            N_("files"): ", ".join(names) if len(names) > 1 else None,
            N_("came first as"): known or None,
            N_("pages"): row["pages"],
            N_("then"): _state(row["existing"]) if row["existing"] else None,
            N_("done at"): row["changed_at"] if row["existing"] == "DONE" else None,
        },
        [Link(look.words("What was read"), "scan", _asked(row))],
    )


def _choice(action: str, values: dict[str, str | int], tenant_id: str, *, first: bool) -> Action:
    """Make a button of the inbox; the one that deletes asks before, because a key is pressed soon."""
    deletes = action == "DISCARD"
    tone: Literal["", "primary", "danger"] = "danger" if deletes else "primary" if first else ""
    asked = SURE if deletes else ""
    return Action(CHOICES[action], "decide", values | {"action": action}, tenant_id, tone, asked)


async def _found(conn: Connection, look: Look) -> Row:
    key = {"folder_id": look.number("folder"), "job_key": look.one_of("job", JOB_KEY)}
    row = await QUERIES.first(conn, "scan", **key)
    if row is None:
        raise NotFound("there is no such file", hint="Its folder may have been removed.")
    return row


async def _watched(conn: Connection, tenant_id: str, folder_id: int) -> Row:
    row = await QUERIES.first(conn, "watched_folder", tenant_id=tenant_id, id=folder_id)
    if row is None:
        raise NotFound(f"there is no folder {folder_id}")
    return row


def _asked(row: Row) -> dict[str, str | int]:
    return {"folder": row["folder_id"], "job": row["job_key"]}


def _picture(row: Row, side: str, text: str) -> Picture:
    return Picture("page", {**_asked(row), "side": side}, text)


def _state(state: str) -> State:
    return State(state, TONES.get(state, "info"))


def _pages(look: Look, row: Row) -> str:
    return look.words("pages: %(n)s", n=row["pages"]) if row["pages"] else ""


SCANS = Panel("Scans", scans, name="scans", needs=READ, search="q", files={"page": page, "pdf": pdf})
SCAN = Panel("Scan", scan, name="scan", listed=False, needs=READ)
DUPLICATES = Panel("Duplicates", needs=READ, items=duplicates, count=count, verbs={"decide": Verb(decide, DECIDE)})
