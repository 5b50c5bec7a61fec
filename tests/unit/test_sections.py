"""Settings of applications: from the environment, a table of the file, or the default."""

from pathlib import Path

import pytest

from ostinato._core.base.errors import InvalidInput, SettingsError
from ostinato._core.base.sections import Section, section, setting
from ostinato._core.base.settings import Settings, load


@section("rounds")
class Sample(Section):
    """What a sample has."""

    url: str = setting("https://example.org", "Where it is.")
    api_key: str | None = setting(None, "What opens it.")
    most: int = setting(5, "How many.", low=1, high=10)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ostinato.toml"
    path.write_text('concurrency = 7\n[rounds]\nurl = "http://a"\nmost = 3\n')
    return path


def test_defaults_file_and_environment_in_turn(file: Path) -> None:
    assert Sample.load(environ={}).most == 5
    assert Sample.load(environ={}, file=file) == Sample(url="http://a", most=3)
    around = {"OSTINATO_ROUNDS_MOST": "4", "OSTINATO_ROUNDS_URL": ""}
    assert Sample.load(environ=around, file=file) == Sample(url="http://a", most=4)


def test_the_file_may_be_named_by_the_environment(file: Path) -> None:
    around = {"OSTINATO_CONFIG": str(file)}
    assert Sample.load(environ=around).most == 3
    assert load(environ=around).concurrency == 7


def test_sections_are_no_settings_of_ostinato_itself(file: Path) -> None:
    assert load(environ={"OSTINATO_ROUNDS_MOST": "4"}, file=file) == Settings(concurrency=7)


@pytest.mark.parametrize(
    ("around", "said"),
    [
        ({"OSTINATO_ROUNDS_MOSTT": "4"}, "unknown setting.*OSTINATO_ROUNDS_MOSTT"),
        ({"OSTINATO_ROUNDS_MOST": "many"}, "rounds.most must be a whole number"),
        ({"OSTINATO_ROUNDS_MOST": "11"}, "rounds.most must be from 1 to 10"),
    ],
)
def test_what_cannot_be_used_is_refused(around: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        Sample.load(environ=around)


def test_an_unknown_name_in_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("[rounds]\nmots = 3\n")
    with pytest.raises(SettingsError, match="Did you mean most"):
        Sample.load(environ={}, file=path)
    path.write_text("rounds = 3\n")
    with pytest.raises(SettingsError, match="must be a table"):
        Sample.load(environ={}, file=path)


def test_what_was_loaded_is_kept_until_a_variable_or_the_file_changes(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    first = Sample.load()
    assert (first, Sample.load() is first) == (Sample(url="http://a", most=3), True)

    monkeypatch.setenv("OSTINATO_ROUNDS_MOST", "4")
    assert Sample.load() == Sample(url="http://a", most=4)
    monkeypatch.delenv("OSTINATO_ROUNDS_MOST")
    assert Sample.load() == first

    file.write_text(file.read_text().replace("most = 3", "most = 5"))  # as long, and as old
    assert Sample.load().most == 5
    file.unlink()
    assert Sample.load() == Sample()


def test_what_cannot_be_used_is_refused_after_a_good_load_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = Sample.load()
    monkeypatch.setenv("OSTINATO_ROUNDS_MOSTT", "4")
    with pytest.raises(SettingsError, match="OSTINATO_ROUNDS_MOSTT"):
        Sample.load()
    monkeypatch.delenv("OSTINATO_ROUNDS_MOSTT")
    monkeypatch.setenv("OSTINATO_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(SettingsError, match="cannot read"):
        Sample.load()
    monkeypatch.delenv("OSTINATO_CONFIG")
    assert Sample.load() == good


def test_sections_do_not_share_what_they_loaded() -> None:
    @section("rounds")
    class Wider(Sample):
        """Has one more."""

        extra: int = setting(1, "How many more.", low=0, high=9)

    assert type(Sample.load()) is Sample
    assert type(Wider.load()) is Wider
    assert type(Sample.load()) is Sample


def test_a_section_belongs_to_an_application() -> None:
    with pytest.raises(InvalidInput, match="there is no section"):
        section("nothing")


def test_secrets_are_not_shown() -> None:
    assert "hunter2" not in repr(Sample(url="postgresql://a:hunter2@b", api_key="hunter2"))
