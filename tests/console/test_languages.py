"""English and French: every message is translated, and numbers and times are written as each language does."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import polib
import pytest
from babel.messages.extract import extract_from_dir

from ostinato._faces.console.text import DASH, Clock, language, preferred
from tests.console.conftest import Console

CONSOLE = Path(__file__).parents[2] / "src" / "ostinato" / "_faces" / "console"
METHODS = [("**.py", "python"), ("**/templates/**.html", "jinja2")]
OPTIONS = {"**/templates/**.html": {"trim_blocks": "true", "lstrip_blocks": "true"}}
KEYWORDS = {"_": None, "gettext": None, "words": None, "N_": None, "ngettext": (1, 2)}
NARROW, SPACE = "\N{NARROW NO-BREAK SPACE}", "\N{NO-BREAK SPACE}"


def messages() -> set[str]:
    found = extract_from_dir(CONSOLE, METHODS, OPTIONS, keywords=KEYWORDS)
    return {text[0] if isinstance(text, tuple) else text for _, _, text, _, _ in found}


def test_every_message_has_a_french_text_and_none_is_left_over() -> None:
    catalogue = polib.pofile(str(CONSOLE / "locale" / "fr.po"))

    translated = {entry.msgid for entry in catalogue if entry.translated()}

    assert sorted(messages() - translated) == []
    assert sorted(translated - messages()) == []


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


async def test_a_reader_changes_the_language_and_it_stays(console: Console) -> None:
    visitor = await console.visitor()
    assert "Dead letters" in await visitor.text("/")

    await visitor.http.post("/console/prefer", data={"language": "fr", "next": "/console/"})

    page = await visitor.get("/")
    assert '<html lang="fr"' in page.text
    assert "Lettres mortes" in page.text
