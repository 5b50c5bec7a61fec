"""A PDF becomes one that is safe to work on: repaired, unlocked, without scripts or attachments."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pikepdf

from ostinato.apps.watchfolder.prep.disarm import disarm
from ostinato.apps.watchfolder.prep.limits import PrepLimits
from ostinato.apps.watchfolder.station.refused import Refused
from ostinato.apps.watchfolder.station.worker import Progress

MOST_IMAGES = 10_000
LONG = 100


def rewrite(source: Path, target: Path, limits: PrepLimits, report: Progress) -> tuple[int, list[str]]:
    """Write the PDF anew; returns its pages, and what is worth knowing."""
    notes: list[str] = []
    try:
        with pikepdf.open(source) as pdf:
            pages = len(pdf.pages)
            _check_pages(pages, limits)
            _check_sizes(pdf, limits)
            if pdf.is_encrypted:
                notes.append("an owner's password was removed; the original is kept")
            if _is_signed(pdf):
                notes.append("signed: the original is kept as it is")
            if disarm(pdf):
                notes.append("scripts, actions or attachments were left out; the original is kept")
            pdf.save(target, encryption=False, progress=_progress(pages, report))
            return pages, notes
    except pikepdf.PasswordError:
        raise Refused("ENCRYPTED", "the PDF is locked with a password") from None
    except (pikepdf.PdfError, ValueError, TypeError, KeyError, RecursionError) as error:
        said = str(error).replace(f"{source}: ", "")[:200]
        raise Refused("CORRUPT", f"the PDF cannot be repaired: {said}") from None


def _progress(pages: int, report: Progress) -> Callable[[int], None] | None:
    """Report how much of a long PDF is written, lest it is taken for one that stands still."""
    if pages < LONG:
        return None
    return lambda percent: report(0, pages, f"write {percent} %")


def bind(volumes: list[Path], target: Path, report: Progress) -> None:
    """Write several PDFs as one, in their order."""
    with contextlib.ExitStack() as stack, pikepdf.new() as bound:
        for number, path in enumerate(volumes, 1):
            bound.pages.extend(stack.enter_context(pikepdf.open(path)).pages)
            report(number, len(volumes), "bind")
        bound.save(target)


def count_pages(path: Path) -> int:
    """Return how many pages a PDF has; raises when it does not open."""
    with pikepdf.open(path) as pdf:
        return len(pdf.pages)


def _check_pages(pages: int, limits: PrepLimits) -> None:
    if pages == 0:
        raise Refused("NO_PAGES", "the PDF has no page")
    if pages > limits.pages:
        raise Refused("PAGES", f"{pages:,} pages, more than {limits.pages:,} (pages)")


def _check_sizes(pdf: pikepdf.Pdf, limits: PrepLimits) -> None:
    """Refuse pages and images that would take all memory when they are drawn."""
    most = limits.megapixels * 1_000_000
    seen = 0
    for number, page in enumerate(pdf.pages, 1):
        left, low, right, high = (float(each) for each in page.mediabox)
        unit = float(page.obj.get("/UserUnit", 1))
        width, height = abs(right - left) * unit, abs(high - low) * unit
        if max(width, height) > limits.page_points:
            raise Refused(
                "PIXELS",
                f"page {number} is {width:,.0f} x {height:,.0f} points, more than {limits.page_points:,} (page_points)",
            )
        scale = limits.ocr_dpi / 72
        if width * scale * height * scale > most:
            raise Refused(
                "PIXELS",
                f"page {number} is more than {limits.megapixels} million pixels at {limits.ocr_dpi} dpi (megapixels)",
            )
        for image in _images(page):
            seen += 1
            area = int(image.get("/Width", 0)) * int(image.get("/Height", 0))
            if area > most:
                raise Refused(
                    "PIXELS",
                    f"an image on page {number} has {area:,} pixels, more than"
                    f" {limits.megapixels} million (megapixels)",
                )
            if seen > MOST_IMAGES:
                return


def _images(page: pikepdf.Page) -> list[Any]:
    with contextlib.suppress(AttributeError, ValueError, TypeError, KeyError):
        found = page.get_images() if hasattr(page, "get_images") else page.images
        return list(found.values())
    return []


def _is_signed(pdf: pikepdf.Pdf) -> bool:
    form = pdf.Root.get("/AcroForm")
    with contextlib.suppress(TypeError, ValueError, AttributeError):
        return form is not None and int(form.get("/SigFlags", 0)) & 1 == 1
    return False
