"""Limits the size of an input; every refusal names the number and the setting."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PrepLimits:
    """All of them are shown by `/info`, and none is part of a profile."""

    input_bytes: int = 512 << 20
    pages: int = 2_000
    megapixels: int = 200
    """Of one image, and of one page at the resolution of OCR."""
    members: int = 5_000
    member_bytes: int = 256 << 20
    total_bytes: int = 2 << 30
    ratio: int = 200
    """Unpacked to packed, above one megabyte."""
    page_points: int = 14_400
    ocr_dpi: int = 300
