import pytest

from ostinato._core.db import sqlfile


def test_every_sql_file_of_the_package_has_described_blocks() -> None:
    for file in ("calls", "embedded", "migrate", "roles"):
        found = sqlfile.blocks("ostinato._core.db", f"sql/{file}.sql")

        assert found
        assert all(block.text and block.description for block in found.values())


def test_a_block_is_found_by_name() -> None:
    text = sqlfile.statement("ostinato._core.db", "sql/calls.sql", "forget_plans")

    assert text == "deallocate all;"


@pytest.mark.parametrize(
    ("script", "statements"),
    [
        ("a; b ;\n\n c", ["a", "b", "c"]),
        ("a 'x;''y'; b", ["a 'x;''y'", "b"]),
        (r"a e'x\';y'; b", [r"a e'x\';y'", "b"]),
        ('a "x;y"; b', ['a "x;y"', "b"]),
        ("a -- x; y\n; b", ["a -- x; y", "b"]),
        ("a /* x; */; b", ["a /* x; */", "b"]),
        ("a $$ x; $ y $$; b", ["a $$ x; $ y $$", "b"]),
        ("a $t$ x; $$ y; $$ $t$; b", ["a $t$ x; $$ y; $$ $t$", "b"]),
        ("a $1; b", ["a $1", "b"]),
        ("-- only a comment;\n", []),
        ("-- why\na;", ["-- why\na"]),
        ("", []),
    ],
)
def test_a_script_is_split_at_the_semicolons_that_end_statements(script: str, statements: list[str]) -> None:
    assert sqlfile.split(script) == statements


def test_a_body_that_cannot_be_split_is_refused() -> None:
    with pytest.raises(ValueError, match="BEGIN ATOMIC"):
        sqlfile.split("create function f() returns int begin atomic select 1; end;")
