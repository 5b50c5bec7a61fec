"""RapidOCR, which needs nothing but its wheels: lines with their places, and which way is up.

Its classifier of turned lines stays off: it turns whole correct lines (French: 6.5 % wrong
characters with it, 0.2 % without). Which way a page is turned we find ourselves.
"""

import hashlib
import os
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ostinato.apps.watchfolder.ocr.order import reading_order

TRIED_LINES = 6
CLEARLY = 0.08
SURE = 20.0
_lock = threading.Lock()  # one session, one page at a time


@dataclass(frozen=True)
class Line:
    """A line of text, in pixels of the page."""

    left: float
    top: float
    right: float
    bottom: float
    text: str
    score: float
    row: int
    """Lines of the same row stand side by side."""


def is_installed() -> bool:
    """Return whether RapidOCR can be used."""
    from importlib.util import find_spec  # noqa: PLC0415 - asked once

    return find_spec("rapidocr") is not None and find_spec("onnxruntime") is not None


def models() -> dict[str, str]:
    """Return the hashes of the models, by name: a result depends on them."""
    from importlib.resources import files  # noqa: PLC0415 - asked once

    found = {}
    for path in sorted(files("rapidocr").joinpath("models").iterdir(), key=lambda each: each.name):
        if path.name.endswith(".onnx"):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[path.name.removesuffix(".onnx")] = f"sha256:{digest[:16]}"
    return found


@cache
def _engine(threads: int) -> Any:  # noqa: ANN401 - it has no types
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    from rapidocr import RapidOCR  # noqa: PLC0415 - heavy, and only where it is used

    return RapidOCR(
        params={
            "Global.use_cls": False,
            "Global.log_level": "error",
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _pixels(path: Path) -> Any:  # noqa: ANN401 - an array
    import numpy as np  # noqa: PLC0415 - with the engine
    from PIL import Image  # noqa: PLC0415 - as above

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def read_lines(path: Path, threads: int = 1) -> list[Line]:
    """Return the lines of a page, in the order in which they are read."""
    pixels = _pixels(path)
    with _lock:
        # it keeps the last parameters, so it is given all of them each time
        found = _engine(threads)(pixels, use_det=True, use_cls=False, use_rec=True)
    if found.boxes is None or found.txts is None:
        return []
    boxes = [
        (float(box[:, 0].min()), float(box[:, 1].min()), float(box[:, 0].max()), float(box[:, 1].max()))
        for box in found.boxes
    ]
    return [
        Line(*boxes[number], found.txts[number], float(found.scores[number]), row)
        for row, numbers in enumerate(reading_order(boxes))
        for number in numbers
        if found.txts[number].strip()
    ]


def orientation(path: Path, threads: int = 1) -> tuple[int, float]:
    """Return how far the content of a page is turned clockwise, and how sure that is.

    The longest lines are read in the two directions that their shapes allow.
    """
    import numpy as np  # noqa: PLC0415 - with the engine

    pixels = _pixels(path)
    with _lock:
        engine = _engine(threads)
        found = engine(pixels, use_det=True, use_cls=False, use_rec=False)
        if found.boxes is None or not len(found.boxes):
            return 0, 0.0
        crops, tall = [], 0
        for box in found.boxes:
            left, top = (max(0, int(each)) for each in box.min(axis=0))
            right, bottom = (int(each) + 1 for each in box.max(axis=0))
            crops.append(pixels[top:bottom, left:right])
            tall += bottom - top > right - left
        upright = tall * 2 <= len(crops)
        crops.sort(key=lambda crop: -max(crop.shape[:2]))
        turns = (0, 2) if upright else (1, 3)
        scores = {
            turn: _score(engine, [np.ascontiguousarray(np.rot90(c, turn)) for c in crops[:TRIED_LINES]])
            for turn in turns
        }
    best = max(turns, key=lambda turn: scores[turn])
    other = turns[0] if best == turns[1] else turns[1]
    sure = scores[best] - scores[other] >= CLEARLY
    return best * 90, SURE if sure else 0.0


def _score(engine: Any, crops: list[Any]) -> float:  # noqa: ANN401 - it has no types
    total = 0.0
    for crop in crops:
        read = engine(crop, use_det=False, use_cls=False, use_rec=True)
        scores = getattr(read, "scores", None)
        if scores:
            total += float(scores[0])
    return total / max(len(crops), 1)
