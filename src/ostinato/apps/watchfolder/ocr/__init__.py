"""OCR: `raw.pdf` becomes a PDF that can be searched."""
