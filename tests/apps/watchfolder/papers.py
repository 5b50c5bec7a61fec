"""Files for tests, made here: PDFs with text, pictures, archives."""

import io
import zipfile

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
