"""Looks at the pages of a PDF before any is read: which have their text, which are scans, is one askew."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ostinato.apps.watchfolder.ocr import skew
from ostinato.apps.watchfolder.station.refused import Refused
from ostinato.apps.watchfolder.station.worker import Progress

LOOK_DPI = 72
SKEWED_DEGREES = 1.5
DOMINATES = 0.5
"""A page of which pictures cover at least this part is a scan, whatever text is stamped on it; some come in strips."""
INVISIBLE = 3
"""How a PDF draws the text that OCR has found: not at all."""
READ_CHARS = 25
"""Invisible characters of a scan that was read before; fewer are a mark that a program left, or what a poor OCR made of
specks. A scan with so few words costs little to read again."""


@dataclass(frozen=True)
class Look:
    """What was seen."""

    pages: int
    unread: list[int] = field(default_factory=list)
    """Numbers of the pages that must be read; the first is 1."""
    stamped: list[int] = field(default_factory=list)
    """Those of them that have some text all the same: the stamp of a scanner, a watermark."""
    skewed: bool = False


def look(path: Path, report: Progress) -> Look:
    """Look at every page; raises `Refused` for a PDF that does not open."""
    import pypdfium2 as pdfium  # type: ignore[import-untyped]  # noqa: PLC0415 - in worker processes only

    unread, stamped, skewed = [], [], False
    try:
        document = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        raise Refused("CORRUPT", f"the PDF cannot be opened: {error}") from None
    try:
        for number, page in enumerate(document, 1):
            report(number, len(document), "look")
            texts = page.get_textpage()
            if texts.get_text_range().strip():
                if not _is_unread_scan(page, texts):
                    continue
                stamped.append(number)
            elif not skewed:
                picture = page.render(scale=LOOK_DPI / 72, grayscale=True).to_pil()
                skewed = abs(skew.angle_of(picture)) >= SKEWED_DEGREES
            unread.append(number)
        return Look(len(document), unread, stamped, skewed)
    finally:
        document.close()


def _is_unread_scan(page: Any, texts: Any) -> bool:  # noqa: ANN401 - of pdfium
    """Return whether pictures fill the page and nobody has read it: next to nothing of its text is invisible."""
    from pypdfium2 import raw  # noqa: PLC0415 - in worker processes only

    page_left, page_bottom, page_right, page_top = page.get_bbox()
    covered, hidden = 0.0, 0
    for each in page.get_objects(filter=(raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_TEXT), textpage=texts):
        if each.type == raw.FPDF_PAGEOBJ_TEXT:
            if raw.FPDFTextObj_GetTextRenderMode(each.raw) == INVISIBLE:
                hidden += _chars_of(each)
                if hidden >= READ_CHARS:
                    return False
            continue
        left, bottom, right, top = _bounds_on_page(each)
        across = min(right, page_right) - max(left, page_left)
        covered += max(across, 0.0) * max(min(top, page_top) - max(bottom, page_bottom), 0.0)
    return bool(covered >= DOMINATES * (page_right - page_left) * (page_top - page_bottom))


def _chars_of(each: Any) -> int:  # noqa: ANN401 - of pdfium
    """Return how many characters a text object has that are no spaces; one that does not tell has none."""
    from pypdfium2 import PdfiumError  # noqa: PLC0415 - in worker processes only

    try:
        return len("".join(each.extract().split()))
    except PdfiumError:
        return 0


def _bounds_on_page(each: Any) -> tuple[float, float, float, float]:  # noqa: ANN401 - of pdfium
    """Return where an object lies on its page: pdfium tells it in the space of the form that holds it."""
    bounds, form = each.get_bounds(), each.container
    while form is not None:
        bounds, form = form.get_matrix().on_rect(*bounds), form.container
    left, bottom, right, top = bounds
    return left, bottom, right, top
