"""Files for tests, made here: PDFs with text, pictures, archives."""

import ctypes
import io
import struct
import tempfile
import zipfile
import zlib
from pathlib import Path

import pikepdf
from fpdf import FPDF


def text_pdf(*pages: str) -> bytes:
    """A PDF that has its text already."""
    made = FPDF()
    for text in pages:
        made.add_page()
        made.set_font("helvetica", size=12)
        made.cell(text=text)
    return bytes(made.output())


ARMS: tuple[bytes, ...] = (b"/JavaScript", b"/Launch", b"/SubmitForm", b"/XFA", b"/EmbeddedFile", b"/FileAttachment")
ARMS += (b"/AA ", b"/OpenAction", b"app.alert", b"attached", b"xdp:xdp", b"calc.exe")


def armed(data: bytes) -> bytes:
    """A PDF with everything that acts by itself, on everything that it can hang from."""
    made = io.BytesIO()
    with pikepdf.open(io.BytesIO(data)) as pdf:
        name, new = pikepdf.Name, pikepdf.Dictionary
        script = pdf.make_indirect(new(S=name.JavaScript, JS="app.alert(1)"))
        launch = new(S=name.Launch, F="calc.exe", Next=[script])
        file = new(Type=name.Filespec, F="x", EF=new(F=pdf.make_stream(b"attached")))
        file.EF.F.Type = name.EmbeddedFile
        box = pikepdf.Array([0, 0, 99, 99])
        link = new(Type=name.Annot, Subtype=name.Link, Rect=box)
        pdf.pages[0].obj.Annots = pikepdf.Array(
            [
                pdf.make_indirect(new(**link, A=launch)),
                pdf.make_indirect(new(**link, AA=new(E=script))),
                new(**link, A=new(S=name.URI, URI="https://example.org/stays")),
                new(Type=name.Annot, Subtype=name.FileAttachment, Rect=box, FS=file),
            ]
        )
        sending = new(S=name.SubmitForm, F="http://example.org", Next=script)
        field = new(FT=name.Tx, T="t", AA=new(K=script), A=sending)
        form = pdf.make_stream(b"<xdp:xdp/>")
        pdf.Root.AcroForm = new(Fields=[pdf.make_indirect(field)], XFA=form)
        item = pdf.make_indirect(new(Title="t", A=script))
        pdf.Root.Outlines = pdf.make_indirect(new(First=item, Last=item, Count=1))
        pdf.Root.OpenAction, pdf.Root.AA, pdf.Root.AF = script, new(WC=script), [file]
        pdf.pages[0].obj.AA = new(O=launch)
        pdf.attachments["x.txt"] = b"attached"
        pdf.save(made)
    return made.getvalue()


def arms_of(path: str) -> list[bytes]:
    """What of that is left in a PDF, all of it unpacked."""
    made = io.BytesIO()
    with pikepdf.open(path) as pdf:
        pdf.save(
            made,
            compress_streams=False,
            stream_decode_level=pikepdf.StreamDecodeLevel.generalized,
            object_stream_mode=pikepdf.ObjectStreamMode.disable,
        )
    return [arm for arm in ARMS if arm in made.getvalue()]


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP of these members."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


def rar(members: dict[str, bytes], *, locked: bool = False) -> bytes:
    """A RAR of these members, as RAR 4 stores them unpacked."""

    def block(kind: int, flags: int, rest: bytes) -> bytes:
        body = struct.pack("<BHH", kind, flags, 7 + len(rest)) + rest
        return struct.pack("<H", zlib.crc32(body) & 0xFFFF) + body

    made = b"Rar!\x1a\x07\x00" + block(0x73, 0, bytes(6))
    for name, data in members.items():
        raw = name.encode()
        head = struct.pack("<IIBIIBBHI", len(data), len(data), 3, zlib.crc32(data), 0, 20, 0x30, len(raw), 0o100644)
        made += block(0x74, 0x8004 if locked else 0x8000, head + raw) + data
    return made + block(0x7B, 0x4000, b"")


def seven_zip(members: dict[str, bytes], *, link: str = "") -> bytes:
    """A 7z of these members and a link, packed by the libarchive that is to read it."""
    library = ctypes.CDLL("libarchive.so.13")
    library.archive_write_new.restype = library.archive_entry_new.restype = ctypes.c_void_p
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.7z"
        archive = ctypes.c_void_p(library.archive_write_new())
        assert library.archive_write_set_format_7zip(archive) == 0
        assert library.archive_write_open_filename(archive, str(path).encode()) == 0
        for name, data in (members | ({link: b""} if link else {})).items():
            entry = ctypes.c_void_p(library.archive_entry_new())
            library.archive_entry_set_pathname(entry, name.encode())
            library.archive_entry_set_size(entry, ctypes.c_int64(len(data)))
            library.archive_entry_set_filetype(entry, 0o120000 if name == link else 0o100000)
            if name == link:
                library.archive_entry_set_symlink(entry, b"/etc/passwd")
            library.archive_entry_set_perm(entry, 0o644)
            assert library.archive_write_header(archive, entry) == 0
            library.archive_write_data(archive, data, ctypes.c_size_t(len(data)))
            library.archive_entry_free(entry)
        assert library.archive_write_free(archive) == 0
        return path.read_bytes()
