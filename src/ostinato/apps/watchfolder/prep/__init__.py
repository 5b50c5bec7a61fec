"""PREP: whatever came in becomes `raw.pdf`."""
