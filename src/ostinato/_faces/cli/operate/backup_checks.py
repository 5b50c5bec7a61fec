"""The check of `ostinato doctor` on backups: plain values in, a finding out."""

from datetime import datetime

from ostinato._core.engine.backups import BackupLine
from ostinato._faces.cli.frame import words
from ostinato._faces.cli.operate.checks import Finding

OLD_SECONDS = 2 * 86_400.0


def backups(found: list[BackupLine], now: datetime) -> Finding:
    """Check that there is a base backup that was verified, and that it is not old."""
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
    if age > OLD_SECONDS:
        hint = "Take and verify one every night: ostinato backup run"
        return Finding("backup", "warn", f"the last verified backup is old: {text}", hint, values)
    return Finding("backup", "ok", text, None, values)
