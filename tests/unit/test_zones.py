"""Which time zone data is read here."""

import zoneinfo
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from ostinato._faces.cli.operate import zones


@pytest.fixture
def tzpath() -> Iterator[None]:
    before = zoneinfo.TZPATH
    yield
    zoneinfo.reset_tzpath(before)


@pytest.mark.usefixtures("tzpath")
def test_without_data_of_the_system_the_package_is_read() -> None:
    zoneinfo.reset_tzpath([])

    assert (zones.release() or "").endswith(" of the package tzdata")


@pytest.mark.usefixtures("tzpath")
@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("tzdata.zi", "# version 2026a\nR d 1916", "2026a of the system"),
        ("+VERSION", "2025b\n", "2025b of the system"),
        ("README", "nothing", "an unnamed release of the system"),
    ],
)
def test_the_system_comes_first(tmp_path: Path, file: str, text: str, told: str) -> None:
    zone = tmp_path / "Europe" / "Paris"
    zone.parent.mkdir()
    packaged = resources.files("tzdata") / "zoneinfo" / "Europe" / "Paris"
    zone.write_bytes(packaged.read_bytes())
    (tmp_path / file).write_text(text, encoding="utf-8")

    zoneinfo.reset_tzpath([str(tmp_path)])

    assert zones.release() == told
