from datetime import UTC, datetime, timedelta

import pytest

from ostinato.jobs import retry_after_seconds

NOW = datetime(2026, 10, 21, 7, 26, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        (" 120 ", 120.0),
        ("0", 0.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 120.0),
        ("Wednesday, 21-Oct-26 07:28:00 GMT", 120.0),
        ("Wed Oct 21 07:28:00 2026", 120.0),
        ("Wed, 21 Oct 2026 09:28:00 +0200", 120.0),
    ],
)
def test_the_header_is_a_number_of_seconds_or_a_date(header: str, seconds: float) -> None:
    assert retry_after_seconds(header, NOW) == seconds


def test_a_date_that_has_passed_asks_for_no_wait() -> None:
    assert retry_after_seconds("Wed, 21 Oct 2026 07:00:00 GMT", NOW) == 0.0


@pytest.mark.parametrize("header", [None, "", "soon", "-1", "1.5", "٣", "Wed, 99 Oct 2026 07:28"])
def test_a_header_that_says_nothing_is_none(header: str | None) -> None:
    assert retry_after_seconds(header, NOW) is None


@pytest.mark.parametrize("header", ["9" * 5000, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_nobody_makes_us_wait_longer_than_the_bound(header: str) -> None:
    assert retry_after_seconds(header, NOW) == timedelta(days=1).total_seconds()
    assert retry_after_seconds(header, NOW, longest=60) == 60
