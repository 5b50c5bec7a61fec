import dataclasses
from pathlib import Path

import pytest

from ostinato._core.base.errors import SettingsError
from ostinato._core.base.settings import Settings, declared, load


def written(folder: Path, text: str) -> Path:
    file = folder / "ostinato.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_nothing_configured_means_the_embedded_server_and_the_defaults() -> None:
    settings = load(environ={})

    assert settings == Settings()
    assert settings.database_url is None
    assert (settings.beat_seconds, settings.expiry_seconds) == (5, 15)


def test_a_flag_wins_over_the_environment_and_the_environment_over_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, "concurrency = 1\nprefetch = 1\nmax_crashes = 1\n")
    environ = {"OSTINATO_CONCURRENCY": "2", "OSTINATO_PREFETCH": "2"}

    settings = load({"concurrency": 3}, environ=environ, file=file)

    assert (settings.concurrency, settings.prefetch, settings.max_crashes) == (3, 2, 1)


def test_a_flag_that_was_not_given_hides_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, "concurrency = 7")

    assert load({"concurrency": None}, environ={}, file=file).concurrency == 7


def test_an_empty_variable_is_an_unset_one() -> None:
    assert load(environ={"OSTINATO_DATABASE_URL": "", "OSTINATO_POOLED": ""}) == Settings()


def test_the_file_of_the_working_directory_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, 'log_level = "debug"')
    monkeypatch.chdir(tmp_path)

    assert load(environ={}).log_level == "debug"


def test_the_environment_of_the_process_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_CONCURRENCY", "12")

    assert load().concurrency == 12


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("OSTINATO_POOLED", "Yes", True),
        ("OSTINATO_POOLED", "0", False),
        ("OSTINATO_BEAT_SECONDS", "2", 2.0),
        ("OSTINATO_POLL_SECONDS", "0.25", 0.25),
        ("OSTINATO_RETENTION_DAYS", "30", 30),
        ("OSTINATO_DATA_DIR", "/var/lib/ostinato", "/var/lib/ostinato"),
    ],
)
def test_text_from_the_environment_becomes_the_type_of_its_setting(variable: str, text: str, value: object) -> None:
    settings = load({"database_url": "postgresql://db/app"}, environ={variable: text})

    read = getattr(settings, variable.removeprefix("OSTINATO_").lower())
    assert (type(read), read) == (type(value), value)


def test_an_unknown_variable_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(SettingsError, match="Did you mean OSTINATO_CONCURRENCY") as caught:
        load(environ={"OSTINATO_CONCURENCY": "5"})

    assert "environment variable OSTINATO_CONCURENCY" in caught.value.message


def test_an_unknown_key_of_the_file_is_an_error_that_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Did you mean beat_seconds"):
        load(environ={}, file=written(tmp_path, "beat_second = 5"))


def test_an_unknown_flag_is_an_error() -> None:
    with pytest.raises(SettingsError, match="flag 'zzz'\n→ Known: database_url, "):
        load({"zzz": 1}, environ={})


def test_switches_of_the_tests_and_of_other_programs_are_left_alone() -> None:
    environ = {"OSTINATO_TEST_DATABASE_URL": "x", "OSTINATO_BENCH_ROUNDS": "3", "PATH": "/bin"}

    assert load(environ=environ) == Settings()


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"OSTINATO_CONCURRENCY": "many"}, "OSTINATO_CONCURRENCY must be a whole number, got 'many'"),
        ({"OSTINATO_CONCURRENCY": "0"}, "must be from 1 to 100,000, got 0"),
        ({"OSTINATO_CONCURRENCY": "1.5"}, "must be a whole number, got '1.5'"),
        ({"OSTINATO_BEAT_SECONDS": "nan"}, "must be from 0.01 to 86,400, got nan"),
        ({"OSTINATO_POOLED": "maybe"}, "OSTINATO_POOLED must be true or false, got 'maybe'"),
        ({"OSTINATO_LOG_FORMAT": "xml"}, "must be one of auto, json, console, got 'xml'"),
    ],
)
def test_a_bad_value_is_refused_with_its_source_and_its_rule(environ: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(environ=environ)

    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("concurrency = true", "must be a whole number, got True"),
        ('concurrency = "5"', "must be a whole number, got '5'"),
        ("data_dir = 5", "must be text, got 5"),
        ("concurrency = ", "is not valid TOML"),
        ("[worker]\nconcurrency = 5", "unknown setting: 'worker'"),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(environ={}, file=written(tmp_path, text))

    assert sentence in str(caught.value)
    assert "ostinato.toml" in str(caught.value)


def test_a_file_that_was_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot read the settings file .*: No such file"):
        load(environ={}, file=tmp_path / "other.toml")


def test_a_heartbeat_must_fit_three_times_into_the_expiry() -> None:
    Settings(beat_seconds=2, expiry_seconds=6)
    Settings(beat_seconds=0.2, expiry_seconds=0.6)

    with pytest.raises(SettingsError, match="Set expiry_seconds to 9 or more"):
        Settings(beat_seconds=3, expiry_seconds=8)


def test_a_pooler_needs_its_address() -> None:
    with pytest.raises(SettingsError, match="pooled is set, but database_url is not"):
        Settings(pooled=True)


def test_an_admin_without_a_database_is_refused() -> None:
    with pytest.raises(SettingsError, match="workers would use the embedded server"):
        Settings(admin_url="postgresql://owner@db/app")


def test_a_password_is_never_shown() -> None:
    settings = Settings(database_url="postgresql://bo:hunter2@db/app", concurrency=5)

    assert repr(settings) == ("Settings(database_url='postgresql://bo:***@db/app', concurrency=5)")


def test_settings_cannot_change_but_can_be_copied_with_a_change() -> None:
    settings = Settings()

    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.concurrency = 5  # type: ignore[misc]
    assert dataclasses.replace(settings, concurrency=5).concurrency == 5


@pytest.mark.parametrize("field", declared().values(), ids=lambda field: str(field.name))
def test_every_setting_is_described_in_one_line(field: "dataclasses.Field[object]") -> None:
    description = field.metadata["description"]

    assert description.endswith(".")
    assert "\n" not in description
