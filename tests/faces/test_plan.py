"""`ostinato doctor --plan`: what a load takes, without a database."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ostinato._faces.cli.main import app

WIDTH = 80


def test_a_plan_asks_no_database_and_names_the_commands_behind_its_figures(tmp_path: Path) -> None:
    ran = CliRunner().invoke(app, ["doctor", "--plan", "--rate", "5000", "--data-dir", str(tmp_path / "none")])

    assert ran.exit_code == 0
    assert "worker processes" in ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= WIDTH
    assert "python -m bench.footprint" in ran.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("wrong", [("--rate", "0"), ("--run-seconds", "-1")])
def test_a_load_that_cannot_be_is_refused(wrong: tuple[str, str]) -> None:
    assert CliRunner().invoke(app, ["doctor", "--plan", *wrong]).exit_code == 2
