"""What a page of an application was asked for: values of its address, which anybody may write."""

from datetime import UTC, datetime

import pytest

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.observe.panels import Look

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def look(**asked: str) -> Look:
    return Look("acme", "ana", frozenset(), asked, NOW, Settings())


def test_a_time_is_read_as_a_link_to_the_next_page_writes_it() -> None:
    assert look(before=f" {NOW.isoformat()}").moment("before") == NOW
    assert look().moment("before") is None


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "\0é", "2026-03-02T09:00:00+99:00"])
def test_what_is_no_time_is_refused_with_the_name_of_its_field(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a time") as refused:
        look(before=text).moment("before")

    assert refused.value.values["field"] == "before"
