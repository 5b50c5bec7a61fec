"""Sends a file from `error/` through again, because a person said so.

It goes the way of a twin that is forced: its nonce is registered, then the file moves to `in/` with one
atomic move, and becomes a job of its own. error.json stays where it is, and says what had happened.
"""

from pathlib import Path

from ostinato.apps.watchfolder.tick.context import Tick, log
from ostinato.apps.watchfolder.tick.decisions import NotYet, force
from ostinato.apps.watchfolder.tick.duplicates import Undecidable
from ostinato.apps.watchfolder.utils import Changed, sha256_file

REPORT = "error.json"
OURS = {REPORT, "raw.pdf"}
"""What is in the folder of a failed job beside its input; raw.pdf may also be the input's own name."""
AGAIN = "sentAgainFrom"
"""What the entry of a nonce has, so that after a crash it is known that the file is on its way."""


def send_again(tick: Tick, job_key: str, name: str, by: str) -> None:
    """Send the input of a failed job through again; done before a crash, it is not done twice.

    Raises `NotYet` while the job is not put away or its file is written to, `Undecidable` where its input is
    not in `error/` any more.
    """
    if tick.folders.job(job_key).exists():
        raise NotYet
    try:
        found = _input(tick.folders.error / job_key, job_key)
    except Changed:
        raise NotYet from None
    if found is None:
        if any(each.get("jobKey") == job_key and AGAIN in each for each in tick.index["forced"].values()):
            return
        raise Undecidable(f"its file is not in error/{job_key} any more")
    path, file_hash = found
    # By its own hash: it is not that of the job where somebody wrote to the file after it had arrived.
    force(tick, job_key, path, name, {"decidedBy": by}, fileHash=file_hash, **{AGAIN: f"error/{job_key}"})
    log.info("sent_again", job_key=job_key, by=by)


def _input(place: Path, job_key: str) -> tuple[Path, str] | None:
    """Return the input of a failed job, with its hash: by its content, or as the only file that is not ours."""
    there = sorted(place.iterdir()) if place.is_dir() and not place.is_symlink() else []
    plain = [path for path in there if path.is_file() and not path.is_symlink() and not path.name.startswith(".")]
    hashes = {path: sha256_file(path) for path in plain if path.name != REPORT}
    same = [path for path, digest in hashes.items() if job_key.startswith(f"{digest}__")]
    other = [path for path in hashes if path.name not in OURS]
    chosen = same[0] if same else other[0] if len(other) == 1 else None
    return None if chosen is None else (chosen, hashes[chosen])
