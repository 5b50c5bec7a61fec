"""Files for tests, made here: PDFs with text, pictures, archives."""

import io
import zipfile

from fpdf import FPDF


def text_pdf(*pages: str) -> bytes:
    """A PDF that has its text already."""
    made = FPDF()
    for text in pages:
        made.add_page()
        made.set_font("helvetica", size=12)
        made.cell(text=text)
    return bytes(made.output())


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP of these members."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()
