import pytest

from ostinato._core.base import redact as redaction
from ostinato._core.base.redact import LONGEST_BROKEN_WORD, both_ends, redact, redact_value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://bo:hunter2@db:5432/app", "postgresql://bo:***@db:5432/app"),
        ("postgresql://bo:p@ss@db/app", "postgresql://bo:***@db/app"),
        ("postgresql://bo:pw@a:1,b:2/app", "postgresql://bo:***@a:1,b:2/app"),
        ("redis://:pw@cache", "redis://:***@cache"),
        ("postgresql://db/app?user=bo&password=pw&x=1", "postgresql://db/app?user=bo&password=***&x=1"),
        ("host=db password=pw user=bo", "host=db password=*** user=bo"),
        ("host=db password='p w' user=bo", "host=db password=*** user=bo"),
        ("password='p w, and cut off", "password=***"),
        ('{"api_key": "abc", "n": 1}', '{"api_key": ***, "n": 1}'),
        ("Authorization: Bearer eyJhbGciOi.J9.x-y_z", "Authorization: Bearer ***"),
        ("key sk_live_4eC39HqLyjWDarjtT1zdp7dc used", "key sk_live_*** used"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIA***"),
        (f"the key ost_7_{'aB3-' * 10}xyz is known", "the key ost_7_*** is known"),
        (f"sealed by ostk_{'aB3_' * 10}xyz", "sealed by ostk_***"),
        (f"signed by whsec_{'aB3+' * 10}", "signed by whsec_***"),
        (
            "open http://127.0.0.1:8000/console/enter?ticket=aB3-_x",
            "open http://127.0.0.1:8000/console/enter?ticket=***",
        ),
        (
            "PUT https://s3/b/k?X-Amz-Date=1&X-Amz-Signature=ab12&x=1",
            "PUT https://s3/b/k?X-Amz-Date=1&X-Amz-Signature=***&x=1",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIB\n", "-----BEGIN PRIVATE KEY-----***"),
    ],
)
def test_a_secret_in_text_is_masked(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://bo@db:5432/app",
        "see https://example.org:8080/a@b",
        "the bearer of this message",
        "passwords are stored elsewhere",
        "attempt 3: token expired",
    ],
)
def test_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


def test_a_value_is_masked_by_the_name_it_goes_under() -> None:
    event = {"password": "x", "headers": {"Authorization": "y", "Accept": "z"}, "api_keys": ["k"]}

    assert redact_value("event", event) == {
        "password": "***",
        "headers": {"Authorization": "***", "Accept": "z"},
        "api_keys": ["***"],
    }


def test_a_fencing_token_is_a_number_and_no_secret() -> None:
    assert redact_value("token", 7) == 7


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("write to jean.dupont@example.org now", "write to j***@example.org now"),
        ("call +33612345678 or +33 6 12 34 56 78", "call +33*** or +33***"),
        ("the key ost_12_3mVqz0Xw8f1yT7bKq2", "the key ost_12_***"),
        ("postgresql://worker@db.example.com/x", "postgresql://worker@db.example.com/x"),
        ("2026-11-15T10:00:00+01:00", "2026-11-15T10:00:00+01:00"),
        ("a@b and 12+34567890123", "a@b and 12+34567890123"),
    ],
)
def test_personal_data_in_text_is_masked(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize("name", ["email", "user_email", "phone", "nom", "prenoms", "dateDeNaissance", "last_name"])
def test_personal_data_is_masked_by_its_name(name: str) -> None:
    assert redact_value(name, "Dupont") == "***"


@pytest.mark.parametrize("name", ["name", "hostname", "kind_name", "username", "nominal"])
def test_other_names_stay(name: str) -> None:
    assert redact_value(name, "Dupont") == "Dupont"


@pytest.mark.parametrize("most", [20, 300, 2000])
def test_a_text_is_shortened_before_it_is_searched(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it costs to search a text, that of a caller costs no more than a short one."""
    searched: list[int] = []
    whole = redaction._SUSPECT

    class Counting:
        def search(self, text: str) -> object:
            searched.append(len(text))
            return whole.search(text)

    monkeypatch.setattr(redaction, "_SUSPECT", Counting())
    for text in ("token=hunter2 " * 100_000, "x" * 1_000_000, "password=" + "h" * 1_000_000):
        shown = redact(text, most)
        assert len(shown) <= most
        assert "hh" not in shown
        redact_value("error", {"of": [text]}, most)

    assert max(searched) <= most + LONGEST_BROKEN_WORD + 100


def test_a_secret_that_the_cut_splits_is_not_shown() -> None:
    assert "hun" not in redact("x" * 290 + " token=hunter2hunter2 and so on", 300)
    assert "hun" not in str(redact_value("error", "token=hunter2 " * 5000, 1000))
    assert both_ends("start " + "x " * 500 + "end", 100).startswith("start x")
    assert both_ends("start " + "x " * 500 + "end", 100).endswith("x end")
