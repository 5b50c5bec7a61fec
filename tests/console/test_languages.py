"""English and French: every message is translated, and numbers and times are written as each language does."""

import ast
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import polib
import pytest
from babel.messages.extract import extract_from_dir

from ostinato._core.base.alerts import ENGINE_ALERTS, Alert
from ostinato._core.runtime.installed import installed_apps
from ostinato._faces.console import slot_notes
from ostinato._faces.console.text import DASH, Clock, language, preferred
from tests.console.conftest import Console
from tests.house.test_words import texts
from tests.sql.engine import Session

CONSOLE = Path(__file__).parents[2] / "src" / "ostinato" / "_faces" / "console"
METHODS = [("**.py", "python"), ("**/templates/**.html", "jinja2")]
OPTIONS = {"**/templates/**.html": {"trim_blocks": "true", "lstrip_blocks": "true"}}
KEYWORDS = {"_": None, "gettext": None, "words": None, "N_": None, "ngettext": (1, 2)}
APPS = CONSOLE.parents[1] / "apps"
SHOWN = ("Panel", "Table", "Counts", "Facts", "Prose", "Note", "Chart", "Timeline", "Gallery", "Pictures", "Download")
SAID = dict.fromkeys((*SHOWN, "Form", "Action", "State", "N_", "words"), 0) | {"Field": 1, "Moment": 1}
"""Which argument of a block is a text that is translated."""
NARROW, SPACE = "\N{NARROW NO-BREAK SPACE}", "\N{NO-BREAK SPACE}"


def messages() -> set[str]:
    found = extract_from_dir(CONSOLE, METHODS, OPTIONS, keywords=KEYWORDS)
    return {text[0] if isinstance(text, tuple) else text for _, _, text, _, _ in found}


def said_by(alerts: Iterable[Alert]) -> set[str]:
    """What alerts say, which the console translates."""
    return {text for alert in alerts for text, _ in texts(alert)}


def test_every_message_has_a_french_text_and_none_is_left_over() -> None:
    files = sorted((CONSOLE / "locale").glob("fr.*po"))

    translated = [entry.msgid for file in files for entry in polib.pofile(str(file)) if entry.translated()]

    expected = messages() | said_by(ENGINE_ALERTS)
    assert sorted(expected - set(translated)) == []
    assert sorted(set(translated) - expected) == []
    assert [text for text, count in Counter(translated).items() if count > 1] == []


def of_app(folder: Path) -> set[str]:
    """What the panels of an application show: the texts of blocks, in its modules that make them."""
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        source = path.read_text("utf-8")
        if "ostinato.observe import" in source and "Panel" in source:
            found |= {text for node in ast.walk(ast.parse(source)) if (text := _said(node))}
    return found


def _said(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    place = SAID.get(name, len(node.args))
    given = node.args[place] if place < len(node.args) else None
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else ""


def test_every_text_of_an_application_s_pages_has_a_french_one_and_none_is_left_over() -> None:
    wrong = []
    for app in installed_apps():
        folder = APPS / app.name
        catalogue = polib.pofile(str(folder / "locale" / "fr.po"))
        translated = {entry.msgid for entry in catalogue if entry.translated()}
        shown = of_app(folder) | {app.name.capitalize()} | said_by(app.alerts)
        wrong += [f"{folder.name}: {text!r} is not translated" for text in sorted(shown - translated)]
        wrong += [f"{folder.name}: {text!r} is shown nowhere" for text in sorted(translated - shown)]

    assert wrong == []


@pytest.mark.parametrize(
    ("value", "english", "french"),
    [
        (12_408, "12,408", f"12{NARROW}408"),
        (3.25, "3.2", "3,2"),
        (0, "0", "0"),
        (None, DASH, DASH),
        (240.4, "240", "240"),
        (0.15, "0.15", "0,15"),
        (0.1, "0.1", "0,1"),
        (0.05, "0.05", "0,05"),
        (0.0001, "0", "0"),
    ],
)
def test_numbers_are_written_as_the_language_does(value: float | None, english: str, french: str) -> None:
    assert (language("en").number(value), language("fr").number(value)) == (english, french)


@pytest.mark.parametrize(
    ("seconds", "english", "french"),
    [
        (0.0042, f"4.2{SPACE}ms", f"4,2{SPACE}ms"),
        (0.04, f"40{SPACE}ms", f"40{SPACE}ms"),
        (3.2, f"3.2{SPACE}s", f"3,2{SPACE}s"),
        (2, f"2{SPACE}s", f"2{SPACE}s"),
        (59.9, f"60{SPACE}s", f"60{SPACE}s"),
        (178.4, f"2{SPACE}min 58{SPACE}s", f"2{SPACE}min 58{SPACE}s"),
        (3600, f"1{SPACE}h", f"1{SPACE}h"),
        (200_000, f"2{SPACE}d 7{SPACE}h", f"2{SPACE}j 7{SPACE}h"),
        (timedelta(seconds=-3), f"0{SPACE}ms", f"0{SPACE}ms"),
    ],
)
def test_lengths_of_time_have_their_two_largest_units(seconds: float, english: str, french: str) -> None:
    assert (language("en").span(seconds), language("fr").span(seconds)) == (english, french)


def test_a_moment_of_another_day_has_its_day_in_the_zone_of_the_reader() -> None:
    now = datetime(2026, 11, 17, 22, 30, tzinfo=UTC)
    clock = Clock(language("fr"), ZoneInfo("Europe/Paris"), now)

    assert clock.time(now) == "23:30:00"
    assert clock.time(now + timedelta(hours=1)) == f"18{SPACE}nov.{SPACE}2026 00:30:00"


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        ("fr-FR,fr;q=0.9,en;q=0.8", "fr"),
        ("en;q=0.4, fr;q=0.7", "fr"),
        ("de", "en"),
        ("", "en"),
        ("fr;q=x", "en"),
        ("fr;q=0", "en"),
        ("," * 100_000, "en"),
    ],
)
def test_the_language_is_the_one_that_the_browser_prefers(header: str, chosen: str) -> None:
    assert preferred(header) == chosen


def test_a_mark_of_french_stays_on_the_line_of_its_word() -> None:
    words = language("fr")

    assert words.gettext("The exact message:") == f"Le message exact{SPACE}:"
    assert words.ngettext("alert {label} cannot be measured: its source failed once", "", 1).count(f"{SPACE}:") == 1


@pytest.mark.parametrize(
    ("note", "french"),
    [
        (
            "gap: 02:30 does not exist, 03:30 instead",
            f"02:30 n\N{RIGHT SINGLE QUOTATION MARK}existe pas ce jour-là{SPACE}: 03:30 à la place",
        ),
        ("overlap: the first of two", f"cette heure vient deux fois{SPACE}: la première"),
        ("overlap: the second of two", f"cette heure vient deux fois{SPACE}: la seconde"),
        ("a day of 23.5 h", "un jour de 23,5 h"),
        ("what a later release says", "what a later release says"),
    ],
)
def test_what_is_special_about_a_slot_is_said_in_french(note: str, french: str) -> None:
    assert slot_notes.say(language("fr"), note) == french
    assert slot_notes.say(language("en"), note) == note


def test_every_note_of_the_engine_about_a_slot_is_known(db_session: Session) -> None:
    """What the engine says of real days of real zones is translated."""
    asked = """
        select note from (values ('Europe/Paris'), ('Australia/Lord_Howe')) z (zone),
             ostinato.preview_fires('30 2 * * *', zone => z.zone, overlap => 'both', n => 400, after => '2026-03-01')
        where note is not null
    """
    notes = {row["note"] for row in db_session.rows(asked)}

    assert len(notes) >= 4
    assert [note for note in notes if slot_notes.say(language("fr"), note) == note] == []


async def test_a_reader_changes_the_language_and_it_stays(console: Console) -> None:
    visitor = await console.visitor()
    assert "Dead letters" in await visitor.text("/")

    await visitor.http.post("/console/prefer", data={"language": "fr", "next": "/console/"})

    page = await visitor.get("/")
    assert '<html lang="fr"' in page.text
    assert "Lettres mortes" in page.text
