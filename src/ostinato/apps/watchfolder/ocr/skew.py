"""Measures how far a page is askew: the angle at which its lines are sharpest."""

from typing import Any

WIDEST = 700
COARSE = [step / 2 for step in range(-10, 11)]
DARK = 128


def angle_of(image: Any) -> float:  # noqa: ANN401 - a PIL image
    """Return the degrees by which the image is to be turned counter-clockwise to be straight."""
    import numpy as np  # noqa: PLC0415 - heavy, and only in worker processes
    from PIL import Image  # noqa: PLC0415 - as above

    small = image.convert("L")
    small.thumbnail((WIDEST, WIDEST), Image.Resampling.BILINEAR)

    def sharpness(angle: float) -> float:
        turned = small.rotate(angle, Image.Resampling.BILINEAR, fillcolor=255)
        ink = (np.asarray(turned) < DARK).sum(axis=1).astype(float)
        return float(((ink[1:] - ink[:-1]) ** 2).sum())

    best = max(COARSE, key=sharpness)
    return max((best + fine / 10 for fine in range(-4, 5)), key=sharpness)
