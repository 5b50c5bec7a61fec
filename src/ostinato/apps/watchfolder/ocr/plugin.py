"""Our plugin of OCRmyPDF: the engine that reads a page, whichever it is, with pages kept.

A page that was read is kept in `pages/` of the job, under the hash of its pixels: a job that is
begun anew reads only what is missing. Where there is no Tesseract, the builtin plugin that insists
on it is replaced by its options alone.
"""

import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ocrmypdf import hookimpl
from ocrmypdf.builtin_plugins import tesseract_ocr
from ocrmypdf.hocrtransform import BoundingBox, OcrClass, OcrElement
from ocrmypdf.hocrtransform.hocr_parser import HocrParser
from ocrmypdf.pluginspec import OcrEngine, OrientationConfidence
from PIL import Image

from ostinato.apps.watchfolder.ocr import rapid, skew
from ostinato.apps.watchfolder.ocr.engines import Engine
from ostinato.apps.watchfolder.ocr.rapid import Line

LEAST_CONFIDENCE = 0.5
INKY = 0.002
SKEWED_DEGREES = 1.5
DARK = 110
TESSERACT: Any = tesseract_ocr.TesseractOcrEngine


@dataclass
class Run:
    """The job of this process: a worker process does one, and ends."""

    engine: Engine
    folder: Path
    """Where pages are kept."""
    page_done: Callable[[], None]
    """Called after each page."""
    threads: int = 1
    escalated: int = 0
    resumed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


_run: list[Run] = []  # OCRmyPDF makes engines by itself and hands them nothing of ours


def begin(run: Run) -> None:
    """Say what this process reads; once."""
    _run[:] = [run]


class PageEngine(OcrEngine):
    """Reads pages for OCRmyPDF."""

    @staticmethod
    def version() -> str:
        """Return the version of the engine behind."""
        return _run[0].engine.version

    @staticmethod
    def creator_tag(options: Any) -> str:  # noqa: ANN401, ARG004 - as OCRmyPDF has it
        """Return the name and version that the PDF records as its creator."""
        return f"Ostinato {_run[0].engine.name} {_run[0].engine.version}"

    def __str__(self) -> str:
        return self.creator_tag(None)

    @staticmethod
    def languages(options: Any) -> set[str]:  # noqa: ANN401 - as OCRmyPDF has it
        """Return the languages that were asked for: which are there was checked before."""
        return set(options.languages)

    @staticmethod
    def get_orientation(input_file: Path, options: Any) -> OrientationConfidence:  # noqa: ANN401 - as above
        """Return how far the content is turned clockwise."""
        run = _run[0]
        if run.engine.name == "tesseract" and run.engine.has_osd:
            found = TESSERACT.get_orientation(input_file, options)
            return OrientationConfidence(found.angle, found.confidence)
        angle, sure = rapid.orientation(input_file, run.threads)
        return OrientationConfidence(angle, sure)

    @staticmethod
    def get_deskew(input_file: Path, options: Any) -> float:  # noqa: ANN401, ARG004 - as above
        """Return the angle to turn by; 0 for what is straight enough to be left as it is."""
        with Image.open(input_file) as image:
            angle = skew.angle_of(image)
        return angle if abs(angle) >= SKEWED_DEGREES else 0.0

    @staticmethod
    def supports_generate_ocr() -> bool:
        """Return True: we return what was read, without a file between."""
        return True

    @staticmethod
    def generate_ocr(
        input_file: Path,
        options: Any,  # noqa: ANN401 - as OCRmyPDF has it
        page_number: int = 0,
    ) -> tuple[OcrElement, str]:
        """Read one page, or remember it."""
        run = _run[0]
        kept = run.folder / f"{_key(input_file, run.engine, options.languages)}.json"
        try:
            page = json.loads(kept.read_text("utf-8"))
            run.resumed += 1
        except (OSError, ValueError):
            page = _read(run, input_file, options)
            temporary = kept.with_suffix(f".{threading.get_ident()}")
            temporary.write_text(json.dumps(page, ensure_ascii=False), "utf-8")
            temporary.replace(kept)
        made = _element(page, input_file, page_number)
        with run.lock:
            run.page_done()
        return made, page["text"]

    @staticmethod
    def generate_hocr(
        input_file: Path,
        output_hocr: Path,
        output_text: Path,
        options: Any,  # noqa: ANN401 - as OCRmyPDF has it
    ) -> None:
        """Raise: OCRmyPDF does not call it, because `supports_generate_ocr` is true."""
        raise NotImplementedError

    @staticmethod
    def generate_pdf(
        input_file: Path,
        output_pdf: Path,
        output_text: Path,
        options: Any,  # noqa: ANN401 - as OCRmyPDF has it
    ) -> None:
        """Refuse, as it is not asked for either."""
        raise NotImplementedError


@hookimpl
def get_ocr_engine(options: Any) -> OcrEngine:  # noqa: ANN401, ARG001 - as OCRmyPDF has it
    """Return our engine, whatever is asked for."""
    return PageEngine()


@hookimpl
def initialize(plugin_manager: Any) -> None:  # noqa: ANN401 - as OCRmyPDF has it
    """Keep only the options of Tesseract's plugin when another engine reads: the rest insists on the program."""
    if _run and _run[0].engine.name == "tesseract":
        return
    pluggy = getattr(plugin_manager, "pluggy_manager", plugin_manager)
    if pluggy.is_registered(tesseract_ocr):
        pluggy.unregister(tesseract_ocr)
        pluggy.register(
            SimpleNamespace(register_options=tesseract_ocr.register_options, add_options=tesseract_ocr.add_options),
            name="tesseract_options",
        )


def _key(path: Path, engine: Engine, languages: list[str]) -> str:
    digest = hashlib.sha256(f"{engine.name} {engine.version} {'+'.join(languages)}".encode())
    with Image.open(path) as image:
        digest.update(f"{image.mode} {image.size}".encode())
        digest.update(image.tobytes())
    return digest.hexdigest()


def _read(run: Run, path: Path, options: Any) -> dict[str, Any]:  # noqa: ANN401 - as OCRmyPDF has it
    if run.engine.name == "tesseract":
        page = _by_tesseract(path, options)
        poor = not page["text"].strip() or page["confidence"] < LEAST_CONFIDENCE
        if not (poor and run.engine.escalates and _has_ink(path)):
            return page
        run.escalated += 1
    return _by_rapid(path, run.threads)


def _by_tesseract(path: Path, options: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        hocr, text = Path(folder) / "page.hocr", Path(folder) / "page.txt"
        TESSERACT.generate_hocr(path, hocr, text, options)
        source = hocr.read_text("utf-8")
        words = [word for word in HocrParser(hocr).parse().words if word.text.strip()]
        scores = [word.confidence for word in words if word.confidence is not None]
        mean = sum(scores) / len(scores) if scores else 0.0
        return {"hocr": source, "text": text.read_text("utf-8"), "confidence": mean}


def _by_rapid(path: Path, threads: int) -> dict[str, Any]:
    lines = rapid.read_lines(path, threads)
    rows: dict[int, list[str]] = {}
    for line in lines:
        rows.setdefault(line.row, []).append(line.text)
    text = "\n".join(" ".join(row) for row in rows.values())
    return {"lines": [asdict(line) for line in lines], "text": text}


def _has_ink(path: Path) -> bool:
    with Image.open(path) as image:
        small = image.convert("L").resize((300, 400))
        dark = sum(small.histogram()[:DARK])
    return dark > INKY * 300 * 400


def _element(page: dict[str, Any], path: Path, number: int) -> OcrElement:
    if "hocr" in page:
        with tempfile.NamedTemporaryFile("w", suffix=".hocr", dir=os.environ.get("TMPDIR"), encoding="utf-8") as file:
            file.write(page["hocr"])
            file.flush()
            return HocrParser(file.name).parse()
    with Image.open(path) as image:
        width, height = image.size
        dpi = float(image.info.get("dpi", (72, 72))[0])
    return OcrElement(
        ocr_class=OcrClass.PAGE,
        bbox=BoundingBox(left=0, top=0, right=width, bottom=height),
        dpi=dpi,
        page_number=number,
        children=[_line(Line(**line)) for line in page["lines"]],
    )


def _line(line: Line) -> OcrElement:
    """Make a line with its words, each as wide as its share of the characters."""
    words, place = [], 0
    share = (line.right - line.left) / max(len(line.text), 1)
    for text in line.text.split():
        place = line.text.index(text, place)
        box = BoundingBox(
            left=line.left + place * share,
            top=line.top,
            right=line.left + (place + len(text)) * share,
            bottom=line.bottom,
        )
        words.append(OcrElement(ocr_class=OcrClass.WORD, bbox=box, text=text, confidence=line.score))
        place += len(text)
    box = BoundingBox(left=line.left, top=line.top, right=line.right, bottom=line.bottom)
    return OcrElement(ocr_class=OcrClass.LINE, bbox=box, children=words)
