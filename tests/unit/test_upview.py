"""What `ostinato up` prints: where everything is, and a secret only to a terminal."""

from pathlib import Path

import pytest

from ostinato._core.runtime.database import Database
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.output import Output
from ostinato._faces.cli.serve import upview
from ostinato._faces.cli.serve.lab import DemoKey
from ostinato._faces.cli.serve.upview import Standing

SECRET = "ost_7_" + "s3cr3t" * 7 + "x"  # made up


def rows(monkeypatch: pytest.MonkeyPatch, *, terminal: bool, is_new: bool = True, coloured: bool | None = None) -> str:
    monkeypatch.setattr(Output, "for_people", terminal if coloured is None else coloured)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    standing = Standing(
        Database("postgresql://h/d", "postgresql://h/d", None),
        [],
        [],
        url="http://127.0.0.1:8080",
        metrics="http://127.0.0.1:9464/metrics",
        key=DemoKey(Path("/data/demo-key"), SECRET, is_new),
    )
    return "\n".join(f"{name} {value}" for name, value in upview._rows(Cli(Output()), standing))


def test_the_key_of_the_demo_is_printed_to_a_terminal_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SECRET in rows(monkeypatch, terminal=True)
    assert SECRET not in rows(monkeypatch, terminal=True, is_new=False)


def test_a_file_or_a_pipe_gets_the_way_to_a_key_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    told = rows(monkeypatch, terminal=False)
    assert rows(monkeypatch, terminal=False, coloured=True) == told

    assert SECRET not in told
    assert "/data/demo-key" in told
    assert "keys create --tenant demo" in told


def test_it_says_where_the_metrics_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "metrics http://127.0.0.1:9464/metrics" in rows(monkeypatch, terminal=True)
