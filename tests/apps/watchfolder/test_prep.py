"""PREP over HTTP: what it takes, what it refuses and why, and its contract."""

import errno
import io
import json
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from PIL import Image

from ostinato._core.base.errors import NotConfigured
from ostinato.apps.watchfolder.prep import archives, libarchive, service, work
from ostinato.apps.watchfolder.prep.kinds import kind_of
from ostinato.apps.watchfolder.prep.limits import PrepLimits
from ostinato.apps.watchfolder.prep.pdfs import rewrite
from ostinato.apps.watchfolder.station.refused import Refused
from ostinato.apps.watchfolder.station.sandbox import level
from tests.apps.watchfolder.papers import ARMS, armed, arms_of, rar, seven_zip, text_pdf, zipped
from tests.apps.watchfolder.stations import Desk, desk
from tests.house.source import ROOT
from tests.needs import needs

LIMITS = PrepLimits(pages=20, megapixels=30, members=50, member_bytes=20 << 20, total_bytes=40 << 20)


@pytest.fixture(scope="module")
def prep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    work = tmp_path_factory.mktemp("prep") / "work"
    app = service.application(work, service.plan(limits=LIMITS))
    with desk(app, work) as made:
        yield made


def picture(kind: str, mode: str = "RGB", size: tuple[int, int] = (300, 400), **more: Any) -> bytes:  # noqa: ANN401 - as Pillow
    made = io.BytesIO()
    Image.new(mode, size, more.pop("color", 1)).save(made, kind, **more)
    return made.getvalue()


def heic() -> bytes:
    import pillow_heif  # noqa: PLC0415 - only here

    pillow_heif.register_heif_opener()
    return picture("HEIF")


def tiff(pages: int, mode: str = "1") -> bytes:
    more = [Image.new(mode, (200, 300), 1) for _ in range(pages - 1)]
    return picture("TIFF", mode, save_all=True, append_images=more)


def locked_pdf(*, owner_only: bool) -> bytes:
    made = io.BytesIO()
    with pikepdf.open(io.BytesIO(text_pdf("secret"))) as pdf:
        user = "" if owner_only else "user"
        pdf.save(made, encryption=pikepdf.Encryption(owner="owner", user=user))
    return made.getvalue()


def huge_png() -> bytes:
    """50,000 x 50,000 pixels, in a few bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        crc = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + crc

    head = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 0, 0, 0, 0)
    rest = chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + rest


def overlapping_zip() -> bytes:
    """Two entries of the directory that lead to the same bytes."""
    data = bytearray(zipped({"a.jpg": picture("JPEG"), "b.jpg": picture("JPEG")}))
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        second = archive.infolist()[1].header_offset
    directory = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    assert struct.unpack_from("<I", data, directory + 42)[0] == second
    struct.pack_into("<I", data, directory + 42, 0)
    return bytes(data)


def tar(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("link.jpg")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return made.getvalue()


def wide_pdf() -> bytes:
    made = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.add_blank_page(page_size=(14_399, 14_399))
        pdf.save(made)
    return made.getvalue()


@pytest.mark.parametrize(
    ("make", "pages"),
    [
        (lambda: text_pdf("one", "two"), 2),
        (lambda: picture("JPEG", dpi=(300, 300)), 1),
        (lambda: picture("JPEG", "CMYK", color=(0, 0, 0, 0)), 1),
        (lambda: picture("PNG"), 1),
        (lambda: picture("PNG", "RGBA", color=(0, 0, 0, 0)), 1),
        (lambda: picture("PNG", "P"), 1),
        (lambda: picture("PNG", "I;16"), 1),
        (lambda: tiff(3), 3),
        (lambda: tiff(2, "RGB"), 2),
        (lambda: picture("WEBP"), 1),
        (lambda: picture("GIF", "P"), 1),
        (lambda: picture("BMP"), 1),
        (heic, 1),
        (lambda: zipped({"p10.jpg": picture("JPEG"), "p2.png": picture("PNG"), "x.txt": b"x"}), 2),
        (lambda: zipped({"../../etc/a.jpg": picture("JPEG"), "/abs.jpg": picture("JPEG")}), 2),
        (lambda: tar({"a.jpg": picture("JPEG")}), 1),
        (lambda: locked_pdf(owner_only=True), 1),
    ],
    ids=[
        "pdf",
        "jpeg",
        "cmyk",
        "png",
        "alpha",
        "palette",
        "16-bit",
        "tiff-g4",
        "tiff-rgb",
        "webp",
        "gif",
        "bmp",
        "heic",
        "cbz",
        "traversal",
        "tar",
        "owner-password",
    ],
)
def test_what_can_be_read_becomes_a_pdf(prep: Desk, make: Any, pages: int) -> None:  # noqa: ANN401 - makes bytes
    ended = prep.done(make())

    assert (ended["state"], ended["error"]) == ("DONE", None)
    with pikepdf.open(ended["result"]["path"]) as pdf:
        assert len(pdf.pages) == pages == ended["result"]["pages"]
        assert not pdf.is_encrypted


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: b"plain text", "UNSUPPORTED"),
        (lambda: b"Rar!\x1a\x07\x00rest", "CORRUPT"),
        (lambda: b"%PDF-1.7 nothing", "CORRUPT"),
        (lambda: picture("JPEG", size=(900, 900))[:400], "CORRUPT"),
        (lambda: b"\x89PNG\r\n\x1a\n" + b"\0" * 100, "CORRUPT"),
        (lambda: zipped({"a.jpg": picture("JPEG")})[:-30], "CORRUPT"),
        (lambda: locked_pdf(owner_only=False), "ENCRYPTED"),
        (huge_png, "PIXELS"),
        (wide_pdf, "PIXELS"),
        (lambda: tiff(21), "PAGES"),
        (lambda: text_pdf(*["x"] * 21), "PAGES"),
        (lambda: zipped({f"{n}.txt": b"" for n in range(51)}), "BOMB"),
        (lambda: zipped({"zeros.jpg": b"\0" * (30 << 20)}), "BOMB"),
        (overlapping_zip, "BOMB"),
        (lambda: zipped({"inner.zip": zipped({"a.jpg": picture("JPEG")})}), "UNSAFE"),
        (lambda: zipped({"readme.txt": b"no picture"}), "NO_PAGES"),
    ],
    ids=[
        "text",
        "rar",
        "broken-pdf",
        "cut-jpeg",
        "broken-png",
        "cut-zip",
        "locked",
        "huge-png",
        "huge-page",
        "many-frames",
        "many-pages",
        "many-members",
        "zip-bomb",
        "overlap",
        "nested",
        "no-pictures",
    ],
)
def test_what_cannot_is_an_error_with_a_reason_and_the_service_lives_on(
    prep: Desk,
    make: Any,  # noqa: ANN401 - makes bytes
    code: str,
) -> None:
    ended = prep.done(make())

    assert ended["state"] == "ERROR"
    assert ended["error"]["code"] == code, ended["error"]
    assert ended["error"]["message"]
    assert ended["error"]["retryable"] is False
    assert prep.http.get("/healthz").json()["alive"]


@pytest.mark.parametrize(
    ("make", "called"),
    [
        (lambda: zipped({"[Content_Types].xml": b"<x/>", "word/media/logo.jpg": picture("JPEG")}), ".docx"),
        (lambda: zipped({"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"}), ".xlsx"),
        (lambda: zipped({"mimetype": b"application/vnd.oasis.opendocument.text", "t.png": picture("PNG")}), ".odt"),
        (lambda: zipped({"mimetype": b"application/epub+zip", "cover.jpg": picture("JPEG")}), ".epub"),
        (lambda: zipped({"./mimetype": b"application/epub+zip", "./cover.jpg": picture("JPEG")}), ".epub"),
        (lambda: zipped({"META-INF/MANIFEST.MF": b"", "icon.png": picture("PNG")}), ".jar"),
        (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), ".doc"),
        (lambda: b"{\\rtf1 x}", ".rtf"),
    ],
    ids=["docx", "xlsx", "odt", "epub", "epub-dot", "jar", "doc", "rtf"],
)
def test_a_document_that_is_no_scan_is_refused_by_its_name(prep: Desk, make: Any, called: str) -> None:  # noqa: ANN401 - makes bytes
    ended = prep.done(make())

    assert (ended["state"], ended["error"]["code"]) == ("ERROR", "UNSUPPORTED")
    assert called in ended["error"]["message"]
    assert "export it as PDF" in ended["error"]["message"]


@pytest.mark.parametrize(("stream", "code"), [("EncryptedPackage", "ENCRYPTED"), ("WordDocument", "UNSUPPORTED")])
def test_a_document_of_office_with_a_password_is_called_locked(prep: Desk, stream: str, code: str) -> None:
    """Inside it is a .docx of today, whatever it is packed into."""
    name = stream.encode("utf-16-le")
    entry = name.ljust(64, b"\0") + (len(name) + 2).to_bytes(2, "little") + b"\x02\x01" + bytes(60)
    says = "the EncryptedPackage of somebody".encode("utf-16-le")  # a word in a letter is no stream

    ended = prep.done(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(20_000) + says + entry + bytes(500))

    assert (ended["error"]["code"], ended["error"]["retryable"]) == (code, False)
    assert ("password" in ended["error"]["message"]) is (code == "ENCRYPTED")
    assert "export it as PDF" in ended["error"]["message"]


def test_all_that_an_archive_holds_beside_pages_is_named(prep: Desk) -> None:
    names = [f"note {number}.txt" for number in range(40)]
    made = io.BytesIO(zipped({"1.png": picture("PNG"), **dict.fromkeys(names, b"x")}))
    link = zipfile.ZipInfo("link.png")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr(link, "/etc/passwd")

    ended = prep.done(made.getvalue())

    (said,) = [note for note in ended["result"]["notes"] if note.startswith("left out")]
    assert [name for name in (*names, "link.png") if repr(name) not in said] == []


def test_what_is_passed_over_in_an_archive_is_what_the_page_lists(prep: Desk) -> None:
    """Whatever it begins like; any other hidden file is a page."""
    names = ["__MACOSX/1.png", "deep/._1.png", *(f"deep/{name.upper()}" for name in archives.IGNORED)]
    members = {"empty/": b"", "1.png": picture("PNG"), ".2.png": picture("PNG"), **dict.fromkeys(names, picture("PNG"))}

    ended = prep.done(zipped(members))

    assert len(sizes(ended["result"]["path"])) == 2
    assert ended["result"]["notes"] == []
    page = (ROOT / "docs/apps/watchfolder.md").read_text("utf-8").lower()
    assert [name for name in ("__macosx/", "._", *archives.IGNORED) if f"`{name}" not in page] == []


def sizes(path: str) -> list[int]:
    """The heights of the pages of a PDF, in points."""
    with pikepdf.open(path) as pdf:
        return [round(float(page.mediabox[3])) for page in pdf.pages]


def test_pdfs_in_an_archive_are_bound_in_their_order_and_the_rest_is_named(prep: Desk) -> None:
    docx = zipped({"[Content_Types].xml": b"<x/>", "word/media/logo.jpg": picture("JPEG")})
    members = {
        "10.jpg": picture("JPEG", size=(200, 200), dpi=(72, 72)),
        "2.pdf": text_pdf("one", "two"),
        "1.png": picture("PNG", size=(100, 100), dpi=(72, 72)),
        "3.pdf": armed(text_pdf("three")),
        "contrat.docx": docx,
        "notes.txt": b"x",
        "__MACOSX/._1.png": b"x",
    }

    ended = prep.done(zipped(members))

    assert ended["error"] is None
    assert sizes(ended["result"]["path"]) == [100, 842, 842, 842, 200]
    assert ended["result"]["pages"] == 5
    assert arms_of(ended["result"]["path"]) == []
    (said,) = [note for note in ended["result"]["notes"] if note.startswith("left out")]
    assert "'contrat.docx', a Word document (.docx)" in said
    assert "'notes.txt'" in said
    assert "MACOSX" not in said


def test_an_archive_of_pdfs_alone_is_one_pdf(prep: Desk) -> None:
    ended = prep.done(zipped({"b.pdf": text_pdf("b"), "a.pdf": text_pdf("a1", "a2")}))

    assert (ended["state"], ended["result"]["pages"]) == ("DONE", 3)


def test_the_pages_of_pdfs_in_an_archive_are_counted_with_all_others(prep: Desk) -> None:
    ended = prep.done(zipped({"a.pdf": text_pdf(*"x" * 12), "b.pdf": text_pdf(*"x" * 12)}))

    assert ended["error"]["code"] == "PAGES"


def test_a_locked_pdf_in_an_archive_is_named(prep: Desk) -> None:
    ended = prep.done(zipped({"a.jpg": picture("JPEG"), "secret.pdf": locked_pdf(owner_only=False)}))

    assert ended["error"]["code"] == "ENCRYPTED"
    assert "'secret.pdf'" in ended["error"]["message"]


needs_libarchive = needs("libarchive", here=libarchive.library() is not None, reason="no libarchive here")


@needs_libarchive
@pytest.mark.parametrize("make", [rar, seven_zip])
def test_rar_and_7z_are_read_in_the_order_of_their_names(prep: Desk, make: Any) -> None:  # noqa: ANN401 - makes bytes
    members = {
        "p10.jpg": picture("JPEG", size=(200, 200), dpi=(72, 72)),
        "dir/../p2.png": picture("PNG", size=(100, 100), dpi=(72, 72)),
        "p9.pdf": text_pdf("nine"),
        "x.txt": b"x",
    }

    ended = prep.done(make(members))

    assert ended["error"] is None
    assert sizes(ended["result"]["path"]) == [100, 842, 200]
    assert "'x.txt'" in ended["result"]["notes"][-1]


@needs_libarchive
def test_a_link_in_a_7z_is_named_and_not_followed(prep: Desk) -> None:
    ended = prep.done(seven_zip({"a.png": picture("PNG")}, link="scan.png"))

    assert (ended["error"], ended["result"]["pages"]) == (None, 1)
    assert "'scan.png'" in ended["result"]["notes"][-1]


@needs_libarchive
@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: rar({"a.jpg": picture("JPEG")})[:-200], "CORRUPT"),
        (lambda: rar({"a.jpg": picture("JPEG")}, locked=True), "ENCRYPTED"),
        (lambda: seven_zip({"a.jpg": picture("JPEG")})[:-20], "CORRUPT"),
        (lambda: seven_zip({f"{n}.txt": b"x" for n in range(51)}), "BOMB"),
        (lambda: seven_zip({"zeros.jpg": b"\0" * (19 << 20)}), "BOMB"),
        (lambda: rar({"inner.zip": zipped({"a.jpg": picture("JPEG")})}), "UNSAFE"),
        (lambda: b"7z\xbc\xaf\x27\x1cabc", "CORRUPT"),
    ],
    ids=["cut-rar", "locked-rar", "cut-7z", "many", "bomb", "nested", "head-of-7z"],
)
def test_rar_and_7z_that_cannot_be_read_are_errors_with_a_reason(prep: Desk, make: Any, code: str) -> None:  # noqa: ANN401 - makes bytes
    ended = prep.done(make())

    assert ended["error"]["code"] == code, ended["error"]
    assert not ended["error"]["message"].rstrip().endswith(":"), ended["error"]


@pytest.mark.parametrize("kind", ["rar", "7z"])
def test_without_libarchive_they_are_refused_by_name(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libarchive, "library", lambda: None)

    with pytest.raises(Refused, match=f"{kind.upper()} archives need the library libarchive") as refused:
        libarchive.Archive(tmp_path / "x", kind)

    assert refused.value.code == "UNSUPPORTED"


def test_what_acts_by_itself_is_left_out_of_a_pdf_wherever_it_hangs(prep: Desk, tmp_path: Path) -> None:
    data = armed(text_pdf("armed"))
    (tmp_path / "before.pdf").write_bytes(data)
    assert set(arms_of(str(tmp_path / "before.pdf"))) == set(ARMS)

    ended = prep.done(data)

    assert arms_of(ended["result"]["path"]) == []
    assert "scripts" in ended["result"]["notes"][0]
    with pikepdf.open(ended["result"]["path"]) as pdf:
        kept = [each.A.URI for each in pdf.pages[0].obj.Annots if "/A" in each]
        assert [str(each) for each in kept] == ["https://example.org/stays"]


def test_the_page_at_which_a_pdf_opens_is_no_action(tmp_path: Path) -> None:
    source, target = tmp_path / "a.pdf", tmp_path / "b.pdf"
    source.write_bytes(text_pdf("Bonjour"))

    _, notes = rewrite(source, target, PrepLimits(), lambda *_: None)

    with pikepdf.open(target) as pdf:
        assert isinstance(pdf.Root.OpenAction, pikepdf.Array)
    assert notes == []


def test_a_file_that_changed_since_it_was_taken_is_refused(prep: Desk) -> None:
    body = prep.place(picture("JPEG", size=(301, 400)))
    Path(body["inputPath"]).write_bytes(picture("JPEG", size=(10, 10)))
    prep.submit(body)

    assert prep.ended(body["jobKey"])["error"]["code"] == "INPUT_CHANGED"


def test_the_same_attempt_is_the_same_job(prep: Desk) -> None:
    body = prep.place(picture("JPEG", size=(302, 400)))

    first, again = prep.submit(body), prep.submit(body)
    other = prep.submit(body | {"lang": "deu"})
    prep.ended(body["jobKey"])
    later = prep.submit(body | {"attempt": 2})
    old = prep.submit(body)

    assert (first.status_code, again.status_code, later.status_code) == (202, 200, 202)
    assert (other.status_code, other.json()["code"]) == (409, "PAYLOAD_MISMATCH")
    assert (old.status_code, old.json()["code"], old.json()["attempt"]) == (409, "OLD_ATTEMPT", 2)


@pytest.mark.parametrize(
    "change",
    [{"jobKey": "../../etc"}, {"inputPath": "/etc/passwd"}, {"inputPath": "nowhere"}, {"attempt": 0}, {"surprise": 1}],
)
def test_a_request_that_leads_elsewhere_is_refused(prep: Desk, change: dict[str, Any]) -> None:
    body = prep.place(picture("JPEG", size=(303, 400)))

    assert prep.submit(body | change).status_code == 400


def test_an_unknown_job_is_not_found_and_its_cancelling_is_no_error(prep: Desk) -> None:
    job_key = f"{'f' * 64}__{'0' * 16}"

    assert prep.http.get(f"/jobs/{job_key}").status_code == 404
    assert prep.http.delete(f"/jobs/{job_key}").status_code == 202


def test_the_service_says_what_it_is_made_of(prep: Desk) -> None:
    info = prep.http.get("/info").json()

    assert info["service"] == "prep"
    assert info["tools"]["pikepdf"]
    assert info["limits"]["pages"] == 20
    assert info["sandbox"] == level()
    assert "watchfolder_prep_accepted_total" in prep.http.get("/metrics").text


def test_a_disk_that_is_full_is_not_the_fault_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.png").write_bytes(picture("PNG", "RGBA", color=(0, 0, 0, 0)))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))  # nothing can be written there
    monkeypatch.setattr(Path, "write_bytes", _full)
    task = {"inputPath": str(tmp_path / "a.png"), "part": str(tmp_path / "part")}

    with pytest.raises(OSError, match="No space left"):
        work.run(task, lambda *_: None)


def _full(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_every_page_of_a_long_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.tiff").write_bytes(tiff(12))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    told: list[tuple[int, int, str]] = []

    def report(page: int, pages: int, step: str = "", /) -> None:
        told.append((page, pages, step))

    work.run({"inputPath": str(tmp_path / "a.tiff"), "part": str(tmp_path / "part")}, report)

    assert [page for page, _, step in told if step == "read"] == list(range(1, 13))
    assert [page for page, _, step in told if step == "write"] == list(range(1, 13))


def test_a_service_that_starts_again_knows_what_was_done_and_what_was_not(tmp_path: Path) -> None:
    work = tmp_path / "work"
    with desk(service.application(work, service.plan()), work) as first:
        done = first.done(picture("PNG"))
        lost = first.place(picture("PNG", size=(11, 11)))
    job = work / lost["jobKey"] / "prep.job.json"  # as if it had been killed while it worked
    job.write_text(json.dumps({**lost, "lang": "fra+eng", "options": {}}))

    with desk(service.application(work, service.plan()), work) as second:
        known, missed = second.poll(done["jobKey"]), second.poll(lost["jobKey"])

    assert known["state"] == "DONE"
    assert known["result"]["sha256"] == done["result"]["sha256"]
    assert (missed["state"], missed["error"]["code"]) == ("ERROR", "SERVICE_RESTARTED")
    assert missed["error"]["retryable"]


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"%PDF-1.4", "pdf"),
        (b"junk %PDF-1.4", "pdf"),
        (b"\xff\xd8\xff\xe0", "jpeg"),
        (b"RIFF1234WEBP", "webp"),
        (b"\0\0\0\x18ftypheic", "heic"),
        (b"\0\0\0\x18ftypavif", "avif"),
        (b"\0\0\0\x18ftypmp42", None),
        (b"<html>", None),
    ],
)
def test_a_kind_is_known_by_its_first_bytes(head: bytes, kind: str | None) -> None:
    assert kind_of(head) == kind


def test_what_is_not_installed_is_named_with_what_to_do() -> None:
    with pytest.raises(NotConfigured, match="needs no_such_package") as told:
        service.require("pikepdf", "no_such_package")

    assert "ostinato[ocr]" in str(told.value.hint)
