"""Images become pages: byte by byte where a PDF can hold them as they are, else without loss.

A JPEG and a plain PNG go in as they came, after they were decoded once, which finds those that
were cut off. One bit a pixel stays one bit. Transparency becomes white; EXIF turns are honoured.
"""

import contextlib
import io
import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import img2pdf  # type: ignore[import-untyped]  # ships no types
from PIL import Image, ImageOps, UnidentifiedImageError

from ostinato.apps.watchfolder.prep.limits import PrepLimits
from ostinato.apps.watchfolder.prep.pdfs import bind
from ostinato.apps.watchfolder.station.refused import OURS, Refused
from ostinato.apps.watchfolder.station.worker import Progress

A4_MM = (210.0, 297.0)
LOWEST_DPI, HIGHEST_DPI = 50, 1200
PLAIN = {"L", "RGB"}


class Pages:
    """Images of pages, kept as files until the PDF is written; `report` hears of each."""

    def __init__(self, folder: Path, limits: PrepLimits, report: Progress | None = None) -> None:
        self.folder = folder
        self.limits = limits
        self.report: Progress = report or (lambda _page, _pages, _step="": None)
        self.paths: list[Path] = []
        """Images, and PDFs whose names begin with "volume", in their order."""
        self.count = 0
        self.notes: list[str] = []

    def add(self, data: bytes) -> None:
        """Add one more page."""
        path = self.next_path("page")
        self._count(1)
        path.write_bytes(data)
        self.paths.append(path)

    def add_volume(self, path: Path, pages: int) -> None:
        """Add a PDF, all pages of it; its path is one of `next_path`."""
        self._count(pages)
        self.paths.append(path)

    def next_path(self, kind: str) -> Path:
        """Return where the next page, or the next volume, is kept."""
        return self.folder / f"{kind}-{len(self.paths):06}"

    def _count(self, pages: int) -> None:
        if self.count + pages > self.limits.pages:
            raise Refused("PAGES", f"more than {self.limits.pages:,} pages (pages)")
        self.count += pages
        self.report(self.count, 0, "read")


def add_image(pages: Pages, source: Path | bytes, kind: str, name: str = "the image") -> None:
    """Add the pages of one image; a TIFF may have many."""
    for data in _decoded(source, kind, pages.limits, name):
        pages.add(data)  # a disk that is full here is not the fault of the image


def _decoded(source: Path | bytes, kind: str, limits: PrepLimits, name: str) -> Iterator[bytes]:
    Image.MAX_IMAGE_PIXELS = None  # we count ourselves, and say what we counted
    if kind in {"heic", "avif"}:
        _know_heif()
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(io.BytesIO(source) if isinstance(source, bytes) else source) as image,
        ):
            for frame in _frames(image, kind, limits):
                _check_pixels(frame, limits, name)
                yield _as_page(frame, source, kind)
    except Refused:
        raise
    except MemoryError:
        raise
    except UnidentifiedImageError:
        raise Refused("CORRUPT", f"{name} is no {kind.upper()} that can be read") from None
    except (OSError, SyntaxError, ValueError, EOFError, KeyError, TypeError) as error:
        if isinstance(error, OSError) and error.errno in OURS:
            raise
        raise Refused("CORRUPT", f"{name} cannot be read to its end: {error}") from None


def _know_heif() -> None:
    try:
        import pillow_heif  # noqa: PLC0415 - only where such a file came
    except ImportError:
        raise Refused("UNSUPPORTED", "HEIC needs the package pillow-heif") from None
    pillow_heif.register_heif_opener()
    register_avif = getattr(pillow_heif, "register_avif_opener", None)
    if register_avif is not None:
        register_avif()


def _frames(image: Image.Image, kind: str, limits: PrepLimits) -> Iterator[Image.Image]:
    """Yield the pages of an image; of a GIF or a WebP the first frame only."""
    if kind != "tiff":
        yield image
        return
    for number in range(limits.pages + 1):
        with contextlib.suppress(EOFError):
            image.seek(number)
            yield image
            continue
        return


def _check_pixels(image: Image.Image, limits: PrepLimits, name: str) -> None:
    width, height = image.size
    if width * height > limits.megapixels * 1_000_000:
        raise Refused(
            "PIXELS", f"{name} has {width:,} x {height:,} pixels, more than {limits.megapixels} million (megapixels)"
        )


def _as_page(image: Image.Image, source: Path | bytes, kind: str) -> bytes:
    image.load()
    if kind in {"jpeg", "png"} and image.mode in PLAIN and "transparency" not in image.info:
        return source if isinstance(source, bytes) else source.read_bytes()
    if kind == "png" and image.mode == "1":
        return source if isinstance(source, bytes) else source.read_bytes()
    return _converted(image)


def _converted(image: Image.Image) -> bytes:
    dpi = _dpi(image)
    turned = ImageOps.exif_transpose(image)
    flat = _flattened(turned)
    made = io.BytesIO()
    more: dict[str, Any] = {} if dpi is None else {"dpi": dpi}
    if flat.mode == "1":
        flat.save(made, "TIFF", compression="group4", **more)
    else:
        flat.save(made, "PNG", compress_level=1, **more)
    return made.getvalue()


def _flattened(image: Image.Image) -> Image.Image:
    """Convert an image to one without transparency, palette, CMYK or 16 bits."""
    if image.mode in {"1", "L", "RGB"} and "transparency" not in image.info:
        return image
    if image.mode.startswith("I") or image.mode == "F":
        low, high = image.getextrema()[:2]
        span = max(float(high) - float(low), 1.0)  # type: ignore[arg-type]  # one band
        if image.mode.startswith("I;16"):
            return image.point(lambda value: value / 256).convert("L")
        return image.point(lambda value: (value - float(low)) * 255 / span).convert("L")  # type: ignore[arg-type]  # as above
    if "A" in image.getbands() or "transparency" in image.info:
        clear = image.convert("RGBA")
        white = Image.new("RGBA", clear.size, "white")
        return Image.alpha_composite(white, clear).convert("RGB")
    return image.convert("RGB")


def _dpi(image: Image.Image) -> tuple[float, float] | None:
    found: Any = image.info.get("dpi")
    try:
        across, down = (float(each) for each in found)
    except (TypeError, ValueError):
        return None
    known = all(LOWEST_DPI <= each <= HIGHEST_DPI for each in (across, down))
    return (across, down) if known else None


def _layout(width: float, height: float, dpi: tuple[float, float]) -> tuple[float, ...]:
    """Return the size of a page: what the resolution says, or A4 when it says nothing sensible."""
    across, down = dpi
    if not all(LOWEST_DPI <= each <= HIGHEST_DPI for each in dpi) or across == UNKNOWN_DPI:
        paper = A4_MM if width <= height else A4_MM[::-1]
        size = [img2pdf.mm_to_pt(each) for each in paper]
        scale = min(size[0] / width, size[1] / height)
        page = (width * scale, height * scale)
    else:
        page = (width * 72.0 / across, height * 72.0 / down)
    return (*page, *page)


UNKNOWN_DPI = 96.0
"""What img2pdf takes for an image that says nothing; as good as unknown for a scan."""


def write_pdf(pages: Pages, target: Path) -> None:
    """Write the pages as one PDF."""
    if not pages.paths:
        raise Refused("NO_PAGES", "there is no page in it")
    runs = [list(run) for _, run in itertools.groupby(pages.paths, _is_volume)]
    if len(runs) == 1 and not _is_volume(runs[0][0]):
        _write_images(pages, runs[0], target)
        return
    volumes: list[Path] = []
    for number, run in enumerate(runs):
        if _is_volume(run[0]):
            volumes += run
        else:
            volumes.append(pages.folder / f"images-{number:06}.pdf")
            _write_images(pages, run, volumes[-1])
    bind(volumes, target, pages.report)


def _is_volume(path: Path) -> bool:
    return path.name.startswith("volume-")


def _write_images(pages: Pages, paths: list[Path], target: Path) -> None:
    count, placed = len(paths), 0

    def lay_out(width: float, height: float, dpi: tuple[float, float]) -> tuple[float, ...]:
        nonlocal placed
        placed += 1
        pages.report(min(placed, count), count, "write")
        return _layout(width, height, dpi)

    try:
        with target.open("wb") as file:
            img2pdf.convert(
                [str(path) for path in paths], outputstream=file, layout_fun=lay_out, rotation=img2pdf.Rotation.ifvalid
            )
    except (img2pdf.ImageOpenError, img2pdf.PdfTooLargeError, ValueError) as error:
        raise Refused("CORRUPT", f"an image cannot be put into a PDF: {error}") from None
