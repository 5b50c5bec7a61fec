"""`ostinato rounds next` on a real database."""

import json

import psycopg
import pytest
from typer.testing import CliRunner, Result

from ostinato._core.db.embedded import Urls
from ostinato._faces.cli.main import app


@pytest.fixture
def group(rounds_urls: Urls) -> int:
    """A group that changes over in the night."""
    with psycopg.connect(rounds_urls.admin, autocommit=True) as conn:
        conn.execute("truncate rounds.groups cascade")
        found = conn.execute(
            "insert into rounds.groups (tenant_id, name) values ('acme', 'Nuit') returning id"
        ).fetchone()
        assert found is not None
        conn.execute(
            "insert into rounds.group_settings (tenant_id, group_id, drop_time, zone)"
            " values ('acme', %s, '02:30', 'Europe/Paris')",
            found,
        )
    return int(found[0])


def typed(urls: Urls, *args: str, code: int = 0) -> Result:
    env = {"OSTINATO_DATABASE_URL": urls.worker, "COLUMNS": "160"}
    result = CliRunner().invoke(app, ["rounds", "next", *args], env=env)
    assert result.exit_code == code, result.output
    return result


def test_the_next_fourteen_openings_are_shown_and_moved_clocks_flagged(rounds_urls: Urls, group: int) -> None:
    shown = typed(rounds_urls, "Nuit", "--after", "2026-10-20T12:00:00Z").stdout
    assert "Nuit: 02:30 in Europe/Paris." in shown
    assert "02:30:00 +0200   2026-10-25 00:30:00Z   25 h    overlap: 02:30 comes twice" in shown
    answer = typed(rounds_urls, str(group), "--after", "2026-03-20T12:00:00Z", "--json").stdout
    told = json.loads(answer)
    assert len(told["openings"]) == 14
    (gap,) = [each for each in told["openings"] if each["note"]]
    assert gap["local"] == "2026-03-29T03:30:00+02:00"
    assert gap["open_at"].startswith("2026-03-29T01:30:00")


def test_a_group_that_is_not_there_is_said_to_be(rounds_urls: Urls, group: int) -> None:
    assert "there is no group" in typed(rounds_urls, "Jour", code=1).output


def test_of_two_groups_with_a_name_neither_is_guessed(rounds_urls: Urls, group: int) -> None:
    with psycopg.connect(rounds_urls.admin, autocommit=True) as conn:
        conn.execute("insert into rounds.groups (tenant_id, name) values ('other', 'Nuit')")
    assert "several groups" in typed(rounds_urls, "Nuit", code=1).output
    typed(rounds_urls, "Nuit", "--tenant", "acme")
