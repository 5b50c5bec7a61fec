"""The examples: short, self-contained, and printing what they say they print."""

import itertools
import logging
import runpy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from ostinato import testing
from ostinato._core.base import log
from ostinato._core.db.embedded import Server

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*.py"))
MOST_LINES = 40

_names = itertools.count(1)


def promised(path: Path) -> str:
    """What the file says it prints, in the comment at its end."""
    _, _, said = path.read_text(encoding="utf-8").partition("\n# prints:\n")
    return "".join(f"{line.removeprefix('# > ')}\n" for line in said.splitlines())


@pytest.fixture
def _shared_engine(shared_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples' own servers would each take seconds to make: here they share one."""
    made = testing.engine

    def on_shared_server() -> AbstractAsyncContextManager[testing.Engine]:
        return made(shared_server.cluster.data_dir, name=f"example_{next(_names)}")

    monkeypatch.setattr(testing, "engine", on_shared_server)


@pytest.fixture
def _logging_as_before() -> Iterator[None]:
    """An example may set up logging, on a stream that is gone after its test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    log.be_quiet()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    log.be_quiet()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.usefixtures("_shared_engine", "_logging_as_before")
def test_an_example_prints_what_it_promises(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")

    assert promised(path)
    assert capsys.readouterr().out == promised(path)


@pytest.mark.slow
def test_the_first_example_runs_by_itself(tmp_path: Path) -> None:
    path = EXAMPLES / "first_job.py"

    ended = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert ended.stdout == promised(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_is_short_and_says_what_it_shows(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert text.startswith('"""')
    assert len(text.splitlines()) <= MOST_LINES


def test_there_is_an_example_for_every_idea() -> None:
    ideas = (
        "first_job exactly_once retries unique limits schedule_later cancel plain_sql threads"
        " idempotent lease steps schedules"
    )

    assert set(ideas.split()) <= {path.stem for path in FILES}
