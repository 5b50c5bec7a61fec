"""The checks of `ostinato doctor` on backups and the archive: plain values in, a finding out."""

from datetime import datetime

from ostinato._core.engine.backups import BackupLine
from ostinato._faces.cli.frame import words
from ostinato._faces.cli.operate.checks import Finding

OLD_SECONDS = 2 * 86_400.0
ARCHIVE_GRACE_DAYS = 2


def backups(found: list[BackupLine], now: datetime, timeline: int | None = None) -> Finding:
    """Check that a base backup was verified, that it is not old, and that the server's log continues it."""
    good = max((line for line in found if line.verified_at), key=lambda line: line.taken_at, default=None)
    values = {"label": good.label if good else None, "taken_at": good.taken_at if good else None}
    if good is None:
        text = "no backup was verified: the loss of this disk would lose everything"
        if found:
            return Finding("backup", "warn", text, "Run: ostinato backup verify", values)
        hint = "Make one on another disk: ostinato backup init FOLDER; or do as docs/backup.md says for pgBackRest."
        return Finding("backup", "warn", text, hint, values)
    age = (now - good.taken_at).total_seconds()
    text = f"{good.label} in {good.repository}, {words.span(age)} old, verified"
    if timeline is not None and good.timeline is not None and good.timeline < timeline:
        text = f"{text}, is of before the last restore or failover: it brings back nothing that came since"
        hint = "Take one now: ostinato backup run; and start again: ostinato backup stream"
        return Finding("backup", "warn", text, hint, values)
    if age > OLD_SECONDS:
        hint = "Take and verify one every night: ostinato backup run"
        return Finding("backup", "warn", f"the last verified backup is old: {text}", hint, values)
    return Finding("backup", "ok", text, None, values)


def archived(place: str, waiting: list[str]) -> Finding:
    """Check that what is past retention is archived: until it is, it is kept, and the disk fills."""
    values = {"place": place, "waiting": waiting}
    if waiting:
        text = f"{words.counted(len(waiting), 'week')} past retention not archived in {place}: the history only grows"
        hint = "Run it every night: ostinato archive run; it says what is in its way. Or: ostinato archive stop"
        return Finding("archive", "warn", text, hint, values)
    return Finding("archive", "ok", f"what is past retention is in {place}", None, values)
