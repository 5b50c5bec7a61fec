"""Runs PREP in a sandboxed process: an input of any kind becomes `raw.pdf`."""

import os
from pathlib import Path
from typing import Any

from ostinato.apps.watchfolder.prep.archives import READERS, add_archive
from ostinato.apps.watchfolder.prep.images import Pages, add_image, write_pdf
from ostinato.apps.watchfolder.prep.kinds import ACCEPTS, HEAD, kind_of
from ostinato.apps.watchfolder.prep.limits import PrepLimits
from ostinato.apps.watchfolder.prep.packages import ADVICE, document_of, is_locked
from ostinato.apps.watchfolder.prep.pdfs import count_pages, rewrite
from ostinato.apps.watchfolder.station.refused import Refused
from ostinato.apps.watchfolder.station.worker import Progress
from ostinato.apps.watchfolder.utils import Changed, sha256_file


def preload() -> None:
    """Load what every worker process needs, once."""
    import pikepdf.codec  # noqa: F401, PLC0415 - for its effect
    from PIL import Image  # noqa: PLC0415 - as above

    Image.init()


def run(task: dict[str, Any], report: Progress) -> dict[str, Any]:
    """Make the PDF; raises `Refused` with the reason when that cannot be."""
    limits = PrepLimits(**task.get("limits", {}))
    source, part = Path(task["inputPath"]), Path(task["part"])
    kind = _checked(source, task.get("inputSha256"), limits)
    report(0, 0)
    if kind == "pdf":
        pages, notes = rewrite(source, part, limits, report)
    else:
        made = Pages(Path(os.environ["TMPDIR"]), limits, report)
        if kind in READERS:
            add_archive(made, source, kind)
        else:
            add_image(made, source, kind)
        write_pdf(made, part)
        pages, notes = count_pages(part), made.notes
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    report(pages, pages)
    return {"pages": pages, "kind": kind, "notes": notes}


def _checked(source: Path, wanted: str | None, limits: PrepLimits) -> str:
    size = source.stat().st_size
    if size == 0:
        raise Refused("EMPTY", "the file is empty")
    if size > limits.input_bytes:
        raise Refused("TOO_BIG", f"{size:,} bytes, more than {limits.input_bytes:,} (input_bytes)")
    try:
        found = sha256_file(source)
    except Changed:
        found = None
    if wanted is not None and found != wanted:
        raise Refused("INPUT_CHANGED", "the file was written to after it had been taken")
    with source.open("rb") as file:
        head = file.read(HEAD)
    kind = kind_of(head)
    if kind is None:
        if is_locked(source, head):
            raise Refused(
                "ENCRYPTED", f"it is an Office document that is locked with a password, and no scan: {ADVICE}"
            )
        if (called := document_of(head)) is not None:
            raise Refused("UNSUPPORTED", f"it is {called}, and no scan: {ADVICE}")
        raise Refused("UNSUPPORTED", f"it is nothing that is read here; that is {', '.join(ACCEPTS)}")
    return kind
