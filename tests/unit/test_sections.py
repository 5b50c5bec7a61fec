"""Settings of applications: from the environment, a table of the file, or the default."""

import dataclasses
from pathlib import Path

import pytest

from ostinato._core.base import sections
from ostinato._core.base.errors import InvalidInput, SettingsError
from ostinato._core.base.extras import app_names
from ostinato._core.base.sections import Section, section, setting
from ostinato._core.base.settings import Settings, load


@section("billing")
class Sample(Section):
    """What a sample has."""

    url: str = setting("https://example.org", "Where it is.")
    api_key: str | None = setting(None, "What opens it.")
    most: int = setting(5, "How many.", low=1, high=10)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ostinato.toml"
    path.write_text('concurrency = 7\n[billing]\nurl = "http://a"\nmost = 3\n')
    return path


def test_defaults_file_and_environment_in_turn(file: Path) -> None:
    assert Sample.load(environ={}).most == 5
    assert Sample.load(environ={}, file=file) == Sample(url="http://a", most=3)
    around = {"OSTINATO_BILLING_MOST": "4", "OSTINATO_BILLING_URL": ""}
    assert Sample.load(environ=around, file=file) == Sample(url="http://a", most=4)


def test_the_file_may_be_named_by_the_environment(file: Path) -> None:
    around = {"OSTINATO_CONFIG": str(file)}
    assert Sample.load(environ=around).most == 3
    assert load(environ=around).concurrency == 7


def test_sections_are_no_settings_of_ostinato_itself(file: Path) -> None:
    assert load(environ={"OSTINATO_BILLING_MOST": "4"}, file=file) == Settings(concurrency=7)


@pytest.mark.parametrize(
    ("around", "said"),
    [
        ({"OSTINATO_BILLING_MOSTT": "4"}, "unknown setting.*OSTINATO_BILLING_MOSTT"),
        ({"OSTINATO_BILLING_MOST": "many"}, "OSTINATO_BILLING_MOST must be a whole number"),
        ({"OSTINATO_BILLING_MOST": "11"}, "OSTINATO_BILLING_MOST must be from 1 to 10"),
    ],
)
def test_what_cannot_be_used_is_refused(around: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        Sample.load(environ=around)


def test_an_unknown_name_in_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("[billing]\nmots = 3\n")
    with pytest.raises(SettingsError, match="Did you mean most"):
        Sample.load(environ={}, file=path)
    path.write_text("billing = 3\n")
    with pytest.raises(SettingsError, match="must be a table"):
        Sample.load(environ={}, file=path)


def test_the_settings_of_a_process_keep_what_they_read(file: Path) -> None:
    settings = load(environ={}, file=file)
    first = settings.section(Sample)
    file.unlink()

    assert first == Sample(url="http://a", most=3)
    assert settings.section(Sample) is first
    assert dataclasses.replace(settings, concurrency=8).section(Sample) is first


def test_a_section_is_read_where_the_settings_of_the_process_were_read(file: Path) -> None:
    settings = load(environ={"OSTINATO_BILLING_URL": "http://b"}, file=file)

    assert settings.section(Sample) == Sample(url="http://b", most=3)


def test_the_settings_of_an_application_that_is_named_are_left_to_it(tmp_path: Path) -> None:
    around = {"OSTINATO_LAUNDRY_SPEED": "7"}
    path = tmp_path / "x.toml"
    path.write_text("[laundry]\nspeed = 3\n")

    assert load(environ=around, file=path, apps=lambda: ["laundry"]) == Settings()
    with pytest.raises(SettingsError, match="'laundry' in"):
        load(environ={}, file=path)
    with pytest.raises(SettingsError, match="environment variable OSTINATO_LAUNDRY_SPEED"):
        load(environ=around)


def test_the_settings_of_installed_applications_are_left_to_them() -> None:
    around = {f"OSTINATO_{name.upper()}_X": "1" for name in app_names()}

    assert around
    assert load(environ=around) == Settings()


def test_a_misspelt_application_is_refused_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="Did you mean OSTINATO_BILLING_…"):
        load(environ={"OSTINATO_BILING_MOST": "4"})


def test_a_variable_of_an_application_with_a_longer_name_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "app_names", lambda: {"billing", "billing_eu"})

    assert Sample.load(environ={"OSTINATO_BILLING_EU_URL": "x"}) == Sample()
    with pytest.raises(SettingsError, match="OSTINATO_BILLING_EUROPE"):
        Sample.load(environ={"OSTINATO_BILLING_EUROPE": "x"})


def test_a_section_has_the_name_of_an_application() -> None:
    with pytest.raises(InvalidInput, match="settings cannot belong to 'Not A Name'"):
        section("Not A Name")


def test_secrets_are_not_shown() -> None:
    assert "hunter2" not in repr(Sample(url="postgresql://a:hunter2@b", api_key="hunter2"))
