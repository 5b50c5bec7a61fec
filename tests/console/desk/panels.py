"""The pages of the desk."""

import struct
import zlib
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from psycopg import AsyncConnection

from ostinato import jobs
from ostinato._core.engine import inspect
from ostinato.errors import NotFound, WrongState
from ostinato.machines import Machine, Standing, Transition
from ostinato.observe import (
    Action,
    Actions,
    Block,
    Calendar,
    Card,
    Chart,
    Counts,
    Download,
    Entry,
    Facts,
    Field,
    File,
    Form,
    Gallery,
    Item,
    Link,
    Look,
    Moment,
    Note,
    Panel,
    Picture,
    Pictures,
    Prose,
    State,
    Table,
    Timeline,
    Verb,
)
from ostinato.web import Permission

READ = Permission("desk.read", ("clerk", "ops", "admin"), "see papers")
STAMP = Permission("desk.stamp", ("ops", "admin"), "stamp papers")
PERSONAL = Permission("desk.personal", ("admin",), "see who wrote them")
KIND = "shop.ship"
THEN = datetime(2026, 3, 28, 9, 0, tzinfo=UTC)
HERE = Path(__file__)

Connection = AsyncConnection[Any]


def png(width: int = 60, height: int = 85) -> bytes:
    """A grey picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\xd8" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


async def front(_conn: Connection, look: Look) -> Sequence[Block]:
    """Show one of everything."""
    hours = [float(i % 5) for i in range(24)]
    return [
        Note("All is well", look.words("%(n)s papers wait", n=3), "info"),
        Counts("Papers", {"new": 3, "stamped": 4}),
        Counts("Papers ever", {"read": 10_000, "lost": 0}, capped=True),
        Chart("Papers an hour", {"new": hours, "stamped": list(reversed(hours))}, THEN, THEN + timedelta(hours=24)),
        Table(
            "Newest papers",
            ("paper", "state", "day", "pages"),
            [[Link("7/a <b>", "paper", {"id": "7/a <b>"}), State("held", "ok"), THEN.date(), 3]],
            Link("More papers", "papers"),
        ),
        Table("Lost papers", ("paper",), (), empty="No paper is lost."),
        Timeline("What happened", [Moment(THEN, "stamped", "by Ada", "ok"), Moment(THEN, "new", "", "info")]),
        Calendar(date(2026, 3, 1), "Europe/Paris", {date(2026, 3, 29): [Entry("02:30", "noted", "moved", "new")]}),
        Form("Find", (Field("q", "Words"), Field("state", "State", "new", {"": "any", "new": "new"})), "papers"),
        Form("Stamp", (Field("words", "Words"),), verb="stamp", tenant_id=look.tenant_id or "acme"),
        Actions((Action("Stamp all", "stamp", {"words": "all"}, look.tenant_id or "acme", "danger", "Sure?"),)),
    ]


async def papers(_conn: Connection, look: Look) -> Sequence[Block]:
    """Show papers."""
    card = Card(Link("A paper", "paper", {"id": "7"}), Picture("sheet", {"id": "7"}, "A paper"), State("new", "info"))
    return [Gallery("Papers", [card, Card(Link(look.text("q", "Another"), "paper", {"id": 8}))])]


async def paper(_conn: Connection, look: Look) -> Sequence[Block]:
    """Show one paper."""
    number = look.text("id")
    return [
        Facts("Paper", {"paper": number, "pages": look.number("pages", 1), "state": State("new", "info")}, number),
        Pictures("Pages", [Picture("sheet", {"id": number}, "First page"), Picture("sheet", {"id": number}, "Again")]),
        Prose("Text", "<script>alert(1)</script>"),
        Download("As a PDF", "pdf", {"id": number}),
    ]


async def private(_conn: Connection) -> Sequence[Block]:
    """Show who wrote it."""
    return [Prose("Writers", "Grace Hopper")]


async def sheet(_conn: Connection, look: Look) -> File:
    """A page, if there is one of that number; or something that is none."""
    if look.text("id") == "none":
        raise NotFound("there is no such paper")
    if look.text("id") == "evil":
        return File(b"<script>alert(1)</script>", "image/png", "evil.png")
    if look.text("id") == "html":
        return File(b"<p>", "text/html", "page.html")
    return File(png(), "image/png", f'page "{look.text("id")}\r\n.png')


async def pdf(_conn: Connection, look: Look) -> File:
    """A file of ours; or one that is gone."""
    name = "gone.txt" if look.text("id") == "gone" else "locale/fr.po"
    return File(HERE.parent / name, "application/pdf", "paper.pdf")


async def stamp(conn: Connection, look: Look) -> str:
    """Stamp."""
    assert look.tenant_id is not None
    found = await conn.execute("select current_setting('app.tenant_id', true), current_user::text")
    row = await found.fetchone()
    return look.words("%(words)s is stamped", words=f"{look.text('words')} for {row}")


async def waiting(conn: Connection, _look: Look) -> Sequence[Item]:
    """Find what waits."""
    rows = await inspect.list_jobs(conn, state="scheduled", kind=KIND)
    return [
        Item(
            str(row.id),
            f"Parcel {row.id}",
            "Nobody has said whether it goes.",
            row.created_at,
            (
                Action("Send it", "send", {"job": row.id}, row.tenant_id, "primary"),
                Action("Drop it", "drop", {"job": row.id}, row.tenant_id),
            ),
            row.tenant_id,
            (Picture("sheet", {"id": "7"}, "Arrived now"), Picture("sheet", {"id": "8"}, "Known already")),
            {"queue": row.queue},
            (Link("The job", f"/jobs/{row.id}"),),
        )
        for row in sorted(rows, key=lambda each: each.id)
    ]


async def count(conn: Connection) -> int:
    """Count what waits."""
    return len(await inspect.list_jobs(conn, state="scheduled", kind=KIND))


async def still_waits(conn: Connection, look: Look) -> int:
    """Refuse what was decided before."""
    job = await inspect.show_job(conn, look.number("job"))
    if job.state != "scheduled":
        raise WrongState(f"parcel {job.id} was decided already: it is {job.state}", hint="Nothing is to be done.")
    return job.id


async def send(conn: Connection, look: Look) -> str:
    """Send a parcel."""
    await jobs.retry(conn, await still_waits(conn, look))
    return look.words("The parcel is sent.")


async def drop(conn: Connection, look: Look) -> str:
    """Drop a parcel."""
    await jobs.cancel(conn, await still_waits(conn, look), "dropped")
    return look.words("The parcel is dropped.")


async def standing(_conn: Connection) -> Sequence[Standing]:
    """Count papers by state, which are in no table."""
    return [Standing("desk", "new", 41, capped=False), Standing("desk", "stamped", 10_000, capped=True)]


async def break_standing(conn: Connection) -> Sequence[Standing]:
    """Fail in the database."""
    await conn.execute("select nothing from nowhere")
    return []


async def break_down(_conn: Connection, _look: Look) -> Sequence[Item]:
    """Fail, as an application without its tables does."""
    raise RuntimeError("no such table")


async def break_count(conn: Connection) -> int:
    """Fail in the database."""
    await conn.execute("select nothing from nowhere")
    return 7


PAPER_MACHINE = Machine(
    "desk_paper",
    states=("new", "stamped"),
    initial="new",
    terminal=("stamped",),
    transitions=(Transition("new", "stamp", "stamped"),),
)
LOST_MACHINE = Machine(
    "desk_lost",
    states=("lost", "found"),
    initial="lost",
    terminal=("found",),
    transitions=(Transition("lost", "find", "found"),),
)
FRONT = Panel("Desk", front, verbs={"stamp": Verb(stamp, STAMP)})
PAPERS = Panel("Papers", papers, name="papers", needs=READ, search="q", files={"sheet": sheet, "pdf": pdf})
PAPER = Panel("Paper", paper, name="paper", listed=False, needs=READ)
PRIVATE = Panel("Writers", private, name="writers", needs=PERSONAL)
WAITING = Panel(
    "Parcels", needs=READ, items=waiting, count=count, verbs={"send": Verb(send, READ), "drop": Verb(drop, STAMP)}
)
BROKEN = Panel("Broken", items=break_down, count=break_count)
