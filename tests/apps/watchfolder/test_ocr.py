"""OCR over HTTP on scans that are drawn here: what is found again, and what becomes of the rest."""

import io
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from fpdf import FPDF
from fpdf.enums import TextMode
from pikepdf import pdfa
from PIL import Image

from ostinato._core.base.errors import InvalidInput, NotConfigured
from ostinato.apps.watchfolder import scans
from ostinato.apps.watchfolder.ocr import engines, rapid, service
from ostinato.apps.watchfolder.ocr.look import look
from ostinato.apps.watchfolder.ocr.order import reading_order
from ostinato.apps.watchfolder.ocr.work import text_of
from ostinato.apps.watchfolder.prep.images import Pages, write_pdf
from ostinato.apps.watchfolder.prep.limits import PrepLimits
from ostinato.apps.watchfolder.prep.pdfs import bind
from ostinato.apps.watchfolder.station.outputs import environment
from ostinato.apps.watchfolder.tick.options import Options
from tests.apps.watchfolder.papers import armed, arms_of, text_pdf
from tests.apps.watchfolder.stations import Desk, desk
from tests.needs import lacking, needs

HAS_TESSERACT = shutil.which("tesseract") is not None
MOST_WRONG = 0.6  # per cent of the characters
SCANS: dict[str, dict[str, Any]] = {
    "clean 200 dpi": {"dpi": 200},
    "noisy 150 dpi": {"dpi": 150, "noise": 0.15},
    "askew 3 degrees": {"dpi": 150, "degrees": 3.0},
    "upside down": {"dpi": 150, "turn": 2},
    "on its side": {"dpi": 150, "turn": 1},
}
SLOWLY: dict[str, dict[str, Any]] = {"noisy 150 dpi, upside down": {"dpi": 150, "noise": 0.15, "turn": 2}}
"""RapidOCR takes several times as long for a page."""
LINES = 8  # of each page: reading costs by the line


def engine_of(name: str) -> engines.Engine:
    try:
        return engines.choose(name)
    except NotConfigured as error:
        lacking(name, f"{name} is not there: {error.message}")


@pytest.fixture(scope="module", params=["tesseract", "rapid"])
def ocr(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    work = tmp_path_factory.mktemp(request.param) / "work"
    app = service.application(work, service.plan(engine_of(request.param)))
    with desk(app, work) as made:
        yield made


def raw_pdf(folder: Path, *pictures: bytes) -> bytes:
    """As PREP makes it."""
    folder.mkdir()
    pages = Pages(folder, PrepLimits())
    for picture in pictures:
        pages.add(picture)
    write_pdf(pages, folder / "raw.pdf")
    return (folder / "raw.pdf").read_bytes()


@pytest.mark.proof
def test_french_scans_are_read_searched_and_kept_as_pdfa(
    ocr: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One document, each page scanned in another way; prints the rate of wrong characters."""
    tried = SCANS if ocr.http.get("/info").json()["engine"] == "tesseract" else SLOWLY
    texts = ["\n".join(scans.PAGES[n % 3].splitlines()[:LINES]) for n in range(len(tried))]
    drawn = [scans.render(t, **how) for t, how in zip(texts, tried.values(), strict=True)]

    ended = ocr.done(raw_pdf(tmp_path / "pages", *drawn))

    assert ended["state"] == "DONE", ended["error"]
    result = ended["result"]
    found = text_of(Path(result["path"]))
    rates = {name: scans.error_rate(text, read) for name, text, read in zip(tried, texts, found, strict=True)}
    with capsys.disabled():
        said = ", ".join(f"{name} {rate:.2f} %" for name, rate in rates.items())
        print(f"\n  {result['engine']}, wrong characters: {said}")  # noqa: T201 - asked for
    assert max(rates.values()) <= MOST_WRONG, rates
    assert (result["pages"], result["pdfa"]) == (len(tried), "2b")
    assert pdfa.validate_written(result["path"], "2b").passed
    kept = json.loads((ocr.work / ended["jobKey"] / "ocr.json").read_text())
    assert kept["textChars"] > 0.9 * sum(len(text) for text in texts)
    assert len(list((ocr.work / ended["jobKey"] / "pages").iterdir())) == len(tried)


@pytest.mark.slow
@pytest.mark.parametrize("ocr", ["tesseract" if HAS_TESSERACT else "rapid"], indirect=True)
def test_a_page_that_was_read_is_not_read_again(ocr: Desk, tmp_path: Path) -> None:
    data = raw_pdf(tmp_path / "pages", scans.render("Déjà lu, cœur, garçon.", dpi=100))
    first = ocr.done(data)
    body = ocr.place(data) | {"attempt": 2}
    ocr.submit(body)

    again = ocr.ended(body["jobKey"])

    assert first["state"] == "DONE"
    assert "1 pages had been read before" in again["result"]["notes"]


def test_a_pdf_that_has_its_text_is_not_read_at_all(ocr: Desk) -> None:
    ended = ocr.done(text_pdf("Bonjour", "Adieu"))

    assert ended["result"]["engine"] == "none"
    assert [text.strip() for text in text_of(Path(ended["result"]["path"]))] == ["Bonjour", "Adieu"]


READ_BEFORE = "what an earlier OCR has found on this page"


def stamped(raw: bytes, stamp: str, *, invisible: bool = False) -> bytes:
    """The scan with a line of text on its first page, as an app that scans leaves it."""
    layer, made = FPDF(), io.BytesIO()
    layer.add_page()
    layer.set_font("helvetica", size=9)
    if invisible:
        layer.text_mode = TextMode.INVISIBLE
    layer.text(20, 290, stamp)
    with pikepdf.open(io.BytesIO(raw)) as pdf, pikepdf.open(io.BytesIO(bytes(layer.output()))) as over:
        pdf.pages[0].add_overlay(over.pages[0], None)
        pdf.save(made)
    return made.getvalue()


@pytest.mark.slow
def test_a_scan_with_a_stamp_is_read_and_keeps_the_stamp(ocr: Desk, tmp_path: Path) -> None:
    text = "\n".join(scans.COMPTE_RENDU.splitlines()[:LINES])
    raw = stamped(raw_pdf(tmp_path / "raw", scans.render(text, dpi=150)), "Scanned with CamScanner")

    ended = ocr.done(raw)

    assert ended["error"] is None
    found = "\n".join(text_of(Path(ended["result"]["path"])))
    assert "CamScanner" in found
    assert scans.error_rate(text, found.replace("Scanned with CamScanner", "")) <= 2.0
    assert "read in spite of the text that lay on the scan: page 1" in ended["result"]["notes"]


def test_which_pages_are_read(tmp_path: Path) -> None:
    """Only what has no text of its own: a scan, with or without a stamp; neither print nor what was read before."""
    scan = raw_pdf(tmp_path / "raw", scans.render("un deux trois", dpi=72))
    files = [text_pdf("print"), scan, stamped(scan, "stamp"), stamped(scan, READ_BEFORE, invisible=True)]
    for number, data in enumerate(files):
        (tmp_path / f"{number}.pdf").write_bytes(data)
    bind([tmp_path / f"{number}.pdf" for number in range(4)], tmp_path / "all.pdf", lambda *_: None)

    seen = look(tmp_path / "all.pdf", lambda *_: None)

    assert (seen.pages, seen.unread, seen.stamped) == (4, [2, 3], [3])


@pytest.mark.parametrize(
    ("left", "is_read"),
    [(["scanned"], True), ([".", ",", "| ~"], True), (["un", "deux", "trois"] * 3, False), ([" . " * 40], False)],
)
def test_a_scan_with_next_to_no_invisible_text_is_read(tmp_path: Path, left: list[str], *, is_read: bool) -> None:
    """A word that a program left there is no reading of the page."""
    scan = raw_pdf(tmp_path / "raw", scans.render("un deux trois", dpi=72))
    for text in left:
        scan = stamped(scan, text, invisible=True)
    (tmp_path / "a.pdf").write_bytes(scan)

    seen = look(tmp_path / "a.pdf", lambda *_: None)

    assert (seen.unread, seen.stamped) == (([1], [1]) if is_read else ([], []))


@pytest.mark.slow
def test_a_scan_with_an_invisible_word_is_searchable_afterwards(ocr: Desk, tmp_path: Path) -> None:
    text = "\n".join(scans.COMPTE_RENDU.splitlines()[:LINES])
    raw = stamped(raw_pdf(tmp_path / "raw", scans.render(text, dpi=150)), "scan", invisible=True)

    ended = ocr.done(raw)

    assert ended["error"] is None
    found = "\n".join(text_of(Path(ended["result"]["path"])))
    assert scans.error_rate(text, found) <= 2.0


@pytest.mark.parametrize(
    ("strips", "height", "is_read"), [(1, 30, False), (1, 200, True), (6, 45, True), (2, 30, False)]
)
def test_a_page_that_pictures_dominate_is_read_in_however_many_strips_they_come(
    tmp_path: Path,
    strips: int,
    height: int,
    is_read: bool,  # noqa: FBT001 - which
) -> None:
    """A letter with its logo is not; a scanner may cut a page into strips."""
    page = FPDF(format="A4")
    page.add_page()
    for number in range(strips):
        page.image(scans.render("un deux", dpi=30), x=0, y=number * height, w=210, h=height)
    page.set_font("helvetica", size=9)
    page.text(20, 290, "stamp")
    (tmp_path / "a.pdf").write_bytes(bytes(page.output()))

    assert bool(look(tmp_path / "a.pdf", lambda *_: None).unread) is is_read


def drawn(picture: bytes, *, forms: Sequence[tuple[bytes, list[float]]], box: tuple[int, ...], turn: int = 0) -> bytes:
    """A page of A4 that a picture fills, and a printed stamp: drawn through forms, each with a matrix of its own."""
    made = io.BytesIO()
    with pikepdf.new() as pdf:
        page = pdf.add_blank_page(page_size=(595, 842))
        inner = pdf.make_stream(jpeg_of(picture), Type=pikepdf.Name.XObject, Subtype=pikepdf.Name.Image)
        inner.Width, inner.Height, inner.BitsPerComponent = 60, 85, 8
        inner.ColorSpace, inner.Filter = pikepdf.Name.DeviceGray, pikepdf.Name.DCTDecode
        before, *containers = forms
        for content, matrix in reversed(containers):
            inner = pdf.make_stream(
                content + b" /X Do",
                Type=pikepdf.Name.XObject,
                Subtype=pikepdf.Name.Form,
                BBox=[-2000, -2000, 2000, 2000],
                Matrix=matrix,
                Resources=pikepdf.Dictionary(XObject=pikepdf.Dictionary(X=inner)),
            )
        helvetica = pikepdf.Dictionary(
            Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica
        )
        page.obj.Resources = pikepdf.Dictionary(
            XObject=pikepdf.Dictionary(X=inner), Font=pikepdf.Dictionary(F=helvetica)
        )
        stamp = f"BT /F 9 Tf {box[0] + 20} {box[1] + 20} Td (CamScanner) Tj ET".encode()
        page.obj.Contents = pdf.make_stream(b"q " + before[0] + b" /X Do Q " + stamp)
        page.obj.MediaBox, page.obj.Rotate = list(box), turn
        pdf.save(made)
    return made.getvalue()


def jpeg_of(picture: bytes) -> bytes:
    made = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("L").resize((60, 85)).save(made, "JPEG")
    return made.getvalue()


UPRIGHT: list[float] = [1, 0, 0, 1, 0, 0]
FILLED = b"595 0 0 842 0 0 cm"


@pytest.mark.parametrize(
    ("forms", "box", "turn"),
    [
        pytest.param([(FILLED, []), (b"", UPRIGHT)], (0, 0, 595, 842), 0, id="a form of unit size"),
        pytest.param(
            [(b"", []), (b"", [595, 0, 0, 842, 0, 0]), (b"", UPRIGHT)],
            (0, 0, 595, 842),
            0,
            id="a form with a matrix of its own",
        ),
        pytest.param(
            [(b"5 0 0 2 0 0 cm", []), (b"7 0 0 1 0 0 cm", UPRIGHT), (b"17 0 0 421 0 0 cm", UPRIGHT)],
            (0, 0, 595, 842),
            0,
            id="a form in a form",
        ),
        pytest.param([(b"595 0 0 842 -595 -842 cm", [])], (-595, -842, 0, 0), 0, id="a page that ends at zero"),
        pytest.param([(b"842 0 0 595 0 0 cm", [])], (0, 0, 842, 595), 90, id="a page that is turned"),
    ],
)
def test_a_stamped_scan_is_read_wherever_its_page_begins_and_whatever_holds_its_picture(
    tmp_path: Path, forms: list[tuple[bytes, list[float]]], box: tuple[int, ...], turn: int
) -> None:
    (tmp_path / "a.pdf").write_bytes(drawn(scans.render("un deux", dpi=30), forms=forms, box=box, turn=turn))

    seen = look(tmp_path / "a.pdf", lambda *_: None)

    assert (seen.unread, seen.stamped) == ([1], [1])


def test_a_letter_is_not_read_for_a_picture_that_its_form_draws_small(tmp_path: Path) -> None:
    small: list[tuple[bytes, list[float]]] = [(b"0.1 0 0 0.1 0 0 cm", []), (FILLED, UPRIGHT)]
    (tmp_path / "a.pdf").write_bytes(drawn(scans.render("un", dpi=30), forms=small, box=(0, 0, 595, 842)))

    assert look(tmp_path / "a.pdf", lambda *_: None).unread == []


@pytest.mark.parametrize("ocr", ["tesseract" if HAS_TESSERACT else "rapid"], indirect=True)
def test_what_acts_by_itself_is_not_in_the_final_pdf_even_if_it_was_in_the_raw_one(ocr: Desk, tmp_path: Path) -> None:
    scan = raw_pdf(tmp_path / "pages", scans.render("Bonjour à tous.", dpi=150))

    for data in (armed(text_pdf("Bonjour")), armed(scan)):
        ended = ocr.done(data)

        assert ended["state"] == "DONE", ended["error"]
        assert arms_of(ended["result"]["path"]) == []


def test_a_pdf_that_is_none_is_an_error(ocr: Desk) -> None:
    assert ocr.done(b"%PDF-1.7 nothing")["error"]["code"] == "CORRUPT"


def test_the_service_says_which_engine_reads(ocr: Desk) -> None:
    info = ocr.http.get("/info").json()

    assert info["engine"] in info["tools"] or info["tools"]["rapidocr"]
    assert info["langs"]
    if info["engine"] == "rapid":
        assert all(digest.startswith("sha256:") for digest in info["models"].values())
        assert len(info["models"]) >= 2  # where lines are, and what they say


DISCREET = """
import sys
from pathlib import Path
from ostinato.apps.watchfolder.ocr import rapid
rapid.read_lines(Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_nothing_is_told_to_anybody(tmp_path: Path) -> None:
    """onnxruntime phones home, and keeps a file for it, unless it is told not to beforehand."""
    engine_of("rapid")
    home = tmp_path / "home"
    home.mkdir()
    Image.new("RGB", (64, 64), "white").save(tmp_path / "page.png")

    subprocess.run(
        [sys.executable, "-c", DISCREET, str(tmp_path / "page.png")],
        env=environment() | {"HOME": str(home), "TMPDIR": str(home)},
        check=True,
    )

    left = [path.name for path in home.rglob("*")]
    assert not [name for name in left if "onnxruntime" in name or name in {"Microsoft", ".ses"}]


@pytest.mark.parametrize(
    ("wanted", "found", "wrong"),
    [("", "", 0), ("abc", "", 3), ("", "ab", 2), ("kitten", "sitting", 3), ("été", "ete", 2)],
)
def test_the_distance_of_texts_is_that_of_levenshtein(wanted: str, found: str, wrong: int) -> None:
    assert scans.distance(wanted, found) == scans.distance(found, wanted) == wrong


def test_the_distance_of_long_texts_is_that_of_levenshtein() -> None:
    chance = random.Random(3)
    for _ in range(50):
        left, right = ("".join(chance.choices("ab c", k=chance.randint(0, 40))) for _ in range(2))
        before = list(range(len(right) + 1))
        for row, mine in enumerate(left, 1):
            current = [row]
            for column, theirs in enumerate(right, 1):
                same = before[column - 1] + (mine != theirs)
                current.append(min(before[column] + 1, current[-1] + 1, same))
            before = current
        assert scans.distance(left, right) == before[-1]


def test_the_languages_are_told_with_the_primary_one_first() -> None:
    assert engines.call_order("eng+fra") == engines.call_order(" fra + eng ") == ["fra", "eng"]
    assert engines.call_order("spa+deu") == ["deu", "spa"]


@needs("tesseract", here=HAS_TESSERACT, reason="tesseract is not installed")
def test_a_language_that_tesseract_lacks_is_said_or_left_to_the_other() -> None:
    with pytest.raises(NotConfigured, match="no data for isl"):
        engines.choose("tesseract", "isl")
    if rapid.is_installed():
        assert engines.choose("auto", "isl").name == "rapid"


@pytest.mark.parametrize("wanted", ["auto", "rapid"])
def test_an_unknown_language_is_refused_with_those_that_there_are(wanted: str) -> None:
    with pytest.raises(InvalidInput, match="klingon") as refused:
        engines.choose(wanted, "fra+klingon")

    assert "eng, " in str(refused.value.hint)
    assert "fra, " in str(refused.value.hint)


def test_ocr_uses_all_cores_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    engine = engines.Engine("tesseract", "5", ("eng", "fra"))

    assert service.plan(engine).concurrency == Options().ocr_concurrency == service.plan(engine).cores == 7
    assert service.plan(engine, concurrency=2).concurrency == 2
    assert Options.from_environ({"OCR_CONCURRENCY": "3"}).ocr_concurrency == 3


def test_columns_are_read_one_after_the_other_and_tables_row_by_row() -> None:
    columns = [(x, 20.0 * y, x + 190.0, 20.0 * y + 15) for y in range(6) for x in (0.0, 220.0)]
    table = [
        (x, 20.0 * y, x + width, 20.0 * y + 15) for y in range(6) for x, width in ((0.0, 60.0 + 10 * y), (300.0, 30.0))
    ]

    assert [row[0] for row in reading_order(columns)] == [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11]
    assert reading_order(table) == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]


def test_a_rotated_blank_page_stays_as_it_is(ocr: Desk) -> None:
    import io  # noqa: PLC0415 - only here

    made = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.add_blank_page(page_size=(200, 300))
        pdf.save(made)

    ended = ocr.done(made.getvalue())

    assert ended["state"] == "DONE", ended["error"]
    assert "no_text" in ended["result"]["notes"]
