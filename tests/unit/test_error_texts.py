"""How an error reads on a page: one full stop after what happened, whoever wrote it."""

import pytest

from ostinato._core.base.errors import InvalidInput
from ostinato._faces.console.error_texts import tell
from ostinato._faces.console.text import language


@pytest.mark.parametrize("message", ["no job is 'nonsense'", "no job is 'nonsense'."])
def test_what_happened_ends_with_one_full_stop_before_the_remedy(message: str) -> None:
    error = InvalidInput(message, hint="Its state is one of: ready, done.")

    english, french = tell(language("en"), error), tell(language("fr"), error)

    assert english.what == "No job is 'nonsense'."
    assert french.original == "no job is 'nonsense'. Its state is one of: ready, done."
