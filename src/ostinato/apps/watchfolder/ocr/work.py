"""Runs OCR in a sandboxed process: `raw.pdf` becomes searchable, PDF/A if it can.

A PDF whose every page has its text already is not read again, only made PDF/A. One that OCRmyPDF
stumbles over is drawn page by page and tried once more as pictures.
"""

import contextlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ostinato.apps.watchfolder.ocr.engines import Engine, call_order
from ostinato.apps.watchfolder.ocr.look import Look, look
from ostinato.apps.watchfolder.readings import FIRST_PAGE, PAGE_HEIGHT, PAGE_WIDTH, RESULT_PAGE, TEXT
from ostinato.apps.watchfolder.station.refused import Refused
from ostinato.apps.watchfolder.station.worker import Progress
from ostinato.apps.watchfolder.utils import atomic_write_json

MOST_NAMED = 10
RASTER_DPI = 300
PLUGIN = "ostinato.apps.watchfolder.ocr.plugin"


def preload() -> None:
    """Load what every worker process needs, once; no model: its threads would not be forked."""
    import numpy as np  # noqa: F401, PLC0415 - for its effect
    import ocrmypdf  # noqa: F401, PLC0415 - as above
    import pikepdf.pdfa  # noqa: F401, PLC0415 - as above
    import pypdfium2  # type: ignore[import-untyped] # noqa: F401, PLC0415 - as above

    import ostinato.apps.watchfolder.ocr.plugin  # noqa: F401, PLC0415 - as above

    with contextlib.suppress(Exception), tempfile.TemporaryDirectory() as folder:
        _rehearse(Path(folder))


def _rehearse(folder: Path) -> None:
    """Go through the steps once with an empty page: what they load, forks have already."""
    import pikepdf  # noqa: PLC0415 - as above

    with pikepdf.new() as pdf:
        pdf.add_blank_page()
        pdf.save(folder / "blank.pdf")
    look(folder / "blank.pdf", lambda _page, _pages, _step="", /: None)
    _only_pdfa(folder / "blank.pdf", folder / "done.pdf")
    text_of(folder / "done.pdf")
    _pdfa(folder / "done.pdf")


def run(task: dict[str, Any], report: Progress) -> dict[str, Any]:
    """Make the PDF; raises `Refused` with the reason when that cannot be."""
    source, part = _disarmed(Path(task["inputPath"])), Path(task["part"])
    seen = look(source, report)
    pages = seen.pages
    report(0, pages)
    folder = Path(task["folder"])
    draw_first_page(source, folder / FIRST_PAGE)  # first, so that a person sees also what then cannot be read
    notes: list[str] = []
    facts: dict[str, Any] = {"engine": task["engine"]["name"]}
    if not seen.unread:
        kind = _only_pdfa(source, part)
        facts["engine"] = "none"
        notes.append("every page had text already")
    else:
        kind = None
        facts |= _read(
            task, source, part, lambda done, step="read": report(min(done, pages), pages, step), seen=seen, notes=notes
        )
    texts = text_of(part, report)
    if len(texts) != pages:
        raise Refused("WORKER_CRASHED", f"{len(texts)} pages came out of {pages}")
    chars = sum(len(text.strip()) for text in texts)
    if chars == 0:
        notes.append("no_text")
    (folder / TEXT).write_text("\f".join(texts), "utf-8", "replace")
    draw_first_page(part, folder / RESULT_PAGE)
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    facts |= {"pages": pages, "pdfa": kind or _pdfa(part), "textChars": chars, "notes": notes}
    atomic_write_json(folder / "ocr.json", facts, durable=False)
    report(pages, pages)
    return facts


def _disarmed(source: Path) -> Path:
    """Remove what acts by itself from the PDF: PREP has seen to that, unless somebody else was PREP."""
    import pikepdf  # noqa: PLC0415 - in worker processes only

    from ostinato.apps.watchfolder.prep.disarm import disarm  # noqa: PLC0415 - as above

    try:
        with pikepdf.open(source) as pdf:
            if disarm(pdf) == 0:
                return source
            target = Path(os.environ["TMPDIR"]) / "disarmed.pdf"
            pdf.save(target)
            return target
    except pikepdf.PasswordError:
        raise Refused("ENCRYPTED", "the PDF is locked with a password") from None
    except (pikepdf.PdfError, ValueError, TypeError, RecursionError) as error:
        raise Refused("CORRUPT", f"the PDF cannot be opened: {str(error)[:200]}") from None


def text_of(path: Path, report: Progress | None = None) -> list[str]:
    """Return the text of every page, as somebody who searches finds it."""
    import pypdfium2 as pdfium  # noqa: PLC0415 - in worker processes only

    document = pdfium.PdfDocument(path)
    try:
        texts = []
        for number, page in enumerate(document, 1):
            texts.append(page.get_textpage().get_text_range().replace("\r\n", "\n"))
            if report is not None:
                report(number, len(document), "check")
        return texts
    finally:
        document.close()


def draw_first_page(source: Path, target: Path) -> None:
    """Draw the first page small, for people; a page that cannot be drawn has no picture, and that is no error."""
    import pypdfium2 as pdfium  # noqa: PLC0415 - in worker processes only

    with contextlib.suppress(Exception):
        document = pdfium.PdfDocument(source)
        try:
            page = document[0]
            scale = min(PAGE_WIDTH / page.get_width(), PAGE_HEIGHT / page.get_height())
            page.render(scale=scale).to_pil().convert("RGB").save(target, "JPEG", quality=70)
        finally:
            document.close()


def _only_pdfa(source: Path, part: Path) -> str | None:
    """Make it PDF/A where that can be: which, or None."""
    import pikepdf  # noqa: PLC0415 - in worker processes only
    from pikepdf import pdfa  # noqa: PLC0415 - as above

    with pikepdf.open(source) as pdf:
        try:
            pdfa.save(pdf, part, "2b")
        except (pdfa.PdfaError, ValueError, TypeError):
            with pikepdf.open(source) as plain:
                plain.save(part)
            return None
    return "2b"


def _read(
    task: dict[str, Any], source: Path, part: Path, report: Callable[..., None], *, seen: Look, notes: list[str]
) -> dict[str, Any]:
    from ostinato.apps.watchfolder.ocr.plugin import Run, begin  # noqa: PLC0415 - in worker processes only

    engine = Engine(**{**task["engine"], "langs": tuple(task["engine"]["langs"])})
    kept = Path(task["folder"]) / "pages"
    kept.mkdir(exist_ok=True)
    done = 0

    def page_done() -> None:
        nonlocal done
        done += 1
        report(done)

    threads = int(task.get("threads", 1))
    made = Run(engine, kept, page_done, threads)
    begin(made)
    if seen.stamped:
        numbers = ", ".join(map(str, seen.stamped[:MOST_NAMED])) + (" …" if len(seen.stamped) > MOST_NAMED else "")
        notes.append(f"read in spite of the text that lay on the scan: page {numbers}")
    elif seen.skewed:
        notes.append("straightened")
    try:
        _ocrmypdf(source, part, task, seen)
    except (Refused, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - it stumbles over damaged files in many ways
        notes.append(f"drawn anew, because: {type(error).__name__}")
        done = 0
        folder = Path(os.environ["TMPDIR"])
        drawn = _rastered(source, folder, lambda page, _pages, step="": report(page, f"{step} again"))
        _ocrmypdf(drawn, part, task, replace(seen, stamped=[]))
    if made.resumed:
        notes.append(f"{made.resumed} pages had been read before")
    return {"escalated": made.escalated, "lang": "+".join(call_order(task["lang"]))}


def _ocrmypdf(source: Path, part: Path, task: dict[str, Any], seen: Look) -> None:
    import ocrmypdf  # noqa: PLC0415 - in worker processes only
    from ocrmypdf import exceptions  # noqa: PLC0415 - as above

    threads = int(task.get("threads", 1))
    made = part.with_name(f"{part.name}.pdf")
    try:
        code = ocrmypdf.ocr(
            source,
            made,
            language=call_order(task["lang"]),
            plugins=[PLUGIN],
            # To "redo" keeps the text that a stamp has, and reads the picture around it; only of the pages named.
            mode="redo" if seen.stamped else "skip",
            pages=",".join(map(str, seen.unread)) if seen.stamped else None,
            rotate_pages=True,
            deskew=seen.skewed and not seen.stamped,
            output_type="auto",
            pdfa_backend="internal",
            rasterizer="pypdfium",
            optimize=0,
            jobs=threads,
            use_threads=True,
            max_image_mpixels=float(task.get("megapixels", 200)),
            invalidate_digital_signatures=True,
            progress_bar=False,
        )
    except exceptions.EncryptedPdfError:
        raise Refused("ENCRYPTED", "the PDF is locked with a password") from None
    except (exceptions.InputFileError, exceptions.UnsupportedImageFormatError) as error:
        raise Refused("CORRUPT", f"the PDF cannot be read: {str(error)[:300]}") from None
    if code not in OK:
        raise RuntimeError(f"OCRmyPDF ended with {code!r}")
    made.replace(part)


OK = (0, 4, 10)
"""Done; done, with a doubt about its structure; done, but not PDF/A."""


def _rastered(source: Path, folder: Path, report: Progress) -> Path:
    """Render the pages as pictures, for a PDF that only a viewer can make sense of."""
    import io  # noqa: PLC0415 - in worker processes only

    import pypdfium2 as pdfium  # noqa: PLC0415 - as above

    from ostinato.apps.watchfolder.prep.images import Pages, write_pdf  # noqa: PLC0415 - as above
    from ostinato.apps.watchfolder.prep.limits import PrepLimits  # noqa: PLC0415 - as above

    pages = Pages(folder, PrepLimits(), report)
    document = pdfium.PdfDocument(source)
    try:
        for page in document:
            drawn = io.BytesIO()
            picture = page.render(scale=RASTER_DPI / 72).to_pil().convert("RGB")
            picture.save(drawn, "PNG", compress_level=1, dpi=(RASTER_DPI, RASTER_DPI))
            pages.add(drawn.getvalue())
    except pdfium.PdfiumError as error:
        raise Refused("CORRUPT", f"the PDF cannot be drawn: {error}") from None
    finally:
        document.close()
    target = folder / "drawn.pdf"
    write_pdf(pages, target)
    return target


def _pdfa(path: Path) -> str | None:
    """Return which PDF/A it declares: "2b", or None."""
    import pikepdf  # noqa: PLC0415 - in worker processes only

    with pikepdf.open(path) as pdf, pdf.open_metadata() as metadata:
        status = str(metadata.pdfa_status or "")
    return status.lower() or None
