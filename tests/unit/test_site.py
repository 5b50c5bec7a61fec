"""How texts of the engine stand on a page."""

from ostinato._faces.console.site import coded


def test_a_command_within_a_text_stands_as_code_and_nothing_of_it_is_markup() -> None:
    assert coded("Run `ostinato jobs <id>` & look.") == "Run <code>ostinato jobs &lt;id&gt;</code> &amp; look."


def test_a_text_whose_marks_do_not_pair_stands_as_it_is() -> None:
    assert coded("a ` b <i>") == "a ` b &lt;i&gt;"
