"""Recognises documents that are ZIPs inside: a .docx is no archive of the pictures in it."""

import mmap
import zipfile
from collections.abc import Collection
from pathlib import Path

MIMETYPE = "mimetype"
MOST_MIMETYPE = 200
_OFFICE = (
    ("word/", "a Word document (.docx)"),
    ("xl/", "an Excel workbook (.xlsx)"),
    ("ppt/", "a PowerPoint presentation (.pptx)"),
    ("visio/", "a Visio drawing (.vsdx)"),
    ("Documents/", "an XPS document (.xps)"),
)
_BY_TYPE = (
    ("application/vnd.oasis.opendocument.text", "an OpenDocument text (.odt)"),
    ("application/vnd.oasis.opendocument.spreadsheet", "an OpenDocument spreadsheet (.ods)"),
    ("application/vnd.oasis.opendocument.presentation", "an OpenDocument presentation (.odp)"),
    ("application/vnd.oasis.opendocument", "an OpenDocument file"),
    ("application/epub+zip", "an e-book (.epub)"),
)
_BY_MEMBER = (
    ("AndroidManifest.xml", "an Android package (.apk)"),
    ("META-INF/MANIFEST.MF", "a Java archive (.jar)"),
    ("Index/Document.iwa", "an iWork document (.pages, .numbers, .key)"),
    ("Index.zip", "an iWork document (.pages, .numbers, .key)"),
    ("doc.kml", "a map of places (.kmz)"),
)
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# A stream of a compound file, by its entry in the directory: its name filled up to 64 bytes, its length, what it is.
_LOCKED = "EncryptedPackage".encode("utf-16-le").ljust(64, b"\0") + b"\x22\0\x02"
_HEADS = (
    (_COMPOUND, "an Office document of before 2007 (.doc, .xls, .ppt) or a message (.msg)"),
    (b"{\\rtf", "a Rich Text document (.rtf)"),
    (b"%!PS", "a PostScript document (.ps)"),
    (b"AT&TFORM", "a DjVu document (.djvu)"),
)
ADVICE = "print it or export it as PDF, and put that into in/"


def document_of(head: bytes) -> str | None:
    """Return what a file that begins so is called, if it is a document that is known but not read."""
    return next((name for prefix, name in _HEADS if head.startswith(prefix)), None)


def is_locked(path: Path, head: bytes) -> bool:
    """Return whether it is a document of Office that only its password opens: a .docx inside of a compound file."""
    if not head.startswith(_COMPOUND):
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(_LOCKED) >= 0


def package_of(archive: zipfile.ZipFile) -> str | None:
    """Return what a ZIP is called that is one document and not a pile of pages; None for a pile."""
    names = {name.removeprefix("./"): name for name in archive.namelist()}
    if "[Content_Types].xml" in names:
        return next((called for top, called in _OFFICE if _below(top, names)), "an Office Open XML document")
    if MIMETYPE in names and archive.getinfo(names[MIMETYPE]).file_size <= MOST_MIMETYPE:
        with archive.open(names[MIMETYPE]) as file:
            told = file.read(MOST_MIMETYPE).decode("ascii", "replace").strip()
        return next((called for kind, called in _BY_TYPE if told.startswith(kind)), f"a package of {told[:60]!r}")
    if "META-INF/container.xml" in names:
        return "an e-book (.epub)"
    return next((called for member, called in _BY_MEMBER if member in names), None)


def _below(top: str, names: Collection[str]) -> bool:
    return any(name.startswith(top) for name in names)
